r"""An exception that a program printed as a string of Python: with ``\n`` in place of its line breaks."""

import re

from shapelog.reading.text_logs.lines.exports import message_in

# A string of Python's or JSON's, of which the end may be cut off, and what an exception of the compiler has in it.
_STRING = re.compile(r"(?<![\\\w])(['\"])(?P<text>(?:\\.|(?!\1)[^\\\n]){0,65536})(?:\1|$)")
_OF_COMPILER = re.compile(r"raised:\\n|\\nfrom user code:\\n|\\n\\nSet TORCH|Traceback \(most recent call last\):\\n")
_METRICS = "CompilationMetrics("
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}


def with_line_breaks(text: str) -> str:
    """The text, with such strings on lines of their own."""
    if not _OF_COMPILER.search(text):
        return text
    return "\n".join(map(_with_line_breaks, text.split("\n")))


def _with_line_breaks(line: str) -> str:
    """The lines in a line; printed metrics are read as a whole, and so is an exported record whose message is one line."""
    if _METRICS in line:
        return line
    message = message_in(line)
    return _STRING.sub(_lines, line) if message == line else message if "\n" in message else line


def _lines(found: re.Match[str]) -> str:
    if not _OF_COMPILER.search(found["text"]):
        return found[0]
    return f"\n{_ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), found['text'])}\n"

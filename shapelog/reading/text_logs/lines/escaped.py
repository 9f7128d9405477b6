r"""An exception in a string: as a program printed it, with ``\n`` in place of its line breaks, or as an editor copies it, with these."""

import re

from shapelog.reading.text_logs.lines.exports import message_in

# A string of Python's or JSON's, of which the end may be cut off, and what an exception of the compiler has in it.
_STRING = re.compile(r"(?<![\\\w])(['\"])(?P<text>(?:\\.|(?!\1)[^\\\n]){0,65536})(?:\1|$)")
_OF_COMPILER = re.compile(r"raised:\\n|\\nfrom user code:\\n|\\n\\nSet TORCH|Traceback \(most recent call last\):\\n")
# What VS Code copies of an error below a cell: an object of JSON but for its line breaks, of which the end may be cut off.
_TEXT = r"(?:\\.|[^\"\\]){0,65536}"
_COPIED = re.compile(
    rf"^\s*\"name\": \"(?P<name>[A-Z]\w{{1,80}})\",[ \t]*\n\s*\"message\": \"(?P<message>{_TEXT})(?:\",?[ \t]*(?=\n)|\Z)"
    rf"(?:\n\s*\"stack\": \"(?P<stack>{_TEXT})(?:\"[ \t]*(?=\n|\Z)|\Z))?",
    re.M | re.S,
)
_METRICS = "CompilationMetrics("
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}


def with_line_breaks(text: str) -> str:
    """The text, with such strings on lines of their own."""
    text = _COPIED.sub(_copied, text) if '"name": "' in text else text
    if not _OF_COMPILER.search(text):
        return text
    return "\n".join(map(_with_line_breaks, text.split("\n")))


def _with_line_breaks(line: str) -> str:
    """The lines in a line; printed metrics are read as a whole, and so is an exported record whose message is one line."""
    if _METRICS in line:
        return line
    message = message_in(line)
    return _STRING.sub(_lines, line) if message == line else message if "\n" in message else line


def _copied(found: re.Match[str]) -> str:
    parts = (found["stack"] or "", f"{found['name']}: {found['message']}")
    return "\n\n".join(_ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), part) for part in parts if part)


def _lines(found: re.Match[str]) -> str:
    if not _OF_COMPILER.search(found["text"]):
        return found[0]
    return f"\n{_ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), found['text'])}\n"

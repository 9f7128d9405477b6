"""The exceptions of the compiler that a text names, and where their messages begin and end.

The classes are those of ``torch/_dynamo/exc.py`` and ``torch/_inductor/exc.py``, 2.0 to 2.15.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.reading.text_logs.lines.exception_names import ANY_OF_MODULES, NAMES, OF_DYNAMO_ALONE, QUALIFIED
from shapelog.reading.text_logs.lines.joined import end_of_parentheses
from shapelog.reading.text_logs.lines.mentions import CLOSING
from shapelog.reading.text_logs.lines.signs import USER_STACK

# Exceptions of the compiler; one that the program itself raised is no failure of it, nor is one that ``torch.onnx`` warns of.
_RAISED = re.compile(
    rf"(?:^|\n)[ \t]{{0,80}}(?:(?!except )\w{{1,20}} +)?(?P<alone>{ANY_OF_MODULES}|{NAMES})"
    r"(?:: (?P<message>[^\n]*)"
    r"|:?[ \t]*\n[ \t]*(?P<below>\d[^\n]* not in range [^\n]*)"
    rf"|:\n[ \t]*(?P<wrapped>(?!{USER_STACK}|Set TORCH|You can suppress|File \")\S[^\n]*)|:?(?=\n|$))"
    rf"|(?<!except )(?P<quoted>{QUALIFIED}|(?<![\w.]){OF_DYNAMO_ALONE})(?:'>)?"
    r"(?:: |(?<='>) (?=[A-Z]\w+ )| (?:> )?(?=\w{0,40}Error: ))(?!Constraints violated\.')(?P<words>\S[^\n]*)"
    r"|(?<![\w.])(?P<unsupported>Unsupported): (?P<what>[^\n]{0,200}(?:Variable\b|\bcall_\w)[^\n]*)"
    # a field of a report, such as ``Exception Type:``, and the one below it that has the message
    rf"|(?<=[:* ])(?P<field>{QUALIFIED})\W{{0,8}}(?:\n[^\n:]{{0,60}}\b[Mm]essage\W{{1,8}}(?P<in_field>[^\n]*)|(?=\n|$))"
    rf"|(?:^|\n)(?P<heading>{NAMES}) {{2,200}}Traceback \(most recent call last\)"  # of IPython
    r"|(?P<of_backend>backend='[^'\n]{1,80}' raised:[^\n]*)"
    r"|(?:^|\n)[ \t]{0,80}\w{0,80}Error: (?P<of_operation>Failed running call_\w{1,20} [^\n]*)"
)
_TYPES = {"of_backend": "BackendCompilerFailed", "of_operation": "TorchRuntimeError"}
_MESSAGES = {"alone": "message", "quoted": "words", "unsupported": "what", "field": "in_field"}
# A span of code that has an exception may have a name in backticks, too: ``block sizes or `num_stages` may help.``
_INSIDE_SPAN = re.compile(r"(?:[^`]|(?<= )`[\w.=]{1,80}`(?= \w))*")
_AFTER_MARK = re.compile(r"['\"\u2019\u201d](?=[\s,.;:?!}\]\uff0c\u3002\uff08\uff09]|$)")


class Raised(NamedTuple):
    """An exception in a text: its type, with its module where that is there, where its name begins, and its message begins and ends."""

    type: str
    start: int
    begin: int
    end: int


def raised_in(text: str) -> Iterator[Raised]:
    """The exceptions of the compiler that a text names."""
    for found in _RAISED.finditer(text):
        part = next(name for name in ("alone", "quoted", "unsupported", "field", "heading", *_TYPES) if found[name])
        message = next((name for name in ("below", "wrapped") if found[name]), _MESSAGES.get(part, part))
        begin = found.start(message) if part != "heading" and found[message] is not None else len(text)
        end = end_of_quote(text, found.start(part), begin) if part in ("quoted", "unsupported") else len(text)
        yield Raised(_TYPES.get(part) or found[part], found.start(part), begin, end)


def end_of_quote(text: str, start: int, begin: int) -> int:
    """Where the words end that begin at ``start`` after a backtick or a quotation mark, or in a span of code; else that of the text."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", begin)
    stop = stop if stop >= 0 else len(text)
    if text.count("`", line, start) % 2:
        words = _INSIDE_SPAN.match(text, begin, stop)
        closing = words.end() if words and words.end() < stop else -1
    elif start > line and text[start - 1] == "(":
        closing = end_of_parentheses(text, begin, stop)
    else:
        marks = CLOSING.get(text[line:start].removesuffix(" ")[-1:], "")
        ends = [found.start() for found in _AFTER_MARK.finditer(text, begin, stop) if text[found.start()] in marks]
        closing = ends[0] if ends else -1
    return closing if closing >= 0 else len(text)


def names_exception(line: str) -> bool:
    """Whether a line has an exception of the compiler behind words of somebody else."""
    return any(found["quoted"] or found["unsupported"] or found["of_backend"] for found in _RAISED.finditer(line))


def is_exception_alone(line: str) -> bool:
    """Whether a line is an exception of the compiler with its message, as Python writes it below a stack."""
    return any(found["alone"] and found["message"] for found in _RAISED.finditer(line))


def cells_with_exceptions(line: str) -> list[str]:
    """The cells of a row of a table in Markdown that have an exception of the compiler with its message; none for another line."""
    row = line.strip()
    cells = re.split(r"(?<!\\)\|", row[1:-1]) if row[:1] == row[-1:] == "|" else []
    return [cell.strip() for cell in cells if any(found.begin < found.end for found in raised_in(cell.strip()))]

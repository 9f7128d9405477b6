"""A graph break in the words of any version, in those of torch 2.8 and later."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.compiler_messages import CANNOT_RESUME, LOST_REASON, UNSUPPORTED_BUILTIN, compiler_message, message_of_break
from shapelog.reading.payloads.exported_programs import last_line
from shapelog.reading.payloads.python_tracebacks import exception_chain
from shapelog.reading.payloads.source_names import is_dynamo
from shapelog.reading.text_logs.failures.nameless import NOT_CONVERTED
from shapelog.reading.text_logs.failures.raised import raised_in
from shapelog.reading.text_logs.message_kinds import EXECUTING, QUOTED_BREAK
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode


def each_break(lines: Sequence[str]) -> Iterator[Sequence[str]]:
    """The lines of each break in a message: old versions write the time without fractions, so that several may have the same head."""
    margin = len(lines[0]) - len(lines[0].lstrip()) if _INDENTED.match(lines[0]) else 0
    lines = [re.sub(rf"^[ \t]{{1,{margin}}}", "", line) for line in lines] if margin else lines
    is_old = _BEGINS_OLD.match(lines[0]) is not None
    starts = [0, *(at for at, line in enumerate(lines) if at and is_old and _BEGINS_OLD.match(line))]
    for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield from warnings_in(lines[begin:end])


class AnnouncedBreak(NamedTuple):
    """The exception of the backend that breaks the graph of a function, which PyTorch logs with its stack before the break."""

    text: str
    code: LoggedCode


def announced_break(text: str) -> AnnouncedBreak | None:
    """The one that a message is about; None for any other message."""
    found, is_cut = NOT_CONVERTED.match(text), _STACK_OF_ANNOUNCED.match(text) is not None
    if found is None and not is_cut:
        return None
    raised = next((f"{item.type}: {item.message}" for item in reversed(exception_chain(text))), LOST_REASON)
    return AnnouncedBreak(raised, LoggedCode(found["name"], found["file"], int(found["line"])) if found else UNKNOWN_CODE)


def break_text(text: str) -> str:
    """A text about a graph break in the form of torch 2.8 and later: what was met, a hint, and the user's lines below their heading.

    What was met is the exception where nothing else names it, or a sentence of our own where the text has lost it.
    """
    if CANNOT_RESUME.match(text):
        return message_of_break(text)
    if executed := EXECUTING.match(text):
        return f"{LOST_REASON}\n{_stack_of_node(executed['node'], text)}"
    text = _ON_SAME_LINE.sub(r"\g<1>:\n  ", text, count=1)
    if warned := _WARNED.search(text):
        own = _WARNED_LINE.split(text[warned.end() :], maxsplit=1)[0]  # other processes may warn of the same
        return _FRAME.split(own, maxsplit=1)[0]
    if of_backend := _OF_BACKEND.match(text):
        return f"{of_backend[1]}\nUser code traceback:\n{text[of_backend.end() :]}"
    if stack := _STACK_IN_CONTEXT.search(text):
        lines = stack[1].split("\n")
        text += "\nUser code traceback:\n" + "\n".join(line[4:] for line in lines)
    raised = next(filter(None, (text[found.begin :].partition("\n")[0].strip() for found in raised_in(text))), "")
    text = _OF_ITEM.sub(rf"\g<item>, consider setting:\n{_SETTING_OF_ITEM}", text, count=1)
    unset = _UNSET.match(text)
    old = _OLD_BREAK.match(text, unset.end() if unset else 0)
    if unset:
        setting = f"Unsupported {unset['call'] or 'Tensor.item()'} call\n  Hint: Set {unset['setting']} = True"
        return f"{setting}\n{_stack_of_old(old, text) if old else ''}"
    if old:
        observed = _OBSERVED.search(text) if raised == _UNCAUGHT else None
        raised += f": {observed[1]}Error" if observed else ""
        return f"{old['reason'].strip() or raised or LOST_REASON}\n{_stack_of_old(old, text)}"
    if raised and not _BREAK_HEADING.match(text):  # after the end of PyTorch's own stack
        return text[text.index(raised) :]
    if _IN_STACK.match(text):
        lines = text.partition(_TRACEBACK)[0]
        is_own = any(is_dynamo(file) and not _STAND_IN.search(file) for file in _FILE.findall(lines))
        return f"{LOST_REASON}\n" if is_own else f"{LOST_REASON}\nUser code traceback:\n{lines}"
    return _DUPLICATE.sub(r"\1 ", text) if compiler_message(text).title else f"{LOST_REASON}\n{text}"


def skips_function(text: str) -> bool:
    """Whether Dynamo leaves the whole function to Python where it met a graph break."""
    return _SKIPS.match(text) is not None


def skipped_function(text: str) -> LoggedCode:
    """The function that Dynamo leaves to Python, where a break names it."""
    found = CANNOT_RESUME.match(text)
    return LoggedCode(found["name"], found["file"], int(found["line"])) if found and found["name"] else UNKNOWN_CODE


def place_of_break(text: str) -> tuple[str, int]:
    """The line that the heading of a graph break names, ("", 0) where it names none."""
    headed = _HEADED_PLACE.match(text)
    return (headed["file"], int(headed["line"])) if headed else ("", 0)


def quoted_break(line: str) -> str:
    """What a line quotes of the explanation of a graph break, without a heading, a class or a stack; "" for any other line."""
    found = _QUOTED.search(line)
    return found[0][found[0].index("Dynamo") :] if found else ""


def has_cut_stack(text: str, file: str, line: str) -> bool:
    """Whether a stack that ends at a line does not go on to the one that the heading names, in the user's code."""
    headed = _HEADED_PLACE.match(text)
    return headed is not None and not is_dynamo(headed["file"]) and (headed["file"], headed["line"]) != (file, line)


def warnings_in(lines: Sequence[str]) -> list[Sequence[str]]:
    """The lines of each warning about a builtin, of those about different ones; all lines where they are no such warnings."""
    found = ((at, UNSUPPORTED_BUILTIN.match(line, warned.end())) for at, line in enumerate(lines) if (warned := _WARNED.search(line)))
    begins = {builtin["name"]: at for at, builtin in reversed(list(found)) if builtin}
    starts = [0, *sorted(begins.values())[1:]]
    return [lines[begin:end] for begin, end in zip(starts, [*starts[1:], len(lines)], strict=True)] if len(starts) > 1 else [lines]


def _stack_of_old(heading: re.Match[str], text: str) -> str:
    """The user's lines below the heading of an old break under that of a new one, without the stack of PyTorch's that follows."""
    below = text[heading.end() :]
    return f"User code traceback:\n{below.partition(_TRACEBACK)[0]}" if heading["at"] else f"{heading['traceback'] or ''}{below}"


def _stack_of_node(node: str, graph: str) -> str:
    """The user's line for a node, which is in a comment above it in the printed graph."""
    above = re.split(rf"^\s*{node}\b[^\n]* = ", graph, maxsplit=1, flags=re.M)[0]
    line = last_line(above)
    return f'User code traceback:\n  File "{line.file}", line {line.line}, in {line.name}\n    {line.code}\n' if line else ""


# Torch 2.0 and older have the first line of the stack on the one of the heading.
_QUOTED = re.compile(QUOTED_BREAK)
_INDENTED = re.compile(r"\s+graph break", re.I)
_BEGINS_OLD = re.compile(r"\s*Graph break: \S")
_ON_SAME_LINE = re.compile(r"^(\s*Graph break: [^\n]*\bfrom user code at)[ \t]+(?=File \")")
_TRACEBACK = "Traceback (most recent call last):\n"
# Torch 2.2 and later, in a warning of Python's.
_WARNED = re.compile(rf"UserWarning: (?={UNSUPPORTED_BUILTIN.pattern})")
_WARNED_LINE = re.compile(rf"\n[^\n]*{_WARNED.pattern}")
_STACK_OF_ANNOUNCED = re.compile(r"\s*=+ TorchDynamo Stack Trace =+")
_FRAME = re.compile(r"^(?:\s*File \"|Traceback \()", re.M)
# Torch 2.1 to 2.7 where the backend raised one of the exceptions that Dynamo goes on after, and later in what is for developers.
_OF_BACKEND = re.compile(r"\s*(Backend compiler failed with a fake tensor exception) at[ \t]*(?:\n|$)")
_STACK_IN_CONTEXT = re.compile(r"Developer debug context: Backend: .*\n(?:.*\n)*? +Traceback:\n((?: {6,}\S.*(?:\n|$))+)")
_FILE, _STAND_IN = re.compile(r'File "([^"\n]+)", line '), re.compile(r"[\\/]polyfills[\\/]")
_IN_STACK = re.compile(r' *File "| {4,}\S[^\n]*\n +File "')
_BREAK_HEADING = re.compile(r"\s*Graph [Bb]reak")
_HEADED_PLACE = re.compile(r"\s*Graph [Bb]reak in user code at (?P<file>.*):(?P<line>\d{1,9})\s*$", re.M)
_DUPLICATE = re.compile(r"^(Graph break) \([^()]*\) (?=in user code at)")
# How torch 2.0 to 2.7 begins it: ``Graph break: call_function print in skip_files from user code at:``, or with the exception below.
_OLD_BREAK = re.compile(
    r"\s*Graph break: ?(?:skip: ?)?(?P<reason>.*?)(?:(?P<at>\bfrom user code at:)[ \t]*(?:\n|$)"
    rf"|(?P<traceback>{re.escape(_TRACEBACK.strip())}(?:\n|$))|\n|$)"
)
# The whole function runs in eager mode: torch 2.3 to 2.7, 2.8 and 2.9, and later.
_SKIPS = re.compile(
    r"\s*Graph break: (?:skip: |torch\.compile cannot properly resume from this graph break)"
    r"|\s*(?:Graph break in user code at [^\n]*\n)?\s*(?:Graph Break )?Reason: Failed to handle graph break gracefully\. "
    r"Skipping the function"
)
# What versions before 2.8 write of an exception that no code handles; its class is that of the one above it.
_UNCAUGHT, _OBSERVED = "Observed exception", re.compile(r"^torch\._dynamo\.exc\.Observed(?!Exception\b)(\w{1,60}?)(?:Error)+\b", re.M)
# Torch 2.1 to 2.6, of which a log may have lost the first line, and a person left out what follows that.
_OF_ITEM = re.compile(r"^\s*(?P<item>Graph break from `Tensor\.item\(\)`)(?:, consider setting:\s*$|(?!, consider))")
_SETTING_OF_ITEM = "torch._dynamo.config.capture_scalar_outputs = True"
# Above the stack of such a warning, where a log has lost that.
ABOVE_STACK_OF_ITEM = ("Graph break from `Tensor.item()`, consider setting:", f"    {_SETTING_OF_ITEM}", "Graph break: from user code at:")
_UNSET = re.compile(
    r"(?:\s*Graph break from `(?P<call>[^`\n]{1,200})`, consider setting:\s*\n)?\s*(?P<setting>torch\._dynamo\.config\.\w+) ?= ?True"
    r"(?:(?!\s{0,99}Graph break:)[^\n]*(?:\n|$))*"
)

"""The frames of tracebacks, as Python and as IPython write them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from shapelog.reading.payloads.python_tracebacks import RaisedException, exception_chain, stack_lines
from shapelog.reading.payloads.source_names import is_compiler, is_entry, is_guard_of_export, is_library
from shapelog.reading.records import StackFrame
from shapelog.reading.text_logs.lines.tracebacks import ARROW, IN_FILE, frame_of_ipython
from shapelog.reading.text_logs.messages.logged_code import UNKNOWN_CODE, LoggedCode

# Where Dynamo calls code of any kind, compiled or not.
_CALLS = re.compile(r"[\\/]torch[\\/]_dynamo[\\/](?:eval_frame|external_utils|decorators)\.py$")
_OF_NOTEBOOK = re.compile(r"^\w{1,80} {2,200}Traceback \(most recent call last\)", re.M)
_EXCEPTION = re.compile(r"^(?:\w{1,80}\.){0,8}(\w{1,80}(?:Error|Exception)): ?([^\n]*)", re.M)
# The fields of a program's own report, with the stack below them.
_REPORTED = re.compile(r"Exception Type\W{1,8}(?:\w{1,80}\.){0,8}(\w{1,80})\W{0,8}\n[^\n:]{0,60}\bException Message\W{1,8}([^\n]*)")
# Of whoever stopped the program.
_STOPPED = frozenset(("KeyboardInterrupt", "SystemExit"))


def raised_in_compiler(text: str) -> RaisedException | None:
    """The exception of any class that a traceback ends with, or that a report names, where the compiler or compiled code raised it."""
    raised = next(reversed(exception_chain(text)), None) or _raised_in_notebook(text) or _reported(text)
    return raised if raised and raised.type not in _STOPPED and _is_in_compiler(raised.stack) else None


def _raised_in_notebook(text: str) -> RaisedException | None:
    """The exception below a stack of IPython's."""
    if _OF_NOTEBOOK.search(text) is None:
        return None
    named = list(_EXCEPTION.finditer(text))
    return RaisedException(named[-1][1], named[-1][2].strip(), tuple(frames_in(text[: named[-1].start()].split("\n")))) if named else None


def _reported(text: str) -> RaisedException | None:
    """The exception of a report that names it above its stack."""
    found = _REPORTED.search(text)
    return RaisedException(found[1], found[2].strip(), tuple(frames_in(text[found.end() :].split("\n")))) if found else None


def _is_in_compiler(stack: Sequence[StackFrame]) -> bool:
    """Whether the innermost frames of a stack are of the compiler, or of what it calls of torch's."""
    own = next((frame for frame in reversed(stack) if is_compiler(frame.file) or not is_library(frame.file)), None)
    checks_inputs = any(is_guard_of_export(frame.file, frame.name) for frame in stack[-2:])
    if own and is_compiler(own.file) and (checks_inputs or not _CALLS.search(own.file)):
        return True
    if not stack:
        return False
    last = stack[-1]
    refuses_call = _CALLS.search(last.file) is not None and last.code.startswith("raise ")
    return refuses_call or is_entry(last.file, last.name)


def innermost_code(lines: Iterable[str], is_other: Callable[[str], bool] = is_library) -> LoggedCode:
    """The function of the innermost line of a traceback whose file is not one of those that ``is_other`` names."""
    own = next((frame for frame in reversed(frames_in(lines)) if not is_other(frame.file)), None)
    return LoggedCode(own.name, own.file, own.line) if own else UNKNOWN_CODE


def frames_in(lines: Iterable[str]) -> list[StackFrame]:
    """The frames of all stacks in some lines."""
    lines = list(lines)
    found = [frame for line in lines for frame in stack_lines([line])] or list(_of_ipython(lines))
    return [frame._replace(file=frame.file.replace("\\", "/")) for frame in found]


def _of_ipython(lines: Iterable[str]) -> Iterator[StackFrame]:
    """Those of IPython: a heading for each, and an arrow in front of the line."""
    heading: re.Match[str] | None = None
    for line in lines:
        if found := IN_FILE.match(line):
            heading = found
        elif heading and (arrow := ARROW.match(line)):
            frame = frame_of_ipython(heading, arrow)
            yield StackFrame(frame.file, int(frame.line), frame.name, frame.code)
            heading = None

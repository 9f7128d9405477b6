"""Which line called compiled code directly, by the stacks of its compiles.

The stack of ``dynamo_start`` (torch 2.6 and later) lacks the two frames before the compiled code. That of a ``create_symbol`` record is
whole: the caller, what torch puts in between, then Dynamo itself.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shapelog.model.compile import Compile, resumed_by
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import is_dynamo, is_library
from shapelog.reading.records import StackFrame

_MODULE = re.compile(r"[\\/]torch[\\/]nn[\\/]modules[\\/]module\.py$")
_ENTRY = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]eval_frame\.py$")
_COMPILER = re.compile(r"[\\/]torch[\\/]_dynamo[\\/]convert_frame\.py$")


class Caller(NamedTuple):
    """The line that called compiled code; ``is_certain`` unless it follows from a stack that lacks frames."""

    place: StackFrame
    is_certain: bool


def callers(frame: Frame) -> Iterator[Caller]:
    """Those of all its compiles that are known, in order; none of code that goes on after a graph break, which its own function calls."""
    seen: set[tuple[str, int, str]] = set()
    for compile in frame.compiles if not resumed_by(frame.name) else ():
        found = direct_caller(compile)
        if found and found.place[:3] not in seen:
            seen.add(found.place[:3])
            yield found


def direct_caller(compile: Compile) -> Caller | None:
    """None where the trace does not name it."""
    whole = whole_stack(compile)
    if whole:
        outer = _without_torch(whole)
        return Caller(outer[-1], True) if outer else None
    stack = compile.stack.frames
    if any(_COMPILER.search(item.file) for item in stack):  # torch 2.4 and 2.5, where nothing is left out
        outer = _without_torch(_before_compiler(stack))
        return Caller(outer[-1], True) if outer else None
    outer = _without_torch(stack[:-1])
    entered = any(_ENTRY.search(item.file) for item in stack[len(outer) : -1])
    return Caller(outer[-1], False) if outer and entered else None


def whole_stack(compile: Compile) -> tuple[StackFrame, ...]:
    """The stack of the call in full, without Dynamo; () where no record has it."""
    for symbol in compile.symbols:
        stack = symbol.stack.frames
        if any(_COMPILER.search(item.file) for item in stack):
            return _before_compiler(stack)
    return ()


def _before_compiler(stack: tuple[StackFrame, ...]) -> tuple[StackFrame, ...]:
    return stack[: next(number for number, item in enumerate(stack) if _COMPILER.search(item.file))]


def _without_torch(stack: Sequence[StackFrame]) -> Sequence[StackFrame]:
    """Without what torch puts between a call and the code that is called, at its end."""
    end = len(stack)
    while end and (is_dynamo(stack[end - 1].file) or _MODULE.search(stack[end - 1].file)):
        end -= 1
    return stack[:end]


def entry_line(compile: Compile) -> StackFrame | None:
    """The outermost line of the user's, which runs before all others."""
    stack = whole_stack(compile) or compile.stack.frames
    return next((item for item in stack if not is_library(item.file)), None)

"""What library code passes to a function of a library, and no line of the user."""

import re

from shapelog.reading.payloads.source_names import is_library, is_test_runner
from shapelog.reading.records import StackFrame
from shapelog.recompiles.evidence.violation import Described, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts

_ONE_OF_ARGUMENTS = re.compile(r"L\['args'\]\[\d+\]|L\['kwargs'\]\['\w+'\]")  # of ``f(*args, **kwargs)``
_ITEM_OF_ARGUMENT = re.compile(r"L\['\w+'\]\[\d+\]")


def is_passed_by_library(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether an object is the argument of a function of a library that code of a library calls, which the user passes nothing to.

    Where the innermost calls are not recorded, a line of the user without arguments, ``optimizer.step()``, has not passed it either, nor
    the items of a list.
    """
    known = _with_callers(entry, call)
    callers = _callers(known)
    if not callers or is_test_runner(callers[-1].file):  # the stack may lack the test, which is the innermost call
        return False
    items = _ITEM_OF_ARGUMENT if _passes_nothing(callers) else _ONE_OF_ARGUMENTS
    is_passed = item.source.is_argument or items.fullmatch(item.source) is not None
    is_argument = is_passed and Described.TENSOR not in (item.expected, item.actual)
    return is_argument and is_library(known.code_file) and (is_library(callers[-1].file) or callers[-1].passes_nothing)


def is_made_by_library(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether, in addition, the line of the user that leads to the call passes nothing, as ``optimizer.step()`` does not."""
    return _passes_nothing(_callers(_with_callers(entry, call))) and is_passed_by_library(item, entry, call)


def _passes_nothing(callers: list[StackFrame]) -> bool:
    own = [frame for frame in callers if not is_library(frame.file)]
    return bool(own) and own[-1].passes_nothing


def _with_callers(entry: CompileFacts, call: CompileFacts) -> CompileFacts:
    """The call, or the entry where the call was refused, of which no callers are recorded."""
    return call if call.compile.stack.frames or call.compile.recorded_callers else entry


def _callers(known: CompileFacts) -> list[StackFrame]:
    """The stack above the code, the outermost first, without lines that pass arguments on, as what torch.compile returned does."""
    recorded = known.compile.recorded_callers or known.compile.stack.frames[:-1]
    return [frame for frame in recorded if not frame.passes_on]

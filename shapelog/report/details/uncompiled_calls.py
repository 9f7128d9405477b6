"""What became of a call that was not compiled: whether it ran in eager mode or raised an error, as far as the trace shows that."""

from collections.abc import Iterable
from enum import Enum

from shapelog.model.compile import Compile, GraphBreak, Outcome, resumed_by
from shapelog.model.frame import Frame
from shapelog.report.details.metric_fields import settings_in
from shapelog.report.details.raising_calls import raising_call

# Dynamo meets these while it traces, and leaves the code to Python unless graph breaks are errors (``ConvertFrame`` in
# ``torch._dynamo.convert_frame``). Until torch 2.9 the others in this list were subclasses of the first.
LEFT_TO_PYTHON = frozenset(
    (
        "Unsupported",
        "UserError",
        "ArgsMismatchError",
        "AttributeMutationError",
        "CondOpArgsMismatchError",
        "InfiniteGeneratorError",
        "SideEffectsError",
    )
)
# What a log has in front of an error with which Dynamo leaves the code to Python, also one of a later stage; WONT before torch 2.0.
_NOT_CONVERTED = ("WON'T CONVERT ", "WONT CONVERT ")


class Fate(Enum):
    """What such a call did."""

    EAGER = "ran in eager mode"
    RAISED = "raised an error"
    UNKNOWN = "ran in eager mode or raised an error"


class Eager(Enum):
    """What ran in eager mode. Such calls leave no records, so that their number is not known."""

    ALL = "calls"
    OR_RAISED = "calls, or they raised an error"
    RESUMED = "the code after a graph break"
    LIMIT = "calls beyond the recompile limit"


def fates(failures: Iterable[tuple[Frame, Compile, int]]) -> tuple[int, tuple[Eager, ...]]:
    """How many of the calls that failed to compile raised an error, and what else ran in eager mode; each with its number of times."""
    raised, eager = 0, set[Eager]()
    for frame, compile, times in failures:
        fate = fate_of(frame, compile)
        if fate is Fate.RAISED:
            raised += times
        else:
            is_rest = resumed_by(frame.name) is not None
            eager.add(Eager.OR_RAISED if fate is Fate.UNKNOWN else Eager.RESUMED if is_rest else Eager.ALL)
    if Eager.OR_RAISED in eager:
        eager.discard(Eager.ALL)
    return raised, tuple(what for what in Eager if what in eager)


def fate_of(frame: Frame, compile: Compile) -> Fate:
    """That of the call for which a compile was refused or failed.

    Code that is left to Python once is never compiled again, not even for calls that an earlier entry would serve: where the frame has a
    later compile, the call raised. So it did where the program forbids a recompile. ``fullgraph`` is not recorded.
    """
    if compile.outcome is Outcome.LIMIT:
        return Fate.RAISED if compile.raised_at_limit else Fate.EAGER
    if compile.is_forbidden or frame.compiles[-1] is not compile or raising_call(compile):
        return Fate.RAISED
    if any(is_the_failure(item, compile) for item in compile.breaks):
        return Fate.EAGER  # with fullgraph the error is raised before a graph break is recorded
    if compile.error.startswith(_NOT_CONVERTED):
        return Fate.EAGER
    if compile.metrics.is_unnumbered or not compile.metrics.fail_type or compile.metrics.fail_type in LEFT_TO_PYTHON:
        return Fate.UNKNOWN
    return _without_suppression(compile)


def is_the_failure(item: GraphBreak, compile: Compile) -> bool:
    """Whether a compile failed with this graph break."""
    is_alike = (item.message.title, item.message.hints) == (compile.failure.title, compile.failure.hints)
    return is_alike and compile.outcome is Outcome.FAILED


def _without_suppression(compile: Compile) -> Fate:
    """An error of a later stage, which ``suppress_errors`` turns into a call in eager mode. Text logs do not have that setting."""
    is_suppressed = settings_in(compile.metric_fields.get("dynamo_config")).get("suppress_errors")
    return Fate.UNKNOWN if is_suppressed is None else Fate.EAGER if is_suppressed else Fate.RAISED

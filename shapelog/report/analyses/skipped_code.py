"""Which code does PyTorch run eagerly from some call on, because that call ran no tensor operation?

``InstructionTranslator._return`` raises ``SkipFrame`` for such a call, and the evaluation of frames then skips the code object: its cache
entries are not looked at again.
"""

from collections.abc import Iterator

from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Finding, Table, location_of
from shapelog.rules import RULES

_SKIPPED = RULES["SL404"]
# The changes that a note names.
_MOST_NAMED = 2
_LEAVE_OUT = "leave the compiled call out where there is nothing to compute"


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    remedy = "" if explained.trace.version.keeps_empty_graphs else _LEAVE_OUT
    for frame in (frame for rank in explained.trace.ranks for frame in rank.frames):
        entries = 0
        changes = {item.compile: item.causes for item in explained.of_frame(frame)}
        for compile in frame.compiles:
            if _is_empty(compile) and (entries or _is_compiled_by_the_user(frame, compile)):
                changed = "; ".join(cause.sentence for cause in changes.get(compile, ())[:_MOST_NAMED])
                yield Finding(
                    rule=_SKIPPED,
                    sentence=_sentence(frame, compile, entries),
                    compile=compile.label,
                    place=location_of(frame),
                    frame=frame,
                    own_remedy=remedy,
                    notes=(f"in that call, {changed}",) if changed else (),
                )
            entries += compile.outcome is Outcome.COMPILED


def _is_empty(compile: Compile) -> bool:
    """Whether Dynamo went through the call and met no tensor operation. A break in a loop, in old versions, leaves no code either."""
    return compile.outcome is Outcome.SKIPPED and compile.metrics.is_empty and not compile.breaks


def _is_compiled_by_the_user(frame: Frame, compile: Compile) -> bool:
    """Whether later calls are likely to compute something: it is the user's, takes tensors, and is no rest of a broken function."""
    return bool(compile.inputs) and not is_library(frame.file) and resumed_by(frame.name) is None


def _sentence(frame: Frame, compile: Compile, entries: int) -> str:
    name = frame.title_of([compile])
    if not entries:
        return f"{name} ran no tensor operation in its first call, so PyTorch runs it in eager mode from then on"
    lost = "its cache entry is" if entries == 1 else f"its {entries} cache entries are"
    return f"{name} runs in eager mode since a call ran no tensor operation: {lost} no longer used"

"""Which code does PyTorch run eagerly from some call on, because that call ran no tensor operation?

``InstructionTranslator._return`` raises ``SkipFrame`` for such a call, and the evaluation of frames then skips the code object: its cache
entries are not looked at again. Before torch 2.8, such a call looks like one that was skipped for a graph break in a loop.
"""

from collections.abc import Iterator, Sequence

from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Finding, Table, location_of
from shapelog.rules import RULES

_SKIPPED = RULES["SL404"]
# The changes that a note names.
_MOST_NAMED = 2


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    for frame in (frame for rank in explained.trace.ranks for frame in rank.frames):
        entries = 0
        changes = {item.compile: item.causes for item in explained.of_frame(frame)}
        for compile in frame.compiles:
            if _is_empty(compile) and (entries or _is_compiled_by_the_user(frame, compile)):
                which = "after a call that" if entries else "because its first call"
                yield Finding(
                    rule=_SKIPPED,
                    sentence=f"{frame.title_of([compile])} runs eagerly {which} ran no tensor operation",
                    compile=compile.label,
                    place=location_of(frame),
                    frame=frame,
                    notes=_notes(entries, changes.get(compile, ())),
                )
            entries += _computes(compile)


def _notes(entries: int, causes: Sequence[Cause]) -> tuple[str, ...]:
    """What became of the entries that were there, and what was different in the call."""
    unused = "its cache entry is unused" if entries == 1 else f"its {entries} cache entries are unused"
    changed = "; ".join(cause.sentence for cause in causes[:_MOST_NAMED])
    return (f"{unused}; in that call, {changed}" if changed else unused,) if entries else ()


def _is_empty(compile: Compile) -> bool:
    return compile.outcome is Outcome.SKIPPED and compile.metrics.is_empty


def _computes(compile: Compile) -> bool:
    """Whether its entry is of use: one without an operation, as where all that a call does breaks the graph, saves nothing."""
    return compile.outcome is Outcome.COMPILED and compile.metrics.op_count != 0


def _is_compiled_by_the_user(frame: Frame, compile: Compile) -> bool:
    """Whether later calls are likely to compute something: it is the user's, takes tensors, and is no rest of a broken function."""
    return bool(compile.inputs) and not is_library(frame.file) and resumed_by(frame.name) is None

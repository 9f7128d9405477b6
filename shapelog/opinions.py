"""PyTorch's own suggestion (PGO) held against shapelog's: where they differ, and why."""

from collections.abc import Iterator
from dataclasses import dataclass

from shapelog.choosing import Choice
from shapelog.ids import TorchVersion
from shapelog.marks import Mark, entries, pattern
from shapelog.model import Input
from shapelog.payloads.sources import friendly, tensor_part
from shapelog.profiles import would_suggest
from shapelog.replay import Replay
from shapelog.serving import BLOCKED
from shapelog.study import Study


@dataclass(frozen=True, slots=True)
class Difference:
    """A source on which the two lists differ: what PGO suggests, what shapelog does ("" for nothing), and why."""

    source: str
    theirs: str
    ours: str
    why: str


def differences(studied: Study, played: Replay, choice: Choice, version: TorchVersion) -> tuple[Difference, ...]:
    """What PGO lists and shapelog does not, or otherwise, and what PGO misses; () where the trace has no code state."""
    if not studied.trace.code_states:
        return ()
    return tuple(_differences(studied, played, choice, version))


def _differences(studied: Study, played: Replay, choice: Choice, version: TorchVersion) -> Iterator[Difference]:
    theirs = would_suggest(studied.trace)
    by_source: dict[str, list[Mark]] = {}
    for mark in sorted(choice.marks):
        by_source.setdefault(mark.source, []).append(mark)
    for source in theirs:
        mine = by_source.get(source)
        if mine is None:
            yield Difference(source, source, "", _why_not(source, studied, played, choice))
        elif pattern(source) != source:
            yield Difference(source, source, ",".join(entries(mine, version)), "as it stands, the name is split or read as an expression")
        elif version.reads_dims and not mine[0].is_int:
            constant = _constant_dims(source, mine, studied)
            if constant:
                dims = ", ".join(map(str, constant))
                why = f"PGO lists the whole tensor; dim{'s' if len(constant) > 1 else ''} {dims} need not be dynamic"
                yield Difference(source, source, ",".join(entries(mine, version)), why)
    for source, mine in by_source.items():
        if source not in theirs:
            yield Difference(source, "", ",".join(entries(mine, version)), _why_missed(source, studied))


def _constant_dims(source: str, mine: list[Mark], studied: Study) -> list[int]:
    ranks = {len(item.size) for compile in studied.trace.compiles for item in compile.inputs if item.source == source}
    marked = {mark.dim for mark in mine}
    return [dim for dim in range(max(ranks, default=0)) if dim not in marked]


def _input(source: str, studied: Study) -> Input | None:
    return next((item for compile in studied.trace.compiles for item in compile.inputs if item.source == source), None)


def _why_not(source: str, studied: Study, played: Replay, choice: Choice) -> str:
    """Why a source that PGO lists is not on the list."""
    harm = next((item for item in choice.left_out if item.mark.source == source), None)
    if harm is not None:
        return harm.reason
    codes = {code for item in studied.recompiles for cause in item.causes if _is_of(cause.source, source) for code in cause.codes}
    if any(source == item.source and item.marked_dynamic for compile in studied.trace.compiles for item in compile.inputs):
        return "the program marks it already"
    if "SL312" in codes:
        return "a float: no entry of the list makes one dynamic"
    if "SL107" in codes and not any(mark.source == source for mark in played.by_mark):
        return "its number of dims changed, which no mark helps against"
    if source.endswith("._base"):
        return "the tensor behind a view: marking the view is enough"
    if any(mark.source == source for mark in played.by_mark):
        return "marked or not, the same calls compile: what varies with it is covered by other entries, or stays"
    if BLOCKED & codes:
        return "its value is pinned, branched on, or 0 or 1, so a mark would not save a compile"
    if not codes:
        return "it caused no recompile in this run"
    return "other things changed at the same calls, so a mark would not save a compile"


def _is_of(cause: str, source: str) -> bool:
    part = tensor_part(cause)
    return cause == source or (part is not None and part[0] == source)


def _why_missed(source: str, studied: Study) -> str:
    """Why PGO does not list what shapelog does."""
    tensor = _input(source, studied)
    if tensor is not None and tensor.is_parameter:
        return "a parameter: forced static before PGO looks at it; the list overrides that"
    causes = {code for item in studied.recompiles for cause in item.causes if _is_of(cause.source, source) for code in cause.codes}
    if "SL105" in causes:
        return f"only a stride of {friendly(source)} varied; a symbolic size makes it symbolic"
    if "SL103" in causes:
        return "its size was symbolic already, but shared a symbol with an equal one"
    return "PGO did not see it vary (dynamic=False, or a frame that it does not recognise)"

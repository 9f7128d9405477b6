"""PyTorch's own suggestion (PGO) compared with shapelog's: its state, where they differ, and why."""

from collections.abc import Iterator
from typing import NamedTuple

from shapelog.advice.marks import Mark, entries, is_expression, matches, pattern, split_list
from shapelog.advice.minimal_marks import MarkSelection
from shapelog.advice.replay import Cost, Replay, predicted
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Trace
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input
from shapelog.recompiles.explain import Explanations
from shapelog.rules import any_blocks_marking
from shapelog.text import plural_noun


class Difference(NamedTuple):
    """A source on which the two lists differ: what PGO suggests, what shapelog does ("" for nothing), and why."""

    source: Source
    theirs: str
    ours: str
    why: str


class PgoSuggestion(NamedTuple):
    """PGO's state in this run, the list that it would suggest, and what that list would come to.

    ``env`` is the list as PyTorch writes it; ``states`` each source that varied with its state in PyTorch's words, that of the warm start
    where ``is_warm``. ``cost`` is predicted as for shapelog's own list; ``problem`` is why PyTorch would refuse the list, or "".
    """

    env: str
    is_warm: bool
    states: tuple[tuple[str, str], ...]
    cost: Cost
    problem: str
    differences: tuple[Difference, ...]


def pgo_suggestion(explained: Explanations, replayed: Replay, choice: MarkSelection, version: TorchVersion) -> PgoSuggestion | None:
    """PyTorch's suggestion next to shapelog's; None where the trace has no code state."""
    profiles = explained.trace.code_states
    if not profiles:
        return None
    theirs = would_suggest(explained.trace)
    states = {
        state.source: state.text
        for profile in profiles
        for entry in profile.last.state.entries
        for state in entry.states
        if state.is_varied
    }
    raw = ",".join(theirs)
    marks = frozenset(mark for plan in replayed.plans for mark in plan.marks)
    reached = frozenset(mark for mark in marks if any(matches(entry, mark, version) for entry in split_list(raw)))
    problem = _problem(raw)
    return PgoSuggestion(
        env=raw,
        is_warm=any(profile.read for profile in profiles),
        states=tuple(states.items()),
        cost=predicted(replayed, frozenset() if problem else reached),
        problem=problem,
        differences=tuple(_differences(explained, replayed, choice, version)),
    )


def would_suggest(trace: Trace) -> tuple[str, ...]:
    """The sources in PyTorch's last suggestion, those of all processes together, rebuilt from PGO's state where none was written.

    () without a code state in the trace.
    """
    states = [profile.last.state for profile in trace.code_states]
    return tuple(dict.fromkeys(source for state in states for source in state.suggestion or state.dynamic_sources))


def _problem(value: str) -> str:
    for entry in split_list(value):
        if not is_expression(entry):
            return f"{entry} is no valid regular expression once PyTorch has split the list, and fails every compile"
    return ""


def _differences(explained: Explanations, replayed: Replay, choice: MarkSelection, version: TorchVersion) -> Iterator[Difference]:
    theirs = would_suggest(explained.trace)
    by_source: dict[Source, list[Mark]] = {}
    for mark in sorted(choice.marks):
        by_source.setdefault(mark.source, []).append(mark)
    for source in map(Source, theirs):
        mine = by_source.get(source)
        if mine is None:
            yield Difference(source, source, "", _why_not(source, explained, replayed, choice, version))
        elif pattern(source) != source:
            yield Difference(source, source, ",".join(entries(mine, version)), "as it stands, the name is split or read as an expression")
        elif version.reads_dims and not mine[0].is_int:
            constant = _constant_dims(source, mine, explained)
            if constant:
                dims = ", ".join(map(str, constant))
                why = f"PGO lists the whole tensor; {plural_noun(len(constant), 'dim')} {dims} need not be dynamic"
                yield Difference(source, source, ",".join(entries(mine, version)), why)
    for source, mine in by_source.items():
        if source not in theirs:
            yield Difference(source, "", ",".join(entries(mine, version)), _why_missed(source, explained))


def _constant_dims(source: Source, mine: list[Mark], explained: Explanations) -> list[int]:
    ranks = {len(item.size) for compile in explained.trace.compiles for item in compile.inputs if item.source == source}
    marked = {mark.dim for mark in mine}
    return [dim for dim in range(max(ranks, default=0)) if dim not in marked]


def _input(source: Source, explained: Explanations) -> Input | None:
    return next((item for compile in explained.trace.compiles for item in compile.inputs if item.source == source), None)


def _why_not(source: Source, explained: Explanations, replayed: Replay, choice: MarkSelection, version: TorchVersion) -> str:
    """Why a source that PGO lists is not on the list."""
    if not version.reads_sources:
        return f"torch {version} reads no list"
    harm = next((item for item in choice.left_out if item.mark.source == source), None)
    if harm is not None:
        return harm.reason
    codes = {code for item in explained.recompiles for cause in item.causes if _is_of(cause.source, source) for code in cause.codes}
    if any(source == item.source and item.marked_dynamic for compile in explained.trace.compiles for item in compile.inputs):
        return "the program marks it already"
    if "SL312" in codes:
        return "a float: no entry of the list makes one dynamic"
    if "SL107" in codes and not any(mark.source == source for mark in replayed.by_mark):
        return "its number of dims changed, which no mark helps against"
    if source.endswith("._base"):
        return "the tensor behind a view: marking the view is enough"
    enough = _enough(source, replayed, choice)
    if enough:
        return f"{enough} is enough: a marked origin hands its dynamism on, and of two sizes that were one it takes one mark"
    if any(mark.source == source for mark in replayed.by_mark):
        return "marked or not, the same calls compile: what varies with it is covered by other entries, or stays"
    if any_blocks_marking(codes):
        return "its value is pinned, branched on, or 0 or 1, so a mark would not save a compile"
    if not codes:
        return "it caused no recompile in this run"
    return "other things changed at the same calls, so a mark would not save a compile"


def _enough(source: Source, replayed: Replay, choice: MarkSelection) -> str:
    """A chosen mark that does the work of one on this source."""
    routes = (route for plan in replayed.plans for call in plan.calls for route in call.routes)
    alternatives = (needed for route in routes for needed in route.required_marks if any(mark.source == source for mark in needed))
    return next((mark.source.display_name for needed in alternatives for mark in sorted(needed & choice.marks)), "")


def _is_of(cause: Source, source: Source) -> bool:
    part = cause.tensor_part
    return cause == source or (part is not None and part.tensor == source)


def _why_missed(source: Source, explained: Explanations) -> str:
    """Why PGO does not list what shapelog does."""
    tensor = _input(source, explained)
    if tensor is not None and tensor.is_parameter:
        return "a parameter: forced static before PGO looks at it; the list overrides that"
    causes = {code for item in explained.recompiles for cause in item.causes if _is_of(cause.source, source) for code in cause.codes}
    if "SL105" in causes:
        return f"only a stride of {source.display_name} varied; a symbolic size makes it symbolic"
    if "SL103" in causes:
        return "its size was symbolic already, but shared a symbol with an equal one"
    return "not among what varied in PGO's state: dynamic=False, code that it does not recognise, or a run that kept no state"

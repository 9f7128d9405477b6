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
            return f"{entry} is not a valid regular expression after PyTorch has split the list, so every compilation would fail"
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
            yield Difference(
                source, source, ",".join(entries(mine, version)), "unescaped, the name would be split or read as a regular expression"
            )
        elif version.reads_dims and not mine[0].is_int:
            constant = _constant_dims(source, mine, explained)
            if constant:
                dims = ", ".join(map(str, constant))
                which = f"{plural_noun(len(constant), 'dim')} {dims} {'does' if len(constant) == 1 else 'do'}"
                why = f"PGO lists the whole tensor; {which} not need to be dynamic"
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
        return f"torch {version} does not read a list"
    harm = next((item for item in choice.left_out if item.mark.source == source), None)
    if harm is not None:
        return harm.reason
    codes = {code for item in explained.recompiles for cause in item.causes if _is_of(cause.source, source) for code in cause.codes}
    if any(source == item.source and item.marked_dynamic for compile in explained.trace.compiles for item in compile.inputs):
        return "the program already marks it"
    if "SL312" in codes:
        return "a float: no list entry can make a float dynamic"
    if "SL107" in codes and not any(mark.source == source for mark in replayed.by_mark):
        return "its number of dimensions changed, and no mark prevents that"
    if source.endswith("._base"):
        return "the tensor behind a view: marking the view is enough"
    enough = _enough(source, replayed, choice)
    if enough:
        return f"marking {enough} is enough: dynamic sizes propagate, and of two equal sizes only one needs a mark"
    if any(mark.source == source for mark in replayed.by_mark):
        return "marking it changes nothing: its recompilations are covered by other entries, or remain"
    if any_blocks_marking(codes):
        return "its value is specialized, branched on, or 0 or 1, so a mark would not save a compilation"
    if not codes:
        return "it caused no recompilation in this run"
    return "other properties changed in the same calls, so a mark would not save a compilation"


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
        return "a parameter: PyTorch forces parameters to be static before PGO sees them; the list overrides that"
    causes = {code for item in explained.recompiles for cause in item.causes if _is_of(cause.source, source) for code in cause.codes}
    if "SL105" in causes:
        return f"only a stride of {source.display_name} changed; a symbolic size makes the stride symbolic"
    if "SL103" in causes:
        return "its size was already symbolic, but shared a symbol with an equal size"
    return "PGO's state does not list it as changed: dynamic=False, code that PGO does not recognize, or a run that saved no state"

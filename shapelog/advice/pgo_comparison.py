"""PyTorch's own suggestion (PGO) compared with shapelog's: its state, where they differ, and why."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from shapelog.advice.marks import Mark, SourceNames, entries, is_expression, matched, pattern, split_list
from shapelog.advice.minimal_marks import MarkSelection
from shapelog.advice.replay import Cost, Replay, predicted
from shapelog.grouping import grouped
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
    reached = matched(split_list(raw), replayed.by_mark, version)
    problem = _problem(raw)
    return PgoSuggestion(
        env=raw,
        is_warm=any(profile.read for profile in profiles),
        states=tuple(states.items()),
        cost=predicted(replayed, frozenset() if problem else reached),
        problem=problem,
        differences=tuple(_differences(_Sources(explained, replayed, choice, version))),
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


@dataclass(frozen=True)
class _Sources:
    """What the trace and the marks have at each source."""

    explained: Explanations
    replayed: Replay
    choice: MarkSelection
    version: TorchVersion

    @cached_property
    def inputs(self) -> dict[Source, list[Input]]:
        return grouped((item for compile in self.explained.trace.compiles for item in compile.inputs), lambda item: item.source)

    @cached_property
    def tensors(self) -> SourceNames:
        """The ranks of the tensors there."""
        return SourceNames((), {source: max(len(item.size) for item in items) for source, items in self.inputs.items()})

    def spelled(self, marks: Iterable[Mark]) -> str:
        """The entries for these marks."""
        return ",".join(entries(marks, self.version, self.tensors))

    @cached_property
    def codes(self) -> dict[Source, set[str]]:
        """The rules of the causes there, or at a size or stride of the tensor there."""
        found: dict[Source, set[str]] = {}
        for cause in (cause for item in self.explained.recompiles for cause in item.causes):
            part = cause.source.tensor_part
            for source in (cause.source, part.tensor) if part else (cause.source,):
                found.setdefault(source, set()).update(cause.codes)
        return found

    @cached_property
    def static(self) -> frozenset[Source]:
        """Those that changed only where automatic dynamic shapes are off."""
        changed = [(item.frame.makes_dynamic, cause.source) for item in self.explained.recompiles for cause in item.causes]
        return frozenset([source for setting, source in changed if setting is False]).difference(
            source for setting, source in changed if setting is not False
        )

    @cached_property
    def helping(self) -> frozenset[Source]:
        """Those of which a mark would do something."""
        return frozenset([mark.source for mark in self.replayed.by_mark])

    @cached_property
    def harm(self) -> dict[Source, str]:
        """Why marks were left out that would do harm."""
        return {item.mark.source: item.reason for item in reversed(self.choice.left_out)}

    @cached_property
    def enough(self) -> dict[Source, str]:
        """A chosen mark that does the work of one there."""
        routes = (route for plan in self.replayed.plans for call in plan.calls for route in call.routes)
        found: dict[Source, str] = {}
        for choice in dict.fromkeys(choice for route in routes for choice in route.required_marks):
            chosen = choice & self.choice.marks
            if chosen:
                name = min(chosen).source.display_name
                for mark in choice:
                    found.setdefault(mark.source, name)
        return found


def _differences(known: _Sources) -> Iterator[Difference]:
    theirs = dict.fromkeys(map(Source, would_suggest(known.explained.trace)))
    by_source = grouped(sorted(known.choice.marks), lambda mark: mark.source)
    for source in theirs:
        mine = by_source.get(source)
        if mine is None:
            yield Difference(source, source, "", _why_not(source, known))
        elif pattern(source) != source:
            yield Difference(source, source, known.spelled(mine), "unescaped, the name would be split or read as a regular expression")
        elif known.version.reads_dims and all(mark.is_int for mark in mine) and source in known.inputs:
            yield Difference(source, source, known.spelled(mine), "PGO's entry also marks the tensors of that name in other code")
        elif known.version.reads_dims and not mine[0].is_int:
            constant = _constant_dims(known.inputs.get(source, ()), mine)
            if constant:
                dims = ", ".join(map(str, constant))
                which = f"{plural_noun(len(constant), 'dim')} {dims} {'does' if len(constant) == 1 else 'do'}"
                why = f"PGO lists the whole tensor; {which} not need to be dynamic"
                yield Difference(source, source, known.spelled(mine), why)
    for source, mine in by_source.items():
        if source not in theirs:
            yield Difference(source, "", known.spelled(mine), _why_missed(source, known))


def _constant_dims(inputs: Iterable[Input], mine: list[Mark]) -> list[int]:
    marked = {mark.dim for mark in mine}
    return [dim for dim in range(max((len(item.size) for item in inputs), default=0)) if dim not in marked]


def _why_not(source: Source, known: _Sources) -> str:
    """Why a source that PGO lists is not on the list."""
    if not known.version.reads_sources:
        return f"torch {known.version} does not read a list"
    if source in known.harm:
        return known.harm[source]
    codes = known.codes.get(source, set())
    if any(item.marked_dynamic for item in known.inputs.get(source, ())):
        return "the program already marks it"
    if "SL312" in codes:
        return "a float: no list entry can make a float dynamic"
    if "SL107" in codes and source not in known.helping:
        return "its number of dimensions changed, and no mark prevents that"
    if source.endswith("._base"):
        return "the tensor behind a view: marking the view is enough"
    enough = known.enough.get(source)
    if enough:
        return f"marking {enough} is enough: dynamic sizes propagate, and of two equal sizes only one needs a mark"
    if source in known.helping:
        return "marking it changes nothing: its recompilations are covered by other entries, or remain"
    if any_blocks_marking(codes):
        return "its value is specialized, branched on, or 0 or 1, so a mark would not save a compilation"
    if not codes:
        return "it caused no recompilation in this run"
    return "other properties changed in the same calls, so a mark would not save a compilation"


def _why_missed(source: Source, known: _Sources) -> str:
    """Why PGO does not list what shapelog does."""
    if any(item.is_parameter for item in known.inputs.get(source, ())[:1]):
        return "a parameter: PyTorch forces parameters to be static before PGO sees them; the list overrides that"
    if source in known.static:
        return "automatic dynamic shapes are off, as under dynamic=False, so PGO remembers nothing of it"
    codes = known.codes.get(source, set())
    if "SL105" in codes:
        return f"only a stride of {source.display_name} changed; a symbolic size makes the stride symbolic"
    if "SL103" in codes:
        return "its size was already symbolic, but shared a symbol with an equal size"
    return "PGO's state does not list it as changed: dynamic=False, code that PGO does not recognize, or a run that saved no state"

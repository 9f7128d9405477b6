"""What to mark dynamic, what it will save, and what it will not fix: ``advise(explained)`` → Advice."""

import math
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.advice.alternatives import Alternative, alternatives
from shapelog.advice.caveats import ObservedValues, caveats_of_list, caveats_of_source, observed_values, rationale, scope
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.mark_dynamic_code import mark_line
from shapelog.advice.marks import Mark, SourceNames, entries, printable, split_list
from shapelog.advice.minimal_marks import HarmfulMark, MarkSelection, select_marks
from shapelog.advice.pgo_comparison import PgoSuggestion, pgo_suggestion
from shapelog.advice.remaining_recompiles import Remaining, remaining
from shapelog.advice.replay import Cost, Marks, Replay, predicted, replay
from shapelog.advice.savings import Savings, ServedCall
from shapelog.advice.source_index import SourceIndex
from shapelog.display import in_notebook
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Frame, Outcome, resumed_by
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import StackFrame
from shapelog.recompiles.explain import Explanations
from shapelog.rules import Verdict
from shapelog.text import cut, one_line, plural

# Rules about values that the code itself pins or branches on: another line of code removes them.
# The sources that a caveat names.
_NAMED = 4
_REWRITABLE = frozenset(("SL201", "SL202", "SL204", "SL311", "SL322"))
_REASONS = {
    "high": "a dynamic graph in the trace handles all these calls",
    "medium": "the graphs match, but the trace contains no dynamic graph that handles all these calls",
    "low": "only a call past the recompile limit is saved, and the trace records little about it",
}


class Suggestion(NamedTuple):
    """One source to mark dynamic. ``entries`` are its entries of the list, () where this torch has none.

    ``gone`` are the compile ids that would come back without it, ``seconds`` what they cost. ``python`` holds ``mark_dynamic`` lines for
    ``place``, the user's line that makes the call; ints have none.
    """

    id: str
    source: str
    name: str
    codes: tuple[str, ...]
    dims: tuple[int, ...]
    seen: tuple[ObservedValues, ...]
    frames: tuple[Frame, ...]
    tool: str
    entries: tuple[str, ...]
    recommendation: str
    rationale: str
    gone: tuple[str, ...]
    seconds: float
    confidence: str
    confidence_reason: str
    caveats: tuple[str, ...]
    place: StackFrame | None
    python: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<Suggestion {self.id} {cut(one_line(self.name), 80)}: saves {plural(len(self.gone), 'compilation')}>"


class Forecast(NamedTuple):
    """What one frame cost, and what it would cost with the suggestions."""

    frame: Frame
    before: Cost
    after: Cost


class Advice(NamedTuple):
    """The whole advice for one torch version. ``env`` is the value of TORCH_COMPILE_DYNAMIC_SOURCES, "" when nothing helps.

    ``before`` and ``after`` are compiles, limit hits and seconds of this run, and of another run of the same calls with the suggestions;
    ``scope`` names the ranks where those are not all.
    """

    version: TorchVersion
    is_version_given: bool
    suggestions: tuple[Suggestion, ...]
    left_out: tuple[HarmfulMark, ...]
    remaining: tuple[Remaining, ...]
    alternatives: tuple[Alternative, ...]
    caveats: tuple[str, ...]
    pgo: PgoSuggestion | None
    before: Cost
    after: Cost
    forecasts: tuple[Forecast, ...]
    set_already: tuple[str, ...] = ()
    failures: int = 0
    scope: str = ""

    def __repr__(self) -> str:
        return f"<Advice for torch {self.version}: {f'mark {self.what_to_mark}' if self.suggestions else 'nothing to mark'}>"

    def _repr_html_(self) -> str:
        return in_notebook("marks", self)

    @property
    def entries(self) -> tuple[str, ...]:
        """The whole list, in visible characters: what the run had set already, then what is suggested; () when there is nothing to add."""
        new = [entry for item in self.suggestions for entry in item.entries]
        return tuple(dict.fromkeys(map(printable, (*self.set_already, *new)))) if new else ()

    def tool_for(self, item: Remaining) -> str:
        """What helps against recompiles that stay: a tool of PyTorch's, a change of the code, or nothing."""
        fitting = next((other.tool for other in self.alternatives if item.rule.code in other.codes), "")
        if fitting and item.rule.code != "SL101":
            return fitting
        return "a code change" if item.rule.verdict in (Verdict.CODE, Verdict.FAILED) or item.rule.code in _REWRITABLE else "nothing"

    @property
    def avoidable_seconds(self) -> Seconds:
        """What the suggestions save of the seconds of this run."""
        return self.after.seconds.left_of(self.before.seconds.least)

    @property
    def what_to_mark(self) -> str:
        """``3 inputs``, with the number of entries of the list where an input has several: ``1 input (2 entries)``."""
        sources, number = plural(len(self.suggestions), "input"), sum(len(item.entries) for item in self.suggestions)
        return f"{sources} ({number} entries)" if number > len(self.suggestions) else sources

    @property
    def env(self) -> str:
        return ",".join(self.entries)

    @property
    def why_empty(self) -> str:
        """Why there is nothing to mark, "" when there is."""
        if self.suggestions:
            return ""
        if self.left_out:
            return "the only marks that would save a compilation would do harm (see what was left out)"
        if not self.remaining:
            return "nothing recompiled" + (
                " (failed compilations are listed by shapelog report)" if self.failures else ": every frame was compiled once"
            )
        if any(item.size_related for item in self.remaining):
            return "no mark would remove any of the recompilations; the reason is listed for each"
        return "none of these recompilations is caused by a changing size"


def advise(explained: Explanations, version: TorchVersion | None = None) -> Advice:
    """The minimal list of marks for this trace, its predicted effect, and what it leaves.

    ``version`` overrides the torch version of the trace: the list is written, and the other tools are chosen, for that one.
    """
    used = version or explained.trace.version
    replayed = replay(explained)
    choice = select_marks(explained, replayed, used)
    suggestions = tuple(_suggestions(explained, replayed, choice, used))
    before, after = replayed.cost(()), predicted(replayed, choice.marks)
    left = remaining(explained, replayed, choice.marks, choice.left_out, used)
    return Advice(
        version=used,
        is_version_given=version is not None,
        suggestions=suggestions,
        left_out=choice.left_out,
        remaining=left,
        alternatives=alternatives(explained, choice.marks, left, used),
        caveats=tuple(caveats_of_list(explained, replayed, choice.marks, used)),
        pgo=pgo_suggestion(explained, replayed, choice, used),
        before=before,
        after=after,
        set_already=tuple(map(printable, split_list(explained.trace.config.dynamic_sources))) if used.reads_sources else (),
        scope=scope(explained.trace),
        failures=sum(compile.outcome is Outcome.FAILED for compile in explained.trace.compiles),
        forecasts=tuple(Forecast(plan.frame, plan.cost(frozenset()), predicted(plan, choice.marks)) for plan in replayed.plans),
    )


class _Selected(NamedTuple):
    """The selected marks in their trace, and every source that PyTorch will match the list with."""

    explained: Explanations
    replayed: Replay
    marks: Marks
    savings: Savings
    version: TorchVersion
    known: SourceIndex
    sources: SourceNames


def _suggestions(explained: Explanations, replayed: Replay, choice: MarkSelection, version: TorchVersion) -> Iterator[Suggestion]:
    by_source: dict[Source, list[Mark]] = {}
    for mark in sorted(choice.marks):
        by_source.setdefault(mark.source, []).append(mark)
    selected = _Selected(
        explained=explained,
        replayed=replayed,
        marks=choice.marks,
        savings=Savings(replayed, choice.marks),
        version=version,
        known=SourceIndex(explained),
        sources=_all_sources(explained) if by_source else SourceNames(),
    )
    made = [_suggestion(selected, marks) for marks in by_source.values()]
    for number, item in enumerate(sorted(made, key=lambda item: (-item.seconds, item.source)), 1):
        yield item._replace(id=f"A{number}")


def _suggestion(selected: _Selected, marks: list[Mark]) -> Suggestion:
    plans = list(dict.fromkeys(plan for mark in marks for plan in selected.replayed.by_mark[mark]))
    gone = dict.fromkeys(selected.savings.lost_without(marks).calls)
    helped = dict.fromkeys([plan for plan in plans if any(compile in gone for compile in plan.frame.compiles)] or plans)
    served = [call for call in selected.savings.served_by(marks) if call.plan in helped]
    frames = tuple(plan.frame for plan in helped)
    seen = tuple(observed_values(mark, frames, selected.explained) for mark in marks)
    dims = tuple(mark.dim for mark in marks if not mark.is_int)
    name = marks[0].source.display_name
    causes = (cause for frame in frames for cause in selected.known.causes(frame, marks[0].source))
    codes = tuple(dict.fromkeys(code for cause in causes for code in cause.codes))
    confidence = _confidence(served)
    caveats = (
        *caveats_of_source(marks, seen, codes, selected.explained, frames, selected.version, selected.known),
        *_narrowed(served),
    )
    return Suggestion(
        id="",
        source=marks[0].source,
        name=name,
        codes=codes,
        dims=dims,
        seen=seen,
        frames=frames,
        tool="dynamic source" if selected.version.reads_sources else "mark_dynamic",
        entries=entries(marks, selected.version, selected.sources),
        recommendation=_recommendation(name, dims, selected.version),
        rationale=rationale(seen, codes),
        gone=tuple(compile.label for compile in gone),
        seconds=math.fsum(selected.explained.trace.seconds(compile) for compile in gone),
        confidence=confidence,
        confidence_reason=_REASONS[confidence],
        caveats=caveats,
        place=frames[0].called_at,
        python=tuple(_mark_lines(seen, codes, frames)),
    )


def _mark_lines(seen: tuple[ObservedValues, ...], codes: tuple[str, ...], frames: tuple[Frame, ...]) -> Iterator[str]:
    is_resumed = all(resumed_by(frame.name) for frame in frames)
    for item in seen:
        if not item.mark.is_int:
            yield mark_line(item.mark, [value for _, value in item.values], codes, is_resumed)


def _all_sources(explained: Explanations) -> SourceNames:
    """Every source that PyTorch will match the list with."""
    compiles = explained.trace.compiles
    names = {item.source for compile in compiles for item in compile.inputs}
    trees = dict.fromkeys(tree for tree in (compile.guards for compile in compiles) if tree)
    return SourceNames(sorted(names.union(*[tree.sources for tree in trees])))


def _recommendation(name: str, dims: tuple[int, ...], version: TorchVersion) -> str:
    if not dims:
        return f"mark the int {name} as dynamic"
    which = f"dim {dims[0]}" if len(dims) == 1 else f"dims {', '.join(map(str, dims[:-1]))} and {dims[-1]}"
    whole = version.reads_sources and not version.reads_dims
    return f"mark {which} of {name} as dynamic" + (f" (torch {version} can only list the whole tensor)" if whole else "")


def _narrowed(served: list[ServedCall]) -> Iterator[str]:
    """Where a compile is saved that could do more than what takes its place."""
    for call in served:
        if call.narrowed:
            names = ", ".join(source.display_name.replace(".size()[", ".size[") for source in call.narrowed[:_NAMED])
            names += ", …" if len(call.narrowed) > _NAMED else ""
            gone = call.compile.label
            yield f"The removed compilation {gone} was also symbolic in {names}: later calls with other values of it would compile again."


def _confidence(served: list[ServedCall]) -> str:
    """High where a dynamic graph of this trace serves every saved call, medium where there is none, low where only a limit hit is saved."""
    levels = []
    for call in served:
        is_hit = call.compile.outcome is Outcome.LIMIT
        is_sure = call.route.is_proven and not call.narrowed
        levels.append("low" if is_hit else "high" if is_sure else "medium")
    kept = [level for level in levels if level != "low"]
    return "low" if not kept else "medium" if "medium" in kept else "high"

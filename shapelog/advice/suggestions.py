"""What to mark dynamic: one ``Suggestion`` for each source of the selected marks."""

import math
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from shapelog.advice.caveats import MarkedValues, ObservedValues, caveats_of_source, rationale
from shapelog.advice.folded_entries import NamedEntry
from shapelog.advice.mark_dynamic_code import mark_line
from shapelog.advice.marks import Mark, SourceNames, entries, matches, named_by, printable
from shapelog.advice.minimal_marks import MarkSelection
from shapelog.advice.replay import FramePlan, Marks, Replay
from shapelog.advice.savings import Savings, ServedCall
from shapelog.advice.source_index import SourceIndex
from shapelog.display import in_notebook
from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import StackFrame
from shapelog.recompiles.explain import Explanations
from shapelog.text import compilations, cut, in_natural_order, one_line

# The sources that a caveat names.
_NAMED = 4


class _Basis(Enum):
    """What shows that a marked call needs no compile of its own, the weakest first."""

    REFUSED = "refused"
    REASONS = "reasons"
    BACKENDS = "several backends"
    SIMILAR_GRAPHS = "similar graphs"
    HANDED_ON = "what another function returned"
    BEFORE_LIMIT = "calls before a limit hit"
    DYNAMIC_GRAPH = "dynamic graph"


_CONFIDENCE = {
    _Basis.DYNAMIC_GRAPH: ("high", "a recorded dynamic graph handles all these calls"),
    _Basis.SIMILAR_GRAPHS: ("medium", "the graphs match, but no dynamic graph that handles all these calls is recorded"),
    _Basis.HANDED_ON: (
        "medium",
        "judging by its sizes, a tensor was returned by another function; eager code may have made a new one from it",
    ),
    _Basis.BEFORE_LIMIT: ("medium", "calls after the limit hit left no records, and may need graphs of their own"),
    _Basis.REASONS: ("low", "sizes differ, but neither graphs nor guards are recorded, so one graph may not be enough"),
    _Basis.BACKENDS: ("low", "this code is compiled with several backends, and the trace does not record which one each call came with"),
    _Basis.REFUSED: ("low", "only a refused call is saved, and little is recorded about it"),
}


_OF_LATER_CALLS = (
    "The code counts it up or down. Calls beyond the recompile limit, which left no record, have another value each: without the mark, "
    "they fill the cache again."
)


class Suggestion(NamedTuple):
    """One source to mark dynamic. ``entries`` are its entries of the list, () where this torch has none.

    ``gone`` are the compile ids that would come back without it, ``compiles`` and ``limit_hits`` how many these are on all ranks, and
    ``seconds`` what they cost. ``python`` holds ``mark_dynamic`` lines for
    ``place``, the user's line that makes the call; ints have none. ``function`` is the one that has the input, where ``name`` includes it.
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
    compiles: int
    limit_hits: int
    seconds: float
    confidence: str
    confidence_reason: str
    caveats: tuple[str, ...]
    place: StackFrame | None
    python: tuple[str, ...]
    function: str = ""

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The dims, or the int, to mark."""
        return tuple(item.mark for item in self.seen)

    def title_in(self, frame: Frame) -> str:
        """The title of a frame, with the classes for which it is to be marked there."""
        gone = frozenset(self.gone)
        return frame.title_of([compile for compile in frame.compiles if compile.label in gone] or frame.compiles)

    @property
    def subject(self) -> str:
        """``dim 0 of x``, ``the int k``. One name can be that of an int in one function and of a tensor in another."""
        return subject_of(self.name, self.dims, any(mark.is_int for mark in self.marks))

    def narrowed_to(self, marks: Collection[Mark], version: TorchVersion) -> "Suggestion":
        """The same with some of its marks alone."""
        if all(mark in marks for mark in self.marks):
            return self
        lines = dict(zip([mark for mark in self.marks if not mark.is_int], self.python, strict=True))
        seen = tuple(item for item in self.seen if item.mark in marks)
        narrowed = self._replace(
            seen=seen,
            dims=tuple(item.mark.dim for item in seen if not item.mark.is_int),
            entries=tuple(entry for entry in self.entries if any(matches(entry, item.mark, version) for item in seen)),
            python=tuple(lines[item.mark] for item in seen if item.mark in lines),
        )
        return narrowed._replace(recommendation=_recommendation(narrowed.subject, version))

    def in_function(self, title: str, version: TorchVersion) -> "Suggestion":
        """The same under a name that holds outside of the function that has the input: ``x in embed``."""
        named = self._replace(name=f"{self.name} in {title}", function=title)
        return named._replace(recommendation=_recommendation(named.subject, version))

    @property
    def visible_entries(self) -> tuple[str, ...]:
        """The entries in characters that may be shown."""
        return tuple(map(printable, self.entries))

    def named_entries(self, version: TorchVersion) -> Iterator[NamedEntry]:
        """Each entry with the source and the dim that it names in a list for this version."""
        for entry in self.entries:
            yield NamedEntry(self.source, entry, named_by(entry, version)[1])

    @property
    def saved(self) -> str:
        """``7 compilations and 1 limit hit``."""
        return compilations(self.compiles, self.limit_hits) if self.gone else "no recorded compilation"

    def __repr__(self) -> str:
        return f"<Suggestion {self.id} {cut(one_line(self.name), 80)}: saves {self.saved}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)


class _Selected(NamedTuple):
    """The selected marks in their trace, and every source that PyTorch will match the list with.

    ``with_room`` are the plans in which calls that left no record may compile again.
    """

    explained: Explanations
    replayed: Replay
    marks: Marks
    savings: Savings
    values: MarkedValues
    version: TorchVersion
    known: SourceIndex
    sources: SourceNames
    with_room: frozenset[FramePlan]


def suggestions_for(
    explained: Explanations, replayed: Replay, choice: MarkSelection, version: TorchVersion, sources: SourceNames
) -> Iterator[Suggestion]:
    """The most expensive first. ``sources`` are all that PyTorch will match the list with."""
    by_source: dict[Source, list[Mark]] = {}
    for mark in sorted(choice.marks):
        by_source.setdefault(mark.source, []).append(mark)
    selected = _Selected(
        explained=explained,
        replayed=replayed,
        marks=choice.marks,
        savings=Savings(replayed, choice.marks),
        values=MarkedValues(explained, replayed, choice.marks),
        version=version,
        known=SourceIndex(explained),
        sources=sources,
        with_room=frozenset([plan for plan in replayed.plans if plan.cost(choice.marks).more]),
    )
    made = [_suggestion(selected, marks) for marks in by_source.values()]
    for number, item in enumerate(sorted(made, key=lambda item: (-item.seconds, in_natural_order(item.source))), 1):
        yield item._replace(id=f"A{number}")


def _suggestion(selected: _Selected, marks: list[Mark]) -> Suggestion:
    plans = selected.replayed.plans_with(marks)
    lost = selected.savings.lost_without(marks)
    gone, trace = tuple(dict.fromkeys(lost.calls)), selected.explained.trace
    helped = dict.fromkeys(lost.plans or plans)
    served = [call for call in selected.savings.served_by(marks) if call.plan in helped]
    if not served and (widened := selected.savings.narrowed_without(marks)):  # what serves these calls is for more values with the marks
        served, gone = widened, tuple(call.compile for call in widened)
        helped = dict.fromkeys(call.plan for call in widened)
    if not helped:  # for calls beyond the recompile limit
        helped = dict.fromkeys(plan for plan in selected.replayed.plans if selected.known.causes(plan.frame, marks[0].source))
    frames = _frames_with(marks[0].source, [plan.frame for plan in helped], gone, selected.known)
    seen = tuple(selected.values.of(mark, frames) for mark in marks)
    dims = tuple(mark.dim for mark in marks if not mark.is_int)
    name = marks[0].source.display_name
    causes = [cause for frame in frames for cause in selected.known.causes(frame, marks[0].source)]
    of_sizes = [cause for cause in causes if cause.size_related]  # a mark does nothing about its dtype
    codes = tuple(dict.fromkeys(code for cause in of_sizes or causes for code in cause.codes))
    removed = {
        cause for plan in helped for item in selected.explained.of_frame(plan.frame) if item.compile in gone for cause in item.causes
    }
    of_removed = tuple(dict.fromkeys(code for cause in of_sizes if cause in removed for code in cause.codes))
    confidence, reason = _confidence(served, selected.with_room) if gone else _CONFIDENCE[_Basis.BEFORE_LIMIT]
    rank = selected.sources.ranks.get(marks[0].source) if not dims and selected.version.reads_dims else None
    beyond = f"The entry ends in :{rank}, a dimension that no tensor named {name} has, so that it marks the int alone."
    caveats = (
        *([] if rank is None else [beyond]),
        *caveats_of_source(
            marks=marks, seen=seen, codes=codes, frames=frames, version=selected.version, index=selected.known, values=selected.values
        ),
        *_narrowed(served),
        *([] if gone else [_OF_LATER_CALLS]),
    )
    return Suggestion(
        id="",
        source=marks[0].source,
        name=name,
        codes=of_removed or codes,
        dims=dims,
        seen=seen,
        frames=frames,
        tool="dynamic source" if selected.version.reads_sources else "mark_dynamic",
        entries=entries(marks, selected.version, selected.sources),
        recommendation=_recommendation(subject_of(name, dims, any(mark.is_int for mark in marks)), selected.version),
        rationale=rationale(seen, codes),
        gone=tuple(compile.label for compile in gone),
        compiles=sum(trace.rank_weight(compile.rank) for compile in gone if not compile.is_refused),
        limit_hits=sum(trace.rank_weight(compile.rank) for compile in gone if compile.outcome is Outcome.LIMIT),
        seconds=math.fsum(map(trace.seconds, gone)),
        confidence=confidence,
        confidence_reason=reason,
        caveats=caveats,
        place=_called_at(frames[0], marks[0].source),
        python=tuple(_mark_lines(seen, codes, frames, selected.version, selected.known)),
    )


def _frames_with(source: Source, helped: Sequence[Frame], gone: Sequence[Compile], known: SourceIndex) -> tuple[Frame, ...]:
    """The frames in which a mark helps that have its source; else the last one before them that has it, and passes its size on."""
    owners = known.with_tensor_or_value(source)
    own = [frame for frame in helped if frame in owners]
    if own or not owners or not gone:
        return tuple(own or helped)
    start = min(compile.order for compile in gone)
    before = [frame for frame in owners if frame.compiles[0].order < start]
    return (max(before or owners, key=lambda frame: frame.compiles[0].order),)


def _called_at(frame: Frame, source: Source) -> StackFrame | None:
    """The line of the first call that has this source; state that a model keeps is None in earlier calls."""
    calls = (line for compile in frame.entries if _has_source(compile, source) and (line := frame.caller(compile)))
    return next(calls, frame.called_at)


def _has_source(compile: Compile, source: Source) -> bool:
    tree = compile.guards
    return source in tree.sources if tree else any(item.source == source for item in compile.inputs)


def _mark_lines(
    seen: tuple[ObservedValues, ...], codes: tuple[str, ...], frames: tuple[Frame, ...], version: TorchVersion, known: SourceIndex
) -> Iterator[str]:
    is_resumed = all(resumed_by(frame.name) for frame in frames)
    is_within = all(frame.is_within_library for frame in frames)
    for item in seen:
        if not item.mark.is_int:
            values = [value for _, value in item.values]
            having = [sum(len(sizes) > item.mark.dim for sizes in known.sizes(frame, item.mark.source)) for frame in frames]
            is_always = all(number in (0, len(frame.entries)) for frame, number in zip(frames, having, strict=True))
            yield mark_line(
                item.mark,
                values,
                codes,
                is_resumed=is_resumed,
                has_list=version.reads_sources,
                is_always=is_always,
                is_within_library=is_within,
            )


def all_sources(explained: Explanations) -> SourceNames:
    """Every source that PyTorch will match the list with."""
    compiles = explained.trace.compiles
    ranks: dict[str, int] = {}
    for item in (item for compile in compiles for item in compile.inputs):
        ranks[item.source] = max(len(item.size), ranks.get(item.source, 0))
    trees = dict.fromkeys(tree for tree in (compile.guards for compile in compiles) if tree)
    return SourceNames(sorted(ranks.keys() | frozenset().union(*[tree.sources for tree in trees])), ranks)


def _recommendation(subject: str, version: TorchVersion) -> str:
    """What to mark, in one sentence."""
    whole = subject.startswith("dim") and version.reads_sources and not version.reads_dims
    return f"mark {subject} as dynamic" + (" (before torch 2.13, an entry covers the whole tensor)" if whole else "")


def subject_of(name: str, dims: Sequence[int], is_int: bool) -> str:
    """What is marked, in words: dims of a tensor, an int, or both where one name is that of either."""
    if not dims:
        return f"the int {name}"
    which = f"dim {dims[0]}" if len(dims) == 1 else f"dims {', '.join(map(str, dims[:-1]))} and {dims[-1]}"
    return f"the int {name}, and {which} of {name} where it is a tensor," if is_int else f"{which} of {name}"


def _narrowed(served: list[ServedCall]) -> Iterator[str]:
    """Where a compile is saved that could do more than what takes its place."""
    for call in served:
        if call.narrowed:
            names = ", ".join(source.display_name.replace(".size()[", ".size[") for source in call.narrowed[:_NAMED])
            names += ", …" if len(call.narrowed) > _NAMED else ""
            gone, those = call.compile.label, "these" if call.narrowed[1:] else "it"
            later = f"later calls with other values of {those} would compile again"
            yield f"The removed compilation {gone} was also symbolic in {names}: {later}."


def _confidence(served: list[ServedCall], with_room: frozenset[FramePlan]) -> tuple[str, str]:
    """How sure it is that these calls are saved, and why: as sure as of the least sure one. A call past the limit counts where there is
    no other.
    """
    found = {_basis_of(call, with_room) for call in served}
    return _CONFIDENCE[min(found - {_Basis.REFUSED}, default=_Basis.REFUSED, key=list(_Basis).index)]


def _basis_of(call: ServedCall, with_room: frozenset[FramePlan]) -> _Basis:
    compile = call.compile
    if compile.is_refused:
        return _Basis.REFUSED
    if not compile.graph_span and not compile.guards_span:
        return _Basis.REASONS
    if call.plan.has_backends:
        return _Basis.BACKENDS
    if not call.route.is_proven or call.narrowed:
        return _Basis.SIMILAR_GRAPHS
    if call.is_doubtful:
        return _Basis.HANDED_ON
    return _Basis.BEFORE_LIMIT if call.plan in with_room else _Basis.DYNAMIC_GRAPH

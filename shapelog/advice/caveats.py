"""What a suggestion rests on and where it ends: the values seen, the guards that bound them, and what else the marks touch."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from shapelog.advice.compile_seconds import DYNAMIC_OVER_STATIC
from shapelog.advice.marks import Mark
from shapelog.advice.replay import Marks, Replay
from shapelog.advice.source_index import SourceIndex
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.declared_shapes import declarations
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Trace
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.ranges import in_short
from shapelog.reading.payloads.properties import RANK, VALUE, size
from shapelog.reading.payloads.source_names import Source, display_text
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.int_usage import QuotedCode, spelled
from shapelog.recompiles.reuse.refused_calls import is_known_by_limit
from shapelog.recompiles.reuse.similar import similar
from shapelog.text import MOST_NAMED, enumerated, file_name, how_often, names_of, plural, rank_list, seconds, some

_SPECIALIZED = frozenset({"0", "1"})
_RANGE = re.compile(r"(?=.* <= )(?:(?P<least>\d{1,18}) <= )?(?P<of>[^<>=!]*[^<>=!\s])(?: <= (?P<most>\d{1,18}))?")
_DIVISION = re.compile(r"//|%|\b(?:Mod|FloorDiv|PythonMod|CeilDiv)\b")
# A dynamic compile is slow when it takes this many times as long as a static one of the same code, and this many seconds more.
_MUCH_SLOWER, _NOTABLE = 3.0, 1.0


# What is worth knowing before the marks are set, not only by those who read all caveats.
_OVERRIDES = "The list overrides dynamic=False; a backend that only supports static shapes will fail."
STAYS_STATIC = f"Automatic dynamic shapes are off, as under dynamic=False. {_OVERRIDES}"
SEEMS_STATIC = f"This size changed but never became symbolic, as under dynamic=False. {_OVERRIDES}"
ONE_INPUT = (
    "PyTorch logs only the first size that differs. Later dims of this tensor and other inputs that vary with it need a mark as well, or "
    "nothing is saved: TORCH_LOGS=guards shows them."
)
# The dynamic graphs whose range is shown of one source.
_MOST_CONDITIONS, _MOST_GRAPHS = 8, 2
_MOST_OF_GRAPH, _LONGEST_CONDITION = 3, 60
MAY_NOT_SAVE = "Fewer compilations may not save time."


class ObservedValues(NamedTuple):
    """One dim or int with the values it had: (compile id, value) in order, and the guards that bound it in dynamic graphs, those of one
    together.
    """

    mark: Mark
    name: str
    values: tuple[tuple[str, str], ...]
    conditions: tuple[tuple[str, ...], ...]

    @property
    def bounds(self) -> tuple[str, ...]:
        """All of these guards, each once."""
        return tuple(dict.fromkeys(text for texts in self.conditions for text in texts))


class MarkedValues:
    """The values of marks in the frames that need a mark of their source; one pass over a frame finds those of all its marks."""

    def __init__(self, explained: Explanations, replayed: Replay, marks: Marks) -> None:
        self._facts = explained.facts
        self._wanted: dict[Frame, dict[Mark, None]] = {}
        for together in grouped(sorted(marks), lambda mark: mark.source).values():
            for plan in replayed.plans_with(together):
                self._wanted.setdefault(plan.frame, {}).update(dict.fromkeys(together))
        self._by_frame: dict[Frame, dict[Mark, _InFrame]] = {}

    def of(self, mark: Mark, frames: Iterable[Frame]) -> ObservedValues:
        """The values of one dim or int in the compiles of these frames."""
        found = [self._in_frame(frame, mark) for frame in frames]
        conditions = dict.fromkeys(texts for item in found for texts in item.conditions)
        name = mark.source.display_name + ("" if mark.is_int else f".size[{mark.dim}]")
        return ObservedValues(mark, name, tuple(value for item in found for value in item.values), tuple(conditions))

    def _in_frame(self, frame: Frame, mark: Mark) -> "_InFrame":
        known = self._by_frame.setdefault(frame, {})
        if mark not in known:
            known.update(self._read(frame, {**self._wanted.get(frame, {}), mark: None}))
        return known[mark]

    def _read(self, frame: Frame, marks: Iterable[Mark]) -> "dict[Mark, _InFrame]":
        found = {mark: _InFrame([], {}) for mark in marks}
        by_key = {(mark.source, VALUE if mark.is_int else size(mark.dim)): mark for mark in found}
        by_place = grouped(found, lambda mark: mark.place.canonical)
        replaced = _replaced(frame)
        for compile in frame.compiles:
            facts = self._facts.of(compile).facts
            for key in facts.keys() & by_key.keys():
                mark, fact = by_key[key], facts[key]
                if not mark.is_int or (isinstance(fact, str) and integer(fact) is not None):
                    found[mark].values.append((compile.label, str(fact)))
            special = {mark for key, mark in by_key.items() if str(facts.get(key)) in _SPECIALIZED}  # the graph is for 0 or 1 alone
            tree = compile.guards if compile.outcome is Outcome.COMPILED and compile not in replaced else None
            bounds = tree.shapes_of_one if tree else {}
            for place in bounds.keys() & by_place.keys():
                texts = [shape.expression for shape in bounds[place] if shape.is_of_code and not shape.is_usual]
                for mark in [mark for mark in by_place[place] if mark not in special]:
                    found[mark].conditions.update(dict.fromkeys([tuple(texts)] if texts else []))
        return found


def _replaced(frame: Frame) -> frozenset[Compile]:
    """The entries of which another one has every symbol and more: their other sizes are static, and are part of their guards."""
    symbols = {compile: frozenset(item.source for item in compile.symbols if item.source) for compile in frame.entries}
    kinds = set(symbols.values())
    smaller = {own for own in kinds if any(own < other for other in kinds)}
    return frozenset(compile for compile, own in symbols.items() if own in smaller)


class _InFrame(NamedTuple):
    """The values of one mark in a frame, as (compile id, value), and the guards that bound it."""

    values: list[tuple[str, str]]
    conditions: dict[tuple[str, ...], None]


def rationale(seen: tuple[ObservedValues, ...], codes: tuple[str, ...]) -> str:
    """What varied, with its values, in one sentence."""
    parts = []
    for item in seen:
        values = list(dict.fromkeys(value for _, value in item.values))
        if len(values) > 1:
            parts.append(f"{item.name} was {_listed(tuple(values))}")
        elif "SL105" in codes:
            parts.append(
                f"{item.name} was always {values[0] if values else '?'}, but a symbolic size makes the changing stride symbolic too"
            )
        elif "SL103" in codes:
            parts.append(f"{item.name} shared a symbol with a dimension of the same size; marking gives it a symbol of its own")
        elif values and not codes:
            parts.append(f"{item.name} was {values[0]} when this was compiled, and what follows from it changed later")
        else:
            parts.append(f"{item.name} changed")
    return "; ".join(parts)


def _harm_of_size(source: Source, frames: Sequence[Frame]) -> str:
    """What may come of symbolic sizes of a tensor in code in which they never changed."""
    name = spelled(source)
    reading = re.compile(rf"(?<![\w.]){re.escape(name)}\.(?:shape\b|size\()")
    for frame in frames:
        line = next((number for number, code in sorted(QuotedCode(frame).lines.items()) if reading.search(code)), 0)
        if line:
            where = f"{file_name(frame.file)}:{line}"
            instead = "torch._dynamo.mark_dynamic marks the tensor alone"
            return f"The code there reads its sizes ({where}), which may fail or break the graph once they are symbolic; {instead}."
    return "As a rule this is harmless: PyTorch specializes it again where code needs its value."


def _as_recorded(frames: Iterable[Frame]) -> str:
    """Of a call that was refused, a trace has the first guard that failed alone."""
    return ", as far as it is recorded" if any(compile.is_refused for frame in frames for compile in frame.compiles) else ""


def _dims_that_stayed(marks: list[Mark], index: SourceIndex) -> Iterator[str]:
    """Dims of a tensor that did not change in one frame, where others of it did."""
    stayed: dict[tuple[Frame, ...], list[Mark]] = {}
    for mark in marks:
        frames = [frame for frame in index.with_tensor_or_value(mark.source) if not mark.is_int and index.stayed(frame, mark)]
        varied = (frame for frame in frames if index.varied(frame, mark.source) and not _changed_there(frame, mark, index))
        stayed.setdefault(tuple(varied), []).append(mark)
    for at, same in stayed.items():
        if at:
            named = ", ".join(list(dict.fromkeys(frame.placed_title for frame in at))[:4])
            dims = enumerated([str(mark.dim) for mark in same])
            which, are, they = ("dims", "are", "they") if same[1:] else ("dim", "is", "it")
            yield (
                f"Entries match by name, so {which} {dims} of {same[0].source.display_name} of {named} {are} marked too, although {they} "
                f"did not change there{_as_recorded(at)}. {_harm_of_size(same[0].source, at)}"
            )


def _changed_there(frame: Frame, mark: Mark, index: SourceIndex) -> bool:
    """Whether a recompile of a frame is about this dim, perhaps one that was refused, or about strides of the tensor, which become
    symbolic with the sizes.
    """
    return any("SL105" in cause.codes or cause.prop == size(mark.dim) for cause in index.causes(frame, mark.source))


def caveats_of_source(
    marks: list[Mark],
    seen: tuple[ObservedValues, ...],
    codes: tuple[str, ...],
    frames: tuple[Frame, ...],
    version: TorchVersion,
    index: SourceIndex,
    values: MarkedValues,
) -> Iterator[str]:
    """The caveats of one source that is marked for the sake of ``frames``."""
    source, name = marks[0].source, marks[0].source.display_name
    yield from _across_ranks(seen, frames, values)
    helped = set(frames)
    codes_helped = {frame.origin for frame in frames}
    is_int_alone = version.reads_dims and all(mark.is_int for mark in marks)
    others = [
        frame
        for frame in (index.with_int(source) if is_int_alone else index.with_tensor_or_value(source))
        if frame not in helped and frame.origin not in codes_helped and not index.varied(frame, source)
    ]
    if others and version.reads_sources:
        titles = {frame.placed_title for frame in frames}
        named = some(list(dict.fromkeys(_with_id(frame, titles) for frame in others)), 4)
        harm = "No code there formats it into a string." if marks[0].is_int else _harm_of_size(source, others)
        if not marks[0].is_int and not set(others).isdisjoint(index.with_int(source)):
            harm = "There it is an int, which may break a graph once it is symbolic; torch._dynamo.mark_dynamic marks the tensor alone."
        yield f"Entries match by name, so {name} of {named} is marked too, although it did not change there{_as_recorded(others)}. {harm}"
    elif version.reads_dims:
        yield from _dims_that_stayed(marks, index)
    if any(frame.makes_dynamic is False for frame in frames):
        yield STAYS_STATIC
    elif marks and not marks[0].is_int and "SL106" not in codes and any(_stays_static(frame, source, index) for frame in frames):
        yield SEEMS_STATIC
    if "SL106" in codes:
        yield (
            "A parameter has one width per instance, so this saves a compilation per instance, not per call. "
            "One graph per instance may be acceptable."
        )
    bounds = dict.fromkeys(text for item in seen for text in _bounds(item))
    if bounds:
        yield f"A dynamic graph covers a limited range: {'; '.join(list(bounds)[:4])}{'; …' if len(bounds) > 4 else ''}"
    small = [item.name for item in seen if not item.mark.is_int and any(value in _SPECIALIZED for _, value in item.values)]
    if small:
        yield f"Calls in which {' or '.join(small)} is 0 or 1 still get a separate graph."
    if any(cause.prop == RANK for frame in frames for cause in index.causes(frame, source)):
        yield f"The number of dimensions of {name} changed, so PyTorch made all of them dynamic; dimensions not listed here may change too."


def _with_id(frame: Frame, titles: Collection[str]) -> str:
    """The title of a frame, with its id where one that the mark is for has the same."""
    has_same = frame.placed_title in titles and frame.shown_label
    return f"{frame.placed_title} (frame {frame.shown_label})" if has_same else frame.placed_title


def _bounds(item: ObservedValues) -> list[str]:
    """What dynamic graphs ask of one dim or int; where there are several graphs, what one or another of them asks."""
    each = (_few([display_text(text) for text in in_short(texts)]) for texts in islice(item.conditions, _MOST_CONDITIONS))
    graphs = _widest([texts for texts in dict.fromkeys(each) if texts])
    if len(graphs) < 2:
        return [text for texts in graphs for text in texts]
    return [" or ".join(" and ".join(texts) for texts in graphs[:_MOST_GRAPHS]) + (" or …" if len(graphs) > _MOST_GRAPHS else "")]


def _widest(graphs: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The conditions of several graphs, without a range of the same size that another one of them includes."""
    ranges: dict[tuple[str, ...], tuple[str, float, float]] = {}
    for texts in graphs:
        if len(texts) == 1 and (found := _RANGE.fullmatch(texts[0])):  # either end may be missing
            ranges[texts] = found["of"], float(found["least"] or -math.inf), float(found["most"] or math.inf)
    inner = {
        texts
        for texts, (of, least, most) in ranges.items()
        if any(other != texts and known == of and low <= least and most <= high for other, (known, low, high) in ranges.items())
    }
    return [texts for texts in graphs if texts not in inner]


def _few(texts: Sequence[str]) -> tuple[str, ...]:
    """The conditions that are short enough to be read, with words for others."""
    shown = [text for text in texts if len(text) <= _LONGEST_CONDITION][:_MOST_OF_GRAPH]
    longer = "longer conditions" if len(texts) - len(shown) > 1 else "a longer condition"
    return (*shown, *((longer,) if len(shown) < len(texts) else ()))


def _declared(trace: Trace, replayed: Replay, marks: Marks) -> Iterator[str]:
    """Functions whose shapes the program declares: there the list changes nothing."""
    declared = declarations(trace)
    found: dict[tuple[str, str], dict[str, None]] = {}
    for mark in sorted(marks) if declared else ():
        for frame in dict.fromkeys(plan.frame for plan in replayed.plans_with([mark]) if plan.frame in declared):
            what = mark.name
            found.setdefault((frame.title, declared[frame].argument), {})[what] = None
    for (title, argument), names in found.items():
        yield f"{title} declares its shapes with {argument}=, where the list has no effect: declare {some(list(names))} there, too."


def _across_ranks(seen: tuple[ObservedValues, ...], frames: tuple[Frame, ...], observed: MarkedValues) -> Iterator[str]:
    """Values that differ from rank to rank, each with its ranks."""
    by_rank = grouped(frames, lambda frame: frame.rank)
    ranks = sorted(rank for rank in by_rank if rank is not None)
    for item in seen if len(ranks) > 1 else ():
        ranks_by_values: dict[tuple[str, ...], list[int]] = {}
        for rank in ranks:
            own = observed.of(item.mark, by_rank[rank])
            ranks_by_values.setdefault(tuple(dict.fromkeys(value for _, value in own.values)), []).append(rank)
        if len(ranks_by_values) > 1:
            first = list(ranks_by_values.items())[:MOST_NAMED]
            words = [f"{_listed(values)} on {rank_list(numbers)}" for values, numbers in first if values]
            yield f"{item.name} differs across ranks: {'; '.join(words)}{'; …' if len(ranks_by_values) > MOST_NAMED else ''}"


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(values[:MOST_NAMED]) + (", …" if len(values) > MOST_NAMED else "")


def _stays_static(frame: Frame, source: Source, index: SourceIndex) -> bool:
    """Whether a tensor's sizes varied in a frame in which nothing became symbolic, though nothing shows that they should have.

    Sizes of 0 and 1 never do.
    """
    if frame.makes_dynamic:
        return False
    sizes = list(dict.fromkeys(index.sizes(frame, source)))
    varied = any(before != after > 1 for one, other in pairwise(sizes) for before, after in zip(one, other, strict=False))
    return varied and not index.has_dynamic_entry(frame)


def scope(trace: Trace) -> str:
    """``on 9 of 2,048 ranks``: the ranks that the numbers are of, "" where it is all of them."""
    return f"on {trace.covered_ranks:,} of {trace.rank_count:,} ranks" if trace.covered_ranks < trace.rank_count else ""


def caveats_of_list(
    explained: Explanations, replayed: Replay, marks: Marks, version: TorchVersion, is_minimal: bool = True
) -> Iterator[str]:
    """The caveats of the list as a whole."""
    yield from _declared(explained.trace, replayed, marks)
    if not marks:
        return
    yield "Estimated by replaying the recorded compilations. Other inputs may still recompile."
    by_limit = any(is_known_by_limit(plan.frame) for plan in replayed.plans) and not all(mark.is_int for mark in marks)
    if by_limit or any(route.shows_one_input for _, route in replayed.served(marks)):
        yield ONE_INPUT
    if not is_minimal:
        yield "More calls depend on one another than could be followed: some of these marks may save nothing together with the others."
    if scope(explained.trace):
        yield f"Compilations and seconds are {scope(explained.trace)}; the other ranks have the same causes in different numbers."
    if explained.trace.config.dynamic_sources:
        yield f"The run already had a list ({explained.trace.config.dynamic_sources}); the suggestion includes it."
    yield from _after_limit(replayed, marks)
    yield from _of_failed(explained.trace, marks)
    yield from _handed_on(replayed, marks)
    yield from _kept(replayed, marks)
    yield from _split(replayed, marks)
    yield from _seconds_unsure(replayed, marks)
    yield from _widened(replayed, marks)
    if any(compile.metrics.inductor for compile in explained.trace.compiles):
        yield "Dynamic-shape kernels can be slower than specialized ones; measure step time before and after."
    if version.reads_sources and not version.reads_dims and any(not mark.is_int for mark in marks):
        yield (
            "torch before 2.13 can only list whole tensors: their other dimensions become symbolic too, "
            "and are specialized again where the code requires it."
        )
    if not version.reads_sources:
        yield "torch before 2.7 has no list of dynamic sources. Mark the tensors in code before each call (--format python)."


def _after_limit(replayed: Replay, marks: Marks) -> Iterator[str]:
    """Calls after the recompile limit was hit, which left no records."""
    hits = [(plan.frame.title, call.compile) for plan in replayed.plans for call in plan.calls if call.compile.outcome is Outcome.LIMIT]
    if not hits:
        return
    named = some(list(dict.fromkeys(title for title, _ in hits)))
    more = replayed.cost(marks).unrecorded
    often = "" if not more else ", once" if more == 1 else f", up to {how_often(more)}"
    then = "raised errors" if all(compile.raised_at_limit for _, compile in hits) else "ran in eager mode and left no records"
    may = f"calls with other values may compile again{often}"
    first = ", and functions that only these calls reach may compile for the first time" if more else ""
    yield f"After the recompile limit was hit, {named} {then}: {may}{first}."


def _of_failed(trace: Trace, marks: Marks) -> Iterator[str]:
    """Functions that failed to compile and whose inputs become dynamic: a size that is read before the failure is a graph then."""
    found: dict[str, dict[str, None]] = {}
    for frame in trace.frames:
        failed = () if frame.entries else [compile for compile in frame.compiles if compile.outcome is Outcome.FAILED]
        for compile in failed:
            symbolic = {symbol.source for symbol in compile.symbols}
            sizes = ((Mark(item.source, dim), number) for item in compile.inputs for dim, number in enumerate(item.size))
            new = [mark.source.display_name for mark, number in sizes if number > 1 and mark in marks and mark.place not in symbolic]
            if new:
                found.setdefault(frame.placed_title, {}).update(dict.fromkeys(new))
    for names, titles in grouped(found, lambda title: tuple(found[title])).items():
        them = "it" if len(titles) == 1 else "them"
        matched = f"{names_of(titles)} failed to compile, and these marks also match {some(list(names))} in {them}."
        may = "The part before the failure may then become a graph, even if it only reads a size: such compilations are not counted."
        yield f"{matched} {may}"


def _handed_on(replayed: Replay, marks: Marks) -> Iterator[str]:
    """Tensors that are taken to be what other compiled code returned."""
    served = [(compile, route) for compile, route in replayed.served(marks) if not compile.is_refused and route.is_doubtful(marks)]
    sources = list(dict.fromkeys(mark.source for _, route in served for choice in route.doubts for mark in choice - marks))
    if not sources:
        return
    names, number = some([source.display_name for source in sources]), plural(len(served), "compilation")
    whose, are, them = ("its", "is", "it") if len(sources) == 1 else ("their", "are", "them")
    yield (
        f"Judging by {whose} sizes, {names} {are} returned by other compiled code. If eager code makes a new tensor from {them}, "
        f"up to {number} will remain: mark {them} as well."
    )


def _kept(replayed: Replay, marks: Marks) -> Iterator[str]:
    """Tensors that are taken to be what a function keeps for its next call."""
    served = [route for compile, route in replayed.served(marks) if not compile.is_refused and route.may_be_replaced(marks)]
    sources = list(dict.fromkeys(mark.source for route in served for mark in route.kept if mark not in marks))
    if sources:
        names, number = some([source.display_name for source in sources]), plural(len(served), "compilation")
        are, them = ("is", "it") if len(sources) == 1 else ("are", "them")
        yield (
            f"{names} {are} assumed to be kept by compiled code. If other code replaces {them}, as when beam search reorders a cache, "
            f"up to {number} will remain: mark {them} as well."
        )


def _split(replayed: Replay, marks: Marks) -> Iterator[str]:
    """Code that takes views of what becomes dynamic, and for which a size of 0 or 1 of the base makes a difference then."""
    titles = dict.fromkeys(plan.frame.title for plan in replayed.plans if not marks.isdisjoint(plan.splitting))
    if titles:
        yield (
            f"{enumerated(list(titles))} {'take' if len(titles) > 1 else 'takes'} views of a tensor that becomes dynamic: "
            "calls in which that has a size of 0 or 1 may need one more graph."
        )


def _seconds_unsure(replayed: Replay, marks: Marks) -> Iterator[str]:
    """Frames of which no compile shows how long a dynamic one takes, and those that may save no time, since these take much longer than
    static ones of the same graph.
    """
    assumed = [plan.frame.title for plan in replayed.plans if plan.frame.seconds and plan.assumes_seconds(marks)]
    if assumed:
        named = some(list(dict.fromkeys(assumed)))
        yield (
            f"This trace has no time for a dynamic compilation of {named} (or its code came from a cache): "
            f"it is assumed to take up to {DYNAMIC_OVER_STATIC} times as long as a static one."
        )
    for plan in replayed.plans:
        dynamic = [call for index in plan.served(marks) if (call := plan.calls[index]).compile.is_dynamic]
        saved = plan.cost(marks).seconds.left_of(plan.cost(frozenset()).seconds.least)
        if not dynamic or saved.least:
            continue
        slow = max(dynamic, key=lambda call: call.seconds)
        static = [call for call in plan.calls if call.compile.outcome is Outcome.COMPILED and not call.compile.is_dynamic]
        same = [call for call in static if similar(call.compile, slow.compile) or not (call.compile.graph and slow.compile.graph)]
        quick = min(same, key=lambda call: call.seconds, default=None)
        if quick and slow.seconds - quick.seconds > _NOTABLE and slow.seconds > _MUCH_SLOWER * quick.seconds:
            why = " (its shapes contain symbolic // or %)" if _divides(slow.compile) else ""
            title = plan.frame.title_of([slow.compile])
            yield (
                f"{title} is slow to compile with dynamic sizes{why}: {slow.compile.reference} took {seconds(slow.seconds)}, "
                f"{quick.compile.reference} {seconds(quick.seconds)}. {MAY_NOT_SAVE}"
            )


def _widened(replayed: Replay, marks: Marks) -> Iterator[str]:
    """Frames whose compiles become dynamic and stay, where that takes half of what the list removes if these take twice as long then."""
    found = replayed.widened(marks)
    removed = replayed.cost(()).kept - replayed.cost_in_this_run(marks).kept
    if math.fsum(min(item.more, item.seconds) for item in found) < removed / 2:
        return
    longer = [item for item in found if item.more > _NOTABLE]
    if longer:
        number, taken = sum(item.compiles for item in longer), seconds(math.fsum(item.seconds for item in longer))
        titles = some(list(dict.fromkeys(item.frame.title for item in longer)))
        yield (
            f"These marks also make {plural(number, 'compilation')} of {titles} ({taken}) dynamic without removing any. To mark the "
            f"tensors of one function alone, call torch._dynamo.mark_dynamic in the code. {MAY_NOT_SAVE}"
        )


def _divides(compile: Compile) -> bool:
    """Whether sizes are divided in what it guards."""
    tree = compile.guards
    return any(_DIVISION.search(shape.expression) for shape in tree.shapes) if tree else False

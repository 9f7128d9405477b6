"""The timeline of all compiles: one lane a frame, one bar a compile, as wide as it took."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.model.trace import Compile, Frame, Outcome, resumed_by
from shapelog.recompiles.explain import Recompile
from shapelog.report.report import Report
from shapelog.reporters.html.anchors import Anchors, kind_of, recompiles_by_compile
from shapelog.reporters.html.chart_text import WORDS, clipped, percent, place
from shapelog.reporters.html.time_axis import Cut, Tick, TimeAxis, axis_of, cuts_of, stretch, ticks_of
from shapelog.text import plural, seconds

# Frames that get a lane of their own where there are more than this and one.
_LANES = 23
# In percent of the width: bars are at least so wide, and those that would be thinner than a pixel are put together within one window.
_NARROWEST = 0.35
# What went wrong is worth a wider bar.
_NARROWEST_FAULT = 0.7
_FAULTS = frozenset(("failed", "limit"))
_THIN = 0.2
_WINDOW = 0.7
# More bars than this make no better chart: windows are widened until they are fewer.
_BARS = 1200
# With more bars than this, the tables on the page are the better way through by keyboard.
_TAB_STOPS = 100
# A lane with more bars than this needs more width than a phone has.
_CROWDED = 24
_LONGEST_NAME = 60
_LONGEST_CAUSE = 120


class Bar(NamedTuple):
    """One compile, its backward graph (``is_backward``), or several that are too short to be told apart."""

    anchor: str
    kind: str
    x: str
    width: str
    title: str
    is_backward: bool


class Lane(NamedTuple):
    """A frame, or in the last lane all that have none of their own (``anchor`` is "" there)."""

    name: str
    place: str
    title: str
    seconds: str
    anchor: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A kind of compile that occurs, how many there are and what they took."""

    kind: str
    words: str
    count: int
    seconds: str


class Timeline(NamedTuple):
    """The chart. ``is_timed`` tells whether x is the time of the clock, or compiles stand one after another; ``is_wide`` whether it
    is too full for a phone.
    """

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    cuts: tuple[Cut, ...]
    legend: tuple[Entry, ...]
    summary: str
    notes: tuple[str, ...]
    is_timed: bool
    has_backward: bool
    in_tab_order: bool
    is_wide: bool


class _Piece(NamedTuple):
    """A stretch of time in which something was compiled, in seconds since the first."""

    compile: Compile
    frame: Frame
    kind: str
    start: float
    seconds: float
    is_backward: bool


@dataclass(slots=True)
class _Heap:
    """Pieces that are drawn as one bar, from ``left`` to ``right`` in percent."""

    pieces: list[_Piece]
    left: float
    right: float

    @property
    def kind(self) -> tuple[str, bool]:
        return self.pieces[0].kind, self.pieces[0].is_backward

    @property
    def narrowest(self) -> float:
        return _NARROWEST_FAULT if self.pieces[0].kind in _FAULTS else _NARROWEST

    def add(self, other: "_Heap") -> None:
        self.pieces += other.pieces
        self.right = max(self.right, other.right)


def timeline(report: Report, anchors: Anchors, with_code: bool = True) -> Timeline:
    """The chart of a report, without any lane if nothing was compiled. Sentences may quote code: without it causes are told by rule."""
    trace = report.trace
    recompiles = recompiles_by_compile(report.explained)
    frames = [frame for frame in trace.frames if frame.compiles]
    owners = {id(compile): frame for frame in frames for compile in frame.compiles}
    ordered = _in_order(frames)
    kinds = {id(compile): kind_of(compile, recompiles.get(id(compile))) for compile in ordered}
    pieces, untimed = _placed(ordered, owners, kinds)
    axis = axis_of([(piece.start, piece.start + piece.seconds) for piece in pieces])
    by_lane = _lanes(frames, pieces)
    folded = _folded([own for _, own in by_lane], axis)
    telling = _Telling(anchors, recompiles, {id(frame): clipped(frame.title, _LONGEST_NAME) for frame in frames}, with_code)
    several = len(trace.ranks) > 1
    lanes = tuple(_lane(group, heaps, telling, several) for (group, _), heaps in zip(by_lane, folded, strict=True))
    is_timed = untimed < len(ordered)
    legend = _legend(ordered, kinds)
    return Timeline(
        lanes=lanes,
        ticks=ticks_of(axis) if lanes else (),
        cuts=cuts_of(axis),
        legend=legend,
        summary=_summary(legend, len(frames), len(ordered), axis, is_timed),
        notes=_notes(axis, untimed if is_timed else 0, is_timed),
        is_timed=is_timed,
        has_backward=any(piece.is_backward for piece in pieces),
        in_tab_order=sum(len(lane.bars) for lane in lanes) <= _TAB_STOPS,
        is_wide=any(len(lane.bars) > _CROWDED for lane in lanes) or len(axis.gaps) > 2,
    )


def _in_order(frames: Iterable[Frame]) -> list[Compile]:
    """All compiles, process by process as they were made."""
    compiles = [compile for frame in frames for compile in frame.compiles]
    return sorted(compiles, key=lambda compile: (-1 if compile.rank is None else compile.rank, compile.process, compile.order))


def _placed(ordered: Sequence[Compile], owners: dict[int, Frame], kinds: dict[int, str]) -> tuple[list[_Piece], int]:
    """(the pieces of all compiles, how many compiles have no time of their own and stand behind the one before)"""
    known = [compile.metrics.start_time for compile in ordered if compile.metrics.start_time]
    origin = min(known, default=0.0)
    pieces: list[_Piece] = []
    untimed, end, before = 0, 0.0, None
    for compile in ordered:
        if before != (compile.rank, compile.process):
            before, end = (compile.rank, compile.process), 0.0
        own = compile.metrics.start_time
        untimed += not own
        start = own - origin if own else end
        frame, kind = owners[id(compile)], kinds[id(compile)]
        later = [part for part in compile.backward if part.start_time and part.start_time >= origin] if known else []
        told = math.fsum(part.seconds or part.backward or 0.0 for part in later)
        length = max(0.0, compile.seconds - told)
        pieces.append(_Piece(compile, frame, kind, start, length, False))
        end = start + length
        for part in later:
            pieces.append(_Piece(compile, frame, kind, (part.start_time or 0.0) - origin, part.seconds or part.backward or 0.0, True))
    return pieces, untimed


def _lanes(frames: Sequence[Frame], pieces: Sequence[_Piece]) -> list[tuple[tuple[Frame, ...], list[_Piece]]]:
    """(frames, pieces) of each lane, in order of first compile; what took the least shares the last lane."""
    by_frame: dict[int, list[_Piece]] = {id(frame): [] for frame in frames}
    for piece in pieces:
        by_frame[id(piece.frame)].append(piece)
    ordered = sorted(frames, key=lambda frame: min(piece.start for piece in by_frame[id(frame)]))
    if len(ordered) <= _LANES + 1:
        return [((frame,), by_frame[id(frame)]) for frame in ordered]
    kept = {id(frame) for frame in sorted(ordered, key=lambda frame: -frame.seconds)[:_LANES]}
    rest = tuple(frame for frame in ordered if id(frame) not in kept)
    lanes = [((frame,), by_frame[id(frame)]) for frame in ordered if id(frame) in kept]
    return [*lanes, (rest, [piece for frame in rest for piece in by_frame[id(frame)]])]


def _folded(lanes: Sequence[list[_Piece]], axis: TimeAxis) -> list[list[_Heap]]:
    """The bars of each lane, in order of time."""
    factor = 1
    while True:
        found = [_heaps(pieces, axis, factor) for pieces in lanes]
        if factor > 16 or sum(map(len, found)) <= _BARS:
            return [_spread(heaps) for heaps in found]
        factor *= 2


def _heaps(pieces: Sequence[_Piece], axis: TimeAxis, factor: int) -> list[_Heap]:
    """A bar for each piece, but one for all thin pieces of a kind in one window, and one for those that would cover each other."""
    heaps: dict[tuple[int, int, str, bool], _Heap] = {}
    windows: dict[int, dict[str, _Heap]] = {}
    thin = _THIN * factor
    for piece in sorted(pieces, key=lambda piece: piece.start):
        left, right = axis.at(piece.start), axis.at(piece.start + piece.seconds)
        heap = _Heap([piece], left, right)
        if right - left < thin:
            known = windows.setdefault(int(left / (_WINDOW * factor)), {}).setdefault(f"{piece.kind} {piece.is_backward}", heap)
        else:
            known = heaps.setdefault((round(left / thin), round(right / thin), piece.kind, piece.is_backward), heap)
        if known is not heap:
            known.add(heap)
    found = list(heaps.values())
    before: _Heap | None = None
    for window in windows.values():
        for heap in window.values():
            # Windows in a row that hold one and the same kind are one bar.
            if before and len(window) == 1 and before.kind == heap.kind and heap.left - before.right <= thin:
                before.add(heap)
            else:
                found.append(heap)
                before = heap
    return sorted(found, key=lambda heap: heap.left)


def _spread(heaps: list[_Heap]) -> list[_Heap]:
    """Bars wide enough to be seen; one that begins under a widened one moves aside, as far as nobody sees."""
    end = 0.0
    for heap in heaps:
        if heap.left < end <= heap.left + heap.narrowest:
            heap.right = max(heap.right, end + min(heap.narrowest, heap.right - heap.left))
            heap.left = end
        heap.right = end = max(heap.right, heap.left + heap.narrowest)
    edge = 100.0
    for heap in reversed(heaps):
        if heap.right <= edge:
            break
        heap.left, heap.right = max(0.0, min(heap.left, edge - heap.narrowest)), edge
        edge = max(heap.left, heap.narrowest)
    return heaps


class _Telling(NamedTuple):
    """What the words about a compile are made of; ``names`` are those of the frames."""

    anchors: Anchors
    recompiles: dict[int, Recompile]
    names: dict[int, str]
    with_code: bool

    def bar(self, heap: _Heap) -> Bar:
        first = heap.pieces[0]
        return Bar(
            anchor=self.anchors.compile(first.compile),
            kind=first.kind,
            x=percent(heap.left),
            width=percent(heap.right - heap.left),
            title=self.one(first) if len(heap.pieces) == 1 else self.many(heap.pieces),
            is_backward=first.is_backward,
        )

    def one(self, piece: _Piece) -> str:
        compile = piece.compile
        part = "backward of " if piece.is_backward else ""
        head = f"{part}{compile.label} · {self.names[id(piece.frame)]} · {seconds(piece.seconds)}"
        words = "never ended" if compile.outcome is Outcome.UNFINISHED else WORDS[piece.kind]
        cause = self.cause(self.recompiles.get(id(compile)))
        return f"{head}\n{words}: {cause}" if cause else f"{head}\n{words}"

    def cause(self, recompile: Recompile | None) -> str:
        if recompile is None or not recompile.causes:
            return ""
        cause = recompile.causes[0]
        return clipped(cause.sentence if self.with_code else f"{cause.codes[0]} {cause.rule.name} {cause.axis}".strip(), _LONGEST_CAUSE)

    def many(self, pieces: Sequence[_Piece]) -> str:
        frames = {id(piece.frame) for piece in pieces}
        whose = self.names[id(pieces[0].frame)] if len(frames) == 1 else plural(len(frames), "frame")
        what = plural(len(pieces), "backward graph" if pieces[0].is_backward else "compile")
        span = f"{pieces[0].compile.label} to {pieces[-1].compile.label}"
        total = seconds(math.fsum(piece.seconds for piece in pieces))
        return f"{what}, {span} · {whose} · {total} in all\n{WORDS[pieces[0].kind]}"


def _lane(frames: Sequence[Frame], heaps: Sequence[_Heap], telling: _Telling, several: bool) -> Lane:
    took = seconds(math.fsum(frame.seconds for frame in frames))
    cost = f"{plural(sum(len(frame.compiles) for frame in frames), 'compile')}, {took}"
    bars = tuple(map(telling.bar, heaps))
    if len(frames) > 1:
        name = plural(len(frames), "more frame")
        return Lane(name, "", f"{name}: {cost}", took, "", bars)
    (frame,) = frames
    full = telling.names[id(frame)]
    resumed = resumed_by(frame.name)
    name = clipped(f"↳ {resumed[0]}, line {resumed[1]}", _LONGEST_NAME) if resumed else full
    owner = f"{_owner(frame)} · " if several else ""
    return Lane(f"{owner}{name}", place(frame.file, frame.line), f"{owner}{full}: {cost}", took, telling.anchors.frame(frame), bars)


def _owner(frame: Frame) -> str:
    return f"rank {frame.rank}" if frame.rank is not None else f"process {frame.process}"


def _legend(ordered: Sequence[Compile], kinds: dict[int, str]) -> tuple[Entry, ...]:
    counts = Counter(kinds.values())
    spent = {kind: math.fsum(compile.seconds for compile in ordered if kinds[id(compile)] == kind) for kind in counts}
    return tuple(Entry(kind, words, counts[kind], seconds(spent[kind])) for kind, words in WORDS.items() if kind in counts)


def _summary(legend: Sequence[Entry], frames: int, compiles: int, axis: TimeAxis, is_timed: bool) -> str:
    """The chart in one sentence, for those who do not see it."""
    if not legend:
        return "Nothing was compiled."
    span = f", {stretch(axis.moments[-1])} from the first to the end of the last" if is_timed else ""
    parts = ", ".join(f"{entry.count} {entry.words} ({entry.seconds})" for entry in legend)
    return f"Timeline of {plural(compiles, 'compile')} of {plural(frames, 'frame')}{span}: {parts}. The tables of frames hold the same."


def _notes(axis: TimeAxis, untimed: int, is_timed: bool) -> tuple[str, ...]:
    if not is_timed:
        return ("compiles stand one after another, since this trace does not tell when each began",)
    cut = f": {plural(len(axis.gaps), 'gap')} without compiles cut out, {stretch(axis.idle)} in all" if axis.gaps else ""
    notes = [f"time since the first compile began{cut}"]
    if untimed:
        notes.append(f"{plural(untimed, 'compile')} without a recorded time drawn behind the one before")
    return tuple(notes)

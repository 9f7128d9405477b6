"""The timeline of all compiles: one lane a frame, one bar a compile, as wide as it took."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from shapelog.model.trace import Compile, Frame, Outcome, resumed_by
from shapelog.recompiles.explain import Recompile
from shapelog.report.report import Report
from shapelog.reporters.html.anchors import Anchors, kind_of, recompiles_by_compile
from shapelog.reporters.html.chart_text import KIND_LABELS, clipped, file_and_line, percent
from shapelog.reporters.html.time_axis import Cut, Tick, TimeAxis, axis_of, cuts_of, stretch, ticks_of
from shapelog.text import plural, seconds

# Frames with a lane of their own, if more than one other has to share a lane.
_MAX_LANES = 23
# In percent of the width: the width of the narrowest bar. Bars that would be thinner than a pixel are joined within one window.
_NARROWEST = 0.35
# What went wrong is worth a wider bar.
_NARROWEST_FAULT = 0.7
_FAULTS = frozenset(("failed", "limit"))
_THIN = 0.2
_WINDOW = 0.7
# Windows are widened until there are fewer bars.
_MAX_BARS = 1200
# With more bars than this, the tables on the page are easier to use by keyboard.
_MAX_TAB_STOPS = 100
# A lane with more bars than this needs more width than a phone has.
_CROWDED = 24
_MAX_NAME = 60
_MAX_CAUSE = 120


class Bar(NamedTuple):
    """One compile, its backward graph (``is_backward``), or several that are too short to be drawn apart."""

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
class LegendEntry:
    """A kind of compile that occurs, how many there are and what they took."""

    kind: str
    label: str
    count: int
    seconds: str


class Timeline(NamedTuple):
    """The chart. x is the time of the clock where the trace has it, else compiles are drawn one after another; ``is_wide`` means
    that the chart is too full for a phone.
    """

    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]
    cuts: tuple[Cut, ...]
    legend: tuple[LegendEntry, ...]
    summary: str
    notes: tuple[str, ...]
    has_backward: bool
    in_tab_order: bool
    is_wide: bool


class _Interval(NamedTuple):
    """A stretch of time in which something was compiled, in seconds since the first."""

    compile: Compile
    frame: Frame
    kind: str
    start: float
    seconds: float
    is_backward: bool


@dataclass(slots=True)
class _BarGroup:
    """Intervals that are drawn as one bar, from ``left`` to ``right`` in percent."""

    intervals: list[_Interval]
    left: float
    right: float

    @property
    def kind(self) -> tuple[str, bool]:
        return self.intervals[0].kind, self.intervals[0].is_backward

    @property
    def narrowest(self) -> float:
        return _NARROWEST_FAULT if self.intervals[0].kind in _FAULTS else _NARROWEST

    def add(self, other: "_BarGroup") -> None:
        self.intervals += other.intervals
        self.right = max(self.right, other.right)


def timeline(report: Report, anchors: Anchors, with_code: bool = True) -> Timeline:
    """The chart of a report, without any lane if nothing was compiled. ``with_code`` allows sentences, which may quote it."""
    trace = report.trace
    recompiles = recompiles_by_compile(report.explained)
    frames = [frame for frame in trace.frames if frame.compiles]
    owners = {compile: frame for frame in frames for compile in frame.compiles}
    ordered = _in_order(frames)
    kinds = {compile: kind_of(compile, recompiles.get(compile)) for compile in ordered}
    intervals, untimed = _placed(ordered, owners, kinds)
    axis = axis_of([(interval.start, interval.start + interval.seconds) for interval in intervals])
    by_lane = _lanes(frames, intervals)
    folded = _folded([own for _, own in by_lane], axis)
    texts = _BarTexts(anchors, recompiles, {frame: clipped(frame.title, _MAX_NAME) for frame in frames}, with_code)
    has_many_ranks = len(trace.ranks) > 1
    lanes = tuple(_lane(members, groups, texts, has_many_ranks) for (members, _), groups in zip(by_lane, folded, strict=True))
    is_timed = untimed < len(ordered)
    legend = _legend(ordered, kinds)
    return Timeline(
        lanes=lanes,
        ticks=ticks_of(axis) if lanes else (),
        cuts=cuts_of(axis),
        legend=legend,
        summary=_summary(legend, len(frames), len(ordered), axis, is_timed),
        notes=_notes(axis, untimed if is_timed else 0, is_timed),
        has_backward=any(interval.is_backward for interval in intervals),
        in_tab_order=sum(len(lane.bars) for lane in lanes) <= _MAX_TAB_STOPS,
        is_wide=any(len(lane.bars) > _CROWDED for lane in lanes) or len(axis.gaps) > 2,
    )


def _in_order(frames: Iterable[Frame]) -> list[Compile]:
    """All compiles, process by process as they were made."""
    compiles = [compile for frame in frames for compile in frame.compiles]
    return sorted(compiles, key=lambda compile: (-1 if compile.rank is None else compile.rank, compile.process, compile.order))


def _placed(ordered: Sequence[Compile], owners: dict[Compile, Frame], kinds: dict[Compile, str]) -> tuple[list[_Interval], int]:
    """(the intervals of all compiles, how many compiles have no time of their own and are drawn after the one before)"""
    known = [compile.metrics.start_time for compile in ordered if compile.metrics.start_time]
    origin = min(known, default=0.0)
    intervals: list[_Interval] = []
    untimed, end, before = 0, 0.0, None
    for compile in ordered:
        if before != (compile.rank, compile.process):
            before, end = (compile.rank, compile.process), 0.0
        own = compile.metrics.start_time
        untimed += not own
        start = own - origin if own else end
        later = [part for part in compile.backward if part.start_time and part.start_time >= origin] if known else []
        in_backward = math.fsum(part.seconds or part.backward or 0.0 for part in later)
        length = max(0.0, compile.seconds - in_backward)
        make = partial(_Interval, compile=compile, frame=owners[compile], kind=kinds[compile])
        intervals.append(make(start=start, seconds=length, is_backward=False))
        end = start + length
        for part in later:
            spent = part.seconds or part.backward or 0.0
            intervals.append(make(start=(part.start_time or 0.0) - origin, seconds=spent, is_backward=True))
    return intervals, untimed


def _lanes(frames: Sequence[Frame], intervals: Sequence[_Interval]) -> list[tuple[tuple[Frame, ...], list[_Interval]]]:
    """(frames, intervals) of each lane, in order of first compile; frames that took the least share the last lane."""
    by_frame: dict[Frame, list[_Interval]] = {frame: [] for frame in frames}
    for interval in intervals:
        by_frame[interval.frame].append(interval)
    ordered = sorted(frames, key=lambda frame: min(interval.start for interval in by_frame[frame]))
    if len(ordered) <= _MAX_LANES + 1:
        return [((frame,), by_frame[frame]) for frame in ordered]
    with_lane = set(sorted(ordered, key=lambda frame: -frame.seconds)[:_MAX_LANES])
    rest = tuple(frame for frame in ordered if frame not in with_lane)
    lanes = [((frame,), by_frame[frame]) for frame in ordered if frame in with_lane]
    return [*lanes, (rest, [interval for frame in rest for interval in by_frame[frame]])]


def _folded(lanes: Sequence[list[_Interval]], axis: TimeAxis) -> list[list[_BarGroup]]:
    """The bars of each lane, in order of time."""
    factor = 1
    while True:
        found = [_grouped(intervals, axis, factor) for intervals in lanes]
        if factor > 16 or sum(map(len, found)) <= _MAX_BARS:
            return [_spread(groups) for groups in found]
        factor *= 2


def _grouped(intervals: Sequence[_Interval], axis: TimeAxis, factor: int) -> list[_BarGroup]:
    """A bar for each interval, but one for all thin ones of a kind in one window, and one for those that would cover each other."""
    groups: dict[tuple[int, int, str, bool], _BarGroup] = {}
    windows: dict[int, dict[str, _BarGroup]] = {}
    thin = _THIN * factor
    for interval in sorted(intervals, key=lambda interval: interval.start):
        left, right = axis.at(interval.start), axis.at(interval.start + interval.seconds)
        group = _BarGroup([interval], left, right)
        if right - left < thin:
            known = windows.setdefault(int(left / (_WINDOW * factor)), {}).setdefault(f"{interval.kind} {interval.is_backward}", group)
        else:
            known = groups.setdefault((round(left / thin), round(right / thin), interval.kind, interval.is_backward), group)
        if known is not group:
            known.add(group)
    found = list(groups.values())
    before: _BarGroup | None = None
    for window in windows.values():
        for group in window.values():
            # Windows in a row that hold one and the same kind are one bar.
            if before and len(window) == 1 and before.kind == group.kind and group.left - before.right <= thin:
                before.add(group)
            else:
                found.append(group)
                before = group
    return sorted(found, key=lambda group: group.left)


def _spread(groups: list[_BarGroup]) -> list[_BarGroup]:
    """Bars wide enough to be seen; one that begins under a widened one moves aside, by less than can be seen."""
    end = 0.0
    for group in groups:
        if group.left < end <= group.left + group.narrowest:
            group.right = max(group.right, end + min(group.narrowest, group.right - group.left))
            group.left = end
        group.right = end = max(group.right, group.left + group.narrowest)
    edge = 100.0
    for group in reversed(groups):
        if group.right <= edge:
            break
        group.left, group.right = max(0.0, min(group.left, edge - group.narrowest)), edge
        edge = max(group.left, group.narrowest)
    return groups


class _BarTexts(NamedTuple):
    """Makes the texts of bars; ``names`` are those of the frames."""

    anchors: Anchors
    recompiles: dict[Compile, Recompile]
    names: dict[Frame, str]
    with_code: bool

    def bar(self, group: _BarGroup) -> Bar:
        first = group.intervals[0]
        return Bar(
            anchor=self.anchors.compile(first.compile),
            kind=first.kind,
            x=percent(group.left),
            width=percent(group.right - group.left),
            title=self.of_one(first) if len(group.intervals) == 1 else self.of_many(group.intervals),
            is_backward=first.is_backward,
        )

    def of_one(self, interval: _Interval) -> str:
        compile = interval.compile
        part = "backward of " if interval.is_backward else ""
        head = f"{part}{compile.label} · {self.names[interval.frame]} · {seconds(interval.seconds)}"
        label = "never ended" if compile.outcome is Outcome.UNFINISHED else KIND_LABELS[interval.kind]
        cause = self.cause(self.recompiles.get(compile))
        return f"{head}\n{label}: {cause}" if cause else f"{head}\n{label}"

    def cause(self, recompile: Recompile | None) -> str:
        if recompile is None or not recompile.causes:
            return ""
        cause = recompile.causes[0]
        return clipped(cause.sentence if self.with_code else f"{cause.codes[0]} {cause.rule.name} {cause.axis}".strip(), _MAX_CAUSE)

    def of_many(self, intervals: Sequence[_Interval]) -> str:
        frames = {interval.frame for interval in intervals}
        whose = self.names[intervals[0].frame] if len(frames) == 1 else plural(len(frames), "frame")
        what = plural(len(intervals), "backward graph" if intervals[0].is_backward else "compile")
        span = f"{intervals[0].compile.label} to {intervals[-1].compile.label}"
        total = seconds(math.fsum(interval.seconds for interval in intervals))
        return f"{what}, {span} · {whose} · {total} in all\n{KIND_LABELS[intervals[0].kind]}"


def _lane(frames: Sequence[Frame], groups: Sequence[_BarGroup], texts: _BarTexts, has_many_ranks: bool) -> Lane:
    took = seconds(math.fsum(frame.seconds for frame in frames))
    cost = f"{plural(sum(len(frame.compiles) for frame in frames), 'compile')}, {took}"
    bars = tuple(map(texts.bar, groups))
    if len(frames) > 1:
        name = plural(len(frames), "more frame")
        return Lane(name=name, place="", title=f"{name}: {cost}", seconds=took, anchor="", bars=bars)
    (frame,) = frames
    full = texts.names[frame]
    resumed = resumed_by(frame.name)
    name = clipped(f"↳ {resumed[0]}, line {resumed[1]}", _MAX_NAME) if resumed else full
    owner = f"{_owner(frame)} · " if has_many_ranks else ""
    return Lane(
        name=f"{owner}{name}",
        place=file_and_line(frame.file, frame.line),
        title=f"{owner}{full}: {cost}",
        seconds=took,
        anchor=texts.anchors.frame(frame),
        bars=bars,
    )


def _owner(frame: Frame) -> str:
    return f"rank {frame.rank}" if frame.rank is not None else f"process {frame.process}"


def _legend(ordered: Sequence[Compile], kinds: dict[Compile, str]) -> tuple[LegendEntry, ...]:
    counts = Counter(kinds.values())
    spent = {kind: math.fsum(compile.seconds for compile in ordered if kinds[compile] == kind) for kind in counts}
    return tuple(LegendEntry(kind, label, counts[kind], seconds(spent[kind])) for kind, label in KIND_LABELS.items() if kind in counts)


def _summary(legend: Sequence[LegendEntry], frames: int, compiles: int, axis: TimeAxis, is_timed: bool) -> str:
    """The chart in one sentence, for screen readers."""
    if not legend:
        return "Nothing was compiled."
    span = f", {stretch(axis.moments[-1])} from the first to the end of the last" if is_timed else ""
    parts = ", ".join(f"{entry.count} {entry.label} ({entry.seconds})" for entry in legend)
    return f"Timeline of {plural(compiles, 'compile')} of {plural(frames, 'frame')}{span}: {parts}. The tables of frames hold the same."


def _notes(axis: TimeAxis, untimed: int, is_timed: bool) -> tuple[str, ...]:
    if not is_timed:
        return ("compiles stand one after another, since this trace does not tell when each began",)
    cut = f": {plural(len(axis.gaps), 'gap')} without compiles cut out, {stretch(axis.idle)} in all" if axis.gaps else ""
    notes = [f"time since the first compile began{cut}"]
    if untimed:
        notes.append(f"{plural(untimed, 'compile')} without a recorded time drawn behind the one before")
    return tuple(notes)

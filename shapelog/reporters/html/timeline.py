"""The timeline of all compiles: one lane a frame, one bar a compile, as wide as it took."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, resumed_by
from shapelog.model.frame import Frame
from shapelog.recompiles.recompile import Recompile
from shapelog.report.merge_ranks import rank_label
from shapelog.report.report import Report
from shapelog.reporters.html.chart_text import KIND_LABELS, Part, counted, file_and_line, kind_of, same_function, totals
from shapelog.reporters.html.time_axis import AxisTick, Cut, TimeAxis, axis_of, cuts_of, stretch, ticks_of
from shapelog.text import beginning, plural, seconds_or_unknown, taking

# Functions with a lane of their own, if more than one other has to share a lane.
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


# Functions, each as its frames.
_Functions = tuple[tuple[Frame, ...], ...]


class Interval(NamedTuple):
    """A stretch of time in which something was compiled, in seconds since the first."""

    compile: Compile
    kind: str
    start: float
    seconds: float
    is_backward: bool


@dataclass(slots=True)
class Bar:
    """One compile, its backward graph, or several of a kind that are too short to be drawn apart: from ``left`` to ``right`` in percent.

    ``exact`` is where it would lie if the chart were as wide as it takes to see it.
    """

    intervals: list[Interval]
    left: float
    right: float
    title: str = ""
    exact: tuple[float, float] = (0.0, 0.0)

    @property
    def first(self) -> Interval:
        return self.intervals[0]

    @property
    def look(self) -> tuple[str, bool]:
        return self.first.kind, self.first.is_backward

    @property
    def narrowest(self) -> float:
        return _NARROWEST_FAULT if self.first.kind in _FAULTS else _NARROWEST

    def add(self, other: "Bar") -> None:
        self.intervals += other.intervals
        self.right = max(self.right, other.right)


class Lane(NamedTuple):
    """A function with all its frames, the first of which is ``frame``, or in the last lane all that have none of their own (None there)."""

    frame: Frame | None
    name: str
    place: str
    title: str
    seconds: str
    bars: list[Bar]


class Timeline(NamedTuple):
    """The chart. x is the time of the clock where the trace has it, else compiles are drawn one after another; ``is_wide`` means
    that the chart is too full for a phone.
    """

    lanes: tuple[Lane, ...]
    ticks: tuple[AxisTick, ...]
    cuts: tuple[Cut, ...]
    legend: tuple[Part, ...]
    summary: str
    notes: tuple[str, ...]
    has_backward: bool
    in_tab_order: bool
    is_wide: bool


def timeline(report: Report, with_code: bool = True, beside: Sequence[Report] = ()) -> Timeline:
    """The chart of a report, without any lane if nothing was compiled. ``with_code`` allows sentences, which may quote it.

    Its axis is also that of the charts of the reports ``beside`` it.
    """
    trace = report.trace
    recompiles = {item.compile: item for item in report.recompiles}
    ordered, kinds, intervals = _intervals(report)
    others = [interval for other in beside for interval in _intervals(other)[2]]
    axis = axis_of([(interval.start, interval.start + interval.seconds) for interval in (*intervals, *others)])
    frames = [frame for frame in trace.frames if frame.compiles]
    texts = _Texts(
        owners={compile: frame for frame in frames for compile in frame.compiles},
        names={frame: beginning(frame.title, _MAX_NAME) for frame in frames},
        kinds=kinds,
        recompiles=recompiles,
        with_code=with_code,
        has_many_ranks=len(trace.ranks) > 1,
    )
    by_lane = _lanes(frames, intervals, texts.owners)
    bars = _bars([own for _, own in by_lane], axis)
    untimed = sum(not compile.metrics.start_time for compile in ordered)
    legend = totals((kinds[compile], 1, compile.seconds) for compile in ordered)
    return Timeline(
        lanes=tuple(texts.lane(members, own) for (members, _), own in zip(by_lane, bars, strict=True)),
        ticks=ticks_of(axis) if frames else (),
        cuts=cuts_of(axis),
        legend=legend,
        summary=_summary(legend, len(frames), axis, untimed < len(ordered)),
        notes=_notes(axis, untimed, untimed < len(ordered)),
        has_backward=any(interval.is_backward for interval in intervals),
        in_tab_order=sum(map(len, bars)) <= _MAX_TAB_STOPS,
        is_wide=any(len(own) > _CROWDED for own in bars) or len(axis.gaps) > 2,
    )


def _intervals(report: Report) -> tuple[list[Compile], dict[Compile, str], list[Interval]]:
    """The compiles of a report by rank and time, their kinds, and when each ran."""
    recompiles = {item.compile: item for item in report.recompiles}
    ordered = sorted(
        report.trace.compiles, key=lambda compile: (-1 if compile.rank is None else compile.rank, compile.process, compile.order)
    )
    kinds = {compile: kind_of(compile, recompiles.get(compile)) for compile in ordered}
    return ordered, kinds, _placed(ordered, kinds)


def _placed(ordered: Sequence[Compile], kinds: Mapping[Compile, str]) -> list[Interval]:
    """The intervals of all compiles; one without a time of its own begins when the one before in its process ended."""
    origin = min((compile.metrics.start_time for compile in ordered if compile.metrics.start_time), default=math.inf)
    intervals: list[Interval] = []
    for _, compiles in groupby(ordered, lambda compile: (compile.rank, compile.process)):
        end = 0.0
        for compile in compiles:
            kind, own = kinds[compile], compile.metrics.start_time
            later = [
                Interval(compile, kind, part.start_time - origin, part.seconds or part.backward or 0.0, True)
                for part in compile.backward
                if part.start_time and part.start_time >= origin
            ]
            spent = max(0.0, compile.seconds - math.fsum(part.seconds for part in later))
            start = own - origin if own else end
            end = start + spent
            intervals += [Interval(compile, kind, start, spent, False), *later]
    return intervals


def _lanes(
    frames: Sequence[Frame], intervals: Sequence[Interval], owners: Mapping[Compile, Frame]
) -> list[tuple[_Functions, list[Interval]]]:
    """(functions, intervals) of each lane, in order of first compile; functions that took the least share the last lane."""
    functions = [tuple(own) for own in grouped(frames, lambda frame: (frame.rank, frame.process, same_function(frame))).values()]
    of_frame = {frame: own for own in functions for frame in own}
    by_function: dict[tuple[Frame, ...], list[Interval]] = {own: [] for own in functions}
    for interval in intervals:
        by_function[of_frame[owners[interval.compile]]].append(interval)
    ordered = sorted(functions, key=lambda own: min(interval.start for interval in by_function[own]))
    costliest = sorted(ordered, key=lambda own: -math.fsum(frame.seconds for frame in own))
    rest = set(costliest[_MAX_LANES:]) if len(ordered) > _MAX_LANES + 1 else set()
    lanes: list[tuple[_Functions, list[Interval]]] = [((own,), by_function[own]) for own in ordered if own not in rest]
    if rest:
        shared = tuple(own for own in ordered if own in rest)
        lanes.append((shared, [interval for own in shared for interval in by_function[own]]))
    return lanes


def _bars(lanes: Sequence[list[Interval]], axis: TimeAxis) -> list[list[Bar]]:
    """The bars of each lane, in order of time."""
    for factor in (1, 2, 4, 8, 16, 32):
        found = [_grouped(intervals, axis, factor) for intervals in lanes]
        if sum(map(len, found)) <= _MAX_BARS:
            break
    return [_spread(bars) for bars in found]


def _grouped(intervals: Sequence[Interval], axis: TimeAxis, factor: int) -> list[Bar]:
    """A bar for each interval, but one for all thin ones of a kind in one window, and one for those that would cover each other."""
    groups: dict[tuple[int, int, tuple[str, bool]], Bar] = {}
    windows: dict[int, dict[tuple[str, bool], Bar]] = {}
    thin = _THIN * factor
    for interval in sorted(intervals, key=lambda interval: interval.start):
        bar = Bar([interval], axis.at(interval.start), axis.at(interval.start + interval.seconds))
        if bar.right - bar.left < thin:
            known = windows.setdefault(int(bar.left / (_WINDOW * factor)), {}).setdefault(bar.look, bar)
        else:
            known = groups.setdefault((round(bar.left / thin), round(bar.right / thin), bar.look), bar)
        if known is not bar:
            known.add(bar)
    found = list(groups.values())
    before: Bar | None = None
    for window in windows.values():
        for bar in window.values():
            # Windows in a row that hold one and the same kind are one bar.
            if before and len(window) == 1 and before.look == bar.look and bar.left - before.right <= thin:
                before.add(bar)
            else:
                found.append(bar)
                before = bar
    return sorted(found, key=lambda bar: bar.left)


def _spread(bars: list[Bar]) -> list[Bar]:
    """Bars wide enough to be seen; one that begins under a widened one moves aside, by less than can be seen."""
    end = 0.0
    for bar in bars:
        bar.exact = bar.left, bar.right
        if bar.left < end <= bar.left + bar.narrowest:
            bar.right = max(bar.right, end + min(bar.narrowest, bar.right - bar.left))
            bar.left = end
        bar.right = end = max(bar.right, bar.left + bar.narrowest)
    edge = 100.0
    for bar in reversed(bars):
        if bar.right <= edge:
            break
        bar.left, bar.right = max(0.0, min(bar.left, edge - bar.narrowest)), edge
        edge = max(bar.left, bar.narrowest)
    return bars


@dataclass(frozen=True, slots=True)
class _Texts:
    """Makes the texts of lanes and bars; ``names`` are those of the frames."""

    owners: Mapping[Compile, Frame]
    names: Mapping[Frame, str]
    kinds: Mapping[Compile, str]
    recompiles: Mapping[Compile, Recompile]
    with_code: bool
    has_many_ranks: bool

    def lane(self, functions: _Functions, bars: list[Bar]) -> Lane:
        for bar in bars:
            bar.title = self.of_one(bar.first) if len(bar.intervals) == 1 else self.of_many(bar.intervals)
        frames = [frame for own in functions for frame in own]
        took = seconds_or_unknown(math.fsum(frame.seconds for frame in frames))
        parts = ((self.kinds[compile], 1, 0.0) for frame in frames for compile in frame.compiles)
        cost = f"{counted(parts)}, {took}"
        if len(functions) > 1:
            name = plural(len(functions), "more function")
            return Lane(frame=None, name=name, place="", title=f"{name}: {cost}", seconds=took, bars=bars)
        first = frames[0]
        resumed = resumed_by(first.name)
        name = beginning(f"↳ {resumed[0]}, line {resumed[1]}", _MAX_NAME) if resumed else self.names[first]
        owner = f"{rank_label((first,))} · " if self.has_many_ranks else ""
        return Lane(
            frame=first,
            name=f"{owner}{name}{f' ×{len(frames)}' if len(frames) > 1 else ''}",
            place=file_and_line(first.file, first.line),
            title=f"{owner}{self.names[first]}{f', {len(frames)} frames' if len(frames) > 1 else ''}: {cost}",
            seconds=took,
            bars=bars,
        )

    def of_one(self, interval: Interval) -> str:
        compile = interval.compile
        part = "backward of " if interval.is_backward else ""
        head = f"{part}{compile.reference} · {self.names[self.owners[compile]]} · {seconds_or_unknown(interval.seconds)}"
        label = KIND_LABELS[interval.kind]
        recompile = self.recompiles.get(compile)
        if recompile is None or not recompile.causes:
            return f"{head}\n{label}"
        cause = recompile.causes[0]
        why = cause.sentence if self.with_code else f"{cause.codes[0]} {cause.rule.name} {cause.axis}".strip()
        return f"{head}\n{label}: {beginning(why, _MAX_CAUSE)}"

    def of_many(self, intervals: Sequence[Interval]) -> str:
        first, last = intervals[0], intervals[-1]
        frames = {self.owners[interval.compile] for interval in intervals}
        whose = self.names[self.owners[first.compile]] if len(frames) == 1 else plural(len(frames), "frame")
        what = plural(len(intervals), "backward graph" if first.is_backward else "compilation")
        total = seconds_or_unknown(math.fsum(interval.seconds for interval in intervals))
        return f"{what}, {first.compile.reference} to {last.compile.reference} · {whose} · {total} in total\n{KIND_LABELS[first.kind]}"


def _summary(legend: Sequence[Part], frames: int, axis: TimeAxis, is_timed: bool) -> str:
    """The chart in one sentence, for screen readers."""
    if not legend:
        return "Nothing was compiled."
    span = f", {stretch(axis.moments[-1])} from the first to the end of the last" if is_timed else ""
    parts = ", ".join(f"{count} {KIND_LABELS[kind]}{taking(spent)}" for kind, count, spent in legend)
    return f"Timeline of {counted(legend)} of {plural(frames, 'frame')}{span}: {parts}. The tables of frames have the same figures."


def _notes(axis: TimeAxis, untimed: int, is_timed: bool) -> tuple[str, ...]:
    if not is_timed:
        return ("compilations are drawn one after another, because this trace does not record when each began",)
    cut = f": {plural(len(axis.gaps), 'gap')} without compilations not shown, {stretch(axis.idle)} in total" if axis.gaps else ""
    more = f"{plural(untimed, 'compilation')} without a recorded time drawn after the preceding one"
    return (f"time since the first compilation began{cut}", *([more] if untimed else []))

"""Where on a chart a moment lies: time as it went by, less the long stretches in which nothing was compiled."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

# Seconds without compiles for each second with one: up to the first number the chart can be read. Where there are more, the longest gaps
# are cut to one length, so that all gaps together take the second.
_READABLE = 1.5
_IDLE = 0.5
# No cut is drawn wider than this, for each second of work.
_WIDEST_CUT = 0.03
# Round steps between ticks, in seconds.
_STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
_TICKS = 7
_MAX_TICKS = 20
_MAX_LABELS = 40
_MAX_CUTS = 150
_NARROWEST_CUT = 0.2
# The room that a character of a label takes at the narrowest width of the chart, and what is left between labels, in percent.
_CHARACTER = 1.5
_MARGIN = 2.0
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"), (1, "s"))
# Runs up to this length are labeled in seconds, longer ones in minutes and hours.
_SHORT = 2 * _MINUTE


class AxisTick(NamedTuple):
    """A moment, in percent of the width, with its label; ``anchor`` is SVG's ``start``, ``middle`` or ``end``."""

    x: float
    text: str
    anchor: str


class Cut(NamedTuple):
    """A stretch without any compile that is drawn shorter than it was. ``anchor`` is that of its label in the ``middle``, "" where there
    is no room for one.
    """

    x: float
    middle: float
    width: float
    text: str
    anchor: str


class TimeAxis(NamedTuple):
    """Moments in seconds since the first compile, and where each lies in percent: straight lines between the ``moments``."""

    moments: tuple[float, ...] = (0.0,)
    places: tuple[float, ...] = (0.0,)
    gaps: tuple[tuple[float, float], ...] = ()
    length: float = 0.0

    def at(self, moment: float) -> float:
        """In percent of the width."""
        after = bisect_right(self.moments, moment)
        if after == 0:
            return 0.0
        if after == len(self.moments):
            return self.places[-1]
        start, end = self.moments[after - 1], self.moments[after]
        left, right = self.places[after - 1], self.places[after]
        return left + (right - left) * ((moment - start) / (end - start))

    @property
    def stretches(self) -> tuple[tuple[float, float], ...]:
        """What lies between the cuts."""
        starts = (0.0, *(end for _, end in self.gaps))
        ends = (*(start for start, _ in self.gaps), self.moments[-1])
        return tuple(zip(starts, ends, strict=True))

    @property
    def idle(self) -> float:
        """The seconds that all cuts leave out."""
        return math.fsum(end - start for start, end in self.gaps)


def axis_of(spans: Sequence[tuple[float, float]]) -> TimeAxis:
    """An axis for these (start, end), in seconds since the first start; they may overlap and come in any order."""
    work = _joined(spans)
    if not work:
        return TimeAxis()
    gaps = [(before[1], after[0]) for before, after in pairwise(work)]
    busy = math.fsum(end - start for start, end in work)
    longest = _longest_shown([end - start for start, end in gaps], busy)
    moments, lengths, cuts = [0.0], [0.0], []
    for start, end in gaps:
        if end - start > longest:
            moments += [start, end]
            lengths += [start - moments[-3], longest]
            cuts.append((start, end))
    lengths.append(work[-1][1] - moments[-1])
    moments.append(work[-1][1])
    total = math.fsum(lengths)
    places = [min(100.0, 100.0 * shown / total) if total else 0.0 for shown in accumulate(lengths)]
    return TimeAxis(tuple(moments), tuple(places), tuple(cuts), total)


def _joined(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Stretches in which something was compiled, in order."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _longest_shown(gaps: list[float], busy: float) -> float:
    """The length to which longer gaps are cut: all together they then take no more than their share of the chart."""
    if not busy or math.fsum(gaps) <= _READABLE * busy:
        return math.inf
    room = _IDLE * busy
    ordered = sorted(gaps)
    for index, gap in enumerate(ordered):
        share = room / (len(ordered) - index)
        if gap > share:
            return min(share, _WIDEST_CUT * busy)
        room -= gap
    return math.inf


def _label_anchor(taken: list[tuple[float, float]], middle: float, text: str) -> str:
    """SVG's ``text-anchor`` for a label here, which is ``taken`` then, from left to right in percent; "" if there is no room for it."""
    length = len(text) * _CHARACTER
    left, anchor = middle - length / 2, "middle"
    if left < 0.0:
        left, anchor = middle, "start"
    elif left + length > 100.0:
        left, anchor = middle - length, "end"
    right = left + length
    if any(left < other[1] + _MARGIN and right > other[0] - _MARGIN for other in taken):
        return ""
    taken.append((left, right))
    return anchor


def ticks_of(axis: TimeAxis) -> tuple[AxisTick, ...]:
    """A few round moments, as far from each other as their labels are long; after a cut they count from where compiling went on."""
    step = _step(axis.length / _TICKS) if axis.length else 1.0
    taken: list[tuple[float, float]] = []
    found: dict[float, AxisTick] = {}

    def add(moment: float, text: str) -> bool:
        x = axis.at(moment)
        anchor = _label_anchor(taken, x, text)
        if anchor:
            found[x] = AxisTick(x, text, anchor)
        return bool(anchor)

    labeled = [stretch for stretch in axis.stretches if add(stretch[0], clock(stretch[0], axis.moments[-1], step) if stretch[0] else "0")]
    for start, stop in labeled:
        for number in range(1, min(math.floor((stop - start) / step), _MAX_TICKS) + 1):
            add(start + number * step, ("+" if start else "") + clock(number * step, stop - start, step))
    return tuple(found[x] for x in sorted(found))


def _step(least: float) -> float:
    """The smallest round step that is no shorter, in seconds."""
    if least > _STEPS[-1]:
        return _DAY * _step_of_ten(least / _DAY)
    return next(step for step in _STEPS if step >= least) if least > 0.5 else _step_of_ten(least)


def _step_of_ten(least: float) -> float:
    power = 10.0 ** math.floor(math.log10(max(least, 1e-9)))
    return next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= least)


def clock(moment: float, last: float, step: float) -> str:
    """``0.5 s`` or ``20 s`` where the ``last`` moment is near, else ``2:05``, ``1:02:05`` after an hour, ``3 d 1:02`` after days."""
    if last < _SHORT:
        return f"{moment:.{max(0, -math.floor(math.log10(step) + 1e-9))}f} s"
    if moment < _HOUR:
        return f"{int(moment // _MINUTE)}:{int(moment % _MINUTE):02d}"
    hours, minutes, rest = int(moment % _DAY // _HOUR), int(moment % _HOUR // _MINUTE), int(moment % _MINUTE)
    if moment < _DAY:
        return f"{hours}:{minutes:02d}:{rest:02d}"
    return f"{int(moment // _DAY)} d {hours}:{minutes:02d}" if step < _DAY else f"{int(moment // _DAY)} d"


def cuts_of(axis: TimeAxis) -> tuple[Cut, ...]:
    """The longest gaps that were cut, in order of time; the longest of all are labeled as far as there is room."""
    taken: list[tuple[float, float]] = []
    found: dict[tuple[float, float], Cut] = {}
    for start, end in sorted(axis.gaps, key=lambda gap: gap[0] - gap[1])[:_MAX_CUTS]:
        left, right = axis.at(start), axis.at(end)
        text, middle = stretch(end - start), (left + right) / 2
        anchor = _label_anchor(taken, middle, text) if len(found) < _MAX_LABELS else ""
        found[start, end] = Cut(left, middle, max(right - left, _NARROWEST_CUT), text, anchor)
    return tuple(found[gap] for gap in axis.gaps if gap in found)


def stretch(seconds: float) -> str:
    """``0.4 s``, ``45 s``, ``12 min``, ``3 h 20 min``, ``2 d 4 h``."""
    whole = round(seconds)
    for (large, name), (small, rest_name) in pairwise(_UNITS):
        if whole >= large:
            rest = whole % large // small
            return f"{whole // large} {name}" + (f" {rest} {rest_name}" if rest and whole < 10 * large else "")
    return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"

"""The frames of a report by function, and its recompilations by function and cause: many frames may be one function."""

import math
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.reporters.html.chart_text import Part, counted, counted_apart, same_function, totals
from shapelog.reporters.html.frame_page import CompileView, FrameView

_AVOIDABLE = ("marking", "code")
# Groups of recompilations on the page.
_MAX_GROUPS = 1000


class FunctionRow(NamedTuple):
    """A function with its frames, the most expensive first; ``changes`` are properties with the codes of what they caused."""

    views: tuple[FrameView, ...]
    parts: tuple[Part, ...]
    changes: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def first(self) -> FrameView:
        return self.views[0]

    @property
    def counted(self) -> str:
        """``8 + 1 refused`` compilations."""
        return counted(self.parts, "")

    @property
    def number(self) -> int:
        return sum(count for _, count, _ in self.parts)

    @property
    def seconds(self) -> float:
        return math.fsum(spent for _, _, spent in self.parts)

    @property
    def avoidable(self) -> float:
        """Seconds of recompilations that marking or a code change avoids."""
        return math.fsum(spent for kind, _, spent in self.parts if kind in _AVOIDABLE)

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(code for view in self.views for code in view.codes))


class FunctionCause(NamedTuple):
    """The recompilations of a function for the same cause; ``view`` is the frame of the first."""

    view: FrameView
    items: tuple[CompileView, ...]

    @property
    def first(self) -> CompileView:
        return self.items[0]

    @property
    def codes(self) -> tuple[str, ...]:
        return self.first.recompile.codes if self.first.recompile else ()

    @property
    def times(self) -> int:
        """On all ranks."""
        return sum(item.times for item in self.items)

    @property
    def seconds(self) -> float:
        return math.fsum(item.seconds for item in self.items)


class Recompilations(NamedTuple):
    """All of them. ``left_out`` is how many groups are not shown."""

    rows: tuple[FunctionCause, ...]
    title: str
    left_out: int


def function_rows(views: Iterable[FrameView]) -> tuple[FunctionRow, ...]:
    """By avoidable seconds; frames come by what matters most, so that this decides where the seconds are equal."""
    rows = [_function_row(tuple(members)) for members in grouped(views, lambda view: same_function(view.frame)).values()]
    return tuple(sorted(rows, key=lambda row: -row.avoidable))


def _function_row(views: tuple[FrameView, ...]) -> FunctionRow:
    changes: dict[str, dict[str, None]] = {}
    for view in views:
        for axis in view.report.axes:
            changes.setdefault(axis.name, {}).update(dict.fromkeys(rule.code for rule in axis.rules))
    parts = totals(part for view in views for part in view.parts)
    return FunctionRow(views, parts, tuple((name, tuple(codes)) for name, codes in changes.items()))


def recompilations(views: Iterable[FrameView]) -> Recompilations:
    pairs = [(view, item) for view in views for item in view.compiles if item.recompile]
    rows = [
        FunctionCause(members[0][0], tuple(item for _, item in members)) for members in grouped(pairs, lambda pair: _cause(*pair)).values()
    ]
    made, apart = counted_apart((item.kind, item.times, 0.0) for _, item in pairs)
    title = ", ".join([f"Recompilations {made}", *(f"{word} {count}" for word, count in apart)])
    return Recompilations(tuple(rows[:_MAX_GROUPS]), title, max(0, len(rows) - _MAX_GROUPS))


def _cause(view: FrameView, item: CompileView) -> Hashable:
    """The same for recompilations of one function for which the same properties are to blame."""
    recompile = item.recompile
    axes = tuple((cause.rule.code, cause.axis) for cause in recompile.causes) if recompile else ()
    return same_function(view.frame), view.owner, item.kind, axes or item.headline

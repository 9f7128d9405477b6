"""One frame with its compiles: what varied, the shape table, and for each compile why it happened and what differs."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.model.cache_uses import CacheUse
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.graphs import Graph
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.shape_table import ShapeRow
from shapelog.report.details.requirements import Requirements, requirements_of
from shapelog.report.explain_compile import CompileExplanation, explanation_of, graph_lines
from shapelog.report.merge_ranks import MergedFrame
from shapelog.report.report import FrameReport, Report
from shapelog.report.weighted import WeightedCompile
from shapelog.reporters.html.anchors import Anchors
from shapelog.reporters.html.chart_text import Part, counted, kind_of, totals
from shapelog.reporters.html.side_by_side import Diff, side_by_side
from shapelog.text import plural

# Rows of the shape table that never vary are shown if there are no more of them.
_MAX_CONSTANT_ROWS = 12
_MAX_ROWS, _MAX_CELLS = 200, 100_000
# About how many characters of HTML a compile and a row of a diff take.
_COMPILE_SIZE, _ROW_SIZE = 15_000, 500

# How a first compilation ended that left no code.
_ENDS = {"failed": "failed", "skipped": "produced no code", "unfinished": "did not finish", "unknown": "whose outcome is not recorded"}


class CompileView(NamedTuple):
    """One compile, which is shown in full or with its causes alone; ``times`` and ``seconds`` are those of all ranks that made the same."""

    compile: Compile
    anchor: str
    kind: str
    recompile: Recompile | None
    headline: str
    is_full: bool
    times: int
    seconds: float


class CompileDetails(NamedTuple):
    """What a page shows of a compile in addition to its causes, unless it is not ``is_full``.

    ``explanation`` is that of a recompile, ``requirements`` what its guards require; ``diff`` compares its graph with the nearest entry's;
    ``caches`` are its uses of compile caches.
    """

    is_full: bool = False
    explanation: CompileExplanation | None = None
    requirements: Requirements | None = None
    diff: Diff | None = None
    caches: tuple[CacheUse, ...] = ()


class FrameView(NamedTuple):
    """One frame, as lists of frames show it; one that is identical on several ranks is shown once, as that of the first.

    ``parts`` are the kinds of compiles of all of them, and ``seconds`` is their sum.
    """

    report: FrameReport
    anchor: str
    owner: str
    parts: tuple[Part, ...]
    seconds: float
    compiles: tuple[CompileView, ...]

    @property
    def frame(self) -> Frame:
        return self.report.frame

    @property
    def counted(self) -> str:
        """``8 compilations + 1 refused``: those of all of them."""
        return counted(self.parts)

    @property
    def own_counted(self) -> str:
        """``8 compilations + 1 refused``: those of one of them."""
        return counted((item.kind, 1, 0.0) for item in self.compiles)

    @property
    def codes(self) -> tuple[str, ...]:
        """Of all causes of its recompiles."""
        return tuple(dict.fromkeys(code for item in self.report.recompiles for code in item.codes))


class FrameDetails(NamedTuple):
    """The rest of a frame's page: the ``rows`` and ``columns`` of the shape table, how many rows it does not have ("3 constant rows", ""
    for none), and the details of each compile.
    """

    columns: tuple[Compile, ...]
    rows: tuple[ShapeRow, ...]
    hidden_rows: str
    compiles: tuple[CompileDetails, ...]


@dataclass(slots=True)
class FramePageBuilder:
    """The details of frames, until they fill the page: ``room`` is about how many characters of HTML compiles may still take.

    Graphs that were compared are not compared again for another frame that has the same.
    """

    report: Report
    room: float
    diffs: dict[tuple[Graph, Graph], Diff] = field(default_factory=dict)

    def details(self, view: FrameView) -> FrameDetails:
        rows, hidden, columns = _shape_rows(view.report) if view.compiles[0].is_full and self.room > 0 else ((), "", ())
        compiles = tuple(self._compile(view.frame, item) if item.is_full and self.room > 0 else CompileDetails() for item in view.compiles)
        return FrameDetails(columns, rows, hidden, compiles)

    def _compile(self, frame: Frame, item: CompileView) -> CompileDetails:
        compile, recompile = item.compile, item.recompile
        before = recompile.nearest.graph if recompile and recompile.nearest else None
        after = compile.graph if before else None
        diff = self._diff(before, after) if before and after else None
        self.room -= _COMPILE_SIZE + _ROW_SIZE * len(diff.rows if diff else ())
        explanation = explanation_of(self.report.explained, self.report.remedies, frame, compile) if recompile else None
        return CompileDetails(
            is_full=True, explanation=explanation, requirements=requirements_of(compile), diff=diff, caches=self.report.caches.of(compile)
        )

    def _diff(self, before: Graph, after: Graph) -> Diff:
        if (before, after) not in self.diffs:
            self.diffs[before, after] = side_by_side(graph_lines(before), graph_lines(after))
        return self.diffs[before, after]


def frame_views(report: Report, merged: Iterable[MergedFrame], anchors: Anchors, full: float) -> tuple[FrameView, ...]:
    """The frames, of which the first ``full`` compiles can be shown in full."""
    found = []
    for item in merged:
        found.append(_frame_view(report, item, anchors, full))
        full -= len(item.first.frame.compiles)
    return tuple(found)


def _frame_view(report: Report, merged: MergedFrame, anchors: Anchors, full: float) -> FrameView:
    item = merged.first
    frame = item.frame
    recompiles = {entry.compile: entry for entry in item.recompiles}
    # Members have the same kinds of compiles.
    columns = list(zip(*(member.compiles for member in merged.members), strict=True))
    compiles = tuple(_compile_view(same, recompiles.get(same[0].compile), anchors, number < full) for number, same in enumerate(columns))
    return FrameView(
        report=item,
        anchor=anchors[frame],
        owner=merged.owner if report.trace.rank_count > 1 else "",
        parts=totals((view.kind, view.times, view.seconds) for view in compiles),
        seconds=merged.seconds,
        compiles=compiles,
    )


def _compile_view(same: Sequence[WeightedCompile], recompile: Recompile | None, anchors: Anchors, is_full: bool) -> CompileView:
    compile = same[0].compile
    return CompileView(
        compile=compile,
        anchor=anchors[compile],
        kind=kind_of(compile, recompile),
        recompile=recompile,
        headline=_headline(compile, recompile),
        is_full=is_full,
        times=sum(item.weight for item in same),
        seconds=math.fsum(item.seconds for item in same),
    )


def _headline(compile: Compile, recompile: Recompile | None) -> str:
    """Why it happened, in a line."""
    if recompile is None:
        kind = kind_of(compile, None)
        return f"first compilation of this code{', ' if kind in _ENDS else ''}{_ENDS.get(kind, '')}"
    if not recompile.causes:
        return recompile.unexplained_because
    more = len(recompile.causes) - 1
    return recompile.causes[0].sentence + (f" (and {more} more)" if more else "")


def _shape_rows(item: FrameReport) -> tuple[tuple[ShapeRow, ...], str, tuple[Compile, ...]]:
    """(the rows to show, what is left out, the columns); constant rows only where they are few."""
    table = item.shapes
    most = min(_MAX_ROWS, max(1, _MAX_CELLS // len(table.compiles))) if table.compiles else 0
    varying = tuple(row for row in table.rows if not row.is_constant)
    rows = varying if len(table.rows) - len(varying) > _MAX_CONSTANT_ROWS else table.rows
    left = len(table.rows) + table.left_out - len(rows[:most])
    what = "constant row" if len(rows) <= most and not table.left_out else "row"
    return rows[:most], plural(left, what) if left else "", table.compiles

"""The trend over the runs of a directory as a page: a chart of the compilations of each run, and a table with what came and went."""

import math
from typing import NamedTuple

from shapelog.report.trend import RunFigures, Trend
from shapelog.reporters import Options
from shapelog.reporters.html.chart_text import KIND_LABELS
from shapelog.reporters.html.runs.comparison import EFFECT_KINDS
from shapelog.reporters.html.runs.run_page import page, run_environment
from shapelog.text import seconds_or_unknown

# Runs that the chart and the table show, the newest.
MAX_RUNS = 200
# Causes that a row names.
_MAX_CAUSES = 8
_HEIGHT = 180
# In percent of the width.
_WIDEST_BAR = 6.0
# Runs whose numbers are written below their bars.
_MAX_LABELS = 20
# The parts of a bar, from the bottom up, by their kinds of the other charts.
_LABELS = {
    "first": "first compilations",
    "marking": "avoidable by marking",
    "code": "avoidable by a code change",
    "justified": "other recompilations",
    "limit": KIND_LABELS["limit"],
    "failed": KIND_LABELS["failed"],
}
_EXPORT_LABELS = {"first": "exports that did not fail", "failed": "failed exports"}


class Block(NamedTuple):
    """A part of a bar: its kind, and its place in pixels from the top."""

    kind: str
    y: float
    height: float


class RunBar(NamedTuple):
    """The compilations of one run, from ``x`` on and ``width`` wide, in percent."""

    x: float
    width: float
    blocks: tuple[Block, ...]
    title: str
    label: str
    number: int


class Chart(NamedTuple):
    """``ticks`` are (pixels from the top, number of compilations or exports)."""

    title: str
    bars: tuple[RunBar, ...]
    ticks: tuple[tuple[float, str], ...]
    legend: tuple[tuple[str, str], ...]
    height: int
    summary: str


def render_trend(trend: Trend, options: Options) -> bytes:
    """In UTF-8. Only names and figures are shown, so there is no code to redact; directories are cut from names."""
    templates = run_environment((), options)
    return page(
        templates,
        "runs/trend.html.j2",
        trend=trend,
        rows=trend.rows[-MAX_RUNS:],
        left_out=max(0, len(trend.rows) - MAX_RUNS),
        chart=_chart(trend),
        has_versions=len({row.version for row in trend.rows}) > 1,
        kinds=EFFECT_KINDS,
        most=_MAX_CAUSES,
    )


def _chart(trend: Trend) -> Chart:
    """The compilations of each run; the exports where there is nothing else."""
    labels = _EXPORT_LABELS if trend.is_of_exports else _LABELS
    rows = trend.rows[-MAX_RUNS:]
    parts = [_exports(row.figures) if trend.is_of_exports else _compilations(row.figures) for row in rows]
    most = max((sum(number for _, number in found) for found in parts), default=0) or 1
    step = _step(most)
    top = math.ceil(most / step) * step
    room = 100 / max(len(rows), 1)
    every = math.ceil(len(rows) / _MAX_LABELS)
    bars = []
    for index, (row, found) in enumerate(zip(rows, parts, strict=True)):
        at, blocks = float(_HEIGHT), []
        for kind, number in found:
            height = _HEIGHT * number / top
            at -= height
            blocks.append(Block(kind, at, height))
        words = ", ".join(f"{labels[kind]} {number}" for kind, number in found) or "nothing was compiled"
        spent = "" if trend.is_of_exports else f"; {seconds_or_unknown(row.figures.seconds)}"
        width = min(room * 0.7, _WIDEST_BAR)
        bars.append(
            RunBar(
                x=(index + 0.5) * room - width / 2,
                width=width,
                blocks=tuple(blocks),
                title=f"run {row.number}, {row.began}: {words}{spent}",
                label=str(row.number) if index % every == 0 else "",
                number=row.number,
            )
        )
    kinds = {kind for found in parts for kind, _ in found}
    what = "Exports" if trend.is_of_exports else "Compilations"
    return Chart(
        title=f"{what} of each run",
        bars=tuple(bars),
        ticks=tuple((_HEIGHT - _HEIGHT * number / top, str(number)) for number in range(0, top + 1, step)),
        legend=tuple((kind, label) for kind, label in labels.items() if kind in kinds),
        height=_HEIGHT,
        summary=f"{what} of {len(rows)} runs, the oldest on the left. The table has the same figures.",
    )


def _compilations(figures: RunFigures) -> list[tuple[str, int]]:
    """What a bar is made of, from the bottom up."""
    numbers = figures.first, figures.by_marking, figures.by_code, figures.other, figures.limit_hits, figures.failures
    return [(kind, number) for kind, number in zip(_LABELS, numbers, strict=True) if number]


def _exports(figures: RunFigures) -> list[tuple[str, int]]:
    failed = figures.exports.failed
    return [(kind, number) for kind, number in zip(_EXPORT_LABELS, (figures.exports.number - failed, failed), strict=True) if number]


def _step(most: int) -> int:
    """A round step for at most five ticks."""
    power: int = 10 ** int(math.log10(max(most / 5, 1)))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * 5 >= most)

"""The runs of a directory in a terminal: a row for each, with the causes that came and went since the one before."""

from collections.abc import Sequence

from rich.text import Text

from shapelog.report.frame_changes import CauseChange
from shapelog.report.results import Cell, Column
from shapelog.report.trend import Trend, TrendRow
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import EFFECT_COLORS, TextPage
from shapelog.text import one_line, shorten

_COLUMNS = (
    Column("compilations", True),
    Column("recompilations", True),
    Column("avoidable", True),
    Column("seconds", True),
    Column("limit hits", True),
    Column("failures", True),
)
_EXPORT_COLUMNS = (Column("exports", True), Column("failed", True), Column("problems in exports", True))
_NARROW = {
    "compilations": "comp.",
    "recompilations": "recomp.",
    "avoidable": "avoid.",
    "limit hits": "limit",
    "failures": "failed",
}
_WIDE = 110
# Rows without --verbose or --limit 0, the newest.
_MOST_ROWS = 30


def render_trend(trend: Trend, options: Options) -> bytes:
    page = TextPage(options)
    page.line((shorten(one_line(trend.name), page.width), "bold"))
    page.blank()
    page.headline(trend.headline, "bold")
    for text in trend.unreadable:
        page.line(("not read: ", "yellow"), text, indent=2)
    page.blank()
    shown = trend.rows[-_MOST_ROWS:] if page.limit else trend.rows
    page.more(len(trend.rows) - len(shown), "older run", 2)
    if not trend.is_of_exports:
        _table(page, _COLUMNS, [(row, _figures(row)) for row in shown])
    if trend.has_exports:
        if not trend.is_of_exports:
            page.heading("Exports")
        _table(page, _EXPORT_COLUMNS, [(row, _exports(row)) for row in shown])
    changed = [row for row in shown if row.change and row.change.has_changes]
    if changed:
        what = "Problems" if trend.is_of_exports else "Causes"
        page.heading(f"{what} that are new or gone", "from each run to the next")
    for row in changed:
        _causes(page, row)
    return page.bytes()


def _table(page: TextPage, columns: tuple[Column, ...], rows: Sequence[tuple[TrendRow, tuple[Cell | Text, ...]]]) -> None:
    """A line for each run: its number, its directory where each has its own, when it began, its figures, and what its change is."""
    is_wide = page.width >= _WIDE
    names = columns if is_wide else [column._replace(name=_NARROW.get(column.name, column.name)) for column in columns]
    has_directories = any(row.directory for row, _ in rows)
    has_times = is_wide or not has_directories
    lines: list[tuple[Cell | Text, ...]] = []
    for row, figures in rows:
        word = row.change.word if row.change else ""
        effect = Text(word if is_wide else word.split(" ")[0], style=EFFECT_COLORS[row.change.effect] if row.change else "")
        began = row.began if is_wide else row.began[:-3]  # without seconds
        lines.append((row.number, *[row.directory] * has_directories, *[began] * has_times, *figures, effect))
    places = [Column("directory", is_wide=True)] * has_directories + [Column("began")] * has_times
    page.table((Column("run", True), *places, *names, Column("change")), lines)


def _figures(row: TrendRow) -> tuple[Cell | Text, ...]:
    found = row.figures
    avoidable = _colored(found.avoidable, "green")
    return found.compiles, found.recompiles, avoidable, found.seconds or None, _colored(found.limit_hits), _colored(found.failures)


def _exports(row: TrendRow) -> tuple[Cell | Text, ...]:
    found = row.figures.exports
    return found.number, _colored(found.failed), _colored(found.problems)


def _colored(number: int, style: str = "red") -> Text:
    return Text(str(number), style=style if number else "dim")


def _causes(page: TextPage, row: TrendRow) -> None:
    assert row.change
    page.line((f"run {row.number}", "bold"), (f"  {row.change.headline}", "dim"), indent=2)
    for sign, style, causes in (("+", "red", row.change.came), ("-", "green", row.change.went)):
        for cause in page.listed(causes, "cause", 4):
            page.line((sign, style), f" {cause.code} {cause.rule.name}", _of(cause), indent=4)
    for sign, style, problems in (("+", "red", row.change.problems_came), ("-", "green", row.change.problems_went)):
        for item in page.listed(problems, "problem", 4):
            where = f"  {item.place.short}" if item.place else ""
            page.line((sign, style), f" {item.rule.code} {item.rule.name}", (where, "cyan"), indent=4)


def _of(cause: CauseChange) -> tuple[str, str]:
    number = cause.before + cause.after
    times = f" ×{number}" if number > 1 else ""
    return (f"  {shorten(one_line(cause.axis), 60)}{times}" if cause.axis else times, "cyan")

"""The runs of a directory in a terminal: a row for each, with the causes that came and went since the one before."""

from rich.text import Text

from shapelog.report.frame_changes import CauseChange, Effect
from shapelog.report.results import Cell, Column
from shapelog.report.trend import Trend, TrendRow
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import one_line, shorten

_COLUMNS = (
    Column("run", True),
    Column("began"),
    Column("compilations", True),
    Column("recompilations", True),
    Column("avoidable", True),
    Column("seconds", True),
    Column("limit hits", True),
    Column("failures", True),
    Column("change"),
)
_STYLES = {Effect.BETTER: "green", Effect.WORSE: "red", Effect.MIXED: "yellow", Effect.SAME: "dim"}
_NARROW = {"compilations": "compiles", "recompilations": "recompiles", "avoidable": "avoid.", "limit hits": "limit", "failures": "failed"}
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
    is_wide = page.width >= _WIDE
    columns = _COLUMNS if is_wide else tuple(column._replace(name=_NARROW.get(column.name, column.name)) for column in _COLUMNS)
    shown = trend.rows[-_MOST_ROWS:] if page.limit else trend.rows
    page.more(len(trend.rows) - len(shown), "older run", 2)
    page.table(columns, [_row(row, is_wide) for row in shown])
    changed = [row for row in shown if row.change and (row.change.came or row.change.went)]
    if changed:
        page.heading("Causes that are new or gone", "from each run to the next")
    for row in changed:
        _causes(page, row)
    return page.bytes()


def _row(row: TrendRow, is_wide: bool) -> tuple[Cell | Text, ...]:
    found = row.figures
    effect = Text(row.change.word, style=_STYLES[row.change.effect]) if row.change else ""
    avoidable = Text(str(found.avoidable), style="green" if found.avoidable else "dim")
    hits, failures = (Text(str(number), style="red" if number else "dim") for number in (found.limit_hits, found.failures))
    began = row.began if is_wide else row.began[:-3]  # without seconds
    return row.number, began, found.compiles, found.recompiles, avoidable, found.seconds or None, hits, failures, effect


def _causes(page: TextPage, row: TrendRow) -> None:
    assert row.change
    page.line((f"run {row.number}", "bold"), (f"  {row.change.headline}", "dim"), indent=2)
    for sign, style, causes in (("+", "red", row.change.came), ("-", "green", row.change.went)):
        for cause in page.listed(causes, "cause", 4):
            page.line((sign, style), f" {cause.code} {cause.rule.name}", _of(cause), indent=4)


def _of(cause: CauseChange) -> tuple[str, str]:
    number = cause.before + cause.after
    times = f" ×{number}" if number > 1 else ""
    return (f"  {shorten(one_line(cause.axis), 60)}{times}" if cause.axis else times, "cyan")

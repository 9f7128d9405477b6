"""What many jobs have in common, in a terminal: what is worse since a date, what would save most, causes, failures, unreadable jobs."""

from collections.abc import Sequence
from datetime import datetime

from rich.text import Text

from shapelog.advice.compile_seconds import Seconds
from shapelog.report.results import Cell, Column
from shapelog.reporters import Options
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.tables.fleet import Fleet, FleetFailure, Regression, Since, Totals
from shapelog.text import file_name, one_line, plural, plural_noun, seconds, seconds_in_column, taking


def render_fleet(fleet: Fleet, options: Options) -> bytes:
    page = TextPage(options)
    _head(page, fleet.folder, fleet.totals)
    if fleet.since:
        _since(page, fleet.since)
    _advice(page, fleet)
    _causes(page, fleet)
    _failures(page, fleet)
    _exports(page, fleet)
    _unreadable(page, fleet)
    if fleet.totals.first and not fleet.since:
        page.blank()
        page.line(("All jobs began within a week; --since WHEN shows what is worse than before", "dim"))
    return page.bytes()


def _head(page: TextPage, folder: str, totals: Totals) -> None:
    when = f"  {_day(totals.first)} to {_day(totals.last)}" if totals.first and totals.last else ""
    unread = f"  {totals.unreadable:,} more could not be read" if totals.unreadable else ""
    page.line((_many(totals.jobs, "job"), "bold"), f" in {folder}", (when, "dim"), (unread, "bold red"))
    counts = (totals.failures, "failed"), (totals.limit_hits, "refused at the limit")
    more = [f"{number:,} {word}" for number, word in counts if number]
    if totals.compiles or more or not totals.exports:
        more += [f"{_many(totals.untimed, 'job')} without times"] if totals.untimed else []
        page.line(
            f"{_many(totals.compiles, 'compilation')}{taking(totals.seconds)}, including {_many(totals.recompiles, 'recompilation')}"
            f"{taking(totals.recompile_seconds)}" + "".join(f"; {item}" for item in more)
        )
    if totals.exports:
        page.line(_many(totals.exports, "export") + (f"; {totals.failed_exports:,} failed" if totals.failed_exports else ""))


def _many(number: int, noun: str) -> str:
    return f"{number:,} {plural_noun(number, noun)}"


def _day(date: datetime | None) -> str:
    return f"{date:%Y-%m-%d %H:%M}" if date else ""


def _since(page: TextPage, since: Since) -> None:
    before, after = since.before, since.after
    page.heading(f"Worse since {_day(since.date)} UTC", "averages for each process that compiled the function" if since.compared else "")
    if since.undated:
        page.line((f"{plural(since.undated, 'job')} without a start time left out", "dim"), indent=2)
    if not after.jobs or not before.jobs:
        page.line(f"no job began {'since' if before.jobs else 'before'} then, so there is nothing to compare", indent=2)
        return
    page.line(f"{_many(after.jobs, 'job')} since, {before.jobs:,} before" + _averages(since), indent=2)
    for item in page.listed(since.export_regressions, "export"):
        where = f"{file_name(item.file)}:{item.line}  " if item.file else ""
        change = f"exports that fail: {item.failed_before:.0%} → {item.failed_after:.0%}"
        page.line((where, "bold"), (change, "red"), (f"  {item.message or ''}  {item.code}", "dim"), indent=2)
    if not since.compared + since.exports_compared:
        page.line("no function was compiled both before and since then, so none can be worse", indent=2)
        return
    if not since.regressions:
        if not since.export_regressions:
            what = [_many(since.compared, "function")] * bool(since.compared)
            what += [f"the exports of {_many(since.exports_compared, 'file')}"] * bool(since.exports_compared)
            page.line((f"compared {' and '.join(what)}: none is worse", "green"), indent=2)
        return
    columns = (
        Column("function", is_wide=True),
        Column("recompilations", True),
        Column("seconds", True),
        Column("failures", True),
        Column("added", True),
        Column("costliest cause", is_wide=True),
    )
    page.table(columns, [_regression(item) for item in since.regressions], noun="function")


def _averages(since: Since) -> str:
    """What a process compiles on average; nothing where none compiled a function on both sides."""
    before, after = since.before, since.after
    if not since.compared:
        return ""
    spent = f", compile time {seconds(before.seconds)} → {seconds(after.seconds)}" if before.seconds and after.seconds else ""
    return f"; all functions together: recompilations {before.recompiles:.1f} → {after.recompiles:.1f}{spent} per process"


def _regression(item: Regression) -> Sequence[Cell | Text]:
    cause = Text(one_line(f"{item.cause_code} {item.cause_axis}" if item.cause_code else ""))
    if item.is_new:
        cause.append(" new", style="bold red")
    return (
        _placed(item.function, item.file, None),
        _change(item.recompiles_before, item.recompiles_after, ".1f"),
        _change(item.seconds_before, item.seconds_after, ".2f"),
        _change(item.failures_before, item.failures_after, ".1f"),
        Text(f"+{seconds_in_column(item.added_seconds)}", style="red") if item.added_seconds and item.added_seconds > 0 else "",
        cause,
    )


def _change(before: float | None, after: float | None, form: str) -> Text:
    """``0.4 → 1.0``; nothing where there is neither, or where one is not known."""
    if before is None or after is None or not (before or after):
        return Text("")
    shown = f"{before:{form}} → {after:{form}}"
    return Text(shown, style="red" if after > before else "dim")


def _placed(function: str, file: str | None, line: int | None) -> Text:
    found = Text(one_line(function), style="bold")
    if file:
        found.append(f" {one_line(file_name(file))}" + (f":{line}" if line else ""), style="dim")
    return found


def _advice(page: TextPage, fleet: Fleet) -> None:
    if not fleet.advice:
        return
    marks = Seconds(fleet.totals.saved_least or 0.0, fleet.totals.saved_most or 0.0).as_saving
    page.heading("What would save most", f"all marks together save {marks}" if marks else "")
    for item in page.listed(fleet.advice, "suggestion"):
        sure = f", {item.confidence} confidence" if item.confidence else ""
        page.line(
            (f"{seconds(item.seconds)}  " if item.seconds else "", "bold green"),
            (item.function, "bold"),
            (f" {file_name(item.file)}:{item.line}" if item.file else "", "dim"),
            f"  {_many(item.compiles, 'compilation')} in {_many(item.jobs, 'job')}",
            (f"  {item.kind}{sure}", "dim"),
            indent=2,
        )
        page.line("→ ", (f"{item.code}: ", "dim"), item.text, indent=4)


def _causes(page: TextPage, fleet: Fleet) -> None:
    if not fleet.causes:
        return
    page.heading("Top causes", "the time of a recompilation with several causes is split evenly among them")
    columns = (
        Column("code"),
        Column("cause"),
        Column("what", is_wide=True),
        Column("longest in", is_wide=True),
        Column("jobs", True),
        Column("recompilations", True),
        Column("seconds", True),
    )
    rows = [
        (item.code, item.rule, item.axis, _placed(item.function, item.file, item.line), item.jobs, item.recompiles, item.seconds)
        for item in fleet.causes
    ]
    page.table(columns, rows, noun="cause")


def _failures(page: TextPage, fleet: Fleet) -> None:
    if not fleet.failures:
        return
    page.heading("Failed and refused compilations", "those in most jobs first")
    columns = (Column("jobs", True), Column("times", True), Column("function", is_wide=True), Column("what", is_wide=True))
    rows = [(item.jobs, item.often, _placed(item.function, item.file, item.line), _what(item)) for item in fleet.failures]
    page.table(columns, rows, noun="failure")


def _what(item: FleetFailure) -> str:
    return "refused: recompile limit reached" if item.outcome == "limit" else item.message or "failed"


def _exports(page: TextPage, fleet: Fleet) -> None:
    if not fleet.exports:
        return
    page.heading("Failed exports", "those in most jobs first")
    for item in page.listed(fleet.exports, "failed export"):
        where = f"{file_name(item.file)}:{item.line}  " if item.file else ""
        page.line((where, "bold"), (f"{_many(item.often, 'export')} in {_many(item.jobs, 'job')}", "dim"), indent=2)
        page.line(item.message or "failed", indent=4)
        page.line("→ ", (f"{item.code}: ", "dim"), item.remedy or "", indent=4)


def _unreadable(page: TextPage, fleet: Fleet) -> None:
    if not fleet.unreadable:
        return
    page.heading("Jobs that could not be read")
    for item in page.listed(fleet.unreadable, "job"):
        page.line((item.job, "bold"), f"  {item.error}", indent=2)

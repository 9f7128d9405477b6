"""The head of a report, and its verdict on the run: what was compiled, what of it could be saved, and where the time went."""

from rich.text import Text

from shapelog.model.compile import Compile
from shapelog.report.phases import ALL, phase_seconds, phase_words
from shapelog.report.report import Report
from shapelog.report.results import Column
from shapelog.reporters.terminal.text_page import COLORS, TextPage
from shapelog.text import file_size, plural, seconds, taking

# The seconds of compiling from which on a report without warnings has the phases.
_LONG = 5.0


def head(page: TextPage, report: Report) -> None:
    """The first lines: which trace it is, and what is missing in it."""
    trace = report.trace
    version = trace.torch_version or f"{trace.version_guess} (guessed)"
    parts = [f"torch {version}", file_size(sum(book.size for book in report.accounts))]
    if trace.is_text:
        parts = [f"torch {trace.torch_version or trace.version_guess}", "text log"]
    if trace.rank_count > 1:
        parts.append(plural(trace.rank_count, "rank" if any(rank.number is not None for rank in trace.ranks) else "process"))
    files = [book.name for book in report.accounts]
    name = trace.name if len(files) < 2 else f"{files[0]} and {plural(len(files) - 1, 'more file')}"
    page.line((name, "bold"), "  ", ("  ".join(parts), "dim"))
    for text in dict.fromkeys(log.what_it_holds for log in trace.text_logs):
        page.line((text, "dim"))


def run_summary(page: TextPage, report: Report) -> None:
    """The verdict on the run: its compilations, what could be done about the recompilations, and what was refused or failed."""
    summary = report.summary
    if report.trace.outside_frames and not (summary.compiles or summary.limit_hits or summary.failures):
        return
    page.blank()
    _compilations(page, report)
    if cached := sum(item.weight for frame in report.frames for item in frame.compiles if item.compile.is_cached):
        which = f"{cached} " if cached != summary.compiles else "all " if cached > 1 else ""
        page.line(f"{which}from a compile cache, so no kernels were generated", indent=2)
    _verdicts(page, report)
    _without_code(page, report)


def _compilations(page: TextPage, report: Report) -> None:
    """How many there were, and which of them this log leaves out."""
    summary = report.summary
    of_them = f", including {plural(summary.recompiles, 'recompilation')}{taking(summary.recompile_seconds)}"
    if breaks := report.trace.breaks_alone:
        page.line((f"Summary: {plural(breaks, 'graph break')}", "bold"), f", {report.without_recompilations} in this log")
    elif summary.recompiles:
        _totals(page, report, of_them)
        if before := _missing_before(report):
            last, count = before
            what = f"{plural(count, 'recompilation')} of its function before that {'is' if count == 1 else 'are'} not in this log"
            page.line(f"{last.label} is compilation no. {last.id.compile + 1}: {what}", indent=2)
    elif summary.compiles:
        later = _first_of_later(report)
        _totals(page, report, _without_recompilations(report, later is not None))
        if later:
            page.line(f"{later.label} is compilation no. {later.id.compile + 1} of its function: TORCH_LOGS=recompiles shows why", indent=2)
    elif not summary.limit_hits:
        nothing = "no compilation is in this log" if report.trace.is_text else "nothing was compiled in this run"
        nothing = f"{plural(report.unfinished, 'compilation')} did not finish" if report.unfinished else nothing
        none = "no compilation in this log succeeded" if report.trace.is_text else "no compilation succeeded"
        failed = none if summary.failures and not report.failed_outside else ""
        if report.is_forbidden_alone:
            page.line((f"Summary: {plural(summary.failures, 'recompilation')}", "bold"), ", which the program forbids")
        else:
            page.line((f"Summary: {failed or nothing}", "bold"))


def _verdicts(page: TextPage, report: Report) -> None:
    """A row for each verdict, with its share of the seconds, or of the recompilations where these are not known."""
    summary = report.summary
    has_times = summary.recompile_seconds > 0
    rows: list[list[Text | str]] = []
    for part in summary.parts:
        share = part.seconds / summary.recompile_seconds if has_times else part.count / max(1, summary.recompiles)
        bar = "█" * max(1, round(16 * share))
        style = COLORS[part.verdict]
        time = [seconds(part.seconds)] if has_times else []
        rows.append([Text(str(part.count), style="bold"), Text(report.words_of(part.verdict), style=style), *time, Text(bar, style=style)])
    page.table([Column("", True), Column(""), *[Column("", True)] * has_times, Column("")], rows)


def _without_code(page: TextPage, report: Report) -> None:
    """What ended without compiled code: refused, failed or not finished."""
    summary = report.summary
    if summary.limit_hits:
        refused = plural(summary.limit_hits, "compilation") + " refused"
        is_all = not (summary.compiles or summary.failures)
        begin = [("Summary: ", "bold")] if is_all else []
        page.line(*begin, (refused, "bold red"), f": recompile limit reached{taking(summary.limit_seconds)}", indent=0 if is_all else 2)
    elif not report.trace.shows_limit_hits:
        page.line(("this torch version does not record when the recompile limit is reached", "dim"), indent=2)
    if summary.failures and (not summary.compiles or report.trace.breaks_alone) and not report.is_forbidden_alone:
        failed = plural(summary.failures, "call" if report.failed_outside else "compilation")
        page.line((f"{failed} failed", "bold red"), taking(summary.failed_seconds), indent=2)
    if report.unfinished and (summary.compiles or summary.limit_hits or summary.failures):
        page.line((f"{plural(report.unfinished, 'compilation')} did not finish", "bold yellow"), indent=2)


def where_time_went(page: TextPage, report: Report) -> None:
    """The phases of the compiler, and the compilation that took longest: what there is to look at where nothing needs to be mended."""
    phases = {item.name: item.total for item in phase_seconds(report.explained)}
    if phases.pop(ALL, 0.0) < _LONG:
        return
    page.line(("time: ", "dim"), phase_words(phases.items()), indent=2)
    pairs = [(frame, compile) for frame in report.trace.frames for compile in frame.compiles]
    if pairs[1:]:
        frame, compile = max(pairs, key=lambda pair: pair[1].seconds)
        rank = f" on rank {frame.rank}" if report.ranks and frame.rank is not None else ""
        name, spent = max(compile.phases, key=lambda phase: phase[1])
        words = f" {frame.title_of([compile])}{rank}, {seconds(compile.seconds)}, of which {name} {seconds(spent)}"
        page.line(("most expensive: ", "dim"), (compile.label, "bold"), words, indent=2)


def _totals(page: TextPage, report: Report, of_them: str) -> None:
    """All compilations; where some failed, how many of each kind. ``of_them`` is about those that succeeded."""
    summary = report.summary
    over = f" on {plural(report.trace.rank_count, 'rank')}" if report.ranks else ""
    number = plural(summary.compiles + summary.failures, "compilation")
    spent = taking(summary.succeeded_seconds)
    if not summary.failures:
        page.line((f"Summary: {number}", "bold"), f"{over}{spent}{of_them}")
        return
    failed = (f"{summary.failures} failed", "bold red"), taking(summary.failed_seconds)
    page.line((f"Summary: {number}", "bold"), f"{over}: ", *failed, f", {summary.compiles} succeeded{spent}{of_them}")


def _without_recompilations(report: Report, lacks_reasons: bool) -> str:
    """That no compilation that succeeded is known as a recompilation; of those that did not, some may be one."""
    where = " in this log" if report.trace.is_text else ""
    if lacks_reasons:
        return f", no reasons of {'earlier ' if report.recompiles else ''}recompilations{where}"
    return "" if report.recompiles else f", no recompilations{where}"


def _first_of_later(report: Report) -> Compile | None:
    """The compilation with the highest number in a text log, by its id, up to which the reasons of some of its function are missing."""
    if not report.trace.is_text:
        return None
    explained = {frame: sum(bool(compile.reasons) for compile in frame.compiles) for frame in report.trace.frames}
    found = [
        compile for frame, number in explained.items() for compile in frame.compiles if compile.shown_label and compile.id.compile > number
    ]
    return max(found, key=lambda compile: compile.id.compile, default=None)


def _missing_before(report: Report) -> tuple[Compile, int] | None:
    """Of the function of which a text log lacks the most recompilations, by their ids: the last one, and how many are missing."""
    found = []
    for frame in report.trace.frames if report.trace.is_text else ():
        numbered = {compile.id.compile: compile for compile in frame.compiles if compile.shown_label and compile.id.compile > 0}
        if numbered:
            last = numbered[max(numbered)]
            found.append((last, last.id.compile - len(numbered)))
    most = max(found, key=lambda pair: pair[1], default=None)
    return most if most and most[1] > 0 else None

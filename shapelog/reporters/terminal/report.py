"""The report in a terminal: what went wrong, worst first; then the verdict on the run and the next steps, where the eye is at the end."""

from typing import TYPE_CHECKING

from rich.text import Text

from shapelog.advice.minimal_marks import harms
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.alerts.groups import alert_groups
from shapelog.report.details.vllm_passes import vllm_words
from shapelog.report.merge_ranks import merged_findings, merged_groups, rank_label
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Column, Finding
from shapelog.report.trace_health import health_of
from shapelog.reporters import Options
from shapelog.reporters.terminal.diagnostic import CountedAbove, code_place, diagnostic, note
from shapelog.reporters.terminal.exports import export_expressions, export_findings, export_tables, exports_summary
from shapelog.reporters.terminal.frames import FRAMES, all_frames, one_frame
from shapelog.reporters.terminal.next_steps import SCREEN, next_steps_list, start_here, where_listed
from shapelog.reporters.terminal.ranks import ranks_alike, ranks_heading, what_ranks_share
from shapelog.reporters.terminal.requirements import requirements
from shapelog.reporters.terminal.summary import head, run_summary, where_time_went
from shapelog.reporters.terminal.text_page import LEVEL_COLORS, TextPage
from shapelog.rule_docs import RULES_URL
from shapelog.rules import RULES, UNEXPLAINED, Level, Rule, Section, problem_rule
from shapelog.text import plural, shorten, some

if TYPE_CHECKING:
    from shapelog.distributed.compare_ranks import RankReport

_KINDS = (Column("kind", is_wide=True), Column("records", True, True), Column("bytes", True, True), Column("", is_wide=True))
_UNUSED = Column("known, not used", is_wide=True), Column("records", True)
_MOST_GUARDED = 3
_VIOLATED = RULES["SL203"]
_ABOUT_SYMBOLS, _CHECKED = ("specializations", "size_conditions"), ("size_checks", "data_conditions")


def render(report: Report, options: Options) -> bytes:
    page = TextPage(options)
    if options.frame is not None:
        for item in report.frames:
            one_frame(page, report, item)
        page.explain_restarted_ids(report.trace.is_text)
        return page.bytes()
    found = collect_alerts(report, Repository())
    steps = next_steps(found)
    _ranks(page, report)
    _diagnostics(page, found)
    if page.verbose and report.ranks and report.ranks.behave_alike:
        _ranks_in_full(page, report, report.ranks)
    export_findings(page, report)
    _tables(page, report, *export_tables(page, report))
    export_expressions(page, report)
    _tables(page, report, "ahead_of_time", "rank_notes")
    _tables(page, report, "vllm", "vllm_pieces", *(("vllm_passes", "vllm_config") if page.verbose else ()))
    if page.verbose:
        _details(page, report)
    elif report.trace.is_text:
        _of_text(page, found)
    _health(page, report)
    exports_summary(page, report)
    _of_other_compilers(page, report)
    run_summary(page, report)
    if all(alert.level is Level.NOTE for alert in found.alerts):
        where_time_went(page, report)
    next_steps_list(page, steps, "(details: shapelog suggest-dynamic TRACE)" if report.summary.recompiles else "")
    _left_out(page, report)
    page.explain_restarted_ids(report.trace.is_text)
    _where_to_read_on(page, found)
    top = TextPage(options)
    head(top, report)
    if steps and top.lines + page.lines > SCREEN:
        start_here(top, steps[0], where_listed(steps))
    return top.bytes() + page.bytes()


def _details(page: TextPage, report: Report) -> None:
    """What most readers need not see: frame by frame, and where the time went."""
    all_frames(page, report)
    _tables(page, report, "top_causes")
    _groups(page, report)
    _tables(
        page,
        report,
        *_ABOUT_SYMBOLS,
        *_CHECKED,
        "declared_shapes",
        "graph_breaks",
        "restarts",
        "time",
        "compiled_autograd",
        "caches",
        "cache_lookups",
        "performance_hints",
        "setting_changes",
        "kernels",
        "pgo",
        "settings",
    )


def _of_text(page: TextPage, found: Alerts) -> None:
    """What a text log has, where that is all there is to go by."""
    report = found.report
    if any(alert.rule is _VIOLATED for alert in found.alerts):
        _tables(page, report, "specializations")
    elif all(alert.rule is UNEXPLAINED for alert in found.alerts):
        _tables(page, report, *_ABOUT_SYMBOLS, *_CHECKED)
        for rule in _of_symbols(report):
            note(page, rule.remedy, "help")
        _tables(page, report, "pgo", "performance_hints")
        _guards(page, report)


def _of_other_compilers(page: TextPage, report: Report) -> None:
    """What was compiled ahead of time, and what vLLM compiled."""
    if ahead := len(report.trace.compiled_ahead):
        words = f"{plural(ahead, 'graph')} compiled ahead of time"
        if report.trace.exports:
            page.line(words, indent=2)
        else:
            page.blank()
            page.line((words, "bold"))
    if report.trace.vllm:
        page.blank()
        page.line(("vLLM: ", "bold"), vllm_words(report.trace.vllm))


def _where_to_read_on(page: TextPage, found: Alerts) -> None:
    """About the rules, and how to record what a text log leaves out."""
    report = found.report
    rules = [*(item.rule for item in found.alerts), *(item.rule for item in _without_code(report))]
    rules = rules or (_of_symbols(report) if report.trace.is_text else [])
    if rules:
        page.blank()
        whole = f"More about a rule: shapelog rule {rules[0].code}, or {RULES_URL}"
        page.line((whole if len(whole) <= page.width else f"About the rules: {RULES_URL}", "dim"))
    elif report.trace.text_logs:
        page.blank()
    for text in dict.fromkeys(log.how_to_record for log in report.trace.text_logs):
        page.line(text)


def _guards(page: TextPage, report: Report) -> None:
    """Of a log that has guards alone, what they require."""
    compiles = [compile for compile in report.trace.compiles if compile.guards] if not report.recompiles else []
    for compile in page.listed(compiles, "compilation with guards", 0, most=_MOST_GUARDED):
        requirements(page, compile, f"Guards of {compile.shown_label}".removesuffix(" of "))


def _diagnostics(page: TextPage, found: Alerts) -> None:
    """Everything that went wrong, the worst first."""
    above = CountedAbove()
    for alert, *others in page.listed(alert_groups(found.alerts), "finding", 0):
        page.blank()
        diagnostic(page, alert, alert.level, others, notes=above.notes(alert), elsewhere=FRAMES)
    for item, owner in merged_findings(_without_code(found.report), found.report.trace):
        page.blank()
        page.line((f"{item.rule.level.value}[{item.rule.code}]", LEVEL_COLORS[item.rule.level]), f": {item.sentence}")
        if item.place:
            line = item.message.stack[-1] if item.message and item.message.stack else None
            code_place(page, str(item.place), line.code if line else "", line.marked if line else "")
        if owner:
            note(page, owner)
        note(page, item.remedy, "help")


def _without_code(report: Report) -> list[Finding]:
    """Findings about code that the trace does not name."""
    elsewhere = (Section.RANKS, Section.EXPORTS)
    return [item for item in report.findings if item.frame is None and item.rule.section not in elsewhere]


def _of_symbols(report: Report) -> list[Rule]:
    """The rules of symbols that were fixed to one value, and of conditions on those that were not."""
    rows = (row for table in filter(None, map(report.table, _ABOUT_SYMBOLS)) for row in table.rows)
    return [RULES[code] for code in dict.fromkeys(str(row[-1]) for row in rows)]


def _ranks(page: TextPage, report: Report) -> None:
    """How ranks differ comes first; that they do not, in a line or two."""
    if report.ranks is None:
        return
    if report.ranks.behave_alike:
        ranks_alike(page, report.ranks, not report.trace.is_text)
        _rank_findings(page, report)
    else:
        _ranks_in_full(page, report, report.ranks)


def _ranks_in_full(page: TextPage, report: Report, ranks: "RankReport") -> None:
    ranks_heading(page, ranks, not report.trace.is_text)
    if not ranks.behave_alike:
        _rank_findings(page, report)
    what_ranks_share(page, ranks)
    _tables(page, report, "ranks", "rank_sizes", "collective_parity", "rank_seconds", "rank_runtimes")


def _left_out(page: TextPage, report: Report) -> None:
    """Marks that would help, and do harm."""
    for item in harms(report.advice.left_out)[:3] if report.advice else ():
        page.line(("not marked: ", "yellow"), f"{some(item.names)}: {item.reason}", indent=2)


def _tables(page: TextPage, report: Report, *names: str) -> None:
    for table in filter(None, map(report.table, names)):
        page.heading(table.title)
        if table.rows:
            page.table(table.columns, table.rows, noun="row")
        if table.note:
            page.line((table.note if page.verbose else shorten(table.note, 6 * page.width), "dim"), indent=2)


def _groups(page: TextPage, report: Report) -> None:
    """Groups of two or more: the graph was compiled again although it hardly differs."""
    groups = merged_groups(group for group in report.groups if len(group.members) > 1)
    if not groups:
        return
    groups.sort(key=lambda same: (-sum(member.seconds for member in same[0].members[1:]), same[0].members[0].order))
    page.heading("Similar graphs", "the same operations on the same tensors; only sizes and constants differ")
    room = max(20, page.width - 30)
    for same in page.listed(groups, "group"):
        group = same[0]
        static, dynamic = (" ".join(member.reference for member in part) for part in (group.static, group.dynamic))
        owners = [item.members[0] for item in same]
        text = Text(f"{rank_label(owners, report.trace)}  " if report.trace.rank_count > 1 else "")
        if static:
            text.append(shorten(static, room)).append(" is static" if len(group.static) == 1 else " are static", style="dim")
        if dynamic:
            text.append("; " if static else "", style="dim").append(shorten(dynamic, room), style="cyan")
            text.append(" is dynamic" if len(group.dynamic) == 1 else " are dynamic", style="dim")
        if group.converged:
            text.append(f"; no similar recompilation after {group.converged.reference}", style="green")
        elif not group.dynamic:
            text.append("; none became dynamic", style="dim")
        page.text(text, 2)


def _rank_findings(page: TextPage, report: Report) -> None:
    """What concerns the ranks among each other; what is about one piece of code is a diagnostic."""
    found = [item for item in report.findings if item.rule.section is Section.RANKS and item.frame is None]
    for item, owner in page.listed(merged_findings(found, report.trace), "finding"):
        page.line((f"{item.rule.code} {item.rule.name}", LEVEL_COLORS[item.rule.level]), f": {item.sentence}", indent=2)
        details = "; ".join(f"{name} {value}" for name, value in item.details if value)
        place = item.place.short if item.place else ""
        page.line((" · ".join(part for part in (owner, item.compile, place, details) if part), "dim"), indent=4)
        page.line(f"→ {item.remedy}", indent=4)


def _health(page: TextPage, report: Report) -> None:
    health = health_of(report)
    if health.is_whole and not page.verbose:
        return
    page.heading("Health of the trace")
    lost = f", {health.unreadable} bytes unreadable" if health.unreadable else ", every byte accounted for"
    page.line(f"{health.records} records, {health.size} bytes{lost}; {plural(health.verified, 'payload')} read and checked", indent=2)
    for text in report.trace.notes:
        page.line((text, "dim"), indent=2)
    if health.unknown:
        rule = problem_rule("unknown-kind")
        page.line((f"{rule.code} {rule.name}", "yellow"), f": {health.unknown}", indent=2)
        page.line((rule.remedy, "dim"), indent=4)
    shown_remedies: set[str] = set()
    for found in page.listed(health.problems, "problem"):
        members = found.members
        problem, rule = members[0], problem_rule(members[0].code)
        style = {"data loss": "red", "degraded": "yellow"}.get(problem.severity, "dim")
        lines = f" ({plural(problem.count, 'line')})" if problem.code == "bad-prefix" else ""
        page.line((f"{rule.code} {rule.name}", style), f" {problem.place}: {problem.message}{lines}", indent=2)
        if len(members) > 1:
            numbers = " ".join(str(member.line) for member in members[1:])
            page.line((f"and {len(members) - 1} more, at lines {shorten(numbers, page.width)}", "dim"), indent=4)
        if found.others:
            page.line((found.elsewhere, "dim"), indent=4)
        if rule.code not in shown_remedies:
            page.line((rule.remedy, "dim"), indent=4)
        shown_remedies.add(rule.code)
    for book in report.accounts if page.verbose else ():
        used = {name: "counted, not used" if name in book.unused else "" for name in book.records}
        page.line((book.name, "bold"), indent=2)
        page.table(_KINDS, [(name, book.records[name], size, used[name]) for name, size in book.sizes.most_common()], 4)
        if unused := [row for row in book.unused.items() if row[0].startswith("artifact ")]:
            page.table(_UNUSED, unused, 4)

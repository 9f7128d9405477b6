"""The report in a terminal: what went wrong, worst first; then the verdict on the run and the next steps, where the eye is at the end."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.shape_table import ShapeCell, ShapeTable, State
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.alerts.groups import alert_groups
from shapelog.report.details.vllm_passes import vllm_words
from shapelog.report.merge_ranks import MergedFrame, merged_findings, merged_frames, merged_groups, rank_label
from shapelog.report.next_steps import next_steps
from shapelog.report.phases import ALL, phase_seconds, phase_words
from shapelog.report.report import Axis, FrameReport, Report
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Column, Finding, Location
from shapelog.report.trace_health import health_of
from shapelog.reporters import Options
from shapelog.reporters.terminal.diagnostic import also, code_place, diagnostic, id_words, note
from shapelog.reporters.terminal.exports import export_expressions, export_findings, export_tables, exports_summary
from shapelog.reporters.terminal.next_steps import SCREEN, next_steps_list, start_here, where_listed
from shapelog.reporters.terminal.ranks import ranks_alike, ranks_heading, what_ranks_share
from shapelog.reporters.terminal.text_page import COLORS, LEVEL_COLORS, TextPage, first
from shapelog.rule_docs import RULES_URL
from shapelog.rules import RULES, UNEXPLAINED, Level, Remedy, Rule, Section, Verdict, problem_rule
from shapelog.text import LEAST_SECONDS, file_size, measured, one_line, plural, plural_noun, seconds, shorten, taking

if TYPE_CHECKING:
    from shapelog.distributed.compare_ranks import RankReport

_MARKS = {State.DYNAMIC: ("~", "cyan"), State.SPECIALIZED: ("!", "magenta"), State.STATIC: ("", ""), State.ABSENT: ("", "dim")}
_KINDS = (Column("kind", is_wide=True), Column("records", True, True), Column("bytes", True, True), Column("", is_wide=True))
_UNUSED = Column("known, not used", is_wide=True), Column("records", True)
# The most sizes of parameters that are listed of one recompilation: those of another module are all others.
_PARAMETERS = 3
_FRAMES = "Frames"
_VIOLATED = RULES["SL203"]
# The seconds of compiling from which on a report without warnings has the phases.
_LONG = 5.0
_LEGEND = "12 static   ~12 dynamic   !12 was symbolic, then specialized   12* kept it from using an earlier entry"


def render(report: Report, options: Options) -> bytes:
    page = TextPage(options)
    if options.frame is not None:
        for item in report.frames:
            _one_frame(page, report, item)
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
    elif report.trace.is_text and any(alert.rule is _VIOLATED for alert in found.alerts):
        _tables(page, report, "specializations")
    elif report.trace.is_text and not found.alerts:
        _tables(page, report, "specializations")
        for rule in _of_pinned(report):
            note(page, rule.remedy, "help")
        _tables(page, report, "pgo", "performance_hints")
    _health(page, report)
    exports_summary(page, report)
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
    _summary(page, report)
    if all(alert.level is Level.NOTE for alert in found.alerts):
        _where_time_went(page, report)
    next_steps_list(page, steps, "(details: shapelog suggest-dynamic TRACE)" if report.summary.recompiles else "")
    _left_out(page, report)
    page.explain_restarted_ids(report.trace.is_text)
    rules = [*(item.rule for item in found.alerts), *(item.rule for item in _without_code(report))]
    rules = rules or (_of_pinned(report) if report.trace.is_text else [])
    if rules:
        page.blank()
        whole = f"More about a rule: shapelog rule {rules[0].code}, or {RULES_URL}"
        page.line((whole if len(whole) <= page.width else f"About the rules: {RULES_URL}", "dim"))
    elif report.trace.text_logs:
        page.blank()
    for text in dict.fromkeys(log.how_to_record for log in report.trace.text_logs):
        page.line(text)
    top = TextPage(options)
    _head(top, report)
    if steps and top.lines + page.lines > SCREEN:
        start_here(top, steps[0], where_listed(steps))
    return top.bytes() + page.bytes()


def _details(page: TextPage, report: Report) -> None:
    """What most readers need not see: frame by frame, and where the time went."""
    _frames(page, report)
    _tables(page, report, "top_causes")
    _groups(page, report)
    _tables(
        page,
        report,
        "specializations",
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


def _diagnostics(page: TextPage, found: Alerts) -> None:
    """Everything that went wrong, the worst first."""
    for alert, *others in page.listed(alert_groups(found.alerts), "finding", 0):
        page.blank()
        diagnostic(page, alert, alert.level, also(page, alert, others, _FRAMES), _FRAMES)
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


def _of_pinned(report: Report) -> list[Rule]:
    """The rules of symbols that were fixed to one value."""
    pinned = report.table("specializations")
    return [RULES[code] for code in dict.fromkeys(str(row[-1]) for row in pinned.rows)] if pinned else []


def _ranks(page: TextPage, report: Report) -> None:
    """How ranks differ comes first; that they do not, in a line or two."""
    if report.ranks is None:
        return
    if report.ranks.behave_alike:
        ranks_alike(page, report.ranks)
        _rank_findings(page, report)
    else:
        _ranks_in_full(page, report, report.ranks)


def _ranks_in_full(page: TextPage, report: Report, ranks: "RankReport") -> None:
    ranks_heading(page, ranks)
    if not ranks.behave_alike:
        _rank_findings(page, report)
    what_ranks_share(page, ranks)
    _tables(page, report, "ranks", "rank_sizes", "collective_parity", "rank_seconds", "rank_runtimes")


def _head(page: TextPage, report: Report) -> None:
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


def _summary(page: TextPage, report: Report) -> None:
    """The verdict on the run: its compilations, what could be done about the recompilations, and what was refused or failed."""
    summary = report.summary
    if report.trace.outside_frames and not (summary.compiles or summary.limit_hits or summary.failures):
        return
    of_them = f", including {plural(summary.recompiles, 'recompilation')}{taking(summary.recompile_seconds)}"
    page.blank()
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
        page.line((f"Summary: {'no compilation succeeded' if summary.failures else nothing}", "bold"))
    if cached := sum(item.weight for frame in report.frames for item in frame.compiles if item.compile.is_cached):
        which = f"{cached} " if cached != summary.compiles else "all " if cached > 1 else ""
        page.line(f"{which}from a compile cache, so no kernels were generated", indent=2)
    has_times = summary.recompile_seconds > 0
    rows: list[list[Text | str]] = []
    for part in summary.parts:
        share = part.seconds / summary.recompile_seconds if has_times else part.count / max(1, summary.recompiles)
        bar = "█" * max(1, round(16 * share))
        style = COLORS[part.verdict]
        time = [seconds(part.seconds)] if has_times else []
        rows.append([Text(str(part.count), style="bold"), Text(report.words_of(part.verdict), style=style), *time, Text(bar, style=style)])
    page.table([Column("", True), Column(""), *[Column("", True)] * has_times, Column("")], rows)
    if summary.limit_hits:
        refused = plural(summary.limit_hits, "compilation") + " refused"
        is_all = not (summary.compiles or summary.failures)
        begin = [("Summary: ", "bold")] if is_all else []
        page.line(*begin, (refused, "bold red"), f": recompile limit reached{taking(summary.limit_seconds)}", indent=0 if is_all else 2)
    elif not report.trace.shows_limit_hits:
        page.line(("this torch version does not record when the recompile limit is reached", "dim"), indent=2)
    if summary.failures and (not summary.compiles or report.trace.breaks_alone):
        failed = plural(summary.failures, "call" if report.failed_outside else "compilation")
        page.line((f"{failed} failed", "bold red"), taking(summary.failed_seconds), indent=2)
    if report.unfinished and (summary.compiles or summary.limit_hits or summary.failures):
        page.line((f"{plural(report.unfinished, 'compilation')} did not finish", "bold yellow"), indent=2)


def _where_time_went(page: TextPage, report: Report) -> None:
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


def _left_out(page: TextPage, report: Report) -> None:
    """Marks that would help, and do harm."""
    for item in report.advice.left_out[:3] if report.advice else ():
        page.line(("not marked: ", "yellow"), f"{item.mark.source}: {item.reason}", indent=2)


def _place(file: str, line: int) -> str:
    return Location(file, line).short if file else "code unknown"


def _frame_head(page: TextPage, merged: MergedFrame, multi: bool) -> None:
    item = merged.first
    frame = item.frame
    called = frame.called_at
    where = _place(frame.file, frame.line)
    if called and frame.is_library:
        where += f", called at {_place(called.file, called.line)}"
    rank = f"{merged.owner}  " if multi else ""
    number = f"  frame {frame.shown_label}" if frame.shown_label else ""
    page.line((rank, "dim"), (frame.title, "bold"), f"  {where}", (number, "dim"), indent=2)
    compiles = [compiled for member in merged.members for compiled in member.compiles]
    each = " on each" if len(merged.members) > 1 or any(compiled.weight > 1 for compiled in compiles) else ""
    parts: list[str | tuple[str, str]] = [f"{_made(frame)}{each} {measured(merged.seconds)}".rstrip()]
    for verdict in Verdict:
        members = [entry for entry in item.recompiles if entry.verdict is verdict]
        if members:
            spent = sum(compiled.seconds for compiled in compiles if compiled.recompile and compiled.recompile.verdict is verdict)
            parts.extend(
                (" · ", (f"{len(members)} {verdict.short}", COLORS[verdict]), f" {seconds(spent)}" if spent >= LEAST_SECONDS else "")
            )
    page.line(*parts, indent=4)


def _made(frame: Frame) -> str:
    """``3 compilations``; of code that was never compiled, how often that failed."""
    failed = sum(compile.outcome is Outcome.FAILED for compile in frame.compiles)
    return (
        f"{failed} failed {plural_noun(failed, 'compilation')}"
        if failed and not frame.entries
        else plural(len(frame.entries), "compilation")
    )


def _frames(page: TextPage, report: Report) -> None:
    shown = [item for item in merged_frames(report) if not all(compile.is_capture for compile in item.first.frame.compiles)]
    if not shown:
        return
    page.heading(_FRAMES, "by avoidable compile time")
    multi = report.trace.rank_count > 1
    shown_remedies: set[Remedy] = set()
    for merged in page.listed(shown, "frame"):
        item = merged.first
        _frame_head(page, merged, multi)
        _axes(page, merged.axes, page.limit, shown_remedies)
        if page.verbose:
            quoted: set[str] = set()
            for entry in item.recompiles:
                _recompile(page, entry, 4, quoted)
        else:
            _notes(page, item)


def _notes(page: TextPage, item: FrameReport) -> None:
    """What keeps marking from removing some of the recompiles, each reason once."""
    notes: dict[str, list[str]] = {}
    for entry in item.recompiles:
        if entry.why_not_markable:
            notes.setdefault(entry.why_not_markable, []).append(entry.compile.reference)
    for reason, labels in notes.items():
        page.line((f"{shorten(' '.join(labels), 40)}: ", "dim"), reason, indent=6)


def _axes(page: TextPage, axes: Sequence[Axis], limit: int, shown_remedies: set[Remedy]) -> None:
    """Each axis with its values, codes and remedies; ``shown_remedies`` are those that are shown above already."""
    listed = first(axes, limit)
    width = min(max((len(one_line(axis.name)) for axis in listed), default=0), page.width // 2)
    for axis in listed:
        name = shorten(one_line(axis.name), width)
        codes = " ".join(rule.code for rule in axis.rules)
        room = max(12, page.width - 6 - width - len(codes) - 6)
        gap = ", " if any(" " in value for value in axis.values) else " "
        values = shorten(gap.join(one_line(value) for value in axis.values), room)
        page.line((f"{name:<{width}}", "bold cyan"), f"  {values}" if values else "", (f"  {codes}", "dim"), indent=6)
        for remedy in axis.remedies:
            if remedy not in shown_remedies:
                shown_remedies.add(remedy)
                page.remedy(remedy, 8, [rule.code for rule in axis.rules])
    page.more(len(axes) - len(listed), "axis", 6)


def _where(cause: Cause, quoted: set[str]) -> str:
    """The place of a cause, with the code where that is not ``quoted`` above already."""
    if cause.place is None:
        return ""
    place = Location(cause.place.file, cause.place.line).short
    code = f"  {cause.place.code}" if cause.place.code and place not in quoted else ""
    quoted.add(place)
    return f"{place}{code}"


def _recompile(page: TextPage, item: Recompile, indent: int, quoted: set[str]) -> None:
    against = f" against {item.nearest.reference}" if item.nearest else ""
    spent = measured(item.compile.seconds)
    page.line((id_words(item.compile), "bold"), against, "  ", (item.verdict.short, COLORS[item.verdict]), f"  {spent}", indent=indent)
    parameters = [cause for cause in item.causes if "SL106" in cause.codes]
    left_out = set(parameters[1:]) if page.verbose and len(parameters) > _PARAMETERS else set()  # the axes above have them all
    shown = [cause for cause in item.causes if cause not in left_out]
    for number, cause in enumerate(shown):
        page.line((" ".join(cause.codes), "dim"), f" {cause.sentence}", indent=indent + 2)
        if left_out and cause == parameters[0]:
            page.line((f"and {plural(len(left_out), 'more size')} of parameters changed", "dim"), indent=indent + 4)
        is_last_there = cause.place and (number + 1 == len(shown) or shown[number + 1].place != cause.place)
        if is_last_there and (where := _where(cause, quoted)):
            page.line((f"at {where}", "dim"), indent=indent + 4)
    if not item.causes:
        page.line((UNEXPLAINED.code, "dim"), f" {UNEXPLAINED.name}: {item.unexplained_because}", indent=indent + 2)
    if item.why_not_markable:
        page.line(item.why_not_markable, indent=indent + 2)


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


def _one_frame(page: TextPage, report: Report, item: FrameReport) -> None:
    _frame_head(page, MergedFrame((item,), report.trace), report.trace.rank_count > 1)
    frame = item.frame
    if frame.called_at:
        page.line((f"called at {frame.called_at.file}:{frame.called_at.line}  {frame.called_at.code}", "dim"), indent=4)
    _axes(page, item.axes, 0 if page.verbose else 12, set())
    _shape_table(page, item.shapes)
    if item.recompiles:
        page.heading("Recompilations")
    quoted: set[str] = set()
    for entry in item.recompiles:
        _recompile(page, entry, 2, quoted)
        page.remedy(report.remedies.of_recompile(entry), 4, entry.codes)


def _shape_table(page: TextPage, table: ShapeTable) -> None:
    """One row a source and dim, one column a compile; rows that never vary are left out unless all is asked for."""
    rows = [row for row in table.rows if page.verbose or not row.is_constant]
    if not rows:
        page.line(("No size or int varied or was symbolic in this frame.", "dim"), indent=2)
        return
    left = len(table.rows) - len(rows)
    notes = [f"{left} constant rows left out, shown with --verbose"] if left else []
    notes += [f"{table.left_out} more rows left out"] if table.left_out else []
    page.heading("Shapes", "; ".join(notes))
    labels = [compile.reference for compile in table.compiles]
    longest = max(len(one_line(row.name)) for row in rows)
    name_width = min(longest, max(16, page.width // 2))
    cell_width = max(5, *(len(label) for label in labels), *(len(cell.value) + 2 for row in rows for cell in row.cells))
    fit = max(1, (page.width - 2 - name_width) // (cell_width + 1))
    for start in range(0, len(labels), fit):
        part = slice(start, start + fit)
        head = Text(f"{'':<{name_width}}").append("".join(f" {label:>{cell_width}}" for label in labels[part]), style="bold")
        page.text(head, 2)
        for row in rows:
            line = Text(f"{shorten(one_line(row.name), name_width):<{name_width}}")
            for cell in row.cells[part]:
                line.append(" ").append_text(_shape_cell(cell, cell_width))
            page.text(line, 2)
    page.line((_LEGEND, "dim"), indent=2)


def _shape_cell(cell: ShapeCell, width: int) -> Text:
    mark, style = _MARKS[cell.state]
    text = f"{mark}{one_line(cell.value)}{'*' if cell.is_violated else ''}" if cell.state is not State.ABSENT else "·"
    return Text(f"{text:>{width}}", style=f"bold {style}".strip() if cell.is_violated else style)

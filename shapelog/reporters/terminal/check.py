"""A check in a terminal: passed or failed and why, what to set, then each alert that fails with its place and its remedy."""

from rich.text import Text

from shapelog.check.check import BudgetUse, CheckedAlert, CheckResult
from shapelog.report.alerts.groups import alert_groups
from shapelog.report.results import Column
from shapelog.reporters import Options
from shapelog.reporters.terminal.diagnostic import CountedAbove, diagnostic
from shapelog.reporters.terminal.next_steps import SCREEN, next_steps_list, start_here, where_listed
from shapelog.reporters.terminal.text_page import TextPage
from shapelog.text import one_line, plural, shorten


def render_check(checked: CheckResult, options: Options) -> bytes:
    page, top = TextPage(options), TextPage(options)
    trace = checked.found.report.trace
    version = trace.torch_version or trace.version_guess
    top.line((shorten(one_line(trace.name), max(20, page.width - 24)), "bold"), (f"  torch {version}", "dim"))
    top.blank()
    top.headline(checked.headline, "bold red" if checked.has_failed else "bold green")
    for note in checked.notes:
        top.line((note, "yellow"), indent=2)
    _budgets(page, checked)
    _alerts(page, "What fails the check", checked.failing, checked)
    rest_of = tuple(item for item in checked.alerts if not item.fails)
    if page.verbose:
        _alerts(page, "What does not fail the check", rest_of, checked)
    steps = checked.next_steps if checked.has_failed else ()
    next_steps_list(page, steps)
    _tail(page, checked, rest_of, options.again)
    if steps and top.lines + page.lines > SCREEN:
        top.blank()
        start_here(top, steps[0], where_listed(steps))
    return top.bytes() + page.bytes()


def _budgets(page: TextPage, checked: CheckResult) -> None:
    """Those of the run, and those of codes that are exceeded."""
    shown = [item for item in checked.budgets if item.code is None or item.is_exceeded or page.verbose]
    if shown:
        page.heading("Budgets", "recompilations in the baseline are not counted" if checked.baseline else "")
        rows = [(item.name, *item.amounts, _mark(item)) for item in shown]
        page.table((Column("", is_wide=True), Column("spent", True), Column("allowed", True), Column("")), rows)


def _mark(item: BudgetUse) -> Text:
    return Text("exceeded", style="red") if item.is_exceeded else Text("ok", style="green")


def _alerts(page: TextPage, title: str, items: tuple[CheckedAlert, ...], checked: CheckResult) -> None:
    if items:
        page.heading(title, "worst first")
    of_alert = {item.alert: item for item in items}
    above = CountedAbove()
    for number, (alert, *others) in enumerate(page.listed(alert_groups(of_alert), "finding", 0)):
        if number:
            page.blank()
        item = of_alert[alert]
        diagnostic(page, alert, item.level, others, (*above.notes(alert), *_notes(item, checked)))


def _notes(item: CheckedAlert, checked: CheckResult) -> list[str]:
    """What the baseline knows of it."""
    return [f"{item.known} of {item.alert.count} are in {checked.baseline.name}"] if checked.baseline and item.known else []


def _tail(page: TextPage, checked: CheckResult, rest: tuple[CheckedAlert, ...], again: str) -> None:
    """What is not shown, what is fixed, and where to read on."""
    lines: list[str] = []
    commands: list[tuple[str, str]] = []
    if rest and not page.verbose:
        known = sum(not item.new for item in rest)
        some = f"{known} of them " if known < len(rest) else ""
        of_baseline = f", {some}already in {checked.baseline.name}" if checked.baseline and known else ""
        do = "does" if len(rest) == 1 else "do"
        noun = "more finding" if checked.failing else "finding"
        lines.append(f"{plural(len(rest), noun)} that {do} not fail{of_baseline} (shown with --verbose)")
    if checked.ignored:
        options = [name for name, given in (("--select", checked.policy.select), ("--ignore", checked.policy.ignore)) if given]
        lines.append(f"{plural(checked.ignored, 'finding')} left out by {' and '.join(options)}")
    if checked.fixed and checked.baseline:
        shown = "; ".join(checked.fixed[:3]) + (f"; and {len(checked.fixed) - 3} more" if len(checked.fixed) > 3 else "")
        lines.append(f"In the baseline {checked.baseline.name}, but not in this run: {shown}. Run with --write-baseline to update it.")
    if checked.failing:
        code = checked.failing[0].alert.rule.code
        commands = [(f"More about {code}: ", f"shapelog rule {code}"), ("The full report: ", f"shapelog report {again}".strip())]
    if lines or commands:
        page.blank()
    for line in lines:
        page.line((line, "dim"))
    for what, command in commands:  # to be copied
        page.raw(f"{what}{command}", style="dim")

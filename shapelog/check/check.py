"""``check(alerts, policy, baseline)`` → CheckResult: whether a run is good enough."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from shapelog.advice.paste_formats import effect_of, shown_shell, why_nothing
from shapelog.check.baseline import Baseline, Known, compiles_of, counts_of, match
from shapelog.check.export_alerts import with_exports
from shapelog.check.policy import Budget, Metric, Policy, matches
from shapelog.grouping import grouped
from shapelog.model.code_matching import Code
from shapelog.model.compile import Compile, Outcome
from shapelog.model.exports import ExportResult
from shapelog.report.alerts.alert import Alert, Alerts, Occurrence, digest
from shapelog.report.next_steps import next_steps
from shapelog.report.results import Headline
from shapelog.report.steps.step import NextStep, StepKind
from shapelog.rules import RULES, AlertKind, Level, Remedy, Section
from shapelog.text import plural, seconds, taking

_OVER_BUDGET = RULES["SL801"]


@dataclass(frozen=True, slots=True, eq=False)
class CheckedAlert:
    """An alert, whether it fails the check, and which of its occurrences are new; without a baseline all are.

    ``is_spent``: it fails only because a budget is exceeded that its occurrences count towards.
    """

    alert: Alert
    fails: bool
    new: tuple[Occurrence, ...]
    level: Level
    is_spent: bool = False

    @property
    def known(self) -> int:
        """How many of its occurrences the baseline knows."""
        return self.alert.count - sum(occurrence.times for occurrence in self.new)


_NOUNS = {Metric.COMPILES: "compilation", Metric.RECOMPILES: "recompilation"}


@dataclass(frozen=True, slots=True, eq=False)
class BudgetUse:
    """A budget and what the run spent of it; ``code`` is None for the budget of the whole run, and ``most`` the one that spent most."""

    budget: Budget
    spent: float
    code: Code | None = None
    most: Code | None = None

    @property
    def is_exceeded(self) -> bool:
        return self.spent > self.budget.most

    @property
    def name(self) -> str:
        """``recompilations in the whole run``, ``recompilations in Net.forward``."""
        return f"{self.budget.metric.noun} in {self.code.title if self.code else 'the whole run'}"

    @property
    def amounts(self) -> tuple[str, str]:
        """What was spent and what is allowed, as text."""
        written = "{:.2f}" if self.budget.metric is Metric.AVOIDABLE else "{:.0f}"
        return written.format(self.spent), written.format(self.budget.most)

    @property
    def sentence(self) -> str:
        """``15 recompilations in Net.forward, 3 allowed``."""
        where = f" in {self.code.title}" if self.code else ""
        if self.budget.metric is Metric.AVOIDABLE:
            # With as many digits as make them differ.
            rounded = [seconds(self.spent), seconds(self.budget.most)]
            spent, most = rounded if rounded[0] != rounded[1] else [f"{amount:.6g} s" for amount in (self.spent, self.budget.most)]
            return f"{spent} of avoidable recompilations{where}, {most} allowed"
        return f"{plural(int(self.spent), _NOUNS[self.budget.metric])}{where}, {int(self.budget.most)} allowed"


@dataclass(frozen=True, slots=True, eq=False)
class CheckResult:
    """The outcome. ``alerts`` are those that count, failing and worst first; ``ignored`` is how many others of ``found`` there were.

    ``budgets`` are those of the run, then those of the codes, exceeded ones first. ``fixed`` is what the baseline has and the run has not.
    ``is_check`` is False where no check was asked for: then ``alerts`` have the levels that they have by themselves.
    """

    found: Alerts
    policy: Policy
    alerts: tuple[CheckedAlert, ...]
    notes: tuple[str, ...]
    baseline: Baseline | None = None
    budgets: tuple[BudgetUse, ...] = ()
    ignored: int = 0
    fixed: tuple[str, ...] = ()
    is_check: bool = True

    @property
    def failing(self) -> tuple[CheckedAlert, ...]:
        return tuple(item for item in self.alerts if item.fails)

    @property
    def next_steps(self) -> tuple[NextStep, ...]:
        """What to do; if the check failed, what is about the rules that failed it comes first."""
        failed = {rule for item in self.failing for rule in (item.alert.rule, item.alert.remedy.rule)}
        is_for_marks = any(rule.markable for rule in failed)

        def is_about_others(step: NextStep) -> bool:
            return not (is_for_marks if step.kind is StepKind.MARK else failed.intersection(step.rules))

        return tuple(sorted(next_steps(self.found), key=is_about_others) if self.has_failed else next_steps(self.found))

    @property
    def exceeded(self) -> tuple[BudgetUse, ...]:
        return tuple(item for item in self.budgets if item.is_exceeded)

    @property
    def has_failed(self) -> bool:
        return self.is_check and bool(self.failing)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it failed, a few words each: budgets, then what it fails on, most occurrences first."""
        failing = [item for item in self.failing if not item.is_spent]
        return (*(item.sentence for item in self.exceeded), *_counted_kinds(failing, self._matters))

    def _matters(self, occurrence: Occurrence) -> bool:
        """Whether an occurrence makes the check fail, or there is no check: those of one alert may be of different kinds."""
        return not self.is_check or self.policy.fails_on(occurrence.kinds)

    @property
    def headline(self) -> Headline:
        """The answer in one sentence."""
        if self.has_failed:
            return Headline("Check failed", "; ".join(self.reasons))
        summary = self.found.report.summary
        if not self.is_check:
            again = f"{plural(summary.recompiles, 'recompilation')}{taking(summary.recompile_seconds)}"
            return Headline(f"{plural(summary.compiles, 'compilation')}, {again}", "; ".join(self.reasons))
        trace = self.found.report.trace
        if not summary.compiles:
            nothing = "no compilation is in this log" if trace.is_text else "nothing was compiled"
            return Headline("Check passed", trace.outside_frames or nothing)
        known = sum(item.known for item in self.alerts)
        new = "nothing new; " if self.baseline and known else ""
        return Headline("Check passed", f"{new}{plural(summary.compiles, 'compilation')}, {plural(summary.recompiles, 'recompilation')}")

    @property
    def remedy(self) -> str:
        """The line to set and what it is predicted to save, or why marking saves nothing; "" where nothing recompiled."""
        advice = self.found.report.advice
        if advice is None or not self.found.report.recompiles:
            return ""
        line = shown_shell(advice)
        if not line:
            return why_nothing(advice)
        return f"{line}  # {effect_of(advice)}"


_WORDS = {
    AlertKind.FAILURE: "failed compilation",
    AlertKind.SKIPPED: "skipped function",
    AlertKind.AVOIDABLE: "avoidable recompilation",
    AlertKind.UNEXPLAINED: "unexplained recompilation",
    AlertKind.RECOMPILE: "justified recompilation",
    AlertKind.BREAK: "graph break",
    AlertKind.RESTART: "restarted analysis",
    AlertKind.RANK: "rank divergence",
}
_OF_CODE = {AlertKind.LIMIT: "recompile limit hit in {}", AlertKind.LIMIT_NEAR: "recompile limit nearly reached in {}"}


def _counted_kinds(failing: list[CheckedAlert], matters: Callable[[Occurrence], bool]) -> Iterator[str]:
    """Limits by the name of the code, then each occurrence once, under the first of its kinds."""
    of_exports = sum(item.alert.rule.section is Section.EXPORTS for item in failing)
    if of_exports:
        yield plural(of_exports, "problem") + " in exports"
    failing = [item for item in failing if item.alert.rule.section is not Section.EXPORTS]
    for kind, words in _OF_CODE.items():
        titles = list(dict.fromkeys(item.alert.title for item in failing if kind in item.alert.kinds))
        if titles:
            yield words.format(", ".join(titles[:2])) + (f" and {len(titles) - 2} more" if len(titles) > 2 else "")
    found: dict[AlertKind, dict[Compile, int]] = {}
    seen: set[tuple[Compile, bool]] = set()
    items = [(item, kind) for kind in _WORDS for item in failing if kind in item.alert.kinds]
    for item, kind in items:
        for occurrence in filter(matters, item.new):
            is_recompile = AlertKind.RECOMPILE in occurrence.kinds
            if kind in occurrence.kinds and not (is_recompile and (occurrence.compile, True) in seen):
                seen.add((occurrence.compile, is_recompile))
                found.setdefault(kind, {})[occurrence.compile] = occurrence.times
    for kind, occurrences in found.items():
        count = sum(occurrences.values())
        yield f"{count} restarted analyses" if kind is AlertKind.RESTART and count > 1 else plural(count, _WORDS[kind])
    others = sum(occurrence.times for item in failing for occurrence in item.new if not occurrence.kinds)
    if others:
        yield plural(others, "other finding")


def without_policy(found: Alerts) -> CheckResult:
    """A report as it is shown where checks are: its alerts with their own levels, and nothing asked of it."""
    policy = Policy()
    every = with_exports(found).alerts
    alerts = tuple(CheckedAlert(alert, policy.fails_on(alert.kinds), alert.occurrences, alert.level) for alert in every)
    return CheckResult(found, policy, alerts, notes=tuple(_notes(found, None)), is_check=False)


# A piece of code, what identifies some of its alerts, and the number of a process.
_Room = tuple[Code, tuple[tuple[str, str], ...], int]


def check(found: Alerts, policy: Policy, baseline: Baseline | None = None) -> CheckResult:
    """Compare a run with a policy; with a baseline only what that does not know counts, also towards budgets.

    A process may have each (code, rule, property) as often as the worst process of the baseline had it.
    """
    every = with_exports(found)
    known, gone = match(baseline, every.codes) if baseline else ({}, [])
    counting = [alert for alert in every.alerts if policy.counts(alert.codes)]
    left: dict[_Room, int] = {}
    checked = [_checked(alert, policy, known.get(alert.code), left) for alert in counting]
    uses = _budget_uses(found, policy, checked, known)
    budgets = tuple(sorted(uses, key=lambda item: (item.code is not None, item.budget.most - item.spent)))
    exceeded = [item for item in budgets if item.is_exceeded]
    over = [_over(found, item) for item in exceeded]
    order = list(Level)
    rest = sorted((_with_budgets(item, exceeded) for item in checked), key=lambda item: (not item.fails, order.index(item.level)))
    return CheckResult(
        found=found,
        policy=policy,
        baseline=baseline,
        alerts=(*over, *rest),
        budgets=budgets,
        ignored=len(every.alerts) - len(counting),
        fixed=tuple(_fixed(every, known, gone)),
        notes=(*_notes(found, baseline), *_idle(found, policy)),
    )


def _checked(alert: Alert, policy: Policy, known: Known | None, left: dict[_Room, int]) -> CheckedAlert:
    """``left`` is how often each process may still have what the baseline has, which two errors of one code share."""
    new = []
    for occurrence in alert.occurrences:
        place = alert.code, alert.keys, occurrence.process
        room = left.setdefault(place, min(known.alerts.get(key, 0) for key in alert.keys) if known else 0)
        if room:
            left[place] = room - 1
        else:
            new.append(occurrence)
    fails = any(policy.fails_on(occurrence.kinds) for occurrence in new)
    # Only what fails is an error; what the baseline knows is worth a note.
    level = Level.ERROR if fails else Level.NOTE if not new or alert.level is Level.NOTE else Level.WARNING
    return CheckedAlert(alert, fails, tuple(new), level)


def _with_budgets(item: CheckedAlert, exceeded: list[BudgetUse]) -> CheckedAlert:
    """The alerts that count towards an exceeded budget are what there is to do about it, so they fail with it."""
    kinds = frozenset[AlertKind]().union(*(occurrence.kinds for occurrence in item.new))
    for spent in exceeded:
        wanted = AlertKind.AVOIDABLE if spent.budget.metric is Metric.AVOIDABLE else AlertKind.RECOMPILE
        if not item.fails and wanted in kinds and spent.code in (None, item.alert.code):
            return replace(item, fails=True, level=Level.ERROR, is_spent=True)
    return item


def _budget_uses(found: Alerts, policy: Policy, checked: list[CheckedAlert], known: Mapping[Code, Known]) -> Iterator[BudgetUse]:
    by_code = grouped(checked, lambda item: item.alert.code)
    spent = {code: _spent(found, code, by_code.get(code, []), known.get(code)) for code in found.codes}
    for budget in policy.budgets:
        if not budget.pattern:
            own = [(spent[code][budget.metric], code) for code in found.codes]
            most = max(own, key=lambda item: item[0], default=(0, None))
            yield BudgetUse(budget, math.fsum(amount for amount, _ in own), most=most[1] if most[0] else None)
    for code in found.codes:
        for budget in policy.budgets_of(_names(found, code)):
            yield BudgetUse(budget, spent[code][budget.metric], code)


def _names(found: Alerts, code: Code) -> tuple[str, ...]:
    source_line = found.repository.source_line(code.first.file, code.first.line)
    return code.title, code.first.name, source_line.file if source_line else ""


def _idle(found: Alerts, policy: Policy) -> Iterator[str]:
    """Budgets that limit nothing here, as a typo may cause."""
    names = [_names(found, code) for code in found.codes]
    for pattern in dict.fromkeys(budget.pattern for budget in policy.budgets if budget.pattern and names):
        if not any(matches(pattern, item) for item in names):
            yield f"no compiled code has the title, function, or file {pattern}, so its budget has no effect"


def _spent(found: Alerts, code: Code, checked: list[CheckedAlert], known: Known | None) -> dict[Metric, float]:
    """What one code spent, of what is new. A recompile counts once, if any of its causes counts."""
    new = [occurrence for item in checked for occurrence in item.new]
    recompiles = {occurrence.compile: occurrence.times for occurrence in new if AlertKind.RECOMPILE in occurrence.kinds}
    avoidable = {occurrence.compile: occurrence.seconds for occurrence in new if AlertKind.AVOIDABLE in occurrence.kinds}
    allowed = known.compiles if known else 0
    return {
        Metric.COMPILES: sum(found.weight(process) * max(0, made - allowed) for process, made in compiles_of(found, code).items()),
        Metric.RECOMPILES: sum(recompiles.values()),
        Metric.AVOIDABLE: math.fsum(avoidable.values()),
    }


def _over(found: Alerts, item: BudgetUse) -> CheckedAlert:
    """The alert of a budget that is exceeded, at the code that spent most of it."""
    code = item.code or item.most or found.codes[0]
    first = code.first
    own, called = found.repository.source_line(first.file, first.line), first.called_at
    call = found.repository.source_line(called.file, called.line) if called else None
    source_line = (call or own) if first.is_library else (own or call)
    compiled = [item for item in found.compiles(code) if item.compile.outcome is Outcome.COMPILED]
    kinds = frozenset((AlertKind.BUDGET,))
    occurrences = tuple(found.occurrence(each, kinds) for each in compiled[1:] or compiled)
    most = "" if item.code else f"; the most in {code.title}" if len(found.codes) > 1 else f", in {code.title}"
    name = f"{item.budget.metric.noun} {'of this code' if item.code else 'of the run'}"
    alert = Alert(
        rule=_OVER_BUDGET,
        codes=(_OVER_BUDGET.code,),
        level=Level.ERROR,
        code=code,
        axes=(name,),
        titles=(code.title,),
        sentence=f"budget exceeded: {item.sentence}{most}",
        facts=(),
        remedy=Remedy(_OVER_BUDGET, _OVER_BUDGET.remedy),
        source_line=source_line,
        snippet="",
        related=(),
        occurrences=occurrences,
        fingerprint=digest(_OVER_BUDGET.code, name, *(found.identities[code] if item.code else ())),
    )
    return CheckedAlert(alert, True, occurrences, Level.ERROR)


def _fixed(found: Alerts, known: Mapping[Code, Known], gone: Iterable[Known]) -> Iterator[str]:
    """What the baseline has too much, so that it may be written anew."""
    by_code = grouped(found.alerts, lambda alert: alert.code)
    now = {(code, key): count for code, alerts in by_code.items() for key, count in counts_of(alerts).items()}
    for code in found.codes:
        item = known.get(code)
        for key, count in item.alerts.items() if item else ():
            here = now.get((code, key), 0)
            if here < count:
                yield f"{code.title}: {key[0]} {key[1]}".rstrip() + f", {count} before, {here} now"
    for item in gone:
        if item.compiles:
            yield f"{item.code.title}: no longer compiled"


def _notes(found: Alerts, baseline: Baseline | None) -> Iterator[str]:
    """What makes the outcome less sure."""
    report = found.report
    unknown = sum(item.result is ExportResult.UNKNOWN for item in report.trace.exports)
    if unknown:
        yield f"{plural(unknown, 'export')} without a recorded result: record with TORCH_DTRACE instead of TORCH_TRACE to learn it"
    elif report.trace.is_text and not report.summary.compiles and (others := len(report.findings)):
        yield f"{plural(others, 'finding')} in it on which the check does not fail: see shapelog report"
    elif not report.trace.outside_frames and not (report.summary.compiles or report.summary.failures or report.summary.limit_hits):
        yield "the trace contains no compilation: was a function under torch.compile called, and was TORCH_TRACE set before that?"
    lost = [item for item in report.problems if item.severity == "data loss"]
    if lost:
        yield f"{lost[0].place}: {lost[0].message}; compilations may be missing (--strict makes this an error)"
    version = report.trace.torch_version
    if baseline and baseline.torch_version and version and baseline.torch_version != version:
        yield f"{baseline.name} was written with torch {baseline.torch_version}, this trace with {version}; the differences count as new"

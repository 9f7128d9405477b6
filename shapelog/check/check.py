"""``check(survey, policy, baseline)`` → Checked: whether a run is good enough."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from shapelog.advice.paste_formats import as_shell, effect_of, why_nothing
from shapelog.check.alerts import Alert, Event, Survey, digest, event_of
from shapelog.check.baseline import Baseline, Known, compiles_of, count_of, match
from shapelog.check.policy import Budget, Metric, Policy, fits
from shapelog.model.code_matching import Code
from shapelog.model.trace import Outcome
from shapelog.report.results import Headline
from shapelog.rules import RULES, AlertKind, Level
from shapelog.text import plural, seconds

_OVER_BUDGET = RULES["SL801"]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """An alert, whether it fails the check, and which of its events are new; without a baseline all are.

    ``is_spent`` says that it fails only because a budget is exceeded that its events count towards.
    """

    alert: Alert
    fails: bool
    new: tuple[Event, ...]
    level: Level
    is_spent: bool = False

    @property
    def known(self) -> int:
        """How many of its events the baseline knows."""
        return self.alert.count - sum(event.times for event in self.new)


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
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
        """``recompiles in the whole run``, ``recompiles in Net.forward``."""
        return f"{self.budget.metric.value} in {self.code.title if self.code else 'the whole run'}"

    @property
    def amounts(self) -> tuple[str, str]:
        """What was spent and what is allowed, as text."""
        written = "{:.2f}" if self.budget.metric is Metric.AVOIDABLE else "{:.0f}"
        return written.format(self.spent), written.format(self.budget.most)

    @property
    def sentence(self) -> str:
        """``15 recompiles in Net.forward, 3 allowed``."""
        where = f" in {self.code.title}" if self.code else ""
        if self.budget.metric is Metric.AVOIDABLE:
            # Both as long as it takes to tell them apart.
            told = [seconds(self.spent), seconds(self.budget.most)]
            spent, most = told if told[0] != told[1] else [f"{amount:.6g} s" for amount in (self.spent, self.budget.most)]
            return f"{spent} of avoidable recompiles{where}, {most} allowed"
        return f"{plural(int(self.spent), self.budget.metric.value[:-1])}{where}, {int(self.budget.most)} allowed"


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """The outcome. ``judged`` are the alerts that count, failing and worst first; ``ignored`` is how many others there were.

    ``measured`` are the budgets of the run, then those of the codes, exceeded ones first. ``fixed`` tells what the baseline has and the
    run has not. ``is_check`` is False where nobody asked for a check: then ``judged`` have the levels that alerts have by themselves.
    """

    survey: Survey
    policy: Policy
    baseline: Baseline | None
    judged: tuple[Judged, ...]
    measured: tuple[Measured, ...]
    ignored: int
    fixed: tuple[str, ...]
    notes: tuple[str, ...]
    is_check: bool = True

    @property
    def failing(self) -> tuple[Judged, ...]:
        return tuple(item for item in self.judged if item.fails)

    @property
    def exceeded(self) -> tuple[Measured, ...]:
        return tuple(item for item in self.measured if item.is_exceeded)

    @property
    def has_failed(self) -> bool:
        return self.is_check and bool(self.failing)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it failed, a few words each: budgets, then what it fails on, most events first."""
        return (*(item.sentence for item in self.exceeded), *_counted_kinds([item for item in self.failing if not item.is_spent]))

    @property
    def headline(self) -> Headline:
        """The answer in one sentence."""
        if self.has_failed:
            return Headline("Check failed", "; ".join(self.reasons))
        summary = self.survey.report.summary
        if not self.is_check:
            again = f"{plural(summary.recompiles, 'recompile')} in {seconds(summary.recompile_seconds)}"
            return Headline(f"{plural(summary.compiles, 'compile')}, {again}", "; ".join(self.reasons))
        if not summary.compiles:
            return Headline("Check passed", "nothing was compiled")
        known = sum(item.known for item in self.judged)
        new = "nothing new; " if self.baseline and known else ""
        return Headline("Check passed", f"{new}{plural(summary.compiles, 'compile')}, {plural(summary.recompiles, 'recompile')}")

    @property
    def what_helps(self) -> str:
        """The line to set and what it is predicted to save, or why marking saves nothing; "" where nothing recompiled."""
        advice = self.survey.report.advice
        if advice is None or not self.survey.report.recompiles:
            return ""
        line = as_shell(advice)
        if not line:
            return why_nothing(advice)
        return f"{line}  # {effect_of(advice)}"


_WORDS = {
    AlertKind.FAILURE: "failed compile",
    AlertKind.AVOIDABLE: "avoidable recompile",
    AlertKind.UNEXPLAINED: "unexplained recompile",
    AlertKind.RECOMPILE: "justified recompile",
    AlertKind.BREAK: "graph break",
    AlertKind.RESTART: "restart of the analysis",
    AlertKind.RANK: "rank divergence",
}
_OF_CODE = {AlertKind.LIMIT: "recompile limit hit in {}", AlertKind.LIMIT_NEAR: "recompile limit near in {}"}


def _counted_kinds(failing: list[Judged]) -> Iterator[str]:
    """Limits by the name of the code, then each event once, under the first of its kinds."""
    for kind, words in _OF_CODE.items():
        titles = list(dict.fromkeys(item.alert.title for item in failing if kind in item.alert.kinds))
        if titles:
            yield words.format(", ".join(titles[:2])) + (f" and {len(titles) - 2} more" if len(titles) > 2 else "")
    found: dict[AlertKind, dict[int, int]] = {}
    seen: set[tuple[int, bool]] = set()
    items = [(item, kind) for kind in _WORDS for item in failing if kind in item.alert.kinds]
    for item, kind in items:
        for event in item.new:
            is_recompile = AlertKind.RECOMPILE in event.kinds
            if kind in event.kinds and not (is_recompile and (event.id, True) in seen):
                seen.add((event.id, is_recompile))
                found.setdefault(kind, {})[event.id] = event.times
    for kind, events in found.items():
        count = sum(events.values())
        yield f"{count} restarts of the analysis" if kind is AlertKind.RESTART and count > 1 else plural(count, _WORDS[kind])
    others = sum(event.times for item in failing for event in item.new if not event.kinds)
    if others:
        yield plural(others, "other finding")


def overview(survey: Survey) -> Checked:
    """A report as it is shown where checks are: its alerts with their own levels, and nothing asked of it."""
    policy = Policy()
    judged = tuple(Judged(alert, policy.fails_on(alert.kinds), alert.events, alert.level) for alert in survey.alerts)
    return Checked(survey, policy, None, judged, (), 0, (), tuple(_notes(survey, None)), is_check=False)


def check(survey: Survey, policy: Policy, baseline: Baseline | None = None) -> Checked:
    """Hold a run against a policy; with a baseline only what that does not know counts, also towards budgets.

    A process may have each (code, rule, property) as often as the worst process of the baseline had it.
    """
    matched = match(baseline, survey.codes) if baseline else None
    known = {id(code): matched.of(code) for code in survey.codes} if matched else {}
    counted_alerts = [alert for alert in survey.alerts if policy.counts(alert.codes)]
    judged = [_judged(alert, policy, known.get(id(alert.code))) for alert in counted_alerts]
    measured = tuple(sorted(_measured(survey, policy, judged, known), key=lambda item: (item.code is not None, -_excess(item))))
    exceeded = [item for item in measured if item.is_exceeded]
    over = [_over(survey, item) for item in exceeded]
    order = list(Level)
    rest = sorted((_with_budgets(item, exceeded) for item in judged), key=lambda item: (not item.fails, order.index(item.level)))
    return Checked(
        survey=survey,
        policy=policy,
        baseline=baseline,
        judged=(*over, *rest),
        measured=measured,
        ignored=len(survey.alerts) - len(counted_alerts),
        fixed=tuple(_fixed(survey, known, matched.gone)) if matched else (),
        notes=(*_notes(survey, baseline), *_idle(survey, policy)),
    )


def _judged(alert: Alert, policy: Policy, known: Known | None) -> Judged:
    left: dict[int, int] = {}
    new = []
    for event in alert.events:
        room = left.setdefault(event.process, min(known.alerts.get(key, 0) for key in alert.keys) if known else 0)
        if room:
            left[event.process] = room - 1
        else:
            new.append(event)
    fails = any(policy.fails_on(event.kinds) for event in new)
    # Only what fails is an error; what the baseline knows is worth a note.
    level = Level.ERROR if fails else Level.NOTE if not new or alert.level is Level.NOTE else Level.WARNING
    return Judged(alert, fails, tuple(new), level)


def _with_budgets(item: Judged, exceeded: list[Measured]) -> Judged:
    """The alerts that count towards an exceeded budget are what there is to do about it, so they fail with it."""
    kinds = frozenset[AlertKind]().union(*(event.kinds for event in item.new))
    for spent in exceeded:
        wanted = AlertKind.AVOIDABLE if spent.budget.metric is Metric.AVOIDABLE else AlertKind.RECOMPILE
        if not item.fails and wanted in kinds and spent.code in (None, item.alert.code):
            return replace(item, fails=True, level=Level.ERROR, is_spent=True)
    return item


def _excess(item: Measured) -> float:
    return item.spent - item.budget.most


def _measured(survey: Survey, policy: Policy, judged: list[Judged], known: Mapping[int, Known | None]) -> Iterator[Measured]:
    by_code: dict[int, list[Judged]] = {}
    for item in judged:
        by_code.setdefault(id(item.alert.code), []).append(item)
    spent = {id(code): _spent(survey, code, by_code.get(id(code), []), known.get(id(code))) for code in survey.codes}
    for budget in policy.budgets:
        if not budget.pattern:
            own = [(spent[id(code)][budget.metric], code) for code in survey.codes]
            most = max(own, key=lambda item: item[0], default=(0, None))
            yield Measured(budget, math.fsum(amount for amount, _ in own), most=most[1] if most[0] else None)
    for code in survey.codes:
        for budget in policy.budgets_of(_names(survey, code)):
            yield Measured(budget, spent[id(code)][budget.metric], code)


def _names(survey: Survey, code: Code) -> tuple[str, ...]:
    """What a pattern of a budget can name."""
    spot = survey.checkout.spot(code.first.file, code.first.line)
    return code.title, code.first.name, spot.file if spot else ""


def _idle(survey: Survey, policy: Policy) -> Iterator[str]:
    """Budgets that limit nothing here, which a slip of the pen can be the reason of."""
    names = [_names(survey, code) for code in survey.codes]
    for pattern in dict.fromkeys(budget.pattern for budget in policy.budgets if budget.pattern and names):
        if not any(fits(pattern, item) for item in names):
            yield f"no compiled code has {pattern} as its title, function or file, so the budget for it limits nothing"


def _spent(survey: Survey, code: Code, judged: list[Judged], known: Known | None) -> dict[Metric, float]:
    """What one code spent, of what is new. A recompile counts once, if any of its causes counts."""
    recompiles: dict[int, Event] = {}
    avoidable: dict[int, Event] = {}
    for event in (event for item in judged for event in item.new):
        if AlertKind.RECOMPILE in event.kinds:
            recompiles[event.id] = event
        if AlertKind.AVOIDABLE in event.kinds:
            avoidable[event.id] = event
    allowed = known.compiles if known else 0
    return {
        Metric.COMPILES: sum(survey.weight(process) * max(0, made - allowed) for process, made in compiles_of(survey, code).items()),
        Metric.RECOMPILES: sum(event.times for event in recompiles.values()),
        Metric.AVOIDABLE: math.fsum(event.seconds for event in avoidable.values()),
    }


def _over(survey: Survey, item: Measured) -> Judged:
    """The alert of a budget that is exceeded, at the code that spent most of it."""
    code = item.code or item.most or survey.codes[0]
    first = code.first
    own, called = survey.checkout.spot(first.file, first.line), first.called_at
    call = survey.checkout.spot(called.file, called.line) if called else None
    spot = (call or own) if first.is_library else (own or call)
    members = [(frame, compile) for frame in code.frames for compile in frame.compiles if compile.outcome is Outcome.COMPILED]
    kinds = frozenset((AlertKind.BUDGET,))
    events = tuple(event_of(frame, compile, kinds, survey.report.trace, survey.processes) for frame, compile in members[1:] or members)
    most = "" if item.code else f"; the most in {code.title}" if len(survey.codes) > 1 else f", in {code.title}"
    name = f"{item.budget.metric.value} {'of this code' if item.code else 'of the run'}"
    alert = Alert(
        rule=_OVER_BUDGET,
        codes=(_OVER_BUDGET.code,),
        level=Level.ERROR,
        code=code,
        axes=(name,),
        sentence=f"budget exceeded: {item.sentence}{most}",
        facts=(),
        remedy=_OVER_BUDGET.remedy,
        spot=spot,
        snippet="",
        related=(),
        events=events,
        fingerprint=digest(_OVER_BUDGET.code, name, *(survey.identities[id(code)] if item.code else ())),
    )
    return Judged(alert, True, events, Level.ERROR)


def _fixed(survey: Survey, known: Mapping[int, Known | None], gone: Iterable[Known]) -> Iterator[str]:
    """What the baseline has too much, so that it may be written anew."""
    now = {(id(alert.code), key): count_of(alert) for alert in survey.alerts for key in alert.keys}
    for code in survey.codes:
        item = known.get(id(code))
        for key, count in item.alerts.items() if item else ():
            here = now.get((id(code), key), 0)
            if here < count:
                yield f"{code.title}: {key[0]} {key[1]}".rstrip() + f", {count} before, {here} now"
    for item in gone:
        if item.compiles:
            yield f"{item.code.title}: not compiled any more"


def _notes(survey: Survey, baseline: Baseline | None) -> Iterator[str]:
    """What makes the outcome less sure."""
    report = survey.report
    if not report.summary.compiles and not report.summary.failures:
        yield "the trace holds no compile: did the program run what torch.compile wraps, and was TORCH_TRACE set before that?"
    lost = [item for item in report.problems if item.severity == "data loss"]
    if lost:
        yield f"{lost[0].place}: {lost[0].message}; compiles may be missing (--strict makes that an error)"
    version = report.trace.torch_version
    if baseline and baseline.torch_version and version and baseline.torch_version != version:
        yield f"{baseline.name} was written with torch {baseline.torch_version}, this is {version}: what that changed counts as new"

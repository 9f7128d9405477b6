"""What to do first: everything that costs a run compilations, seconds or compiled code, as one list of steps, the most worthwhile first."""

from collections.abc import Mapping
from typing import NamedTuple

from shapelog.advice.advise import Advice
from shapelog.grouping import grouped
from shapelog.model.compile import Outcome
from shapelog.reading.payloads.compiler_messages import ACCEPTED
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.before_breaks import CHANGED_BEFORE
from shapelog.recompiles.classification.sizes import NO_BREAK
from shapelog.report.alerts.alert import Alert, Alerts, stable_text
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.resumed_code import innermost
from shapelog.report.steps.caches import cache_steps
from shapelog.report.steps.code_changes import code_change
from shapelog.report.steps.exports import export_steps
from shapelog.report.steps.interruptions import SETTING, failure_step, graph_break_step, remedy_of_restart, restart_step, skipped_steps
from shapelog.report.steps.limit import is_lifted, limit_group, limit_step
from shapelog.report.steps.marks import mark_steps
from shapelog.report.steps.ranks import rank_steps
from shapelog.report.steps.slow_graphs import static_steps
from shapelog.report.steps.step import CONFIDENCE, COSTLY, SET_UP, NextStep, StepKind, StepSources, change_of
from shapelog.report.steps.vllm import vllm_steps
from shapelog.rules import RULES, AlertKind, Level, Verdict

_Key = tuple[StepKind, object] | None
_GLOBAL_STATE = RULES["SL307"]
# How likely a step is to save what it is expected to.
CHANCES = {"high": 1.0, "medium": 0.75, "low": 0.5}


class AdvisedRun(NamedTuple):
    """The advice on a run, for the version that was asked for, and everything that helps, the most worthwhile first."""

    report: Report
    advice: Advice
    steps: tuple[NextStep, ...]


def advised_run(report: Report, advice: Advice) -> AdvisedRun:
    """All that helps a run, with the advice in place of that of the report."""
    return AdvisedRun(report, advice, next_steps(collect_alerts(report._replace(advice=advice), Repository())))


def next_steps(found: Alerts) -> tuple[NextStep, ...]:
    """Every step that saves anything, the most worthwhile first; what makes a job hang or compute nonsense comes before all."""
    report = found.report
    marks = list(mark_steps(report))
    # Sizes that differ across ranks are marked by the same list.
    steps = marks + [step for step in rank_steps(report.findings) if not (marks and step.rules[0].verdict is Verdict.MARKING)]
    run = StepSources(found)
    by_kind = _with_failures_at_breaks(_one_for_each_line(grouped(found.alerts, lambda alert: _key(run, alert))))
    broken = (alert for kind, members in by_kind.items() if kind and kind[0] is StepKind.GRAPH_BREAK for alert in members)
    resumed = frozenset(run.resumed.after(broken))
    for kind, alerts in by_kind.items():
        # what is an input only because of a break needs no step of its own, and what had changed before one has a step there
        members = [alert for alert in alerts if not (alert.code in resumed and _is_of_break(change_of(alert).text))]
        if kind is not None and members:
            steps.append(_MAKERS[kind[0]](run, members))
    steps += export_steps(report.findings, found.repository)
    steps += skipped_steps(run)
    steps += cache_steps(run)
    steps += static_steps(run)
    steps += vllm_steps(run)
    useful = [step for step in steps if step.saving.is_any or step.kind in (StepKind.RANKS, StepKind.EXPORT)]
    notable = COSTLY * report.summary.seconds
    return tuple(sorted(useful, key=lambda step: _rank(step, notable)))


def _is_of_break(text: str) -> bool:
    return text.startswith(NO_BREAK) or CHANGED_BEFORE in text


def _one_for_each_line(by_kind: Mapping[_Key, list[Alert]]) -> Mapping[_Key, list[Alert]]:
    """The same, code that failed to compile at the same line for the same reason together, be there more hints for a part of it."""
    found: dict[_Key, list[Alert]] = {}
    at_line: dict[tuple[object, str], _Key] = {}
    for key, alerts in by_kind.items():
        failed = alerts if key and key[0] is StepKind.FAILURE else ()
        stopped = [alert for alert in failed if any(message.stack for message in alert.messages)]
        lines = [(line, _reason(alert)) for alert in stopped for line in innermost(alert)]
        first = next((at_line[line] for line in lines if line in at_line), key)
        at_line |= dict.fromkeys((line for line in lines if line not in at_line), first)
        found.setdefault(first, []).extend(alerts)
    return found


def _with_failures_at_breaks(by_kind: Mapping[_Key, list[Alert]]) -> Mapping[_Key, list[Alert]]:
    """The same, code that failed to compile at the lines of a graph break, for the same reason, together with that: one change cures
    both.
    """
    found = dict(by_kind)
    at_line = {
        (line, _reason(alert)): key
        for key, alerts in by_kind.items()
        if key and key[0] is StepKind.GRAPH_BREAK
        for alert in alerts
        for line in innermost(alert)
    }
    for key, alerts in by_kind.items():
        is_failure = key and key[0] is StepKind.FAILURE
        lines = {(line, _reason(alert)) for alert in alerts for line in innermost(alert)} if is_failure else set()
        broken = {at_line.get(line) for line in lines}
        if len(broken) == 1 and (other := broken.pop()):
            found[other] = [*found[other], *found.pop(key)]
    return found


def _reason(alert: Alert) -> str:
    """What PyTorch met."""
    return stable_text(alert.messages[0].title) if alert.messages else ""


def _rank(step: NextStep, notable: float) -> tuple[float, ...]:
    """By the seconds at stake and how sure they are; where these are not ``notable``, what leaves no compiled code comes first."""
    hangs = any(rule.code == "SL703" for rule in step.rules)
    saving = step.saving
    stops_export = step.kind is StepKind.EXPORT and step.rules[0].level is Level.ERROR
    without_code = saving.refused + saving.failed + stops_export + (bool(saving.eager) and not saving.most)
    is_minor = step.stake <= notable
    return (
        -hangs,
        is_minor and not without_code,
        is_minor,
        -round(step.stake * CHANCES[step.confidence.level], 3),
        -saving.most,
        -without_code,
        CONFIDENCE.index(step.confidence.level),
    )


def _key(run: StepSources, alert: Alert) -> _Key:
    """The same for alerts that one step cures; None for those that no step does."""
    kinds = alert.kinds
    hints = tuple(hint for message in alert.messages for hint in message.specific_hints)
    if AlertKind.FAILURE in kinds and all(item.compile.outcome is not Outcome.FAILED for item in alert.occurrences):
        return None  # it was cut off while it compiled, so nothing is known to be wrong with the code
    if AlertKind.FAILURE in kinds and all(item.compile.is_forbidden for item in alert.occurrences) and is_lifted(run, alert.code):
        return None
    is_elsewhere = alert.source_line is not None and is_library(alert.source_line.file) and not any(map(SETTING.search, hints))
    if AlertKind.BREAK in kinds and is_elsewhere:
        return None  # in a library, where a user changes no line, and no setting avoids it
    if AlertKind.BREAK in kinds and not ACCEPTED.isdisjoint(hints):
        return None
    if AlertKind.FAILURE in kinds or AlertKind.BREAK in kinds:
        kind = StepKind.FAILURE if AlertKind.FAILURE in kinds else StepKind.GRAPH_BREAK
        return (kind, (alert.rule, stable_text(alert.messages[0].title), hints) if alert.messages else alert)
    if AlertKind.RESTART in kinds:
        is_costly = alert.seconds > COSTLY * run.report.summary.seconds
        return (StepKind.RESTART, alert) if is_costly and remedy_of_restart(alert) else None
    if AlertKind.LIMIT in kinds:
        group = limit_group(run, alert)
        return (StepKind.LIMIT, group) if group else None
    if run.is_code_change(alert):
        if alert.rule.code not in SET_UP:
            return StepKind.CODE, change_of(alert)
        return StepKind.SETUP, alert.rule if alert.rule is _GLOBAL_STATE else change_of(alert)  # all settings in one step
    return None


_MAKERS = {
    StepKind.CODE: code_change,
    StepKind.SETUP: code_change,
    StepKind.GRAPH_BREAK: graph_break_step,
    StepKind.RESTART: restart_step,
    StepKind.FAILURE: failure_step,
    StepKind.LIMIT: limit_step,
}

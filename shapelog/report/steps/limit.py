"""The step that keeps code below the recompile limit."""

import math
from collections.abc import Sequence
from dataclasses import replace

from shapelog.model.code_matching import Code
from shapelog.model.compile import Outcome
from shapelog.model.frame import UNNAMED_CODE
from shapelog.reading.records import DEFAULT_ACCUMULATED_LIMIT, DEFAULT_LIMIT
from shapelog.report.alerts.alert import Alert
from shapelog.report.details.limit_remedies import is_accumulated, lacks_reasons
from shapelog.report.details.uncompiled_calls import Eager
from shapelog.report.steps.step import Confidence, NextStep, Saving, StepKind, StepSources, step_of, subject_of_alerts
from shapelog.rules import AlertKind

# Of how many limits with causes of their own a step names what removes these.
_FEW = 2


def is_lifted(run: StepSources, code: Code) -> bool:
    """Whether with the marks no recorded call of this code is refused."""
    own = [run.forecasts[frame] for frame in code.frames if frame in run.forecasts]
    return any(item.lifts_limit for item in own) and not any(item.after.refused for item in own)


def _may_be_reached(run: StepSources, code: Code) -> bool:
    """Whether with the marks other calls of this code may be refused, and the step about the marks does not name the limit."""
    advice = run.report.advice
    saves_compiles = advice is not None and advice.after.compiles < advice.before.compiles
    return saves_compiles and any(run.forecasts[frame].after.may_reach_limit for frame in code.frames if frame in run.forecasts)


def _has_no_cause(run: StepSources, code: Code) -> bool:
    """Whether a text has nothing about why this code was recompiled, which then takes a step of its own."""
    return all(lacks_reasons(run.report.explained, frame) for frame in code.frames)


def _is_answered(run: StepSources, code: Code) -> bool:
    """Whether another step removes what filled the cache."""
    return is_lifted(run, code) or code in run.kept_below_limit


def limit_group(run: StepSources, alert: Alert) -> tuple[bool, ...] | None:
    """The same for limits that one step is about; None where another step is all that there is to do."""
    of_all = _of_all_objects(alert)
    setting = run.report.trace.version.limit_setting(of_all)
    marked = is_lifted(run, alert.code) and not _may_be_reached(run, alert.code)
    if marked or (alert.code in run.kept_below_limit and setting not in alert.remedy.text):
        return None
    return of_all, _is_answered(run, alert.code), _has_no_cause(run, alert.code)


def limit_step(run: StepSources, alerts: Sequence[Alert]) -> NextStep:
    """Remove what keeps filling the cache, or raise the limit."""
    trace = run.report.trace
    refused = [item for alert in alerts for item in run.found.compiles(alert.code) if item.compile.outcome is Outcome.LIMIT]
    raised = sum(item.weight for item in refused if item.compile.raised_at_limit)
    number = sum(item.weight for item in refused)
    # How many graphs these calls need is not recorded, nor, in a text, what else the graphs differ in.
    saving = Saving(refused=number, raised=raised, eager=(Eager.LIMIT,) if raised < number else (), is_unsure=True)
    # Where something else removes recompilations of the code, that comes first: it lowers what fills the limit.
    others = {alert.code for alert in run.found.alerts if AlertKind.AVOIDABLE in alert.kinds}
    stake = math.fsum(item.seconds for alert in alerts if alert.code not in others for item in run.found.compiles(alert.code))
    confidence = Confidence("low", "how many compilations a higher limit costs is not recorded")
    of_all = _of_all_objects(alerts[0])
    setting = trace.version.limit_setting(of_all)
    remedies = {remedy.text for alert in alerts for remedy in (alert.remedy, *([alert.rest.remedy] if alert.rest else []))}
    remedy = remedies.pop() if len(remedies) == 1 else f"{_each(alerts, setting)} raise {setting}"
    known = trace.config.accumulated_recompile_limit if of_all else trace.config.recompile_limit
    limit = known or (DEFAULT_ACCUMULATED_LIMIT if of_all else DEFAULT_LIMIT)
    # A text without the limit may be of a program that raised it; and it is not raised where each call needs a graph.
    settings = () if (trace.is_text and not known) or setting not in remedy else (f"{setting} = {2 * limit}",)
    subject = subject_of_alerts(alerts)
    title = f"{'Stay' if subject == UNNAMED_CODE else f'Keep {subject}'} below the recompile limit: {remedy}"
    step = step_of(kind=StepKind.LIMIT, title=title, alerts=alerts, saving=saving, stake=stake, confidence=confidence, text=settings)
    if not any(_is_answered(run, alert.code) for alert in alerts):
        return step
    reach = "reaches" if subject == alerts[0].title and " and " not in subject else "reach"
    return replace(step, title=f"If {subject} still {reach} the recompile limit, raise it", places=())


def _each(alerts: Sequence[Alert], setting: str) -> str:
    """What removes the cause of each limit, where there are two: ``f: pass the float as a tensor; step: ...; or``."""
    raised = f"; or raise {setting}"
    known = {alert.title: alert.remedy.text for alert in alerts if alert.remedy.text.endswith(raised) and not alert.rest}
    if len(alerts) > _FEW or len(known) < len(alerts):
        return "remove the cause of each, or"
    return "; ".join([*(f"{title}: {text.removesuffix(raised)}" for title, text in known.items()), "or"])


def _of_all_objects(alert: Alert) -> bool:
    """Whether the limit that code hit is the one for the entries of all objects that share it."""
    hits = [item.compile for item in alert.occurrences if item.compile.outcome is Outcome.LIMIT]
    return bool(hits) and all(map(is_accumulated, hits))

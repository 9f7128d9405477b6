"""The outcome of a check as JSON; ``shapelog/schema/check.schema.json`` describes it. Times are in seconds."""

from typing import Any

from shapelog.check.check import BudgetUse, CheckedAlert, CheckResult
from shapelog.reporters.json.parts import exceptions_data, message_data, remedy_data, steps_data, summary_data, trace_data

# 1: first shape. 2: the kind ``rank``. 3: what PyTorch wrote about breaks and failures; seconds refused and failed.
# 4: the rule that a remedy comes from. 5: null for seconds that are not known. 6: the kind ``skipped``. 7: the next steps.
# 8: their remedy.
FORMAT_VERSION = 8


def check_data(checked: CheckResult) -> dict[str, Any]:
    report = checked.found.report
    advice = report.advice
    return {
        "format": "shapelog check",
        "format_version": FORMAT_VERSION,
        "passed": not checked.has_failed,
        "headline": str(checked.headline),
        "reasons": list(checked.reasons),
        "trace": trace_data(report.trace),
        "summary": summary_data(report.summary),
        "policy": {
            "fail_on": sorted(kind.value for kind in checked.policy.kinds),
            "select": list(checked.policy.select),
            "ignore": list(checked.policy.ignore),
            "baseline": checked.baseline.name if checked.baseline else None,
        },
        "budgets": [_budget_data(item) for item in checked.budgets],
        "alerts": [alert_data(item, report.summary.is_timed) for item in checked.alerts],
        "ignored": checked.ignored,
        "fixed": list(checked.fixed),
        "notes": list(checked.notes),
        "env": advice.env if advice else None,
        "what_helps": checked.remedy or None,
        "next_steps": steps_data(checked.next_steps, report),
    }


def _budget_data(item: BudgetUse) -> dict[str, Any]:
    return {
        "metric": item.budget.metric.value,
        "frame": item.code.title if item.code else None,
        "pattern": item.budget.pattern or None,
        "allowed": item.budget.most,
        "spent": item.spent,
        "exceeded": item.is_exceeded,
    }


def alert_data(item: CheckedAlert, is_timed: bool) -> dict[str, Any]:
    """One alert, in the same shape in every format. ``is_timed`` is whether the trace has times."""
    alert = item.alert
    return {
        "code": alert.rule.code,
        "rule": alert.rule.name,
        "codes": list(alert.codes),
        "kinds": sorted(kind.value for kind in alert.kinds),
        "level": item.level.value,
        "fails": item.fails,
        "frame": alert.title,
        "axis": alert.axis or None,
        "axes": list(alert.axes),
        "sentence": alert.sentence,
        "facts": list(alert.facts),
        **remedy_data(alert.remedy),
        "file": alert.source_line.file if alert.source_line else None,
        "line": (alert.source_line.line or None) if alert.source_line else None,
        "code_line": alert.snippet or None,
        "related": [{"file": source_line.file, "line": source_line.line, "text": text} for source_line, text, _ in alert.related],
        "compile_ids": list(alert.shown_labels),
        "ranks": list(alert.ranks),
        "count": alert.count,
        "new": len(item.new),
        "seconds": alert.seconds if is_timed else None,
        "fingerprint": alert.fingerprint,
        "messages": [message_data(message) for message in alert.pytorch_messages],
        "exceptions": exceptions_data(alert.exceptions),
    }

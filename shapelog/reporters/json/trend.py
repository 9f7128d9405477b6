"""A trend as JSON; ``shapelog/schema/trend.schema.json`` describes it. Times are in seconds."""

from typing import Any

from shapelog.report.frame_changes import CauseChange
from shapelog.report.trend import RunChange, Trend

# 1: first shape.
FORMAT_VERSION = 1


def trend_data(trend: Trend) -> dict[str, Any]:
    return {
        "format": "shapelog trend",
        "format_version": FORMAT_VERSION,
        "name": trend.name,
        "headline": str(trend.headline),
        "unreadable": list(trend.unreadable),
        "runs": [
            {
                "run": row.number,
                "name": row.name,
                "began": row.began or None,
                "torch_version": row.version or None,
                **row.figures._asdict(),
                "change": _change_data(row.change) if row.change else None,
            }
            for row in trend.rows
        ],
    }


def _change_data(change: RunChange) -> dict[str, Any]:
    return {
        "comparable": change.is_comparable,
        "outcome": change.effect.value,
        "headline": str(change.headline),
        "came": list(map(_cause_data, change.came)),
        "went": list(map(_cause_data, change.went)),
        "notes": list(change.notes),
    }


def _cause_data(cause: CauseChange) -> dict[str, Any]:
    return {"code": cause.code, "rule": cause.rule.name, "axis": cause.axis or None, "before": cause.before, "after": cause.after}

"""A trend as JSON; ``shapelog/schema/trend.schema.json`` describes it. Times are in seconds."""

from dataclasses import asdict
from typing import Any

from shapelog.report.frame_changes import CauseChange
from shapelog.report.trend import RunChange, RunFigures, Trend
from shapelog.reporters.json.parts import export_problem_data, time_data

# 1: first shape. 2: null for seconds that are not known. 3: exports, and their problems that came or went.
# 4: avoidable ones are also those that a change of the code avoids.
FORMAT_VERSION = 4


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
                **_figures_data(row.figures),
                "change": _change_data(row.change) if row.change else None,
            }
            for row in trend.rows
        ],
    }


def _figures_data(figures: RunFigures) -> dict[str, Any]:
    return {
        **figures._asdict(),
        "seconds": time_data(figures.seconds, figures.compiles + figures.limit_hits + figures.failures),
        "avoidable_seconds": time_data(figures.avoidable_seconds, figures.avoidable),
        "exports": asdict(figures.exports),
    }


def _change_data(change: RunChange) -> dict[str, Any]:
    return {
        "comparable": change.is_comparable,
        "outcome": change.effect.value,
        "headline": str(change.headline),
        "came": list(map(_cause_data, change.came)),
        "went": list(map(_cause_data, change.went)),
        "problems_came": list(map(export_problem_data, change.problems_came)),
        "problems_went": list(map(export_problem_data, change.problems_went)),
        "notes": list(change.notes),
    }


def _cause_data(cause: CauseChange) -> dict[str, Any]:
    return {"code": cause.code, "rule": cause.rule.name, "axis": cause.axis or None, "before": cause.before, "after": cause.after}

"""A comparison as JSON; ``shapelog/schema/comparison.schema.json`` describes it. Times are in seconds."""

from dataclasses import asdict
from typing import Any

from shapelog.model.code_matching import Code
from shapelog.report.compare import Comparison, FrameChange
from shapelog.report.frame_changes import CauseChange, Counts
from shapelog.report.report import Report
from shapelog.reporters.json.parts import export_problem_data, message_data, time_data, trace_data

# 1: first shape. 2: settings; null for seconds that are not known. 3: graph breaks that came or went. 4: exports.
FORMAT_VERSION = 4


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    return {
        "format": "shapelog comparison",
        "format_version": FORMAT_VERSION,
        "outcome": comparison.outcome.value,
        "headline": str(comparison.headline),
        "notes": list(comparison.notes),
        "settings": [{"name": item.name, "before": item.before or None, "after": item.value or None} for item in comparison.settings],
        "before": _trace_data(comparison.before, comparison.was),
        "after": _trace_data(comparison.after, comparison.now),
        "causes": [_cause_data(item) for item in comparison.causes],
        "frames": [_frame_data(item, comparison) for item in comparison.frames],
        "exports": {
            "before": asdict(comparison.exports.was),
            "after": asdict(comparison.exports.now),
            "effect": comparison.exports.effect.value,
            "went": [export_problem_data(item) for item in comparison.exports.went],
            "came": [export_problem_data(item) for item in comparison.exports.came],
        },
    }


def _trace_data(report: Report, counts: Counts) -> dict[str, Any]:
    return {**trace_data(report.trace), "totals": _counts_data(counts, report.summary.is_timed)}


def _counts_data(counts: Counts, is_timed: bool) -> dict[str, Any]:
    return {**asdict(counts), "seconds": time_data(counts.seconds, counts.number) if is_timed else None}


def _cause_data(item: CauseChange) -> dict[str, Any]:
    return {
        "code": item.code,
        "rule": item.rule.name,
        "axis": item.axis or None,
        "before": item.before,
        "after": item.after,
        "helping": item.remedy.rule.code,
        "remedy": item.remedy.text,
    }


def _frame_data(item: FrameChange, comparison: Comparison) -> dict[str, Any]:
    return {
        "title": item.title,
        "kind": item.kind,
        "rank": item.code.first.rank,
        "process": item.code.first.process or None,
        "effect": item.effect.value,
        "lost_graph": item.lost_graph,
        "changed": item.is_changed,
        "verdict": item.verdict,
        "facts": list(item.facts),
        "gains": [gain.value for gain in item.gains],
        "losses": [loss.value for loss in item.losses],
        "part_of": item.part_of or None,
        "before": _code_data(item.before, item.was, comparison.before.summary.is_timed),
        "after": _code_data(item.after, item.now, comparison.after.summary.is_timed),
        "causes": [_cause_data(cause) for cause in item.causes],
        "dims": [{"axis": dim.axis, "source": dim.source, "before": dim.before.value, "after": dim.after.value} for dim in item.dims],
        "graph_breaks": [{"is_new": one.is_new, "message": message_data(one.message, one.place)} for one in item.breaks],
    }


def _code_data(code: Code | None, counts: Counts, is_timed: bool) -> dict[str, Any] | None:
    if code is None:
        return None
    return {
        "name": code.first.name or None,
        "file": code.first.file or None,
        "line": code.first.line or None,
        "frames": [frame.label for frame in code.frames],
        "counts": _counts_data(counts, is_timed),
    }

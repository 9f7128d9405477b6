"""The report as JSON; ``shapelog/schema/report.schema.json`` describes it. Times are in seconds, ids are labels such as ``2/3``."""

from typing import Any

from shapelog.model.compile import Compile
from shapelog.model.trace import Rank, Trace
from shapelog.recompiles.similar_graphs import Group
from shapelog.report.alerts.alert import Alert
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.report import FrameReport, Report
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding, Table
from shapelog.reporters.json.advice import advice_data
from shapelog.reporters.json.exports import export_data
from shapelog.reporters.json.parts import line_data, problem_data, recompile_data, steps_data, summary_data, trace_data, trouble_data
from shapelog.reporters.json.ranks import ranks_data

# 1: first shape. 2: advice. 3: ranks, compared with each other. 4: ranks that represent others, and those not read.
# 5: the most that a prediction may come to. 6: seconds as ranges; the next steps; what PyTorch wrote about breaks and failures; seconds
# refused and failed apart, so that the verdicts add up to the recompiles. 7: the marks themselves as the remedy, and
# the rule that it comes from. 8: exports. 9: null for seconds that are not known; steps about compile caches, and what saves in later runs.
# 10: how an export came to the expressions that it had to decide; the verdict 'not finished'; whether an id is PyTorch's.
# 11: what a step saves in calls that raised or ran in eager mode. 12: what the suggestions save is saved_seconds, and
# frames have avoidable_by_marking and avoidable_by_code. 13: the remedy of a next step.
FORMAT_VERSION = 13


def report_data(report: Report) -> dict[str, Any]:
    trace, summary = report.trace, report.summary
    found = collect_alerts(report, Repository())
    return {
        "format": "shapelog report",
        "format_version": FORMAT_VERSION,
        "trace": {
            **trace_data(trace),
            "notes": [*trace.what_is_missing, *trace.notes],
            "ranks": [_rank_data(rank, trace) for rank in trace.ranks],
        },
        "summary": {
            **summary_data(summary),
            "verdicts": [
                {"verdict": part.verdict.value, "count": part.count, "seconds": part.seconds if summary.is_timed else None}
                for part in summary.parts
            ],
        },
        "advice": advice_data(report.advice) if report.advice else None,
        "frames": [_frame_data(item, summary.is_timed) for item in report.frames],
        "recompiles": [recompile_data(item, report.remedies) for item in report.recompiles],
        "similar_graphs": [[member.label for member in group.members] for group in report.groups],
        "similar_graph_details": [_group_data(group) for group in report.groups],
        "diagnostics": [_diagnostic_data(alert) for alert in found.alerts],
        "findings": [_finding_data(item) for item in report.findings],
        "exports": [export_data(export) for export in trace.exports],
        "ranks": ranks_data(report.ranks) if report.ranks else None,
        "tables": [_table_data(table) for table in report.tables],
        "health": _health_data(report),
        "next_steps": steps_data(next_steps(found), report),
    }


def _diagnostic_data(alert: Alert) -> dict[str, Any]:
    """What went wrong in one piece of code, and what helps, as the terminal and the page show it."""
    return {
        "code": alert.rule.code,
        "codes": list(alert.codes),
        "level": alert.level.value,
        "frame": alert.title,
        "sentence": alert.sentence,
        "file": alert.source_line.file if alert.source_line else None,
        "line": (alert.source_line.line or None) if alert.source_line else None,
        "code_line": alert.snippet or None,
        "helps": list(alert.helps),
        "notes": list(alert.notes),
        "compile_ids": list(alert.shown_labels),
    }


def _rank_data(rank: Rank, trace: Trace) -> dict[str, Any]:
    """A rank that is read in full, and those of a large job that it represents."""
    represented = trace.representatives.get(rank.number, ()) if rank.number is not None else ()
    return {"rank": rank.number, "process": rank.process or None, "frames": len(rank.frames), "stands_for": list(represented)}


def _frame_data(item: FrameReport, is_timed: bool) -> dict[str, Any]:
    frame = item.frame
    return {
        "frame": frame.label,
        "rank": frame.rank,
        "process": frame.process or None,
        "title": frame.title,
        "name": frame.name or None,
        "file": frame.file or None,
        "line": frame.line or None,
        "called_at": line_data(frame.called_at),
        "seconds": frame.seconds or None,
        "avoidable_by_marking": item.avoidable_by_marking if is_timed else None,
        "avoidable_by_code": item.avoidable_by_code if is_timed else None,
        "limit_hit": item.limit_hit.label if item.limit_hit else None,
        "compiles": [_compile_data(compile) for compile in frame.compiles],
        "axes": [
            {"axis": axis.name, "source": axis.source, "values": list(axis.values), "codes": [rule.code for rule in axis.rules]}
            for axis in item.axes
        ],
        "shapes": [
            {
                "axis": row.name,
                "source": row.source,
                "cells": [
                    {"value": cell.value, "state": cell.state.value, "symbol": cell.symbol or None, "violated": cell.is_violated}
                    for cell in row.cells
                ],
            }
            for row in item.shapes.rows
        ],
    }


def _compile_data(compile: Compile) -> dict[str, Any]:
    metrics = compile.metrics
    return {
        "compile_id": compile.label,
        "has_id": bool(compile.shown_label),
        "outcome": compile.outcome.value,
        "dynamic": compile.is_dynamic,
        "attempts": compile.attempts,
        "seconds": compile.measured_seconds,
        "backend_seconds": metrics.backend,
        "aot_seconds": metrics.aot,
        "inductor_seconds": metrics.inductor,
        "codegen_seconds": metrics.codegen,
        "guard_count": metrics.guard_count,
        "op_count": metrics.op_count,
        "symbols": [
            {"symbol": item.name, "source": item.source or None, "hint": item.hint or None, "range": item.range} for item in compile.symbols
        ],
        "inputs": len(compile.inputs),
        **trouble_data(compile),
    }


def _group_data(group: Group) -> dict[str, Any]:
    return {
        "rank": group.members[0].rank,
        "process": group.members[0].process or None,
        "static": [member.label for member in group.static],
        "dynamic": [member.label for member in group.dynamic],
        "converged": group.converged.label if group.converged else None,
    }


def _finding_data(item: Finding) -> dict[str, Any]:
    return {
        "code": item.rule.code,
        "rule": item.rule.name,
        "sentence": item.sentence,
        "remedy": item.remedy,
        "compile_id": item.compile or None,
        "place": str(item.place) if item.place else None,
        "details": [{"name": name, "value": value} for name, value in item.details],
    }


def _table_data(table: Table) -> dict[str, Any]:
    columns, rows = [column.name for column in table.columns], [list(row) for row in table.rows]
    return {**table._asdict(), "columns": columns, "rows": rows, "note": table.note or None}


def _health_data(report: Report) -> dict[str, Any]:
    return {
        "problems": [problem_data(item) for item in report.problems],
        "files": [
            {
                "name": book.name,
                "bytes": book.size,
                "records": dict(book.records),
                "bytes_by_kind": dict(book.sizes),
                "unused": dict(book.unused),
                "unknown": dict(book.unknown),
                "unreadable_bytes": book.unreadable_bytes,
                "unreadable_records": book.unreadable_records,
                "payloads_verified": book.payloads_verified,
                "balances": book.balances,
            }
            for book in report.accounts
        ],
    }

"""The JSON of what several results hold: a trace, a cause, a recompile, a problem. Times are in seconds, ids are labels such as ``2/3``."""

from collections.abc import Collection, Iterable
from typing import Any

from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.remedies import Remedies
from shapelog.errors import Problem
from shapelog.model.compile import Compile, Outcome
from shapelog.model.trace import Trace
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.python_tracebacks import RaisedException
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.recompile import Recompile
from shapelog.report.report import Report, Summary
from shapelog.report.results import Finding
from shapelog.report.steps.step import NextStep, Saving
from shapelog.rules import Remedy, problem_rule


def trace_data(trace: Trace) -> dict[str, Any]:
    return {
        "name": trace.name,
        "torch_version": trace.torch_version or None,
        "torch_version_guess": trace.version_guess or None,
    }


_TIMES = ("seconds", "recompile_seconds", "limit_seconds", "failed_seconds")


def summary_data(summary: Summary) -> dict[str, Any]:
    """The numbers of a run without its verdicts."""
    return {
        **{name: value for name, value in summary._asdict().items() if name not in ("parts", "frames")},
        **{name: getattr(summary, name) if summary.is_timed else None for name in _TIMES},
    }


def time_data(seconds: float, number: int) -> float | None:
    """Seconds that ``number`` things took; None where none of them has a recorded time, as in text logs. No measured time is 0."""
    return seconds if seconds or not number else None


def range_data(seconds: Seconds, is_known: bool) -> dict[str, Any]:
    """Both ends None where the times that it comes from are not recorded."""
    return {"least": seconds.least if is_known else None, "most": seconds.most if is_known else None}


def saving_data(saving: Saving, is_timed: bool) -> dict[str, Any]:
    """``is_timed`` is whether the trace has times."""
    return {
        "compiles": {"least": saving.least, "most": saving.most},
        "seconds": range_data(saving.seconds, is_timed),
        "refused": saving.refused,
        "failed": saving.failed,
        "raised": saving.raised,
        "eager": [what.value for what in saving.eager],
        "in_later_runs": saving.is_later,
    }


def steps_data(steps: Iterable[NextStep], report: Report) -> list[dict[str, Any]]:
    """What to do first. Ids that PyTorch did not give to compiles are left out."""
    unnumbered = {compile.label for compile in report.trace.compiles if not compile.shown_label}
    return [_step_data(step, report.summary.is_timed, unnumbered) for step in steps]


def _step_data(step: NextStep, is_timed: bool, unnumbered: Collection[str]) -> dict[str, Any]:
    return {
        "kind": step.kind.value,
        "codes": [rule.code for rule in step.rules],
        "title": step.title,
        "saves": saving_data(step.saving, is_timed),
        "confidence": step.confidence.level,
        "confidence_reason": step.confidence.reason,
        "text": list(step.text),
        "explanation": step.explanation or None,
        "hints": list(step.hints),
        "remedy": step.remedy or None,
        "url": step.url or None,
        "places": [{"file": item.line.file, "line": item.line.line, "code_line": item.code or None} for item in step.places],
        "compile_ids": [label for label in step.labels if label not in unnumbered],
    }


def line_data(place: StackFrame | None) -> str | None:
    """``app/model.py:12``."""
    return f"{place.file}:{place.line}" if place else None


def recompile_data(item: Recompile, remedies: Remedies) -> dict[str, Any]:
    return {
        "compile_id": item.compile.label,
        "has_id": bool(item.compile.shown_label),
        "rank": item.frame.rank,
        "process": item.frame.process or None,
        "frame": item.frame.label,
        "called_at": line_data(item.frame.caller(item.compile)),
        "outcome": item.compile.outcome.value,
        "nearest": item.nearest.label if item.nearest else None,
        "entries_checked": item.entries_checked,
        "causes": list(item.codes),
        "size_related": item.size_related,
        "verdict": item.verdict.value,
        "served_by": item.served_by.label if item.served_by else None,
        "seconds": item.compile.measured_seconds,
        "cause_details": [cause_data(cause, remedies.of((item,), (cause,))) for cause in item.causes],
        "consequences": list(item.consequences),
        **remedy_data(remedies.of_recompile(item)),
        "missing": item.unexplained_because or None,
        "note": item.why_not_markable or None,
        "reasons": reasons_data(item.compile),
    }


def message_data(message: CompilerMessage, place: StackFrame | None = None) -> dict[str, Any]:
    """What PyTorch wrote; ``place`` is the line it is about, where that is not the innermost of its stack."""
    line = place or (message.stack[-1] if message.stack else None)
    return {
        "title": message.title,
        "explanation": message.explanation or None,
        "hints": list(message.hints),
        "number": message.number or None,
        "url": message.url or None,
        "place": line_data(line),
        "code_line": (line.code or None) if line else None,
    }


def trouble_data(compile: Compile) -> dict[str, Any]:
    """Where the graph of a compile broke, and why the compile failed or was refused, if it did."""
    has_failed = compile.outcome in (Outcome.FAILED, Outcome.LIMIT)
    return {
        "graph_breaks": [message_data(item.message, item.place) for item in compile.breaks],
        "failure": message_data(compile.failure) if has_failed else None,
        "exceptions": exceptions_data(compile.exceptions) if has_failed else [],
    }


def exceptions_data(chain: Iterable[RaisedException]) -> list[dict[str, Any]]:
    """A chain of exceptions, each with the user's line at which it was raised."""
    found = []
    for item in chain:
        own = [line for line in item.stack if not is_library(line.file)]
        found.append({"type": item.type, "message": item.message, "place": line_data(own[-1]) if own else None})
    return found


def reasons_data(compile: Compile) -> list[dict[str, str]]:
    return [{"entry": "" if compile.metrics.assumes_entries else reason.entry, "text": reason.text} for reason in compile.reasons]


def remedy_data(remedy: Remedy) -> dict[str, Any]:
    return {"remedy": remedy.text, "remedy_rule": remedy.rule.code}


def cause_data(cause: Cause, remedy: Remedy) -> dict[str, Any]:
    return {
        "codes": list(cause.codes),
        "rule": cause.rule.name,
        "axis": cause.axis,
        "source": cause.source,
        "before": cause.before or None,
        "after": cause.after or None,
        "size_related": cause.size_related,
        "sentence": cause.sentence,
        **remedy_data(remedy),
        "place": str(cause.place) if cause.place else None,
        "code_line": (cause.place.code or None) if cause.place else None,
        "named_by_pytorch": cause.named_by_pytorch,
    }


def problem_data(item: Problem) -> dict[str, Any]:
    return {
        "code": item.code,
        "rule": problem_rule(item.code).code,
        "severity": item.severity,
        "file": item.file,
        "line": item.line or None,
        "count": item.count,
        "message": item.message,
    }


def export_problem_data(item: Finding) -> dict[str, Any]:
    """A problem in an export that one of two runs has."""
    return {
        "code": item.rule.code,
        "rule": item.rule.name,
        "sentence": item.sentence,
        "place": str(item.place) if item.place else None,
        "code_line": item.code or None,
        "remedy": item.remedy,
    }

"""The advice as JSON; ``shapelog/schema/advice.schema.json`` describes it.

``compiles`` and ``predicted_compiles`` both count recompile-limit hits; ``limit_hits`` and ``predicted_limit_hits`` are those alone.
"""

from typing import Any

from shapelog.advice.advise import Advice, Forecast
from shapelog.advice.alternatives.alternative import Alternative
from shapelog.advice.caveats import ObservedValues
from shapelog.advice.marks import Mark
from shapelog.advice.minimal_marks import HarmfulMark
from shapelog.advice.paste_formats import as_python, as_shell, why_nothing
from shapelog.advice.pgo_comparison import PgoSuggestion
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.suggestions import Suggestion
from shapelog.model.frame import Frame
from shapelog.report.next_steps import AdvisedRun
from shapelog.reporters.json.parts import line_data, range_data, steps_data, time_data

# 1: first shape. 2: the most that a prediction may come to. 3: predicted and avoidable seconds as ranges.
# 4: null for seconds that are not known. 5: the verdict 'not finished'. 6: saved_seconds in place of avoidable_seconds; the next steps,
# where the advice is not part of a report or a verification. 7: the remedy of a next step.
FORMAT_VERSION = 7


def advised_run_data(run: AdvisedRun) -> dict[str, Any]:
    """The advice alone, as ``suggest-dynamic`` writes it, with everything that helps in addition to marking."""
    return {**advice_data(run.advice), "next_steps": steps_data(run.steps, run.report)}


def advice_data(advice: Advice) -> dict[str, Any]:
    is_timed = has_times(advice)
    return {
        "format": "shapelog advice",
        "format_version": FORMAT_VERSION,
        "torch_version": str(advice.version),
        "torch_version_given": advice.is_version_given,
        "env": advice.env,
        "shell": as_shell(advice),
        "python": as_python(advice),
        "sources": list(advice.entries),
        "compiles": advice.before.total,
        "predicted_compiles": advice.after.total,
        "predicted_compiles_at_most": advice.after.at_most,
        "limit_hits": advice.before.limit_hits,
        "predicted_limit_hits": advice.after.limit_hits,
        "seconds": time_data(advice.before.seconds.least, advice.before.total),
        "predicted_seconds": range_data(advice.after.seconds, is_timed),
        "saved_seconds": range_data(advice.saved_seconds, is_timed),
        "why_empty": why_nothing(advice) or None,
        "frames": [_forecast_data(item, is_timed) for item in advice.forecasts],
        "suggestions": [_suggestion_data(item) for item in advice.suggestions],
        "left_out": [_left_out_data(item) for item in advice.left_out],
        "not_fixed": [_remaining_data(item, advice.tool_for(item)) for item in advice.remaining],
        "alternatives": [_alternative_data(item) for item in advice.alternatives],
        "caveats": list(advice.caveats),
        "pgo": _pgo_data(advice.pgo) if advice.pgo else None,
    }


def has_times(advice: Advice) -> bool:
    """Whether times are recorded; also where nothing was compiled."""
    return bool(advice.before.seconds.least) or not advice.before.total


def _forecast_data(item: Forecast, is_timed: bool) -> dict[str, Any]:
    return {
        **_frame_data(item.frame),
        "compiles": item.before.total,
        "predicted_compiles": item.after.total,
        "predicted_compiles_at_most": item.after.at_most,
        "seconds": item.before.seconds.least if is_timed else None,
        "predicted_seconds": range_data(item.after.seconds, is_timed),
    }


def _left_out_data(item: HarmfulMark) -> dict[str, Any]:
    return {
        "source": item.mark.source,
        "dim": _dim(item.mark),
        "frame": item.frame.label,
        "reason": item.reason,
        "remedy": item.remedy,
    }


def _dim(mark: Mark) -> int | None:
    return None if mark.is_int else mark.dim


def _alternative_data(item: Alternative) -> dict[str, Any]:
    return {**item._asdict(), "codes": list(item.codes), "lines": list(item.lines), "warning": item.warning or None}


def _pgo_data(item: PgoSuggestion) -> dict[str, Any]:
    return {
        "env": item.env,
        "warm": item.is_warm,
        "knew": [{"source": source, "state": state} for source, state in item.states],
        "predicted_compiles": item.cost.total,
        "predicted_limit_hits": item.cost.limit_hits,
        "flaw": item.problem or None,
        "differences": [
            {"source": part.source, "pgo": part.theirs or None, "shapelog": part.ours or None, "why": part.why} for part in item.differences
        ],
    }


def _suggestion_data(item: Suggestion) -> dict[str, Any]:
    return {
        "id": item.id,
        "source": item.source,
        "name": item.name,
        "dims": list(item.dims),
        "codes": list(item.codes),
        "tool": item.tool,
        "entries": list(item.entries),
        "recommendation": item.recommendation,
        "rationale": item.rationale,
        "seen": [_seen_data(seen) for seen in item.seen],
        "frames": [_frame_data(frame) for frame in item.frames],
        "compiles_gone": list(item.gone),
        "seconds": time_data(item.seconds, len(item.gone)),
        "confidence": item.confidence,
        "confidence_reason": item.confidence_reason,
        "caveats": list(item.caveats),
        "place": line_data(item.place),
        "python": list(item.python),
    }


def _seen_data(item: ObservedValues) -> dict[str, Any]:
    return {
        "axis": item.name,
        "dim": _dim(item.mark),
        "values": [{"compile_id": label, "value": value} for label, value in item.values],
        "bounds": list(item.bounds),
    }


def _frame_data(frame: Frame) -> dict[str, Any]:
    return {"frame": frame.label, "title": frame.title, "rank": frame.rank, "file": frame.file or None, "line": frame.line or None}


def _remaining_data(item: Remaining, tool: str) -> dict[str, Any]:
    return {
        "frame": item.frame.label,
        "title": item.frame.title_of(item.compiles),
        "rank": item.frame.rank,
        "axis": item.axis or None,
        "code": item.rule.code,
        "size_related": item.size_related,
        "verdict": item.verdict.value,
        "compiles": [compile.label for compile in item.compiles],
        "seconds": time_data(item.seconds, len(item.compiles)),
        "reason": item.sentence,
        "tool": tool,
        "remedy": item.remedy,
        "place": item.place or None,
    }

"""Everything about one compile as JSON; ``shapelog/schema/story.schema.json`` describes it."""

from typing import Any

from shapelog.advice.remedies import Remedies
from shapelog.recompiles.causes import EntryDifference
from shapelog.recompiles.recompile import Recompile
from shapelog.report.details.requirements import Requirements
from shapelog.report.explain_compile import CompileExplanation
from shapelog.reporters.json.parts import cause_data, line_data, reasons_data, recompile_data, trouble_data

# 1: first shape. 2: what PyTorch wrote about breaks and failures. 3: the marks themselves as the remedy, and the rule that it comes from.
# 4: null for seconds that are not known. 5: the verdict 'not finished'; whether an id is PyTorch's. 6: what the guards require.
FORMAT_VERSION = 6


def explanation_data(explanation: CompileExplanation) -> dict[str, Any]:
    compile, frame = explanation.compile, explanation.frame
    remedies, recompile = explanation.remedies, explanation.recompile
    return {
        "format": "shapelog story",
        "format_version": FORMAT_VERSION,
        "compile_id": compile.label,
        "has_id": bool(compile.shown_label),
        "frame": {"title": frame.title_of([compile]), "file": frame.file or None, "line": frame.line or None, "rank": frame.rank},
        "called_at": line_data(frame.caller(compile)),
        "nearest_called_at": line_data(frame.caller(explanation.nearest)) if explanation.nearest else None,
        "outcome": compile.outcome.value,
        "seconds": compile.measured_seconds,
        "attempts": compile.attempts,
        "recompile": recompile_data(recompile, remedies) if recompile else None,
        "other_entries": [_entry_data(recompile, item, remedies) for item in explanation.others] if recompile else [],
        "similar_to_nearest": explanation.is_similar,
        "similar_graphs": [member.label for member in explanation.group.members] if explanation.group else [],
        "guard_changes": [
            {"source": item.source, "property": item.prop, "before": item.before or None, "after": item.after or None}
            for item in explanation.guard_changes
        ],
        "sources_guarded_only_before": explanation.guards_only_before,
        "sources_guarded_only_after": explanation.guards_only_after,
        "graph_diff": list(explanation.graph_diff),
        "requirements": _requirements_data(explanation.requirements),
        "symbols": [{"symbol": item.name, "source": item.source, "hint": item.hint, "range": item.range} for item in compile.symbols],
        "specializations": [
            {"symbol": item.symbol, "sources": list(item.sources), "value": item.value, "reason": item.reason}
            for item in compile.specializations
        ],
        "automatic_dynamic": [
            {"source": item.source, "dim": item.dim, "reason": item.reason, "before": item.cached, "after": item.new}
            for item in compile.automatic_dynamic
        ],
        **trouble_data(compile),
        "reasons": reasons_data(compile),
    }


def _requirements_data(needed: Requirements | None) -> dict[str, Any] | None:
    if needed is None:
        return None
    each = [{"source": item.source or None, "text": item.text, "at": str(item.place) if item.place else None} for item in needed.each]
    return {"guards": each, "also": list(needed.rest)}


def _entry_data(recompile: Recompile, item: EntryDifference, remedies: Remedies) -> dict[str, Any]:
    causes = [cause_data(cause, remedies.of((recompile,), (cause,))) for cause in item.causes]
    return {"entry": item.entry.label, "cause_details": causes}

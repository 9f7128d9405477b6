"""A fix as JSON; ``shapelog/schema/fix.schema.json`` describes it. Times are in seconds, lines are those of the changed files."""

from typing import Any

from shapelog.advice.suggestions import Suggestion
from shapelog.fix.patches import Fix
from shapelog.reporters.json.advice import has_times
from shapelog.reporters.json.parts import saving_data, time_data

# 1: first shape. 2: settings; null for seconds that are not known. 3: what a setting saves in calls that raised or ran in eager
# mode.
FORMAT_VERSION = 3


def fix_data(fix: Fix) -> dict[str, Any]:
    return {
        "format": "shapelog fix",
        "format_version": FORMAT_VERSION,
        "torch_version": str(fix.advice.version),
        "placed": [
            {
                **_suggestion_data(item.suggestion),
                "how": item.how.value,
                "because": item.because or None,
                "places": _places(fix, item.suggestion.id),
            }
            for item in fix.placed
        ],
        "not_placed": [{**_suggestion_data(item.suggestion), "reason": item.reason} for item in fix.not_placed],
        "settings": [
            {
                "id": item.id,
                "text": item.text,
                "title": item.step.title,
                "removes": item.removes,
                "saves": saving_data(item.step.saving, has_times(fix.advice)),
                "reason": item.reason or None,
                "places": _places(fix, item.id),
            }
            for item in fix.settings
        ],
        "files": [
            {"file": patch.file.name, "path": patch.file.path, "diff": "".join(patch.diff(lambda ids: " ".join(ids)))}
            for patch in fix.patches
        ],
    }


def _places(fix: Fix, id: str) -> list[dict[str, Any]]:
    return [{"file": patch.file.name, "line": line} for patch in fix.patches for line in patch.lines_of(id)]


def _suggestion_data(item: Suggestion) -> dict[str, Any]:
    return {
        "id": item.id,
        "source": str(item.source),
        "name": item.name,
        "dims": list(item.dims),
        "removes": list(item.gone),
        "seconds": time_data(item.seconds, len(item.gone)),
    }

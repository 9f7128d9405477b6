"""A verification as JSON; ``shapelog/schema/verification.schema.json`` describes it. Counts hold compiles and limit hits."""

from typing import Any

from shapelog.report.verification import Verification
from shapelog.reporters.json.advice import advice_data, has_times
from shapelog.reporters.json.compare import comparison_data
from shapelog.reporters.json.parts import range_data, time_data

# 1: first shape. 2: the most that a prediction may come to. 3: predicted seconds as a range, and whether it held.
# 4: null for seconds that are not known. 5: the verdict 'not finished'.
# 6: graph breaks that came or went. 7: exports. 8: what the suggestions save is saved_seconds. 9: what the second run shows to mark.
FORMAT_VERSION = 9


def verification_data(verification: Verification) -> dict[str, Any]:
    advice, comparison = verification.advice, verification.comparison
    return {
        "format": "shapelog verification",
        "format_version": FORMAT_VERSION,
        "helped": verification.helped,
        "exact": verification.is_exact,
        "faults": list(verification.faults),
        "notes": list(verification.notes),
        "env": advice.env,
        "next_env": verification.next_advice.env if verification.next_advice else "",
        "compiles": {"before": advice.before.total, "predicted": advice.after.total, "measured": verification.measured},
        "limit_hits": {"before": advice.before.limit_hits, "predicted": advice.after.limit_hits, "measured": comparison.now.limit_hits},
        "seconds": {
            "before": time_data(advice.before.seconds.least, advice.before.total),
            "predicted": range_data(advice.after.seconds, has_times(advice)),
            "measured": time_data(comparison.now.seconds, comparison.now.number),
            "inside": verification.seconds_hold,
        },
        "exit_codes": {"before": verification.first.returncode, "after": verification.second.returncode},
        "wall_seconds": {"before": verification.first.seconds, "after": verification.second.seconds},
        "frames": [
            {"title": item.change.title, "before": item.before, "predicted": item.predicted, "measured": item.measured}
            for item in verification.frames
        ],
        "advice": advice_data(advice),
        "comparison": comparison_data(comparison),
    }

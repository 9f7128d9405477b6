"""JSON lines, for programs that read as they go: what it is about, then each alert, recompile, budget and problem."""

from collections.abc import Iterator
from typing import Any

from shapelog.check.check import CheckResult
from shapelog.reporters import Options
from shapelog.reporters.json.check import alert_data, check_data
from shapelog.reporters.json.parts import problem_data, recompile_data
from shapelog.reporters.json_bytes import line

# 1: first shape. 2: the kind ``rank``. 3: what PyTorch wrote about breaks and failures; seconds refused and failed.
# 4: the marks themselves as the remedy, and the rule that it comes from. 5: null for seconds that are not known.
# 6: the verdict 'not finished'; whether an id is PyTorch's. 7: the kind ``skipped``. 8: the next steps. 9: their remedy.
FORMAT_VERSION = 9
_LISTS = ("alerts", "budgets")


def render_check(checked: CheckResult, options: Options) -> bytes:
    return b"".join(map(line, _lines(checked)))


def _lines(checked: CheckResult) -> Iterator[dict[str, Any]]:
    """``shapelog/schema/lines.schema.json`` describes each."""
    data = check_data(checked)
    head = {name: value for name, value in data.items() if name not in _LISTS}
    yield {
        "type": "check" if checked.is_check else "report",
        **head,
        "format": "shapelog lines",
        "format_version": FORMAT_VERSION,
        "passed": data["passed"] if checked.is_check else None,
    }
    for item in checked.alerts:
        yield {"type": "alert", **alert_data(item, checked.found.report.summary.is_timed)}
    report = checked.found.report
    for recompile in report.recompiles:
        yield {"type": "recompile", **recompile_data(recompile, report.remedies)}
    for budget in data["budgets"]:
        yield {"type": "budget", **budget}
    for problem in report.problems:
        yield {"type": "problem", **problem_data(problem)}

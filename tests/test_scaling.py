"""Twice as much of anything in a trace is at most twice the work, up to a little: counted in lines of code that run, not in seconds."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import make
import pytest
from dimensions import DIMENSIONS, SQUARE

from shapelog.advice.advise import advise
from shapelog.check.alerts import collect_alerts
from shapelog.check.baseline import as_bytes
from shapelog.check.check import check
from shapelog.check.policy import Policy
from shapelog.check.repository_paths import Repository
from shapelog.recompiles.explain import explain_trace
from shapelog.report.compare import compare
from shapelog.report.report import Report, analyze
from shapelog.reporters import Options, Result, renderer

# What one step more may multiply the work by, where the trace itself doubles. Square traces take four times as much.
_MOST = 2.3
# More than MOST_COMPARED: up to there a recompile is compared with each earlier one.
_LEAST = 40
_SOME = 300


def work(run: Callable[[], Any]) -> tuple[int, Any]:
    """How many lines of Python ran, each pass of a loop again, and what came of it."""
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> Callable[..., Any]:
        nonlocal lines
        lines += 1
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        found = run()
    finally:
        sys.settrace(before)
    return lines, found


def _steps(data: bytes) -> Iterator[tuple[str, int]]:
    """The work of each step of the commands."""
    options = Options(width=120)

    def drawn(result: Result, form: str, found: object) -> int:
        return work(lambda: renderer(result, form)(found, options))[0]

    lines, trace = work(lambda: make.load(data))
    yield "read", lines
    lines, report = work(lambda: analyze(trace))
    yield "analyze", lines
    for form in ("terminal", "json", "html"):
        yield f"report {form}", drawn("report", form, report)
    lines, advice = work(lambda: advise(explain_trace(trace)))
    yield "suggest", lines + drawn("advice", "terminal", advice)
    lines, found = work(lambda: collect_alerts(report, Repository("/nowhere", ())))
    yield "check", lines + drawn("check", "terminal", check(found, Policy()))
    yield "baseline", work(lambda: as_bytes(found))[0]
    moved: Report = make.report(data.replace(b"/srv/", b"/other/x/"))
    lines, comparison = work(lambda: compare(report, moved))
    yield "compare", lines + drawn("comparison", "terminal", comparison)


def growths(make_trace: Callable[[int], bytes], least: int) -> dict[str, tuple[int, int]]:
    """Step → by how much its work grows from the least trace to twice that, and from there to four times that."""
    runs = [dict(_steps(make_trace(least * factor))) for factor in (1, 2, 4)]
    return {step: (runs[1][step] - runs[0][step], runs[2][step] - runs[1][step]) for step in runs[0]}


@pytest.mark.parametrize("name", DIMENSIONS)
def test_the_work_grows_with_the_trace_and_not_faster(name: str) -> None:
    most, least = (2 * _MOST, _LEAST // 2) if name in SQUARE else (_MOST, _LEAST)
    found = growths(DIMENSIONS[name], least)
    print({step: f"{b / max(a, 1):.2f} {a}" for step, (a, b) in found.items()})
    assert {step: later / first for step, (first, later) in found.items() if later > most * max(first, _SOME)} == {}

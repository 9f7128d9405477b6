"""Twice as much of anything in a trace is at most about twice the work: counted in calls of functions, not in seconds."""

import re
from collections.abc import Callable, Iterator
from cProfile import Profile
from typing import TypeVar

import make
import pytest
from dimensions import DIMENSIONS, SQUARE
from rich.cells import cached_cell_len

from shapelog.advice import savings
from shapelog.advice.advise import advise
from shapelog.check.baseline import as_bytes
from shapelog.check.check import check
from shapelog.check.policy import Policy
from shapelog.recompiles import shape_table
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.compare import compare
from shapelog.report.next_steps import advised_run
from shapelog.report.report import analyze
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, Result, renderer

pytestmark = pytest.mark.slow

_Result = TypeVar("_Result")
# What a step may be multiplied by where the trace is twice as large; one that grows with a square is four times as large then.
_MOST = 2.3
# A compile is compared with at most 32 earlier entries, so that smaller sizes grow with their square until then.
_LEAST = 20
# What bounds the work on large traces, at the size of these.
_CELLS, _FOLLOWED = 200, 20
# Fewer calls than these are what differs in any two outputs.
_FEW = 3000


def work(run: Callable[[], _Result]) -> tuple[int, _Result]:
    """How many functions were called, built-in ones and the steps of generators included, and the result."""
    re.purge()  # what the run before left there
    cached_cell_len.cache_clear()
    profile = Profile()
    result = profile.runcall(run)
    return sum(entry.callcount for entry in profile.getstats()), result


def steps(data: bytes) -> Iterator[tuple[str, int]]:
    """(step, its work) of the commands; ``compare`` is with the same trace of a checkout elsewhere."""

    def drawn(result: Result, form: str, found: object) -> int:
        return work(lambda: renderer(result, form)(found, Options(width=120)))[0]

    calls, trace = work(lambda: make.load(data))
    yield "read", calls
    calls, report = work(lambda: analyze(trace))
    yield "analyze", calls
    yield "report", drawn("report", "terminal", report)
    yield "json", drawn("report", "json", report)
    calls, run = work(lambda: advised_run(report, advise(report.explained)))
    yield "suggest", calls + drawn("advised run", "terminal", run) + drawn("advised run", "json", run)
    calls, found = work(lambda: collect_alerts(report, Repository("/nowhere", ())))
    yield "check", calls + drawn("check", "terminal", check(found, Policy()))
    yield "baseline", work(lambda: as_bytes(found))[0]
    moved = make.report(data.replace(b"/srv/", b"/other/x/"))
    calls, comparison = work(lambda: compare(report, moved))
    yield "compare", calls + drawn("comparison", "terminal", comparison)


def growth(made: Callable[[int], bytes], least: int) -> dict[str, float]:
    """Step → its work from twice the least number to four times, by that from the least to twice. What every trace takes drops out."""
    dict(steps(made(2)))  # imports
    one, two, four = (dict(steps(made(least * times))) for times in (1, 2, 4))
    return {step: (four[step] - two[step]) / max(two[step] - one[step], _FEW) for step in one}


@pytest.mark.parametrize("name", DIMENSIONS)
def test_the_work_grows_with_the_trace_and_no_faster(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_table, "MOST_CELLS", _CELLS)
    monkeypatch.setattr(savings, "MOST_FOLLOWED", _FOLLOWED)
    least, most = (_LEAST // 2, 2 * _MOST) if name in SQUARE else (_LEAST, _MOST)
    found = growth(DIMENSIONS[name], least)
    assert {step: round(times, 2) for step, times in found.items() if times > most} == {}

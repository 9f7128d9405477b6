"""Failures, limits, graph breaks and restarts: grouped, with what they cost."""

import make
import pytest
from recorded import RECORDED, report_of

from shapelog.model.compile import Outcome
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.interruptions import Interruption, InterruptionKind, interruptions
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository

BREAK = (
    "Graph break in user code at /srv/app/model.py:6\nGraph Break Reason: Failed to trace builtin operator\n"
    "  Explanation: Dynamo does not know how to trace builtin operator `print`\n  Hint: Avoid calling builtin `print`\n"
    "User code traceback:\n"
)


def found_in(report: Report) -> tuple[Interruption, ...]:
    return interruptions(collect_alerts(report, Repository("nowhere")))


def made(*parts: bytes) -> tuple[Interruption, ...]:
    return found_in(make.report(make.trace(*parts)))


def test_a_graph_break_costs_repeated_tracing_and_the_compilations_of_what_goes_on_after_it() -> None:
    limit, broke = found_in(report_of("real/demo.log.gz"))
    assert (limit.kind, limit.times) == (InterruptionKind.LIMIT, 1)
    assert limit.title == "MovingAverage.forward hit the recompile limit at 1/8, with 8 cache entries"
    assert (broke.kind, broke.times, broke.resumed_times) == (InterruptionKind.BREAK, 3, 3)
    assert broke.seconds == pytest.approx(0.09, abs=0.01)
    assert broke.resumed_seconds == pytest.approx(6.07, abs=0.01)
    assert broke.message is not None
    assert broke.message.number == "GB0059"
    assert broke.helps[0].startswith("Avoid calling builtin `print`")


def test_equal_graph_breaks_of_several_functions_are_one() -> None:
    parts = [
        make.artifact("dynamo_graph_break_reason", BREAK, id=f"{number}/0") + make.compile(f"{number}/0", make.tensor(8), name=f"f{number}")
        for number in range(3)
    ]
    (item,) = made(*parts)
    assert [alert.title for alert in item.alerts] == ["f0", "f1", "f2"]
    assert item.times == 3


def test_breaks_with_other_hints_are_apart() -> None:
    other = BREAK.replace("Avoid calling builtin `print`", "Use a logger")
    parts = [
        make.artifact("dynamo_graph_break_reason", text, id=f"{number}/0") + make.compile(f"{number}/0", make.tensor(8), name=f"f{number}")
        for number, text in enumerate((BREAK, other))
    ]
    assert [item.helps for item in made(*parts)] == [("Avoid calling builtin `print`",), ("Use a logger",)]


def test_equal_failures_are_one_with_their_seconds_together() -> None:
    failed = [make.compile(f"{number}/0", make.tensor(8), name=f"f{number}", seconds=2.0, **make.FAILED) for number in range(2)]
    (item,) = made(*failed)
    assert (item.kind, item.title, item.times, item.seconds) == (InterruptionKind.FAILURE, "no", 2, 4.0)


def test_a_restart_has_the_seconds_before_it() -> None:
    (item,) = made(make.compile("0/0", make.tensor(8), restart_reasons=["speculation diverged"], dynamo_time_before_restart_s=0.5))
    assert (item.kind, item.title, item.seconds) == (InterruptionKind.RESTART, "speculation diverged", 0.5)


def test_a_compilation_that_the_trace_ends_in_is_no_failure() -> None:
    (item,) = made(make.dynamo_start("f", id="0/0"))
    assert item.kind is InterruptionKind.UNFINISHED


def test_all_calls_that_a_recompile_limit_refused_are_counted() -> None:
    report = report_of("real/2.6/g_limit.log.gz")
    limits = [item for item in found_in(report) if item.kind is InterruptionKind.LIMIT]
    assert sum(item.times for item in limits) == report.summary.limit_hits
    assert {item.alerts[0].title: [compile.label for compile in item.compiles] for item in limits if item.times > 1} == {
        "ff": ["3/3", "3/4"],
        "f2": ["0/2#3", "0/3#3"],
    }


def test_a_run_in_one_piece_has_none() -> None:
    assert found_in(report_of("lab/no_recompiles.log.gz")) == ()


@pytest.mark.parametrize("name", RECORDED)
def test_every_failure_break_and_limit_is_there_and_the_worst_come_first(name: str) -> None:
    report = report_of(name)
    found = found_in(report)
    order = list(InterruptionKind)
    assert [order.index(item.kind) for item in found] == sorted(order.index(item.kind) for item in found)
    compiles = {compile for item in found for compile in item.compiles}
    ended = {item for item in report.trace.compiles if item.outcome is Outcome.FAILED or item.breaks}
    assert ended <= compiles
    limited = {frame for frame in report.trace.frames if any(item.outcome is Outcome.LIMIT for item in frame.compiles)}
    hit = {
        occurrence.frame
        for item in found
        if item.kind is InterruptionKind.LIMIT
        for alert in item.alerts
        for occurrence in alert.occurrences
    }
    assert limited <= hit
    for item in found:
        assert item.title
        assert item.helps
        assert item.seconds >= 0

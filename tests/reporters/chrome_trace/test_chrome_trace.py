"""The report as a trace for viewers: valid in the Trace Event Format, and on one clock."""

import json
from collections import defaultdict
from typing import Any

import make
import pytest
from payload_text import size_mismatch
from recorded import RECORDED, report_of

from shapelog.errors import ShapelogError
from shapelog.model.compile import Outcome
from shapelog.model.phase_events import phases_of
from shapelog.report.report import Report, analyze
from shapelog.reporters import Options
from shapelog.reporters.chrome_trace.event import INSTANT, SLICE, TraceEvent, nested
from shapelog.reporters.chrome_trace.render import render

Viewed = list[dict[str, Any]]
START = 1_795_163_268.0


# The names of metadata events in the Trace Event Format, with the argument and its type that each has.
METADATA = {
    "process_name": ("name", str),
    "process_labels": ("labels", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}


def refuse_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")


def viewed(report: Report) -> Viewed:
    """The events of the file, which is a JSON object of the format."""
    whole = json.loads(render(report, Options()), parse_constant=refuse_constant)
    assert set(whole) == {"traceEvents", "displayTimeUnit", "otherData"}
    assert whole["displayTimeUnit"] == "ms"
    found: Viewed = whole["traceEvents"]
    return found


def slices(events: Viewed) -> dict[str, dict[str, Any]]:
    return {event["name"]: event for event in events if event["ph"] == SLICE}


def event(name: str, phase: str, seconds: float, id: str = "0/0", **more: Any) -> bytes:
    body = {"name": name, "ph": phase, "ts": (START + seconds) * 1e6, "args": {}, "pid": 0, "tid": 0, **more}
    return make.record("chromium_event", {}, json.dumps(body, indent=0), id=id)


def timed(id: str, start: float, seconds: float, **more: Any) -> bytes:
    return make.compile(id, make.tensor(2), seconds=seconds, start_time=START + start, **more)


def assert_valid(events: Viewed) -> None:
    """What the Trace Event Format asks of complete events, instants and metadata; and that the slices of a track nest."""
    times = [item["ts"] for item in events if item["ph"] != "M"]
    assert times == sorted(times)
    assert times[0] == 0
    around: defaultdict[tuple[int, int], list[float]] = defaultdict(list)
    for item in events:
        assert item["ph"] in ("X", "i", "M")
        assert type(item["pid"]) is type(item["tid"]) is int
        assert isinstance(item["name"], str)
        if item["ph"] == "M":
            argument, kind = METADATA[item["name"]]
            assert type(item["args"][argument]) is kind
            assert set(item["args"]) == {argument}
            assert "ts" not in item
        else:
            assert isinstance(item["cat"], str)
            assert item.get("args") != {}
            assert type(item["ts"]) in (int, float)
            assert item["ts"] >= 0
            assert set(item) <= {"name", "cat", "ph", "ts", "dur", "pid", "tid", "args", "s"}
        if item["ph"] == "i":
            assert item["s"] == "t"
        if item["ph"] == "X":
            ends = around[item["pid"], item["tid"]]
            while ends and ends[-1] <= item["ts"] + 0.002:
                ends.pop()
            assert item["dur"] >= 0
            assert not ends or item["ts"] + item["dur"] <= ends[-1] + 0.002
            ends.append(item["ts"] + item["dur"])
    tracks = {(item["pid"], item["tid"]) for item in events if item["ph"] != "M"}
    assert tracks <= {(item["pid"], item["tid"]) for item in events if item["name"] == "thread_name"}
    assert {process for process, _ in tracks} <= {item["pid"] for item in events if item["name"] == "process_name"}


@pytest.mark.parametrize("name", RECORDED[::9])
def test_every_recorded_trace_with_times_is_valid(name: str) -> None:
    report = report_of(name)
    if all(not compile.metrics.start_time for compile in report.trace.compiles) and not phases_of(report.trace):
        with pytest.raises(ShapelogError, match="nothing to draw"):
            viewed(report)
        return
    events = viewed(report)
    assert_valid(events)
    timed_compiles = [
        item for item in report.trace.compiles if item.metrics.start_time and (item.metrics.seconds or item.outcome is not Outcome.LIMIT)
    ]
    own = [
        item for item in events if item["ph"] == "X" and item["cat"] not in ("PyTorch", "phase", "backward", "operator", "estimated run")
    ]
    assert len(own) == len(timed_compiles)


def test_a_compilation_has_its_cause_and_its_verdict() -> None:
    data = make.trace(
        make.compile("0/0", make.tensor(8, 16), start_time=START),
        make.compile("0/1", make.tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], dynamic=[0], seconds=2.0, start_time=START + 5),
    )
    again = slices(viewed(make.report(data)))["0/1 f"]
    assert (again["ts"], again["dur"], again["cat"]) == (5e6, 2e6, "avoidable by marking")
    assert again["args"]["rules"] == ["SL101"]
    assert again["args"]["causes"]
    assert again["args"]["remedy"]
    assert again["args"]["place"] == f"{make.MODEL}:5"


def test_pytorchs_own_phases_lie_inside_the_compilation_on_the_same_clock() -> None:
    data = make.trace(
        event("dynamo", "B", -0.25),
        timed("0/0", 0, 4),
        event("backend_compile", "B", 1),
        event("cache_miss", "i", 1.5, args={"key": "k" * 5000}),
        event("backend_compile", "E", 3, args={"fn_name": "f"}),
        event("dynamo", "E", 4.5),
        event("lost", "E", 4.5),
    )
    events = viewed(make.report(data))
    assert_valid(events)
    found = slices(events)
    assert {name: (item["ts"], item["dur"]) for name, item in found.items()} == {
        "0/0 f": (0, 4.75e6),
        "dynamo": (0, 4.75e6),
        "backend_compile": (1.25e6, 2e6),
    }
    assert found["backend_compile"]["args"] == {"fn_name": "f"}
    instant = next(item for item in events if item["ph"] == INSTANT)
    assert (instant["name"], instant["ts"], len(instant["args"]["key"])) == ("cache_miss", 1.75e6, 300)


def test_a_phase_without_an_end_lasts_until_the_last_event() -> None:
    data = make.trace(timed("0/0", 0, 9), event("one", "B", 1), event("two", "B", 2), event("two", "E", 7))
    one = slices(viewed(make.report(data)))["one"]
    assert (one["dur"], one["args"]) == (6e6, {"end": "not recorded"})


def test_without_events_phases_are_placed_by_their_lengths() -> None:
    data = make.trace(timed("0/0", 0, 10, backend_compile_time_s=6.0, inductor_compile_time_s=4.0, dynamo_time_before_restart_s=1.0))
    events = viewed(make.report(data))
    assert_valid(events)
    found = slices(events)
    assert (found["attempts before the last"]["ts"], found["attempts before the last"]["dur"]) == (0, 1e6)
    assert (found["backend"]["ts"], found["Inductor"]["ts"]) == (4e6, 6e6)
    assert "placed by its length" in found["Inductor"]["args"]["start"]


def test_graph_breaks_are_instants_with_their_reason() -> None:
    text = "Graph break in user code at /srv/app/model.py:14\nGraph Break Reason: no print\nUser code traceback:\n"
    data = make.trace(
        make.dynamo_start(id="0/0"),
        make.artifact("dynamo_graph_break_reason", text, id="0/0"),
        make.metrics("0/0", attempt=1, start_time=START),
    )
    found = next(item for item in viewed(make.report(data)) if item.get("cat") == "graph break")
    assert found["name"] == "graph break: no print"
    assert found["ts"] == 0


def test_a_refused_call_is_an_instant() -> None:
    data = make.trace(timed("0/0", 0, 1), make.refused("0/1", "0/0: x"))
    found = [item for item in viewed(make.report(data)) if item["ph"] == INSTANT]
    assert [item["name"] for item in found] == ["0/1 recompile limit reached"]


def test_each_rank_is_a_process_and_each_frame_a_track() -> None:
    one = make.trace(timed("0/0", 0, 1), timed("1/0", 2, 1, name="g"))
    events = viewed(analyze(make.load_ranks(one, one)))
    assert_valid(events)
    assert {(item["pid"], item["tid"]) for item in events if item["ph"] == SLICE} == {(0, 1), (0, 2), (1, 1), (1, 2)}
    names = [item["args"]["name"] for item in events if item["name"] == "process_name"]
    assert [name.split(" (")[0] for name in names] == ["rank 0", "rank 1"]


def test_compilations_of_a_frame_at_the_same_time_have_tracks_of_their_own() -> None:
    events = viewed(make.report(make.trace(timed("0/0", 0, 5), timed("0/1", 1, 5))))
    assert_valid(events)
    assert {item["tid"] for item in events if item["ph"] == SLICE} == {1, 2}


def estimated(id: str, *operators: tuple[str, int]) -> bytes:
    ops = [{"name": name, "type": "compute", "estimated_runtime_ns": runtime, "outputs": []} for name, runtime in operators]
    return make.artifact("inductor_runtime_and_tensor_meta", json.dumps({"ops": ops}, indent=0), id=id)


def test_the_operators_of_graphs_follow_each_other_as_inductor_estimates_them() -> None:
    first = estimated("0/0", ("mm", 2_000_000), ("view", 0), ("all_reduce", 500_000)), estimated("0/1", ("mm", 0))
    events = viewed(make.report(make.trace(timed("0/0", 0.0, 1.0), timed("0/1", 2.0, 1.0), *first)))
    assert_valid(events)
    (track,) = {item["tid"] for item in events if item.get("cat") == "operator"}
    (name,) = [item["args"]["name"] for item in events if item["name"] == "thread_name" and item["tid"] == track]
    assert name == "graphs, operator by operator (estimated)"
    drawn = [(item["name"], item["ts"], item["dur"]) for item in events if item["ph"] == "X" and item["tid"] == track]
    graph = ("0/0 f", 1_000_000.0, 2500.0)
    assert drawn == [graph, ("mm", 1_000_000.0, 2000.0), ("all_reduce", 1_002_000.0, 500.0), ("view", 1_002_000.0, 0.0)]


def test_an_estimate_of_another_shape_draws_nothing() -> None:
    damaged = make.artifact("inductor_runtime_and_tensor_meta", '{"ops": [3]}', id="0/0")
    events = viewed(make.report(make.trace(timed("0/0", 0.0, 1.0), damaged)))
    assert [item for item in events if item.get("cat") == "operator"] == []


def test_a_trace_without_times_is_refused_in_one_line() -> None:
    with pytest.raises(ShapelogError, match="the trace does not record when a compilation began"):
        viewed(make.report(make.small_trace()))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"ts": "x", "ph": "B"},
        {"ts": -1},
        {"ts": 1e300, "ph": "X"},
        {"ph": []},
        {"ts": 1, "args": []},
        {"ts": START * 1e6, "ph": "i", "args": {"a": ["\ud800"], "b": 10**30}},
    ],
)
def test_strange_events_harm_nothing(body: dict[str, Any]) -> None:
    strange = make.record("chromium_event", {}, json.dumps(body), id="0/0") + make.record("chromium_event", {}, "[1", id="0/0")
    events = viewed(make.report(make.trace(timed("0/0", 0, 1), strange)))
    assert "0/0 f" in slices(events)
    assert_valid(events)


def test_a_slice_that_begins_in_another_ends_in_it() -> None:
    found = nested([TraceEvent(SLICE, "b", "", 2, 5), TraceEvent(SLICE, "a", "", 0, 4), TraceEvent(SLICE, "c", "", 4, 1)])
    assert [(event.name, event.start, event.end) for event in found] == [("a", 0, 4), ("b", 2, 4), ("c", 4, 5)]

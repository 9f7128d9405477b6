"""A comparison as JSON: exactly what its schema requires."""

import json

import make
import pytest
from json_schemas import faults
from recorded import LAB, RECORDED, report_of

from shapelog.report.compare import Comparison, compare
from shapelog.report.frame_changes import Effect
from shapelog.reporters import Options, renderer
from shapelog.reporters.json.compare import comparison_data


def compared(before: bytes, after: bytes) -> Comparison:
    return compare(make.report(before), make.report(after))


PAIRS = [(name, RECORDED[(index + 7) % len(RECORDED)]) for index, name in enumerate(RECORDED)]


@pytest.mark.parametrize(("before", "after"), [*PAIRS, *zip(LAB[1:], LAB, strict=False)])
def test_any_two_traces_give_what_the_schema_requires(before: str, after: str) -> None:
    found = compare(report_of(before), report_of(after))
    assert faults("comparison", comparison_data(found)) == []
    assert json.loads(renderer("comparison", "json")(found, Options())) == comparison_data(found)
    assert found.outcome is not Effect.BETTER or not found.lost_graphs


def test_a_program_finds_totals_frames_and_causes() -> None:
    data = comparison_data(compared(make.trace(make.static_sizes(10, 12), make.dynamic_size("0/2")), make.trace(make.dynamic_size("0/0"))))
    assert (data["outcome"], data["before"]["totals"]["compiles"], data["after"]["totals"]["compiles"]) == ("better", 3, 1)
    (frame,) = data["frames"]
    assert (frame["kind"], frame["effect"], frame["gains"], frame["lost_graph"]) == ("matched", "better", ["fewer compiles"], False)
    assert (frame["before"]["counts"]["compiles"], frame["after"]["frames"]) == (3, ["0"])
    (cause,) = frame["causes"]
    assert (cause["code"], cause["axis"], cause["before"], cause["after"]) == ("SL101", "x.size[0]", 2, 0)
    assert cause["remedy"] == "mark dim 0 of x as dynamic: add L['x']:0 to TORCH_COMPILE_DYNAMIC_SOURCES"
    assert frame["dims"] == [
        {"axis": "x.size[0]", "source": "L['x']", "before": "dynamic from a later compile on", "after": "dynamic from the first compile on"}
    ]


def test_a_field_that_the_schema_does_not_know_is_a_fault() -> None:
    data = comparison_data(compared(make.trace(make.static_sizes(10)), make.trace(make.static_sizes(10, 12))))
    assert faults("comparison", data) == []
    assert faults("comparison", {**data, "news": 1})
    assert faults("comparison", {**data, "outcome": "who knows"})
    assert faults("comparison", {name: part for name, part in data.items() if name != "frames"})


def test_a_program_finds_graph_breaks_that_came_or_went() -> None:
    text = "Graph break in user code at /srv/app/model.py:7\nGraph Break Reason: builtin: print\nUser code traceback:\n"
    broken = make.trace(make.static_sizes(10), make.artifact("dynamo_graph_break_reason", text, id="0/0"))
    data = comparison_data(compared(make.trace(make.static_sizes(10)), broken))
    (found,) = data["frames"][0]["graph_breaks"]
    assert (found["is_new"], found["message"]["title"], found["message"]["place"]) == (True, "builtin: print", "/srv/app/model.py:7")
    assert faults("comparison", data) == []


def test_exports_have_their_counts_and_the_problems_that_went_and_came() -> None:
    failed, good = (report_of(f"real/2.13/export_{name}.log.gz") for name in ("data_dependent", "good"))
    found = comparison_data(compare(failed, good))["exports"]
    assert (found["before"]["failed"], found["after"]["failed"], found["effect"], found["came"]) == (1, 0, "better", [])
    (problem,) = found["went"]
    assert (problem["code"], problem["code_line"]) == ("SL602", "if n > 4:")

"""The report as JSON: it holds what programs read, and is exactly what its schema requires."""

import json

import make
import pytest
from json_schemas import faults
from payload_text import global_state, guard_tree, tensor_match
from recorded import LAB, RECORDED, report_of

from shapelog.reporters import Options, renderer
from shapelog.reporters.json.report import report_data
from shapelog.rules import RULES


@pytest.mark.parametrize("name", RECORDED)
def test_the_report_of_a_fixture_is_as_the_schema_requires(name: str) -> None:
    assert faults("report", report_data(report_of(name))) == []


@pytest.mark.parametrize("name", RECORDED)
def test_the_report_can_be_written_and_read_again(name: str) -> None:
    report = report_of(name)
    assert json.loads(renderer("report", "json")(report, Options())) == report_data(report)


def test_a_field_that_the_schema_does_not_know_is_a_fault() -> None:
    data = report_data(report_of("lab/batch_varies.log.gz"))
    assert faults("report", {**data, "news": 1})
    assert faults("report", {name: part for name, part in data.items() if name != "recompiles"})
    assert faults("report", {**data, "recompiles": [{**data["recompiles"][0], "verdict": "who knows"}]})


@pytest.mark.parametrize("name", LAB)
def test_a_program_finds_the_causes_and_the_similar_graphs(name: str) -> None:
    data = report_data(report_of(name))
    ids = [compile["compile_id"] for frame in data["frames"] for compile in frame["compiles"]]
    for item in data["recompiles"]:
        assert item["compile_id"] in ids
        assert set(item["causes"]) <= set(RULES)
        assert isinstance(item["size_related"], bool)
    assert {label for group in data["similar_graphs"] for label in group} <= set(ids)


@pytest.mark.parametrize("name", RECORDED)
def test_the_details_of_a_group_are_its_members(name: str) -> None:
    data = report_data(report_of(name))
    for group, detail in zip(data["similar_graphs"], data["similar_graph_details"], strict=True):
        assert sorted(group) == sorted(detail["static"] + detail["dynamic"])


def test_the_report_of_a_batch_that_varies() -> None:
    data = report_data(report_of("lab/batch_varies.log.gz"))
    assert (data["summary"]["compiles"], data["summary"]["recompiles"], data["summary"]["limit_hits"]) == (2, 1, 0)
    (recompile,) = data["recompiles"]
    assert (recompile["compile_id"], recompile["nearest"], recompile["served_by"]) == ("0/1", "0/0", "0/0")
    assert (recompile["causes"], recompile["verdict"]) == (["SL101"], "avoidable by marking")
    (cause,) = recompile["cause_details"]
    assert (cause["axis"], cause["source"], cause["before"], cause["after"]) == ("x.size[0]", "L['x']", "8", "3")
    assert data["similar_graphs"] == [["0/0", "0/1"]]
    (frame,) = data["frames"]
    assert (frame["title"], frame["name"], frame["line"]) == ("MLP.forward", "forward", 12)
    assert data["trace"]["torch_version"] == "2.13.0+cpu"


@pytest.mark.parametrize("name", RECORDED)
def test_a_row_of_the_shape_table_has_a_cell_for_each_compile(name: str) -> None:
    for frame in report_data(report_of(name))["frames"]:
        compiles = [compile for compile in frame["compiles"] if compile["outcome"] != "limit"]
        assert all(len(row["cells"]) == len(compiles) for row in frame["shapes"])


def test_the_shape_table_has_static_dynamic_and_violated_cells() -> None:
    (frame,) = report_data(report_of("lab/two_dims.log.gz"))["frames"]
    rows = {row["axis"]: row["cells"] for row in frame["shapes"]}
    assert [(cell["value"], cell["state"], cell["violated"]) for cell in rows["x.size[0]"]] == [
        ("4", "static", False),
        ("6", "dynamic", True),
        ("6", "dynamic", False),
    ]
    assert [cell["state"] for cell in rows["x.size[1]"]] == ["static", "static", "dynamic"]


@pytest.mark.parametrize("name", RECORDED)
def test_a_table_has_a_cell_for_each_column(name: str) -> None:
    for table in report_data(report_of(name))["tables"]:
        assert table["rows"] or table["note"]
        assert all(len(row) == len(table["columns"]) for row in table["rows"])


def test_frames_that_could_save_most_come_first() -> None:
    made = make.trace()
    for frame, seconds in ((0, 1.0), (1, 5.0), (2, 0.5)):
        for number, size in enumerate((10, 12)):
            made += make.compile(f"{frame}/{number}", make.tensor(size, 8), seconds=seconds, name=f"f{frame}")
    data = report_data(make.report(made))
    assert [frame["frame"] for frame in data["frames"]] == ["1", "0", "2"]
    assert [frame["avoidable_by_marking"] for frame in data["frames"]] == [5.0, 1.0, 0.5]


def test_what_a_code_change_saves_is_distinguished_from_what_marking_saves() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8), guards=guard_tree(global_state(), tensor_match())))
    made += make.compile("0/1", make.tensor(12, 8), guards=guard_tree(global_state(), tensor_match(size=(12, 8))), seconds=2.0)
    made += make.compile("0/2", make.tensor(10, 8), guards=guard_tree(global_state(grad_mode=False), tensor_match()), seconds=3.0)
    (frame,) = report_data(make.report(made))["frames"]
    assert (frame["avoidable_by_marking"], frame["avoidable_by_code"], frame["seconds"]) == (2.0, 3.0, 6.0)
    assert [(axis["axis"], axis["values"], axis["codes"]) for axis in frame["axes"]] == [
        ("x.size[0]", ["10", "12"], ["SL101"]),
        ("grad_mode", ["on", "off"], ["SL305"]),
    ]

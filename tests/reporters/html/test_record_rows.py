"""The rows of records: what each opens to, which are the same text, and what is embedded first."""

import json

import make
from make import artifact, describe, dynamo_start, reader, tensor
from make import compile as compiled
from markupsafe import escape
from recorded import LAB, report_of

from shapelog.model.compile import Compile
from shapelog.model.load import build
from shapelog.model.record_index import index_records
from shapelog.reading.inputs import Selection
from shapelog.reading.payloads.graphs import operation_count
from shapelog.reading.trace_files import TraceFile
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, renderer
from shapelog.reporters.html.page_context import page_context
from shapelog.reporters.html.record_rows import RecordRow, record_rows, rows_html

LONG, SHORT = "{" + "x" * 2000 + "}", "{" + "x" * 200 + "}"


def rows(data: bytes) -> dict[str, dict[str, RecordRow]]:
    """The rows of each compile by their titles."""
    trace = build(Selection((TraceFile(None, make.NAME),)), [reader(data, with_positions=True)])
    index = index_records(trace)
    return {compile.label: {row.title: row for row in record_rows(index.of(compile), "a")} for compile in trace.compiles}


def all_rows(data: bytes) -> list[RecordRow]:
    """The rows of the only compile, as they are saved."""
    trace = build(Selection((TraceFile(None, make.NAME),)), [reader(data, with_positions=True)])
    (compile,) = trace.compiles
    return list(record_rows(index_records(trace).of(compile), "a", "0_0"))


def settings(data: bytes, label: str) -> dict[str, object]:
    body = json.loads(rows(data)[label]["compilation metrics"].make())["compilation_metrics"]
    return {key: value for key, value in body.items() if key.endswith("_config")}


def test_settings_are_whole_in_the_first_metrics_and_only_named_in_the_others() -> None:
    fields = {"inductor_config": LONG, "dynamo_config": SHORT, "recompile_reason": None}
    data = make.trace(compiled("0/0", tensor(8, 16), **fields), compiled("0/1", tensor(3, 16), **fields))
    assert settings(data, "0/0") == {"inductor_config": LONG, "dynamo_config": SHORT}
    assert settings(data, "0/1") == {
        "inductor_config": "the same 2,002 characters as in the first record of this kind",
        "dynamo_config": SHORT,
    }


GRAPH = """class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[8]"):
        l_x_ = L_x_
        weight = self.weight;  weight = None
        add: "f32[8]" = l_x_ + 1;  l_x_ = None
        # File: model.py:3 in f, code: y = add * 2
        mul: "f32[8]" = torch.mul(add, 2);  add = None
        return (mul,)
"""


def test_a_graph_has_the_number_of_its_operations() -> None:
    data = make.trace(
        dynamo_start(id="0/0"), make.record("aot_forward_graph", {}, GRAPH, id="0/0"), artifact("graph_notes", "x = f()", id="0/0")
    )
    found = rows(data)["0/0"]
    assert (found["AOT forward graph"].note, found["graph_notes"].note) == ("2 operations", "")


def test_operations_are_counted_as_pytorch_counts_them() -> None:
    compiles = [item for name in LAB[::8] for item in report_of(name).trace.compiles if "graph_op_count" in item.metric_fields]
    counted = {item: graph_size(item) for item in compiles if item.graph_span}
    assert len(counted) > 10
    assert counted == {item: item.metric_fields["graph_op_count"] for item in counted}


def graph_size(compile: Compile) -> int:
    assert compile.payloads
    assert compile.graph_span
    return operation_count(compile.payloads.reader.payload_bytes(compile.graph_span))


def test_records_of_a_subgraph_are_marked_and_saved_apart() -> None:
    parts = [make.record("aot_forward_graph", {}, GRAPH, id="0/0", subgraph_name=name) for name in ("region/1", "region_2")]
    found = [row for row in all_rows(make.trace(dynamo_start(id="0/0"), *parts)) if row.title == "AOT forward graph"]
    assert [(row.note, row.file) for row in found] == [
        ("2 operations, of subgraph region/1", "0_0-subgraph_region_1-aot_forward_graph"),
        ("2 operations, of subgraph region_2", "0_0-subgraph_region_2-aot_forward_graph"),
    ]


def test_frames_of_generated_code_lead_to_the_record_with_it() -> None:
    name = "<eval_with_key>.5"
    stack = [{"line": 3, "name": "forward", "filename": 2, "loc": "y = x"}]
    data = make.trace(
        make.record("str", [name, 2]),
        compiled("0/0", tensor(8, 16)),
        make.record("dump_file", {"name": name}, "def forward(x):\n    y = x", id="0/0"),
        make.record("dynamo_start", {"stack": stack}, id="1/0"),
        compiled("1/0", tensor(8, 16), is_started=False),
    )
    page = renderer("report", "html")(make.report(data), Options()).decode()
    assert '<a href="#compile-0-0" title="&lt;eval_with_key&gt;.5 is among its records">' in page


def test_records_without_a_payload_have_the_names_of_files() -> None:
    start = rows(make.small_trace())["0/0"]["dynamo_start"]
    assert [frame["filename"] for frame in json.loads(start.make())["dynamo_start"]["stack"]] == [make.MAIN, make.MODEL]


def test_settings_that_changed_are_whole() -> None:
    data = make.trace(compiled("0/0", tensor(8, 16), inductor_config=LONG), compiled("0/1", tensor(3, 16), inductor_config=LONG + " "))
    assert settings(data, "0/1") == {"inductor_config": LONG + " "}


def test_several_records_without_payload_are_listed_one_a_line() -> None:
    data = make.trace(dynamo_start(id="0/0"), describe(tensor(2, 3), id="0/0"), describe(tensor(2, 3, source="L['y']"), id="0/0"))
    lines = rows(data)["0/0"]["describe_tensor"].make().decode().split("\n")
    assert [json.loads(line)["describe_tensor"]["size"] for line in lines] == [[2, 3], [2, 3]]


def test_a_payload_is_opened_as_pytorch_had_it() -> None:
    found = rows(make.trace(compiled("0/0", tensor(8, 16))))["0/0"]
    assert found["guards"].make().startswith(b"\nTREE_GUARD_MANAGER:")
    assert (found["guards"].tier, found["compilation metrics"].tier) == (0, 2)


def test_a_payload_has_the_name_of_a_file_whatever_the_trace_calls_it() -> None:
    name = '../<b>"'
    data = make.trace(compiled("0/0", tensor(8, 16)), *(artifact(name, text, id="0/0") for text in "xy"))
    trace = build(Selection((TraceFile(None, make.NAME),)), [reader(data, with_positions=True)])
    found = record_rows(index_records(trace).of(trace.compiles[0]), "a", "0_0")
    assert [row.file for row in found if row.title == name] == ["0_0-b", "0_0-b.2"]
    assert {"0_0-graph", "0_0-guards", "0_0-compilation_metrics"} <= {row.file for row in found}
    assert len({row.file for row in found}) == len(found)


def test_an_equal_payload_is_embedded_once_under_one_id() -> None:
    records = page_context(collect_alerts(report_of("real/demo.log.gz"), Repository()), Options()).records
    keys = [row.key for row in records.payloads]
    assert len(keys) == len(set(keys)) < sum(len(found) for found in records.rows.values())
    assert records.chunk_ids == {key: f"z{number}" for number, key in enumerate(keys)}
    assert [row.tier for row in records.payloads] == sorted(row.tier for row in records.payloads)


def test_a_row_shows_its_title_as_text_and_opens_only_what_is_embedded() -> None:
    row = RecordRow(title="<b>", count=3, size=12, key="k", tier=0, make=bytes, file="0_0-b")
    embedded, not_embedded = (str(rows_html([row], ids, escape)) for ids in ({"k": "z4"}, {}))
    assert "&lt;b&gt; <span" in embedded
    assert 'data-chunk="z4" data-file="0_0-b"' in embedded
    assert "× 3" in embedded
    assert "data-chunk" not in not_embedded
    assert "--embed all" in not_embedded


def test_records_of_the_two_graphs_of_autograd_are_kept_apart() -> None:
    compile = report_of("real/demo.log.gz").trace.frames[0].compiles[0]
    found = record_rows(index_records(report_of("real/demo.log.gz").trace).of(compile), "a")
    notes = [row.note for row in found if row.title == "generated code"]
    assert notes == ["forward", "backward"]
    scripts = [row.note for row in found if row.title == "fx_graph_runnable"]
    assert scripts == ["forward, a script that runs the graph", "backward, a script that runs the graph"]


def test_records_with_names_of_pytorch_have_a_note_on_what_they_are() -> None:
    found = {row.title: row.note for row in all_rows(make.trace(dynamo_start(id="0/0")))}
    assert found["dynamo_start"] == "the call stack at the start"

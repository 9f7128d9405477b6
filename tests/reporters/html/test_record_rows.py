"""The rows of records: what each opens to, which are the same text, and what is embedded first."""

import json

import make
from make import artifact, describe, dynamo_start, reader, tensor
from make import compile as compiled
from markupsafe import escape
from recorded import report_of

from shapelog.model.load import build
from shapelog.model.record_index import index_records
from shapelog.reading.inputs import Selection
from shapelog.reading.trace_files import TraceFile
from shapelog.report.alerts import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html.page_context import page_context
from shapelog.reporters.html.record_rows import RecordRow, record_rows, rows_html

LONG, SHORT = "{" + "x" * 2000 + "}", "{" + "x" * 200 + "}"


def rows(data: bytes) -> dict[str, dict[str, RecordRow]]:
    """The rows of each compile by their titles."""
    trace = build(Selection((TraceFile(None, make.NAME),)), [reader(data, with_positions=True)])
    index = index_records(trace)
    return {compile.label: {row.title: row for row in record_rows(index.of(compile), "a")} for compile in trace.compiles}


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

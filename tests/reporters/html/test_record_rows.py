"""What is opened of a record on the page: its payload, or its header laid out, without what stood in another one."""

import json

import make

from shapelog.model.load import build
from shapelog.model.record_index import listing
from shapelog.reading.inputs import Selection
from shapelog.reading.trace_files import TraceFile
from shapelog.reporters.html.record_rows import Item, items_of

LONG, SHORT = "{" + "x" * 2000 + "}", "{" + "x" * 200 + "}"


def rows(data: bytes) -> dict[str, dict[str, Item]]:
    """The rows of each compile by their titles."""
    trace = build(Selection((TraceFile(None, make.NAME),)), [make.reader(data, with_positions=True)])
    book = listing(trace)
    return {compile.label: {item.title: item for item in items_of(book.of(compile), "a")} for compile in trace.compiles}


def settings(data: bytes, label: str) -> dict[str, object]:
    body = json.loads(rows(data)[label]["compilation metrics"].make())["compilation_metrics"]
    return {key: value for key, value in body.items() if key.endswith("_config")}


def test_settings_stand_in_the_first_metrics_and_are_named_in_the_others() -> None:
    fields = {"inductor_config": LONG, "dynamo_config": SHORT, "recompile_reason": None}
    data = make.run(make.compile("0/0", **fields), make.compile("0/1", (3, 16), **fields))
    assert settings(data, "0/0") == {"inductor_config": LONG, "dynamo_config": SHORT}
    assert settings(data, "0/1") == {
        "inductor_config": "the same 2,002 characters as in the first record of this kind",
        "dynamo_config": SHORT,
    }


def test_settings_that_changed_are_told() -> None:
    data = make.run(make.compile("0/0", inductor_config=LONG), make.compile("0/1", (3, 16), inductor_config=LONG + " "))
    assert settings(data, "0/1") == {"inductor_config": LONG + " "}


def test_several_records_stand_one_a_line() -> None:
    data = make.run(make.start(id="0/0"), make.tensor("L['x']", (2, 3), id="0/0"), make.tensor("L['y']", (2, 3), id="0/0"))
    lines = rows(data)["0/0"]["describe_tensor"].make().decode().split("\n")
    assert [json.loads(line)["describe_tensor"]["size"] for line in lines] == [[2, 3], [2, 3]]


def test_a_payload_is_opened_as_pytorch_had_it() -> None:
    found = rows(make.run(make.compile("0/0")))["0/0"]
    assert found["guards"].make().startswith(b"\nTREE_GUARD_MANAGER:")
    assert (found["guards"].tier, found["compilation metrics"].tier) == (0, 2)

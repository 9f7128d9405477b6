"""Every readable record is listed once, under the compile that it belongs to or outside of all; when it is noted makes no difference."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import make
import pytest
from make import artifact, block, describe, digest, dynamo_start, metrics, only, output_graph, split_records, tensor
from make import compile as compiled
from payload_text import size_mismatch
from recorded import FIXTURES, RECORDED

from shapelog.model.builder import Builder
from shapelog.model.load import build
from shapelog.model.record_index import IndexedRecord, RecordIndex, index_records
from shapelog.model.trace import Trace, merged
from shapelog.reading.inputs import Selection
from shapelog.reading.kinds import UNLISTED
from shapelog.reading.open_trace import OpenTrace
from shapelog.reading.reader import Reader
from shapelog.reading.scanner import Record
from shapelog.reading.trace_files import TraceFile

# Two compiles of one function: the second was compiled again, has a backward of its own, and was described once more without a use.
WHOLE = make.trace(
    make.record("chromium_event", {}, '{\n"name": "x"\n}', id="0/0"),
    compiled("0/0", tensor(8, 16)),
    make.record("describe_storage", {"id": 0, "describer_id": 0, "size": 8}, id="0/0"),
    make.record("aot_forward_graph", {}, "forward", id="0/0"),
    compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], dynamic=[0]),
    make.record("inductor_output_code", {"filename": "/tmp/a.py"}, "code", id="0/1"),
    artifact("fx_graph_runnable", "import torch", id="0/1"),
    artifact("forward_ORIGINAL_BYTECODE", "LOAD_FAST", id="0/1"),
    make.record("quantum_graph", {"name": "q"}, "text", id="0/1"),
    make.record("link", {"name": "a", "url": "b"}),
)
DAMAGED = (
    WHOLE
    + b"this is no record\n"
    + make.line('{"dynamo_start": ]')
    + make.record("aot_forward_graph", {}, "unannounced", id="0/1", has_payload=None)
    + make.record("dump_file", {"name": "a"}, id="0/1", has_payload=digest("gone"))
    + make.line('{"inductor_output_code": {}')
    + b"\n"
    + make.record("aot_backward_graph", {}, "changed", id="0/1", has_payload=digest("original"))
)
TRACES = {
    "whole": WHOLE,
    "damaged": DAMAGED,
    "cut in a payload": DAMAGED[:-5],
    "cut in a header": WHOLE + make.record("aot_forward_graph", {}, "x", id="0/1")[:70],
    "without a last newline": DAMAGED[:-1],
    "long": DAMAGED * 100,
    "foreign": b"no trace at all\n",
    "empty": b"",
}


def made(data: bytes, strict: bool = False, early: bool = True) -> Trace:
    return build(Selection((TraceFile(None, make.NAME),)), [make.reader(data, strict, with_positions=early)])


def names(records: tuple[IndexedRecord, ...]) -> list[str]:
    return [f"{item.kind} {item.name}".strip() for item in records]


def texts(records: tuple[IndexedRecord, ...]) -> list[str]:
    return [item.text for item in records if item.span]


def of(trace: Trace, label: str) -> tuple[IndexedRecord, ...]:
    return index_records(trace).of(only(trace, label))


def everything(trace: Trace) -> Iterator[IndexedRecord]:
    found = index_records(trace)
    for one in trace.compiles:
        yield from found.of(one)
    yield from found.outside


def plain(found: RecordIndex, trace: Trace) -> list[list[tuple[object, ...]]]:
    """All but the readers."""
    return [[item[:-1] for item in records] for records in (*map(found.of, trace.compiles), found.outside)]


def assert_all_are_listed_once(trace: Trace) -> None:
    records = list(everything(trace))
    offsets = [(id(item.reader), item.offset) for item in records]
    assert len(set(offsets)) == len(offsets)
    counted = Counter[str]()
    for reader in trace.readers:
        counted.update({kind: count for kind, count in reader.ledger.records.items() if kind not in UNLISTED})
    assert Counter(item.kind for item in records) == counted
    for one in trace.compiles:
        order = [item.offset for item in index_records(trace).of(one)]
        assert order == sorted(order)


@pytest.mark.parametrize("name", RECORDED)
def test_every_record_of_a_real_trace_is_listed_once_where_the_builder_put_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: dict[int, int] = {}
    choose = Builder._compile_of

    def noting(self: Builder, record: Record, *given: Any) -> object:
        owner = choose(self, record, *given)
        if owner is not None and record.kind not in UNLISTED:
            taken[record.offset] = owner.offset
        return owner

    monkeypatch.setattr(Builder, "_compile_of", noting)
    trace = made(gzip.decompress((FIXTURES / name).read_bytes()))
    assert_all_are_listed_once(trace)
    found = index_records(trace)
    listed = {item.offset: one.offset for one in trace.compiles for item in found.of(one)}
    compiles = {one.offset for one in trace.compiles}
    taken = {offset: owner for offset, owner in taken.items() if owner in compiles}  # those of exports are outside
    assert taken or trace.exports or trace.vllm
    assert {offset: listed[offset] for offset in taken} == taken
    assert not {item.offset for item in found.outside} & set(taken)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", sorted(set(TRACES) - {"foreign", "empty"}))
def test_every_readable_record_of_a_made_trace_is_listed_once(name: str, strict: bool) -> None:
    assert_all_are_listed_once(made(TRACES[name], strict))


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", sorted(TRACES))
def test_the_account_and_the_entries_do_not_depend_on_a_listing(name: str, strict: bool) -> None:
    with_it, without = make.reader(TRACES[name], strict, with_positions=True), make.reader(TRACES[name], strict)
    assert list(with_it.records()) == list(without.records())
    assert with_it.ledger == without.ledger
    assert with_it.problems() == without.problems()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", sorted(set(TRACES) - {"foreign", "empty"}))
def test_a_listing_that_is_asked_for_later_is_the_same(name: str, strict: bool) -> None:
    early, late = made(TRACES[name], strict), made(TRACES[name], strict, early=False)
    before = late.accounts
    assert plain(index_records(late), late) == plain(index_records(early), early)
    assert late.accounts == before == early.accounts


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"G1", b"A1"], ids=["bytes", "letters", "capitals"])
def test_a_damaged_checksum_is_listed_as_it_is(damage: bytes) -> None:
    bad = make.record("dynamo_cpp_guards_str", {}, "tree", id="0/0").replace(digest("tree")[:2].encode(), damage)
    stated = of(made(make.trace(compiled("0/0", tensor(8, 16)), bad)), "0/0")[-1].span
    assert stated is not None
    assert stated.digest == damage.decode("utf-8", "replace") + digest("tree")[2:]


def test_the_records_of_a_compile_come_in_file_order_with_kind_and_name() -> None:
    trace = made(WHOLE)
    assert names(of(trace, "0/0")) == [
        "dynamo_start",
        "describe_tensor",
        "describe_source",
        "dynamo_output_graph",
        "dynamo_cpp_guards_str",
        "compilation_metrics",
        "aot_forward_graph",
    ]
    assert names(of(trace, "0/1"))[0] == "artifact recompile_reasons"
    assert names(of(trace, "0/1"))[-4:] == [
        "inductor_output_code",
        "artifact fx_graph_runnable",
        "artifact forward_ORIGINAL_BYTECODE",
        "quantum_graph q",
    ]
    assert names(index_records(trace).outside) == ["artifact torch_version", "link a"]


def test_a_record_has_the_position_of_its_payload_and_its_texts() -> None:
    payload = "one\n\n\ttwo é"
    written = make.record("inductor_output_code", {"filename": "/tmp/é.py"}, payload, id="0/0")
    data = make.trace(compiled("0/0", tensor(8, 16)), written, compiled("0/1", tensor(8, 16)))
    item = of(made(data), "0/0")[-1]
    assert data[item.offset :].startswith(written)
    assert item.size == len(block(payload))
    assert (item.raw, item.text) == (payload.encode(), payload)
    assert item.span is not None
    assert item.span.digest == digest(payload)
    assert json.loads(item.header) == item.reader.header(item.offset)
    assert json.loads(item.header)["inductor_output_code"] == {"filename": "/tmp/é.py"}
    assert item.header_size == len(item.header)


def test_a_record_without_a_payload_has_no_span_and_no_text() -> None:
    item = of(made(WHOLE), "0/0")[0]
    assert (item.kind, item.span, item.size, item.key, item.raw, item.text) == ("dynamo_start", None, 0, "", b"", "")


def test_equal_payloads_have_one_key_and_others_another() -> None:
    graphs = [make.record("aot_forward_graph", {}, text, id="0/0") for text in ("a", "b", "a")]
    first, second, third = of(made(make.trace(compiled("0/0", tensor(8, 16)), *graphs)), "0/0")[-3:]
    assert first.key == third.key != second.key


def test_what_is_left_of_a_payload_has_not_the_key_of_the_whole() -> None:
    graph = make.record("aot_forward_graph", {}, "one\ntwo\nthree", id="0/0")
    whole, cut = of(made((make.trace(compiled("0/0", tensor(8, 16)), graph) + graph)[:-7]), "0/0")[-2:]
    assert (whole.text, cut.raw) == ("one\ntwo\nthree", b"one\ntwo")
    assert whole.key != cut.key


def test_payloads_that_state_no_checksum_have_keys_by_their_place() -> None:
    graphs = [make.record("aot_forward_graph", {}, "same", id="0/0", has_payload=None) for _ in range(2)]
    first, second = of(made(make.trace(compiled("0/0", tensor(8, 16)), *graphs)), "0/0")[-2:]
    assert texts((first, second)) == ["same", "same"]
    assert len({first.key, second.key}) == 2


def test_records_after_a_reset_belong_to_the_compile_that_began_last() -> None:
    parts = [
        compiled("0/0", tensor(8, 16)) + compiled("0/1", tensor(8, 16)) + make.record("aot_forward_graph", {}, f"g{number}", id="0/0")
        for number in range(3)
    ]
    trace = made(make.trace(*parts))
    assert [texts(of(trace, label))[-1] for label in ("0/0", "0/0#2", "0/0#3")] == ["g0", "g1", "g2"]
    assert [len(of(trace, label)) for label in ("0/0", "0/0#2", "0/0#3")] == [7, 7, 7]
    assert names(of(trace, "0/1#2")) == names(of(trace, "0/1"))


def test_the_tensor_of_the_source_that_opens_a_compile_belongs_to_it() -> None:
    where = {"id": "0/0"}
    exported = describe(tensor(8, 16), **where) + output_graph((8, 16), **where) + metrics("0/0")
    trace = made(make.trace(exported, exported))
    kinds = ["describe_tensor", "describe_source", "dynamo_output_graph", "compilation_metrics"]
    assert [names(of(trace, label)) for label in ("0/0", "0/0#2")] == [kinds, kinds]


def test_a_record_before_the_first_one_that_opens_its_compile_belongs_to_it() -> None:
    early = make.record("aot_forward_graph", {}, "early", id="0/0")
    trace = made(make.trace(early, compiled("0/0", tensor(8, 16)), compiled("0/0", tensor(8, 16))))
    assert texts(of(trace, "0/0"))[0] == "early"


def test_a_backward_that_comes_after_the_next_compile_began_belongs_to_its_forward() -> None:
    graph = make.record("aot_backward_graph", {}, "backward", id="0/0")
    backward = metrics("0/0", "bwd_compilation_metrics", is_forward=False)
    trace = made(make.trace(compiled("0/0", tensor(8, 16)), dynamo_start(id="0/1"), graph, backward, metrics("0/1")))
    assert names(of(trace, "0/0"))[-2:] == ["aot_backward_graph", "bwd_compilation_metrics"]
    assert names(of(trace, "0/1")) == ["dynamo_start", "compilation_metrics"]


def test_the_records_of_every_attempt_are_listed_with_its_number() -> None:
    again = {"id": "0/0", "attempt": 1}
    trace = made(
        make.trace(
            dynamo_start(id="0/0"),
            describe(tensor(8, 16), id="0/0"),
            artifact("dynamo_graph_break_reason", "Graph break in user code at a.py:1", id="0/0"),
            describe(tensor(8, 16), **again),
            output_graph((8, 16), **again),
            artifact("fx_graph_runnable", "code", **again),
            metrics("0/0", attempt=1),
        )
    )
    assert [(item.kind, item.attempt) for item in of(trace, "0/0")] == [
        ("dynamo_start", 0),
        ("describe_tensor", 0),
        ("describe_source", 0),
        ("artifact", 0),
        ("describe_tensor", 1),
        ("describe_source", 1),
        ("dynamo_output_graph", 1),
        ("artifact", 1),
        ("compilation_metrics", 1),
    ]


def test_processes_in_one_file_have_their_own_compiles() -> None:
    parts = [[make.record("aot_forward_graph", {}, f"{own} {n}", id="0/0", process=own) for n in range(2)] for own in (11, 12)]
    begun = [split_records(compiled("0/0", tensor(8, 16), process=own)) for own in (11, 12)]
    interleaved = b"".join(item for pair in zip(*begun, strict=True) for item in pair)
    trace = made(make.trace(interleaved, parts[0][0], parts[1][0], parts[0][1], parts[1][1], process=10))
    found = {one.process: texts(index_records(trace).of(one)) for one in trace.compiles}
    assert {process: payloads[-2:] for process, payloads in found.items()} == {11: ["11 0", "11 1"], 12: ["12 0", "12 1"]}
    assert_all_are_listed_once(trace)


def test_thread_ids_of_old_versions_are_one_process() -> None:
    forward, backward = 139_841_234_567_890, 139_841_234_500_000
    graph = make.record("aot_backward_graph", {}, "backward", id="0/0", process=backward)
    trace = made(make.trace(compiled("0/0", tensor(8, 16), process=forward), graph, process=forward))
    assert names(of(trace, "0/0"))[-1] == "aot_backward_graph"


def test_records_of_compiled_autograd_belong_to_its_capture_and_its_compile() -> None:
    capture = {"compiled_autograd_id": 3, "attempt": 0}
    inner = {"compiled_autograd_id": 3, "frame_id": 1, "frame_compile_id": 0, "attempt": 0}
    trace = made(
        make.trace(
            make.record("compiled_autograd_graph", {}, "captured", **capture),
            artifact("fx_graph_runnable", "one", **capture),
            make.record("dynamo_start", {"stack": []}, **inner),
            artifact("fx_graph_runnable", "two", **inner),
            compiled("1/0", tensor(8, 16)),
        )
    )
    assert [texts(of(trace, label)) for label in ("!3", "!3/1/0")] == [["captured", "one"], ["two"]]
    assert len(of(trace, "1/0")) == 6


def test_ranks_and_traces_side_by_side_keep_their_records_apart() -> None:
    def rank(number: int) -> bytes:
        return make.trace(compiled("0/0", tensor(8, 16)), make.record("aot_forward_graph", {}, f"rank {number}", id="0/0", rank=number))

    files = [OpenTrace(f"rank_{number}.log", rank(number), len(rank(number))) for number in range(2)]
    selection = Selection(tuple(TraceFile(None, file.name, number) for number, file in enumerate(files)))
    trace = build(selection, [Reader(files[0], with_positions=True), Reader(files[1])])
    other = made(make.trace(compiled("0/0", tensor(8, 16)), make.record("aot_forward_graph", {}, "other", id="0/0")))
    whole = merged([trace, other])
    assert [texts(index_records(whole).of(one))[-1] for one in whole.compiles] == ["rank 0", "rank 1", "other"]
    assert names(index_records(whole).outside) == ["artifact torch_version"] * 3
    assert_all_are_listed_once(whole)


def test_records_whose_compile_left_nothing_else_are_outside() -> None:
    trace = made(
        make.trace(
            compiled("0/0", tensor(8, 16)),
            make.record("aot_forward_graph", {}, "whose", id="7/0"),
            make.record("link", {"stack": []}, stack=[]),
        )
    )
    assert names(index_records(trace).outside) == ["artifact torch_version", "aot_forward_graph", "link"]


def test_a_compile_of_another_trace_has_no_records() -> None:
    trace, other = made(WHOLE), made(WHOLE)
    assert index_records(trace).of(other.compiles[0]) == ()


@pytest.mark.parametrize("strict", [False, True])
def test_a_name_is_found_wherever_the_header_has_it(strict: bool) -> None:
    trace = made(
        make.trace(
            compiled("0/0", tensor(8, 16)),
            make.record("artifact", {"encoding": "string", "name": "second"}, "a", id="0/0"),
            artifact('quo"ted é', "b", id="0/0"),
            make.record("artifact", {"encoding": "string"}, "nameless", id="0/0"),
            make.record("dump_file", {"name": "<eval_with_key>.5"}, "c", id="0/0"),
            make.record("dump_file", {"path": "x", "name": "later"}, "d", id="0/0"),
            make.record("dump_file", ["list"], "e", id="0/0"),
            make.record("graph_dump", {"name": "before"}, "f", id="0/0"),
            make.record("graph_dump", {"number": 1}, "g", id="0/0"),
            make.line('{"frame_id": 0, "quantum": {"name": "behind"}, "frame_compile_id": 0, "attempt": 0}'),
            make.line('{"rank": {"name": "no"}, "dump_file": {"name": 5}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}'),
            make.record("dump_file", {"name": "last"}, "h", id="0/0"),
        ),
        strict,
    )
    assert names(of(trace, "0/0"))[6:] == [
        "artifact second",
        'artifact quo"ted é',
        "artifact",
        "dump_file <eval_with_key>.5",
        "dump_file later",
        "dump_file",
        "graph_dump before",
        "graph_dump",
        "quantum behind",
        "dump_file",
        "dump_file last",
    ]


ENDING = '"frame_id": 0, "frame_compile_id": 1, "attempt": 0'
REAL = '"frame_id": 0, "frame_compile_id": 0, "attempt": 0}'


@pytest.mark.parametrize(
    "header",
    [
        '{"aot_forward_graph": {"note": ' + json.dumps("}, " + ENDING + "}") + "}, " + REAL,
        '{"aot_forward_graph": {' + ENDING + "}, " + REAL,
        '{"aot_forward_graph": {"a": {}, ' + ENDING + "}, " + REAL,
        '{"aot_forward_graph": {}, "subgraph_name": ' + json.dumps("}, " + ENDING) + ", " + REAL,
        '{"aot_forward_graph": {}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0, "subgraph_name": "s"}',
        '{"aot_forward_graph": {}, "frame_id": 0, "frame_compile_id": 0}',
        '{"aot_forward_graph": {}, "attempt": 0, "frame_compile_id": 0, "frame_id": 0}',
        '{"aot_forward_graph": [], "rank": 3, ' + REAL,
        '{"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "aot_forward_graph": {' + ENDING + "}}",
        '{"aot_forward_graph":{},"frame_id":0,"frame_compile_id":0,"attempt":0}',
        '{"aot_forward_graph": {}, ' + REAL + "\r",
        '{"aot_forward_graph": {"' + "x" * 1000 + '": 1}, "stack": [' + '{"line": 1}, ' * 50 + "0], " + REAL,
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_text_that_looks_like_an_id_is_not_taken_for_it(header: str, strict: bool) -> None:
    trace = made(
        make.trace(compiled("0/0", tensor(8, 16)), compiled("0/1", tensor(8, 16)), make.line(header), make.record("link", {}, id="0/1")),
        strict,
    )
    assert "aot_forward_graph" in names(of(trace, "0/0"))
    assert names(of(trace, "0/1"))[-1] == "link"
    assert_all_are_listed_once(trace)


@pytest.mark.parametrize(
    "envelope",
    [
        {"frame_id": None, "frame_compile_id": 0},
        {"frame_id": "0", "frame_compile_id": "0"},
        {"frame_id": [0], "frame_compile_id": {}},
        {"frame_id": 0.5, "frame_compile_id": 1e400},
        {"frame_id": -3, "frame_compile_id": 10**30, "attempt": 10**30},
        {"compiled_autograd_id": "x"},
        {"compiled_autograd_id": -1},
        {"frame_id": 10**12, "frame_compile_id": 0, "attempt": -7},
        {"frame_id": 0, "frame_compile_id": 0, "attempt": "first", "has_payload": 7},
        {"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "short"},
        {"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "é" * 32},
        {"frame_id": 0, "frame_compile_id": 0, "attempt": 0, "has_payload": "\ud800" * 8},
        {"has_payload": ["x"] * 40},
    ],
)
@pytest.mark.parametrize("kind", ["aot_forward_graph", "artifact", "dynamo_output_graph", "quantum_graph"])
@pytest.mark.parametrize("strict", [False, True])
def test_strange_ids_and_checksums_lose_no_record(kind: str, envelope: dict[str, object], strict: bool) -> None:
    strange = make.line(json.dumps({kind: {"name": "n"}, **envelope})) + block("payload")
    trace = made(make.trace(compiled("0/0", tensor(8, 16)), strange, compiled("0/1", tensor(8, 16))), strict)
    assert_all_are_listed_once(trace)
    assert "payload" in [item.text for item in everything(trace)]
    assert [len(of(trace, label)) for label in ("0/1",)] == [7]


def test_a_header_may_be_as_deep_as_json_is_read() -> None:
    header = f'{{"artifact": {{"name": "n", "deep": {"[" * 1000}{"]" * 1000}}}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}}'
    trace = made(make.trace(compiled("0/0", tensor(8, 16)), make.line(header) + block("payload")))
    record = next(item for item in of(trace, "0/0") if item.name == "n")
    assert record.body["artifact"]["deep"]


@pytest.mark.parametrize(("attempt", "shown"), [(1 << 63, (1 << 63) - 1), (-(10**400), 0)])
def test_the_number_of_an_attempt_may_be_too_large(attempt: int, shown: int) -> None:
    header = {"artifact": {"name": "n"}, "frame_id": 0, "frame_compile_id": 0, "attempt": attempt}
    reader = make.reader(make.trace(compiled("0/0", tensor(8, 16)), make.line(json.dumps(header)) + block("payload")), with_positions=True)
    assert any(record.name == "n" for record in reader.records())
    found = reader.all_positions()
    (label,) = [number for number, known in enumerate(found.labels) if known[1] == "n"]
    positions = [found[index] for indexes in found.owned.values() for index in indexes]
    assert [position.attempt for position in positions if position.label == label] == [shown]

"""Bytes become entries and problems; every byte is accounted for, and a bad record never hides a good one."""

import json
import os
from pathlib import Path
from typing import Any

import make
import pytest

from shapelog.errors import DATA_LOSS, INFO, Problem
from shapelog.reading import scanner
from shapelog.reading.inputs import select
from shapelog.reading.open_trace import OpenTrace, open_trace
from shapelog.reading.reader import Reader
from shapelog.reading.scanner import Record
from shapelog.reading.trace_files import TraceFile

FIXTURES = Path(__file__).parents[2] / "fixtures" / "real"
GOOD = make.metrics("0/0")
AFTER = make.metrics("0/9")
NO_PREFIX = b"this is no record\n"


def decoded(reader: Reader) -> list[Record]:
    return [record for record in reader.records() if record.header is not None]


def read(data: bytes, strict: bool = False) -> tuple[Reader, list[Any], list[Problem]]:
    """The decoded records and the problems of a made trace, whose account has to balance."""
    reader = make.reader(data, strict)
    entries = decoded(reader)
    assert reader.ledger.balances
    assert reader.ledger.size == len(data)
    return reader, entries, reader.problems()


def between(bad: bytes, strict: bool = False) -> tuple[Reader, Problem]:
    """The one problem that ``bad`` is between two good records, both of which have to be found."""
    reader, entries, problems = read(GOOD + bad + AFTER, strict)
    ids = [entry.header.get("frame_compile_id") for entry in entries if entry.kind == "compilation_metrics"]
    assert (ids[0], ids[-1]) == (0, 9)
    assert [problem.code for problem in problems] == [problems[0].code]
    assert (problems[0].file, problems[0].line) == (make.NAME, 2)
    return reader, problems[0]


@pytest.mark.parametrize(("mark", "severity"), [(b"\xef\xbb\xbf", INFO), (b"\0" * 5000, DATA_LOSS), (b"\0" * ((1 << 20) + 3), DATA_LOSS)])
def test_the_first_record_may_follow_a_byte_order_mark_or_the_nuls_of_a_log_that_was_cut(mark: bytes, severity: str) -> None:
    reader, entries, (problem,) = read(mark + GOOD + AFTER)
    assert [entry.header["frame_compile_id"] for entry in entries if entry.header] == [0, 9]
    assert reader.ledger.unreadable_bytes == len(mark)
    assert (problem.code, problem.line, problem.severity) == ("bad-prefix", 1, severity)


def test_every_record_of_a_whole_trace_is_counted_by_kind() -> None:
    reader, entries, problems = read(make.small_trace())
    assert problems == []
    assert reader.ledger.unreadable_bytes == 0
    assert reader.ledger.records == {
        "artifact": 2,
        "str": 2,
        "dynamo_start": 2,
        "describe_tensor": 2,
        "describe_source": 2,
        "create_symbol": 1,
        "dynamo_output_graph": 2,
        "dynamo_cpp_guards_str": 2,
        "compilation_metrics": 2,
    }
    assert len(entries) == sum(reader.ledger.records.values())


def test_entries_come_in_file_order_with_header_process_offset_and_payload() -> None:
    reader, entries, _ = read(make.trace(make.recompile_reasons("0/0: a\nb", id="0/1", process=77)))
    assert [entry.offset for entry in entries] == sorted(entry.offset for entry in entries)
    last = entries[-1]
    assert (last.kind, last.process, last.header["artifact"]["name"]) == ("artifact", 77, "recompile_reasons")
    assert last.payload is not None
    assert reader.payload_text(last.payload) == "0/0: a\nb"
    assert reader.header(last.offset) == last.header


def test_kinds_that_the_model_has_no_use_for_are_counted_and_give_no_entry() -> None:
    data = (
        make.record("chromium_event", {}, '{\n"name": "dynamo"\n}', id="0/0")
        + make.record("describe_storage", {"id": 0, "describer_id": 0, "size": 8}, id="0/0")
        + make.artifact("fx_graph_runnable", "import torch", id="0/0")
        + make.artifact("forward_ORIGINAL_BYTECODE", "LOAD_FAST", id="0/0")
        + make.record("dump_file", {"name": "x"})
    )
    for strict in (False, True):
        reader, entries, problems = read(data, strict)
        assert (entries, problems) == ([], [])
        assert reader.ledger.unused == {
            "chromium_event": 1,
            "describe_storage": 1,
            "artifact fx_graph_runnable": 1,
            "artifact *_ORIGINAL_BYTECODE": 1,
            "dump_file": 1,
        }
        assert reader.ledger.unknown == {}


def test_an_automatic_dynamic_event_gives_an_entry_and_other_events_do_not() -> None:
    event = make.record("chromium_event", {}, json.dumps({"name": "automatic_dynamic", "args": {}}, indent=0), id="0/1")
    reader, entries, _ = read(make.record("chromium_event", {}, '{\n"name": "x"\n}') + event)
    assert [entry.kind for entry in entries] == ["chromium_event"]
    assert reader.ledger.records == {"chromium_event": 2}


def test_unknown_kinds_and_artifacts_are_counted_by_name() -> None:
    data = make.record("quantum_graph", {"a": 1}, "payload", id="0/0") * 3 + make.artifact("new_thing", "text", id="0/0")
    reader, entries, problems = read(data)
    assert (entries, problems) == ([], [])
    assert reader.ledger.unknown == {"quantum_graph": 3}
    assert reader.ledger.records == {"quantum_graph": 3, "artifact": 1}
    assert reader.ledger.unused == {"quantum_graph": 3, "artifact new_thing": 1}


def test_the_kind_is_found_behind_envelope_keys() -> None:
    header = {"frame_id": 0, "frame_compile_id": 4, "attempt": 0, "compilation_metrics": {"compile_id": "0/4"}}
    _, entries, problems = read(make.line(json.dumps(header)))
    assert problems == []
    assert [(entry.kind, entry.header) for entry in entries] == [("compilation_metrics", header)]


def test_an_artifact_whose_name_is_not_its_first_field_is_used() -> None:
    reader, entries, problems = read(make.record("artifact", {"encoding": "string", "name": "dynamo_error"}, "boom"))
    assert problems == []
    assert [reader.payload_text(entry.payload) for entry in entries if entry.payload] == ["boom"]


def test_a_line_without_a_prefix_is_a_problem() -> None:
    reader, problem = between(NO_PREFIX)
    assert (problem.code, problem.severity, problem.count) == ("bad-prefix", DATA_LOSS, 1)
    assert "this is no record" in problem.message
    assert (reader.ledger.unreadable_bytes, reader.ledger.unreadable_records) == (len(NO_PREFIX), 1)


def test_lines_without_a_prefix_that_follow_each_other_are_one_problem_with_their_number() -> None:
    reader, problem = between(NO_PREFIX * 7)
    assert (problem.code, problem.count) == ("bad-prefix", 7)
    assert (reader.ledger.unreadable_bytes, reader.ledger.unreadable_records) == (7 * len(NO_PREFIX), 7)


def test_a_blank_line_is_counted_but_loses_nothing() -> None:
    _, problem = between(b"\n")
    assert (problem.code, problem.severity) == ("bad-prefix", INFO)


@pytest.mark.parametrize(
    "header",
    [
        '{"compilation_metrics": {"compile_id": "0/1"',
        '{"compilation_metrics": {]}',
        '{"compilation_metrics": {}} trailing',
        '{"describe_tensor": {"id": 0,, "size": []}}',
        '{"quantum_graph": ',
        '{"frame_id": 0}',
        "{}",
        "{" * 5000,
        '{"dynamo_start": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_a_header_that_is_no_json_object_with_a_kind_is_a_problem(header: str) -> None:
    bad = make.line(header)
    reader, problem = between(bad)
    assert (problem.code, problem.severity) == ("bad-json", DATA_LOSS)
    assert (reader.ledger.unreadable_bytes, reader.ledger.unreadable_records) == (len(bad), 1)


def test_a_record_with_bad_json_takes_its_payload_with_it() -> None:
    bad = make.line('{"dynamo_output_graph": {"sizes"') + make.block("graph()\n")
    reader, problem = between(bad)
    assert problem.code == "bad-json"
    assert reader.ledger.unreadable_bytes == len(bad)


@pytest.mark.parametrize("kind", ["dynamo_cpp_guards_str", "inductor_output_code", "link", "quantum_graph"])
def test_an_announced_payload_that_is_not_there_is_a_problem(kind: str) -> None:
    _, problem = between(make.record(kind, id="0/1", has_payload=make.digest("gone")))
    assert (problem.code, problem.severity) == ("missing-payload", DATA_LOSS)
    assert kind in problem.message


@pytest.mark.parametrize("kind", ["dynamo_cpp_guards_str", "inductor_output_code", "link", "quantum_graph"])
def test_a_payload_that_the_header_does_not_announce_is_a_problem(kind: str) -> None:
    _, problem = between(make.record(kind, id="0/1") + make.block("stray"))
    assert problem.code == "unannounced-payload"
    assert kind in problem.message


def test_a_payload_that_is_not_announced_is_used_all_the_same() -> None:
    reader, entries, _ = read(make.record("dynamo_cpp_guards_str", id="0/1") + make.block("stray\ntext"))
    assert [reader.payload_text(entry.payload) for entry in entries if entry.payload] == ["stray\ntext"]


def test_a_payload_is_verified_when_it_is_read_and_a_wrong_checksum_reported() -> None:
    bad = make.record("dynamo_cpp_guards_str", None, "changed", id="0/0", has_payload=make.digest("original"))
    reader, (_, entry, _), problems = read(GOOD + bad + AFTER)
    assert problems == []
    assert entry.payload is not None
    assert reader.payload_text(entry.payload, entry.offset) == "changed"
    (problem,) = reader.problems()
    assert (problem.code, problem.line) == ("checksum-mismatch", 2)


def test_equal_payloads_are_verified_once() -> None:
    reader, entries, _ = read(make.output_graph((2, 3), id="0/0") * 3)
    texts = {reader.payload_text(entry.payload) for entry in entries if entry.payload}
    assert len(texts) == 1
    assert reader.ledger.payloads_verified == 1


def test_strict_verifies_payloads_that_are_not_read_too() -> None:
    bad = make.record("inductor_output_code", {}, "changed", id="0/0", has_payload=make.digest("original"))
    assert read(bad + AFTER)[2] == []
    reader, problem = between(bad, strict=True)
    assert problem.code == "checksum-mismatch"
    assert reader.ledger.payloads_verified == 1


def test_checksums_of_a_file_with_line_ends_of_windows_are_those_of_the_text() -> None:
    reader, records, problems = read(make.small_trace().replace(b"\n", b"\r\n"), strict=True)
    assert problems == []
    assert [record.kind for record in records] == [record.kind for record in read(make.small_trace())[1]]
    assert not any("\r" in reader.payload_text(record.payload) for record in records if record.payload)


@pytest.mark.parametrize("damaged", [0, 1])
def test_strict_verifies_each_of_several_payloads_that_state_the_same_checksum(damaged: int) -> None:
    payloads = [make.artifact("note", "the same text") for _ in range(2)]
    payloads[damaged] = payloads[damaged].replace(b"\tthe same text", b"\tthe sane text")
    reader, _, problems = read(make.trace(*payloads), strict=True)
    assert [(problem.code, problem.line) for problem in problems] == [
        ("checksum-mismatch", make.trace(*payloads[:damaged]).count(b"\n") + 1)
    ]
    assert reader.ledger.payloads_verified == 3


def test_strict_decodes_every_header_also_those_that_are_only_counted() -> None:
    bad = make.line('{"describe_storage": {"id": ]}}')
    reader, _, problems = read(bad + AFTER)
    assert (reader.ledger.records["describe_storage"], problems) == (1, [])
    assert between(bad, strict=True)[1].code == "bad-json"


@pytest.mark.parametrize("path", sorted(FIXTURES.rglob("*.log.gz")), ids=lambda path: path.relative_to(FIXTURES).as_posix())
def test_strict_finds_nothing_wrong_in_what_pytorch_wrote_and_reads_the_same_entries(path: Path) -> None:
    opened = open_trace(select(str(path)).files[0])
    strict, quick = Reader(opened, strict=True), Reader(opened)
    assert list(strict.records()) == list(quick.records())
    assert [problem for problem in strict.problems() if problem.severity != INFO] == []
    for reader in (strict, quick):
        assert reader.ledger.balances
        assert reader.ledger.size == opened.size
        assert reader.ledger.unreadable_bytes == 0
    assert (strict.ledger.records, strict.ledger.sizes) == (quick.ledger.records, quick.ledger.sizes)
    assert strict.ledger.unused == quick.ledger.unused


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("record", [GOOD, make.torch_version(), make.line('{"quantum_graph": {}}'), make.line('{"link": {"name": "a"}')])
def test_a_file_that_ends_inside_a_first_line_is_cut_off(record: bytes, strict: bool) -> None:
    for end in range(1, record.index(b"\n") - 1):
        data = GOOD + record[:end]
        reader, entries, (problem,) = read(data, strict)
        assert (problem.code, problem.severity, problem.line) == ("cut-off", DATA_LOSS, 2)
        assert (reader.ledger.unreadable_bytes, len(entries)) == (end, 1)


@pytest.mark.parametrize(
    "last", [b"Traceback (most recent", b"v1120", b"V1120x", b"V11201", b"V1120 08:27:33.313000 main torch", b"V1120\n", b"x\nV1"]
)
def test_a_file_that_ends_with_another_line_is_not_cut_off(last: bytes) -> None:
    reader, _, (problem,) = read(GOOD + last)
    assert (problem.code, problem.severity, problem.line) == ("bad-prefix", DATA_LOSS, 2)
    assert reader.ledger.unreadable_bytes == len(last)


@pytest.mark.parametrize("kind", ["dynamo_cpp_guards_str", "chromium_event", "inductor_output_code", "quantum_graph"])
def test_a_file_that_ends_inside_a_payload_is_cut_off_and_the_record_still_counts(kind: str) -> None:
    payload = "one\ntwo\nthree"
    record = make.record(kind, {}, payload, id="0/0")
    start = len(record) - len(make.block(payload))
    for end in range(start + 1, len(record) - 1):
        if record[end - 1 : end] != b"\n":
            reader, entries, _ = read(GOOD + record[:end])
            for entry in entries:
                if entry.payload is not None:
                    reader.payload_text(entry.payload, entry.offset)
            assert [(problem.code, problem.line) for problem in reader.problems()] == [("cut-off", 2)], record[start:end]
            assert reader.ledger.records == {"compilation_metrics": 1, kind: 1}


@pytest.mark.parametrize("kind", ["dynamo_cpp_guards_str", "chromium_event", "inductor_output_code", "quantum_graph"])
def test_a_file_that_ends_with_a_line_of_a_payload_has_a_wrong_checksum_there(kind: str) -> None:
    record = make.record(kind, {}, "one\ntwo\nthree", id="0/0")
    reader, entries, _ = read(GOOD + record[: record.index(b"three") - 1])
    for entry in entries:
        if entry.payload is not None:
            reader.payload_text(entry.payload, entry.offset)
    assert [(problem.code, problem.line) for problem in reader.problems()] == [("checksum-mismatch", 2)]


def test_a_header_that_ends_with_a_brace_too_early_is_cut_off() -> None:
    record = make.record("describe_storage", {"id": 0}, id="0/0")
    assert [problem.code for problem in read(GOOD + record[: record.index(b"}") + 1])[2]] == ["cut-off"]


def test_a_process_number_of_thousands_of_digits_is_no_end() -> None:
    bad = make.metrics("0/1").replace(b" 4242 torch", b" " + b"7" * 5000 + b" torch")
    assert between(bad)[1].code == "bad-prefix"


@pytest.mark.parametrize(
    "name", ["dynamo_start", "describe_tensor", "compilation_metrics", "str", "create_symbol", "describe_storage", "chromium_event"]
)
@pytest.mark.parametrize("strict", [True, False])
def test_an_artifact_that_has_the_name_of_a_kind_is_an_artifact(name: str, strict: bool) -> None:
    reader, entries, problems = read(make.artifact(name, "text", id="0/7") + AFTER, strict)
    assert ([entry.kind for entry in entries], problems) == (["compilation_metrics"], [])
    assert reader.ledger.unused == {f"artifact {name}": 1}


@pytest.mark.parametrize("name", ["torch_version", "recompile_reasons", "fx_graph_runnable"])
@pytest.mark.parametrize("strict", [True, False])
def test_a_kind_that_has_the_name_of_an_artifact_is_a_kind(name: str, strict: bool) -> None:
    reader, entries, problems = read(make.record(name, {"a": 1}, "text", id="0/7") + AFTER, strict)
    assert ([entry.kind for entry in entries], problems) == (["compilation_metrics"], [])
    assert reader.ledger.records[name] == 1


@pytest.mark.parametrize("kind", ["dynamo_cpp_guards_str", "chromium_event", "inductor_output_code", "quantum_graph"])
@pytest.mark.parametrize("strict", [False, True])
def test_a_whole_payload_without_a_newline_at_the_end_of_the_file_is_no_problem(kind: str, strict: bool) -> None:
    reader, _, problems = read((GOOD + make.record(kind, {}, "one\ntwo", id="0/0"))[:-1], strict)
    assert problems == []
    assert reader.ledger.records == {"compilation_metrics": 1, kind: 1}


def test_a_whole_header_without_a_newline_at_the_end_of_the_file_is_no_problem() -> None:
    _, entries, problems = read((GOOD + AFTER)[:-1])
    assert problems == []
    assert [entry.header["frame_compile_id"] for entry in entries] == [0, 9]


@pytest.mark.parametrize("text", ["", "\n", "one\n", "\n\n\n", "\ttabs\n\t\tmore", "V1120 08:27:33.313000 1 torch/x.py:1] {}"])
def test_payloads_keep_their_blank_lines_and_tabs_and_what_looks_like_a_record(text: str) -> None:
    data = GOOD + make.record("dynamo_cpp_guards_str", None, text, id="0/0") + AFTER
    reader, entries, problems = read(data, strict=True)
    assert problems == []
    assert [reader.payload_text(entry.payload) for entry in entries if entry.payload] == [text]
    assert len(entries) == 3


@pytest.mark.parametrize("character", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029", "\0", "\x1b", "é", "☃"])
def test_characters_that_other_programs_split_lines_at_stay_inside_a_payload(character: str) -> None:
    text = f"{character}one{character}\n{character}\ntwo{character}"
    reader, entries, problems = read(GOOD + make.record("dynamo_output_graph", {}, text, id="0/0") + AFTER, strict=True)
    assert problems == []
    assert [reader.payload_text(entry.payload) for entry in entries if entry.payload] == [text]


def test_empty_lines_of_a_payload_may_lack_their_tab() -> None:
    record = make.record("dynamo_output_graph", {}, "one\n\n\ntwo", id="0/0").replace(b"\n\t\n", b"\n\n").replace(b"\n\t\n", b"\n\n")
    assert b"one\n\n\n\ttwo" in record
    reader, entries, problems = read(GOOD + record + AFTER, strict=True)
    assert problems == []
    assert [reader.payload_text(entry.payload) for entry in entries if entry.payload] == ["one\n\n\ntwo"]


def test_a_payload_that_is_no_utf8_is_read_with_replacements() -> None:
    reader, entries, problems = read(make.record("dynamo_output_graph", {}, b"na\xefve", id="0/0"))
    assert problems == []
    assert [reader.payload_text(entry.payload) for entry in entries if entry.payload] == ["na\ufffdve"]
    assert reader.problems() == []


def test_a_header_that_is_no_utf8_is_read_with_replacements() -> None:
    _, entries, problems = read(make.line(b'{"str": ["na\xefve.py", 3]}'))
    assert problems == []
    assert [entry.header["str"] for entry in entries] == [["na\ufffdve.py", 3]]


@pytest.mark.parametrize("name", ['with "quotes"', "back\\slash", "tab\there", "ünïcödé"])
def test_an_artifact_is_counted_by_the_name_that_its_json_spells(name: str) -> None:
    for strict in (False, True):
        reader, entries, problems = read(make.artifact(name, "text", id="0/0"), strict)
        assert (entries, problems) == ([], [])
        assert reader.ledger.unused == {f"artifact {name}": 1}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", '"\\ud800"', "1" * 40])
def test_json_that_only_python_reads_is_read(value: str) -> None:
    header = f'{{"compilation_metrics": {{"start_time": {value}, "note": NaN}}, "frame_id": 0, "frame_compile_id": 0, "attempt": 0}}'
    _, entries, problems = read(GOOD + make.line(header) + AFTER)
    assert problems == []
    assert len(entries) == 3


def test_problems_name_the_line_that_the_record_begins_on() -> None:
    data = (
        make.output_graph((2, 3), id="0/0")
        + NO_PREFIX
        + make.record("dynamo_output_graph", {}, "a\n\nb", id="0/1")
        + make.line('{"dynamo_start": ]')
        + b"\n"
        + make.record("dynamo_start", {"stack": []}, has_payload="0" * 32)
    )
    lines = data.split(b"\n")
    _, _, problems = read(data)
    assert [problem.code for problem in problems] == ["bad-prefix", "bad-json", "bad-prefix", "missing-payload"]
    assert [lines[problem.line - 1] for problem in problems] == [
        NO_PREFIX[:-1],
        make.line('{"dynamo_start": ]')[:-1],
        b"",
        make.record("dynamo_start", {"stack": []}, has_payload="0" * 32)[:-1],
    ]


def test_a_file_of_problems_lists_the_first_and_counts_the_others() -> None:
    reader, entries, problems = read((NO_PREFIX + GOOD) * 300)
    assert len(entries) == 300
    assert (problems[-1].code, problems[-1].count) == ("more-problems", 300 - (len(problems) - 1))
    assert reader.ledger.unreadable_records == 300


def test_payload_lines_before_the_first_record_are_unreadable() -> None:
    reader, entries, problems = read(b"\tend of a payload\n\tthat began elsewhere\n" + GOOD)
    assert [problem.code for problem in problems] == ["bad-prefix"]
    assert (len(entries), problems[0].line) == (1, 1)
    assert reader.ledger.unreadable_bytes == 40


def test_records_and_unreadable_ones_add_up_to_the_lines_that_begin_one() -> None:
    data = make.small_trace() + NO_PREFIX + make.line('{"dynamo_start": ]') + b"\n" + make.line('{"quantum_graph": {}}') + GOOD
    reader, _, _ = read(data)
    begun = sum(not line.startswith(b"\t") for line in data.splitlines())
    assert reader.ledger.records.total() + reader.ledger.unreadable_records == begun


def test_an_empty_trace_has_nothing_and_no_problem() -> None:
    reader, entries, problems = read(b"")
    assert (entries, problems, reader.ledger.records) == ([], [], {})


MIXED = (
    make.small_trace()
    + NO_PREFIX
    + make.line('{"dynamo_start": ]')
    + make.record("chromium_event", {}, '{\n"name": "x"\n}', id="0/0")
    + make.record("inductor_output_code", {}, "code", id="0/0")
    + make.record("quantum_graph", {}, "text", id="0/0")
)


@pytest.mark.parametrize("line", [b"\n", b"x\n", b"V1120 \n", b"V1120 08:27:33.3 1 a.py:3] text\n", b"x\n\ty\n"])
def test_lines_that_belong_to_no_record_are_one_step_of_the_search_however_many(line: bytes) -> None:
    data = GOOD + line * 100_000 + AFTER
    assert [place.json_start > 0 for place in scanner.scan(data, len(data))] == [True, False, True]
    _, _, (problem,) = read(data)
    assert (problem.code, problem.line, problem.count) == ("bad-prefix", 2, 100_000)


@pytest.mark.parametrize("window", [1, 7, 100, 1000])
def test_records_are_the_same_wherever_a_window_of_the_search_ends(window: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "mixed.log"
    path.write_bytes(MIXED + b"no end of line")
    whole = make.reader(path.read_bytes())
    records = list(whole.records())
    monkeypatch.setattr(scanner, "_WINDOW", window)
    for opened in (OpenTrace("mixed.log", path.read_bytes(), path.stat().st_size), open_trace(TraceFile(path, "mixed.log"))):
        reader = Reader(opened)
        assert list(reader.records()) == records
        assert [problem.line for problem in reader.problems()] == [problem.line for problem in whole.problems()]


@pytest.mark.parametrize("left", [0, 1, 4000, len(MIXED) - 1])
@pytest.mark.parametrize("is_read_before", [False, True])
def test_what_is_cut_off_a_file_while_it_is_read_is_reported_and_the_rest_is_read(tmp_path: Path, left: int, is_read_before: bool) -> None:
    path = tmp_path / "mixed.log"
    path.write_bytes(MIXED * 400)  # more than what is read at once
    reader = Reader(open_trace(TraceFile(path, "mixed.log")))
    records = reader.records()
    next(records)
    os.truncate(path, path.stat().st_size if is_read_before else left)
    found = [record for record in records if record.payload is not None]
    os.truncate(path, left)
    for record in found:
        assert record.payload is not None
        reader.payload_text(record.payload, record.offset)
    problems = reader.problems()
    assert problems[-1].message == "the file was truncated while it was being read; the rest is lost"
    assert (problems[-1].severity, reader.ledger.account().balances) == (DATA_LOSS, True)


PLAIN = {
    "event": make.record("chromium_event", {}, '{\n"name": "dynamo"}', id="0/0"),
    "automatic": make.record("chromium_event", {}, '{\n"name": "automatic_dynamic"}', id="0/0"),
    "bare event": make.record("chromium_event", {}, id="0/0"),
    "event of another shape": make.record("chromium_event", {"x": 1}, "[]", id="0/0"),
    "long event": make.record("chromium_event", {"x": "y" * 900}, "[]", id="0/0"),
    "event without its payload": make.record("chromium_event", {}, "[]", id="0/0").split(b"\n")[0] + b"\n",
    "event with a payload that is not announced": make.record("chromium_event", {}, id="0/0") + b"\t[]\n",
    "event that ends early": make.record("chromium_event", {}, "[]", id="0/0").replace(b'"}\n', b'"\n', 1),
    "storage": make.record("describe_storage", {"id": 0, "describer_id": 0, "size": 8}, id="0/0"),
    "storage with a payload": make.record("describe_storage", {"id": 0}, "[]", id="0/0"),
    "storage without its payload": make.record("describe_storage", {"id": 0}, "[]", id="0/0").split(b"\n")[0] + b"\n",
    "storage with a payload that is not announced": make.record("describe_storage", {"id": 0}, id="0/0") + b"\t[]\n",
    "storage that ends early": make.record("describe_storage", {"id": 0}, id="0/0").replace(b"}\n", b"\n", 1),
}


@pytest.mark.parametrize("first", PLAIN)
@pytest.mark.parametrize("second", PLAIN)
def test_a_record_that_looks_whole_is_counted_as_if_its_header_were_decoded(
    first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = PLAIN[first] + PLAIN[second] + GOOD
    glanced_at = make.reader(data)
    records = list(glanced_at.records())
    monkeypatch.setattr(Reader, "_looks_whole", lambda *_: False)
    decoded = make.reader(data)
    assert list(decoded.records()) == records
    assert decoded.ledger == glanced_at.ledger
    assert decoded.problems() == glanced_at.problems()


@pytest.mark.parametrize(
    ("data", "time"),
    [
        (make.small_trace(), "1120 08:27:33.313000"),
        (make.small_trace() + b"V0102 03:04:05.6 7 x.py:1] {}\n\ta payload\n\tV0102 00:00:00.0 7 x.py:1] {}\n", "0102 03:04:05.6"),
        (make.small_trace() + b"V0102 03:04:05.6 7 x.py:1] {}\n\tcut o", "0102 03:04:05.6"),
        (make.prefix() + b'{"str": ["a", 1]}', "1120 08:27:33.313000"),
        (b"no record\n", ""),
        (b"", ""),
    ],
    ids=["plain", "behind a payload", "cut off", "one line", "foreign", "empty"],
)
def test_the_time_of_the_last_record_is_as_written(data: bytes, time: str) -> None:
    assert make.reader(data).last_time() == time


def test_a_last_record_that_is_very_long_has_no_time() -> None:
    assert make.reader(make.small_trace() + make.artifact("big", "x" * (1 << 20))).last_time() == ""

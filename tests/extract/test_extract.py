"""Payloads as files: each is written under its compilation, or named with the reason."""

import ast
import json
import os
from collections import Counter
from pathlib import Path

import make
import pytest
import vllm_traces
from recorded import FIXTURES, RECORDED

import shapelog
from shapelog.errors import ShapelogError
from shapelog.extract import payload_files
from shapelog.extract.extract import extract
from shapelog.extract.extraction import Extraction
from shapelog.extract.selection import Wanted, wanted
from shapelog.model.record_index import index_records
from shapelog.reading.inputs import InputOptions, select

EVERYTHING = Wanted()


def extracted(tmp_path: Path, source: bytes | Path, meant: Wanted = EVERYTHING) -> Extraction:
    """A trace, extracted to ``out``."""
    if isinstance(source, bytes):
        (tmp_path / make.NAME).write_bytes(source)
        source = tmp_path / make.NAME
    out = tmp_path / "out"
    out.mkdir()
    return extract(select(str(source), InputOptions()), out, meant)


def tree(tmp_path: Path) -> dict[str, bytes]:
    """Every file below ``out``, by its path."""
    out = tmp_path / "out"
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}


def job_of_two(tmp_path: Path) -> Path:
    """A directory with the traces of two ranks that did the same."""
    jobs = tmp_path / "job"
    jobs.mkdir()
    for rank in range(2):
        (jobs / f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log").write_bytes(make.small_trace())
    return jobs


def test_each_payload_is_a_file_of_its_compilation(tmp_path: Path) -> None:
    found = extracted(tmp_path, make.small_trace())
    files = tree(tmp_path)
    assert sorted(files) == sorted(file.path for file in found.files)
    assert {
        "0_0/graph.py",
        "0_0/guards.txt",
        "0_0/compilation_metrics.json",
        "0_1/recompile_reasons.txt",
        "outside/torch_version.json",
    } <= set(files)
    assert [(compile.label, compile.directory, compile.function) for compile in found.processes[0].compiles] == [
        ("0/0", "0_0", "f"),
        ("0/1", "0_1", "f"),
    ]


def test_a_payload_is_written_byte_for_byte(tmp_path: Path) -> None:
    text = b"one\n\ttwo\r\n\n\x0bthree \xff\xe2\x80\xa8\n"
    found = extracted(tmp_path, make.trace(make.compile("0/0", make.tensor(2)), make.artifact("notes", text, id="0/0")))
    assert tree(tmp_path)["0_0/notes.txt"] == text
    file = next(file for file in found.files if file.name == "notes")
    assert (file.size, file.digest, file.is_verbatim, file.problem) == (len(text), make.digest(text), True, "")


def test_a_long_payload_is_copied_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payload_files, "_MOST_READ", 10)
    monkeypatch.setattr(payload_files, "_PIECE", 7)
    for number, text in enumerate((b"\n" * 50, b"abcdef\n\tghi\n\n\nx" * 9, b"abcdef\n" * 8, b"0123456789" * 5)):
        where = tmp_path / str(number)
        where.mkdir()
        found = extracted(where, make.trace(make.compile("0/0", make.tensor(2)), make.artifact("notes", text, id="0/0")))
        assert tree(where)["0_0/notes.txt"] == text
        assert not [file for file in found.files if file.problem]


def test_records_without_a_payload_are_lines_with_the_names_of_files(tmp_path: Path) -> None:
    extracted(tmp_path, make.small_trace())
    lines = [json.loads(line) for line in tree(tmp_path)["0_0/records.jsonl"].splitlines()]
    assert [next(iter(line)) for line in lines] == ["dynamo_start", "describe_tensor", "describe_source"]
    assert [frame["filename"] for frame in lines[0]["dynamo_start"]["stack"]] == [make.MAIN, make.MODEL]


def test_files_are_named_where_nothing_was_compiled(tmp_path: Path) -> None:
    asked = {"symbol": "u0", "stack": [{"line": 3, "name": "forward", "filename": 0}]}
    extracted(tmp_path, make.strings(make.MODEL) + make.record("create_unbacked_symbol", asked))
    found = json.loads(tree(tmp_path)["outside/records.jsonl"])
    assert found["create_unbacked_symbol"]["stack"][0]["filename"] == make.MODEL


def test_a_number_that_two_processes_gave_to_different_files_stays_a_number(tmp_path: Path) -> None:
    data = make.trace(make.compile("0/0", make.tensor(8, 16))) + make.strings("/other.py", first=1, process=make.PROCESS + 1)
    extracted(tmp_path, data)
    (start, *_) = tree(tmp_path)[f"process_{make.PROCESS}/0_0/records.jsonl"].splitlines()
    assert [frame["filename"] for frame in json.loads(start)["dynamo_start"]["stack"]] == [1, make.MODEL]


def test_attempts_before_the_last_have_directories_of_their_own(tmp_path: Path) -> None:
    data = make.trace(
        make.recompile_reasons("0/0: x", id="0/1"),
        make.artifact("dynamo_graph_break_reason", "a break", id="0/1"),
        make.artifact("notes", "again", id="0/1", attempt=1),
        make.metrics("0/1", attempt=1),
    )
    extracted(tmp_path, data)
    assert set(tree(tmp_path)) == {
        "0_1/attempt_0/dynamo_graph_break_reason.txt",
        "0_1/recompile_reasons.txt",
        "0_1/notes.txt",
        "0_1/compilation_metrics.json",
        "outside/torch_version.json",
    }


def test_ids_that_came_again_have_directories_of_their_own(tmp_path: Path) -> None:
    once = make.compile("0/0", make.tensor(2))
    extracted(tmp_path, make.trace(once, once))
    assert {"0_0/graph.py", "0_0.2/graph.py"} <= set(tree(tmp_path))


def test_each_rank_has_a_directory(tmp_path: Path) -> None:
    found = extracted(tmp_path, job_of_two(tmp_path))
    assert {"rank_0/0_0/graph.py", "rank_1/0_1/guards.txt", "rank_1/outside/torch_version.json"} <= set(tree(tmp_path))
    assert [(item.rank, item.directory) for item in found.processes] == [(0, "rank_0"), (1, "rank_1")]


def test_a_rank_can_be_chosen(tmp_path: Path) -> None:
    extracted(tmp_path, job_of_two(tmp_path), wanted(rank=1))
    assert {path.split("/")[0] for path in tree(tmp_path)} == {"rank_1"}


def test_compilations_and_kinds_can_be_chosen(tmp_path: Path) -> None:
    extracted(tmp_path, make.small_trace(), wanted(["[0/1]"], ["graph,dynamo_cpp_guards_str"]))
    assert set(tree(tmp_path)) == {"0_1/graph.py", "0_1/guards.txt"}


@pytest.mark.parametrize(
    ("meant", "message"),
    [
        (wanted(["7/7"]), "made.log: no compilation 7/7; ids: 0/0 0/1"),
        (wanted(kinds=["nothing"]), "made.log: no payload of kind nothing; kinds: compilation_metrics, create_symbol, describe_source"),
        (wanted(rank=5), "made.log: no rank 5; the trace has no ranks"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(tmp_path: Path, meant: Wanted, message: str) -> None:
    with pytest.raises(ShapelogError, match=message.replace("(", r"\(")):
        extracted(tmp_path, make.small_trace(), meant)
    assert tree(tmp_path) == {}


def test_one_of_several_ids_that_is_not_there_is_named(tmp_path: Path) -> None:
    found = extracted(tmp_path, make.small_trace(), wanted(["0/0", "7/7"]))
    assert found.unreadable == ("made.log: no compilation 7/7; ids: 0/0 0/1",)


def test_events_are_one_file_for_trace_viewers(tmp_path: Path) -> None:
    event = json.dumps({"name": "dynamo", "ph": "B", "ts": 1.5}, indent=0)
    data = make.trace(
        make.compile("0/0", make.tensor(2)),
        make.record("chromium_event", {}, event),
        make.record("chromium_event", {}, "{cut"),
        make.record("chromium_event", {}, event),
    )
    found = extracted(tmp_path, data)
    assert json.loads(tree(tmp_path)["chromium_events.json"]) == [json.loads(event)] * 2
    assert [(item.kind, item.reason) for item in found.left_out] == [("chromium_event", "it is no JSON")]
    at = found.left_out[0].offset
    assert data[at:].startswith(make.prefix())


def test_a_payload_that_was_cut_off_is_written_and_marked_as_cut(tmp_path: Path) -> None:
    data = make.trace(make.compile("0/0", make.tensor(2)), make.artifact("notes", "one\ntwo\nthree", id="0/0"))[:-4]
    found = extracted(tmp_path, data)
    assert tree(tmp_path)["0_0/notes.txt"] == b"one\ntwo\nth"
    assert ["checksum" in file.problem for file in found.files if file.name == "notes"] == [True]
    assert found.has_problems


@pytest.mark.parametrize("name", ["../../../evil", "/etc/passwd", "a\x00b", "..", "con", "\u202egnp.exe", "x" * 5000, "-rf", "index", "~"])
def test_no_name_in_a_trace_leads_out_of_the_directory(tmp_path: Path, name: str) -> None:
    data = make.trace(
        make.compile("0/0", make.tensor(2), name=name, file=name),
        make.artifact(name, "x", id="0/0"),
        make.artifact(name, "x"),
        make.record("graph_dump", {"name": name}, "x", id="0/0"),
        make.record("inductor_output_code", {"filename": f"/tmp/{name}"}, "x", id="0/0"),
    )
    found = extracted(tmp_path, data)
    assert {path.name for path in tmp_path.iterdir()} == {"out", make.NAME}
    assert len(tree(tmp_path)) == len(found.files) == len({file.path.lower() for file in found.files})


@pytest.mark.parametrize("name", RECORDED[::12])
def test_every_payload_of_a_recorded_trace_is_written(tmp_path: Path, name: str) -> None:
    found = extracted(tmp_path, FIXTURES / name)
    trace = shapelog.load(FIXTURES / name)
    index = index_records(trace)
    records = [record for compile in trace.compiles for record in index.of(compile)]
    payloads = [record for record in (*records, *index.outside) if record.span is not None]
    written = [file for file in found.files if file.digest]
    assert Counter(record.span.digest for record in payloads if record.span) == Counter(file.digest for file in written)
    assert not found.left_out
    for file in written:
        text = (tmp_path / "out" / file.path).read_bytes()
        if file.is_verbatim:
            assert make.digest(text) == file.digest
        else:
            ast.parse(text)


def test_a_full_disk_is_reported_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object, **options: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(payload_files.os, "makedirs", full)
    with pytest.raises(ShapelogError, match="cannot write: No space left on device"):
        extracted(tmp_path, make.small_trace())


def test_records_of_a_subgraph_have_a_directory_of_their_own(tmp_path: Path) -> None:
    parts = [make.record("aot_forward_graph", {}, "g", id="0/0", subgraph_name=name) for name in ("region_1", "../region 2")]
    extracted(tmp_path, make.trace(make.dynamo_start(id="0/0"), *parts, make.record("aot_forward_graph", {}, "g", id="0/0")))
    graphs = sorted(path for path in tree(tmp_path) if "aot_forward" in path)
    assert graphs == [
        "0_0/aot_forward_graph.txt",
        "0_0/subgraph_.._region_2/aot_forward_graph.txt",
        "0_0/subgraph_region_1/aot_forward_graph.txt",
    ]


def test_what_vllm_compiles_is_in_a_directory_of_each_piece_and_size(tmp_path: Path) -> None:
    pieces = vllm_traces.piece(0, 1, 2048), vllm_traces.piece(0, 8, 8, has_graph=False), vllm_traces.piece(1, 1, 2048)
    later = vllm_traces.artifact("fx_graph_runnable", "code")
    broken = vllm_traces.artifact("vllm_piecewise_compile_start", "[]"), later
    trace = make.trace(*vllm_traces.part(*pieces), vllm_traces.execution_code(), later, *broken, make.compile("0/0", make.tensor(8, 16)))
    extracted(tmp_path, trace)
    outside = {path.removeprefix("outside/") for path in tree(tmp_path) if path.startswith("outside/")}
    assert {path for path in outside if path.endswith(("_miss.json", "submod_0.py"))} == {
        "backbone.submod_0.1_to_2048/fx_graph_cache_miss.json",
        "backbone.submod_0.1_to_2048/graph_dump_vllm_submod_0.py",
        "backbone.submod_0.size_8/fx_graph_cache_miss.json",
        "backbone.submod_2.1_to_2048/fx_graph_cache_miss.json",
    }
    assert {path for path in outside if "runnable" in path} == {"fx_graph_runnable.py", "fx_graph_runnable.2.py"}
    assert {"vllm_execution_code.py", "vllm_compilation_config.json"} <= outside

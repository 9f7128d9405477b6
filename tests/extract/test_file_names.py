"""Names of extracted files: made of ids and kinds, whatever a trace calls its artifacts."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import report_of

from shapelog.extract.file_names import Paths, attempt_directory, compile_directory, download_stems, file_stem, process_directory
from shapelog.model.ids import CompileId


@pytest.mark.parametrize(
    ("id", "name"),
    [
        (CompileId(2, 3), "2_3"),
        (CompileId(2, 3, generation=2), "2_3.2"),
        (CompileId(2, 3, 0), "autograd0_2_3"),
        (CompileId(-1, 0, 4), "autograd4"),
    ],
)
def test_a_directory_is_named_by_the_id_of_its_compile(id: CompileId, name: str) -> None:
    assert compile_directory(id) == name


def test_records_of_an_earlier_attempt_have_its_directory_but_for_those_about_all_attempts() -> None:
    assert attempt_directory("dynamo_output_graph", "", 0, 1) == "attempt_0"
    assert attempt_directory("dynamo_output_graph", "", 1, 1) == ""
    assert attempt_directory("artifact", "recompile_reasons", 0, 1) == ""


def test_downloads_are_named_by_their_compile_and_of_several_processes_by_their_rank() -> None:
    alone, job = (report_of(name).trace for name in ("real/demo.log.gz", "real/2.13/n_dist_collpatched"))
    assert list(download_stems(alone).values())[:2] == ["0_0", "0_1"]
    assert set(download_stems(job)) == set(job.compiles)
    assert all(re.fullmatch(r"rank_[01]-\d+_\d+(\.\d+)?", stem) for stem in download_stems(job).values())
    assert len(set(download_stems(job).values())) == len(job.compiles)


def test_a_process_without_a_rank_is_named_by_its_number() -> None:
    assert (process_directory(3, 4242), process_directory(None, 4242)) == ("rank_3", "process_4242")


@pytest.mark.parametrize(
    ("kind", "name", "stem"),
    [
        ("dynamo_output_graph", "", "graph"),
        ("dynamo_cpp_guards_str", "", "guards"),
        ("artifact", "fx_graph_cache_miss", "fx_graph_cache_miss"),
        ("graph_dump", "vllm_submod_0", "graph_dump_vllm_submod_0"),
        ("artifact", "../../etc/passwd", "etc_passwd"),
        ("artifact", "C:\\Windows\\x", "C_Windows_x"),
        ("artifact", "con.txt", "con.txt_"),
        ("artifact", "\u202e\x00", "record"),
        ("artifact", "...", "record"),
        ("artifact", "a" * 300, "a" * 80),
    ],
)
def test_of_a_name_in_a_trace_letters_and_digits_are_kept(kind: str, name: str, stem: str) -> None:
    assert file_stem(kind, name) == stem


@given(st.text(), st.text())
def test_a_name_never_leads_anywhere_else(kind: str, name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}", file_stem(kind, name))


def test_paths_that_differ_in_capital_letters_alone_are_numbered() -> None:
    paths = Paths()
    assert [paths.new("a/Graph", ".py"), paths.new("a/graph", ".py"), paths.new("a/graph.2", ".py"), paths.new("a/graph", ".txt")] == [
        "a/Graph.py",
        "a/graph.2.py",
        "a/graph.2.2.py",
        "a/graph.txt",
    ]

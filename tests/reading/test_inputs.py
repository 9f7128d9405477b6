"""Which files are read for a path, and the notes on what was selected."""

import gzip
import io
import os
import sys
import threading
import time
from pathlib import Path

import pytest
from packing import RANK, TRACE, refusal

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.reading.inputs import join, only_rank, select
from shapelog.reading.open_trace import open_trace

MADE = time.mktime((2025, 11, 20, 8, 27, 33, 0, 0, -1))  # as its records say


def put(where: Path, name: str, data: bytes = TRACE, age: int = 0) -> Path:
    """A file that was last written ``age`` seconds before some fixed moment, as its records say."""
    path, when = where / name, MADE - age
    path.write_bytes(data.replace(b"V1120 08:27:33", time.strftime("V%m%d %H:%M:%S", time.localtime(when)).encode()))
    os.utime(path, (when, when))
    return path


def names(path: Path) -> list[str]:
    return [file.name for file in select(str(path)).files]


def test_no_path_is_refused_and_does_not_mean_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, "a.log")
    assert refusal("") == '"" is not a path (use . for the current directory)'


def test_a_time_of_a_file_that_no_clock_shows_counts_as_missing(tmp_path: Path) -> None:
    for name in (RANK.format(0, "aaaaaaaa"), RANK.format(1, "bbbbbbbb")):
        try:
            os.utime(put(tmp_path, name), (1 << 40, 1 << 40))
        except OSError:
            pytest.skip("this file system keeps no such time")
    assert len(load(tmp_path).ranks) == 2


def test_a_file_is_selected_whatever_its_name(tmp_path: Path) -> None:
    path = put(tmp_path, "any name.txt")
    selection = select(str(path))
    assert (names(path), selection.notes) == (["any name.txt"], ())
    assert bytes(open_trace(selection.files[0]).data[:]) == TRACE


def test_of_a_directory_the_newest_run_is_selected_with_a_note(tmp_path: Path) -> None:
    put(tmp_path, "dedicated_log_torch_trace_newnewne.log", age=10)
    put(tmp_path, "dedicated_log_torch_trace_oldoldol.log", age=500)
    put(tmp_path, "notes.txt", b"newer, but no trace")
    selection = select(str(tmp_path))
    assert [file.name for file in selection.files] == ["dedicated_log_torch_trace_newnewne.log"]
    assert "dedicated_log_torch_trace_newnewne.log" in selection.notes[0]
    assert selection.notes[1].startswith("1 older or other trace file ")
    assert load(tmp_path).notes == selection.notes


def test_ranks_of_one_run_are_read_together_without_older_files_of_a_rank(tmp_path: Path) -> None:
    put(tmp_path, RANK.format(1, "bbbbbbbb"), age=1)
    put(tmp_path, RANK.format(0, "cccccccc"), age=2)
    put(tmp_path, RANK.format(0, "aaaaaaaa"), age=900)
    put(tmp_path, RANK.format(1, "zzzzzzzz"), age=901)
    trace = load(tmp_path)
    assert names(tmp_path) == [RANK.format(0, "cccccccc"), RANK.format(1, "bbbbbbbb")]
    assert [rank.number for rank in trace.ranks] == [0, 1]
    assert any(note.startswith("2 older") for note in trace.notes)


def test_a_newer_run_without_ranks_leaves_the_ranks_of_an_older_one_out(tmp_path: Path) -> None:
    put(tmp_path, RANK.format(0, "aaaaaaaa"), age=100)
    put(tmp_path, RANK.format(1, "bbbbbbbb"), age=100)
    put(tmp_path, "dedicated_log_torch_trace_single00.log")
    assert names(tmp_path) == ["dedicated_log_torch_trace_single00.log"]


def test_ranks_of_an_older_and_larger_run_are_left_out(tmp_path: Path) -> None:
    for rank in range(2):
        put(tmp_path, RANK.format(rank, "aaaaaaaa"))
    for rank in range(4):
        put(tmp_path, RANK.format(rank, "bbbbbbbb"), age=90_000)
    assert names(tmp_path) == [RANK.format(0, "aaaaaaaa"), RANK.format(1, "aaaaaaaa")]


def test_empty_files_in_a_directory_are_left_out_with_a_note(tmp_path: Path) -> None:
    put(tmp_path, "dedicated_log_torch_trace_emptyemp.log", b"")
    put(tmp_path, "dedicated_log_torch_trace_filledfi.log", age=300)
    selection = select(str(tmp_path))
    assert [file.name for file in selection.files] == ["dedicated_log_torch_trace_filledfi.log"]
    assert "1 empty file in that directory: those processes compiled nothing" in selection.notes


def test_without_files_named_by_pytorch_the_logs_of_a_directory_are_read(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    put(tmp_path, "kept.log.gz", gzip.compress(TRACE))
    assert names(tmp_path) == ["kept.log.gz"]


def test_a_directory_without_traces_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert "no file is in this directory" in refusal(tmp_path)
    put(tmp_path, "readme.txt", b"hello")
    assert "no trace in this directory" in refusal(tmp_path)
    put(tmp_path, "dedicated_log_torch_trace_emptyemp.log", b"")
    assert "the trace file in it is empty: the process ended before compiling anything" in refusal(tmp_path)
    ranks = tmp_path / "ranks"
    ranks.mkdir()
    for rank in (0, 1):
        put(ranks, f"dedicated_log_torch_trace_rank_{rank}_emptyemp.log", b"")
    assert "all 2 trace files in it are empty: the process" in refusal(ranks)


def test_a_missing_file_is_refused_with_how_to_record_one(tmp_path: Path) -> None:
    message = refusal(tmp_path / "gone.log")
    assert "gone.log: no such file or directory" in message
    assert "TORCH_TRACE=" in message


def test_the_output_directory_of_tlparse_is_read(tmp_path: Path) -> None:
    out = tmp_path / "tl_out"
    (out / "-_0_0_0").mkdir(parents=True)
    for name in ("index.html", "raw.jsonl", "-_0_0_0/dynamo_output_graph_1.txt"):
        put(out, name, b"<html>")
    put(out, "raw.log")
    assert load(out).name == "raw.log"
    (out / "raw.log").unlink()
    assert "tlparse output without its raw.log" in refusal(out)
    ranks = tmp_path / "ranks"
    for rank in (0, 3):
        (ranks / f"rank_{rank}").mkdir(parents=True)
        put(ranks / f"rank_{rank}", "raw.log")
    put(ranks, "index.html", b"<html>")
    assert [rank.number for rank in load(ranks).ranks] == [0, 3]
    assert [rank.number for rank in load(ranks / "rank_3").ranks] == [3]


def test_of_ranks_in_directories_of_their_own_one_that_cannot_be_opened_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    for rank in range(4):
        (tmp_path / f"rank_{rank}").mkdir()
        put(tmp_path / f"rank_{rank}", "raw.log")
    for rank in (1, 2):
        (tmp_path / f"rank_{rank}" / "raw.log").unlink()
    (tmp_path / "rank_1" / "raw.log").symlink_to("raw.log")
    (tmp_path / "rank_2" / "raw.log").mkdir()
    trace = load(tmp_path)
    assert [rank.number for rank in trace.ranks] == [0, 3]
    assert [(problem.file, "Too many levels" in problem.message) for problem in trace.problems] == [("rank_1/raw.log", True)]


def test_a_trace_can_be_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRACE)))
    trace = load("-")
    assert (trace.name, len(trace.compiles)) == ("standard input", 2)


def test_a_compressed_trace_can_be_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TRACE))))
    assert len(load("-").compiles) == 2


def test_empty_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(ShapelogError, match=r"^standard input: nothing came in"):
        load("-")


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TRACE,))
    writer.start()
    trace = load(path)
    writer.join()
    assert len(trace.compiles) == 2


def test_a_device_is_neither_a_file_nor_a_directory() -> None:
    with pytest.raises(ShapelogError, match="not a file or directory"):
        select(os.devnull)


def test_several_selections_are_joined_in_order_of_rank_and_one_rank_of_them_can_be_read_alone(tmp_path: Path) -> None:
    paths = [put(tmp_path, RANK.format(rank, "aaaaaaaa")) for rank in (2, 0, 1)]
    joined = join([select(str(path)) for path in paths])
    assert [file.rank for file in joined.files] == [0, 1, 2]
    alone = only_rank(joined, 1)
    assert [file.rank for file in alone.files] == [1]
    assert alone.notes == (f"read {RANK.format(1, 'aaaaaaaa')} alone",)
    assert only_rank(joined, 7) is only_rank(joined, None) is joined


def test_a_link_that_leads_nowhere_is_named_and_one_to_its_own_directory_is_not_proposed(tmp_path: Path) -> None:
    (tmp_path / "dedicated_log_torch_trace_gone.log").symlink_to(tmp_path / "moved.log")
    assert "dedicated_log_torch_trace_gone.log: it no longer exists" in refusal(tmp_path)
    put(tmp_path, "kept.log")
    assert names(tmp_path) == ["kept.log"]
    around = tmp_path / "around"
    around.mkdir()
    (around / "itself").symlink_to(around)
    (around / "notes.txt").write_text("hello")
    assert "only notes.txt" in refusal(around)


def test_traces_in_a_directory_below_count_more_than_a_text_next_to_it(tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "dedicated_log_torch_trace_a.log").write_bytes(TRACE)
    (tmp_path / "notes.txt").write_text("torch._dynamo hit config.recompile_limit (8)\n")
    with pytest.raises(ShapelogError, match="no trace in this directory, but there is one in a subdirectory"):
        load(tmp_path)

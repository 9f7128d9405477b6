"""Which files are read for a path, how their bytes are brought here, and what is said of files that are no traces."""

import errno
import gzip
import io
import os
import sys
import threading
import time
from pathlib import Path

import make
import pytest

from shapelog import load
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.reading.inputs import select
from shapelog.reading.open_trace import open_trace
from shapelog.reading.trace_files import TraceFile, rank_of

TRACE = make.small_run()
MADE = time.mktime((2025, 11, 20, 8, 27, 33, 0, 0, -1))  # as its records say
RANK = "dedicated_log_torch_trace_rank_{}_{}.log"


def put(where: Path, name: str, data: bytes = TRACE, age: int = 0) -> Path:
    """A file that was last written ``age`` seconds before some fixed moment, as its records say."""
    path, when = where / name, MADE - age
    path.write_bytes(data.replace(b"V1120 08:27:33", time.strftime("V%m%d %H:%M:%S", time.localtime(when)).encode()))
    os.utime(path, (when, when))
    return path


def names(path: Path) -> list[str]:
    return [file.name for file in select(str(path)).files]


def refusal(path: Path) -> str:
    with pytest.raises(ShapelogError) as caught:
        load(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = put(tmp_path, "any name.txt")
    chosen = select(str(path))
    assert (names(path), chosen.notes) == (["any name.txt"], ())
    assert bytes(open_trace(chosen.files[0]).data[:]) == TRACE


def test_the_rank_is_taken_from_the_file_name() -> None:
    assert rank_of("dedicated_log_torch_trace_rank_3_za_kxuo3.log") == 3
    assert rank_of("dedicated_log_torch_trace_rank_12__729d9_a.log.gz") == 12
    assert rank_of("dedicated_log_torch_trace_0ivm9fjp.log") is None
    assert rank_of("rank_3.log") is None


def test_a_rank_in_the_file_name_reaches_the_frames(tmp_path: Path) -> None:
    trace = load(put(tmp_path, RANK.format(5, "aaaaaaaa")))
    assert [rank.number for rank in trace.ranks] == [5]
    assert {compile.label for compile in trace.compiles} == {"0/0", "0/1"}


def test_a_directory_stands_for_its_newest_run_and_the_notes_say_which(tmp_path: Path) -> None:
    put(tmp_path, "dedicated_log_torch_trace_newnewne.log", age=10)
    put(tmp_path, "dedicated_log_torch_trace_oldoldol.log", age=500)
    put(tmp_path, "notes.txt", b"newer, but no trace")
    chosen = select(str(tmp_path))
    assert [file.name for file in chosen.files] == ["dedicated_log_torch_trace_newnewne.log"]
    assert "dedicated_log_torch_trace_newnewne.log" in chosen.notes[0]
    assert chosen.notes[1].startswith("1 older or other trace file ")
    assert load(tmp_path).notes == chosen.notes


def test_ranks_of_one_run_are_read_together_and_older_files_of_a_rank_left_out(tmp_path: Path) -> None:
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


def test_empty_files_in_a_directory_are_told_of_and_not_chosen(tmp_path: Path) -> None:
    put(tmp_path, "dedicated_log_torch_trace_emptyemp.log", b"")
    put(tmp_path, "dedicated_log_torch_trace_filledfi.log", age=300)
    chosen = select(str(tmp_path))
    assert [file.name for file in chosen.files] == ["dedicated_log_torch_trace_filledfi.log"]
    assert "1 empty file in that directory: a process that compiled nothing" in chosen.notes


def test_a_directory_without_the_names_that_pytorch_gives_falls_back_to_its_logs(tmp_path: Path) -> None:
    put(tmp_path, "a.txt")
    put(tmp_path, "kept.log.gz", gzip.compress(TRACE))
    assert names(tmp_path) == ["kept.log.gz"]


def test_a_directory_without_traces_is_refused_with_the_reason(tmp_path: Path) -> None:
    assert "the directory is empty" in refusal(tmp_path)
    put(tmp_path, "readme.txt", b"hello")
    assert "no trace in this directory" in refusal(tmp_path)
    put(tmp_path, "dedicated_log_torch_trace_emptyemp.log", b"")
    assert "are empty: the process ended before it compiled anything" in refusal(tmp_path)


def test_a_missing_file_is_refused_with_how_to_record_one(tmp_path: Path) -> None:
    message = refusal(tmp_path / "gone.log")
    assert "gone.log: no such file or directory" in message
    assert "TORCH_TRACE=" in message


def test_an_empty_file_is_refused_with_the_likely_reason(tmp_path: Path) -> None:
    assert refusal(put(tmp_path, "a.log", b"")).startswith("a.log: the file is empty: the process compiled nothing")


def test_a_gzip_file_gives_the_same_trace_as_the_plain_one(tmp_path: Path) -> None:
    packed = open_trace(TraceFile(put(tmp_path, "a.log.gz", gzip.compress(TRACE)), "a.log.gz"))
    assert (bytes(packed.data[:]), packed.problems) == (TRACE, [])


def test_gzip_data_is_known_by_its_content_and_not_by_its_name(tmp_path: Path) -> None:
    assert len(load(put(tmp_path, "a.log", gzip.compress(TRACE))).compiles) == 2


def test_a_file_of_several_gzip_members_is_read_to_its_end(tmp_path: Path) -> None:
    half = len(TRACE) // 2
    path = put(tmp_path, "a.gz", gzip.compress(TRACE[:half]) + gzip.compress(TRACE[half:]))
    assert bytes(open_trace(TraceFile(path, "a.gz")).data[:]) == TRACE


def test_a_truncated_gzip_file_is_read_as_far_as_it_goes_and_reported(tmp_path: Path) -> None:
    packed = gzip.compress(TRACE)
    trace = load(put(tmp_path, "cut.log.gz", packed[: len(packed) * 9 // 10]))
    (damage,) = [problem for problem in trace.problems if problem.code == "damaged-archive"]
    assert (damage.file, damage.severity) == ("cut.log.gz", DATA_LOSS)
    assert make.only(trace, "0/0").inputs
    (account,) = trace.accounts
    assert account.balances
    assert 0 < account.size < len(TRACE)


def test_a_damaged_gzip_file_is_read_as_far_as_it_goes_and_reported(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TRACE * 50, compresslevel=1))
    packed[-8:-4] = b"\0\0\0\0"
    trace = load(put(tmp_path, "bad.log.gz", bytes(packed)))
    assert "damaged-archive" in {problem.code for problem in trace.problems}
    assert trace.compiles


def test_a_trace_can_be_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRACE)))
    trace = load("-")
    assert (trace.name, len(trace.compiles)) == ("standard input", 2)


def test_a_packed_trace_can_be_piped_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TRACE))))
    assert len(load("-").compiles) == 2


def test_a_disk_that_is_full_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def full() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRACE)))
    with pytest.raises(ShapelogError, match=r"^standard input: cannot read: No space left on device$"):
        load("-")


def test_empty_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(ShapelogError, match=r"^standard input: the file is empty"):
        load("-")


def test_a_named_pipe_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TRACE,))
    writer.start()
    trace = load(path)
    writer.join()
    assert len(trace.compiles) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<!DOCTYPE html>\n<html><body>tlparse</body></html>\n", "an HTML page; shapelog reads the log that tlparse was given"),
        (b"\n  <html lang='en'>\n", "an HTML page"),
        (b'{"traceEvents": [{"ph": "X", "name": "aten::add"}]}\n', "JSON, such as a profiler trace"),
        (b'{\n  "schemaVersion": 1,\n  "deviceProperties": []\n}\n', "JSON"),
        (b"V1120 08:27:33.313000 1 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] Recompiling function f\n", "TORCH_LOGS text"),
        (b"V1120 08:27:33.313000 1 torch/_dynamo/convert_frame.py:99 [0/1] torchdynamo start\n", "TORCH_LOGS text"),
        (b"\x7fELF\x02\x01\x01" + bytes(99), "a binary file"),
        (b"BZh91AY&SY" + bytes(20), "packed in a way that shapelog does not read; unpack it first"),
        (b"\x93NUMPY\x01\0v\0", "a binary file"),
        (b"epoch 1\nWARNING: no GPU\n", "an ordinary program log"),
        (b"Traceback (most recent call last):\n  ...\n", "an ordinary program log"),
        (b"just some words\n", "text without trace records"),
    ],
)
def test_a_foreign_file_is_refused_in_one_line_that_says_what_it_looks_like(tmp_path: Path, content: bytes, words: str) -> None:
    message = refusal(put(tmp_path, "what.log", content))
    assert message.startswith("what.log: no trace record in it; it looks like ")
    assert words in message
    assert "TORCH_TRACE=" in message


def test_a_foreign_file_among_ranks_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    put(tmp_path, RANK.format(0, "aaaaaaaa"))
    put(tmp_path, RANK.format(1, "bbbbbbbb"), b"no trace\n")
    trace = load(tmp_path)
    (foreign,) = [problem for problem in trace.problems if problem.code == "foreign-file"]
    assert (foreign.file, foreign.severity) == (RANK.format(1, "bbbbbbbb"), DATA_LOSS)
    assert [account.balances for account in trace.accounts] == [True, True]
    assert len(trace.compiles) == 2


def test_a_device_is_neither_a_file_nor_a_directory() -> None:
    with pytest.raises(ShapelogError, match="neither a file nor a directory"):
        select(os.devnull)


def test_ranks_of_an_older_and_larger_run_are_left_out(tmp_path: Path) -> None:
    for rank in range(2):
        put(tmp_path, RANK.format(rank, "aaaaaaaa"))
    for rank in range(4):
        put(tmp_path, RANK.format(rank, "bbbbbbbb"), age=90_000)
    assert names(tmp_path) == [RANK.format(0, "aaaaaaaa"), RANK.format(1, "aaaaaaaa")]

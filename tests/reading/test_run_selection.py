"""Which files of a directory belong to one run."""

import gzip
import os
import time
from pathlib import Path

import make
import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.reading.inputs import InputOptions, select

NOON = time.mktime((2025, 11, 20, 12, 0, 0, 0, 0, -1))
SECOND, MINUTE, HOUR, DAY = 1, 60, 3600, 86400


def clock(when: float) -> str:
    return time.strftime("V%m%d %H:%M:%S", time.localtime(when)) + f"{when % 1:.6f}"[1:]


def put(where: Path, rank: int | None, word: str, begin: float, end: float, copied: float | None = None, packed: bool = False) -> str:
    """A trace that was recorded from ``begin`` to ``end``, in seconds after noon, and copied later."""
    name = f"dedicated_log_torch_trace_{'' if rank is None else f'rank_{rank}_'}{word:_<8}.log{'.gz' if packed else ''}"
    old = make.prefix()[:21].decode()
    first, last = make.small_trace(), make.artifact("noise", "V0101 00:00:00.000000 1 x] {}")
    data = first.replace(old.encode(), clock(NOON + begin).encode()) + last.replace(old.encode(), clock(NOON + end).encode())
    path = where / name
    path.write_bytes(gzip.compress(data) if packed else data)
    os.utime(path, (NOON, NOON + (end if copied is None else copied)))
    return name


def selected(where: Path, run: str = "") -> list[str]:
    """The files of a run by the word in their names."""
    return [file.name.split(".")[0].rstrip("_").rsplit("_", 1)[-1] for file in select(str(where), InputOptions(run)).files]


def runs(where: Path) -> list[list[str]]:
    found = []
    for number in range(1, 20):
        try:
            found.append(sorted(selected(where, str(number))))
        except ShapelogError:
            break
    return found


@pytest.mark.parametrize("copied", [None, 30 * DAY])
def test_programs_that_ran_one_after_another_are_separate_runs(tmp_path: Path, copied: float | None) -> None:
    put(tmp_path, None, "a", 0, 20, copied)
    put(tmp_path, None, "b", 25, 40, copied)
    put(tmp_path, None, "c", DAY, DAY + 5, copied)
    assert runs(tmp_path) == [["c"], ["b"], ["a"]]


@pytest.mark.parametrize("packed", [False, True])
def test_processes_that_ran_at_the_same_time_are_one_run(tmp_path: Path, packed: bool) -> None:
    put(tmp_path, None, "parent", 0, 1.2, DAY, packed)
    put(tmp_path, None, "child", 0.4, 3, DAY, packed)
    put(tmp_path, None, "late", 3.1, 5, DAY, packed)
    put(tmp_path, None, "next", 9, 12, DAY, packed)
    assert runs(tmp_path) == [["next"], ["child", "late", "parent"]]


def test_programs_that_ran_while_a_server_was_running_are_separate_runs(tmp_path: Path) -> None:
    put(tmp_path, None, "server", 0, 8 * HOUR)
    put(tmp_path, None, "one", 2 * HOUR, 2 * HOUR + 60)
    put(tmp_path, None, "two", 3 * HOUR, 3 * HOUR + 60)
    assert runs(tmp_path) == [["two"], ["one"], ["server"]]


def test_ranks_are_one_run_even_if_they_compile_at_different_times(tmp_path: Path) -> None:
    for rank in range(4):
        put(tmp_path, rank, f"new{rank}", DAY + 100 * rank, DAY + 100 * rank + 5)
    for rank in range(8):
        put(tmp_path, rank, f"old{rank}", rank / 8, 30)
    put(tmp_path, 11, "lone", -2 * DAY, -2 * DAY + 9)
    assert runs(tmp_path) == [[f"new{rank}" for rank in range(4)], [f"old{rank}" for rank in range(8)], ["lone"]]


def test_a_job_that_is_restarted_in_the_same_directory_is_another_run(tmp_path: Path) -> None:
    for rank, begin, end in ((0, 0, 50), (1, 1, 52), (2, 2, 51)):
        put(tmp_path, rank, f"a{rank}", begin, end)
    for rank, begin in ((1, 62), (2, 63), (0, 64), (3, 65)):  # the first to begin is not the first rank
        put(tmp_path, rank, f"b{rank}", begin, 100)
    assert runs(tmp_path) == [["b0", "b1", "b2", "b3"], ["a0", "a1", "a2"]]


def test_a_rank_added_in_a_restarted_job_is_not_part_of_the_first_run(tmp_path: Path) -> None:
    put(tmp_path, 0, "a0", 0, 50)
    put(tmp_path, 1, "a1", 1, 51)
    put(tmp_path, 2, "b2", 60, 90)
    put(tmp_path, 0, "b0", 61, 90)
    assert runs(tmp_path) == [["b0", "b2"], ["a0", "a1"]]


def test_children_of_a_rank_belong_to_its_run(tmp_path: Path) -> None:
    put(tmp_path, 0, "zero", 0, 50)
    put(tmp_path, 1, "one", 0, 50)
    put(tmp_path, 1, "child", 20, 30)
    assert runs(tmp_path) == [["child", "one", "zero"]]


def test_a_process_that_got_its_rank_after_its_first_compile_belongs_to_the_ranks(tmp_path: Path) -> None:
    put(tmp_path, 1, "one", 5, 50)
    name = put(tmp_path, None, "zero", 0, 50)
    with (tmp_path / name).open("ab") as file:
        file.write(make.artifact("noise", "x", rank=0).replace(b"V1120 08:27:33.313000", clock(NOON + 51).encode()))
    os.utime(tmp_path / name, (NOON, NOON + 51))
    put(tmp_path, None, "other", -HOUR, -HOUR + 5)
    assert runs(tmp_path) == [["one", "zero"], ["other"]]


def test_files_named_by_rank_alone_are_one_run(tmp_path: Path) -> None:
    for rank in range(3):
        name = put(tmp_path, rank, "x", rank * DAY, rank * DAY + 5)
        (tmp_path / name).rename(tmp_path / f"dedicated_log_torch_trace_rank_{rank}.log")
    assert len(select(str(tmp_path)).files) == 3


def test_a_run_after_new_year_is_newer(tmp_path: Path) -> None:
    december = time.mktime((2025, 12, 31, 23, 59, 0, 0, 0, -1)) - NOON
    put(tmp_path, None, "old", december, december + 10, december + 3 * DAY)
    put(tmp_path, None, "new", december + 200, december + 210, december + 3 * DAY)
    assert runs(tmp_path) == [["new"], ["old"]]


def test_files_without_record_times_are_ordered_by_file_times(tmp_path: Path) -> None:
    put(tmp_path, None, "old", 0, 10)
    for name, when in (("dedicated_log_torch_trace_strange1.log", HOUR), ("dedicated_log_torch_trace_strange2.log", -HOUR)):
        (tmp_path / name).write_bytes(b"V9999 99:99:99.9 no record\n")
        os.utime(tmp_path / name, (NOON, NOON + when))
    assert runs(tmp_path) == [["strange1"], ["old"], ["strange2"]]


def test_a_run_is_selected_by_its_number_or_by_a_file_name(tmp_path: Path) -> None:
    for number, word in enumerate(("first", "second", "12345678")):
        put(tmp_path, None, word, number * HOUR, number * HOUR + 5)
    assert selected(tmp_path) == selected(tmp_path, "1") == selected(tmp_path, "12345678") == ["12345678"]
    assert selected(tmp_path, "2") == selected(tmp_path, "seco") == ["second"]
    assert sorted(selected(tmp_path, "all")) == ["12345678", "first", "second"]
    with pytest.raises(ShapelogError) as caught:
        selected(tmp_path, "4")
    assert str(caught.value) == (
        f"--run 4: no such run in {tmp_path}; runs, newest first: 1: 11-20 14:00:00, 1 file; 2: 11-20 13:00:00, 1 file; "
        "3: 11-20 12:00:00, 1 file"
    )
    with pytest.raises(ShapelogError, match="--run third: no such run in"):
        load(tmp_path, run="third")


def test_the_notes_name_what_was_read_and_how_to_read_the_rest(tmp_path: Path) -> None:
    old = put(tmp_path, None, "old", 0, 5)
    new = put(tmp_path, None, "new", HOUR, HOUR + 5)
    assert select(str(tmp_path)).notes == (
        f"read {new}, the newest run in {tmp_path}",
        "1 older or other trace file in that directory not read; "
        "--run 2 reads the run that started 11-20 12:00:00, --all-runs reads all 2 runs",
    )
    assert select(str(tmp_path), InputOptions("2")).notes == (
        f"read {old}, the run that started 11-20 12:00:00 in {tmp_path}",
        "1 older or other trace file in that directory not read; "
        "--run 1 reads the run that started 11-20 13:00:00, --all-runs reads all 2 runs",
    )
    assert select(str(tmp_path), InputOptions("all")).notes == (f"read {old}, {new}, all 2 runs in {tmp_path}, as one",)
    for rank in range(5):
        put(tmp_path, rank, "r", DAY, DAY + 5)
    first = "dedicated_log_torch_trace_rank_{}_r_______.log"
    assert select(str(tmp_path)).notes[0] == (
        f"read 5 files ({first.format(0)}, {first.format(1)}, {first.format(2)}, ...), the newest run in {tmp_path}"
    )


def test_the_only_directory_with_a_trace_is_suggested(tmp_path: Path) -> None:
    for name in ("empty", "my job"):
        (tmp_path / name).mkdir()
    put(tmp_path / "my job", None, "x", 0, 5)
    with pytest.raises(ShapelogError) as caught:
        select(str(tmp_path))
    typed = f"shapelog report '{tmp_path}/my job'"
    assert str(caught.value) == f"{tmp_path}: no trace in this directory, but there is one in a subdirectory; try {typed}"


def test_directories_with_traces_are_named_and_not_read(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"job {number}").mkdir()
        put(tmp_path / f"job {number}", number, "x", 0, 5)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ShapelogError) as caught:
        select(str(tmp_path))
    assert str(caught.value) == (
        f"{tmp_path}: no trace in this directory, but in 5 subdirectories: job 0, job 1, job 2 and 2 more; pass one of them, "
        f"or all of them as one job: shapelog report {tmp_path}/*/"
    )


def test_pipes_links_and_directories_are_skipped(tmp_path: Path) -> None:
    put(tmp_path, 0, "zero", 0, 5)
    os.mkfifo(tmp_path / "dedicated_log_torch_trace_rank_1_fifofifo.log")
    (tmp_path / "dedicated_log_torch_trace_rank_2_looploop.log").symlink_to("dedicated_log_torch_trace_rank_2_looploop.log")
    (tmp_path / "dedicated_log_torch_trace_rank_3_gonegone.log").symlink_to("nowhere")
    (tmp_path / "self").symlink_to(tmp_path)
    assert selected(tmp_path) == ["zero"]


def test_a_rank_that_cannot_be_read_is_a_problem_of_the_trace(tmp_path: Path) -> None:
    put(tmp_path, 0, "zero", 0, 5)
    bomb = put(tmp_path, 1, "one", 0, 5, packed=True)
    (tmp_path / bomb).write_bytes(gzip.compress(bytes(1_000_000)))
    os.utime(tmp_path / bomb, (NOON, NOON))
    trace = load(tmp_path, max_unpacked=100_000)
    assert [rank.number for rank in trace.ranks] == [0]
    assert [(problem.code, problem.file) for problem in trace.problems] == [("unreadable-file", bomb)]
    assert all(account.balances for account in trace.accounts)


def test_a_file_that_is_still_written_to_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    name = put(tmp_path, 0, "zero", 0, 5)
    data = (tmp_path / name).read_bytes()
    for cut in range(len(data) * 3 // 4, len(data), 97):
        (tmp_path / name).write_bytes(data[:cut])
        trace = load(tmp_path)
        assert trace.compiles
        assert all(account.balances for account in trace.accounts)

"""``shapelog compare``, also on the runs of one directory or archive."""

import json
import os
import re
import shutil
import time
from pathlib import Path

import make
import pytest
from command_line import DEMO, MARKED, SMALL, call, refusal
from json_schemas import faults
from payload_text import size_mismatch

NOON = time.mktime((2025, 11, 20, 12, 0, 0, 0, 0, -1))


def counts(*arguments: str) -> tuple[int, int]:
    """Compiles before and after."""
    data = json.loads(call("compare", *arguments, "--format", "json").stdout)
    return data["before"]["totals"]["compiles"], data["after"]["totals"]["compiles"]


@pytest.fixture
def runs(tmp_path: Path) -> str:
    """A directory with a run of one compile at nine, then one of two at ten, then one of three at eleven."""
    where = tmp_path / "traces"
    where.mkdir()
    for number, hour in enumerate((b"09", b"10", b"11")):
        again = [
            make.compile(f"0/{entry}", make.tensor(entry + 2, 16), reasons=[size_mismatch("0/0", 8, entry + 2)])
            for entry in range(1, number + 1)
        ]
        path = where / f"dedicated_log_torch_trace_run{number}.log"
        path.write_bytes(make.trace(make.compile("0/0", make.tensor(8, 16)), *again).replace(b"V1120 08:", b"V1120 " + hour + b":"))
        os.utime(path, (NOON, NOON))
    return str(where)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("options", "compiles"),
    [([], (2, 3)), (["--before-run", "3"], (1, 3)), (["--before-run", "run0", "--after-run", "2"], (1, 2)), (["--after-run", "3"], (2, 1))],
)
def test_two_runs_of_one_directory_are_compared(options: list[str], compiles: tuple[int, int], is_packed: bool, runs: str) -> None:
    where = shutil.make_archive(f"{runs}-packed", "gztar", runs) if is_packed else runs
    assert counts(where, *options) == compiles
    lines = call("compare", where, *options).stderr.splitlines()
    assert [line[:14] for line in lines] == ["shapelog: read", "shapelog: read"]


def test_a_run_of_each_of_two_directories_can_be_named(runs: str, tmp_path: Path) -> None:
    other = tmp_path / "made.log"
    other.write_bytes(make.small_trace())
    assert counts(runs, runs, "--before-run", "3", "--after-run", "2") == (1, 2)
    assert counts(str(other), runs, "--after-run", "run0") == (2, 1)
    assert "--after-run 9: no such run in" in refusal("compare", str(other), runs, "--after-run", "9")
    assert "--before-run 2 reads the run that started 11-20 10:27:33\n" in call("compare", runs, str(other)).stderr
    assert "--after-run 2 reads the run that started 11-20 10:27:33\n" in call("compare", str(other), runs).stderr


def test_a_directory_is_named_as_it_was_given(runs: str, tmp_path: Path) -> None:
    other = tmp_path / "made.log"
    other.write_bytes(make.small_trace())
    os.chdir(tmp_path)
    assert call("compare", "traces/", str(other)).stdout.startswith("traces → made.log  torch")


def test_one_run_alone_has_nothing_to_be_compared_with(runs: str, tmp_path: Path) -> None:
    alone = tmp_path / "one" / "dedicated_log_torch_trace_a.log"
    alone.parent.mkdir()
    alone.write_bytes(make.small_trace())
    assert "this contains only one run; use shapelog compare BEFORE AFTER" in refusal("compare", str(alone))
    refused = refusal("compare", str(alone.parent))
    assert f"{alone.parent} has only one run (" in refused
    assert refused.endswith("; to compare it with another one: shapelog compare BEFORE AFTER\n")
    assert "compare -: a second trace is missing" in refusal("compare", "-")
    for options in (["--before-run", "1"], ["--after-run", "2"], ["--before-run", "3", "--after-run", "run0"]):
        assert "selects the same run twice" in refusal("compare", runs, *options)


def test_two_runs_are_compared_and_a_worse_one_is_not_an_error() -> None:
    better, worse = call("compare", DEMO, MARKED), call("compare", MARKED, DEMO)
    assert (better.exit_code, better.stderr, worse.exit_code, worse.stderr) == (0, "", 0, "")
    assert "\nBetter: 8 compilations instead of 19" in better.stdout
    assert "\nWorse: " in worse.stdout


def test_a_run_does_not_differ_from_itself(made: Path) -> None:
    assert "No difference: 2 compilations in both runs" in call("compare", str(made), str(made.parent)).stdout


def test_a_comparison_is_written_as_json_to_a_file(tmp_path: Path) -> None:
    out = tmp_path / "compared.json"
    assert call("compare", SMALL, DEMO, "--format", "json", "-o", str(out)).stdout == ""
    data = json.loads(out.read_text(encoding="utf-8"))
    assert (data["format"], data["before"]["totals"]["compiles"], data["after"]["totals"]["compiles"]) == ("shapelog comparison", 2, 19)


def test_the_limit_of_a_comparison_cuts_lists_and_verbose_shows_all() -> None:
    assert "… 3 more frames, shown with --limit 0" in call("compare", DEMO, MARKED, "-n", "1").stdout
    verbose = call("compare", DEMO, MARKED, "-v", "-n", "1").stdout
    assert "more frame" not in verbose
    assert re.search(r"SL305 grad-mode-varies  1 → 1 time +grad_mode", verbose)


def test_one_of_two_traces_may_come_from_standard_input(made: Path) -> None:
    done = call("compare", "-", str(made), stdin=make.small_trace())
    assert done.exit_code == 0
    assert done.stdout.startswith("standard input → made.log")
    assert "one of the two traces can come from standard input" in refusal("compare", "-", "-")


def test_a_missing_trace_to_compare_is_refused(tmp_path: Path) -> None:
    for arguments in ((SMALL, str(tmp_path / "none")), (str(tmp_path / "none"), SMALL)):
        assert "none: no such file or directory" in refusal("compare", *arguments)


def test_a_damaged_trace_on_either_side_ends_with_2_under_strict(damaged: Path) -> None:
    for pair in ((SMALL, str(damaged)), (str(damaged), SMALL)):
        assert [call("compare", *pair, *more).exit_code for more in ((), ("--strict",))] == [0, 2]


def test_a_page_is_written_by_its_suffix(tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = call("compare", DEMO, MARKED, "-o", str(out))
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    assert "8 compilations instead of 19" in out.read_text(encoding="utf-8")
    call("compare", DEMO, MARKED, "-o", str(out), "--no-source")
    assert "without source code and absolute paths" in out.read_text(encoding="utf-8")


def test_all_runs_are_shown_in_order_of_time(runs: str, tmp_path: Path) -> None:
    data = json.loads(call("compare", runs, "--all", "-f", "json").stdout)
    assert faults("trend", data) == []
    assert [(run["began"], run["compiles"]) for run in data["runs"]] == [
        ("11-20 09:27:33", 1),
        ("11-20 10:27:33", 2),
        ("11-20 11:27:33", 3),
    ]
    assert [[cause["code"] for cause in run["change"]["came"]] for run in data["runs"][1:]] == [["SL101"], []]
    assert call("compare", runs, "--all").stdout.splitlines()[2] == "3 runs: compilations 1 → 3, recompilations 0 → 2"
    out = tmp_path / "trend.html"
    assert call("compare", runs, "--all", "-o", str(out)).exit_code == 0
    assert out.read_bytes().count(b"<title>run ") == 3


def test_all_runs_of_an_archive_are_shown(runs: str, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", runs)
    data = json.loads(call("compare", archive, "--all", "-f", "json").stdout)
    assert [run["compiles"] for run in data["runs"]] == [1, 2, 3]


def test_a_run_that_cannot_be_read_is_named_and_the_others_are_shown(runs: str) -> None:
    (Path(runs) / "dedicated_log_torch_trace_broken.log.gz").write_bytes(b"\x1f\x8bnothing")
    os.utime(Path(runs) / "dedicated_log_torch_trace_broken.log.gz", (NOON + 9, NOON + 9))
    done = call("compare", runs, "--all", "-f", "json")
    data = json.loads(done.stdout)
    assert done.exit_code == 2
    assert len(data["runs"]) == 3
    assert "broken.log.gz" in data["unreadable"][0]


def test_all_runs_of_subdirectories_are_shown_where_the_directory_has_no_trace(runs: str, tmp_path: Path) -> None:
    """Each subdirectory may hold one run or several; those of all of them are in order of time."""
    jobs = tmp_path / "jobs"
    for name, number in (("late", 2), ("early", 0), ("middle", 1)):
        (jobs / name).mkdir(parents=True)
        shutil.copy2(f"{runs}/dedicated_log_torch_trace_run{number}.log", jobs / name)
    shutil.copy2(f"{runs}/dedicated_log_torch_trace_run2.log", jobs / "early")
    (jobs / "empty").mkdir()
    data = json.loads(call("compare", str(jobs), "--all", "-f", "json").stdout)
    assert not list(faults("trend", data))
    assert [(run["name"].split("/")[0], run["compiles"]) for run in data["runs"]] == [
        ("early", 1),
        ("middle", 2),
        ("early", 3),
        ("late", 3),
    ]
    assert "directory" in call("compare", str(jobs), "--all").stdout.splitlines()[4]


def test_a_subdirectory_without_a_readable_run_is_named_and_the_others_are_shown(runs: str, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    for name, number in (("a", 0), ("c", 1)):
        (jobs / name).mkdir(parents=True)
        shutil.copy2(f"{runs}/dedicated_log_torch_trace_run{number}.log", jobs / name)
    (jobs / "b").mkdir()
    (jobs / "b" / "dedicated_log_torch_trace_x.log").touch()
    done = call("compare", str(jobs), "--all", "-f", "json")
    data = json.loads(done.stdout)
    assert (done.exit_code, [run["compiles"] for run in data["runs"]]) == (2, [1, 2])
    (reason,) = data["unreadable"]
    assert reason.startswith(f"{jobs}/b: ")


def test_of_very_many_subdirectories_none_is_left_out(runs: str, tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    for number in range(1005):
        (jobs / f"{number:04}").mkdir(parents=True)
    for name in ("0000", "1004"):
        shutil.copy2(f"{runs}/dedicated_log_torch_trace_run0.log", jobs / name)
    data = json.loads(call("compare", str(jobs), "--all", "-f", "json").stdout)
    assert [run["name"].split("/")[0] for run in data["runs"]] == ["0000", "1004"]


def test_all_takes_one_directory(runs: str) -> None:
    assert refusal("compare", runs, SMALL, "--all") == (
        "shapelog: compare --all: takes one directory or archive, and neither --before-run nor --after-run\n"
    )
    assert "standard input holds only one run" in refusal("compare", "-", "--all")

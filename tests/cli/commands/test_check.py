"""``shapelog check``: exit codes and refused requests. The policy itself is tested in tests/check."""

from pathlib import Path

import make
import pytest
from command_line import MAIN, Process, call, refusal


def test_a_check_ends_with_0_or_1(here: Path) -> None:
    assert call("check", "fine.log").exit_code == 0
    assert call("check", "made.log").exit_code == 1
    assert call("check", "made.log", "--exit-zero").exit_code == 0
    assert call("check", "made.log", "--max-compiles", "2").exit_code == 0
    assert call("check", "made.log", "--max-compiles", "1").exit_code == 1
    assert call("check", "made.log", "--max-avoidable-seconds", "0").exit_code == 1
    assert call("check", "made.log", "--max-recompiles-per-frame", "f*=1,*=0").exit_code == 0
    assert call("check", "made.log", "--fail-on", "limit,failure").exit_code == 0
    assert call("check", "made.log", "--fail-on", "none", "--max-recompiles", "0").exit_code == 1
    assert call("check", "made.log", "--ignore", "SL3,size-varies").exit_code == 0
    assert call("check", "-", stdin=make.small_trace()).exit_code == 1


def test_a_failed_check_shows_the_command_for_the_whole_report(tmp_path: Path) -> None:
    where = tmp_path / "my traces"
    where.mkdir()
    for number in range(2):
        (where / f"dedicated_log_torch_trace_run{number}.log").write_bytes(make.small_trace())
    for options, typed in (([], f"'{where}'"), (["--run", "run0"], f"'{where}' --run run0"), (["--all-runs"], f"'{where}' --all-runs")):
        done = call("check", str(where), *options, "--width", "300")
        assert f"\nThe full report: shapelog report {typed}\n" in done.stdout
    assert "\nThe full report: shapelog report\n" in call("check", "-", stdin=make.small_trace()).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("none.log",),
        ("nowhere.log",),
        ("made.log", "--fail-on", "avoidible"),
        ("made.log", "--select", "SL9999"),
        ("made.log", "--max-recompiles-per-frame", "x"),
        ("made.log", "--baseline", "nowhere.json"),
        ("made.log", "--baseline", "made.log"),
        ("made.log", "--baseline", "."),
    ],
)
def test_a_check_that_cannot_be_made_ends_with_2(here: Path, arguments: tuple[str, ...]) -> None:
    assert refusal("check", *arguments) == refusal("check", *arguments, "--exit-zero")


def test_a_budget_that_is_not_a_valid_number_is_refused(here: Path) -> None:
    for option, value in (
        ("--max-compiles", "-1"),
        ("--max-avoidable-seconds", "-0.1"),
        ("--max-recompiles", "x"),
        ("--max-avoidable-seconds", "x"),
        ("--max-avoidable-seconds", "nan"),
    ):
        assert call("check", "made.log", option, value).exit_code == 2


def test_a_damaged_trace_is_checked_and_ends_with_2_under_strict(damaged: Path) -> None:
    assert call("check", str(damaged), "--fail-on", "limit").exit_code == 0
    done = call("check", str(damaged), "--fail-on", "limit", "--strict", "--exit-zero")
    assert done.exit_code == 2
    assert "Check passed" in done.stdout


def test_readable_traces_are_checked_when_another_is_not_readable(here: Path) -> None:
    done = call("check", "made.log", "none.log", "fine.log", "--exit-zero")
    assert "Check failed: 1 avoidable recompilation" in done.stdout
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("shapelog: none.log: not a torch.compile trace")
    assert call("check", "made.log", "none.log", "--write-baseline").exit_code == 2
    assert not (here / "shapelog-baseline.json").exists()


def test_a_check_into_a_closed_pipe_ends_with_its_result(here: Path, python: Process) -> None:
    done = python(f"import os, sys\nread, write = os.pipe(); os.close(read); os.dup2(write, 1)\n{MAIN}", "check", "made.log")
    assert (done.returncode, done.stderr) == (1, b"")


def test_a_check_without_standard_output_ends_with_its_result(here: Path, python: Process) -> None:
    done = python(f"import sys\nsys.stdout = None\n{MAIN}", "check", "made.log")
    assert (done.returncode, done.stderr) == (1, b"")

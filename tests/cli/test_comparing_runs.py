"""``shapelog compare`` on the runs of directories and archives: which two are meant."""

import json
import os
import shutil
import time
from pathlib import Path

import make
import pytest
from click.testing import CliRunner, Result

from shapelog.cli.main import cli

NOON = time.mktime((2025, 11, 20, 12, 0, 0, 0, 0, -1))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["compare", *arguments], catch_exceptions=False)


def counts(*arguments: str) -> tuple[int, int]:
    """Compiles before and after."""
    data = json.loads(call(*arguments, "--format", "json").stdout)
    return data["before"]["totals"]["compiles"], data["after"]["totals"]["compiles"]


def refusal(*arguments: str) -> str:
    done = call(*arguments)
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    return done.stderr


@pytest.fixture
def runs(tmp_path: Path) -> str:
    """A directory with a run of one compile at nine, then one of two at ten, then one of three at eleven."""
    where = tmp_path / "traces"
    where.mkdir()
    for number, hour in enumerate((b"09", b"10", b"11")):
        again = [make.compile(f"0/{entry}", (entry + 2, 16), [make.mismatch("0/0", 8, entry + 2)]) for entry in range(1, number + 1)]
        path = where / f"dedicated_log_torch_trace_run{number}.log"
        path.write_bytes(make.run(make.compile("0/0"), *again).replace(b"V1120 08:", b"V1120 " + hour + b":"))
        os.utime(path, (NOON, NOON))
    return str(where)


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("options", "compiles"),
    [
        ([], (2, 3)),
        (["--before-run", "3"], (1, 3)),
        (["--before-run", "run0", "--after-run", "2"], (1, 2)),
        (["--after-run", "3"], (2, 1)),
    ],
)
def test_two_runs_of_one_directory_are_compared(options: list[str], compiles: tuple[int, int], is_packed: bool, runs: str) -> None:
    where = shutil.make_archive(f"{runs}-packed", "gztar", runs) if is_packed else runs
    assert counts(where, *options) == compiles
    said = call(where, *options).stderr.splitlines()
    assert [line[:14] for line in said] == ["shapelog: read", "shapelog: read"]


def test_a_run_of_each_of_two_directories_can_be_named(runs: str, tmp_path: Path) -> None:
    other = tmp_path / "made.log"
    other.write_bytes(make.small_run())
    assert counts(runs, runs, "--before-run", "3", "--after-run", "2") == (1, 2)
    assert counts(str(other), runs, "--after-run", "run0") == (2, 1)
    assert "--after-run 9: no such run in" in refusal(str(other), runs, "--after-run", "9")
    assert "--before-run 2 reads the run that began 11-20 10:27:33\n" in call(runs, str(other)).stderr
    assert "--after-run 2 reads the run that began 11-20 10:27:33\n" in call(str(other), runs).stderr


def test_one_run_alone_has_nothing_to_be_compared_with(runs: str, tmp_path: Path) -> None:
    alone = tmp_path / "one" / "dedicated_log_torch_trace_a.log"
    alone.parent.mkdir()
    alone.write_bytes(make.small_run())
    assert "that is one trace alone; shapelog compare BEFORE AFTER" in refusal(str(alone))
    assert "--before-run 2: no such run in" in refusal(str(alone.parent))
    assert "compare -: with what?" in refusal("-")
    for options in (["--before-run", "1"], ["--after-run", "2"], ["--before-run", "3", "--after-run", "run0"]):
        assert "names one and the same run twice" in refusal(runs, *options)

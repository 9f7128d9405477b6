"""``shapelog verify``: a command is run as it is, then with the list set; the exit code is whether that helped."""

import json
import os
import shutil
import sys
from pathlib import Path

import make
import pytest
from click.testing import CliRunner, Result
from make import compile as compiled
from make import dynamic_size, int_values, static_sizes, tensor, trace
from payload_text import code_comment
from recorded import FIXTURES

from shapelog.advice.paste_formats import VARIABLE
from shapelog.capture import run_command
from shapelog.cli.main import cli

NAME = "dedicated_log_torch_trace_abcdefgh.log"
# Writes one trace in its first run and another in its second, records its environment, and ends with the code of that run.
PROGRAM = f"""
import json, os, sys
folder = os.environ["TORCH_TRACE"]
number = ("before", "after").index(os.path.basename(folder))
trace, status = sys.argv[1 + number], sys.argv[3 + number]
if trace:
    with open(trace, "rb") as source, open(os.path.join(folder, "{NAME}"), "wb") as target:
        target.write(source.read())
with open(os.path.join(folder, "environment.json"), "w") as file:
    json.dump({{name: os.environ.get(name) for name in ("{VARIABLE}", "TORCHINDUCTOR_CACHE_DIR", "TMPDIR")}}, file)
sys.exit(int(status))
"""


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCH_TRACE", "TORCH_DTRACE", VARIABLE, "TORCHINDUCTOR_CACHE_DIR", *run_command._SWITCHES):
        monkeypatch.delenv(name, raising=False)


class Case:
    """A command that writes these traces, and what shapelog verify made of it."""

    def __init__(self, where: Path) -> None:
        self.where = where
        self.traces = where / "traces"

    def command(self, first: bytes | None, second: bytes | None, codes: tuple[int, int] = (0, 0)) -> list[str]:
        paths = []
        for name, made in (("first", first), ("second", second)):
            path = self.where / name
            path.write_bytes(made or b"")
            paths.append(str(path) if made else "")
        return [sys.executable, "-S", "-c", PROGRAM, *paths, *map(str, codes)]

    def verify(self, command: list[str], *options: str) -> Result:
        arguments = ["verify", "--trace-dir", str(self.traces), *options, "--", *command]
        return CliRunner().invoke(cli, arguments, catch_exceptions=False)

    def environment(self, run: str) -> dict[str, str | None]:
        found: dict[str, str | None] = json.loads((self.traces / run / "environment.json").read_text(encoding="utf-8"))
        return found


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def damaged(made: bytes) -> bytes:
    return made + b"this is no record\n"


# What it ends with.


def test_a_list_that_helps_ends_with_0(case: Case) -> None:
    done = case.verify(case.command(trace(static_sizes(10, 12, 14)), trace(dynamic_size("0/0"))))
    assert (done.exit_code, done.stdout) == (0, "")
    first, second, *_ = done.stderr.splitlines()
    assert first == "shapelog: first run: unchanged"
    assert second == f"shapelog: second run: {VARIABLE} set to the suggestion"
    assert "It helped: 3 compilations became 1, exactly as predicted" in done.stderr
    assert f"shapelog: both traces were kept: shapelog compare {case.traces / 'before'} {case.traces / 'after'}" in done.stderr


def test_a_verification_is_written_as_a_page(case: Case, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = case.verify(case.command(trace(static_sizes(10, 12, 14)), trace(dynamic_size("0/0"))), "-o", str(out))
    assert done.exit_code == 0
    assert "Predicted and measured" in out.read_text(encoding="utf-8")


def test_no_page_is_written_where_there_is_nothing_to_verify(case: Case, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = case.verify(case.command(trace(static_sizes(10)), None), "-o", str(out))
    assert done.exit_code == 0
    assert f"shapelog: {out} was not written: there is no second run to compare" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("second", "codes", "fault"),
    [
        (trace(static_sizes(10, 12, 14)), (0, 0), "3 compilations, no fewer than the 3 before"),
        (trace(compiled("0/0", tensor(10, 8), **make.FAILED)), (0, 0), "f lost compiled code"),
        (trace(dynamic_size("0/0")), (0, 1), "the command exited with 1 instead of 0"),
    ],
    ids=["no fewer", "lost", "failed"],
)
def test_a_list_that_does_not_help_ends_with_1_and_the_reason(case: Case, second: bytes, codes: tuple[int, int], fault: str) -> None:
    done = case.verify(case.command(trace(static_sizes(10, 12, 14)), second, codes))
    assert done.exit_code == 1
    assert f"It did not help: {fault}" in done.stderr


def test_a_second_run_that_compiles_nothing_ends_with_1(case: Case) -> None:
    done = case.verify(case.command(trace(static_sizes(10, 12)), None, (0, 5)))
    assert done.exit_code == 1
    assert "shapelog: the second run exited with 5 and compiled nothing\n" in done.stderr


def test_the_exit_code_of_a_first_run_that_fails_is_passed_on(case: Case) -> None:
    done = case.verify(case.command(trace(static_sizes(10, 12)), trace(dynamic_size("0/0")), (3, 0)))
    assert done.exit_code == 3
    assert f"the first run exited with 3, so there is nothing to verify; its trace is in {case.traces / 'before'}" in done.stderr
    assert not (case.traces / "after").exists()


def test_a_command_that_does_not_exist_ends_as_in_a_shell(case: Case) -> None:
    done = case.verify(["no-such-command-anywhere"])
    assert (done.exit_code, done.stdout) == (127, "")
    assert done.stderr.splitlines()[-1] == "shapelog: no-such-command-anywhere: command not found"


def test_a_first_run_that_compiles_nothing_cannot_be_tried(case: Case) -> None:
    done = case.verify(case.command(None, None))
    assert done.exit_code == 2
    assert "no trace was written" in done.stderr


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (trace(static_sizes(10)), "nothing recompiled (every frame was compiled once)"),
        (
            trace(int_values(3, 4, comment=code_comment(7, "name = f'{k}'"))),
            "the only marks that would save a compilation would do harm (see what was left out)",
        ),
    ],
    ids=["once", "harm"],
)
def test_nothing_to_mark_ends_with_0_and_shows_the_advice(case: Case, made: bytes, reason: str) -> None:
    done = case.verify(case.command(made, None))
    assert done.exit_code == 0
    assert f"shapelog: nothing to verify: {reason}\n" in done.stderr
    assert f"Nothing to mark as dynamic: {reason}." in " ".join(done.stderr.split())
    assert not (case.traces / "after").exists()


def test_marks_that_no_list_of_this_torch_can_hold_cannot_be_tried(case: Case) -> None:
    shutil.copyfile(FIXTURES / "real" / "2.4" / "a_auto.log.gz", case.where / "old.gz")
    unpack = "import gzip, os, sys; open(os.path.join(os.environ['TORCH_TRACE'], sys.argv[2]), 'wb').write(gzip.open(sys.argv[1]).read())"
    done = case.verify([sys.executable, "-S", "-c", unpack, str(case.where / "old.gz"), NAME])
    assert done.exit_code == 2
    assert "shapelog: nothing to verify: torch before 2.7 does not read a list of dynamic sources" in done.stderr
    assert "Mark 1 input as dynamic" in done.stderr


def test_a_file_that_cannot_be_written_is_refused_before_the_command_runs(case: Case) -> None:
    done = case.verify(
        case.command(trace(static_sizes(10, 12)), trace(dynamic_size("0/0"))), "-o", str(case.where / "no" / "such" / "file")
    )
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert not case.traces.exists()


def test_problems_under_strict_end_with_2(case: Case) -> None:
    for first, second in (
        (damaged(trace(static_sizes(10, 12))), trace(dynamic_size("0/0"))),
        (trace(static_sizes(10, 12)), damaged(trace(dynamic_size("0/0")))),
        (damaged(trace(static_sizes(10))), None),
    ):
        command = case.command(first, second)
        assert [case.verify(command, *options).exit_code for options in ((), ("--strict",))] == [0, 2]


# The environment of the command.


def test_the_list_is_set_in_the_second_run_alone(case: Case) -> None:
    case.verify(case.command(trace(static_sizes(10, 12)), trace(dynamic_size("0/0"))))
    assert [case.environment(run)[VARIABLE] for run in ("before", "after")] == [None, "L['x']:0"]


def test_a_list_that_is_set_already_is_extended(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "L['y']:0")
    done = case.verify(case.command(trace(static_sizes(10, 12)), trace(dynamic_size("0/0"))))
    assert [case.environment(run)[VARIABLE] for run in ("before", "after")] == ["L['y']:0", "L['y']:0,L['x']:0"]
    assert f"second run: {VARIABLE} extended by the suggestion" in done.stderr


@pytest.mark.parametrize("variable", ["TORCHINDUCTOR_CACHE_DIR", "TMPDIR"])  # compiled code, and precompiled headers
def test_each_run_has_empty_compile_caches_of_its_own_that_are_removed(variable: str, case: Case) -> None:
    case.verify(case.command(trace(static_sizes(10, 12)), trace(dynamic_size("0/0"))))
    first, second = (case.environment(run)[variable] for run in ("before", "after"))
    assert first
    assert second
    assert first != second
    assert not os.path.exists(first)
    assert not os.path.exists(second)


# What it shows.


def test_the_result_is_written_as_json_to_a_file(case: Case) -> None:
    out = case.where / "result.json"
    done = case.verify(case.command(trace(static_sizes(10, 12)), trace(static_sizes(10, 12))), "--format", "json", "-o", str(out))
    assert done.exit_code == 1
    data = json.loads(out.read_text(encoding="utf-8"))
    assert (data["format"], data["helped"], data["env"]) == ("shapelog verification", False, "L['x']:0")


def test_the_advice_is_written_where_there_is_nothing_to_verify(case: Case) -> None:
    out = case.where / "result.json"
    assert case.verify(case.command(trace(static_sizes(10)), None), "--format", "json", "-o", str(out)).exit_code == 0
    assert json.loads(out.read_text(encoding="utf-8"))["format"] == "shapelog advice"


def test_without_a_directory_the_traces_are_kept_in_a_temporary_one(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(case.where))
    arguments = ["verify", "--", *case.command(trace(static_sizes(10, 12)), trace(dynamic_size("0/0")))]
    assert CliRunner().invoke(cli, arguments, catch_exceptions=False).exit_code == 0
    (kept,) = case.where.glob("shapelog-verify-*")
    assert sorted(path.name for path in kept.iterdir()) == ["after", "before"]
    for name in ("after", "before"):  # in the directory that is kept, so that a killed run leaves no other
        assert Path(json.loads((kept / name / "environment.json").read_text(encoding="utf-8"))["TMPDIR"]).parent == kept


def test_a_first_run_that_removes_the_temporary_directory_of_both_is_reported(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(case.where))
    removal = "import os, shutil; shutil.rmtree(os.path.dirname(os.environ['TORCH_TRACE']))"
    done = CliRunner().invoke(cli, ["verify", "--", sys.executable, "-S", "-c", removal], catch_exceptions=False)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cannot read the trace after the command ended: No such file or directory" in done.stderr

"""The traces that commands read, and those that cannot be read."""

import gzip
import json
from pathlib import Path

import make
import pytest
from command_line import MAIN, Process, call, refusal


def test_a_directory_is_read_and_stderr_names_the_file_that_was_chosen(made: Path) -> None:
    done = call("report", str(made.parent))
    assert done.exit_code == 0
    assert done.stderr == f"shapelog: read made.log, the newest run in {made.parent}\n"
    alone = call("report", str(made)).stdout
    assert done.stdout.startswith(alone[: alone.index("Summary")])
    whole = call("report", str(made.parent), "--verbose").stdout
    assert "read made.log, the newest run in" in " ".join(whole.split())


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """A directory with two runs, of which the older one has a compile more."""
    where = tmp_path / "two_runs"
    where.mkdir()
    older = make.small_trace().replace(b"V1120", b"V1119") + make.compile("1/0", make.tensor(8, 16)).replace(b"V1120", b"V1119")
    for name, data in (("dedicated_log_torch_trace_oldoldol.log", older), ("dedicated_log_torch_trace_newnewne.log", make.small_trace())):
        (where / name).write_bytes(data)
    return where


def test_another_run_of_a_directory_can_be_chosen(two_runs: Path) -> None:
    assert "2 compilations" in call("report", str(two_runs)).stdout
    for run in ("2", "oldold"):
        done = call("report", str(two_runs), "--run", run)
        assert "3 compilations" in done.stdout
        assert "read dedicated_log_torch_trace_oldoldol.log, the run that started 11-19 " in done.stderr
    assert "5 compilations" in call("report", str(two_runs), "--all-runs").stdout
    for command in ("check", "suggest-dynamic"):
        assert "the run that started 11-19 " in call(command, str(two_runs), "--run", "2").stderr
    assert call("explain", str(two_runs), "1/0").exit_code == 2
    assert call("explain", str(two_runs), "1/0", "--run", "2").exit_code == 0
    assert "--run 3: no such run in " in refusal("report", str(two_runs), "--run", "3")
    assert "--run 2 and --all-runs cannot be used together" in refusal("report", str(two_runs), "--run", "2", "--all-runs")


def test_several_traces_are_reported_on_as_one_job(made: Path, two_runs: Path) -> None:
    done = call("report", str(made), str(two_runs / "dedicated_log_torch_trace_oldoldol.log"))
    assert (done.exit_code, done.stderr) == (0, "")
    assert "5 compilations" in done.stdout
    assert done.stdout.startswith("made.log and 1 more file  torch 2.13.0+cpu")
    done = call("explain", str(made), str(two_runs), "0/1")
    assert "several processes have a compilation 0/1" in done.stderr


@pytest.mark.parametrize(("version", "is_noted"), [("2.16.0a0+gitabc", True), ("3.0.1", True), ("2.15.1+cu128", False), ("2.4.0", False)])
def test_a_trace_of_a_torch_newer_than_those_tested_is_noted(tmp_path: Path, version: str, is_noted: bool) -> None:
    (tmp_path / "made.log").write_bytes(make.trace(make.compile("0/0", make.tensor(8, 16)), version=version))
    done = call("report", str(tmp_path / "made.log"))
    assert (f"recorded with torch {'.'.join(version.split('.')[:2])}, and shapelog was tested up to 2.15: " in done.stderr) == is_noted
    assert (done.exit_code, done.stderr.count("\n")) == (0, int(is_noted))


@pytest.mark.parametrize("command", ["report", "check", "suggest-dynamic", "explain"])
def test_without_a_trace_the_directory_in_torch_trace_is_read(made: Path, command: str) -> None:
    done, named = call(command, TORCH_TRACE=str(made.parent)), call(command, str(made.parent))
    assert (done.exit_code, done.stdout) == (named.exit_code, named.stdout)
    assert done.stderr == f"shapelog: {command}: reading {made.parent} (from TORCH_TRACE)\n{named.stderr}"


@pytest.mark.parametrize("command", ["report", "check", "suggest-dynamic", "explain"])
@pytest.mark.parametrize("where", [None, ""])
def test_without_a_trace_and_torch_trace_the_usage_is_shown(monkeypatch: pytest.MonkeyPatch, command: str, where: str | None) -> None:
    monkeypatch.delenv("TORCH_TRACE", raising=False)
    if where is not None:
        monkeypatch.setenv("TORCH_TRACE", where)
    usage = f"shapelog: {command}: TRACE is missing: shapelog {command} TRACE"
    assert refusal(command).startswith(usage)
    assert refusal(command).endswith(" (without TRACE, the directory in TORCH_TRACE is read, but it is not set)\n")


def test_an_id_alone_is_explained_in_the_directory_in_torch_trace(made: Path) -> None:
    assert call("explain", "[0/1]", TORCH_TRACE=str(made.parent)).stdout == call("explain", str(made), "0/1").stdout


def test_readable_traces_are_reported_on_when_another_is_not_readable(made: Path) -> None:
    foreign = made.with_name("foreign.log")
    foreign.write_bytes(b"hello\n")
    for arguments in (("report", str(made), str(foreign)), ("explain", str(foreign), str(made), "0/1")):
        done = call(*arguments)
        assert done.exit_code == 2
        assert "0/1" in done.stdout or "2 compilations" in done.stdout
        assert done.stderr.startswith("shapelog: foreign.log: not a torch.compile trace (plain text without torch.compile messages).")
    assert "gone.log: no such file or directory" in refusal("report", str(made), str(made.with_name("gone.log")))


def test_files_of_the_same_name_are_distinguished_by_their_paths(made: Path) -> None:
    other = made.with_name("other")
    other.mkdir()
    (other / made.name).write_bytes(make.small_trace())
    done = call("report", str(made), str(other / made.name), "--format", "json")
    assert json.loads(done.stdout)["trace"]["name"] == f"{made}, {other / made.name}"


def test_a_file_that_unpacks_to_more_than_allowed_is_refused(made: Path) -> None:
    bomb = made.with_name("bomb.gz")
    bomb.write_bytes(gzip.compress(bytes(10_000_000)))
    words = "bomb.gz: not read, because it unpacks to more than 2 MB, the limit of --max-unpacked"
    for command in (("report",), ("check",), ("suggest-dynamic",), ("compare", str(made))):
        assert words in refusal(*command, str(bomb), "--max-unpacked", "2M")
    assert words in call("report", str(bomb), SHAPELOG_MAX_UNPACKED="2 MB").stderr
    assert call("report", str(made), "--max-unpacked", "1 B").exit_code == 0
    assert "'much' is not a size such as 500M or 100G" in call("report", str(made), "--max-unpacked", "much").stderr


def test_standard_input_is_read() -> None:
    done = call("report", "-", stdin=gzip.compress(make.small_trace()))
    assert done.exit_code == 0
    assert done.stdout.startswith("standard input")


def test_a_trace_can_be_piped_through_the_program(python: Process) -> None:
    done = python(MAIN, "report", "-", stdin=make.small_trace())
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"2 compilations" in done.stdout


@pytest.mark.parametrize("content", [b"", b"<!DOCTYPE html><html>\n", b"\x7fELF\0\0", b"hello\n"])
@pytest.mark.parametrize("command", [("report",), ("explain", "0/1")])
def test_an_input_that_is_not_a_trace_is_refused_in_one_line(tmp_path: Path, content: bytes, command: tuple[str, ...]) -> None:
    path = tmp_path / "what.log"
    path.write_bytes(content)
    assert "what.log: " in refusal(command[0], str(path), *command[1:])


def test_a_path_that_is_too_long_is_refused(tmp_path: Path) -> None:
    refusal("report", str(tmp_path / ("a" * 300)))


def test_strict_verifies_a_payload_that_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "changed.log"
    path.write_bytes(make.small_trace() + make.record("inductor_output_code", {}, "new", id="0/0", has_payload=make.digest("old")))
    assert call("report", str(path)).exit_code == 0
    strict = call("report", str(path), "--strict")
    assert strict.exit_code == 2
    assert "changed.log:" in strict.stdout
    assert "checksum" in strict.stdout

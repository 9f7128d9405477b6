"""``shapelog tables``: many jobs, whatever they hold, in one folder."""

import json
import os
from pathlib import Path

import make
import pytest
from command_line import Process, call, refusal
from fleets import parts, put, trace

from shapelog.tables.files import MARKER


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with two jobs in ``runs``."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "runs" / "a", trace(8, 12))
    put(tmp_path / "runs" / "b", trace(8))
    return tmp_path


def test_each_directory_below_is_a_job(jobs: Path) -> None:
    done = call("tables", "runs", "-o", "out", "-f", "csv", "--executor", "processes:2")
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("shapelog: 2 jobs read; ")
    assert done.stderr.count("\n") == 1
    assert len([part for part in parts(jobs / "out") if part.startswith("jobs/")]) == 2


def test_parquet_is_the_default(jobs: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    assert call("tables", "runs", "-o", "out").exit_code == 0
    assert {part.rpartition(".")[2] for part in parts(jobs / "out")} == {"parquet"}
    assert json.loads((jobs / "out" / MARKER).read_text(encoding="utf-8"))["files"] == "parquet"


def test_a_job_that_cannot_be_read_is_named_and_the_others_are_written(jobs: Path) -> None:
    (jobs / "text.log").write_text("nothing")
    done = call("tables", "runs", "text.log", "none", "-o", "out", "-f", "csv")
    assert done.exit_code == 0
    lines = done.stderr.splitlines()
    assert "none: no such file or directory" in lines[0]
    assert "text.log: not a torch.compile trace" in lines[1]
    assert lines[2].startswith("shapelog: 2 jobs read, 2 not; ")
    assert call("tables", "runs", "none", "-o", "out", "-f", "csv", "--strict").exit_code == 2


def test_if_no_job_can_be_read_that_is_an_error(jobs: Path) -> None:
    done = call("tables", "none", "nor-this", "-o", "out", "-f", "csv")
    assert done.exit_code == 2
    assert len(parts(jobs / "out")) == 2


def test_of_many_unreadable_jobs_the_first_are_named(jobs: Path) -> None:
    done = call("tables", "runs", *(f"none{number}" for number in range(9)), "-o", "out", "-f", "csv")
    assert len(done.stderr.splitlines()) == 7
    assert "shapelog: 4 more jobs could not be read; the table jobs has the errors" in done.stderr


def test_older_runs_are_mentioned_and_may_be_read(jobs: Path) -> None:
    text = trace(8).replace(b"V1120 08:", b"V1120 09:")
    (jobs / "runs" / "a" / "dedicated_log_torch_trace_zzzzzzzz.log").write_bytes(text)
    done = call("tables", "runs", "-o", "out", "-f", "csv")
    assert "1 directory with more than one run: the newest is read, --each-run makes each a job" in done.stderr
    each = call("tables", "runs", "-o", "each", "-f", "csv", "--each-run")
    assert each.stderr.startswith("shapelog: 3 jobs read; ")
    assert call("tables", "runs", "-o", "each", "-f", "csv", "--each-run").stderr.startswith("shapelog: 3 jobs read; ")
    assert len([part for part in parts(jobs / "each") if part.startswith("jobs/")]) == 3
    assert "--all-runs" not in call("tables", "runs", "-o", "out", "-f", "csv", "--all-runs").stderr
    assert "--run 2 and --all-runs cannot be used together" in refusal("tables", "runs", "-o", "out", "--run", "2", "--all-runs")
    assert "--all-runs and --each-run cannot be used together" in refusal("tables", "runs", "-o", "out", "--each-run", "--all-runs")


def test_what_cannot_be_written_or_read_at_all_is_refused(jobs: Path) -> None:
    (jobs / "full").mkdir()
    (jobs / "full" / "thesis.tex").write_text("...")
    assert "neither empty nor one of tables" in refusal("tables", "runs", "-o", "full", "-f", "csv")
    assert "standard input cannot be read here" in refusal("tables", "-", "-o", "out", "-f", "csv")
    assert "is no executor" in refusal("tables", "runs", "-o", "out", "-f", "csv", "--executor", "threads")
    assert call("tables", "runs", "-o", "full/thesis.tex").exit_code == 2
    assert call("tables", "runs").exit_code == 2


def test_without_pyarrow_the_command_to_install_it_is_given(jobs: Path, python: Process) -> None:
    code = "import sys; sys.modules['pyarrow'] = None; from shapelog.cli.main import main; main()"
    done = python(code, "tables", str(jobs / "runs"), "-o", str(jobs / "out"))
    assert done.returncode == 2
    assert done.stderr == b'shapelog: writing Parquet and making Arrow tables needs pyarrow: pip install "shapelog[tables]"\n'
    assert not (jobs / "out").exists()


def test_names_of_jobs_cannot_harm_a_terminal(jobs: Path) -> None:
    (jobs / "\x1b[2Jred\n").mkdir()
    done = call("tables", "runs", "\x1b[2Jred\n", "-o", "out", "-f", "csv")
    assert "\x1b" not in done.stderr
    assert done.stderr.count("\n") == 2


@pytest.mark.skipif(os.name == "nt", reason="names with a slash")
@pytest.mark.slow
def test_memory_does_not_hold_more_than_one_job(jobs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each report is gone before the next trace is loaded."""
    import gc
    import weakref

    from shapelog.tables import write_jobs as writing

    alive: list[weakref.ref[object]] = []
    load = writing.load

    def watched(*arguments: object) -> object:
        gc.collect()
        assert not any(item() for item in alive)
        found = load(*arguments)  # type: ignore[arg-type]
        alive.append(weakref.ref(found.readers[0].trace.data))  # type: ignore[arg-type]
        return found

    monkeypatch.setattr(writing, "load", watched)
    assert call("tables", "runs", "-o", "out", "-f", "csv", "--debug").exit_code == 0
    assert len(alive) == 2


def test_a_rank_that_cannot_be_read_is_counted(jobs: Path) -> None:
    import csv

    put(jobs / "ranks", make.small_trace(), b"nothing of a trace")
    assert call("tables", "ranks", "-o", "out", "-f", "csv").exit_code == 0
    (path,) = (jobs / "out" / "jobs").rglob("part-0.csv")
    (row,) = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    assert (row["status"], row["unread_ranks"], row["files"]) == ("read", "1", "2")

"""What a user names, and the jobs that it means."""

import shutil
import tarfile
from pathlib import Path

import make
import pytest
from fleets import NAME, put, trace

from shapelog.tables.names import job_name
from shapelog.tables.sources import jobs_of, runs_of


def found(where: Path, *sources: str) -> list[str]:
    return [Path(job).relative_to(where).as_posix() for job in jobs_of(str(where / source) for source in sources or (".",))]


def test_a_file_is_a_job_and_a_directory_with_a_trace_is_one(tmp_path: Path) -> None:
    job = put(tmp_path / "a", trace(8))
    assert jobs_of([str(job), str(job / NAME)]) == [str(job), str(job / NAME)]


def test_a_directory_of_directories_gives_a_job_for_each_however_deep(tmp_path: Path) -> None:
    for name in ("a", "b/c/d", "b/e"):
        put(tmp_path / name, trace(8))
    (tmp_path / "empty").mkdir()
    assert found(tmp_path) == ["a", "b/c/d", "b/e"]


def test_the_ranks_of_torchrun_and_tlparse_are_one_job(tmp_path: Path) -> None:
    for name in ("parsed/rank_0/raw.log", "parsed/rank_1/raw.log", "launched/attempt_0/0/stderr.log", "launched/attempt_0/1/stderr.log"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(trace(8))
    assert found(tmp_path) == ["launched", "parsed"]


def test_archives_and_logs_of_other_names_are_jobs_of_their_own(tmp_path: Path) -> None:
    put(tmp_path / "a", trace(8))
    with tarfile.open(tmp_path / "b.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a", "b")
    (tmp_path / "other.log").write_bytes(trace(8))
    assert found(tmp_path) == ["a", "b.tar.gz", "."]


def test_a_loop_of_links_is_followed_once(tmp_path: Path) -> None:
    put(tmp_path / "a", trace(8))
    (tmp_path / "loop").symlink_to(tmp_path)
    assert found(tmp_path) == ["a"]


def test_a_pattern_stands_for_what_it_matches(tmp_path: Path) -> None:
    for name in ("run1", "run2", "other"):
        put(tmp_path / name, trace(8))
    assert found(tmp_path, "run*") == ["run1", "run2"]
    assert found(tmp_path, "run[2]", "run2") == ["run2"]


def test_a_path_with_the_signs_of_a_pattern_is_that_path(tmp_path: Path) -> None:
    put(tmp_path / "run[1]", trace(8))
    put(tmp_path / "run1", trace(8))
    assert found(tmp_path, "run[1]") == ["run[1]"]


def test_what_is_not_there_or_holds_nothing_stays_a_job_that_reading_refuses(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert found(tmp_path, "none", "no*match", "empty") == ["none", "no*match", "empty"]


def test_directories_of_object_storage_are_searched() -> None:
    fsspec = pytest.importorskip("fsspec")
    system = fsspec.filesystem("memory")
    for name in ("fleet/a", "fleet/b/c", "fleet/other"):
        system.pipe(f"/{name}/{NAME}", make.small_trace())
    try:
        assert jobs_of(["memory://fleet"]) == ["memory:///fleet/a", "memory:///fleet/b/c", "memory:///fleet/other"]
        assert jobs_of(["memory://fleet/[ab]"]) == ["memory:///fleet/a", "memory:///fleet/b/c"]
        assert jobs_of(["memory://fleet/a", "memory://none"]) == ["memory://fleet/a", "memory://none"]
    finally:
        system.rm("/fleet", recursive=True)


def test_each_run_of_a_directory_may_be_a_job_with_all_its_ranks(tmp_path: Path) -> None:
    for hour in ("08", "10"):
        for rank in (0, 1):
            name = f"dedicated_log_torch_trace_rank_{rank}_{hour * 4}.log"
            (tmp_path / name).write_bytes(trace(8).replace(b"V1120 08:", f"V1120 {hour}:".encode()))
    runs = runs_of(str(tmp_path))
    assert [(Path(source).name[-12:-4], len(files)) for source, files in runs] == [("08080808", 2), ("10101010", 2)]
    assert len({job_name(source) for source, _ in runs}) == 2


def test_what_is_no_directory_with_a_trace_is_one_job_without_runs(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (str(tmp_path / "empty"), str(tmp_path / "none"), "s3://bucket/a"):
        assert runs_of(path) == [(path, ())]


def test_a_directory_that_cannot_be_listed_is_a_job_that_reading_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "a", trace(8))
    shutil.rmtree(tmp_path / "a")
    monkeypatch.setattr("shapelog.tables.sources.os.path.isdir", lambda path: True)
    assert found(tmp_path, "a") == ["a"]

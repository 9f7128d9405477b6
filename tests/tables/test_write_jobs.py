"""Many jobs: every one is a row, whatever it holds, and each is read by itself."""

import builtins
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import make
import pytest
from fleets import NAME, parts, put, trace, write

from shapelog.distributed.executor import Executor, parse_executor
from shapelog.errors import ShapelogError
from shapelog.tables import write_jobs as writing
from shapelog.tables.files import prepare
from shapelog.tables.places import place_of
from shapelog.tables.write_jobs import JobTask, ReadAs, write_jobs, write_one


def test_a_job_that_cannot_be_read_is_a_row_and_no_end(tmp_path: Path) -> None:
    good = put(tmp_path / "good", trace(8, 12))
    (tmp_path / "text.log").write_text("nothing of the compiler")
    results = write(tmp_path / "out", tmp_path / "none", good, tmp_path / "text.log", form="csv")
    assert [bool(item.error) for item in results] == [True, False, True]
    assert "no such file or directory" in results[0].error
    assert len([part for part in parts(tmp_path / "out") if part.startswith("jobs/")]) == 3
    assert [part.split("/")[1][4:] for part in parts(tmp_path / "out") if part.startswith("compiles/")] == [results[1].job]


def test_workers_write_what_one_process_writes(tmp_path: Path) -> None:
    sources = [str(put(tmp_path / name, trace(8, *sizes))) for name, sizes in (("a", (12,)), ("b", (12, 16)), ("c", ()))]
    write(tmp_path / "one", *sources, form="csv")
    prepare(place_of(tmp_path / "many"), "csv")
    results = list(write_jobs(sources, place_of(tmp_path / "many"), "csv", ReadAs(), Executor("processes", 2), print))
    assert sorted(item.source for item in results) == sources
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


@pytest.mark.slow
def test_a_dask_cluster_writes_what_one_process_writes(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    sources = [str(put(tmp_path / name, trace(8, *sizes))) for name, sizes in (("a", (12,)), ("b", (12, 16)), ("c", ()))]
    bad = tmp_path / "text.log"
    bad.write_text("nothing of the compiler")
    write(tmp_path / "one", *sources, bad, form="csv")
    prepare(place_of(tmp_path / "many"), "csv")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=60) as cluster:
        executor = parse_executor(cluster.scheduler_address)
        results = list(write_jobs([*sources, str(bad)], place_of(tmp_path / "many"), "csv", ReadAs(), executor, print))
    assert [bool(item.error) for item in sorted(results)] == [False, False, False, True]
    assert contents(tmp_path / "one") == contents(tmp_path / "many")


def contents(folder: Path) -> Mapping[str, bytes]:
    return {part: (folder / part).read_bytes() for part in parts(folder)}


def test_a_worker_that_fails_or_dies_leaves_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("out of ideas")

    source = str(put(tmp_path / "a", trace(8)))
    monkeypatch.setattr(writing, "analyze", fail)
    prepare(place_of(tmp_path / "out"), "csv")
    (result,) = write_jobs([source], place_of(tmp_path / "out"), "csv", ReadAs(), Executor("processes", 1), print)
    assert result.error == f"{source}: RuntimeError: out of ideas"
    assert [part.split("/")[0] for part in parts(tmp_path / "out")] == ["jobs"]


def test_tables_that_cannot_be_written_are_an_end(tmp_path: Path) -> None:
    source = put(tmp_path / "a", trace(8))
    prepare(place_of(tmp_path / "out"), "csv")
    (tmp_path / "out" / "jobs").write_text("in the way")
    with pytest.raises(ShapelogError, match="cannot write a-"):
        list(write_jobs([str(source)], place_of(tmp_path / "out"), "csv", ReadAs(), None, print))


def test_the_newest_run_of_a_directory_is_the_job_or_all_runs(tmp_path: Path) -> None:
    for hour, letter in (("08", "a"), ("09", "b")):
        text = trace(8).replace(b"V1120 08:", f"V1120 {hour}:".encode())
        (tmp_path / f"dedicated_log_torch_trace_{letter * 8}.log").write_bytes(text)
    task = JobTask(str(tmp_path), str(tmp_path / "out"), "csv", ReadAs())
    newest, every = write_one(task), write_one(task._replace(how=ReadAs(run="all")))
    assert (newest.seconds, every.seconds) == (1.0, 2.0)
    assert len(newest.notes) == 2


def test_a_job_of_many_ranks_has_a_file_for_each(tmp_path: Path) -> None:
    source = put(tmp_path / "a", *[trace(8, 12)] * 18)
    (result,) = write(tmp_path / "out", source, form="csv")
    assert len([part for part in parts(tmp_path / "out") if part.startswith("compiles/")]) == 18
    assert result.seconds == 36.0


def test_names_of_a_trace_are_no_names_of_files(tmp_path: Path) -> None:
    hostile = "../../etc/\x1b[2Jx\n"
    source = put(tmp_path / "a", trace(8, 12, name=hostile, file=hostile))
    (tmp_path / "rank=..%2F..").mkdir()
    (tmp_path / "rank=..%2F.." / NAME).write_bytes(make.small_trace())
    write(tmp_path / "out", source, tmp_path / "rank=..%2F..", form="csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "out", "rank=..%2F.."]
    names = {name for part in parts(tmp_path / "out") for name in part.split("/")}
    assert all(name.isprintable() and "%" not in name and name != ".." for name in names)


def test_object_storage_is_read(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    system = fsspec.filesystem("memory")
    system.pipe(f"/fleet/a/{NAME}", trace(8, 12))
    try:
        (result,) = write(tmp_path / "out", "memory:///fleet/a", form="csv")
    finally:
        system.rm("/fleet", recursive=True)
    assert (result.error, result.recompiles) == ("", 1)


def test_parquet_without_pyarrow_is_refused_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.split(".")[0] in ("pyarrow", "pandas", "duckdb"):
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    report = make.report(make.small_trace())
    for call, package in ((report.to_arrow, "pyarrow"), (report.to_pandas, "pandas")):
        with pytest.raises(ShapelogError, match=rf'needs {package}: pip install "shapelog\[tables\]"'):
            call()
    source = put(tmp_path / "a", trace(8))
    assert write(tmp_path / "out", source, form="csv")[0].error == ""
    from shapelog.tables.fleet import fleet

    with pytest.raises(ShapelogError, match=r'shapelog fleet needs duckdb: pip install "shapelog\[tables\]"'):
        fleet(tmp_path / "out")

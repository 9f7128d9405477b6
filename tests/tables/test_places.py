"""Tables in object storage: written, replaced and reported on as in a directory; what cannot be written there is one clear line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import make
import pytest
from command_line import call

from shapelog.errors import ShapelogError
from shapelog.tables.files import form_of, prepare
from shapelog.tables.fleet import fleet
from shapelog.tables.places import place_of
from shapelog.tables.write_jobs import ReadAs, write_jobs

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture
def bucket() -> Iterator[Any]:
    """Object storage in memory, empty before and after."""
    system = fsspec.filesystem("memory")
    system.rm("/", recursive=True) if system.find("/") else None
    yield system
    system.rm("/", recursive=True) if system.find("/") else None


def write(source: Path, url: str, form: Any = "csv") -> None:
    place = place_of(url)
    prepare(place, form)
    assert [result.error for result in write_jobs([str(source)], place, form, ReadAs(), None, print)] == [""]


@pytest.fixture
def job(tmp_path: Path) -> Path:
    path = tmp_path / "job.log"
    path.write_bytes(make.small_trace())
    return path


def test_each_table_is_an_object_of_the_job(bucket: Any, job: Path) -> None:
    write(job, "memory://bucket/tables")
    names = bucket.find("/bucket/tables")
    assert names[-1] == "/bucket/tables/suggestions/" + names[-1].split("/")[4] + "/part-0.csv"
    assert "/bucket/tables/shapelog-tables.json" in names
    assert form_of(place_of("memory://bucket/tables/")) == "csv"


def test_a_job_that_is_written_again_replaces_its_objects(bucket: Any, job: Path) -> None:
    write(job, "memory://bucket/tables")
    before = bucket.find("/bucket")
    job.write_bytes(make.trace(make.compile("0/0", make.tensor(2))))
    write(job, "memory://bucket/tables")
    after = bucket.find("/bucket")
    assert set(after) < set(before)
    assert not any("/causes/" in name for name in after)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_fleet_in_object_storage_is_reported_on_as_one_in_a_directory(form: str, bucket: Any, job: Path, tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    write(job, "memory://bucket/tables", form)
    write(job, str(tmp_path / "tables"), form)
    there, here = fleet("memory://bucket/tables"), fleet(tmp_path / "tables")
    assert there.totals.recompiles == 1
    assert there._replace(folder="") == here._replace(folder="")


def test_a_url_of_this_machine_is_a_directory(job: Path, tmp_path: Path) -> None:
    write(job, (tmp_path / "tables").as_uri())
    assert form_of(place_of(tmp_path / "tables")) == "csv"


def refusal(url: str) -> str:
    with pytest.raises(ShapelogError) as error:
        prepare(place_of(url), "csv")
    return str(error.value)


def test_a_bucket_with_other_objects_is_refused(bucket: Any) -> None:
    bucket.pipe_file("/bucket/thesis.tex", b"...")
    assert refusal("memory://bucket") == "memory://bucket: this folder is neither empty nor one of tables; choose another"


def test_what_a_driver_refuses_is_one_line(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError("AccessDenied\nfor you, see s3://secret:key@bucket")

    monkeypatch.setattr(type(bucket), "pipe_file", denied)
    assert refusal("memory://bucket/t") == "memory://bucket/t: cannot write: AccessDenied for you, see"


def test_a_web_server_keeps_no_tables() -> None:
    why = "https://host/t: tables are kept in a directory or in object storage, not on a web server"
    assert refusal("https://host/t") == why


def test_the_command_writes_to_object_storage_and_reports_on_it(bucket: Any, job: Path) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    written = call("tables", str(job), "-o", "memory://b/t", "-f", "csv", "--debug")
    assert (written.exit_code, "in memory://b/t after" in written.stderr) == (0, True)
    assert call("fleet", "memory://b/t").stdout.startswith("1 job in memory://b/t  ")

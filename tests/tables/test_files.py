"""Tables on disk: the layout, both formats, what is replaced, and folders that are refused."""

import csv
import json
from pathlib import Path

import make
import pytest
from fleets import parts

from shapelog.errors import ShapelogError
from shapelog.tables.files import MARKER, form_of, prepare, write_job
from shapelog.tables.places import place_of
from shapelog.tables.rows import Rows, rows_of
from shapelog.tables.schema import VERSION, columns

HARMFUL = 'a,"b"\n=1+1\x1b[2J\udc80é'


@pytest.fixture(scope="module")
def ranks() -> Rows:
    return rows_of(make.report(make.small_trace()), "one", "/traces/one") | {
        "compiles": rows_of_ranks("compiles"),
        "frames": rows_of_ranks("frames"),
    }


def rows_of_ranks(table: str) -> list[object]:
    from shapelog.report.report import analyze

    return rows_of(analyze(make.load_ranks(make.small_trace(), make.small_trace())), "one", "/traces/one")[table]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_each_table_job_and_rank_has_a_file_and_what_is_empty_has_none(form: str, ranks: Rows, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed") if form == "parquet" else None
    write_job(place_of(tmp_path), "one", ranks, form)  # type: ignore[arg-type]
    assert parts(tmp_path) == [
        f"causes/job=one/rank=-1/part-0.{form}",
        f"compiles/job=one/rank=0/part-0.{form}",
        f"compiles/job=one/rank=1/part-0.{form}",
        f"frames/job=one/rank=0/part-0.{form}",
        f"frames/job=one/rank=1/part-0.{form}",
        f"jobs/job=one/part-0.{form}",
        f"phases/job=one/rank=-1/part-0.{form}",
        f"recompiles/job=one/rank=-1/part-0.{form}",
        f"suggestions/job=one/part-0.{form}",
    ]


def test_a_job_that_is_written_again_replaces_its_files_and_no_other(ranks: Rows, tmp_path: Path) -> None:
    fewer = {**ranks, "compiles": ranks["compiles"][:1], "causes": []}
    for job in ("one", "two"):
        write_job(place_of(tmp_path), job, ranks, "csv")
    write_job(place_of(tmp_path), "one", fewer, "csv")
    left = [path for path in parts(tmp_path) if path.startswith(("compiles", "causes"))]
    assert left == [
        "causes/job=two/rank=-1/part-0.csv",
        "compiles/job=one/rank=0/part-0.csv",
        "compiles/job=two/rank=0/part-0.csv",
        "compiles/job=two/rank=1/part-0.csv",
    ]
    assert [path.name for path in tmp_path.rglob(".*")] == []


def test_csv_keeps_every_value_in_its_cell_and_escapes_what_a_terminal_acts_on(ranks: Rows, tmp_path: Path) -> None:
    row = ranks["jobs"][0]._replace(error=HARMFUL, started=None)
    write_job(place_of(tmp_path), "one", {"jobs": [row]}, "csv")
    text = (tmp_path / "jobs/job=one/part-0.csv").read_text(encoding="utf-8")
    head, cells = csv.reader(text.splitlines(keepends=True))
    assert head == [column.name for column in columns("jobs") if column.name != "job"]
    found = dict(zip(head, cells, strict=True))
    assert found["error"] == 'a,"b"\n=1+1\\x1b[2J\\udc80é'
    assert (found["started"], found["ranks"], found["seconds"]) == ("", "1", "2.0")


def test_parquet_holds_every_value_and_the_version_of_the_schema(ranks: Rows, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    row = ranks["causes"][0]._replace(sentence=HARMFUL, line=2**70, place_line=2**62)
    write_job(place_of(tmp_path), "one", {"causes": [row]}, "parquet")
    table = parquet.ParquetFile(tmp_path / "causes/job=one/rank=-1/part-0.parquet").read()
    metadata = {name.decode(): value.decode() for name, value in table.schema.metadata.items()}
    assert metadata["shapelog.schema_version"] == str(VERSION)
    assert metadata["shapelog.table"] == "causes"
    (found,) = table.to_pylist()
    assert found["sentence"] == HARMFUL.replace("\udc80", "\\udc80")
    assert (found["line"], found["place_line"], found["axis"]) == (None, 2**62, "x.size[0]")


def test_whole_folders_are_read_with_their_partitions_as_columns(ranks: Rows, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    for job in ("one", "two"):
        write_job(place_of(tmp_path), job, ranks, "parquet")
    found = pandas.read_parquet(tmp_path / "compiles")
    assert sorted(set(zip(found["job"], found["rank"], strict=True))) == [("one", 0), ("one", 1), ("two", 0), ("two", 1)]
    causes = pandas.read_parquet(tmp_path / "causes")
    assert list(causes["rank"]) == [-1, -1]


def test_a_folder_is_made_and_used_again(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    for _ in range(2):
        prepare(place_of(folder), "csv")
    assert form_of(place_of(folder)) == "csv"
    assert json.loads((folder / MARKER).read_text(encoding="utf-8"))["schema_version"] == VERSION


def refused(folder: Path, form: str = "csv") -> str:
    with pytest.raises(ShapelogError) as error:
        prepare(place_of(folder), form)  # type: ignore[arg-type]
    return str(error.value)


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("...")
    assert "this folder is neither empty nor one of tables" in refused(tmp_path)
    assert "cannot write" in refused(tmp_path / "thesis.tex")


@pytest.mark.parametrize(
    ("marker", "why"),
    [
        ("{", "damaged"),
        ("[]", "damaged"),
        ('{"format": "x"}', "damaged"),
        ('{"format": "shapelog tables", "schema_version": 99, "files": "csv"}', "schema version 99"),
        (f'{{"format": "shapelog tables", "schema_version": {VERSION}, "files": "parquet"}}', "holds tables as parquet"),
        ("[" * 100_000, "damaged"),
    ],
)
def test_a_folder_of_other_tables_is_refused(marker: str, why: str, tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text(marker, encoding="utf-8")
    assert why in refused(tmp_path)


def test_a_folder_without_tables_is_no_fleet(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(ShapelogError, match="no shapelog tables there"):
            form_of(place_of(folder))

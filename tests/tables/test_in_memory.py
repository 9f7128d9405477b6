"""A report as Arrow tables and data frames, with the columns of the files."""

import make
import pytest
from recorded import report_of

from shapelog.rules import Verdict
from shapelog.tables.schema import TABLES, VERSION, columns

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


def test_arrow_tables_have_every_column_also_those_of_the_path() -> None:
    tables = report_of("real/demo.log.gz").to_arrow()
    assert list(tables) == list(TABLES)
    for name, table in tables.items():
        assert table.schema.names == [column.name for column in columns(name)]
        assert table.schema.metadata[b"shapelog.schema_version"] == str(VERSION).encode()
    assert tables["compiles"].num_rows == 20
    assert set(tables["causes"]["job"].to_pylist()) == {"demo.log.gz"}


def test_the_job_may_have_another_name() -> None:
    tables = make.report(make.small_trace()).to_arrow(job="nightly")
    assert [table["job"].to_pylist() for table in tables.values() if table.num_rows == 1] == [["nightly"]] * 5


def test_data_frames_keep_ints_and_times_where_some_are_missing() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frames = report_of("real/demo.log.gz").to_pandas()
    types = frames["compiles"].dtypes
    assert (types["guards"], types["is_dynamic"], types["seconds"]) == (pandas.Int64Dtype(), pandas.BooleanDtype(), "float64")
    assert frames["jobs"]["started"][0] == pandas.Timestamp("2026-11-20T10:42:12.154124Z")
    assert frames["failures"].shape == (1, len(columns("failures")))
    assert frames["collectives"].empty
    spent = frames["recompiles"].groupby("verdict")["seconds"].sum()
    assert spent["avoidable by marking"] == pytest.approx(report_of("real/demo.log.gz").summary.part(Verdict.MARKING).seconds)


def test_a_trace_of_hostile_values_becomes_tables() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    report = make.report(make.trace(make.static_sizes(10, 12, name="\udcff\x00'\n", line=2**70)))
    (job,) = report.to_pandas()["jobs"].to_dict("records")
    assert (job["recompiles"], job["status"]) == (1, "read")
    assert report.to_arrow()["compiles"]["function"].to_pylist()[0] == "\\udcff\x00'\n"

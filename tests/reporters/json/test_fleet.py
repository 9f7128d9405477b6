"""A fleet as JSON: exactly what its schema requires."""

import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from fleets import put, write
from json_schemas import faults
from recorded import FIXTURES

from shapelog.reporters import Options, renderer
from shapelog.reporters.json.fleet import fleet_data
from shapelog.tables.fleet import fleet

pytest.importorskip("duckdb", reason="duckdb is not installed")


@pytest.mark.parametrize("since", [None, datetime(2026, 11, 20, 9, tzinfo=timezone.utc)])
def test_recorded_jobs_give_what_the_schema_requires(since: datetime | None, tmp_path: Path) -> None:
    write(tmp_path / "out", *sorted(FIXTURES.rglob("a_auto*.log.gz")), FIXTURES / "real" / "demo.log.gz", tmp_path / "none", form="csv")
    found = fleet(tmp_path / "out", since)
    assert found.causes
    assert found.unreadable
    data = fleet_data(found)
    assert faults("fleet", data) == []
    assert json.loads(renderer("fleet", "json")(found, Options())) == data


def test_unreadable_jobs_alone_give_what_the_schema_requires(tmp_path: Path) -> None:
    write(tmp_path / "out", put(tmp_path / "a", b"no trace"), form="csv")
    assert faults("fleet", fleet_data(fleet(tmp_path / "out"))) == []


def test_failed_exports_give_what_the_schema_requires(tmp_path: Path) -> None:
    write(tmp_path / "out", *sorted(FIXTURES.glob("real/2.13/*export*.log.gz")), form="csv")
    data = fleet_data(fleet(tmp_path / "out"))
    assert faults("fleet", data) == []
    assert {item["code"] for item in data["exports"]} == {"SL601", "SL602", "SL604"}

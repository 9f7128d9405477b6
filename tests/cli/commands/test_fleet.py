"""``shapelog fleet``: a report on tables, in the terminal and as JSON."""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from command_line import call, refusal
from fleets import LATE, put, trace, write

from shapelog.cli.commands.tables import parse_since
from shapelog.errors import ShapelogError

pytest.importorskip("duckdb", reason="duckdb is not installed")
NOW = datetime(2026, 11, 23, 15, tzinfo=timezone.utc)


@pytest.fixture
def tables(tmp_path: Path) -> str:
    jobs = [put(tmp_path / "before", trace(8)), put(tmp_path / "after", trace(8, 12, start=LATE)), tmp_path / "none"]
    write(tmp_path / "out", *jobs, form="csv")
    return str(tmp_path / "out")


def test_a_fleet_is_shown_in_the_terminal_and_as_json(tables: str) -> None:
    shown = call("fleet", tables, "--since", "2026-11-10")
    assert shown.exit_code == 0
    for heading in ("Worse since 2026-11-10 00:00 UTC", "What would save most", "Top causes", "Jobs that could not be read"):
        assert f"\n{heading}" in shown.stdout
    data = json.loads(call("fleet", tables, "--since", "2026-11-10", "-f", "json").stdout)
    assert (data["totals"]["jobs"], data["since"]["regressions"][0]["function"]) == (2, "f")


def test_without_since_the_last_week_is_compared_with_what_came_before(tables: str) -> None:
    assert "\nWorse since 2026-11-13 12:00 UTC" in call("fleet", tables).stdout
    assert json.loads(call("fleet", tables, "-f", "json").stdout)["since"]["date"].startswith("2026-11-13T12:00")


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    assert "no shapelog tables there" in refusal("fleet", str(tmp_path))
    assert "no shapelog tables there" in refusal("fleet", str(tmp_path / "none"))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("7d", NOW - timedelta(days=7)),
        ("12h", NOW - timedelta(hours=12)),
        ("2w", NOW - timedelta(days=14)),
        ("2026-11-16", datetime(2026, 11, 16, tzinfo=timezone.utc)),
        ("2026-11-16T08:30", datetime(2026, 11, 16, 8, 30, tzinfo=timezone.utc)),
        ("2026-11-16T08:30+02:00", datetime(2026, 11, 16, 6, 30, tzinfo=timezone.utc)),
    ],
)
def test_a_time_is_one_ago_or_a_date_in_utc(text: str, moment: datetime) -> None:
    assert parse_since(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "7", "d", "7m", "999999w", "2026-13-01", "2026-11-16T25:00"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ShapelogError, match="neither a time ago such as 7d"):
        parse_since(text, NOW)

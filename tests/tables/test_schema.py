"""The schema: every column is documented, and a change of a column has another version."""

import hashlib
import runpy
from datetime import datetime
from pathlib import Path

import pytest

from shapelog.tables.schema import PARTITIONS, TABLES, VERSION, columns

DOCS = Path(__file__).parents[2] / "docs"
# The schema of each version, as sixteen digits of what programs that read the tables rely on.
SHAPES = {
    1: "b3fe33df9e8a11be",
    2: "ecdf7212270bc798",
    3: "ecdf7212270bc798",
    4: "dc927d8317a0383e",
}  # 3: other ids for text logs without any


def shape() -> str:
    found = [(table, item.name, item.kind.__name__, item.is_nullable) for table in TABLES for item in columns(table)]
    return hashlib.sha256(repr(found).encode()).hexdigest()[:16]


def test_a_changed_column_has_another_version() -> None:
    assert SHAPES[VERSION] == shape(), "raise VERSION, and add the new shape here"


def test_the_page_is_made_from_the_schema() -> None:
    page = runpy.run_path(str(DOCS / "tables.py"))["page"]
    assert page() == (DOCS / "tables.md").read_text(encoding="utf-8"), "write it anew: python docs/tables.py"


@pytest.mark.parametrize("table", TABLES)
def test_every_column_has_a_meaning_and_a_type_that_all_formats_have(table: str) -> None:
    found = columns(table)
    assert found[0].name == "job"
    assert {item.kind for item in found} <= {str, int, float, bool, datetime}
    assert all(item.meaning.endswith((".", "...")) for item in found)
    assert (TABLES[table].__doc__ or "").startswith("One row for each")


@pytest.mark.parametrize("table", TABLES)
def test_what_is_the_name_of_a_folder_is_never_null(table: str) -> None:
    assert not any(item.is_nullable for item in columns(table) if item.name in PARTITIONS)


@pytest.mark.parametrize("table", TABLES)
def test_a_nullable_column_behind_required_ones_is_null_by_default(table: str) -> None:
    defaults = TABLES[table]._field_defaults
    assert all(value is None for name, value in defaults.items() if next(item for item in columns(table) if item.name == name).is_nullable)

"""Writes the list of columns in tables.md from the schema in the code: python docs/tables.py"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from shapelog.tables.schema import TABLES, VERSION, columns

PAGE = Path(__file__).with_name("tables.md")
_LIST = "## Every column\n"
_TYPES = {str: "text", int: "int64", float: "double", bool: "bool", datetime: "timestamp"}


def page() -> str:
    """The page with its list written anew."""
    introduction = PAGE.read_text(encoding="utf-8").partition(_LIST)[0]
    tables = "\n".join(line for table in TABLES for line in _table(table)).rstrip()
    return f"{introduction}{_LIST}\nSchema version {VERSION}.\n\n{tables}\n"


def _table(name: str) -> Iterator[str]:
    yield from (f"### {name}", "", " ".join((TABLES[name].__doc__ or "").split()), "", "| column | type | meaning |", "|---|---|---|")
    for column in columns(name):
        kind = _TYPES[column.kind] + (", or null" if column.is_nullable else "")
        yield f"| `{column.name}` | {kind} | {column.meaning} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

"""Rows → files: Parquet or CSV, one folder for each table, job and rank."""

import csv
import io
import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal

from shapelog.errors import ShapelogError
from shapelog.grouping import grouped
from shapelog.tables.arrow import arrow_table, plain
from shapelog.tables.places import Place
from shapelog.tables.rows import Rows
from shapelog.tables.schema import VERSION, columns
from shapelog.text import escape_controls

Form = Literal["parquet", "csv"]
# The file that marks a folder of tables, and what it holds: kind and version.
MARKER = "shapelog-tables.json"
_FORMAT = "shapelog tables"
_PART = re.compile(r"part-\d+\.\w+")


def prepare(place: Place, form: Form) -> None:
    """Make a place ready for tables, or use one of the same schema and form again.

    Raises ShapelogError where it holds something else, or cannot be written.
    """
    try:
        place.make()
        if _has_marker(place):
            known = form_of(place)
            if known != form:
                raise ShapelogError(f"{place.title}: this folder holds tables as {known}; choose another folder, or --format {known}")
            return
        if not place.is_empty():
            raise ShapelogError(f"{place.title}: this folder is neither empty nor one of tables; choose another")
        marker = {"format": _FORMAT, "schema_version": VERSION, "files": form}
        place.write(MARKER, json.dumps(marker, indent=2).encode() + b"\n")
    except OSError as error:
        raise ShapelogError(f"{place.title}: cannot write: {error.strerror}") from error


def _has_marker(place: Place) -> bool:
    try:
        place.read(MARKER)
    except FileNotFoundError:
        return False
    return True


def form_of(place: Place) -> Form:
    """How the tables in a place are written. Raises ShapelogError for one without tables, or with tables of another schema."""
    how = "write tables with shapelog tables SOURCE -o DIR"
    folder = place.title
    try:
        marker = json.loads(place.read(MARKER))
        name, version, form = (marker.get(key) for key in ("format", "schema_version", "files"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ShapelogError(f"{folder}: no shapelog tables there (no {MARKER}); {how}") from error
    except OSError as error:
        raise ShapelogError(f"{folder}: cannot read: {error.strerror}") from error
    except (ValueError, AttributeError, RecursionError) as error:
        raise ShapelogError(f"{folder}/{MARKER}: damaged; {how}") from error
    if name != _FORMAT or form not in ("parquet", "csv"):
        raise ShapelogError(f"{folder}/{MARKER}: damaged; {how}")
    if version != VERSION:
        raise ShapelogError(f"{folder}: tables of schema version {version}, and this shapelog has version {VERSION}; write them again")
    return "csv" if form == "csv" else "parquet"


def write_job(place: Place, job: str, rows: Rows, form: Form) -> None:
    """Write the tables of a job, in place of those that were written of it before. Raises OSError, and ShapelogError without pyarrow."""
    for table, found in rows.items():
        own = f"{table}/job={job}"
        stale = set(parts(place, own, form))
        for rank, members in grouped(found, lambda row: getattr(row, "rank", None)).items():
            name = f"{own}/part-0.{form}" if rank is None else f"{own}/rank={rank}/part-0.{form}"
            place.write(name, _parquet(table, members) if form == "parquet" else _csv(table, members))
            stale.discard(name)
        for name in stale:
            place.remove(name)


def parts(place: Place, folder: str, form: Form) -> list[str]:
    """The names of the files with rows below a folder, such as that of a table."""
    return [name for name in place.files(folder) if _PART.fullmatch(name.rpartition("/")[2]) and name.endswith(f".{form}")]


def _parquet(table: str, rows: Sequence[Any]) -> bytes:
    from pyarrow import parquet

    buffer = io.BytesIO()
    parquet.write_table(arrow_table(table, rows, is_partitioned=True), buffer, compression="zstd")
    return buffer.getvalue()


def _csv(table: str, rows: Sequence[Any]) -> bytes:
    names = [column.name for column in columns(table) if not column.is_partition]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(plain(getattr(row, name))) for name in names] for row in rows)
    return buffer.getvalue().encode()


def _cell(value: Any) -> Any:
    """A time in ISO 8601, true and false as SQL writes them; control characters, which a terminal would act on, escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return escape_controls(value) if isinstance(value, str) else value

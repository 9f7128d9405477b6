"""Rows → Arrow tables. Needs pyarrow, which ``shapelog[tables]`` installs."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from shapelog.errors import ShapelogError
from shapelog.tables.schema import VERSION, SchemaColumn, columns

if TYPE_CHECKING:
    import pyarrow

_LARGEST = 2**63 - 1


def needs(package: str, what: str) -> ShapelogError:
    """What to raise where a package of the extra is not installed."""
    return ShapelogError(f'{what} needs {package}: pip install "shapelog[tables]"')


def arrow() -> Any:
    """The module pyarrow. Raises ShapelogError where it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise needs("pyarrow", "writing Parquet and making Arrow tables") from error
    return pyarrow


def plain(value: Any) -> Any:
    """A value as every format can hold it: an int of more than 64 bits is null, half of a surrogate pair is an escape."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if type(value) is int and not -_LARGEST <= value <= _LARGEST:
        return None
    return value


def arrow_schema(table: str, is_partitioned: bool = False) -> "pyarrow.Schema":
    """The schema of a table, with its version in the metadata; without the columns of the path where ``is_partitioned``."""
    found = [item for item in columns(table) if not (is_partitioned and item.is_partition)]
    metadata = {"shapelog.table": table, "shapelog.schema_version": str(VERSION)}
    return arrow().schema([_field(item) for item in found], metadata=metadata)


def _field(column: SchemaColumn) -> "pyarrow.Field":
    pyarrow = arrow()
    kinds = {
        str: pyarrow.string(),
        int: pyarrow.int64(),
        float: pyarrow.float64(),
        bool: pyarrow.bool_(),
        datetime: pyarrow.timestamp("us", tz="UTC"),
    }
    return pyarrow.field(column.name, kinds[column.kind], nullable=column.is_nullable)


def arrow_table(table: str, rows: Sequence[Any], is_partitioned: bool = False) -> "pyarrow.Table":
    """These rows of a table; ``is_partitioned`` as in ``arrow_schema``. Raises ShapelogError without pyarrow."""
    schema = arrow_schema(table, is_partitioned)
    arrays = [arrow().array(_values(rows, field.name), field.type) for field in schema]
    return arrow().Table.from_arrays(arrays, schema=schema)


def _values(rows: Iterable[Any], name: str) -> list[Any]:
    return [plain(getattr(row, name)) for row in rows]

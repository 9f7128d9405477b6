"""A report as Arrow tables or pandas data frames, with the columns of the files."""

from typing import TYPE_CHECKING, Any

from shapelog.report.report import Report
from shapelog.tables.arrow import arrow, arrow_table, needs
from shapelog.tables.rows import rows_of

if TYPE_CHECKING:
    import pandas
    import pyarrow


def to_arrow(report: Report, job: str = "") -> "dict[str, pyarrow.Table]":
    """Each table under its name; ``job`` is what its rows have in the column ``job``, the name of the trace by default.

    Raises ShapelogError without pyarrow.
    """
    arrow()
    rows = rows_of(report, job or report.trace.name, report.trace.name)
    return {name: arrow_table(name, found) for name, found in rows.items()}


def to_pandas(report: Report, job: str = "") -> "dict[str, pandas.DataFrame]":
    """The same as data frames, in which an int or a bool may be missing. Raises ShapelogError without pandas or pyarrow."""
    try:
        import pandas
    except ImportError as error:
        raise needs("pandas", "making data frames") from error
    nullable = {arrow().int64(): pandas.Int64Dtype(), arrow().bool_(): pandas.BooleanDtype()}
    return {name: _frame(table, nullable) for name, table in to_arrow(report, job).items()}


def _frame(table: "pyarrow.Table", nullable: dict[Any, Any]) -> "pandas.DataFrame":
    frame: pandas.DataFrame = table.to_pandas(types_mapper=nullable.get)
    return frame

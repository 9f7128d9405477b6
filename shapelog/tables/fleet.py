"""Tables of many jobs → what they have in common: causes, regressions, advice. Needs DuckDB, which ``shapelog[tables]`` installs."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shapelog.errors import ShapelogError
from shapelog.tables import queries
from shapelog.tables.arrow import needs
from shapelog.tables.files import Form, form_of, parts
from shapelog.tables.places import Place, place_of
from shapelog.tables.schema import columns

if TYPE_CHECKING:
    import duckdb

# What DuckDB takes for a pattern in a path.
_SIGN = re.compile(r"[*?\[]")
_TYPES = {str: "VARCHAR", int: "BIGINT", float: "DOUBLE", bool: "BOOLEAN", datetime: "TIMESTAMPTZ"}


class Totals(NamedTuple):
    """Jobs that were read, and what they compiled; seconds are those of all ranks, None where no job has times.

    ``untimed`` are the jobs without: those that were read from text logs, and those that compiled nothing to its end. ``exports`` are calls
    of ``torch.export``.
    """

    jobs: int
    unreadable: int
    ranks: int
    compiles: int
    recompiles: int
    limit_hits: int
    failures: int
    graph_breaks: int
    seconds: float | None
    recompile_seconds: float | None
    saved_least: float | None
    saved_most: float | None
    untimed: int
    exports: int
    failed_exports: int
    first: datetime | None
    last: datetime | None


class FleetCause(NamedTuple):
    """What changed in any job, numbers folded: how many recompilations in how many jobs and functions, and what they took.

    ``example`` is such a property, ``function`` where most of its seconds were spent.
    """

    code: str
    rule: str
    axis: str
    function: str
    file: str | None
    line: int | None
    jobs: int
    functions: int
    recompiles: int
    seconds: float | None
    remedy: str | None


class FleetAdvice(NamedTuple):
    """Something to do in one function: ``kind`` is ``mark as dynamic`` or ``code change``; seconds are those of the recompilations that go,
    on all ranks of all jobs.
    """

    kind: str
    code: str
    what: str
    function: str
    file: str | None
    line: int | None
    text: str
    jobs: int
    compiles: int
    seconds: float | None
    confidence: str | None


class JobsSide(NamedTuple):
    """Jobs on one side of a date: how many, their processes, and what these took and recompiled on average."""

    jobs: int
    processes: int
    seconds: float | None
    recompiles: float


class Regression(NamedTuple):
    """A function that recompiles more, or takes longer, in the jobs since a date: averages for each process that compiled it.

    ``added_seconds`` is what that costs all later processes together. ``cause`` is the costliest one that it has since, ``is_new`` whether
    no earlier job has that cause in this function. Seconds are None where one side has no times.
    """

    function: str
    file: str | None
    jobs_before: int
    jobs_after: int
    recompiles_before: float
    recompiles_after: float
    seconds_before: float | None
    seconds_after: float | None
    added_seconds: float | None
    failures_before: float
    failures_after: float
    cause_code: str | None
    cause_axis: str | None
    is_new: bool


class ExportRegression(NamedTuple):
    """Exports called in one file that fail more often in the jobs since a date: the shares that failed, from 0 to 1, before and after.

    ``message`` is the most frequent error since then, ``line`` a call that raised it, and ``code`` and ``remedy`` are of its rule.
    """

    file: str | None
    line: int | None
    jobs_before: int
    jobs_after: int
    failed_before: float
    failed_after: float
    code: str
    message: str | None
    remedy: str | None


class Since(NamedTuple):
    """The jobs before and since a date, and what is worse since then, the most expensive first.

    ``undated`` are jobs without a time, which are on neither side; ``compared`` is how many functions were compiled on both, and
    ``exports_compared`` how many files called ``torch.export`` on both.
    """

    date: datetime
    before: JobsSide
    after: JobsSide
    undated: int
    compared: int
    regressions: tuple[Regression, ...]
    exports_compared: int
    export_regressions: tuple[ExportRegression, ...]


class Unreadable(NamedTuple):
    """A job that could not be read, and why."""

    job: str
    source: str
    error: str


class FleetFailure(NamedTuple):
    """Compilations of one function that failed, or that the limit refused, for the same reason: how ``often`` in how many ``jobs``."""

    outcome: str
    function: str
    file: str | None
    line: int | None
    message: str | None
    jobs: int
    often: int


class FleetExport(NamedTuple):
    """Exports that failed for the same reason on the same line: how ``often`` in how many ``jobs``. The line is that of the call."""

    code: str
    message: str | None
    file: str | None
    line: int | None
    remedy: str | None
    jobs: int
    often: int


class Fleet(NamedTuple):
    """What the tables of many jobs show together, most expensive first. ``since`` is None where all jobs began within a week."""

    folder: str
    totals: Totals
    causes: tuple[FleetCause, ...]
    advice: tuple[FleetAdvice, ...]
    failures: tuple[FleetFailure, ...]
    exports: tuple[FleetExport, ...]
    unreadable: tuple[Unreadable, ...]
    since: Since | None = None


def fleet(folder: str | Path, since: datetime | None = None) -> Fleet:
    """What the tables in a folder, or at a URL, show, and what is worse in jobs that began at ``since`` or later: by default in the week
    that ends with the newest job, where others began before it.

    Raises ShapelogError where there are no tables, where a file is damaged, and without DuckDB.
    """
    place = place_of(folder)
    form = form_of(place)
    with _connection() as connection:
        if place.system is not None:
            connection.register_filesystem(place.system)
        try:
            for table in queries.ASKED:
                _make_view(connection, place, table, form)
            return _fleet(connection, place.title, since)
        except (_duckdb().Error, OSError) as error:
            raise ShapelogError(f"{place.title}: cannot read these tables: {' '.join(str(error).split())[:300]}") from error


def _fleet(connection: "duckdb.DuckDBPyConnection", folder: str, since: datetime | None) -> Fleet:
    def rows(query: str, *values: object) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = connection.execute(query, values).fetchall()
        return found

    (totals,) = rows(queries.TOTALS)
    if not totals[0] + totals[1]:
        raise ShapelogError(f"{folder}: there is no job in these tables yet")
    found = Totals(*totals[:-2], *map(_time, totals[-2:]))
    date = since or _last_week(found)
    return Fleet(
        folder=folder,
        totals=found,
        causes=tuple(FleetCause(*row) for row in rows(queries.CAUSES)),
        advice=tuple(FleetAdvice(*row) for row in rows(queries.ADVICE)),
        failures=tuple(FleetFailure(*row) for row in rows(queries.FAILURES)),
        exports=tuple(FleetExport(*row) for row in rows(queries.EXPORTS)),
        unreadable=tuple(Unreadable(*row) for row in rows(queries.UNREADABLE)),
        since=_since(rows, date) if date else None,
    )


def _last_week(totals: Totals) -> datetime | None:
    """A week before the newest job; None where no job began before that."""
    date = totals.last - timedelta(days=7) if totals.last else None
    return date if date and totals.first and totals.first < date else None


def _since(rows: Any, date: datetime) -> Since:
    moment = date.timestamp()
    sides = {is_after: JobsSide(*values) for is_after, *values in rows(queries.SIDES, moment)}
    nothing = JobsSide(0, 0, 0.0, 0.0)
    ((undated,),) = rows(queries.UNDATED)
    ((compared,),) = rows(queries.COMPARED, moment)
    ((exports_compared,),) = rows(queries.EXPORTS_COMPARED, moment)
    return Since(
        date=date,
        before=sides.get(False, nothing),
        after=sides.get(True, nothing),
        undated=undated,
        compared=compared,
        regressions=tuple(Regression(*row) for row in rows(queries.REGRESSIONS, moment)),
        exports_compared=exports_compared,
        export_regressions=tuple(ExportRegression(*row) for row in rows(queries.EXPORT_REGRESSIONS, moment)),
    )


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc)


def _duckdb() -> Any:
    try:
        import duckdb
    except ImportError as error:
        raise needs("duckdb", "shapelog fleet") from error
    return duckdb


def _connection() -> "duckdb.DuckDBPyConnection":
    """A database in memory, which neither installs nor loads extensions."""
    settings = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    found: duckdb.DuckDBPyConnection = _duckdb().connect(config=settings)
    return found


def _make_view(connection: "duckdb.DuckDBPyConnection", place: Place, table: str, form: Form) -> None:
    """A view of a table, also of one without rows, which has no file."""
    types = {column.name: _TYPES[column.kind] for column in columns(table)}
    files = [place.address_of(name) for name in parts(place, table, form)]
    if not files:
        empty = ", ".join(f'CAST(NULL AS {kind}) AS "{name}"' for name, kind in types.items())
        connection.execute(f"CREATE TABLE {table} AS SELECT {empty} LIMIT 0")
        return
    inside = {column.name: types[column.name] for column in columns(table) if not column.is_partition}
    path = {column.name: types[column.name] for column in columns(table) if column.is_partition}
    options = f"hive_partitioning = true, hive_types_autocast = false, hive_types = {_struct(path)}"
    reader = "read_parquet"
    if form == "csv":
        reader, options = "read_csv", f"{options}, header = true, quote = '\"', escape = '\"', delim = ',', columns = {_struct(inside)}"
    names = ", ".join(f'"{name}"' for name in types)
    connection.execute(f"CREATE TABLE {table} AS SELECT {names} FROM {reader}([{_texts(files)}], {options})")


def _struct(types: dict[str, str]) -> str:
    return "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in types.items()) + "}"


def _texts(values: Sequence[str]) -> str:
    return ", ".join(_quoted(values))


def _quoted(values: Sequence[str]) -> Iterator[str]:
    """Paths as DuckDB reads them, signs of patterns in them taken as they are."""
    for value in values:
        plain = _SIGN.sub(lambda sign: f"[{sign[0]}]", value).replace("'", "''")
        yield f"'{plain}'"

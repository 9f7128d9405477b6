"""Many jobs → tables: each is read, explained and written by a worker, which holds one at a time."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from shapelog.distributed.executor import Executor, LostTask, gather
from shapelog.distributed.large_jobs import ReadOptions, load_large_job
from shapelog.errors import ShapelogError
from shapelog.model.load import load
from shapelog.model.trace import Trace
from shapelog.reading.inputs import InputOptions, Selection, is_large, select, select_files
from shapelog.reading.trace_files import WEB_TIMEOUT, redacted_url
from shapelog.report.report import analyze
from shapelog.tables.files import Form, write_job
from shapelog.tables.names import job_name
from shapelog.tables.places import Place, place_of
from shapelog.tables.rows import Rows, rows_of, unreadable
from shapelog.tables.sources import runs_of


class ReadAs(NamedTuple):
    """How jobs are read, as in ``InputOptions``; ``is_strict`` decodes every record.

    With ``each_run`` each run in a directory is a job of its own.
    """

    run: str = ""
    max_bytes: int | None = None
    timeout: float = WEB_TIMEOUT
    is_strict: bool = False
    each_run: bool = False


class JobTask(NamedTuple):
    """A job for a worker, and the address of the tables, which has to mean the same there. Without ``files`` it is what ``source`` is."""

    source: str
    address: str
    form: Form
    how: ReadAs
    files: tuple[str, ...] = ()


class JobResult(NamedTuple):
    """What became of a job: ``error`` is why it could not be read, ``refusal`` why its tables could not be written; else "".

    ``rows`` are those of all tables; ``notes`` are for the user, as on runs that were left out.
    """

    source: str
    job: str
    error: str = ""
    refusal: str = ""
    rows: int = 0
    recompiles: int = 0
    seconds: float | None = None
    has_problems: bool = False
    notes: tuple[str, ...] = ()


def write_jobs(
    sources: Sequence[str], place: Place, form: Form, how: ReadAs, executor: Executor | None, note: Callable[[str], None]
) -> Iterator[JobResult]:
    """Write the tables of each job in the order in which they are read: by the workers of an executor, or in this process without one,
    where an error of the program itself is raised. ``note`` is called with lines for the user.

    Raises ShapelogError where tables cannot be written, or where there is no cluster.
    """
    jobs = (job for source in sources for job in (runs_of(source) if how.each_run else [(source, ())]))
    tasks = (JobTask(source, place.address, form, how, files) for source, files in jobs)
    here = ((task, write_one(task)) for task in tasks)
    for task, result in gather(executor, write_one, tasks, note=note) if executor else here:
        done = _lost(task, result) if isinstance(result, LostTask) else result
        if done.refusal:
            raise ShapelogError(f"{place.title}: {done.refusal}")
        yield done


def write_one(task: JobTask) -> JobResult:
    """In a worker: read a job, and write its tables. One that cannot be read is a row of ``jobs``."""
    try:
        selection = _select(task)
        report = analyze(_load(selection, task.how))
    except ShapelogError as error:
        return _unread(task, str(error))
    job, source = job_name(task.source), redacted_url(task.source)
    rows = rows_of(report, job, source, _modified(selection))
    found = rows["jobs"][0]
    return JobResult(
        source=source,
        job=job,
        refusal=_write(task, job, rows),
        rows=sum(map(len, rows.values())),
        recompiles=found.recompiles,
        seconds=found.seconds,
        has_problems=report.has_problems,
        notes=selection.notes,
    )


def _select(task: JobTask) -> Selection:
    if task.files:
        return select_files([Path(file) for file in task.files])
    return select(task.source, InputOptions(task.how.run, task.how.max_bytes, timeout=task.how.timeout))


def _load(selection: Selection, how: ReadAs) -> Trace:
    if is_large([selection]):
        return load_large_job(selection, ReadOptions(is_strict=how.is_strict, max_bytes=how.max_bytes, timeout=how.timeout))
    return load(selection, how.is_strict)


def _modified(selection: Selection) -> float | None:
    """When its files were last modified."""
    times = [file.entry.modified for file in selection.files if file.entry and file.entry.modified]
    for file in selection.files:
        with suppress(OSError):
            times += [file.path.stat().st_mtime] if file.path else []
    return max(times, default=None)


def _lost(task: JobTask, lost: LostTask) -> JobResult:
    return _unread(task, f"{redacted_url(task.source)}: {lost.reason}")


def _unread(task: JobTask, error: str) -> JobResult:
    job, source = job_name(task.source), redacted_url(task.source)
    return JobResult(source, job, error, _write(task, job, unreadable(job, source, error)), rows=1, has_problems=True)


def _write(task: JobTask, job: str, rows: Rows) -> str:
    try:
        write_job(place_of(task.address), job, rows, task.form)
    except OSError as error:
        return f"cannot write {job}: {error.strerror}"
    return ""

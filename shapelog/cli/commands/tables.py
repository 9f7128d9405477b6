"""``shapelog tables`` and ``shapelog fleet``: many jobs as tables, and what these have in common."""

import re
import time
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import files
from shapelog.cli.options import (
    CommonOptions,
    executor_option,
    folder_options,
    list_options,
    output_options,
    rendering,
    run_options,
    transfer_options,
)
from shapelog.cli.output import Output, message, write_outputs
from shapelog.cli.progress import progress_bar
from shapelog.errors import ShapelogError
from shapelog.reporters import formats
from shapelog.text import plural, plural_noun, seconds

if TYPE_CHECKING:
    from shapelog.tables.write_jobs import JobResult

# Jobs that cannot be read are named on standard error, as are notes; of many, the first.
_MOST_NAMED = 5
_AGO = re.compile(r"(\d{1,6})([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 168}


@click.command(short_help="Write tables of what many jobs compiled.")
@click.argument("sources", metavar="SOURCE...", nargs=-1, required=True, shell_complete=files)
@click.option("--each-run", is_flag=True, help="Treat each run in a local directory as a separate job.")
@run_options
@executor_option("the jobs", "one process per core")
@transfer_options
@folder_options(("parquet", "csv"), "Write the tables into this directory, which is created if needed, or to a URL of object storage.")
def tables(sources: tuple[str, ...], each_run: bool, options: CommonOptions) -> int:
    """Write what many jobs compiled as tables, for DuckDB, pandas, Spark, and shapelog fleet.

    SOURCE is a file, an archive, a directory (its newest run), a URL, or a pattern such as 's3://bucket/jobs/*'; each is one job. A
    directory without a trace of its own is searched: each directory below it that has one is a job, and so is each archive.

    The tables are compiles, recompiles, causes, frames, suggestions, graph_breaks, failures, phases, collectives, and exports, in one
    file for each job and rank: DIR/compiles/job=NAME/rank=0/part-0.parquet. The table jobs has one row for each job, with the error of
    one that could not be read. A job that is already in DIR is replaced. See docs/tables.md for every column.

    Each process reads one job at a time. Exits with 2 if no job could be read; with --strict, also if any job could not be read or a
    trace has problems.
    """
    which = [f"--run {options.run}"] * bool(options.run) + ["--all-runs"] * options.all_runs + ["--each-run"] * each_run
    if which[1:]:
        raise ShapelogError(f"{' and '.join(which)} cannot be used together")
    if "-" in sources:
        raise ShapelogError("tables: standard input cannot be read here; use files, directories or URLs")
    from shapelog.distributed.executor import parse_executor
    from shapelog.tables.arrow import arrow
    from shapelog.tables.files import Form, prepare
    from shapelog.tables.places import place_of
    from shapelog.tables.sources import jobs_of
    from shapelog.tables.write_jobs import ReadAs, write_jobs

    (target,) = options.targets
    form: Form = "csv" if target.format == "csv" else "parquet"
    if form == "parquet":
        arrow()
    executor = None if options.debug and not options.executor else parse_executor(options.executor or "processes")
    place = place_of(target.file or "")
    prepare(place, form)
    began = time.monotonic()
    found = jobs_of(sources)
    how = ReadAs("all" if options.all_runs else options.run or "", options.max_unpacked, options.timeout, options.strict, each_run)
    done: list[JobResult] = []
    with progress_bar() as progress:
        for result in write_jobs(sources=found, place=place, form=form, how=how, executor=executor, note=message):
            done.append(result)
            if progress:
                progress(f"{len(done):,} jobs", len(done), max(len(found), len(done)))
        if progress:
            progress("", len(done), -1)
    return _summed_up(done, place.title, time.monotonic() - began, options)


def _summed_up(done: "list[JobResult]", folder: str, took: float, options: CommonOptions) -> int:
    """Report what was written, and what could not be read. Returns the exit code."""
    unread = [item for item in done if item.error]
    for item in sorted(unread)[:_MOST_NAMED]:
        message(item.error)
    if unread[_MOST_NAMED:]:
        message(f"{len(unread) - _MOST_NAMED} more jobs could not be read; the table jobs has the errors")
    for text in _left_out(done):
        message(text)
    rows = sum(item.rows for item in done)
    read = f"{plural(len(done) - len(unread), 'job')} read" + (f", {len(unread)} not" if unread else "")
    message(f"{read}; {rows:,} {plural_noun(rows, 'row')} in {folder} after {seconds(took)}; shapelog fleet {folder} reports on them")
    has_failed = len(unread) == len(done) or (options.strict and any(item.has_problems for item in done))
    return 2 if has_failed else 0


def _left_out(done: "list[JobResult]") -> list[str]:
    """What the notes of jobs have in common: that older runs of their directories were not read."""
    older = [item for item in done if len(item.notes) > 1]
    return [f"{plural(len(older), 'directory')} with more than one run: the newest is read, --each-run makes each a job"] if older else []


@click.command(short_help="Report what the jobs in such tables have in common.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False))
@click.option(
    "--since",
    metavar="WHEN",
    help="Show what is worse in jobs that began at or after WHEN than in earlier ones: 7d, 12h or 2w ago, or a date such as "
    "2026-01-31 or 2026-01-31T08:00 (UTC).  [default: 7 days before the newest job, if others began earlier]",
)
@list_options("Show everything: all entries of each list.")
@output_options(formats("fleet"), with_trace=False)
def fleet(folder: str, since: str | None, options: CommonOptions) -> int:
    """Report on the tables in DIR, which shapelog tables wrote: what many jobs have in common. DIR may be a URL of object storage.

    Shows which functions recompile more, take longer or fail more often in newer jobs than in older ones, which advice would save the
    most compile time across all jobs, the top causes, what failed, and the jobs that could not be read.
    """
    moment = None if since is None else parse_since(since, datetime.now(timezone.utc))
    from shapelog.tables import fleet as fleets

    return write_outputs(Output(rendering("fleet", fleets.fleet(folder, moment), options)), options)


def parse_since(text: str, now: datetime) -> datetime:
    """``7d`` before ``now``, or a date in UTC. Raises ShapelogError for anything else."""
    try:
        if ago := _AGO.fullmatch(text.strip()):
            return now - timedelta(hours=int(ago[1]) * _HOURS[ago[2]])
        date = datetime.fromisoformat(text.strip())
        return date if date.tzinfo else date.replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError) as error:
        raise ShapelogError(f"--since {text}: neither a time ago such as 7d, 12h or 2w, nor a date such as 2026-01-31") from error

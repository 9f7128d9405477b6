"""``shapelog compare``, and which two traces it compares."""

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import files
from shapelog.cli.load import load_report, select
from shapelog.cli.options import CommonOptions, list_options, no_source_option, output_options, rendering, transfer_options
from shapelog.cli.output import Output, reject_overwriting, write_outputs
from shapelog.errors import ShapelogError
from shapelog.reporters import formats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shapelog.reading.inputs import DatedRun, Selection
    from shapelog.report.trend import NamedRun


@click.command(short_help="Show what changed between two traces or runs.")
@click.argument("before", metavar="BEFORE", shell_complete=files)
@click.argument("after", metavar="[AFTER]", required=False, shell_complete=files)
@click.option(
    "--before-run",
    metavar="RUN",
    help="Which run of BEFORE to read, as with --run in shapelog report.  [default: the newest; with BEFORE alone: 2]",
)
@click.option("--after-run", metavar="RUN", help="Which run of AFTER (or of BEFORE alone) to read.  [default: the newest]")
@click.option(
    "--all",
    "is_trend",
    is_flag=True,
    help="Compare all runs of the directory or archive BEFORE, or of its subdirectories, in chronological order.",
)
@no_source_option
@list_options("Show everything, including frames and causes that did not change.")
@transfer_options
@output_options(formats("comparison"))
def compare(before: str, after: str | None, before_run: str | None, after_run: str | None, is_trend: bool, options: CommonOptions) -> int:
    """Show what changed from trace BEFORE to trace AFTER, or from one run to the next in the directory BEFORE.

    For two runs of one program: with and without a change, cold and warm, or with two versions of torch. Frames are matched by their
    code, so line numbers and directories may differ. BEFORE and AFTER can each be a trace or text log, a directory (its newest run), an
    archive, a URL, or - for standard input. With a single directory or archive, shapelog compare DIR compares its newest run with the
    previous one, and --before-run 3 with the one before that.

    With --all, shapelog compare DIR --all shows one row for each run of DIR (or of its subdirectories, where DIR itself has no trace),
    and the causes that are new or gone compared with the run before it. With -o FILE.html, the result is a page.

    \b
    Examples:
      shapelog compare before.log after.log
      shapelog compare traces/ --all
    """
    from shapelog.report.compare import compare

    first = replace(options, run=before_run, run_option="--before-run")
    second = replace(options, run=after_run, run_option="--after-run")
    if is_trend:
        if after or before_run or after_run:
            raise ShapelogError("compare --all: takes one directory or archive, and neither --before-run nor --after-run")
        return _trend(before, options)
    if before == after == "-":
        raise ShapelogError("compare - -: only one of the two traces can come from standard input")
    reject_overwriting(options.targets, (before, after or before))
    pair = _two_runs(before, first, second) if after is None else (select(before, first), select(after, second))
    old, new = (load_report(selection, options) for selection in pair)
    given = (before, after) if after is not None else ("", "")
    comparison = compare(old, new, (_directory(given[0]), _directory(given[1])))
    output = Output(rendering("comparison", comparison, options), lambda: old.has_problems or new.has_problems)
    return write_outputs(output, options)


def _directory(path: str) -> str:
    """The path, if it is that of a directory, whose files have names that nobody chose."""
    return path.rstrip("/") if os.path.isdir(path) else ""


def _trend(path: str, options: CommonOptions) -> int:
    """All runs of one directory or archive, or of the directories in it, in order of time.

    Raises ShapelogError where none can be read.
    """
    from shapelog.reading.inputs import directories_of_runs, each_run
    from shapelog.report.trend import NamedRun, trend

    if path == "-":
        raise ShapelogError("compare --all: standard input holds only one run; use a directory or an archive")
    reject_overwriting(options.targets, (path,))
    unreadable: list[str] = []
    runs: list[tuple[str, DatedRun]] = []
    places = directories_of_runs(path)
    for place in places:
        try:
            runs += [(place, run) for run in each_run(select(place, replace(options, all_runs=True)), place)]
        except ShapelogError as error:
            if options.debug or len(places) == 1:
                raise
            unreadable.append(str(error))
    runs.sort(key=lambda item: item[1].begin)
    problems: list[bool] = []

    def reports() -> "Iterator[NamedRun]":
        for place, run in runs:
            try:
                report = load_report(run.selection, options)
            except ShapelogError as error:
                if options.debug:
                    raise
                unreadable.append(str(error))
                continue
            problems.append(report.has_problems)
            yield NamedRun(run.began, report, os.path.basename(place) if place != path else "")

    compared = trend(path, reports(), unreadable)
    if not compared.rows:
        raise ShapelogError(unreadable[-1])
    return write_outputs(Output(rendering("trend", compared, options), lambda: any(problems), bool(unreadable)), options)


def _two_runs(path: str, first: CommonOptions, second: CommonOptions) -> "tuple[Selection, Selection]":
    """Two runs of one directory or archive: the newest and the one before, unless others are named."""
    if path == "-":
        raise ShapelogError("compare -: a second trace is missing; use shapelog compare BEFORE AFTER")
    newer = select(path, second)
    older = select(path, first if first.run else replace(first, run="2", run_option=""))
    if _places(newer) == _places(older):
        why = "selects the same run twice" if newer.notes else "contains only one run"
        raise ShapelogError(f"compare {path}: this {why}; use shapelog compare BEFORE AFTER, or --before-run and --after-run")
    # The notes after the first name what is not read, which is not true of the other run.
    return older._replace(notes=older.notes[:1]), newer._replace(notes=newer.notes[:1])


def _places(selection: "Selection") -> list[tuple[object, str]]:
    return [(file.path, file.entry.name if file.entry else "") for file in selection.files]

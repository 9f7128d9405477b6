"""``shapelog compare``, and which two traces it compares."""

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import files
from shapelog.cli.load import load_report, select
from shapelog.cli.options import CommonOptions, list_options, output_options, rendering, transfer_options
from shapelog.cli.output import Output, reject_overwriting, write_outputs
from shapelog.errors import ShapelogError
from shapelog.reporters import formats

if TYPE_CHECKING:
    from shapelog.reading.inputs import Selection


@click.command()
@click.argument("before", metavar="BEFORE", shell_complete=files)
@click.argument("after", metavar="[AFTER]", required=False, shell_complete=files)
@click.option(
    "--before-run",
    metavar="RUN",
    help="Which run of BEFORE to read, as with --run in shapelog report.  [default: the newest; with BEFORE alone: 2]",
)
@click.option("--after-run", metavar="RUN", help="Which run of AFTER (or of BEFORE alone) to read.  [default: the newest]")
@list_options("Show everything, including frames and causes that did not change.")
@transfer_options
@output_options(formats("comparison"))
def compare(before: str, after: str | None, before_run: str | None, after_run: str | None, options: CommonOptions) -> int:
    """Show what changed from trace BEFORE to trace AFTER, or from one run to the next in the directory BEFORE.

    For two runs of one program: with and without a change, cold and warm, or with two versions of torch. Frames are matched by their
    code, so line numbers and directories may differ. Each is a trace or text log, a directory (its newest
    run), an archive, a URL, or - for standard input. With a single directory or archive, shapelog compare DIR compares its
    newest run with the previous one, and --before-run 3 with the one before that.
    """
    from shapelog.report.compare import compare

    first = replace(options, run=before_run, run_option="--before-run")
    second = replace(options, run=after_run, run_option="--after-run")
    if before == after == "-":
        raise ShapelogError("compare - -: only one of the two traces can come from standard input")
    reject_overwriting(options.targets, (before, after or before))
    pair = _two_runs(before, first, second) if after is None else (select(before, first), select(after, second))
    old, new = (load_report(selection, options) for selection in pair)
    comparison = compare(old, new)
    output = Output(rendering("comparison", comparison, options), lambda: old.has_problems or new.has_problems)
    return write_outputs(output, options)


def _two_runs(path: str, first: CommonOptions, second: CommonOptions) -> "tuple[Selection, Selection]":
    """Two runs of one directory or archive: the newest and the one before, unless others are named."""
    if path == "-":
        raise ShapelogError("compare -: a second trace is missing; use shapelog compare BEFORE AFTER")
    newer = select(path, second)
    older = select(path, replace(first, run=first.run or "2"))
    if _places(newer) == _places(older):
        why = "selects the same run twice" if newer.notes else "contains only one run"
        raise ShapelogError(f"compare {path}: this {why}; use shapelog compare BEFORE AFTER, or --before-run and --after-run")
    # The notes after the first name what is not read, which is not true of the other run.
    return older._replace(notes=older.notes[:1]), newer._replace(notes=newer.notes[:1])


def _places(selection: "Selection") -> list[tuple[object, str]]:
    return [(file.path, file.entry.name if file.entry else "") for file in selection.files]

"""``shapelog compare``, and which two traces it compares."""

from typing import TYPE_CHECKING, Any

import click

from shapelog.cli.load import load, selected
from shapelog.cli.options import chosen, output_options, source_options
from shapelog.cli.output import Made, Target, finish
from shapelog.reporters import COMPARE_FORMATS

if TYPE_CHECKING:
    from shapelog.reading.inputs import Selection, TraceFile


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="[AFTER]", required=False)
@click.option(
    "--before-run", metavar="RUN", help="Which run of BEFORE, as --run of shapelog report.  [default: the newest; of BEFORE alone 2]"
)
@click.option("--after-run", metavar="RUN", help="Which run of AFTER, or of BEFORE alone, likewise.  [default: the newest]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, also the frames and causes that did not change.")
@source_options(which_run=False)
@output_options(COMPARE_FORMATS)
def compare(
    before: str, after: str | None, before_run: str | None, after_run: str | None, limit: int, verbose: bool, **shared: Any
) -> None:
    """Tell what changed from trace BEFORE to trace AFTER, or from one run to the next in the directory BEFORE.

    For two runs of one program: with and without a change, cold and warm, under two versions of torch. Frames are matched by their
    code, so lines may have shifted and directories may be others. Each is a file, a directory (its newest
    run), an archive, a URL, or - for standard input. A directory or an archive alone holds both: shapelog compare DIR compares its
    newest run with the one before, --before-run 3 with the one before that.
    """
    from shapelog.errors import ShapelogError

    def make() -> Made:
        if before == after == "-":
            raise ShapelogError("compare - -: one of the two traces can come from standard input, the other must be a file or a directory")
        loaded = [load(selection, shared) for selection in _two_runs(before, after, before_run, after_run, shared)]
        from shapelog.report.compare import compare
        from shapelog.report.report import analyze
        from shapelog.reporters import comparison_reporter

        one, other = (analyze(trace, shared["debug"]) for trace in loaded)
        found = compare(one, other)

        def render(target: Target) -> bytes:
            options = chosen(shared, target, limit=0 if verbose else limit, verbose=verbose)
            return comparison_reporter(target.format).render_comparison(found, options)

        return Made(render, lambda: one.has_problems or other.has_problems)

    finish(make, shared)


def _two_runs(before: str, after: str | None, before_run: str | None, after_run: str | None, shared: dict[str, Any]) -> "list[Selection]":
    """Two traces, or without ``after`` two runs of one directory or archive: the newest and the one before, unless others are named.

    Raises ShapelogError where there are no two.
    """
    from shapelog.errors import ShapelogError

    of_before, of_after = ({**shared, "run_option": option} for option in ("--before-run", "--after-run"))
    if after is not None:
        return [selected(before, {**of_before, "run": before_run}), selected(after, {**of_after, "run": after_run})]
    if before == "-":
        raise ShapelogError("compare -: with what? shapelog compare BEFORE AFTER")
    newer = selected(before, {**of_after, "run": after_run})
    older = selected(before, {**of_before, "run": before_run or "2"})
    if [_place(file) for file in newer.files] == [_place(file) for file in older.files]:
        why = "names one and the same run twice" if newer.notes else "is one trace alone"
        raise ShapelogError(f"compare {before}: that {why}; shapelog compare BEFORE AFTER, or with --before-run and --after-run")
    # The notes behind the first tell what is not read, which is not true of the other of the two.
    return [older._replace(notes=older.notes[:1]), newer._replace(notes=newer.notes[:1])]


def _place(file: "TraceFile") -> tuple[object, str]:
    return file.path, file.item.name if file.item else ""

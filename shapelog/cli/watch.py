"""``shapelog watch``."""

import sys
from typing import Any

import click

from shapelog.cli.load import read
from shapelog.cli.options import output_options, page_options, place_options, source_options
from shapelog.cli.output import Made, finish, refuse_unwritable, say
from shapelog.cli.report import refuse_page_on_terminal, shown
from shapelog.reporters import CI_FORMATS, FORMATS


@click.command()
@click.argument("where", metavar="DIR")
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End when nothing new came for so long.  [default: 600 where the processes of the job cannot be seen, else never]",
)
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything in the report: all entries, each recompile, records by kind.")
@place_options
@page_options
@source_options(which_run=False)
@output_options((*FORMATS, *CI_FORMATS), several=True)
def watch(where: str, idle: float | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Follow a job that runs, and report on it when it ends.

    DIR is what TORCH_TRACE was set to, or one trace in it; it need not exist yet. Its newest run is shown on one screen, which changes as
    the job compiles; where the output is no terminal, each compile is told in a line. When the processes that write have ended, or on
    Ctrl-C, the report follows, as shapelog report shows it. A second Ctrl-C ends at once.
    """
    from shapelog.errors import ShapelogError

    def make() -> Made:
        loaded = read(where, shared)
        from shapelog.report.report import analyze

        return shown(analyze(loaded, shared["debug"]), shared, limit=0 if verbose else limit, verbose=verbose)

    try:
        refuse_page_on_terminal(shared)
        refuse_unwritable(shared["targets"])
        from shapelog.cli.watch_view import follow

        follow(where, idle, shared)
        finish(make, shared)
    except KeyboardInterrupt:
        sys.exit(130)
    except ShapelogError as error:
        if shared["debug"]:
            raise
        say(str(error))
        sys.exit(error.exit_code)

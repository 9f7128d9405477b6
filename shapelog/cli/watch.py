"""``shapelog watch``."""

import sys

import click

from shapelog.cli.load import load, select
from shapelog.cli.options import CommonOptions, list_options, output_options, page_options, repository_options, unpacking_options
from shapelog.cli.output import errors_end_the_program, reject_page_on_terminal, reject_unwritable, write_outputs
from shapelog.cli.report import report_output
from shapelog.reporters import CI_FORMATS, FORMATS


@click.command()
@click.argument("where", metavar="DIR")
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End when nothing new came for so long.  [default: 600 where the processes of the job cannot be seen, else never]",
)
@list_options("Show everything in the report: all entries, each recompile, records by kind.")
@repository_options
@page_options
@unpacking_options
@output_options((*FORMATS, *CI_FORMATS), several=True)
def watch(where: str, idle: float | None, options: CommonOptions) -> None:
    """Follow a job that runs, and report on it when it ends.

    DIR is what TORCH_TRACE was set to, or one trace in it; it need not exist yet. Its newest run is shown on one screen, which changes as
    the job compiles; where the output is no terminal, each compile is told in a line. When the processes that write have ended, or on
    Ctrl-C, the report follows, as shapelog report shows it. A second Ctrl-C ends at once.
    """
    try:
        with errors_end_the_program(options.output.debug):
            reject_page_on_terminal(options.output.targets)
            reject_unwritable(options.output.targets)
            from shapelog.cli.watch_view import follow

            follow(where, idle, options)
            trace = load(select(where, options.input), options)
            from shapelog.report.report import analyze

            report = analyze(trace, options.output.debug)
        sys.exit(write_outputs(report_output(report, options), options.output))
    except KeyboardInterrupt:
        sys.exit(130)

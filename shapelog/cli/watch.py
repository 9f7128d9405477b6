"""``shapelog watch``."""

import click

from shapelog.cli.completion import files
from shapelog.cli.load import load_report, select
from shapelog.cli.options import CommonOptions, format_options, list_options, output_options, unpacking_option
from shapelog.cli.output import reject_overwriting, reject_page_on_terminal, reject_unwritable, write_outputs
from shapelog.cli.report import report_output
from shapelog.reporters import formats


@click.command()
@click.argument("where", metavar="DIR", shell_complete=files)
@click.option(
    "--idle",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="End when nothing new came for so long.  [default: 600 where the processes of the job cannot be seen, else never]",
)
@list_options("Show everything in the report: all entries, each recompile, records by kind.")
@format_options
@unpacking_option
@output_options(formats("report", "overview"), several=True)
def watch(where: str, idle: float | None, options: CommonOptions) -> int:
    """Follow a job that runs, and report on it when it ends.

    DIR is what TORCH_TRACE was set to, or one trace in it; it need not exist yet. Its newest run is shown on one screen, which changes as
    the job compiles; where the output is no terminal, each compile is told in a line. When the processes that write have ended, or on
    Ctrl-C, the report follows, as shapelog report shows it. A second Ctrl-C ends at once.
    """
    from shapelog.cli.watch_view import follow

    try:
        reject_page_on_terminal(options.targets)
        reject_unwritable(options.targets)
        reject_overwriting(options.targets, (where,))
        follow(where, idle, options)
        report = load_report(select(where, options), options)
        return write_outputs(report_output(report, options), options)
    except KeyboardInterrupt:
        return 130

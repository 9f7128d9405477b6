"""``shapelog watch``."""

import click

from shapelog.cli.commands.report import report_output
from shapelog.cli.completion import files
from shapelog.cli.load import load_report, select
from shapelog.cli.options import CommonOptions, SecondsRange, format_options, list_options, output_options, unpacking_option
from shapelog.cli.output import reject_overwriting, reject_page_on_terminal, reject_unwritable, write_outputs
from shapelog.reporters import formats


@click.command()
@click.argument("where", metavar="DIR", shell_complete=files)
@click.option(
    "--idle",
    type=SecondsRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop after this many seconds without new records.  [default: 600 if the job's processes are not visible here, otherwise never]",
)
@list_options("Show everything in the report: all entries, every recompilation, and records by kind.")
@format_options
@unpacking_option
@output_options(formats("report", "overview"), several=True)
def watch(where: str, idle: float | None, options: CommonOptions) -> int:
    """Follow a running job, and report on it when it ends.

    DIR is the directory in TORCH_TRACE, one trace in it, or a text log; it does not have to exist yet. Its newest run is shown on one
    screen, which is updated as the job compiles; if the output is not a terminal, each compilation is printed as a line. When the
    processes that write the trace have ended, or on Ctrl-C, the report of shapelog report follows. A second Ctrl-C exits immediately.
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

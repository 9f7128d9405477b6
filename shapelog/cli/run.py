"""``shapelog run`` and ``shapelog verify``, which run a command and report on what it compiled."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from shapelog.cli.completion import directories, files
from shapelog.cli.load import load_report
from shapelog.cli.options import CommonOptions, format_options, list_options, output_options, rendering
from shapelog.cli.output import Output, message, reject_unwritable, write_outputs
from shapelog.cli.report import report_output
from shapelog.errors import ShapelogError
from shapelog.reporters import formats

if TYPE_CHECKING:
    from shapelog.capture.run_command import Run
    from shapelog.reading.inputs import Selection
    from shapelog.report.report import Report
    from shapelog.report.verification import Verification


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED, shell_complete=files)
@click.option(
    "--trace-dir",
    metavar="DIR",
    shell_complete=directories,
    help="Record into this directory.  [default: TORCH_TRACE if set, else a new temporary one]",
)
@list_options("Show everything: all entries, each recompile, records by kind.")
@format_options
@output_options(formats("report", "overview"), several=True)
def run(command: tuple[str, ...], trace_dir: str | None, options: CommonOptions) -> int:
    """Run COMMAND, record what it compiles, and explain every recompile.

    For example: shapelog run -- python train.py --epochs 1, or shapelog run -- torchrun --nproc-per-node 2 train.py. What follows the
    first word of COMMAND is its own, so the -- may be left out.

    Standard input, output and error belong to COMMAND, so a pipe gets what it prints and nothing else. The report goes to standard
    error when COMMAND has ended, or to the file that -o names. The trace is kept, and all of COMMAND's processes are reported on as
    one run; what was in DIR before is left out.

    Ends with the exit code of COMMAND: 127 where it was not found, 126 where it could not be run, 128+N where signal N ended it. Where
    COMMAND ended with 0, 2 says that the report could not be made, or that the trace has problems under --strict.
    """
    from shlex import quote

    from shapelog.capture import run_command

    reject_unwritable(options.targets)
    where, is_temporary = run_command.trace_dir_for(trace_dir)
    try:
        done = run_command.run(command, where)
    finally:
        if is_temporary:
            with suppress(OSError):  # it is not empty where something was recorded
                where.rmdir()
    if done.killed_by is not None:
        message(f"{command[0]} was ended by signal {done.killed_by}")
    status = 0
    if done.has_trace:
        message(f"the trace is kept in {where}; to see the report again: shapelog report {quote(str(where))}")
        status = _report(done, options)
    else:
        message(done.why_no_trace)
    run_command.end_like(done, status)


def _report(done: "Run", options: CommonOptions) -> int:
    try:
        report = load_report(done.selection(), options)
    except ShapelogError as error:
        if options.debug:
            raise
        message(str(error))
        return 2
    return write_outputs(report_output(report, options, sys.stderr), options, sys.stderr)


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED, shell_complete=files)
@click.option(
    "--trace-dir",
    metavar="DIR",
    shell_complete=directories,
    help="Record into DIR/before and DIR/after.  [default: a new temporary directory]",
)
@list_options("Show all frames, also those that did as before.")
@output_options(formats("verification"))
def verify(command: tuple[str, ...], trace_dir: str | None, options: CommonOptions) -> int:
    """Run COMMAND twice, the second time with what suggest-dynamic says, and show whether it helped.

    For example: shapelog verify -- python train.py --steps 20. Both runs get an empty compile cache of their own, so that their times can
    be compared; a list of dynamic sources that is set already stays, and the suggestion is added to it. Standard input, output and error
    belong to COMMAND; the result goes to standard error, or to the file that -o names. Both traces are kept.

    Ends with 0 when it helped or when there is nothing to mark, 1 when it did not help (no fewer compiles, a lost graph, another exit
    code), 2 when it could not be tried. When the first run fails, its exit code is passed on.
    """
    from shapelog.advice.advise import Advice
    from shapelog.capture.verify_command import run_and_verify

    reports: list[Report] = []

    def analyzed(selection: "Selection") -> "Report":
        reports.append(load_report(selection, options))
        return reports[-1]

    def show(result: "Verification | Advice") -> int:
        """A verification, or the advice where there was nothing to verify."""
        render = rendering("advice" if isinstance(result, Advice) else "verification", result, options, sys.stderr)
        return write_outputs(Output(render, lambda: any(report.has_problems for report in reports)), options, sys.stderr)

    reject_unwritable(options.targets)
    return run_and_verify(command, trace_dir, analyzed, show, message)

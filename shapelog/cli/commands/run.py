"""``shapelog run`` and ``shapelog verify``, which run a command and report on what it compiled."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from shapelog.cli.commands.report import report_output
from shapelog.cli.completion import directories, files
from shapelog.cli.load import load_report
from shapelog.cli.options import CommonOptions, format_options, list_options, no_source_option, output_options, rendering
from shapelog.cli.output import Output, message, reject_unwritable, write_outputs
from shapelog.errors import ShapelogError
from shapelog.reporters import Result, formats

if TYPE_CHECKING:
    from shapelog.capture.run_command import CommandRun
    from shapelog.reading.inputs import Selection
    from shapelog.report.report import Report
    from shapelog.report.verification import Verification


def _of_command(summary: str, where: str) -> Callable[[Callable[..., int]], click.Command]:
    """A command of shapelog that runs another one. ``summary`` is for the list of commands, ``where`` the help on the directory of the
    traces.
    """

    def decorate(function: Callable[..., int]) -> click.Command:
        function = click.option("--trace-dir", metavar="DIR", shell_complete=directories, help=where)(function)
        words = click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED, shell_complete=files)
        return click.command(short_help=summary, context_settings={"allow_interspersed_args": False})(words(function))

    return decorate


@_of_command(
    "Run COMMAND, record what it compiles, and explain it.",
    "Record into this directory.  [default: TORCH_TRACE if set, else a new temporary one]",
)
@list_options("Show everything: all entries, every recompilation, and records by kind.")
@format_options
@output_options(formats("report", "overview"), several=True)
def run(command: tuple[str, ...], trace_dir: str | None, options: CommonOptions) -> int:
    """Run COMMAND, record what it compiles, and explain every recompilation.

    For example: shapelog run -- python train.py --epochs 1, or shapelog run -- torchrun --nproc-per-node 2 train.py. Everything
    after the first word of COMMAND is passed to it, so the -- may be omitted.

    Standard input, output, and error are those of COMMAND, so a pipe gets only what it prints. The report goes to standard
    error when COMMAND has ended, or to the file given with -o. The trace is kept, and all processes of COMMAND are reported as
    one run; files that were already in DIR are ignored.

    Exits with the exit code of COMMAND: 127 if it was not found, 126 if it could not be run, 128+N if signal N terminated it. If
    COMMAND exited with 0, exit code 2 means that the report could not be written, or that the trace has problems with --strict.
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
        message(f"{command[0]} was terminated by signal {done.killed_by}")
    status = 0
    if done.has_trace:
        message(f"the trace was kept in {where}; to show the report again: shapelog report {quote(str(where))}")
        status = _report(done, options)
    else:
        message(done.why_no_trace)
    run_command.end_like(done, status)


def _report(done: "CommandRun", options: CommonOptions) -> int:
    try:
        report = load_report(done.selection(), options)
    except ShapelogError as error:
        if options.debug:
            raise
        message(str(error))
        return 2
    return write_outputs(report_output(report, options, sys.stderr), options, sys.stderr)


@_of_command(
    "Run COMMAND without and with the marks, and compare.", "Record into DIR/before and DIR/after.  [default: a new temporary directory]"
)
@no_source_option
@list_options("Show all frames, including unchanged ones.")
@output_options(formats("verification"))
def verify(command: tuple[str, ...], trace_dir: str | None, options: CommonOptions) -> int:
    """Run COMMAND twice, the second time with the marks from suggest-dynamic, and show whether they helped.

    For example: shapelog verify -- python train.py --steps 20. Each run gets its own empty compile cache and temporary directory,
    so that the times can be compared; if a list of dynamic sources is already set, the suggestion is added to it. Standard input,
    output, and error are those of COMMAND; the result goes to standard error, or to the file given with -o. Both traces are kept.

    Exit codes: 0 if the marks helped or there is nothing to mark, 1 if they did not help (no fewer compilations, a lost graph, a
    different exit code), 2 if they could not be tried. If the first run fails, its exit code is passed on.
    """
    from shapelog.advice.advise import Advice
    from shapelog.capture.verify_command import run_and_verify
    from shapelog.report.next_steps import advised_run

    reports: list[Report] = []

    def analyzed(selection: "Selection") -> "Report":
        reports.append(load_report(selection, options))
        return reports[-1]

    def show(result: "Verification | Advice") -> int:
        """A verification, or the advice and what else helps where there was nothing to verify."""
        found = advised_run(reports[0], result) if isinstance(result, Advice) else result
        kind: Result = "advised run" if isinstance(result, Advice) else "verification"
        wanted = replace(options, targets=tuple(item for item in options.targets if item.format in formats(kind)))
        for item in set(options.targets) - set(wanted.targets):
            message(f"{item.file or 'the page'} was not written: there is no second run to compare")
        render = rendering(kind, found, wanted, sys.stderr)
        return write_outputs(Output(render, lambda: any(report.has_problems for report in reports)), wanted, sys.stderr)

    reject_unwritable(options.targets)
    return run_and_verify(command, trace_dir, analyzed, show, message)

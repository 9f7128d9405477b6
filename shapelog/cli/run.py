"""``shapelog run`` and ``shapelog verify``."""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from shapelog.cli.load import load
from shapelog.cli.options import chosen, output_options, page_options, place_options
from shapelog.cli.output import Made, Target, refuse_unwritable, say, status_of
from shapelog.cli.report import shown
from shapelog.reporters import CI_FORMATS, FORMATS, VERIFY_FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from shapelog.advice.advise import Advice
    from shapelog.reading.inputs import Selection
    from shapelog.report.report import Report
    from shapelog.report.verification import Verification


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--trace-dir", metavar="DIR", help="Record into this directory.  [default: TORCH_TRACE if set, else a new temporary one]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show everything: all entries, each recompile, records by kind.")
@place_options
@page_options
@output_options((*FORMATS, *CI_FORMATS), several=True)
def run(command: tuple[str, ...], trace_dir: str | None, limit: int, verbose: bool, **shared: Any) -> None:
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
    from shapelog.errors import ShapelogError

    try:
        refuse_unwritable(shared["targets"])
        where, is_temporary = run_command.trace_dir_for(trace_dir)
    except ShapelogError as error:
        say(str(error))
        sys.exit(2)
    try:
        done = run_command.run(command, where)
    except ShapelogError as error:
        if is_temporary:
            _drop(where)
        say(str(error))
        sys.exit(error.exit_code)
    if done.killed_by is not None:
        say(f"{command[0]} was ended by signal {done.killed_by}")
    status = 0
    if done.has_trace:
        say(f"the trace is kept in {where}; to see the report again: shapelog report {quote(str(where))}")
        own = {"limit": 0 if verbose else limit, "verbose": verbose}
        status = status_of(lambda: shown(_analyzed(done.selection(), shared), shared, sys.stderr, **own), shared, sys.stderr)
    else:
        if is_temporary:
            _drop(where)
        say(run_command.why_no_trace())
    run_command.end_like(done, status)


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--trace-dir", metavar="DIR", help="Record into DIR/before and DIR/after.  [default: a new temporary directory]")
@click.option("-n", "--limit", type=click.IntRange(0), default=6, help="How many entries each list shows, 0 for all.  [default: 6]")
@click.option("-v", "--verbose", is_flag=True, help="Show all frames, also those that did as before.")
@output_options(VERIFY_FORMATS)
def verify(command: tuple[str, ...], trace_dir: str | None, limit: int, verbose: bool, **shared: Any) -> None:
    """Run COMMAND twice, the second time with what suggest-dynamic says, and show whether it helped.

    For example: shapelog verify -- python train.py --steps 20. Both runs get an empty compile cache of their own, so that their times can
    be compared; a list of dynamic sources that is set already stays, and the suggestion is added to it. Standard input, output and error
    belong to COMMAND; the result goes to standard error, or to the file that -o names. Both traces are kept.

    Ends with 0 when it helped or when there is nothing to mark, 1 when it did not help (no fewer compiles, a lost graph, another exit
    code), 2 when it could not be tried. When the first run fails, its exit code is passed on.
    """
    from shapelog.capture.verify_command import prove
    from shapelog.errors import ShapelogError

    runs: list[Report] = []

    def analyzed(selection: "Selection") -> "Report":
        runs.append(_analyzed(selection, shared))
        return runs[-1]

    try:
        refuse_unwritable(shared["targets"])
        status = prove(command, trace_dir, analyzed, _showing(limit, verbose, shared, runs), say)
    except ShapelogError as error:
        say(str(error))
        status = error.exit_code
    sys.exit(status)


def _showing(limit: int, verbose: bool, shared: dict[str, Any], runs: "list[Report]") -> "Callable[[Verification | Advice], int]":
    """What shows the result of these runs: a verification, or the advice that had nothing to verify."""

    def show(found: "Verification | Advice") -> int:
        from shapelog.advice.advise import Advice
        from shapelog.reporters import advice_reporter, verification_reporter

        def render(target: Target) -> bytes:
            options = chosen(shared, target, sys.stderr, limit=0 if verbose else limit, verbose=verbose)
            if isinstance(found, Advice):
                return advice_reporter(target.format).render_advice(found, options)
            return verification_reporter(target.format).render_verification(found, options)

        return status_of(lambda: Made(render, lambda: any(run.has_problems for run in runs)), shared, sys.stderr)

    return show


def _analyzed(selection: "Selection", shared: dict[str, Any]) -> "Report":
    loaded = load(selection, shared)
    from shapelog.report.report import analyze

    return analyze(loaded, shared["debug"])


def _drop(where: "Path") -> None:
    """Remove a temporary directory that nothing was written to."""
    with suppress(OSError):
        where.rmdir()

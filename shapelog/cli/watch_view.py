"""The view of ``shapelog watch`` until the job has ended: a live screen on a terminal, else a line for each compile."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FrameType

import click

from shapelog.capture.run_command import signals_handled
from shapelog.capture.watch import Snapshot, Watch
from shapelog.cli.interrupts import is_importing
from shapelog.cli.options import CommonOptions, reporter_options
from shapelog.cli.output import Target, message


def follow(where: str, idle: float | None, options: CommonOptions) -> None:
    """Show the compiles of a directory until the job has ended or an interrupt comes. Raises ShapelogError if it cannot be read."""
    from shapelog.reading.inputs import InputOptions

    watch = Watch(where, idle, options.debug, options=InputOptions(max_bytes=options.max_unpacked))
    is_interrupted = False

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal is_interrupted
        is_interrupted = True
        if not is_importing(frame):
            raise KeyboardInterrupt

    def until_interrupted(snapshots: Iterator[Snapshot]) -> Iterator[Snapshot]:
        for snapshot in snapshots:
            yield snapshot
            if is_interrupted:
                raise KeyboardInterrupt

    # The first SIGINT or SIGTERM ends only the watch: the report follows, and the terminal is restored.
    with signals_handled(("SIGINT", "SIGTERM"), interrupt), suppress(KeyboardInterrupt):
        snapshots = until_interrupted(watch.snapshots())
        if sys.stdout.isatty() and os.environ.get("TERM") not in (None, "", "dumb"):
            ended = _live(snapshots, options)
        else:
            ended = _lines(snapshots, options)
        message(f"{where}: {ended}")


def _live(snapshots: Iterable[Snapshot], options: CommonOptions) -> str:
    from rich.console import Group
    from rich.live import Live

    from shapelog.reporters.terminal.watch import Screen, console_on

    console = console_on(sys.stdout, reporter_options(options, Target("terminal")))
    screen, ended = Screen(), ""
    # The alternate screen of the terminal is not wrapped again when the window changes, and the report finds the first screen unchanged.
    with Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        for snapshot in snapshots:
            size = os.get_terminal_size(sys.stdout.fileno())
            width = min(size.columns, options.width or size.columns)
            console.size = (size.columns, size.lines)
            live.update(Group(*screen.lines(snapshot, width, size.lines - 1)), refresh=True)
            ended = snapshot.ended
    return ended


def _lines(snapshots: Iterable[Snapshot], options: CommonOptions) -> str:
    """On standard output, unless a target other than the terminal report goes there."""
    from shapelog.reporters.terminal.watch import lines

    to_stdout = all(target.file or target.format == "terminal" for target in options.targets)
    ended, is_announced = "", False
    for snapshot in snapshots:
        if snapshot.report is None and not is_announced:
            message(f"waiting for the first record in {snapshot.where}" + (f": {snapshot.waiting}" if snapshot.waiting else ""))
            is_announced = True
        for line in lines(snapshot):
            try:
                click.echo(line, err=not to_stdout)
            except BrokenPipeError:
                return "the output was closed"
        ended = snapshot.ended
    return ended

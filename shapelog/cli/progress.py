"""How far long work is: a line on standard error."""

import sys
import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from shapelog.reading.trace_files import Tell

# Seconds between two states of a progress bar, and its columns.
_TICK, _BAR = 0.1, 24


def teller() -> "Tell | None":
    """Who shows how far long work is: nobody where standard error is no terminal."""
    return Progress().tell if sys.stderr.isatty() else None


class Progress:
    """A line on a terminal that tells how much of a file has come, and is gone once all of it has."""

    def __init__(self) -> None:
        self.shown = 0.0

    def tell(self, name: str, done: int, size: int) -> None:
        now = time.monotonic()
        if size < 0:
            click.echo("\r\x1b[K", err=True, nl=False)
        elif now - self.shown >= _TICK:
            self.shown = now
            filled = _BAR * min(done, size) // size if size else 0
            bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] " if size else ""
            of = f" of {size / 1e6:.0f}" if size else ""
            click.echo(f"\r\x1b[K{bar}{done / 1e6:.0f}{of} MB  {''.join(filter(str.isprintable, name))[-40:]}", err=True, nl=False)

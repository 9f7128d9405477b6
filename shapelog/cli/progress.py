"""A progress bar on standard error, where that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from shapelog.text import file_size, visible

if TYPE_CHECKING:
    from click._termui_impl import ProgressBar

    from shapelog.reading.trace_files import ProgressCallback

# Bytes between two states of a bar whose end is not known, and how much of a name is shown.
_STEP, _LONGEST_NAME = 1_000_000, 40
# Erases a line and shows the cursor, which click hides while a bar is drawn.
_ERASE = "\r\x1b[K\x1b[?25h"


@contextmanager
def progress_bar() -> Iterator["ProgressCallback | None"]:
    """Yields the callback that draws the bar, None where standard error is not a terminal. A bar left over is erased at the end."""
    if not sys.stderr.isatty():
        yield None
        return
    bars = _Bars()
    try:
        yield bars.update
    finally:
        bars.erase()


class _Bars:
    """One bar after another: each file or job has its own, which is erased when it is done."""

    def __init__(self) -> None:
        self.bar: ProgressBar[int] | None = None
        self.done = 0

    def update(self, name: str, done: int, size: int) -> None:
        """``done`` and ``size`` are in bytes; a size of 0 is not known, and one below 0 ends the bar."""
        if size < 0:
            self.erase()
            return
        if self.bar is None:
            self.bar, self.done = _bar(size), 0
        self.bar.label = visible(name)[-_LONGEST_NAME:]
        self.bar.update(done - self.done, done)
        self.done = done

    def erase(self) -> None:
        if self.bar is not None:
            self.bar = None
            sys.stderr.write(_ERASE)
            sys.stderr.flush()


def _bar(size: int) -> "ProgressBar[int]":
    return click.progressbar(
        range(size) if size else iter(int, 1),  # without a length where the size is not known
        bar_template="[%(bar)s] %(info)s  %(label)s",
        width=24,
        show_eta=False,
        item_show_func=lambda done: file_size(done or 0),
        update_min_steps=max(1, size // 100) if size else _STEP,
        file=sys.stderr,
    )

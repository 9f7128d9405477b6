"""The progress bar: drawn on a terminal alone, and gone when the work is done."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr

import pytest

from shapelog.cli.progress import progress_bar

ERASED = "\r\x1b[K\x1b[?25h"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@contextmanager
def bar_on(terminal: Terminal) -> Iterator[Callable[[str, int, int], None]]:
    with redirect_stderr(terminal), progress_bar() as update:
        assert update
        yield update


def test_without_a_terminal_nothing_is_drawn() -> None:
    with redirect_stderr(io.StringIO()) as stream, progress_bar() as update:
        assert update is None
    assert stream.getvalue() == ""


def test_a_bar_shows_how_much_of_a_file_is_read() -> None:
    terminal = Terminal()
    with bar_on(terminal) as update:
        update("a.log", 50_000_000, 200_000_000)
        assert terminal.getvalue().endswith("[######------------------]  25%  50.0 MB  a.log")
        update("a.log", 100_000_000, 200_000_000)
        assert "[############------------]  50%  100.0 MB  a.log" in terminal.getvalue()
        update("a.log", 200_000_000, -1)
        assert terminal.getvalue().endswith(ERASED)
        update("b.log", 1_500_000, 0)
        assert terminal.getvalue().endswith("] 1.5 MB  b.log")
    assert terminal.getvalue().endswith(ERASED)
    assert "\n" not in terminal.getvalue()


def test_a_bar_is_drawn_at_most_once_for_each_percent() -> None:
    terminal = Terminal()
    with bar_on(terminal) as update:
        for done in range(0, 10_001, 10):
            update("a.log", done, 10_000)
    assert 50 < terminal.getvalue().count("a.log") <= 101


def test_an_error_erases_the_bar() -> None:
    terminal = Terminal()

    def interrupted() -> None:
        with bar_on(terminal) as update:
            update("a.log", 1, 2)
            sys.exit(130)

    with pytest.raises(SystemExit):
        interrupted()
    assert terminal.getvalue().endswith(ERASED)


def test_the_name_of_a_file_cannot_harm_the_terminal() -> None:
    terminal = Terminal()
    with bar_on(terminal) as update:
        update("\x1b]0;owned\x07" + "x" * 50, 1, 2)
    assert "\x1b]" not in terminal.getvalue()
    assert terminal.getvalue().count("x" * 40) == 1
    assert "x" * 41 not in terminal.getvalue()


def test_a_bar_without_any_work_leaves_nothing() -> None:
    terminal = Terminal()
    with bar_on(terminal):
        pass
    assert terminal.getvalue() == ""

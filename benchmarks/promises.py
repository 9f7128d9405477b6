"""What must hold whatever shapelog is given, and the watch over files, temporary files and descriptors around one input."""

import gc
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from shapelog.cli.main import cli

# Nothing but line ends, styles and visible text: a list of its own, not that of the package.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_OWN_LINE = re.compile(r"shapelog: |Usage: |Try 'shapelog |Error: |$")
_DESCRIPTORS = Path("/proc/self/fd")


class Flaw(Exception):
    """The outcome is not as promised."""


class Slow(BaseException):
    """It took too long. Not an Exception, so that nothing takes it for a failing analysis."""


class Ended(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    out: bytes
    said: str


def demand(claim: bool, words: str) -> None:
    """Raises Flaw with these words unless the claim holds."""
    if not claim:
        raise Flaw(words)


def plain(text: str) -> None:
    """Raises Flaw where a text has control characters."""
    found = _CONTROL.search(text)
    demand(found is None, f"a control character in the output: {found[0]!r}" if found else "")


def refusal(error: Exception, name: str = "") -> None:
    """Raises Flaw unless an error is one clear line, which has this name."""
    words = str(error)
    demand(bool(words.strip()) and name in words, "the refusal does not name the file")
    demand(len(words.splitlines()) == 1, "the refusal is more than a line")


def command(*arguments: str) -> Ended:
    """Run a command in this process. Raises Flaw unless it ends with 0, 1 or 2, and after 2 with a line that gives the reason."""
    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False, prog_name="shapelog")
    said = done.stderr
    demand(done.exit_code in (0, 1, 2), f"{arguments[0]} ended with {done.exit_code}")
    lines = said.removesuffix("\n").split("\n")
    demand(all(map(_OWN_LINE.match, lines)), f"{arguments[0]} put something on standard error that is no message")
    demand(done.exit_code != 2 or bool(said.strip()) or bool(done.stdout_bytes), f"{arguments[0]} ended with 2 without a reason")
    for line in lines:
        plain(line)
    ended = Ended(done.exit_code, done.stdout_bytes, said)
    if done.exit_code == 2:
        del done
        gc.collect()  # what runs commands here keeps the exception, and so the frames and files that it came through
    return ended


@contextmanager
def workplace() -> Iterator[Path]:
    """A directory for the files of inputs; temporary files go to another one next to it, and it is the current directory."""
    before, here = tempfile.tempdir, os.getcwd()
    with tempfile.TemporaryDirectory() as root:
        work, temporary = Path(root, "work"), Path(root, "temporary")
        work.mkdir()
        temporary.mkdir()
        tempfile.tempdir = str(temporary)
        os.chdir(work)
        try:
            yield work
        finally:
            os.chdir(here)
            tempfile.tempdir = before


@contextmanager
def watched(work: Path, may_write: Callable[[str], bool] = lambda name: False) -> Iterator[None]:
    """Raises Flaw where what runs here changes a file of the workplace, leaves a temporary one, or keeps a file open.

    ``may_write`` has the names of the files that are meant to be written.
    """
    descriptors, before = _open_files(), _files(work, may_write)
    yield
    demand(_files(work, may_write) == before, "a file was written that nobody named")
    left = os.listdir(tempfile.gettempdir())
    demand(not left, "a temporary file is left behind")
    demand(_open_files() <= descriptors, "a file is kept open")


def _files(work: Path, may_write: Callable[[str], bool]) -> list[tuple[Any, ...]]:
    with os.scandir(work) as found:
        states = [(entry.name, entry.stat(follow_symlinks=False)) for entry in found if not may_write(entry.name)]
    return sorted((name, state.st_size, state.st_mtime_ns, state.st_ino) for name, state in states)


def _open_files() -> int:
    return len(os.listdir(_DESCRIPTORS)) if _DESCRIPTORS.is_dir() else 0

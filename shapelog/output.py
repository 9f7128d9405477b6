"""What every command shares: its output options, reading a trace, and writing what it made. Only here is anything printed."""

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from shapelog.reporters import Options

if TYPE_CHECKING:
    from shapelog.model import Trace
    from shapelog.source import Selection

_F = TypeVar("_F", bound=Callable[..., Any])


def output_options(formats: Iterable[str]) -> Callable[[_F], _F]:
    """The options that every command which shows something shares."""

    def decorate(command: _F) -> _F:
        for option in (
            click.option("--debug", is_flag=True, help="Raise errors with their traceback, also those that the report only mentions."),
            click.option("--strict", is_flag=True, help="Check every record and checksum; exit 2 when something is wrong."),
            click.option("--width", type=click.IntRange(40), help="Columns to draw in.  [default: the terminal's]"),
            click.option(
                "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Color the output.  [default: auto]"
            ),
            click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file."),
            click.option(
                "-f",
                "--format",
                "format_name",
                type=click.Choice(list(formats)),
                default="terminal",
                help="Form of the output.  [default: terminal]",
            ),
        ):
            command = option(command)
        return command

    return decorate


def chosen(shared: dict[str, Any], to: TextIO | None = None, **own: Any) -> Options:
    """What was asked for; ``to`` is where the output goes without -o, standard output by default."""
    import os

    color = {"always": True, "never": False}.get(shared["color"])
    is_terminal = shared["output"] is None and (to or sys.stdout).isatty()
    width = shared["width"]
    if to is not None and is_terminal and "COLUMNS" not in os.environ:
        width = width or os.get_terminal_size(to.fileno()).columns
    return Options(color=color, width=width, is_terminal=is_terminal, **own)


def read(path: str, shared: dict[str, Any]) -> "Trace":
    from shapelog.source import select

    return load(select(path), shared)


def load(selection: "Selection", shared: dict[str, Any]) -> "Trace":
    """Load a trace. A large file is searched by a child process from here on, before the rest of shapelog is even imported."""
    from shapelog.scan import Reader
    from shapelog.source import open_trace

    readers = [Reader(open_trace(file), shared["strict"], ahead=True) for file in selection.files]
    from shapelog.build import build

    trace = build(selection, readers, shared["debug"])
    for note in trace.notes:
        say(note)
    return trace


def finish(make: Callable[[], tuple[bytes, bool]], shared: dict[str, Any]) -> None:
    """Make the output, write it, and end with 2 on bad input or, under --strict, on problems."""
    status = status_of(make, shared, sys.stdout)
    if status:
        sys.exit(status)


def status_of(make: Callable[[], tuple[bytes, bool]], shared: dict[str, Any], to: TextIO) -> int:
    """Make the output and write it to -o, or ``to`` without; 2 on bad input or, under --strict, on problems, else 0."""
    from shapelog.errors import ShapelogError

    try:
        rendered, has_problems = make()
        _write(rendered, shared["output"], to)
    except ShapelogError as error:
        if shared["debug"]:
            raise
        say(str(error))
        return 2
    if shared["strict"] and has_problems:
        say("the trace has problems (--strict); shapelog report lists them under its health")
        return 2
    return 0


def say(message: str) -> None:
    click.echo(f"shapelog: {_one_line(message)}", err=True)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def _write(content: bytes, output: str | None, to: TextIO) -> None:
    import os
    import tempfile

    from shapelog.errors import ShapelogError

    if output is None:
        stream = to.buffer
        try:
            stream.write(content)
            stream.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), to.fileno())
        return
    target = os.path.realpath(output)
    temporary = ""
    try:
        if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device is written to, not replaced
            with open(target, "wb") as stream:
                stream.write(content)
            return
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".shapelog-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)
        raise ShapelogError(f"{output}: cannot write: {error.strerror}") from error


def _umask() -> int:
    import os

    current = os.umask(0)
    os.umask(current)
    return current


def refuse_unwritable(output: str | None) -> None:
    """Say so before the command runs, which can take hours."""
    import os

    from shapelog.errors import ShapelogError

    target = os.path.realpath(output) if output else ""
    folder = os.path.dirname(target)
    if not target or (os.path.exists(target) and not os.path.isfile(target)):
        return
    if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise ShapelogError(f"{output}: cannot write: {folder} is no directory that can be written to")

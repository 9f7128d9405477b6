"""What every command shares: its output options, reading a trace, and writing what it made. Only here is anything printed."""

import functools
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click

from shapelog.reporters import SUFFIXES, Options

if TYPE_CHECKING:
    from shapelog.model import Trace
    from shapelog.report import Report
    from shapelog.source import Selection

_F = TypeVar("_F", bound=Callable[..., Any])


def output_options(formats: Iterable[str]) -> Callable[[_F], _F]:
    """The options that every command which shows something shares. Without --format, the suffix of -o says which one is meant."""
    known = list(formats)

    def decorate(command: _F) -> _F:
        @functools.wraps(command)
        def resolved(*arguments: Any, **options: Any) -> Any:
            by_suffix = next((name for end, name in SUFFIXES.items() if (options["output"] or "").lower().endswith(end)), "")
            options["format_name"] = options["format_name"] or (by_suffix if by_suffix in known else "terminal")
            return command(*arguments, **options)

        made: Any = resolved
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
                type=click.Choice(known),
                help="Form of the output.  [default: by the suffix of -o, else terminal]",
            ),
        ):
            made = option(made)
        return made  # type: ignore[no-any-return]

    return decorate


def page_options(command: _F) -> _F:
    """The options of the commands that can write the report as a page."""
    made: Any = command
    for option in (
        click.option("--no-source", is_flag=True, help="Leave code, payloads and absolute paths out of the HTML page, for sharing."),
        click.option(
            "--embed",
            type=click.Choice(["none", "fit", "recompiled", "all"]),
            default="fit",
            help="Which payloads (graphs, guards, generated code) the HTML page carries: none; what fits into 1.3 MB when packed, those of "
            "frames that recompiled first; all of those frames; or all.  [default: fit]",
        ),
        click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Write the report as one HTML page, too."),
    ):
        made = option(made)
    return made  # type: ignore[no-any-return]


def chosen(shared: dict[str, Any], to: TextIO | None = None, **own: Any) -> Options:
    """What was asked for; ``to`` is where the output goes without -o, standard output by default."""

    color = {"always": True, "never": False}.get(shared["color"])
    is_terminal = shared["output"] is None and (to or sys.stdout).isatty()
    width = shared["width"]
    if to is not None and is_terminal and "COLUMNS" not in os.environ:
        width = width or os.get_terminal_size(to.fileno()).columns
    page = {"embed": shared["embed"], "with_source": not shared["no_source"], "may_fork": True} if "html" in shared else {}
    return Options(color=color, width=width, is_terminal=is_terminal, **page, **own)


def page_of(report: "Report", options: Options, shared: dict[str, Any]) -> None:
    """Write the HTML page that --html asks for, and say where it is. Raises ShapelogError when it cannot be written."""
    from shapelog.errors import ShapelogError
    from shapelog.reporters import reporter

    if not shared["html"]:
        return
    if shared["output"] and os.path.realpath(shared["output"]) == os.path.realpath(shared["html"]):
        raise ShapelogError(f"{shared['html']}: named by both --html and -o")
    page = reporter("html").render(report, options)
    _write(page, shared["html"], sys.stdout)
    say(f"wrote {shared['html']}, {len(page) / 1e6:.1f} MB")


def lists_records(shared: dict[str, Any]) -> bool:
    """Whether a page is asked for that holds the records of the trace."""
    return bool(shared.get("html") or shared["format_name"] == "html") and shared["embed"] != "none" and not shared["no_source"]


def read(path: str, shared: dict[str, Any]) -> "Trace":
    from shapelog.source import select

    return load(select(path), shared)


def load(selection: "Selection", shared: dict[str, Any]) -> "Trace":
    """Load a trace. A large file is searched by a child process from here on, before the rest of shapelog is even imported."""
    from shapelog.scan import Reader
    from shapelog.source import open_trace

    readers = [Reader(open_trace(file), shared["strict"], ahead=True, listing=lists_records(shared)) for file in selection.files]
    from shapelog.build import build

    trace = build(selection, readers, shared["debug"])
    for note in trace.notes:
        say(note)
    return trace


Make = Callable[[], tuple[bytes, bool]]
"""Makes the output, and tells whether the trace has problems."""


def finish(make: Make, shared: dict[str, Any], then: Callable[[], None] | None = None) -> None:
    """Make the output, write it, and end with 2 on bad input or, under --strict, on problems; ``then`` comes after the writing."""
    status = status_of(make, shared, sys.stdout, then)
    if status:
        sys.exit(status)


def status_of(make: Make, shared: dict[str, Any], to: TextIO, then: Callable[[], None] | None = None) -> int:
    """Make the output and write it to -o, or ``to`` without, then the rest; 2 on bad input or, under --strict, on problems, else 0."""
    from shapelog.errors import ShapelogError

    try:
        rendered, has_problems = make()
        _write(rendered, shared["output"], to)
        if then is not None:
            then()
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

    current = os.umask(0)
    os.umask(current)
    return current


def refuse_unwritable(output: str | None) -> None:
    """Say so before the command runs, which can take hours."""

    from shapelog.errors import ShapelogError

    target = os.path.realpath(output) if output else ""
    folder = os.path.dirname(target)
    if not target or (os.path.exists(target) and not os.path.isfile(target)):
        return
    if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise ShapelogError(f"{output}: cannot write: {folder} is no directory that can be written to")

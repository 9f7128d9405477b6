"""What every command shares: its output options, and writing what it made. Only here is anything printed."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TextIO, TypeVar

import click

from shapelog.reporters import SUFFIXES, Options

_F = TypeVar("_F", bound=Callable[..., Any])
# What GitHub shows of one step's summary, in bytes.
_SUMMARY = 1024 * 1024
# Formats with a suffix of their own.
_UNMISTAKABLE = frozenset(("html", "jsonl", "markdown", "sarif"))


class Target(NamedTuple):
    """One output: its format, and its file, None for the standard stream.

    ``room`` is given for a file that others write to as well: that many bytes are appended at most. A file that is ``announced`` is
    named on standard error when it is written.
    """

    format: str
    file: str | None = None
    room: int | None = None
    is_announced: bool = False


class Made(NamedTuple):
    """What a command made: ``render`` gives it the form of a target, ``has_problems`` tells whether the trace has any."""

    render: Callable[[Target], bytes]
    has_problems: Callable[[], bool]


def output_options(formats: Iterable[str], several: bool = False) -> Callable[[_F], _F]:
    """The options that every command which shows something shares; with ``several``, -o and --format may be given more than once.

    The command gets them as keywords, ``targets`` instead of the two.
    """
    known = list(formats)
    again = " May be given several times: as many --format as -o belong together in order, else each file is written by its suffix."

    def decorate(command: _F) -> _F:
        @functools.wraps(command)
        def resolved(*arguments: Any, **options: Any) -> Any:
            from shapelog.errors import ShapelogError

            names, files = (_many(options.pop(name)) for name in ("format_name", "output"))
            options.pop("config")
            options["targets"] = (*targets_of(names, files, known), *_besides(options.get("html")))
            try:
                refuse_twice(options["targets"])
            except ShapelogError as error:
                say(str(error))
                sys.exit(2)
            return command(*arguments, **options)

        made: Any = resolved
        for option in (
            click.option("--debug", is_flag=True, help="Raise errors with their traceback, also those that the report only mentions."),
            click.option(
                "--config",
                metavar="FILE",
                type=click.Path(exists=True, dir_okay=False),
                is_eager=True,
                callback=_configure,
                help="Read the settings from this file.  [default: the nearest shapelog.toml, or pyproject.toml with [tool.shapelog]]",
            ),
            click.option("--strict/--no-strict", help="Check every record and checksum; exit 2 when something is wrong."),
            click.option("--width", type=click.IntRange(40), help="Columns to draw in.  [default: the terminal's]"),
            click.option(
                "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Color the output.  [default: auto]"
            ),
            click.option(
                "-o",
                "--output",
                type=click.Path(dir_okay=False, allow_dash=True),
                multiple=several,
                help="Write to this file." + (again if several else ""),
            ),
            click.option(
                "-f",
                "--format",
                "format_name",
                type=click.Choice(known),
                multiple=several,
                help="Form of the output.  [default: by the suffix of -o, else terminal]",
            ),
        ):
            made = option(made)
        return made  # type: ignore[no-any-return]

    return decorate


def _many(value: str | Sequence[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _configure(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Let the settings of files and the environment be the defaults of the options that are read after this one."""
    from shapelog.cli.settings import settings
    from shapelog.errors import ShapelogError

    if not ctx.resilient_parsing:
        try:
            ctx.default_map = {**(ctx.default_map or {}), **settings(value)}
        except ShapelogError as error:
            say(str(error))
            ctx.exit(2)
    return value


def targets_of(names: Sequence[str], files: Sequence[str], known: Iterable[str]) -> tuple[Target, ...]:
    """Which format goes where, standard output first. As many formats as files belong together in their order.

    Else each file is written by its suffix, one whose suffix tells nothing takes the next format, and what formats are left go to
    standard output.
    """
    known = list(known)
    left = list(names)
    if len(names) == len(files):
        pairs = list(zip(names, files, strict=True))
        for name, file in pairs:
            meant = by_suffix(file, known)
            if meant != name and meant in _UNMISTAKABLE:
                say(f"{file} will hold {name}, as --format says, and not {meant}; for both: --format {name} -o - -o {file}")
    else:
        pairs = [(by_suffix(file, known) or (left.pop(0) if left else "terminal"), file) for file in files]
        pairs += [(name, "-") for name in left]
    shown = dict.fromkeys(Target(name) for name, file in pairs if file == "-")  # nobody needs to see the same twice
    return (*shown, *(Target(name, file) for name, file in pairs if file != "-")) or (Target("terminal"),)


def by_suffix(file: str, known: Iterable[str]) -> str:
    """The format that the name of a file means, "" where it means none of those known."""
    return next((name for end, name in SUFFIXES.items() if file.lower().endswith(end) and name in known), "")


def _besides(page: str | None) -> Iterator[Target]:
    if page:
        yield Target("html", page, is_announced=True)


def refuse_twice(targets: Sequence[Target], baseline: str = "") -> None:
    """Raises ShapelogError for a file that two outputs are meant for, or one and the baseline; a device can take both."""
    from shapelog.errors import ShapelogError

    named = [(target.file, "--html" if target.is_announced else "-o") for target in targets if target.file]
    seen: dict[str, str] = {}
    for file, option in (*named, *([(baseline, "--write-baseline")] if baseline else [])):
        path = os.path.realpath(file)
        other = seen.get(path, "")
        seen[path] = option
        if other and (os.path.isfile(path) or not os.path.exists(path)):
            how = f"{option} twice" if other == option else f"both {option} and {other}"
            raise ShapelogError(f"{file}: named by {how}, and it can hold one output only")


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


def place_options(command: _F) -> _F:
    """The options of the commands whose formats name files of the repository."""
    made: Any = command
    for option in (
        click.option(
            "--strip-prefix",
            multiple=True,
            metavar="PREFIX",
            help="The directory of the repository in the trace, where that was recorded elsewhere; may be given several times.",
        ),
        click.option(
            "--source-root",
            type=click.Path(exists=True, file_okay=False),
            default=".",
            help="The repository here: the CI formats name its files relative to it.  [default: the current directory]",
        ),
    ):
        made = option(made)
    return made  # type: ignore[no-any-return]


def chosen(shared: dict[str, Any], target: Target, to: TextIO | None = None, **own: Any) -> Options:
    """What was asked for; ``to`` is the standard stream that the output goes to without a file, standard output by default."""

    color = {"always": True, "never": False}.get(shared["color"])
    is_terminal = target.file is None and (to or sys.stdout).isatty()
    width = shared["width"]
    if to is not None and is_terminal and "COLUMNS" not in os.environ:
        width = width or os.get_terminal_size(to.fileno()).columns
    page = {"embed": shared["embed"], "with_source": not shared["no_source"], "may_fork": True} if "html" in shared else {}
    return Options(color=color, width=width, is_terminal=is_terminal, room=target.room, **page, **own)


def lists_records(shared: dict[str, Any]) -> bool:
    """Whether a page is asked for that holds the records of the trace."""
    is_page = any(target.format == "html" for target in shared["targets"])
    return is_page and shared["embed"] != "none" and not shared["no_source"]


Make = Callable[[], Made]


def finish(make: Make, shared: dict[str, Any]) -> None:
    """Make the output, write it, and end with 2 on bad input or, under --strict, on problems."""
    status = status_of(make, shared, sys.stdout)
    if status:
        sys.exit(status)


def status_of(make: Make, shared: dict[str, Any], to: TextIO) -> int:
    """Make the output and write each target, ``to`` being the standard stream; 2 on bad input or, under --strict, on problems, else 0.

    A target that cannot be written is said, and the others are written nevertheless.
    """
    from shapelog.errors import ShapelogError

    status = 0
    made: Made | None = None
    for target in (*shared["targets"], *_summaries(shared["targets"], to)):
        try:
            made = made or make()
            content = made.render(target)
            write(content, target, to)
            if target.is_announced:
                from shapelog.text import megabytes

                say(f"wrote {target.file}, {megabytes(len(content))}")
        except ShapelogError as error:
            if shared["debug"]:
                raise
            say(str(error))
            status = status if target.room is not None else 2  # nobody asked for the summary of the step
            if made is None:
                return status
    if shared["strict"] and made and made.has_problems():
        say("the trace has problems (--strict); shapelog report lists them under its health")
        return 2
    return status


def _summaries(targets: Sequence[Target], to: TextIO) -> Iterator[Target]:
    """Markdown also goes to the summary of a GitHub step, which may hold something and takes so much and no more; not where it goes
    there anyway.
    """
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file or all(target.format != "markdown" for target in targets) or any(_goes_to(file, target, to) for target in targets):
        return
    room = _SUMMARY - (os.path.getsize(file) if os.path.isfile(file) else 0)
    if room > 0:
        yield Target("markdown", file, room=room)
    else:
        say(f"{file}: the summary of this step is full, so nothing is added to it")


def _goes_to(file: str, target: Target, to: TextIO) -> bool:
    try:
        return os.path.samestat(os.stat(file), os.stat(target.file) if target.file else os.fstat(to.fileno()))
    except OSError:  # one of them is not there yet, or the stream is none of the system's
        return bool(target.file) and os.path.realpath(str(target.file)) == os.path.realpath(file)


def say(message: str) -> None:
    click.echo(f"shapelog: {_one_line(message)}", err=True)


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else f"\\x{ord(character):02x}" for character in text)


def write(content: bytes, target: Target, to: TextIO) -> None:
    from shapelog.errors import ShapelogError

    output = target.file
    if output is None:
        stream = to.buffer
        try:
            stream.write(content)
            stream.flush()
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), to.fileno())  # what is left in the buffer has to go somewhere
            if not isinstance(error, BrokenPipeError):
                raise ShapelogError(f"{to.name}: cannot write: {error.strerror}") from error
        return
    path = os.path.realpath(output)
    temporary = ""
    try:
        # A pipe or a device is written to, not replaced.
        if target.room is not None or (os.path.exists(path) and not os.path.isfile(path)):
            with open(path, "wb" if target.room is None else "ab") as stream:
                stream.write(content)
            return
        import tempfile

        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(path), prefix=".shapelog-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise ShapelogError(f"{output}: cannot write: {error.strerror}") from error
    finally:  # also when it is interrupted
        if temporary and os.path.exists(temporary):
            os.unlink(temporary)


def _umask() -> int:

    current = os.umask(0)
    os.umask(current)
    return current


def refuse_unwritable(targets: Iterable[Target]) -> None:
    """Say so before the command runs, which can take hours. Raises ShapelogError for the first file that cannot be written."""
    for target in targets:
        _refuse(target.file)


def _refuse(output: str | None) -> None:

    from shapelog.errors import ShapelogError

    target = os.path.realpath(output) if output else ""
    folder = os.path.dirname(target)
    if not target or (os.path.exists(target) and not os.path.isfile(target)):
        return
    if not (os.path.isdir(folder) and os.access(folder, os.W_OK)):
        raise ShapelogError(f"{output}: cannot write: {folder} is no directory that can be written to")

"""The options that commands share."""

import functools
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO, TypeVar

import click

from shapelog.cli.output import Target, refuse_twice, say, targets_of
from shapelog.reporters import Options

_F = TypeVar("_F", bound=Callable[..., Any])


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


def _besides(page: str | None) -> Iterator[Target]:
    if page:
        yield Target("html", page, is_announced=True)


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


def source_options(which_run: bool) -> Callable[[_F], _F]:
    """The options of a command that is given traces; ``which_run`` where it can be told which run of a directory."""

    def decorate(command: _F) -> _F:
        made: Any = click.option(
            "--max-unpacked",
            type=_Size(),
            metavar="SIZE",
            help="Refuse what unpacks to more, such as 500M or 100G.  [default: 250 times its own size, from 100 MB to 64 GB]",
        )(command)
        if which_run:
            made = click.option(
                "--executor",
                metavar="WHERE",
                help="Who reads the ranks of a job: processes:N of this machine, or dask://HOST:PORT, the workers of a Dask cluster, "
                "which have to see the files.  [default: from 17 ranks on, one process for each core]",
            )(made)
            made = click.option("--all-runs", is_flag=True, help="Read every run of a directory or an archive, as one.")(made)
            made = click.option(
                "--run",
                metavar="RUN",
                help="Which run of a directory or an archive: 2 for the one before the newest, 3 for the one before that, or a part of the "
                "name of one of its files.  [default: the newest]",
            )(made)
        return made  # type: ignore[no-any-return]

    return decorate


class _Size(click.ParamType):  # type: ignore[type-arg]  # generic from click 8.4 on
    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from shapelog.reading.compression import parse_size

        try:
            return value if isinstance(value, int) else parse_size(value)
        except ValueError:
            self.fail(f"{value!r} is no size such as 500M or 100G", param, ctx)

"""The options that commands share: the decorators that offer them, and the dataclass that commands get their values in."""

import functools
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, TextIO, TypeVar

import click

from shapelog.cli.completion import alert_kinds, directories, rule_codes
from shapelog.cli.output import OutputOptions, Target, message, reject_duplicate_files, reject_overwriting, targets_of
from shapelog.errors import ShapelogError
from shapelog.reading.trace_files import WEB_TIMEOUT
from shapelog.reporters import Options, Result, renderer

_Command = TypeVar("_Command", bound=Callable[..., Any])


class SecondsRange(click.FloatRange):
    """A finite number of seconds: ``nan``, which Python reads as a number, is neither more nor less than any limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        seconds = super().convert(value, param, ctx)
        if not math.isfinite(seconds):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return seconds


@dataclass(frozen=True, slots=True)
class CommonOptions(OutputOptions):
    """The values of all shared options; those that a command does not offer have their defaults.

    ``html`` is the file of ``--html``; ``embed`` and ``no_source`` are as in ``reporters.Options``. ``run_option`` is the option that
    names ``run``; ``max_unpacked`` is in bytes, ``timeout`` in seconds. Each text of a list of the policy may hold
    several entries with commas.
    """

    html: str | None = None
    embed: str = "fit"
    no_source: bool = False
    # Where the repository is: here, and its directories on the machine of the trace.
    source_root: str = "."
    strip_prefix: tuple[str, ...] = ()
    # Which run of a directory is read, and how.
    run: str | None = None
    all_runs: bool = False
    executor: str | None = None
    max_unpacked: int | None = None
    timeout: float = WEB_TIMEOUT
    run_option: str = "--run"
    # The policy of a check.
    max_compiles: int | None = None
    max_recompiles: int | None = None
    max_avoidable_seconds: float | None = None
    max_compiles_per_frame: tuple[str, ...] = ()
    max_recompiles_per_frame: tuple[str, ...] = ()
    max_avoidable_seconds_per_frame: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: tuple[str, ...] = ()


_SHARED = {field.name for field in fields(CommonOptions)}


def _offer(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    """A decorator that adds options, which help shows in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def output_options(formats: Sequence[str], several: bool = False, with_trace: bool = True) -> Callable[[_Command], Callable[..., Any]]:
    """The options of every command. It has to be the last decorator; the command gets a CommonOptions as ``options``, and returns the exit
    code. A ShapelogError that it raises is printed.

    With ``several``, -o and --format may be given more than once. A command that reads no trace offers neither --strict nor --debug.
    """
    pairing = (
        " May be repeated. With as many --format as -o options, they are paired in order; otherwise each file's format follows from "
        "its suffix."
    )
    offered = [
        click.option(
            "-f",
            "--format",
            "format_name",
            type=click.Choice(formats),
            multiple=several,
            help="Output format.  [default: from the suffix of -o, else terminal]",
        ),
        click.option(
            "-o",
            "--output",
            type=click.Path(dir_okay=False, allow_dash=True),
            multiple=several,
            help="Write to this file." + (pairing if several else ""),
        ),
        click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Color the output.  [default: auto]"),
        click.option("--width", type=click.IntRange(40), help="Width of the output in columns.  [default: the terminal's]"),
    ]
    strict, config, debug = _reading_options()
    offered += [strict, config, debug] if with_trace else [config]
    return lambda command: _offer(*offered)(_with_common_options(command, formats))


def _reading_options() -> tuple[Callable[[Any], Any], ...]:
    """--strict, --config and --debug."""
    strict = click.option("--strict/--no-strict", help="Check every record and checksum; exit with 2 if anything is wrong.")
    config = click.option(
        "--config",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False),
        is_eager=True,
        callback=_read_settings,
        help="Read settings from this file.  [default: the nearest shapelog.toml, or pyproject.toml with [tool.shapelog]]",
    )
    debug = click.option("--debug", is_flag=True, help="Raise errors with their traceback, including those that the report only mentions.")
    return strict, config, debug


def folder_options(
    formats: Sequence[str], help: str, format_help: str = "Format of the files."
) -> Callable[[_Command], Callable[..., Any]]:
    """Those of a command that writes a folder: ``options.targets`` has it as the file of its one target, in the first format by default.

    It has to be the last decorator, as ``output_options``.
    """
    offered = (
        click.option("-o", "--output", metavar="DIR", required=True, type=click.Path(file_okay=False), help=help),
        click.option(
            "-f",
            "--format",
            "format_name",
            type=click.Choice(formats),
            default=formats[0],
            help=f"{format_help}  [default: {formats[0]}]",
        ),
        *_reading_options(),
    )
    return lambda command: _offer(*offered)(_with_common_options(command, formats))


def _with_common_options(command: Callable[..., Any], formats: Sequence[str]) -> Callable[..., Any]:
    """The command as click calls it, with the value of each option by its name."""

    @functools.wraps(command)
    def called(*, format_name: str | Sequence[str] | None, output: str | Sequence[str] | None, config: str | None, **given: Any) -> Any:
        announced = [Target("html", given["html"], is_announced=True)] if given.get("html") else []
        own = {name: value for name, value in given.items() if name not in _SHARED}
        try:
            targets = (*targets_of(_as_list(format_name), _as_list(output), formats), *announced)
            options = CommonOptions(targets, **{name: value for name, value in given.items() if name in _SHARED})
            reject_duplicate_files(targets)
            reject_overwriting(targets, (config,) if config else ())
            sys.exit(command(options=options, **own))
        except ShapelogError as error:
            if given.get("debug"):
                raise
            message(str(error))
            sys.exit(error.exit_code)

    return called


def _as_list(value: str | Sequence[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _read_settings(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Make the settings of files and the environment the defaults of the options that are read after this one."""
    from shapelog.cli.settings import settings

    if not ctx.resilient_parsing:
        try:
            ctx.default_map = {**(ctx.default_map or {}), **settings(value)}
        except ShapelogError as error:
            message(str(error))
            ctx.exit(2)
    return value


def list_options(
    verbose: str, limit: str = "Show at most this many entries of each list (0 for all).", default: int = 6
) -> Callable[[_Command], _Command]:
    """How much is listed; ``verbose`` and ``limit`` are texts of help."""
    return _offer(
        click.option("-n", "--limit", type=click.IntRange(0), default=default, help=f"{limit}  [default: {default}]"),
        click.option("-v", "--verbose", is_flag=True, help=verbose),
    )


no_source_option = click.option(
    "--no-source", is_flag=True, help="Leave code, payloads, and absolute paths out of the HTML page, so that it can be shared."
)

# The contents of the CI formats and of the HTML page.
format_options = _offer(
    click.option(
        "--source-root",
        type=click.Path(exists=True, file_okay=False),
        default=".",
        help="Root of the repository; CI formats give file names relative to it.  [default: the current directory]",
    ),
    click.option(
        "--strip-prefix",
        multiple=True,
        metavar="PREFIX",
        shell_complete=directories,
        help="Directory of the repository in the trace, if it was recorded elsewhere. May be repeated.",
    ),
    click.option("--html", type=click.Path(dir_okay=False), metavar="FILE", help="Also write the report as one HTML page."),
    click.option(
        "--embed",
        type=click.Choice(["none", "fit", "recompiled", "all"]),
        default="fit",
        help="Payloads (graphs, guards, generated code) to include in the HTML page: none; as many as fit in 1.3 MB compressed, "
        "recompiled frames first (fit); all of recompiled frames; or all.  [default: fit]",
    ),
    no_source_option,
)


def _size(value: str | int) -> int:
    from shapelog.reading.compression import parse_size

    try:
        return value if isinstance(value, int) else parse_size(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} is not a size such as 500M or 100G") from error


unpacking_option = click.option(
    "--max-unpacked",
    type=_size,
    metavar="SIZE",
    help="Refuse inputs that unpack to more than this, such as 500M or 100G.  [default: 250 times the input size, from 100 MB to 64 GB]",
)

# How traces are got that are packed or behind a URL.
transfer_options = _offer(
    unpacking_option,
    click.option(
        "--timeout",
        type=SecondsRange(0, min_open=True),
        default=WEB_TIMEOUT,
        metavar="SECONDS",
        help=f"Give up when a web server sends nothing for this long.  [default: {WEB_TIMEOUT:g}]",
    ),
)

run_options = _offer(
    click.option(
        "--run",
        metavar="RUN",
        help="Which run of a directory or archive to read: 2 for the one before the newest, 3 for the one before that, or part of "
        "the name of one of its files.  [default: the newest]",
    ),
    click.option("--all-runs", is_flag=True, help="Read all runs of a directory or archive as one."),
)


def executor_option(what: str, default: str) -> Callable[[_Command], _Command]:
    """``--executor``, for what it reads."""
    where = "processes:N (local processes) or dask://HOST:PORT (Dask workers, which need access to the files)"
    return click.option("--executor", metavar="WHERE", help=f"How to read {what}: {where}.  [default: {default}]")


input_options = _offer(run_options, executor_option("the ranks of a job", "one process per core for 17 or more ranks"), transfer_options)


# The criteria of a check.
policy_options = _offer(
    click.option("--max-compiles", type=click.IntRange(0), metavar="N", help="Fail if the run has more than N compilations."),
    click.option("--max-recompiles", type=click.IntRange(0), metavar="N", help="Fail if the run has more than N recompilations."),
    click.option(
        "--max-avoidable-seconds",
        type=SecondsRange(0),
        metavar="S",
        help="Fail if avoidable recompilations take longer than S seconds.",
    ),
    click.option(
        "--max-compiles-per-frame",
        multiple=True,
        metavar="[FRAME=]N",
        help="Fail if a frame has more than N compilations. FRAME is a glob for a title, function, or file; the longest match wins.",
    ),
    click.option("--max-recompiles-per-frame", multiple=True, metavar="[FRAME=]N", help="Fail if a frame has more than N recompilations."),
    click.option(
        "--max-avoidable-seconds-per-frame",
        multiple=True,
        metavar="[FRAME=]S",
        help="Fail if avoidable recompilations of a frame take longer than S seconds.",
    ),
    click.option(
        "--select",
        multiple=True,
        metavar="CODES",
        shell_complete=rule_codes,
        help="Check only these rules: codes or prefixes, such as SL3,SL401.",
    ),
    click.option(
        "--ignore",
        multiple=True,
        metavar="CODES",
        shell_complete=rule_codes,
        help="Ignore these rules. If --select and --ignore both match, the longer prefix wins.",
    ),
    click.option(
        "--fail-on",
        multiple=True,
        metavar="KINDS",
        shell_complete=alert_kinds,
        help="What to fail on: avoidable, marking, size, non-size, recompile, unexplained, limit, limit-near, failure, skipped, "
        "break, restart, rank, none. [default: avoidable,limit,failure; with a budget limit,failure; with --select everything selected]",
    ),
)


def reporter_options(options: CommonOptions, target: Target, stream: TextIO | None = None) -> Options:
    """The options of a reporter; ``stream`` is the standard stream of targets without a file, standard output by default."""
    is_terminal = target.file is None and (stream or sys.stdout).isatty()
    width = options.width
    if stream is not None and is_terminal and "COLUMNS" not in os.environ:
        width = width or os.get_terminal_size(stream.fileno()).columns
    return Options(
        verbose=options.verbose,
        limit=0 if options.verbose else options.limit,
        color={"always": True, "never": False}.get(options.color),
        width=width,
        is_terminal=is_terminal,
        embed=options.embed,
        with_source=not options.no_source,
        room=target.room,
    )


def rendering(result: Result, found: Any, options: CommonOptions, stream: TextIO | None = None) -> Callable[[Target], bytes]:
    """Renders a result for a target; ``stream`` as in ``reporter_options``."""
    return lambda target: renderer(result, target.format)(found, reporter_options(options, target, stream))


def needs_record_index(options: CommonOptions) -> bool:
    """Whether a page is asked for that holds the records of the trace."""
    is_page = any(target.format == "html" for target in options.targets)
    return is_page and options.embed != "none" and not options.no_source

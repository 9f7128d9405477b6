"""What the commands that read traces share: which of them are meant, and bringing them into memory."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from shapelog.cli.output import lists_records, say

if TYPE_CHECKING:
    from shapelog.errors import ShapelogError
    from shapelog.model.trace import Trace
    from shapelog.reading.inputs import InputOptions, Selection
    from shapelog.reading.trace_files import ProgressCallback

_F = TypeVar("_F", bound=Callable[..., Any])
# Seconds between two states of a progress bar, and its columns.
_TICK, _BAR = 0.1, 24


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


def read(path: str, shared: dict[str, Any], in_full: bool = False) -> "Trace":
    """The trace that a path stands for, by the options of ``source_options``; ``in_full`` where another path may have files so named.

    Raises ShapelogError when it cannot be read.
    """
    return load(selected(path, shared, in_full), shared)


def selected(path: str, shared: dict[str, Any], in_full: bool = False) -> "Selection":
    """The files of the trace that a path stands for, likewise."""
    from shapelog.reading.inputs import select

    return select(path, _choice(shared, in_full))


def _choice(shared: dict[str, Any], in_full: bool) -> "InputOptions":
    from shapelog.errors import ShapelogError
    from shapelog.reading.inputs import InputOptions

    run, is_all = shared.get("run"), shared.get("all_runs")
    if run and is_all:
        raise ShapelogError(f"--run {run} and --all-runs: only one of them can be meant")
    option = shared.get("run_option", "--run")
    return InputOptions("all" if is_all else run or "", shared["max_unpacked"], _teller(), in_full, option)


def read_several(paths: Sequence[str], shared: dict[str, Any], rank: int | None = None) -> "tuple[list[Trace], int]":
    """The traces that can be read, and how many cannot, of which one line each is said; only those of a ``rank`` if their names tell.

    Raises ShapelogError if none can, or if a path does not exist, which is a slip of the pen.
    """
    from shapelog.errors import ShapelogError
    from shapelog.reading.inputs import only_rank, select

    loaded: list[Trace] = []
    refused: list[ShapelogError] = []
    bases = [os.path.basename(path) for path in paths]
    in_full = len(paths) > 1 and (len({*bases}) < len(bases) or any(map(os.path.isdir, paths)))
    choice = _choice(shared, in_full)
    if len(paths) == 1:
        return [load(only_rank(select(paths[0], choice), rank), shared)], 0
    selected: list[Selection] = []
    for path in paths:
        try:
            selected.append(only_rank(select(path, choice), rank))
        except ShapelogError as error:
            _collect(error, path, refused)
    for selection in _jobs(selected, shared):
        try:
            loaded.append(load(selection, shared))
        except ShapelogError as error:
            refused.append(error)
    for refusal in refused if loaded else refused[:-1]:
        say(str(refusal))
    if not loaded:
        raise refused[-1]
    return loaded, len(refused)


def _collect(error: "ShapelogError", path: str, refused: "list[ShapelogError]") -> None:
    from shapelog.reading.trace_files import is_url

    if path != "-" and not is_url(path) and not os.path.exists(path):
        raise error
    refused.append(error)


def _jobs(selected: "list[Selection]", shared: dict[str, Any]) -> "list[Selection]":
    """Several traces each by itself; as one where they have many ranks, or where others are to read them."""
    from shapelog.reading.inputs import is_large, join

    return [join(selected)] if is_large(selected, bool(shared.get("executor"))) else selected


def load(selection: "Selection", shared: dict[str, Any]) -> "Trace":
    """Load a trace, of a large job by way of workers."""
    from shapelog.reading.inputs import is_large
    from shapelog.reading.open_trace import open_all
    from shapelog.reading.reader import Reader

    if is_large([selection], bool(shared.get("executor"))):
        return _load_job(selection, shared)
    readers = [Reader(opened, shared["strict"], lists_records(shared)) for opened in open_all(selection.files)]
    from shapelog.model.load import build

    trace = build(selection, readers, shared["debug"], _teller())
    for note in trace.notes:
        say(note)
    return trace


def _load_job(selection: "Selection", shared: dict[str, Any]) -> "Trace":
    """Load a job of many ranks by way of workers."""
    import shapelog.report.report  # noqa: F401  # before the workers are forked, which have to import it otherwise
    from shapelog.distributed.executor import parse_executor
    from shapelog.distributed.large_jobs import How, fold

    executor = parse_executor(shared.get("executor") or "processes")
    trace = fold(selection, How(executor, shared["strict"], shared["debug"], shared["max_unpacked"], _teller(), lists_records(shared)))
    for note in trace.notes:
        say(note)
    return trace


def _teller() -> "ProgressCallback | None":
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

"""Which traces are meant by the arguments of a command, and bringing them into memory."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from shapelog.cli.options import CommonOptions, needs_record_index
from shapelog.cli.output import message, reject_overwriting
from shapelog.cli.progress import progress_bar
from shapelog.errors import ShapelogError

if TYPE_CHECKING:
    from shapelog.model.trace import Trace
    from shapelog.reading.inputs import Selection
    from shapelog.reading.trace_files import ProgressCallback
    from shapelog.report.report import Report


def named_traces(paths: tuple[str, ...], command: str, more: str = "") -> tuple[str, ...]:
    """The traces that a command was given; without any, the directory that TORCH_TRACE names, with a message.

    ``more`` are the arguments behind them. Raises ShapelogError without either.
    """
    if paths:
        return paths
    where = os.environ.get("TORCH_TRACE", "")
    if not where:
        typed = f"shapelog {command} TRACE {more}".rstrip()
        raise ShapelogError(
            f"{command}: TRACE is missing: {typed} (without TRACE, the directory in TORCH_TRACE is read, but it is not set)"
        )
    message(f"{command}: reading {where} (from TORCH_TRACE)")
    return (where,)


def select(path: str, options: CommonOptions, rank: int | None = None, in_full: bool = False) -> "Selection":
    """The files of the trace at a path; only those of a ``rank`` where their names contain it.

    ``in_full`` keeps the path in the names of files, where another path may have files of the same names. Raises ShapelogError for a
    path without a trace.
    """
    from shapelog.reading import inputs

    run = "all" if options.all_runs else options.run or ""
    if path == "-" and sys.stdin is not None and sys.stdin.isatty():
        message("paste a log, then press Ctrl-D (on Windows Ctrl-Z and Enter)")
    with progress_bar() as progress:
        wanted = inputs.InputOptions(
            run=run,
            max_bytes=options.max_unpacked,
            progress=progress,
            full_names=in_full,
            option=options.run_option,
            timeout=options.timeout,
        )
        return inputs.only_rank(inputs.select(path, wanted), rank)


def load_all(paths: Sequence[str], options: CommonOptions, rank: int | None = None) -> "tuple[Trace, bool]":
    """The readable traces as one, and whether another one could not be read, which is reported in one line each.

    Raises ShapelogError where none can be read, where a path does not exist, which is a typo, or where an output would replace one of
    them. ``rank`` as in ``select``.
    """
    from shapelog.reading.inputs import is_large, join

    if options.run and options.all_runs:
        raise ShapelogError(f"--run {options.run} and --all-runs cannot be used together")
    reject_overwriting(options.targets, paths)
    if len(paths) == 1:
        return load(select(paths[0], options, rank), options), False
    loaded: list[Trace] = []
    unreadable: list[ShapelogError] = []
    selections = _selections(paths, options, rank, unreadable)
    for selection in selections:
        _reject_overwriting_files(selection, options)
    if is_large(selections, bool(options.executor)):
        selections = [join(selections)]
    for selection in selections:
        try:
            loaded.append(_load(selection, options))
        except ShapelogError as error:
            unreadable.append(error)
    trace = _with_text_logs(loaded) if loaded else None
    for text in trace.notes if trace else ():
        message(text)
    for refusal in unreadable if trace else unreadable[:-1]:
        message(str(refusal))
    if trace is None:
        raise unreadable[-1]
    return trace, bool(unreadable)


def _with_text_logs(loaded: "list[Trace]") -> "Trace":
    """The traces as one, with what only the text logs of the same run hold, which would be counted twice; or the text logs as one."""
    from shapelog.model.supplement import supplemented
    from shapelog.model.trace import merged

    logs = [trace for trace in loaded if trace.is_text]
    traces = [trace for trace in loaded if not trace.is_text]
    return supplemented(merged(traces), logs) if traces and logs else merged(loaded)


def _selections(paths: Sequence[str], options: CommonOptions, rank: int | None, unreadable: "list[ShapelogError]") -> "list[Selection]":
    """The files of each path; the errors of the other paths are added to ``unreadable``."""
    from shapelog.reading.trace_files import is_url

    found: list[Selection] = []
    names = {os.path.basename(path) for path in paths}
    in_full = len(names) < len(paths) or any(map(os.path.isdir, paths))
    for path in paths:
        try:
            found.append(select(path, options, rank, in_full))
        except ShapelogError as error:
            if path != "-" and not is_url(path) and not os.path.exists(path):
                raise
            unreadable.append(error)
    return found


def load(selection: "Selection", options: CommonOptions) -> "Trace":
    """Read a trace, and print its notes.

    Raises ShapelogError where there is not one record in it, or where an output would replace one of its files.
    """
    _reject_overwriting_files(selection, options)
    trace = _load(selection, options)
    for note in trace.notes:
        message(note)
    return trace


def _load(selection: "Selection", options: CommonOptions) -> "Trace":
    from shapelog.reading.inputs import is_large

    with progress_bar() as progress:
        read = _read_large_job if is_large([selection], bool(options.executor)) else _read
        return read(selection, options, progress)


def _reject_overwriting_files(selection: "Selection", options: CommonOptions) -> None:
    reject_overwriting(options.targets, (file.path for file in selection.files if file.path))


def load_report(selection: "Selection", options: CommonOptions) -> "Report":
    trace = load(selection, options)
    from shapelog.report.report import analyze

    return analyze(trace, options.debug)


def _read(selection: "Selection", options: CommonOptions, progress: "ProgressCallback | None") -> "Trace":
    from shapelog.model.load import build, with_logs
    from shapelog.reading.open_trace import open_selection
    from shapelog.reading.reader import Reader

    selection, files, logs = open_selection(selection)
    readers = [Reader(opened, options.strict, needs_record_index(options)) for opened in files]
    return with_logs(build(selection, readers, options.debug, progress), logs)


def _read_large_job(selection: "Selection", options: CommonOptions, progress: "ProgressCallback | None") -> "Trace":
    from shapelog.distributed.executor import parse_executor
    from shapelog.distributed.large_jobs import ReadOptions, load_large_job

    read_options = ReadOptions(
        executor=parse_executor(options.executor or "processes"),
        is_strict=options.strict,
        debug=options.debug,
        max_bytes=options.max_unpacked,
        timeout=options.timeout,
        progress=progress,
        with_records=needs_record_index(options),
    )
    return load_large_job(selection, read_options)

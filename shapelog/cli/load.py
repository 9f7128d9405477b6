"""What the commands that read traces share: which of them are meant, and bringing them into memory."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shapelog.cli.options import lists_records
from shapelog.cli.output import say
from shapelog.cli.progress import teller

if TYPE_CHECKING:
    from shapelog.errors import ShapelogError
    from shapelog.model.trace import Trace
    from shapelog.reading.inputs import Choice, Selection


def read(path: str, shared: dict[str, Any], in_full: bool = False) -> "Trace":
    """The trace that a path stands for, by the options of ``source_options``; ``in_full`` where another path may have files so named.

    Raises ShapelogError when it cannot be read.
    """
    return load(selected(path, shared, in_full), shared)


def selected(path: str, shared: dict[str, Any], in_full: bool = False) -> "Selection":
    """The files of the trace that a path stands for, likewise."""
    from shapelog.reading.inputs import select

    return select(path, _choice(shared, in_full))


def _choice(shared: dict[str, Any], in_full: bool) -> "Choice":
    from shapelog.errors import ShapelogError
    from shapelog.reading.inputs import Choice

    run, is_all = shared.get("run"), shared.get("all_runs")
    if run and is_all:
        raise ShapelogError(f"--run {run} and --all-runs: only one of them can be meant")
    option = shared.get("run_option", "--run")
    return Choice("all" if is_all else run or "", shared["max_unpacked"], teller(), in_full, option)


def read_several(paths: Sequence[str], shared: dict[str, Any], rank: int | None = None) -> "tuple[list[Trace], int]":
    """The traces that can be read, and how many cannot, of which one line each is said; only those of a ``rank`` if their names tell.

    Raises ShapelogError if none can, or if a path does not exist, which is a slip of the pen.
    """
    from shapelog.errors import ShapelogError
    from shapelog.reading.inputs import of_rank, select

    loaded: list[Trace] = []
    refused: list[ShapelogError] = []
    bases = [os.path.basename(path) for path in paths]
    in_full = len(paths) > 1 and (len({*bases}) < len(bases) or any(map(os.path.isdir, paths)))
    choice = _choice(shared, in_full)
    if len(paths) == 1:
        return [load(of_rank(select(paths[0], choice), rank), shared)], 0
    selected: list[Selection] = []
    for path in paths:
        try:
            selected.append(of_rank(select(path, choice), rank))
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
    from shapelog.reading.inputs import is_large, joined

    return [joined(selected)] if is_large(selected, bool(shared.get("executor"))) else selected


def load(selection: "Selection", shared: dict[str, Any]) -> "Trace":
    """Load a trace. A large file is searched by a child process from here on, before the rest of shapelog is even imported."""
    from shapelog.reading.inputs import is_large, open_all
    from shapelog.reading.scanner import Reader

    if is_large([selection], bool(shared.get("executor"))):
        return _load_job(selection, shared)
    readers = [Reader(opened, shared["strict"], ahead=True, listing=lists_records(shared)) for opened in open_all(selection.files)]
    # Meanwhile, everything else is imported that the command is going to need.
    import shapelog.report.report
    from shapelog.model.builder import build

    formats = {target.format for target in shared["targets"]}
    if "terminal" in formats:
        import shapelog.reporters.terminal.text_page
    if "html" in formats:
        import shapelog.reporters.html.render  # noqa: F401

    trace = build(selection, readers, shared["debug"], teller())
    for note in trace.notes:
        say(note)
    return trace


def _load_job(selection: "Selection", shared: dict[str, Any]) -> "Trace":
    """Load a job of many ranks by way of workers."""
    import shapelog.report.report  # noqa: F401  # before the workers are forked, which have to import it otherwise
    from shapelog.distributed.executor import parse_executor
    from shapelog.distributed.large_jobs import How, fold

    executor = parse_executor(shared.get("executor") or "processes")
    trace = fold(selection, How(executor, shared["strict"], shared["debug"], shared["max_unpacked"], teller(), lists_records(shared)))
    for note in trace.notes:
        say(note)
    return trace

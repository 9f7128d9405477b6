"""Which two traces ``shapelog compare`` compares."""

from typing import Any

from shapelog.cli.load import selected
from shapelog.errors import ShapelogError
from shapelog.reading.inputs import Selection
from shapelog.reading.trace_files import TraceFile


def two_runs(before: str, after: str | None, before_run: str | None, after_run: str | None, shared: dict[str, Any]) -> list[Selection]:
    """Two traces, or without ``after`` two runs of one directory or archive: the newest and the one before, unless others are named.

    Raises ShapelogError where there are no two.
    """
    of_before, of_after = ({**shared, "run_option": option} for option in ("--before-run", "--after-run"))
    if after is not None:
        return [selected(before, {**of_before, "run": before_run}), selected(after, {**of_after, "run": after_run})]
    if before == "-":
        raise ShapelogError("compare -: with what? shapelog compare BEFORE AFTER")
    newer = selected(before, {**of_after, "run": after_run})
    older = selected(before, {**of_before, "run": before_run or "2"})
    if [_place(file) for file in newer.files] == [_place(file) for file in older.files]:
        why = "names one and the same run twice" if newer.notes else "is one trace alone"
        raise ShapelogError(f"compare {before}: that {why}; shapelog compare BEFORE AFTER, or with --before-run and --after-run")
    # The notes behind the first tell what is not read, which is not true of the other of the two.
    return [older._replace(notes=older.notes[:1]), newer._replace(notes=newer.notes[:1])]


def _place(file: TraceFile) -> tuple[object, str]:
    return file.path, file.entry.name if file.entry else ""

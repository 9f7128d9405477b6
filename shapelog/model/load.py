"""The files of a run → Trace."""

from collections.abc import Iterator, Sequence

from shapelog.errors import DATA_LOSS, INFO, Problem, ShapelogError
from shapelog.model.builder import Builder
from shapelog.model.ids import NEWEST_TESTED, parse_version
from shapelog.model.supplement import supplemented
from shapelog.model.trace import UNKNOWN_VERSION, Rank, Trace
from shapelog.reading.inputs import Selection
from shapelog.reading.not_a_trace import LOOKED_AT, describe_non_trace
from shapelog.reading.open_trace import OpenTrace, open_selection
from shapelog.reading.reader import Reader
from shapelog.reading.records import Config
from shapelog.reading.scanner import Record
from shapelog.reading.trace_files import STANDARD_INPUT, ProgressCallback, TraceFile

# Files from this size on report their progress, in bytes; and how many records are decoded between two reports.
_LARGE, _PROGRESS_STEP = 100_000_000, 256
_MOST_FILE_NAMES = 4
# Compiles whose stacks show which version wrote them.
_VERSION_SAMPLE = 20


def load(selection: Selection, strict: bool = False) -> Trace:
    """Read every file of a run. Raises ShapelogError when not one of them holds a trace record."""
    selection, files, logs = open_selection(selection)
    return with_logs(build(selection, [Reader(opened, strict) for opened in files]), logs)


def with_logs(trace: Trace, logs: Sequence[OpenTrace]) -> Trace:
    """A trace with what only the text logs of its run hold."""
    if not logs:
        return trace
    return supplemented(trace, [build(Selection((TraceFile(None, log.name),)), [Reader(log)]) for log in logs])


def build(selection: Selection, readers: Sequence[Reader], debug: bool = False, progress: ProgressCallback | None = None) -> Trace:
    """The trace that the readers of a selection's files give. Raises ShapelogError when not one of them holds a trace record.

    With ``debug`` a record that cannot be parsed raises instead of becoming a problem. ``progress`` is called while large files are read.
    """
    ranks: list[Rank] = []
    builders: list[Builder] = []
    problems = [*selection.problems]
    refusals: list[str] = []
    for file, reader in zip(selection.files, readers, strict=True):
        builder = Builder(reader, file.rank, debug)
        for record in _with_progress(reader, progress) if progress and reader.trace.size > _LARGE else reader.records():
            if record.header is not None:
                builder.take(record)
        if not reader.ledger.records and not reader.trace.is_lost:
            refusal, problem = _not_a_trace(file, reader)
            refusals.append(refusal)
            problems += problem
        builders.append(builder)
        ranks.extend(builder.ranks())
        problems.extend(_file_problems(builder, reader.trace))
    if not any(reader.ledger.records for reader in readers):
        raise ShapelogError(refusals[0])
    version = next((builder.torch_version for builder in builders if builder.torch_version), "")
    kinds = {kind for reader in readers for kind in reader.ledger.records}
    return Trace(
        name=name_of([file.name for file in selection.files]),
        ranks=tuple(ranks),
        torch_version=version,
        version_guess="" if version else _guess_of_log(readers) or _guessed_version(kinds, ranks),
        config=next((builder.config for builder in builders if builder.config), Config()),
        notes=(*selection.notes, *_notes_on(version)),
        readers=tuple(readers),
        build_problems=tuple(problems),
        unread=tuple(
            file.rank for file, reader in zip(selection.files, readers, strict=True) if file.rank is not None and not reader.ledger.records
        ),
    )


def _notes_on(version: str) -> Iterator[str]:
    torch = parse_version(version)
    if torch and torch.is_untested:
        yield f"recorded with torch {torch}, and shapelog was tested up to {NEWEST_TESTED}: records that have changed since may be misread"


def _with_progress(reader: Reader, progress: ProgressCallback) -> Iterator[Record]:
    name, size = reader.trace.name, reader.trace.size
    for number, record in enumerate(reader.records()):
        if not number % _PROGRESS_STEP:
            progress(name, record.offset, size)
        yield record
    progress(name, size, -1)


def _not_a_trace(file: TraceFile, reader: Reader) -> tuple[str, list[Problem]]:
    """Why a file without a readable record is refused, and the problem that it is where other files can be read."""
    damage = next((item.message for item in reader.trace.problems), "")
    is_gone = bool(damage) and not reader.trace.size
    reason = "nothing of it can be read" if is_gone else describe_non_trace(bytes(reader.data[:LOOKED_AT]), file.name == STANDARD_INPUT)
    reason += f"; {damage}" if damage else ""
    return f"{file.place}: {reason}", [] if is_gone else [Problem("foreign-file", reason, file.name, severity=DATA_LOSS)]


def name_of(files: Sequence[str]) -> str:
    """The names of the files, of many the first and how many more there are."""
    shown = files if len(files) <= _MOST_FILE_NAMES else files[:1]
    return ", ".join(shown) + (f" and {len(files) - len(shown)} more files" if shown is not files else "")


def _file_problems(builder: Builder, opened: OpenTrace) -> list[Problem]:
    found = []
    if len(builder.processes) > 1 and opened.log is None:
        numbers = ", ".join(str(number) for number in builder.processes)
        text = f"records of {len(builder.processes)} processes ({numbers}) in one file, as forked children write; they are read separately"
        found.append(Problem("mixed-processes", text, opened.name, count=len(builder.processes), severity=INFO))
    cut_off = [str(compile.id) for process in builder.processes.values() for compile in process.compiles if compile.was_cut_off]
    if cut_off:
        ids = ", ".join(dict.fromkeys(cut_off))
        text = f"compiled again before the compilation ended: {ids}; the records name no process, so they cannot be separated"
        found.append(Problem("overlapping-compiles", text, opened.name, count=len(cut_off)))
    if builder.outside:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(builder.outside.items()))
        text = f"records outside of any compile, as ahead-of-time compilation and old versions of compiled autograd write: {kinds}"
        found.append(Problem("outside-compiles", text, opened.name, count=sum(builder.outside.values()), severity=INFO))
    return found


def _guess_of_log(readers: Sequence[Reader]) -> str:
    """Which torch a text log looks like; "" without one."""
    logs = [reader.trace.log for reader in readers if reader.trace.log is not None]
    return next((log.version_guess for log in logs if log.version_guess), UNKNOWN_VERSION) if logs else ""


def _guessed_version(seen: set[str], ranks: Sequence[Rank]) -> str:
    """Which torch a trace without a version looks like, from the records it holds; 2.10 and later always write the version."""
    if not seen.isdisjoint(("missing_fake_kernel", "mismatched_fake_kernel", "propagate_real_tensors_provenance")):
        return "2.6 or newer"  # a draft export writes nothing else, no version either
    if "chromium_event" not in seen and "create_symbol" not in seen:
        return "2.4 or older"
    with_locals = "2.5 or 2.6" if seen.isdisjoint(("create_symbol", "guard_added_fast")) else "2.6"
    compiles = [compile for rank in ranks for frame in rank.frames for compile in frame.compiles]
    # from 2.7 on, callers are written with their line of code, and reasons have no L[...]
    callers = [item for compile in compiles[:_VERSION_SAMPLE] for item in compile.stack.frames[:-1]]
    if callers:
        return "2.7 to 2.9" if any(item.code for item in callers) else with_locals
    reasons = [reason.code for compile in compiles for reason in compile.reasons]
    if reasons:
        return with_locals if any("L['" in code for code in reasons) else "2.7 to 2.9"
    return "2.5 to 2.9"

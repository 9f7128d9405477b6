"""A file, directory, compressed file or standard input → bytes that can be searched, with a name for messages."""

import gzip
import mmap
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from shapelog.errors import DATA_LOSS, Problem, ShapelogError

# One file a process; the eight characters are random, the rank is there if torch.distributed was initialised at the first record.
TRACE_NAME = re.compile(r"^dedicated_log_torch_trace_(?:rank_(\d+)_?)?([a-z0-9_]{8})?\.log(\.gz)?$")
_TIME = re.compile(rb"[A-Z](\d{4} \d\d:\d\d:\d\d)\.")
_CLOCK_SLACK = 60
_LONG_AGO = 12 * 3600
HOW_TO_RECORD = "record one with: TORCH_TRACE=/tmp/trace python your_script.py"

Buffer = mmap.mmap | bytes


@dataclass(frozen=True, slots=True)
class TraceFile:
    """One trace on disk (or standard input) before it is read. ``rank`` is the one in its name, None without."""

    path: Path | None
    name: str
    rank: int | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The files of the run that was asked for, and what people should know about the choice."""

    files: tuple[TraceFile, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class OpenTrace:
    """The bytes of one trace, mapped into memory, and what went wrong while they were brought there."""

    name: str
    data: Buffer
    size: int
    problems: list[Problem] = field(default_factory=list)

    def release(self, start: int, end: int) -> None:
        """Give mapped pages back: they count as resident memory, and one pass needs them once."""
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            start -= start % mmap.PAGESIZE
            self.data.madvise(mmap.MADV_DONTNEED, start, end - start)


def rank_of(name: str) -> int | None:
    match = TRACE_NAME.match(name)
    return int(match[1]) if match and match[1] is not None else None


def select(path: str) -> Selection:
    """The trace files that ``path`` stands for: a file, ``-`` for standard input, or a directory (its newest run).

    Raises ShapelogError when there is nothing to read.
    """
    if path == "-":
        return Selection((TraceFile(None, "standard input"),))
    where = Path(path)
    try:
        kind = where.stat().st_mode
    except FileNotFoundError as error:
        raise ShapelogError(f"{path}: no such file or directory; {HOW_TO_RECORD}") from error
    except (OSError, ValueError) as error:
        raise ShapelogError(f"{path}: cannot read: {getattr(error, 'strerror', None) or error}") from error
    if stat.S_ISDIR(kind):
        return _newest_run(where)
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind)):
        raise ShapelogError(f"{path}: neither a file nor a directory")
    return Selection((TraceFile(where, where.name, rank_of(where.name)),))


def select_files(paths: Sequence[Path], notes: Sequence[str] = ()) -> Selection:
    """These files as one run: those that bear a rank in order of rank, then the others. Empty ones are left out, and counted.

    Raises ShapelogError when none of them holds anything.
    """
    filled = [path for path in paths if path.stat().st_size]
    if not filled:
        raise ShapelogError(f"no trace to read: {', '.join(map(str, paths)) or 'no file was given'}; {HOW_TO_RECORD}")
    files = sorted((TraceFile(path, path.name, rank_of(path.name)) for path in filled), key=_by_rank)
    empty = len(paths) - len(filled)
    said = (f"{empty} empty trace {'file' if empty == 1 else 'files'} left out: a process that compiled nothing",) if empty else ()
    return Selection(tuple(files), (*notes, *said))


def _by_rank(file: TraceFile) -> tuple[bool, int, str]:
    return file.rank is None, file.rank or 0, file.name


def _newest_run(where: Path) -> Selection:
    try:
        entries = [entry for entry in where.iterdir() if entry.is_file()]
    except OSError as error:
        raise ShapelogError(f"{where}: cannot list the directory: {error.strerror}") from error
    traces = [entry for entry in entries if TRACE_NAME.match(entry.name)] or [
        entry for entry in entries if entry.name.endswith((".log", ".log.gz"))
    ]
    filled = [entry for entry in traces if entry.stat().st_size]
    if not filled:
        raise ShapelogError(_why_no_trace(where, entries, traces))
    newest_first = sorted(filled, key=lambda entry: (-entry.stat().st_mtime_ns, entry.name))
    chosen = [newest_first[0]]
    if rank_of(chosen[0].name) is not None:
        begun = _begun(chosen[0]) or chosen[0].stat().st_mtime - _LONG_AGO
        by_rank: dict[int, Path] = {}
        for entry in newest_first:
            rank = rank_of(entry.name)
            # What was last written before the newest run began belongs to an older one.
            if rank is not None and entry.stat().st_mtime >= begun - _CLOCK_SLACK:
                by_rank.setdefault(rank, entry)
        chosen = [by_rank[rank] for rank in sorted(by_rank)]
    names = ", ".join(entry.name for entry in chosen)
    notes = [f"read {names}, the newest run in {where}"]
    left = len(filled) - len(chosen)
    if left:
        notes.append(f"{left} older or other trace {'file' if left == 1 else 'files'} in that directory not read; name a file to read it")
    empty = len(traces) - len(filled)
    if empty:
        notes.append(f"{empty} empty {'file' if empty == 1 else 'files'} in that directory: a process that compiled nothing")
    return Selection(tuple(TraceFile(entry, entry.name, rank_of(entry.name)) for entry in chosen), tuple(notes))


def _begun(path: Path) -> float | None:
    """When the first record of a trace was written, in seconds since the epoch; None where that cannot be told. Records hold no year."""
    written = path.stat().st_mtime
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            match = _TIME.match(file.read(64))
        if match is None:
            return None
        year = time.localtime(written).tm_year
        begun = time.mktime(time.strptime(f"{year} {match[1].decode()}", "%Y %m%d %H:%M:%S"))
    except (OSError, EOFError, ValueError, OverflowError):
        return None
    return begun if begun <= written + _CLOCK_SLACK else None


def _why_no_trace(where: Path, entries: list[Path], traces: list[Path]) -> str:
    if traces:
        return f"{where}: the {len(traces)} trace file(s) in it are empty: the process ended before it compiled anything"
    if entries:
        return f"{where}: no trace in this directory (files are named dedicated_log_torch_trace_*.log); {HOW_TO_RECORD}"
    return f"{where}: the directory is empty; a trace appears there once a compiled function is called; {HOW_TO_RECORD}"


def open_trace(file: TraceFile) -> OpenTrace:
    """Map a trace into memory; compressed and piped ones go through a temporary file, so that memory does not follow their size.

    Raises ShapelogError when the file cannot be read.
    """
    problems: list[Problem] = []
    try:
        with ExitStack() as files:
            handle = _plain(file, files, problems)
            size = os.fstat(handle.fileno()).st_size
            if not size:
                return OpenTrace(file.name, b"", 0, problems)
            mapped = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise ShapelogError(f"{file.name}: cannot read: {error.strerror or error}") from error
    return OpenTrace(file.name, mapped, size, problems)


def _plain(file: TraceFile, files: ExitStack, problems: list[Problem]) -> BinaryIO:
    """An uncompressed regular file with the bytes of ``file``; ``files`` closes it."""
    handle: BinaryIO = sys.stdin.buffer if file.path is None else files.enter_context(file.path.open("rb"))
    if not handle.seekable() or file.path is None or not file.path.is_file():
        spooled = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        shutil.copyfileobj(handle, spooled, 1 << 20)
        spooled.flush()
        spooled.seek(0)
        handle = spooled
    packed = handle.read(2) == b"\x1f\x8b"
    handle.seek(0)
    if packed:
        plain = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        _unpack(handle, plain, file.name, problems)
        return plain
    return handle


def _unpack(packed: BinaryIO, plain: BinaryIO, name: str, problems: list[Problem]) -> None:
    """Everything that can be unpacked; a cut-off or damaged archive becomes a problem, not an end."""
    with gzip.GzipFile(fileobj=packed) as unpacked:
        try:
            while chunk := unpacked.read1(1 << 20):
                plain.write(chunk)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            problems.append(Problem("damaged-archive", f"the gzip data ends early or is damaged ({error})", name, severity=DATA_LOSS))
    plain.flush()


_LOOKS = (
    (rb"(?i)\A\s*<(?:!doctype|html)", "an HTML page; shapelog reads the log that tlparse was given, not its output"),
    (rb"\A(?:\x7fELF|PK\x03\x04|\x89PNG|%PDF)", "a binary file"),
    (rb"\[__(?:recompiles|guards|graph_code|graph_breaks)|torch/_dynamo/\S+ \[\d+/\d+\]", "TORCH_LOGS text, meant for people"),
    (rb'\A\s*[\[{]\s*"?(?:traceEvents|schemaVersion|ph|name)"', "JSON, such as a profiler trace"),
    (rb"(?m)\ATraceback |^(?:INFO|WARNING|ERROR)\b", "an ordinary program log"),
)


def foreign(name: str, head: bytes) -> str:
    """One line for a file without a single trace record: what it looks like, and what to do."""
    if not head:
        return f"{name}: the file is empty: the process compiled nothing, or TORCH_TRACE was set after torch was imported; {HOW_TO_RECORD}"
    looks = next((words for pattern, words in _LOOKS if re.search(pattern, head)), None)
    if looks is None:
        looks = "a binary file" if b"\0" in head else "text without trace records"
    return f"{name}: no trace record in it; it looks like {looks}. {HOW_TO_RECORD[0].upper()}{HOW_TO_RECORD[1:]}"

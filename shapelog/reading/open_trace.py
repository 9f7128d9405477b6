"""A trace file → its bytes, mapped into memory, with a name for messages."""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from shapelog.errors import DATA_LOSS, Problem, ShapelogError
from shapelog.reading.compression import HEAD, decompress, is_compressed, quota_for, read_chunks, to_temporary_file
from shapelog.reading.trace_files import TraceFile

Buffer = mmap.mmap | bytes
# Touching a page maps the whole piece of the page cache that holds it: at most this many bytes, aligned to as many.
_CACHED_PIECE = 2 << 20


@dataclass(slots=True, eq=False)
class OpenTrace:
    """The bytes of one trace, mapped into memory, and the problems met while they were unpacked.

    ``is_lost`` marks one of several files that could not be read at all; it has no bytes.
    """

    name: str
    data: Buffer
    size: int
    problems: list[Problem] = field(default_factory=list)
    is_lost: bool = False

    def release(self, start: int, end: int) -> None:
        """Return mapped pages to the system: they count as resident memory, and are read only once.

        The pages before ``start`` are returned again, because touching a page also maps those around it.
        """
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            start -= start % _CACHED_PIECE
            self.data.madvise(mmap.MADV_DONTNEED, start, end - start)


def open_all(files: Sequence[TraceFile]) -> list[OpenTrace]:
    """All files, opened. One of several that cannot be read is lost, with a problem that gives the reason.

    Raises ShapelogError when none can be read.
    """
    opened: list[OpenTrace] = []
    errors: list[ShapelogError] = []
    for file in files:
        try:
            opened.append(open_trace(file))
        except ShapelogError as error:
            errors.append(error)
            problem = Problem("unreadable-file", str(error).removeprefix(f"{file.name}: "), file.name, severity=DATA_LOSS)
            opened.append(OpenTrace(file.name, b"", 0, [problem], is_lost=True))
    if len(errors) == len(files):
        raise errors[0]
    return opened


def open_trace(file: TraceFile) -> OpenTrace:
    """Map a trace into memory; a compressed or piped one is written to a temporary file first, so that memory does not grow with its size.

    Raises ShapelogError when the file cannot be read.
    """
    problems: list[Problem] = []
    try:
        with _plain_file(file, problems) as handle:
            size = os.fstat(handle.fileno()).st_size
            mapped: Buffer = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError as error:
        raise ShapelogError(f"{file.name}: it was there and is gone now") from error
    except (OSError, ValueError) as error:
        raise ShapelogError(f"{file.name}: cannot read: {getattr(error, 'strerror', None) or error}") from error
    return OpenTrace(file.name, mapped, len(mapped), problems)


def _plain_file(file: TraceFile, problems: list[Problem]) -> BinaryIO:
    if file.entry is not None:
        chunks, size = file.entry.chunks(), file.entry.size
    else:
        assert file.path is not None
        handle = file.path.open("rb")
        head = handle.read(HEAD)
        handle.seek(0)
        if not is_compressed(head) and handle.seekable():
            return handle
        chunks, size = read_chunks(handle, close=True), os.fstat(handle.fileno()).st_size
    plain, damage = to_temporary_file(decompress(chunks, file.name), file.quota or quota_for(file.name, size, None))
    if damage:
        problems.append(Problem("damaged-archive", damage, file.name, severity=DATA_LOSS))
    return plain

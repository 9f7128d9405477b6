"""A trace file → its bytes, mapped into memory, with a name for messages."""

import mmap
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from shapelog.errors import DATA_LOSS, Problem, ShapelogError
from shapelog.reading.compression import HEAD, chunks_of, is_packed, room_for, spool, unpacked
from shapelog.reading.trace_files import TraceFile

Buffer = mmap.mmap | bytes
# What the system caches of a file in one piece at most, a multiple of the page size.
_CACHED = 2 << 20


@dataclass(slots=True, eq=False)
class OpenTrace:
    """The bytes of one trace, mapped into memory, and what went wrong while they were brought there.

    ``is_lost`` says that it is one of several and could not be read at all.
    """

    name: str
    data: Buffer
    size: int
    problems: list[Problem] = field(default_factory=list)
    is_lost: bool = False

    def release(self, start: int, end: int) -> None:
        """Give mapped pages back: they count as resident memory, and one pass needs them once.

        Those before them, too: a look at a file maps as much around a place as is cached in one piece, also what was given back before.
        """
        if isinstance(self.data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            start -= start % _CACHED
            self.data.madvise(mmap.MADV_DONTNEED, start, end - start)


def open_all(files: Sequence[TraceFile]) -> list[OpenTrace]:
    """Each of them opened. One of several that cannot be read is a problem, and the others are read.

    Raises ShapelogError when none can be.
    """
    if len(files) == 1:
        return [open_trace(files[0])]
    opened: list[OpenTrace] = []
    refusals: list[ShapelogError] = []
    for file in files:
        try:
            opened.append(open_trace(file))
        except ShapelogError as error:
            refusals.append(error)
            problem = Problem("unreadable-file", str(error).removeprefix(f"{file.name}: "), file.name, severity=DATA_LOSS)
            opened.append(OpenTrace(file.name, b"", 0, [problem], is_lost=True))
    if len(refusals) == len(files):
        raise refusals[0]
    return opened


def open_trace(file: TraceFile) -> OpenTrace:
    """Map a trace into memory; packed and piped ones go through a temporary file, so that memory does not follow their size.

    Raises ShapelogError when the file cannot be read.
    """
    problems: list[Problem] = []
    try:
        with _plain(file, problems) as handle:
            size = os.fstat(handle.fileno()).st_size
            mapped: Buffer = mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError as error:
        raise ShapelogError(f"{file.name}: it was there and is gone now") from error
    except (OSError, ValueError) as error:
        raise ShapelogError(f"{file.name}: cannot read: {getattr(error, 'strerror', None) or error}") from error
    return OpenTrace(file.name, mapped, len(mapped), problems)


def _plain(file: TraceFile, problems: list[Problem]) -> BinaryIO:
    """An uncompressed regular file with the bytes of ``file``."""
    size = 0
    if file.item is not None:
        chunks, size = file.item.chunks(), file.item.size
    else:
        assert file.path is not None
        handle = file.path.open("rb")
        head = handle.read(HEAD)
        handle.seek(0)
        if not is_packed(head) and handle.seekable():
            return handle
        chunks, size = chunks_of(handle, close=True), os.fstat(handle.fileno()).st_size
    plain, damage = spool(unpacked(chunks, file.name), file.room or room_for(file.name, size, None))
    if damage:
        problems.append(Problem("damaged-archive", damage, file.name, severity=DATA_LOSS))
    return plain

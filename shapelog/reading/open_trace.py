"""A trace file → its bytes, which are read when they are asked for, with a name for messages."""

import os
import re
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from shapelog.errors import DATA_LOSS, Problem, ShapelogError
from shapelog.reading.compression import (
    CHUNK,
    HEAD,
    archive_kind,
    decompress,
    is_compressed,
    quota_for,
    read_chunks,
    read_range,
    to_temporary_file,
)
from shapelog.reading.inputs import Selection
from shapelog.reading.text_logs.contents import LogContents
from shapelog.reading.trace_files import TraceFile

# The first line of a record, and how far from the start of a trace there is one.
_RECORD = re.compile(rb"(?m)^[A-Z]\d{4} [\d:.]{1,99} {1,99}\d{1,18} [^\]\n]{0,999}\] \{")
_FIRST_PART = 1 << 20


class FileBytes:
    """The bytes of a file as it was when it was opened, by slices.

    A file that is made shorter has fewer of them, and ``is_shorter`` is set when some of these were asked for. It is not mapped into
    memory, where they would end the program.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.size = os.fstat(file.fileno()).st_size
        self.is_shorter = False
        self._file = file
        self._window = 0, b""
        weakref.finalize(self, file.close)

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, place: slice) -> bytes:
        start, stop, _ = place.indices(self.size)
        first, window = self._window
        if first <= start and stop <= first + len(window):
            return window[start - first : stop - first]
        found = read_range(self._file, start, stop)
        self.is_shorter |= len(found) < stop - start
        return found

    def window(self, start: int, stop: int) -> bytes:
        """These bytes, which are kept: what lies in them is not read again until the next window."""
        self._window = 0, b""
        self._window = start, self[start:stop]
        return self._window[1]


Buffer = FileBytes | bytes


@dataclass(slots=True, eq=False)
class OpenTrace:
    """The bytes of one trace, and the problems met while they were unpacked.

    ``is_lost`` marks one of several files that could not be read at all; it has no bytes. ``log`` is set for a text log: the bytes are
    those of a trace with the records that the log holds.
    """

    name: str
    data: Buffer
    size: int
    problems: list[Problem] = field(default_factory=list)
    is_lost: bool = False
    log: LogContents | None = None


def open_all(files: Sequence[TraceFile]) -> list[OpenTrace]:
    """All files, opened. One of several that cannot be read is lost, with a problem that gives the reason.

    Raises ShapelogError when none can be read.
    """
    opened: list[OpenTrace] = []
    refusals: list[str] = []  # an error would keep the files open that it came through
    for file in files:
        try:
            opened.append(open_trace(file))
        except ShapelogError as error:
            refusals.append(str(error))
            reason = str(error).removeprefix(f"{file.place}: ").removeprefix(f"{file.name}: ")
            problem = Problem("unreadable-file", reason, file.name, severity=DATA_LOSS)
            opened.append(OpenTrace(file.name, b"", 0, [problem], is_lost=True))
    if len(refusals) == len(files):
        raise ShapelogError(refusals[0])
    return opened


def open_selection(selection: Selection) -> tuple[Selection, list[OpenTrace], list[OpenTrace]]:
    """Its files, opened, and apart from them the text logs where there is a trace.

    Both hold the same compiles, which would be counted twice. Raises ShapelogError when no file can be read.
    """
    opened = open_all(selection.files)
    traces = [item for item in opened if item.log is None and _RECORD.search(item.data[:_FIRST_PART])]
    logs = [item for item in opened if item.log is not None]
    if not traces or not logs:
        return selection, opened, []
    kept = [(file, item) for file, item in zip(selection.files, opened, strict=True) if item.log is None]
    return selection._replace(files=tuple(file for file, _ in kept)), [item for _, item in kept], logs


def open_trace(file: TraceFile) -> OpenTrace:
    """Open a trace; a compressed or piped one is written to a temporary file first, so that memory does not grow with its size.

    Raises ShapelogError when the file cannot be read, or is an archive.
    """
    problems: list[Problem] = []
    try:
        data = FileBytes(_plain_file(file, problems))
    except FileNotFoundError as error:
        raise ShapelogError(f"{file.name}: it no longer exists") from error
    except (OSError, ValueError) as error:
        raise ShapelogError(f"{file.name}: cannot read: {getattr(error, 'strerror', None) or error}") from error
    kind = archive_kind(bytes(data[:HEAD]))  # whose members, stored as they are, could be taken for records
    if kind:
        raise ShapelogError(f"{file.place}: a {kind} archive in the place of a trace; unpack it first")
    return _transcribed(file.name, data, problems) or OpenTrace(file.name, data, data.size, problems)


def _transcribed(name: str, data: FileBytes, problems: list[Problem]) -> OpenTrace | None:
    """A text log as a trace; None for a trace, and for text that holds nothing of the compiler."""
    first = data[:_FIRST_PART]
    if not data.size or _RECORD.search(first):
        return None
    from shapelog.reading.text_logs.lines.whole_lines import UTF_16
    from shapelog.reading.text_logs.transcribe import transcribe  # most files are traces

    if first.startswith(UTF_16) and _RECORD.search(first.decode("utf-16", "replace").encode("utf-8", "replace")):
        return None  # a trace that was written anew in another encoding

    written, contents = transcribe(data[start : start + CHUNK] for start in range(0, data.size, CHUNK))
    if contents.is_empty or not written.tell():
        written.close()
        return None
    transcript = FileBytes(written)
    return OpenTrace(name, transcript, transcript.size, problems, log=contents)


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

"""The files in a zip or tar archive, which are only ever read: no name from inside an archive is used as the name of a file."""

import io
import os
import re
import struct
import tarfile
import time
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import BinaryIO, cast

from shapelog.errors import DATA_LOSS, INFO, Problem, ShapelogError
from shapelog.reading.compression import CHUNK, DamagedError, UnpackQuota
from shapelog.reading.trace_files import FileEntry, clock_time, entry_within, is_archive_name, trace_names

_MAX_MEMBERS = 100_000
_MAX_NAMED = 3
# The table of contents of a zip file is read into memory in one piece, and so are the long headers of a tar member.
_MAX_ZIP_TABLE, _MAX_TAR_HEADER = 24 << 20, 1 << 20
# tarfile of Python 3.11 takes the square of the length of a number in the headers of a member (CVE-2024-6232).
_LONG_NUMBER = re.compile(rb"\d{100}")
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(slots=True)
class Archive:
    """An open archive: its regular files, and the problems met while it was listed.

    ``skipped`` are the names of members by the reason for which they are not read.
    """

    name: str
    handle: BinaryIO
    quota: UnpackQuota
    entries: list[FileEntry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    skipped: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def size(self) -> int:
        return os.fstat(self.handle.fileno()).st_size

    def add_problem(self, code: str, message: str, severity: str = DATA_LOSS) -> None:
        self.problems.append(Problem(code, message, self.name, severity=severity))


def open_archive(name: str, handle: BinaryIO, kind: str, quota: UnpackQuota) -> Archive:
    """List the archive in an uncompressed file, which stays open as long as one of its entries is used.

    Of a damaged tar archive, what can be read is kept, and the rest is a problem. Raises ShapelogError if it cannot be listed at all.
    """
    archive = Archive(name, handle, quota)
    (_list_zip if kind == "zip" else _list_tar)(archive)
    by_name = {entry.name: entry for entry in archive.entries}  # the last of a name, which would overwrite the others when unpacked
    repeated = len(archive.entries) - len(by_name)
    if repeated:
        archive.add_problem("named-twice", f"{repeated} members share a name with a later member; only the last of each name is read", INFO)
    archive.entries = list(by_name.values())
    for reason, names in archive.skipped.items():
        if trace_names(names):
            archive.add_problem("left-out", f"not read from the archive because it is {reason}: {_some(names)}")
    nested = [entry.name for entry in archive.entries if is_archive_name(entry.base_name)]
    if nested:
        listed = ", ".join(nested[:_MAX_NAMED])
        archive.add_problem("nested-archive", f"archives inside this one are not opened: {listed}; unpack it first", INFO)
    return archive


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MAX_NAMED]) + (f" and {len(names) - _MAX_NAMED} more" if names[_MAX_NAMED:] else "")


class _BoundedFile(io.FileIO):
    """An archive as the standard library reads it, whatever length a header states: for more than ``limit``, ``refusal`` makes an error."""

    def __init__(self, archive: Archive, limit: int, refusal: Callable[[], Exception]) -> None:
        super().__init__(archive.handle.fileno(), closefd=False)
        self.seek(0)
        self.handle = archive.handle  # kept open, and not the archive, whose entries hold this file
        self.limit = limit
        self.refusal = refusal

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            size = max(0, os.fstat(self.fileno()).st_size - self.tell())
        if size > self.limit:
            raise self.refusal()
        content = super().read(size) or b""
        if len(content) > tarfile.BLOCKSIZE and _LONG_NUMBER.search(content):
            raise self.refusal()
        return content


def _list_tar(archive: Archive) -> None:
    count = 0
    headers = _BoundedFile(archive, _MAX_TAR_HEADER, partial(tarfile.ReadError, "a header is unreasonably long"))
    try:
        with tarfile.open(fileobj=headers, mode="r:") as tar:
            while (member := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined]  # tarfile keeps all members in memory
                count += 1
                if count > _MAX_MEMBERS:
                    archive.add_problem("many-members", f"members after the first {_MAX_MEMBERS:,} are ignored")
                    return
                if not member.isreg() or member.issparse():
                    if not member.isdir():
                        archive.skipped["a link, a device or a sparse file"].append(member.name)
                    continue
                start, rest = member.offset_data, archive.size - member.offset_data
                damage = f"{archive.name} ends inside this member" if member.size > rest else ""
                when = clock_time(float(member.mtime))
                archive.entries.append(
                    entry_within(
                        handle=archive.handle, name=member.name, start=start, size=min(member.size, rest), modified=when, damage=damage
                    )
                )
                if damage:
                    archive.add_problem("damaged-archive", f"the archive ends inside {member.name}")
                    return
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, RecursionError) as error:
        archive.add_problem("damaged-archive", f"the archive is damaged or truncated after {count} members ({error})")


def _list_zip(archive: Archive) -> None:
    reason = f"{archive.name}: not read, because the table of contents of this zip file is unreasonably large"
    try:
        opened = zipfile.ZipFile(_BoundedFile(archive, _MAX_ZIP_TABLE, partial(ShapelogError, reason)))
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        raise ShapelogError(
            f"{archive.name}: not read, because the table of contents at the end of this zip file is missing or damaged; "
            "copy or download it again"
        ) from error
    overlapping = _overlapping(opened.infolist())
    for index, info in enumerate(opened.infolist()):
        if info.filename.endswith("/"):
            continue
        if index in overlapping:
            archive.skipped["a member that overlaps another, as in a zip bomb"].append(info.filename)
        elif (info.external_attr >> 16) & 0o170000 == 0o120000:
            archive.skipped["a link"].append(info.filename)
        else:
            archive.entries.append(_zip_entry(archive.name, opened, info))


def _overlapping(members: Sequence[zipfile.ZipInfo]) -> set[int]:
    """The indexes of those that do not end before the next one begins. Of several in one place the first in the table is read, as
    zipfile does.
    """
    places = sorted((info.header_offset, -index) for index, info in enumerate(members))
    return {-index for (start, index), (following, _) in pairwise(places) if start + members[-index].compress_size >= following}


def _zip_entry(archive: str, opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> FileEntry:
    # Without an expected checksum zipfile returns the last chunk of a damaged member, too, instead of raising an error.
    expected = info.CRC
    del info.CRC

    def chunks() -> Iterator[bytes]:
        if info.flag_bits & _ENCRYPTED:
            raise ShapelogError(f"{info.filename}: encrypted in {archive}; unpack it first")
        if info.compress_type not in _METHODS:
            raise ShapelogError(f"{info.filename}: compressed in {archive} with an unsupported method; unpack it first")
        try:
            member = cast(zipfile.ZipExtFile, opened.open(info))
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise DamagedError(f"the member is not at the position given in the table of contents of {archive}") from error
        checksum = 0
        with member:
            try:
                while chunk := member.read1(CHUNK):
                    checksum = zlib.crc32(chunk, checksum)
                    yield chunk
            except EOFError as error:
                raise DamagedError(f"{archive} ends inside this member") from error
            except zlib.error as error:
                raise DamagedError(f"the member is damaged in {archive} ({error})") from error
        if checksum != expected:
            raise DamagedError(f"the member is damaged in {archive} (checksum mismatch)")

    return FileEntry(info.filename, info.file_size, _seconds_since_epoch(info.date_time), chunks)


def _seconds_since_epoch(when: tuple[int, int, int, int, int, int]) -> float | None:
    """None for 1980, the date of members in archives that are built reproducibly."""
    if when[0] == 1980:
        return None
    with suppress(ValueError, OverflowError):
        return time.mktime((*when, 0, 0, -1))
    return None

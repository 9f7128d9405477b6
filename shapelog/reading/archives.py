"""What a zip or tar archive holds. Nothing is ever written under a name from inside: members are only read."""

import io
import os
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO

from shapelog.errors import DATA_LOSS, INFO, Problem, ShapelogError
from shapelog.reading.compression import CHUNK, EMPTY_ZIP, ZIP, DamagedError, Room, part_of
from shapelog.reading.trace_files import Item, is_archive_name, traces_of

_MOST_MEMBERS = 100_000
# The table of contents of a zip file is read into memory whole, and so are the long headers of a tar member.
_LARGEST_TABLE, _LARGEST_HEADER = 24 << 20, 1 << 20
_END = struct.Struct("<4s4H2LH")
_END64, _LOCATOR64 = struct.Struct("<4sQ2H2L4Q"), 20
_LOCAL = struct.Struct("<4s5H3L2H")
_ENCRYPTED, _SIZES_BEHIND = 0x1, 0x8
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


@dataclass(slots=True)
class Archive:
    """An open archive: its regular files, and what is wrong with it."""

    name: str
    handle: BinaryIO
    room: Room
    items: list[Item] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def add(self, code: str, message: str, severity: str = DATA_LOSS) -> None:
        self.problems.append(Problem(code, message, self.name, severity=severity))

    def leave_out(self, what: str, name: str) -> None:
        self.left_out.setdefault(what, []).append(name)

    def part(self, start: int, end: int) -> bytes:
        return part_of(self.handle, start, end)


def opened(name: str, handle: BinaryIO, kind: str, room: Room) -> Archive:
    """The archive in an uncompressed file, which stays open as long as something of it is used.

    Of what is damaged, what can be told is kept, and the rest is a problem. Raises ShapelogError where it cannot be looked at.
    """
    archive = Archive(name, handle, room)
    (_zip if kind == "zip" else _tar)(archive)
    archive.items = _named_once(archive)
    for what, names in archive.left_out.items():
        if traces_of([Item(entry, 0, None, lambda: iter(())) for entry in names]):
            some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
            archive.add("left-out", f"{what} {'is' if len(names) == 1 else 'are'} not read from an archive: {some}")
    nested = [item.name for item in archive.items if is_archive_name(item.base)]
    if nested:
        archive.add("nested-archive", f"archives inside this one are not looked into: {', '.join(nested[:3])}; unpack it first", INFO)
    return archive


def _named_once(archive: Archive) -> list[Item]:
    """The last one of each name, as unpacking would leave it."""
    by_name = {item.name: item for item in archive.items}
    twice = len(archive.items) - len(by_name)
    if twice:
        archive.add("named-twice", f"{twice} members have a name that a later one has too, which alone is read", INFO)
    return list(by_name.values())


def _tar(archive: Archive) -> None:
    size = os.fstat(archive.handle.fileno()).st_size
    count = 0
    try:
        with tarfile.open(fileobj=_Headers(archive), mode="r:") as tar:
            while (member := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined]  # it would keep them all
                count += 1
                if count > _MOST_MEMBERS:
                    archive.add("many-members", f"what comes behind the first {_MOST_MEMBERS:,} members is not looked at")
                    return
                if not member.isreg() or member.issparse():
                    if not member.isdir():
                        archive.leave_out("a link, a device or a sparse file", member.name)
                    continue
                end = member.offset_data + member.size
                archive.items.append(_tar_item(archive, member, size))
                if end > size:
                    archive.add("damaged-archive", f"the archive ends inside {member.name}")
                    return
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError, RecursionError) as error:
        archive.add("damaged-archive", f"the archive is damaged or ends early behind {count} members ({error})")


class _Headers(io.RawIOBase):
    """An archive as tarfile reads it: headers, of which none is long."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        self.at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            offset += os.fstat(self.archive.handle.fileno()).st_size
        self.at = offset + (self.at if whence == os.SEEK_CUR else 0)
        return self.at

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_HEADER:
            raise tarfile.ReadError("a header is longer than any real one")
        found = self.archive.part(self.at, self.at + size)
        self.at += len(found)
        return found


def _tar_item(archive: Archive, member: tarfile.TarInfo, size: int) -> Item:
    start, end = member.offset_data, min(member.offset_data + member.size, size)

    def part(begin: int, stop: int) -> bytes:
        return archive.part(start + begin, min(start + stop, end))

    def chunks() -> Iterator[bytes]:
        for begin in range(start, end, CHUNK):
            yield archive.part(begin, min(begin + CHUNK, end))
        if end < start + member.size:
            raise DamagedError(f"{archive.name} ends inside this member")

    return Item(member.name, end - start, float(member.mtime) or None, chunks, part)


def _zip(archive: Archive) -> None:
    if _table_size(archive) > _LARGEST_TABLE:
        raise ShapelogError(f"{archive.name}: not read, because the table of contents of this zip file is larger than any real one")
    try:
        opened = zipfile.ZipFile(archive.handle)
    except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
        archive.add("damaged-archive", f"the table of contents is missing or damaged ({error}), so members are looked for one by one")
        archive.items.extend(_salvaged(archive))
        return
    for info in opened.infolist():
        if info.filename.endswith("/"):
            continue
        if (info.external_attr >> 16) & 0o170000 == 0o120000:
            archive.leave_out("a link", info.filename)
        else:
            archive.items.append(_zip_item(archive, info))


def _table_size(archive: Archive) -> int:
    """Of the table of contents in bytes, as the end of the file states it; 0 where it states none."""
    size = os.fstat(archive.handle.fileno()).st_size
    tail = archive.part(max(0, size - (1 << 16) - _END.size), size)
    at = len(tail) - _END.size
    if at < 0 or not tail.startswith(EMPTY_ZIP, at):  # zipfile looks there first, too
        at = tail.rfind(EMPTY_ZIP, 0, max(0, at) + len(EMPTY_ZIP))
    if at < 0 or len(tail) < at + _END.size:
        return 0
    large = tail[max(0, at - _LOCATOR64 - _END64.size) : max(0, at - _LOCATOR64)]
    of_large = int(_END64.unpack(large)[8]) if large.startswith(b"PK\x06\x06") and len(large) == _END64.size else 0
    return max(of_large, int(_END.unpack_from(tail, at)[5]) % 0xFFFFFFFF)


def _zip_item(archive: Archive, info: zipfile.ZipInfo) -> Item:
    def chunks() -> Iterator[bytes]:
        if info.flag_bits & _ENCRYPTED:
            raise ShapelogError(f"{info.filename}: encrypted in {archive.name}; unpack it first")
        if info.compress_type not in _METHODS:
            raise ShapelogError(f"{info.filename}: packed in {archive.name} in a way that shapelog does not read; unpack it first")
        header = archive.part(info.header_offset, info.header_offset + _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(ZIP):
            raise DamagedError(f"the member is not where the table of contents of {archive.name} says")
        name_size, extra_size = _LOCAL.unpack(header)[-2:]
        start = info.header_offset + _LOCAL.size + name_size + extra_size
        yield from _Inside(archive, start, start + info.compress_size, info.compress_type == zipfile.ZIP_DEFLATED, info.CRC).chunks()

    return Item(info.filename, info.file_size, _written(info.date_time), chunks)


def _written(when: tuple[int, ...]) -> float | None:
    """In seconds since the epoch; None for the date that archives have which are to come out the same each time."""
    with suppress(ValueError, OverflowError):
        if when[0] == 1980:
            return None
        year, month, day, hour, minute, second = when
        return time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
    return None


def _salvaged(archive: Archive) -> Iterator[Item]:
    """The members of a zip file by their own headers, as far as one follows the other."""
    at, size = 0, os.fstat(archive.handle.fileno()).st_size
    for _ in range(_MOST_MEMBERS):
        header = archive.part(at, at + _LOCAL.size)
        if len(header) < _LOCAL.size or not header.startswith(ZIP):
            return
        _, _, flags, method, clock, date, _, packed, plain, name_size, extra_size = _LOCAL.unpack(header)
        start = at + _LOCAL.size + name_size + extra_size
        named = archive.part(at + _LOCAL.size, at + _LOCAL.size + name_size)
        if len(named) < name_size:
            return
        name = named.decode("utf-8", "replace")
        if flags & _ENCRYPTED or method not in _METHODS or packed == 0xFFFFFFFF:
            archive.leave_out("an encrypted or unusually packed file", name)
            return
        has_no_size = bool(flags & _SIZES_BEHIND) and not packed
        if has_no_size and method == zipfile.ZIP_STORED:
            archive.leave_out("a file of unknown size", name)
            return
        if not name.endswith("/"):
            year, month, day = (date >> 9) + 1980, date >> 5 & 15, date & 31
            when = _written((year, month, day, clock >> 11, clock >> 5 & 63, clock % 32 * 2))
            inside = _Inside(archive, start, size if has_no_size else start + packed, method == zipfile.ZIP_DEFLATED)
            yield Item(name, plain or size - start, when, inside.chunks)
        at = start + packed
        if has_no_size:
            inside = _Inside(archive, start, size, True)
            with suppress(DamagedError):
                for chunk in inside.chunks():
                    archive.room.take(len(chunk))
            at = inside.stop + 12
            at += 4 * (archive.part(inside.stop, inside.stop + 4) == b"PK\x07\x08")


@dataclass(slots=True)
class _Inside:
    """What lies between two offsets of a zip file, deflated or not. ``stop`` is where its data ended once it was read."""

    archive: Archive
    start: int
    end: int
    is_deflated: bool
    checksum: int | None = None
    stop: int = 0

    def chunks(self) -> Iterator[bytes]:
        found = 0
        try:
            for plain in self._inflated() if self.is_deflated else self._packed():
                found = zlib.crc32(plain, found)
                yield plain
        except zlib.error as error:
            raise DamagedError(f"the member is damaged in {self.archive.name} ({error})") from error
        if self.checksum is not None and found != self.checksum:
            raise DamagedError(f"the member is damaged in {self.archive.name} (its checksum is another one)")

    def _packed(self) -> Iterator[bytes]:
        for begin in range(self.start, self.end, CHUNK):
            wanted = min(begin + CHUNK, self.end) - begin
            data = self.archive.part(begin, begin + wanted)
            self.stop = begin + len(data)
            if data:
                yield data
            if len(data) < wanted:
                raise DamagedError(f"{self.archive.name} ends inside this member")

    def _inflated(self) -> Iterator[bytes]:
        inflate = zlib.decompressobj(-15)
        for data in self._packed():
            while data:
                yield inflate.decompress(data, CHUNK)
                data = inflate.unconsumed_tail
            if inflate.eof:
                self.stop -= len(inflate.unused_data)
                return
        raise DamagedError(f"{self.archive.name} ends inside this member")

"""Packed bytes → a temporary file, and never more of them than it may take."""

import io
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any, BinaryIO

from shapelog.errors import ShapelogError

CHUNK = 1 << 20
# So many bytes of a file hold every sign of how it is packed.
HEAD = 512
ZIP, EMPTY_ZIP, _TAR = b"PK\x03\x04", b"PK\x05\x06", slice(257, 262)
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# Traces pack 10:1 to 40:1, those of many ranks together more; a bomb of zeros packs 1000:1. What is small may be a bomb for all we care.
_RATIO, _SMALL, _LARGE = 250, 100_000_000, 64_000_000_000
_UNTOLD = 20_000_000
# What stays free on the disk of temporary files, and after how many bytes that is looked at.
_KEPT_FREE, _LOOK = 256_000_000, 64_000_000
# A block of 128 KiB can be packed into 4 bytes, and one call gives all that its input holds.
_ZSTD_INPUT = 1 << 10
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", re.I)
_ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")


class DamagedError(Exception):
    """Packed data that ends early or is wrong from here on; its text says how."""


@dataclass(slots=True, eq=False)
class Room:
    """How many more bytes may be written to temporary files for what is called ``name``; ``most`` None leaves it to the disk."""

    name: str
    most: int | None = None
    is_asked: bool = False
    taken: int = 0
    looked: int = -_LOOK

    def take(self, count: int) -> None:
        """Raises ShapelogError where that is too much."""
        self.taken += count
        if self.most is not None and self.taken > self.most:
            how = (
                "the limit of --max-unpacked"
                if self.is_asked
                else "too much for its size, as of a zip bomb; --max-unpacked 100G allows more"
            )
            raise ShapelogError(f"{self.name}: not read, because it unpacks to more than {sized(self.most)}, {how}")
        if self.taken - self.looked >= _LOOK:
            self.looked = self.taken
            import shutil
            import tempfile

            where = tempfile.gettempdir()
            if shutil.disk_usage(where).free < _KEPT_FREE + min(count, _LOOK):
                raise ShapelogError(
                    f"{self.name}: not read, because {where} is nearly full; TMPDIR names another place for temporary files"
                )


def room_for(name: str, packed: int, most: int | None) -> Room:
    """The room for what is packed into so many bytes, -1 if nobody tells; ``most`` is what was asked for, in bytes."""
    usual = min(_LARGE, max(_SMALL, _RATIO * (packed if packed >= 0 else _UNTOLD)))
    return Room(name, most if most is not None else usual, most is not None)


def parse_size(text: str) -> int:
    """``64G``, ``500 MB`` or ``1000000`` → bytes. Raises ValueError for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None or len(match[1]) > 15:
        raise ValueError(text)
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))


def sized(count: int) -> str:
    """Bytes in words: ``1.2 GB``."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{count} bytes"


def is_packed(head: bytes) -> bool:
    return head.startswith((_GZIP, _ZSTD))


def archive_kind(head: bytes) -> str:
    """Which archive: ``zip``, ``tar``, or "" for neither, by the first bytes of a file."""
    if head.startswith((ZIP, EMPTY_ZIP)):
        return "zip"
    return "tar" if head[_TAR] == b"ustar" else ""


def chunks_of(handle: BinaryIO, close: bool = False) -> Iterator[bytes]:
    """What an open file holds from where it stands."""
    try:
        while chunk := handle.read(CHUNK):
            yield chunk
    finally:
        if close:
            handle.close()


def unpacked(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The same without gzip or zstd around it, if there is any; the content tells.

    Raises DamagedError where the data ends early or is wrong, ShapelogError where zstd cannot be read here.
    """
    chunks, head = iter(chunks), b""
    try:
        while len(head) < len(_ZSTD) and (more := next(chunks, b"")):
            head += more
    except DamagedError:
        yield head
        raise
    whole = chain((head,), chunks)
    yield from _gunzipped(whole) if head.startswith(_GZIP) else _unzstd(whole, name) if head.startswith(_ZSTD) else whole


class _Stream(io.RawIOBase):
    """Chunks as a file to read."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks = chunks
        self.left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.left = self.left or next(self.chunks, b"")
        count = min(len(buffer), len(self.left))
        buffer[:count], self.left = self.left[:count], self.left[count:]
        return count


def _gunzipped(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import gzip
    import zlib

    with gzip.GzipFile(fileobj=io.BufferedReader(_Stream(chunks), 1 << 16)) as file:
        try:
            while chunk := file.read1(CHUNK):
                yield chunk
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DamagedError(f"the gzip data ends early or is damaged ({error})") from error


def _unzstd(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Frames one behind the other, as ``cat a.zst b.zst`` makes them, a little at a time. NULs at the end are padding."""
    module = _zstd(name)
    begin = module.ZstdDecompressor
    if module.__name__ == "zstandard":  # the others do as the standard library does
        begin = lambda: module.ZstdDecompressor().decompressobj()  # noqa: E731
    frame: Any = None
    for chunk in chunks:
        for start in range(0, len(chunk), _ZSTD_INPUT):
            rest = chunk[start : start + _ZSTD_INPUT]
            while rest and (frame is not None or rest.strip(b"\0")):
                frame = begin() if frame is None else frame
                try:
                    plain = frame.decompress(rest)
                except module.ZstdError as error:
                    raise DamagedError(f"the zstd data is damaged ({error})") from error
                rest = frame.unused_data if frame.eof else b""
                frame = None if frame.eof else frame
                if plain:
                    yield plain
    if frame is not None:
        raise DamagedError("the zstd data ends early")


def _zstd(name: str) -> Any:
    """Whatever reads zstd here."""
    for module in _ZSTD_MODULES:
        with suppress(ImportError):
            return import_module(module)
    raise ShapelogError(f'{name}: packed with zstd, which takes one more package: pip install "shapelog[zst]"; or unpack it with zstd -d')


def part_of(file: BinaryIO, start: int, end: int) -> bytes:
    """What an open file holds between two offsets, wherever it stands."""
    count = max(0, end - start)
    if hasattr(os, "pread"):
        return os.pread(file.fileno(), count, start)
    file.seek(start)
    return file.read(count)


def spool(chunks: Iterable[bytes], room: Room) -> tuple[BinaryIO, str]:
    """A temporary file without a name that holds these bytes, standing at its start; and how they were damaged, "" for not at all.

    Raises ShapelogError where they are more than there is room for.
    """
    import tempfile  # plain files need none of this

    file = tempfile.TemporaryFile()  # noqa: SIM115
    damage = ""
    try:
        for chunk in chunks:
            room.take(len(chunk))
            file.write(chunk)
        file.flush()
    except DamagedError as error:
        damage = str(error)
        file.flush()
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file, damage

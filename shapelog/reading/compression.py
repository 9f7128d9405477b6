"""Compressed bytes → a temporary file, which never holds more than its quota allows."""

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
# The first bytes of a file, enough to recognize each format.
HEAD = 512
_ZIP, _EMPTY_ZIP, _TAR_MAGIC = b"PK\x03\x04", b"PK\x05\x06", slice(257, 262)
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
# Traces compress 10:1 to 40:1, those of many ranks together better; a bomb of zeros compresses 1000:1. Up to the small quota, a bomb does
# no harm.
_MAX_RATIO, _SMALL_QUOTA, _LARGE_QUOTA = 250, 100_000_000, 64_000_000_000
_ASSUMED_SIZE = 20_000_000
# How much of the disk of temporary files is left free, and after how many bytes that is checked again.
_FREE, _BETWEEN_CHECKS = 256_000_000, 64_000_000
# A zstd block of 128 KiB can be compressed into 4 bytes, and one call returns everything that its input holds.
_ZSTD_INPUT = 1 << 10
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*", re.I)
_ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")


class DamagedError(Exception):
    """Compressed data that ends early or is wrong from here on; its text names the fault."""


@dataclass(slots=True, eq=False)
class UnpackQuota:
    """How many bytes may be written to temporary files for the file that messages call ``name``.

    ``limit`` None leaves it to the free space of the disk; ``is_requested``: the user set it.
    """

    name: str
    limit: int | None = None
    is_requested: bool = False
    used: int = 0
    checked_at: int = -_BETWEEN_CHECKS

    def reserve(self, count: int) -> None:
        """Raises ShapelogError when that exceeds the limit, or fills the disk."""
        self.used += count
        if self.limit is not None and self.used > self.limit:
            reason = (
                "the limit of --max-unpacked"
                if self.is_requested
                else "too much for its size (it may be a zip bomb); --max-unpacked 100G allows more"
            )
            raise ShapelogError(f"{self.name}: not read, because it unpacks to more than {format_size(self.limit)}, {reason}")
        if self.used - self.checked_at >= _BETWEEN_CHECKS:
            self.checked_at = self.used
            import shutil
            import tempfile

            where = tempfile.gettempdir()
            if shutil.disk_usage(where).free < _FREE + min(count, _BETWEEN_CHECKS):
                raise ShapelogError(
                    f"{self.name}: not read, because {where} is nearly full; set TMPDIR to another directory for temporary files"
                )

    def release(self, count: int) -> None:
        """Return what was reserved for a file that is deleted now."""
        self.used -= count


def quota_for(name: str, packed_size: int, requested: int | None) -> UnpackQuota:
    """The quota of a file of ``packed_size`` bytes, -1 if unknown; ``requested`` is the limit that the user set, in bytes."""
    usual = min(_LARGE_QUOTA, max(_SMALL_QUOTA, _MAX_RATIO * (packed_size if packed_size >= 0 else _ASSUMED_SIZE)))
    return UnpackQuota(name, requested if requested is not None else usual, requested is not None)


def parse_size(text: str) -> int:
    """``64G``, ``500 MB`` or ``1000000`` → bytes. Raises ValueError for anything else."""
    match = _SIZE.fullmatch(text)
    if match is None or len(match[1]) > 15:
        raise ValueError(text)
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))


def format_size(count: int) -> str:
    """Bytes → ``2 MB`` or ``1.2 GB``, as one would write a limit."""
    for unit, name in ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.1f}".removesuffix(".0") + f" {name}"
    return f"{count} bytes"


def is_compressed(head: bytes) -> bool:
    return head.startswith((_GZIP, _ZSTD))


def archive_kind(head: bytes) -> str:
    """``zip``, ``tar``, or "" for neither, by the first bytes of a file."""
    if head.startswith((_ZIP, _EMPTY_ZIP)):
        return "zip"
    return "tar" if head[_TAR_MAGIC] == b"ustar" else ""


def read_chunks(handle: BinaryIO, close: bool = False) -> Iterator[bytes]:
    """The rest of an open file from its current position."""
    try:
        while chunk := handle.read(CHUNK):
            yield chunk
    finally:
        if close:
            handle.close()


def read_head(chunks: Iterable[bytes], size: int) -> bytes:
    """The first ``size`` bytes, and what else their last chunk holds; fewer where the data ends or cannot be read."""
    head = b""
    with suppress(DamagedError, ShapelogError):
        for chunk in chunks:
            head += chunk
            if len(head) >= size:
                break
    return head


def read_range(file: BinaryIO, start: int, end: int) -> bytes:
    """The bytes of an open file between two offsets, whatever its current position."""
    count = max(0, end - start)
    if hasattr(os, "pread"):
        found = os.pread(file.fileno(), count, start)
        while 0 < len(found) < count and (more := os.pread(file.fileno(), count - len(found), start + len(found))):
            found += more  # one call reads 2 GB at most
        return found
    file.seek(start)
    return file.read(count)


def decompress(chunks: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The content of gzip or zstd data, which is recognized by its first bytes; anything else is returned as it is.

    Raises DamagedError where the data ends early or is wrong, ShapelogError if nothing installed reads zstd.
    """
    chunks, head = iter(chunks), b""
    try:
        while len(head) < len(_ZSTD) and (more := next(chunks, b"")):
            head += more
    except DamagedError:
        yield head
        raise
    whole = chain((head,), chunks)
    yield from _gunzip(whole) if head.startswith(_GZIP) else _unzstd(whole, name) if head.startswith(_ZSTD) else whole


class _Stream(io.RawIOBase):
    """Chunks as a readable file. It ends where they are damaged, and then has that ``damage``."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self.chunks = chunks
        self.rest = b""
        self.damage = ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            self.rest = self.rest or next(self.chunks, b"")
        except DamagedError as error:  # the file ends there, so that what is buffered is not lost
            self.damage = str(error)
        count = min(len(buffer), len(self.rest))
        buffer[:count], self.rest = self.rest[:count], self.rest[count:]
        return count


def _gunzip(chunks: Iterator[bytes]) -> Iterator[bytes]:
    import gzip
    import zlib

    stream = _Stream(chunks)
    with gzip.GzipFile(fileobj=io.BufferedReader(stream, 1 << 16)) as file:
        try:
            while chunk := file.read1(CHUNK):
                yield chunk
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DamagedError(stream.damage or f"the gzip data ends early or is damaged ({error})") from error
    if stream.damage:
        raise DamagedError(stream.damage)


def _unzstd(chunks: Iterator[bytes], name: str) -> Iterator[bytes]:
    """All frames, as ``cat a.zst b.zst`` makes several of them, a little at a time. NULs at the end are padding."""
    module = _zstd(name)
    new_frame = module.ZstdDecompressor
    if module.__name__ == "zstandard":  # the others have the interface of the standard library
        new_frame = lambda: module.ZstdDecompressor().decompressobj()  # noqa: E731
    frame: Any = None
    for chunk in chunks:
        for start in range(0, len(chunk), _ZSTD_INPUT):
            rest = chunk[start : start + _ZSTD_INPUT]
            while rest and (frame is not None or rest.strip(b"\0")):
                frame = new_frame() if frame is None else frame
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
    """The first installed module that reads zstd."""
    for module in _ZSTD_MODULES:
        with suppress(ImportError):
            return import_module(module)
    raise ShapelogError(f'{name}: zstd files require an extra package: pip install "shapelog[zst]"; or unpack it with zstd -d')


def to_temporary_file(chunks: Iterable[bytes], quota: UnpackQuota) -> tuple[BinaryIO, str]:
    """A nameless temporary file with these bytes, positioned at its start, and how they were damaged, "" if they were not.

    Raises ShapelogError when they exceed the quota.
    """
    import tempfile  # plain files need none of this

    try:
        file = tempfile.TemporaryFile()  # noqa: SIM115
    except FileNotFoundError as error:
        raise ShapelogError(f"{quota.name}: not read, because no directory for temporary files is writable; set TMPDIR to one") from error
    damage = ""
    try:
        for chunk in chunks:
            quota.reserve(len(chunk))
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

"""Traces on disk, packed in every way that shapelog reads, and what loading them reports."""

import gzip
import io
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import make
import pytest

from shapelog import load
from shapelog.errors import DATA_LOSS, ShapelogError
from shapelog.model.trace import Trace

TRACE = make.small_trace()
RANK = "dedicated_log_torch_trace_rank_{}_{}.log"
FIRST, SECOND = RANK.format(0, "aaaaaaaa"), RANK.format(1, "bbbbbbbb")
WRITTEN = (2025, 11, 20, 8, 27, 34)  # just after its records
Pack = Callable[[dict[str, bytes]], bytes]


def put(where: Path, data: bytes = TRACE, name: str = "archive") -> Path:
    path = where / name
    path.write_bytes(data)
    return path


def refusal(where: Path | str, max_unpacked: int | None = None) -> str:
    """The one line with which this input is refused."""
    with pytest.raises(ShapelogError) as caught:
        load(where, max_unpacked=max_unpacked)
    message = str(caught.value)
    assert "\n" not in message
    return message


def losses(trace: Trace) -> list[str]:
    """What the trace reports as lost, each with its file."""
    return [f"{problem.file}: {problem.message}" for problem in trace.problems if problem.severity == DATA_LOSS]


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, WRITTEN), data, method)
    return made.getvalue()


def streamed(members: dict[str, bytes]) -> bytes:
    """A zip file that was written to a pipe, with the sizes of a member after its data."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.written = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.written += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = zipfile.ZipInfo(name, WRITTEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w") as member:
                member.write(data)
    return bytes(pipe.written)


def member(name: str, data: bytes = b"", kind: bytes = tarfile.REGTYPE, link: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = len(data), kind, link
    info.mtime = time.mktime((*WRITTEN, 0, 0, -1))
    return info, data


def tarred_members(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    return tarred_members(*(member(name, data) for name, data in members.items()))


def zstd(data: bytes) -> bytes:
    zstandard = pytest.importorskip("zstandard")
    return bytes(zstandard.ZstdCompressor().compress(data))


ZIPS: dict[str, Pack] = {"zip": zipped, "stored zip": lambda members: zipped(members, zipfile.ZIP_STORED), "streamed zip": streamed}
TARS: dict[str, Pack] = {
    "tar": tarred,
    "tar.gz": lambda members: gzip.compress(tarred(members)),
    "tar.zst": lambda members: zstd(tarred(members)),
}
PACKS = ZIPS | TARS

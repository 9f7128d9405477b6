"""Payloads → files: read from the trace and written one after the other, so that no more than one is in memory."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from shapelog.errors import ShapelogError
from shapelog.extract.content import Contents, suffix_of
from shapelog.extract.extraction import ExtractedFile
from shapelog.extract.file_names import Paths, file_stem
from shapelog.model.record_index import IndexedRecord
from shapelog.reading.open_trace import Buffer
from shapelog.reading.scanner import Span

# A larger payload is copied piece by piece as it is, and not looked at.
_MOST_READ = 16 << 20
_PIECE = 1 << 20
# The kind of a file with the first lines of records.
RECORDS = "records"
_DAMAGED = "wrong checksum: damaged, cut off, or changed"


class PayloadFiles:
    """Writes below a directory; paths are relative to it, with slashes, and none is given twice."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = Paths()
        self._contents = Contents()
        self._made: set[str] = {""}

    def payload(self, record: IndexedRecord, directory: str) -> ExtractedFile:
        """The payload of a record as a file. Raises ShapelogError where it cannot be written."""
        assert record.span is not None
        stem = joined(directory, file_stem(record.kind, record.name))
        if record.size > _MOST_READ:
            return self._large(record, record.span, stem)
        payload = record.raw
        md5 = hashlib.md5(payload, usedforsecurity=False).hexdigest()
        content = self._contents.of(record.kind, record.name, payload, md5)
        path = self.paths.new(stem, content.suffix)
        size = self._write(path, (content.text,))
        return _file(record, path, size, md5, content.is_verbatim)

    def _large(self, record: IndexedRecord, span: Span, stem: str) -> ExtractedFile:
        data, md5 = record.reader.data, hashlib.md5(usedforsecurity=False)
        head = next(payload_pieces(data, span), b"")
        path = self.paths.new(stem, suffix_of(record.kind, record.name, head))
        size = self._write(path, _hashed(payload_pieces(data, span), md5))
        return _file(record, path, size, md5.hexdigest(), is_verbatim=True)

    def body(self, record: IndexedRecord, directory: str) -> ExtractedFile:
        """The body of a record without a payload, as JSON with indents."""
        body = record.body.get(record.kind)
        path = self.paths.new(joined(directory, file_stem(record.kind, record.name)), ".json")
        return ExtractedFile(
            path=path,
            kind=record.kind,
            name=record.name,
            attempt=record.attempt,
            size=self._write(path, (_json(body, orjson.OPT_INDENT_2),)),
            is_verbatim=False,
        )

    def headers(self, records: Iterable[IndexedRecord], directory: str) -> ExtractedFile:
        """The first lines of records without a payload, one JSON object in a line, with the names of files for their numbers."""
        path = self.paths.new(joined(directory, "records"), ".jsonl")
        size = self._write(path, (_json(record.body, 0) + b"\n" for record in records))
        return ExtractedFile(path=path, kind=RECORDS, name="", attempt=0, size=size, is_verbatim=False)

    def joined_payloads(self, kind: str, stem: str, suffix: str, pieces: Iterable[bytes]) -> ExtractedFile:
        """A file made of the payloads of several records."""
        path = self.paths.new(stem, suffix)
        return ExtractedFile(path=path, kind=kind, name="", attempt=0, size=self._write(path, pieces), is_verbatim=False)

    def _write(self, path: str, pieces: Iterable[bytes]) -> int:
        """Write a new file, and return its size in bytes."""
        directory = path.rpartition("/")[0]
        size = 0
        try:
            if directory not in self._made:
                os.makedirs(self.root / directory, exist_ok=True)
                self._made.add(directory)
            with open(os.path.join(self.root, path), "xb", buffering=0) as file:
                for piece in pieces:
                    size += len(piece)
                    left = memoryview(piece)
                    while len(left):
                        left = left[file.write(left) :]
        except OSError as error:
            raise ShapelogError(f"{self.root / path}: cannot write: {error.strerror}") from error
        return size


def _hashed(pieces: Iterable[bytes], md5: Any) -> Iterator[bytes]:
    for piece in pieces:
        md5.update(piece)
        yield piece


def payload_pieces(data: Buffer, span: Span) -> Iterator[bytes]:
    """The payload as PyTorch had it, without the TAB of each line and the last newline, in pieces of about a megabyte."""
    end = span.end - (data[span.end - 1 : span.end] == b"\n")
    at = span.start + 1
    while at < end:
        piece = data[at : min(at + _PIECE, end)]
        if piece.endswith(b"\n"):  # its TAB is in the next piece
            piece += data[at + len(piece) : min(at + len(piece) + 1, end)]
        if not piece:  # the file was made shorter
            return
        at += len(piece)
        yield piece.replace(b"\n\t", b"\n")


def _file(record: IndexedRecord, path: str, size: int, md5: str, is_verbatim: bool) -> ExtractedFile:
    stated = record.span.digest if record.span else ""
    return ExtractedFile(
        path=path,
        kind=record.kind,
        name=record.name,
        attempt=record.attempt,
        size=size,
        digest=stated,
        is_verbatim=is_verbatim,
        problem=_DAMAGED if stated and stated != md5 else "",
    )


def _json(value: Any, option: int) -> bytes:
    try:
        return orjson.dumps(value, option=option)
    except TypeError:  # a text or a number that only the slow encoder takes
        import json

        return json.dumps(value).encode("ascii")


def joined(directory: str, name: str) -> str:
    """A path below a directory, which may be ""."""
    return f"{directory}/{name}" if directory else name

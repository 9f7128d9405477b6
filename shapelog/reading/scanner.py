"""Bytes → where each record lies, its process, kind and name. Of a header only what is asked for is decoded.

Grammar (PyTorch's ``trace_structured``): ``V1120 08:27:33.313000 12031 torch/x.py:303] {json}`` on one line, then the payload,
each of its lines behind one TAB. So a newline with anything but a TAB behind it starts a record. Empty lines of a payload may lack
their TAB: programs that trim lines take it away.
"""

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from shapelog.reading.open_trace import Buffer, FileBytes

# Groups: process, an empty one where the JSON begins, kind, and name of an artifact. The kind is found where it is the first key, as
# PyTorch writes it. The rest of the line is matched as well.
_HEAD = (
    rb"[A-Z]\d{4} [\d:.]{1,99} {1,99}(\d{1,18}) [^\]\n]{0,9999}\] ()(?=\{)"
    rb'(?:\{"(\w{1,99})": (?:\{"name": "([^"\\\n]{0,999})"|)|)[^\n]*'
)
_PROCESS, _JSON, _KIND, _NAME = range(1, 5)
_FIRST = re.compile(_HEAD)
# What ends a record: the first line of the next one, or another line, the second what ends those.
_NEXT = re.compile(rb"\n(?!\t|\n{1,99}\t)(?:" + _HEAD + rb"|)")
_NEXT_RECORD = re.compile(rb"\n" + _HEAD)
# How a header ends that announces a payload: this, its MD5 in 32 digits, a quote and the last brace.
ANNOUNCED = b'"has_payload": "'
ANNOUNCEMENT_SIZE = len(ANNOUNCED) + 34
# A longer header or payload is accounted for and not read. PyTorch writes some megabytes; reading one takes many times its size.
LONGEST = 64 << 20
# How much is searched at a time, and more than the groups of _HEAD can match.
_WINDOW, _LONGEST_HEAD = 1 << 20, 16 << 10


class RecordLocation(NamedTuple):
    """Where a record lies, in bytes from the start of the file, and what its first line begins with.

    The record ends before ``stop``, its JSON before ``json_end``, where the first line does. ``json`` is empty where it is longer than
    ``LONGEST``; ``kind`` and ``name`` (of an artifact) where the line does not begin with them. ``json_start`` is -1 for lines that
    belong to no record.
    """

    start: int
    stop: int
    json_start: int = -1
    json_end: int = -1
    json: bytes = b""
    process: int = 0
    kind: bytes = b""
    name: bytes = b""


class Span(NamedTuple):
    """Where a payload lies in the file, and the MD5 that its header states. Equal digest means equal payload."""

    start: int
    end: int
    digest: str


class Record(NamedTuple):
    """A readable record: its kind, the name of an artifact, and its JSON object, None where the model is not built from it.

    It lies in the file from ``offset`` to ``stop``, its JSON from ``json_start`` to ``json_end``, in bytes. ``process`` is the number
    in its prefix.
    """

    kind: str
    name: str
    header: dict[str, Any] | None
    process: int
    offset: int
    stop: int
    json_start: int
    json_end: int

    @property
    def payload(self) -> Span | None:
        """The payload with the checksum in the decoded header, "" without one; None where the record has no payload."""
        if self.json_end + 1 >= self.stop:
            return None
        digest = self.header.get("has_payload") if self.header else None
        return Span(self.json_end + 1, self.stop, digest if isinstance(digest, str) else "")


def scan(data: Buffer, size: int) -> Iterator[RecordLocation]:
    """Every record, and the lines between two of them that belong to none, in file order and without gaps."""
    start = _begin(data, size)
    if start:
        yield RecordLocation(0, start)
    first = locate(data, start) if start < size else None
    head = first[2:] if first else ()
    for base in range(0, size, _WINDOW):
        end = min(size, base + _WINDOW)
        window = _window(data, base, min(size, end + _LONGEST_HEAD))
        at = 0
        while (following := (_NEXT if head else _NEXT_RECORD).search(window, at)) and base + following.start() < end:
            stop, at = base + following.start() + 1, following.end()
            yield RecordLocation(start, stop, *head)
            start, head = stop, _head(data, window, base, following)
    if start < size:
        yield RecordLocation(start, size, *head)


def _begin(data: Buffer, size: int) -> int:
    """Where the first line begins: behind a byte order mark, or the NULs that stand for what was cut from a log while it was written."""
    if data[: len(BOM_UTF8)] == BOM_UTF8:
        return len(BOM_UTF8)
    if data[:1] != b"\0":
        return 0
    for base in range(0, size, _WINDOW):
        window = data[base : base + _WINDOW]
        left = window.lstrip(b"\0")
        if left:
            return base + len(window) - len(left)
    return size


def locate(data: Buffer, start: int) -> RecordLocation | None:
    """The first line of the record that starts there, taken for the whole record; None where none starts."""
    line = data[start : start + _LONGEST_HEAD]
    head = _FIRST.match(line)
    return RecordLocation(start, len(data), *_head(data, line, start, head)) if head is not None else None


def _window(data: Buffer, start: int, stop: int) -> bytes:
    return data.window(start, stop) if isinstance(data, FileBytes) else data[start:stop]


def _head(data: Buffer, window: bytes, base: int, head: re.Match[bytes]) -> tuple[int, int, bytes, int, bytes, bytes] | tuple[()]:
    """The fields of a RecordLocation behind ``stop``, none for a line that belongs to no record. ``window`` starts at ``base``."""
    if head[_PROCESS] is None:
        return ()
    start, newline = head.start(_JSON), head.end()
    if newline < len(window):
        text = window[start:newline]
    else:
        newline = _end_of_line(data, base + newline) - base
        text = data[base + start : base + newline] if newline - start <= LONGEST else b""
    return base + start, base + newline, text, int(head[_PROCESS]), head[_KIND] or b"", head[_NAME] or b""


def _end_of_line(data: Buffer, start: int) -> int:
    """Where the next newline is, the end of the file without one."""
    for at in range(start, len(data), _WINDOW):
        newline = data[at : at + _WINDOW].find(b"\n")
        if newline >= 0:
            return at + newline
    return len(data)


def decode(text: bytes) -> dict[str, Any] | None:
    """A header's JSON object; None for any other text. The slow decoder takes what the fast one refuses: NaN and lone surrogates."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            value = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def name_in(body: object) -> str:
    """The name of an artifact or file in the body of a header, "" where it has none."""
    name = body.get("name") if isinstance(body, dict) else None
    return name if isinstance(name, str) else ""

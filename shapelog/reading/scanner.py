"""Bytes → where each record lies, its process, kind and name. Of a header only what is asked for is decoded.

Grammar (PyTorch's ``trace_structured``): ``V1120 08:27:33.313000 12031 torch/x.py:303] {json}`` on one line, then the payload,
each of its lines behind one TAB. So a newline with anything but a TAB behind it starts a record.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson

from shapelog.reading.open_trace import Buffer

# Groups: process, an empty one where the JSON begins, kind, and name of an artifact. The kind is found where it is the first key, as
# PyTorch writes it. The end of a short line is matched as well, which saves a search for it.
_HEAD = (
    rb"[A-Z]\d{4} [\d:.]+ +(\d{1,18}) [^\]\n]*\] ()(?=\{)"
    rb'(?:\{"(\w{1,99})": (?:\{"name": "([^"\\\n]{0,999})"|)|)[^\n]{0,500}'
)
_PROCESS, _JSON, _KIND, _NAME = range(1, 5)
_FIRST = re.compile(_HEAD)
_NEXT = re.compile(rb"\n(?!\t)(?:" + _HEAD + rb"|)")
# How a header ends that announces a payload: this, its MD5 in 32 digits, a quote and the last brace.
ANNOUNCED = b'"has_payload": "'
ANNOUNCEMENT_SIZE = len(ANNOUNCED) + 34


class Location(NamedTuple):
    """Where a record lies, in bytes from the start of the file, and what its first line begins with.

    The record ends before ``stop``, its JSON before ``json_end``, where the first line does. ``kind`` and ``name`` (of an artifact) are
    empty where the line does not begin with them. ``json_start`` is -1 for a line that is not the first of any record.
    """

    start: int
    stop: int
    json_start: int = -1
    json_end: int = -1
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


def scan(data: Buffer, size: int) -> Iterator[Location]:
    """Every record, and every line that belongs to none, in file order and without gaps."""
    if not size:
        return
    start, head = 0, _FIRST.match(data)
    for following in _NEXT.finditer(data, head.end() if head is not None else 0):
        stop = following.start() + 1
        yield _located(data, start, stop, head)
        start, head = stop, following
    if start < size:
        yield _located(data, start, size, head)


def locate(data: Buffer, start: int) -> Location | None:
    """The first line of the record that starts there, taken for the whole record; None where none starts."""
    head = _FIRST.match(data, start)
    return _located(data, start, len(data), head) if head is not None else None


def _located(data: Buffer, start: int, stop: int, head: re.Match[bytes] | None) -> Location:
    if head is None or head[_PROCESS] is None:
        return Location(start, stop)
    newline = data.find(b"\n", head.end(), stop)
    json_end = newline if newline >= 0 else stop
    return Location(start, stop, head.start(_JSON), json_end, int(head[_PROCESS]), head[_KIND] or b"", head[_NAME] or b"")


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

"""Where the records of a file lie, noted as plain numbers while it is read: what the list of a compile's records is made of."""

from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from shapelog.reading.kinds import UNLISTED
from shapelog.reading.open_trace import Buffer
from shapelog.reading.scanner import ANNOUNCED, ANNOUNCEMENT_SIZE, Record, Span, decode

# A longer header is not decoded.
_LONGEST = 64 << 20
_WIDTH = 6


class Envelope(NamedTuple):
    """The process that wrote a record, and the compile that it belongs to by its ids; None for one that its header leaves out."""

    process: int
    frame: int | None
    number: int | None
    autograd: int | None
    attempt: int


class Position(NamedTuple):
    """Where one record lies, in bytes from the start of the file; of ``labels`` and ``envelopes`` the numbers that it has."""

    offset: int
    stop: int
    json_start: int
    json_end: int
    label: int
    envelope: int


class RecordPositions:
    """The readable records of one file in file order, without those of ``UNLISTED`` kinds."""

    def __init__(self, data: Buffer) -> None:
        self.data = data
        self.labels: list[tuple[str, str]] = []
        self.envelopes: list[Envelope] = []
        self._label_numbers: dict[tuple[str, str], int] = {}
        self._envelope_numbers: dict[Envelope, int] = {}
        self._firsts: dict[tuple[str, str], int] = {}
        self._numbers = array("q")

    def noting(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records, of which each is noted on its way."""
        for record in records:
            if record.kind not in UNLISTED:
                self._firsts.setdefault((record.kind, record.name), record.offset)
                label = _number((record.kind, record.name), self._label_numbers, self.labels)
                header = record.header if record.header is not None else self._header(record.json_start, record.json_end)
                envelope = _number(_of_header(record.process, header), self._envelope_numbers, self.envelopes)
                self._numbers.extend((record.offset, record.stop, record.json_start, record.json_end, label, envelope))
            yield record

    def __len__(self) -> int:
        return len(self._numbers) // _WIDTH

    def __getitem__(self, index: int) -> Position:
        return Position(*self._numbers[_WIDTH * index : _WIDTH * (index + 1)])

    def offset(self, index: int) -> int:
        """Where that record starts."""
        return self._numbers[_WIDTH * index]

    def envelope_numbers(self) -> Iterator[int]:
        """Of each record, which of ``envelopes`` it has."""
        return iter(self._numbers[5::_WIDTH])

    def first(self, kind: str, name: str) -> int:
        """Where the first record of a kind and name starts; -1 where there is none."""
        return self._firsts.get((kind, name), -1)

    def payload(self, position: Position) -> Span | None:
        """The payload of a record, with the MD5 that its header states, "" where it states none."""
        if position.json_end + 1 >= position.stop:
            return None
        return Span(position.json_end + 1, position.stop, self._checksum(position))

    def _checksum(self, position: Position) -> str:
        end = position.json_end
        announced = self.data[end - ANNOUNCEMENT_SIZE : end]
        if announced.startswith(ANNOUNCED):
            return announced[len(ANNOUNCED) : -2].decode("utf-8", "replace")
        digest = self._header(position.json_start, end).get("has_payload")
        return digest if isinstance(digest, str) else ""

    def _header(self, start: int, end: int) -> dict[str, Any]:
        return (decode(self.data[start:end]) if end - start <= _LONGEST else None) or {}


def _number(item: Any, numbers: dict[Any, int], items: list[Any]) -> int:
    """The number of an item, which is given one when it comes for the first time."""
    number = numbers.setdefault(item, len(items))
    if number == len(items):
        items.append(item)
    return number


def _of_header(process: int, header: dict[str, Any]) -> Envelope:
    keys = ("frame_id", "frame_compile_id", "compiled_autograd_id", "attempt")
    frame, number, autograd, attempt = (value if isinstance(value := header.get(key), int) else None for key in keys)
    return Envelope(process, frame, number, autograd, attempt or 0)

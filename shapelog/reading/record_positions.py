"""Where the records of a file lie, noted as plain numbers while it is read: what the list of a compile's records is made of."""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from shapelog.reading.kinds import UNLISTED
from shapelog.reading.open_trace import Buffer
from shapelog.reading.scanner import ANNOUNCED, ANNOUNCEMENT_SIZE, LONGEST, Record, Span, decode

_IDS = ("frame_id", "frame_compile_id", "compiled_autograd_id", "attempt")
_WIDTH = 6
_LARGEST = (1 << 63) - 1


class Owner(NamedTuple):
    """The process that wrote a record, and the compile that it belongs to by its ids; None for one that its header leaves out."""

    process: int
    frame: int | None
    number: int | None
    autograd: int | None


class Position(NamedTuple):
    """Where one record lies, in bytes from the start of the file; which of ``labels`` it has, and the attempt that it belongs to."""

    offset: int
    stop: int
    json_start: int
    json_end: int
    label: int
    attempt: int


class RecordPositions:
    """The readable records of one file in file order, without those of ``UNLISTED`` kinds.

    ``labels`` are kind, name and the offset of the first record that has them; ``owned`` the indexes of records by their owner.
    """

    def __init__(self, data: Buffer) -> None:
        self.data = data
        self.labels: list[tuple[str, str, int]] = []
        self.owned: defaultdict[Owner, array[int]] = defaultdict(lambda: array("q"))
        self._label_numbers: dict[tuple[str, str], int] = {}
        self._numbers = array("q")

    def noting(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records, of which each is noted on its way."""
        for record in records:
            if record.kind not in UNLISTED:
                label = self._label_numbers.setdefault((record.kind, record.name), len(self.labels))
                if label == len(self.labels):
                    self.labels.append((record.kind, record.name, record.offset))
                header = record.header if record.header is not None else self._header(record.json_start, record.json_end)
                frame, number, autograd, attempt = (value if isinstance(value := header.get(key), int) else None for key in _IDS)
                self.owned[Owner(record.process, frame, number, autograd)].append(len(self._numbers) // _WIDTH)
                attempt = max(0, min(attempt or 0, _LARGEST))  # a damaged header may have any number
                self._numbers.extend((record.offset, record.stop, record.json_start, record.json_end, label, attempt))
            yield record

    def __getitem__(self, index: int) -> Position:
        return Position(*self._numbers[_WIDTH * index : _WIDTH * (index + 1)])

    def first(self, kind: str, name: str) -> int:
        """Where the first record of a kind and name starts; -1 where there is none."""
        label = self._label_numbers.get((kind, name))
        return -1 if label is None else self.labels[label][2]

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
        return (decode(self.data[start:end]) if end - start <= LONGEST else None) or {}

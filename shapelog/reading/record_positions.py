"""Where the records of a trace lie and how their headers end, noted as plain numbers while it is read: what a listing is made of later."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import Any, NamedTuple

import orjson

from shapelog.reading.labels import Place
from shapelog.reading.open_trace import Buffer

# How a header ends. No brace stands between the one of its body and the last one, so these are keys of the record itself, whatever
# its strings hold.
_END = re.compile(
    rb'(\}(?:, "rank": \d{1,9})?(?:, "compiled_autograd_id": (\d{1,9}))?(?:, "frame_id": (\d{1,9}), "frame_compile_id": (\d{1,9}))?'
    rb'(?:, "attempt": (\d{1,9}))?(?:, "subgraph_name": "[^"\\]*")?)(?:, "has_payload": "([0-9a-f]{32})")?\}\Z'
)
_ANNOUNCEMENT = b', "has_payload": "'
_CHECKSUM, _DIGITS = 32, b"0123456789abcdef"
_LONGEST = 400
# A longer header that ends unusually is not decoded.
_MOST = 1 << 20
_WIDTH = 7
_ROW = Struct(f"{_WIDTH}q")
# Where the numbers begin that a process which looks ahead gives to envelopes and checksums.
_AHEAD = 1 << 40


class Envelope(NamedTuple):
    """The process that wrote a record, and the compile that it belongs to by its ids; None for one that its header leaves out."""

    process: int
    frame: int | None
    number: int | None
    autograd: int | None
    attempt: int


class Notes:
    """The records of one file, in file order.

    ``labels`` are kind and name by the number that a place gives; ``decode`` gives the JSON object of a header that ends unusually.
    """

    def __init__(self, data: Buffer, labels: Iterable[tuple[str, str]], decode: Callable[[bytes], dict[str, Any] | None]) -> None:
        self.data = data
        self.labels = list(labels)
        self.decode = decode
        self.envelopes: dict[int, Envelope] = {}
        self._numbers = array("q")
        self._checksums = bytearray()
        # What another process told last, in which own rows may have their place, and all its checksums.
        self._last_told = array("q")
        self._told_checksums = bytearray()
        self._known: dict[Envelope, int] = {}
        self._next_envelope, self._before_checksums = 0, 0
        self._firsts: dict[int, int] = {}
        self._label_numbers = {label: number for number, label in enumerate(self.labels)}
        # How the header before this one ended, without a payload and with one; many in a row end alike. None holds a newline.
        self._process, self._envelope, self._plain, self._announced = -1, -1, b"\n", b"\n"

    def label_of(self, kind: str, name: str) -> int:
        """The number for records of that kind and name."""
        number = self._label_numbers.setdefault((kind, name), len(self.labels))
        if number == len(self.labels):
            self.labels.append((kind, name))
        return number

    def add(self, place: Place, text: bytes = b"") -> None:
        """Note a record; ``text`` is its header's JSON, or the end of that, where it is at hand."""
        start, stop, json_start, line_end, label, process = place
        text = text or self.data[max(json_start, line_end - _LONGEST) : line_end]
        at = len(text) - _CHECKSUM - 2
        if process == self._process and text.endswith(self._plain):
            envelope, checksum = self._envelope, b""
        elif process == self._process and text.endswith(self._announced, 0, max(at, 0)) and not (stated := text[at:-2]).strip(_DIGITS):
            envelope, checksum = self._envelope, stated
        else:
            envelope, checksum = self._look(process, json_start, line_end, text)
        row = start, stop, json_start, line_end, label, envelope, self._before_checksums + len(self._checksums) if checksum else -1
        self._checksums += checksum
        if self._last_told:
            self._insert(row)
        else:
            self._numbers.extend(row)

    def _insert(self, row: tuple[int, ...]) -> None:
        index = bisect_left(self._last_told[::_WIDTH], row[0]) * _WIDTH
        self._last_told[index:index] = array("q", row)

    def look_ahead(self) -> None:
        """From now on these are the notes of a forked process, which gives them away by ``told``."""
        self._next_envelope = self._before_checksums = _AHEAD

    def told(self) -> bytes:
        """What was noted since this was last asked for, and is forgotten here. Raises TypeError for an id of more than 64 bits."""
        envelopes = orjson.dumps([(number, *envelope) for number, envelope in self.envelopes.items()])
        parts = self._numbers.tobytes(), bytes(self._checksums), envelopes
        self._before_checksums += len(self._checksums)
        self._numbers, self._checksums, self.envelopes = array("q"), bytearray(), {}
        return b"".join((array("q", map(len, parts)).tobytes(), *parts))

    def take(self, told: bytes) -> None:
        """Take in what another process noted of the records that follow all that were noted here."""
        self.settle()
        rows, checksums, _ = array("q", told[:24])
        self._last_told = array("q", told[24 : 24 + rows])
        self._told_checksums += told[24 + rows : 24 + rows + checksums]
        self.envelopes.update((number, Envelope(*envelope)) for number, *envelope in orjson.loads(told[24 + rows + checksums :]))

    def forget(self, start: int) -> None:
        """The record that starts there, which was told last, is none."""
        starts = self._last_told[::_WIDTH]
        if start in starts:
            index = starts.index(start) * _WIDTH
            del self._last_told[index : index + _WIDTH]

    def settle(self) -> None:
        """All records up to here are noted: what was told last has its place, and is not changed any more."""
        if self._last_told:
            self._numbers += self._last_told
            self._last_told = array("q")

    def _look(self, process: int, json_start: int, line_end: int, text: bytes) -> tuple[int, bytes]:
        """The number of an envelope that is not the one before, and the stated checksum."""
        at = text.rfind(b'}, "', max(0, len(text) - _LONGEST))
        found = _END.match(text, at) if at >= 0 else None
        if found is None:
            text = self.data[json_start:line_end] if line_end - json_start <= _MOST else b""
            return self._decoded(process, self.decode(text) or {})
        end, checksum = found.group(1, 6)
        self._process, self._plain, self._announced = process, end + b"}", end + _ANNOUNCEMENT
        autograd, frame, compile, attempt = (int(digits) if digits else None for digits in found.group(2, 3, 4, 5))
        self._envelope = self._numbered(Envelope(process, frame, compile, autograd, attempt or 0))
        return self._envelope, checksum or b""

    def _decoded(self, process: int, header: dict[str, Any]) -> tuple[int, bytes]:
        keys = ("frame_id", "frame_compile_id", "compiled_autograd_id", "attempt")
        frame, compile, autograd, attempt = (value if isinstance(value := header.get(key), int) else None for key in keys)
        stated = str(header.get("has_payload", "")).encode("utf-8", "replace")
        envelope = self._numbered(Envelope(process, frame, compile, autograd, attempt or 0))
        return envelope, stated if len(stated) == _CHECKSUM else b""

    def _numbered(self, envelope: Envelope) -> int:
        number = self._known.setdefault(envelope, self._next_envelope)
        if number == self._next_envelope:
            self.envelopes[number] = envelope
            self._next_envelope += 1
        return number

    def first(self, kind: str, name: str) -> int:
        """Where the first record of a kind and name that is noted starts; -1 where there is none."""
        label = self._label_numbers.get((kind, name), -1)
        if label not in self._firsts:
            noted = self._numbers[4::_WIDTH]
            self._firsts[label] = self.start(noted.index(label)) if label in noted else -1
        return self._firsts[label]

    def numbers(self) -> Iterator[int]:
        """Of each record, which of ``envelopes`` it has."""
        return iter(self._numbers[5::_WIDTH])

    def __getitem__(self, index: int) -> tuple[int, ...]:
        """Start and stop of a record, where its JSON begins and ends, which of ``labels`` and of ``envelopes`` it has, and what
        ``checksum`` takes.
        """
        return _ROW.unpack_from(self._numbers, _ROW.size * index)

    def checksum(self, at: int) -> str:
        """The MD5 that a header states, "" where it states none."""
        checksums, at = (self._told_checksums, at - _AHEAD) if at >= _AHEAD else (self._checksums, at)
        return checksums[at : at + _CHECKSUM].decode("utf-8", "replace") if at >= 0 else ""

    def start(self, index: int) -> int:
        return self._numbers[_WIDTH * index]

"""Finding the records of a file in a child process, and in this one whenever it would have to wait for that."""

import os
import select
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, BinaryIO

import orjson

from shapelog.aside import forked
from shapelog.reading import labels
from shapelog.reading.labels import Place

if TYPE_CHECKING:
    from shapelog.reading.record_positions import Notes

# Of each label: records, bytes, and whether they were used.
Tallies = dict[bytes, list[int]]

# The child tells so many places at once.
_TOLD = 192
# What was found before its turn is kept of so many pieces at most.
_KEPT = 4
# The child waits once it has so many bytes to tell that nobody read yet.
_UNREAD = 16 << 20


class Ahead:
    """Finds the records of a file piece by piece, most of them by a forked child, so that this process has only to decode them.

    ``find`` gives the places of the records that begin between two offsets. Whoever has time takes the next piece, by reading its
    number from a pipe that holds them all. The child sends places as numbers with their texts, which it has in memory already, each
    message behind six more: the piece, where the last of these records stops, and the sizes of the places, of the texts, of what it noted
    for a listing, and of the piece's tallies as JSON, which come last. When it dies, or cannot be made, all is found here.
    """

    def __init__(
        self,
        find: Callable[[Tallies, int, int], Iterator[Place]],
        text: Callable[[Place], bytes],
        pieces: Sequence[tuple[int, int]],
        notes: "Notes | None",
    ) -> None:
        """``text`` gives what is to be decoded at a place, without a newline; empty where there is nothing.

        ``notes`` are those of a listing. All records whose texts are told are noted in them, too, and those that are only counted.
        """
        self.find = find
        self.text = text
        self.pieces = pieces
        self.notes = notes
        self.found: dict[int, array[int]] = {}
        receive, send = os.pipe()
        os.write(send, array("i", range(len(pieces))).tobytes())
        os.close(send)
        self.numbers = os.fdopen(receive, "rb", 0)
        self.pipe, self.child = forked(self._send)

    def _next(self) -> int | None:
        """A piece that nobody has taken yet."""
        number = array("i", self.numbers.read(4))
        return number[0] if number else None

    def _send(self, pipe: BinaryIO) -> None:
        out, notes, text_of = _Unread(pipe.fileno()), self.notes, self.text
        if notes is not None:
            notes.look_ahead()
        while (number := self._next()) is not None:
            tallies: Tallies = {}
            found = self.find(tallies, *self.pieces[number])
            while told := [(place, text_of(place)) for place in islice(found, _TOLD)]:  # each text while its page is in memory
                places, texts, noted = [place for place, _ in told], [text for _, text in told], b""
                stop = places[-1][1]
                if notes is not None:
                    places, texts, noted = self._noted(notes, places, texts)
                out.tell((number, stop), places, texts, noted, b"")
            out.tell((number, 0), [], [], b"", orjson.dumps({label.decode("latin-1"): tally for label, tally in tallies.items()}))
        out.end()

    def _noted(self, notes: "Notes", places: list[Place], texts: list[bytes]) -> tuple[list[Place], list[bytes], bytes]:
        """What is to be told when the listed ones of these records are noted: those that are only counted are left out."""
        told: list[Place] = []
        own: list[bytes] = []
        for place, text in zip(places, texts, strict=True):
            is_counted = place[4] >= labels.FIRST_COUNTED
            if text and (is_counted or place[4] in labels.LISTED):
                notes.add(place, text)
            if not is_counted:
                told.append(place)
                own.append(text)
        return told, own, notes.told()

    def places(self, tallies: Tallies) -> Iterator[tuple[Place, bytes]]:
        """Those of all pieces, in file order, each with its text, which is empty for those found here."""
        counted: Tallies = {}
        for number, (start, stop) in enumerate(self.pieces):
            done, is_told = start, False
            while not is_told and not self._is_here(number, counted):
                done, places, texts, told = self._receive(done)
                if places:
                    yield from zip(_unpacked(places), texts.split(b"\n"), strict=True)
                is_told = told is not None
                _add(counted, told or {})
            if not is_told:
                if self.notes is not None:
                    self.notes.settle()
                known = self.found.pop(number, None)
                found = self.find(counted, start, stop) if known is None else _unpacked(known)
                yield from ((place, b"") for place in found if place[0] >= done)
        self._end()
        _add(tallies, counted)

    def _is_here(self, number: int, counted: Tallies) -> bool:
        """Whether a piece is found by this process, which takes others while the child has nothing to tell."""
        while number not in self.found and self.pipe is not None and len(self.found) < _KEPT and not _has_news(self.pipe):
            taken = self._next()
            if taken is None:
                break
            if taken == number:
                return True
            self.found[taken] = array("q", chain.from_iterable(self.find(counted, *self.pieces[taken])))
        return number in self.found or self.pipe is None

    def _receive(self, done: int) -> "tuple[int, array[int], bytes, Tallies | None]":
        """What the child tells next: where it got to, places, their texts, and behind the last of a piece its tallies.

        What it noted is taken in. Without an answer it has died, and is where it was.
        """
        head = array("q", self._bytes(48))
        if head:
            places, texts, noted, told = array("q", self._bytes(head[2])), *map(self._bytes, head[3:])
            if self.pipe is not None:
                if noted and self.notes is not None:
                    self.notes.take(noted)
                tallies = {label.encode("latin-1"): tally for label, tally in orjson.loads(told).items()} if told else None
                return head[1], places, texts, tallies
        return done, array("q"), b"", None

    def _bytes(self, size: int) -> bytes:
        """So many bytes of the child; none when it dies before."""
        parts: list[bytes] = []
        while size and self.pipe is not None:
            part = os.read(self.pipe.fileno(), size)
            parts.append(part)
            size -= len(part)
            if not part:
                self._end()
        return b"".join(parts) if not size else b""

    def _end(self) -> None:
        self.numbers.close()
        if self.pipe is not None:
            self.pipe.close()
            os.waitpid(self.child, 0)
        self.pipe = None


class _Unread:
    """Messages of the child, which goes on while nobody reads them."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe
        self.waiting: deque[bytes] = deque()
        self.size = 0
        os.set_blocking(pipe, False)

    def tell(self, where: tuple[int, int], places: list[Place], texts: list[bytes], noted: bytes, tallies: bytes) -> None:
        parts = array("q", chain.from_iterable(places)).tobytes(), b"\n".join(texts), noted, tallies
        self.waiting.append(b"".join((array("q", (*where, *map(len, parts))).tobytes(), *parts)))
        self.size += len(self.waiting[-1])
        self._write(_UNREAD)

    def end(self) -> None:
        self._write(0)

    def _write(self, most: int) -> None:
        """Write what the pipe takes, and wait for it while there is more than that left."""
        while self.waiting:
            try:
                written = os.write(self.pipe, self.waiting[0])
            except BlockingIOError:
                if self.size <= most:
                    return
                os.set_blocking(self.pipe, True)
                written = os.write(self.pipe, self.waiting[0])
                os.set_blocking(self.pipe, False)
            self.size -= written
            rest = self.waiting.popleft()[written:]
            if rest:
                self.waiting.appendleft(rest)


def _has_news(pipe: BinaryIO) -> bool:
    """Whether there is something to be read, or the child has ended."""
    waiting = select.poll()  # other than select() for any number of open files
    waiting.register(pipe, select.POLLIN)
    return bool(waiting.poll(0))


def _unpacked(places: "array[int]") -> Iterator[Place]:
    return zip(*[iter(places)] * 6, strict=True)


def _add(tallies: Tallies, more: Tallies) -> None:
    for label, (count, size, is_used) in more.items():
        tally = tallies.setdefault(label, [0, 0, is_used])
        tally[0] += count
        tally[1] += size

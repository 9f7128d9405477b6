"""Finding the records of a file in a child process, and in this one whenever it would have to wait for that."""

import os
import select
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import BinaryIO

import orjson

from shapelog.aside import forked

# Start and stop of a record; then, if it looks well-formed and its kind is wanted, where its JSON begins and ends, the number of its
# label and its process. For a record that has to be looked at more closely the last four are -1. For a listing there are also places
# of records that are only counted, with the numbers behind those of the wanted ones.
Place = tuple[int, int, int, int, int, int]
# Of each label: records, bytes, and whether they were used.
Tallies = dict[bytes, list[int]]

# The child tells so many places at once.
_TOLD = 512
# What was found before its turn is kept of so many pieces at most.
_KEPT = 4


class Ahead:
    """Finds the records of a file piece by piece, most of them by a forked child, so that this process has only to decode them.

    ``find`` gives the places of the records that begin between two offsets. Whoever has time takes the next piece, by reading its
    number from a pipe that holds them all. The child sends places as numbers, each message behind three more: the piece, and the
    sizes of the places and of the piece's tallies as JSON, which come last. When it dies, or cannot be made, all is found here.
    """

    def __init__(self, find: Callable[[Tallies, int, int], Iterator[Place]], pieces: Sequence[tuple[int, int]]) -> None:
        self.find = find
        self.pieces = pieces
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
        while (number := self._next()) is not None:
            tallies: Tallies = {}
            found = array("q")
            for place in self.find(tallies, *self.pieces[number]):
                found.extend(place)
                if len(found) >= 6 * _TOLD:
                    self._tell(pipe, number, found, b"")
                    del found[:]
            self._tell(pipe, number, found, orjson.dumps({label.decode("latin-1"): tally for label, tally in tallies.items()}))

    def _tell(self, pipe: BinaryIO, number: int, found: "array[int]", tallies: bytes) -> None:
        places = found.tobytes()
        pipe.write(array("q", (number, len(places), len(tallies))).tobytes() + places + tallies)
        pipe.flush()

    def places(self, tallies: Tallies) -> Iterator[Place]:
        """Those of all pieces, in file order."""
        counted: Tallies = {}
        for number, (start, stop) in enumerate(self.pieces):
            done, is_told = start, False
            while not is_told and not self._is_here(number, counted):
                places, told = self._receive()
                if places:
                    done = places[-5]
                    yield from _unpacked(places)
                is_told = told is not None
                _add(counted, told or {})
            if not is_told:
                known = self.found.pop(number, None)
                found = self.find(counted, start, stop) if known is None else _unpacked(known)
                yield from found if done == start else (place for place in found if place[0] >= done)
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

    def _receive(self) -> "tuple[array[int], Tallies | None]":
        """What the child tells next: places, and behind the last of a piece its tallies. Without an answer there is no child any more."""
        head = array("q", self._bytes(24))
        if head:
            places, told = array("q", self._bytes(head[1])), self._bytes(head[2])
            if self.pipe is not None:
                return places, {label.encode("latin-1"): tally for label, tally in orjson.loads(told).items()} if told else None
        return array("q"), None

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

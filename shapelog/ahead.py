"""Finding records in a child process while this one decodes them."""

import os
from array import array
from collections.abc import Callable, Iterator
from typing import BinaryIO

import orjson

from shapelog.aside import forked

# Start and stop of a record; then, if it looks well-formed and its kind is wanted, where its JSON begins and ends, the number of its
# label and its process. For a record that has to be looked at more closely the last four are -1. For a listing there are also places
# of records that are only counted, with the numbers behind those of the wanted ones.
Place = tuple[int, int, int, int, int, int]
# Of each label: records, bytes, and whether they were used.
Tallies = dict[bytes, list[int]]


class Ahead:
    """A forked child that finds the records of a file, so that this process has only to decode them.

    It sends arrays of places, each behind its length, then an empty one, then its tallies as JSON. When it dies, or cannot be
    made, the records are found here.
    """

    def __init__(self, find: Callable[[Tallies], Iterator[Place]]) -> None:
        self.find = find
        self.pipe, self.child = forked(self._send)

    def _send(self, pipe: BinaryIO) -> None:
        tallies: Tallies = {}
        found = array("q")
        for place in self.find(tallies):
            found.extend(place)
            if len(found) >= 6 * 512:
                pipe.write(len(found).to_bytes(8, "little") + found.tobytes())
                pipe.flush()
                del found[:]
        pipe.write(len(found).to_bytes(8, "little") + found.tobytes() if found else b"")
        pipe.write(bytes(8) + orjson.dumps({label.decode("latin-1"): tally for label, tally in tallies.items()}))

    def places(self, tallies: Tallies) -> Iterator[Place]:
        """What ``find`` gives, from the child as long as it lives."""
        done, complete = 0, False
        while self.pipe is not None:
            size = int.from_bytes(self.pipe.read(8), "little") * 8
            block = self.pipe.read(size or -1)
            if not size:
                complete = self._take(block, tallies)
                break
            if len(block) < size:
                break
            numbers = array("q", block)
            done = numbers[-5]
            yield from zip(*[iter(numbers)] * 6, strict=True)
        if self.pipe is not None:
            self.pipe.close()
            os.waitpid(self.child, 0)
        if not complete:
            yield from (item for item in self.find(tallies) if item[0] >= done)

    def _take(self, block: bytes, tallies: Tallies) -> bool:
        try:
            counted = orjson.loads(block)
        except orjson.JSONDecodeError:
            return False
        for label, (count, size, is_used) in counted.items():
            tally = tallies.setdefault(label.encode("latin-1"), [0, 0, is_used])
            tally[0] += count
            tally[1] += size
        return True

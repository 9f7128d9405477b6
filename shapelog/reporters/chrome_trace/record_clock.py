"""When a record was written, on the clock of the metrics: the prefix of a record has local time without a year."""

from bisect import bisect_right
from collections.abc import Iterable

from shapelog.model.compile import Compile
from shapelog.reading.reader import Reader
from shapelog.reporters.chrome_trace.event import MICROSECONDS


class RecordClock:
    """The clock of one file, set by the compilations that have a start time: they began when their first record was written."""

    def __init__(self, reader: Reader, compiles: Iterable[Compile]) -> None:
        self._reader = reader
        timed = sorted((item.offset, item.metrics.start_time) for item in compiles if item.metrics.start_time)
        self._offsets = [offset for offset, _ in timed]
        self._starts = [start for _, start in timed]

    def at(self, offset: int) -> float | None:
        """When the record at ``offset`` was written, in microseconds since the epoch; None where the file has no such times."""
        local = self._local(offset)
        if local is None or not self._offsets:
            return None
        nearest = max(0, bisect_right(self._offsets, offset) - 1)
        reference = self._local(self._offsets[nearest])
        return None if reference is None else self._starts[nearest] * MICROSECONDS + local - reference

    def _local(self, offset: int) -> float | None:
        """The time in the prefix, in microseconds since the beginning of a leap year."""
        found = self._reader.clock_at(offset)
        return None if found is None else found * MICROSECONDS

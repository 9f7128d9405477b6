"""When a job began."""

from shapelog.model.trace import Trace
from shapelog.reading.run_selection import first_time
from shapelog.reading.text_logs.transcript import NO_TIME

# How far from the start of a file its first record is searched, in bytes.
_SEARCHED = 1 << 16


def started_at(trace: Trace, modified: float | None) -> float | None:
    """When the first compile began, in seconds since the epoch; where no compile has a time, when the first record was written.

    That one has neither a year nor a time zone: it is the last such time before ``modified``, in the time zone of this machine. None
    where there is no time at all.
    """
    starts = [compile.metrics.start_time for compile in trace.compiles if compile.metrics.start_time]
    if starts or modified is None:
        return min(starts, default=None)
    times = (first_time(bytes(reader.data[:_SEARCHED]).replace(NO_TIME.encode(), b""), modified) for reader in trace.readers)
    return min((found for found in times if found is not None), default=None)

"""Jobs on disk, and their tables."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import make
from payload_text import size_mismatch

from shapelog.tables.files import Form, prepare
from shapelog.tables.places import place_of
from shapelog.tables.write_jobs import JobResult, ReadAs, write_jobs

# Seconds since the epoch: 2026-11-01 and 2026-11-20, at noon in UTC.
EARLY, LATE = 1793534400.0, 1795176000.0
NAME = "dedicated_log_torch_trace_abcdefgh.log"


def trace(*sizes: int, start: float = EARLY, seconds: float = 1.0, **more: Any) -> bytes:
    """A function that is compiled for a size, and again for each further one."""
    parts = [make.compile("0/0", make.tensor(sizes[0], 16), seconds=seconds, start_time=start, **more)]
    for number, size in enumerate(sizes[1:], 1):
        reasons = [size_mismatch("0/0", sizes[0], size)]
        parts.append(
            make.compile(f"0/{number}", make.tensor(size, 16), reasons=reasons, dynamic=[0], seconds=seconds, start_time=start, **more)
        )
    return make.trace(*parts)


def put(folder: Path, *traces: bytes) -> Path:
    """A directory with one trace, or with one for each rank."""
    folder.mkdir(parents=True)
    for rank, data in enumerate(traces):
        name = NAME if len(traces) == 1 else f"dedicated_log_torch_trace_rank_{rank}_abcdefgh.log"
        (folder / name).write_bytes(data)
    return folder


def write(folder: Path, *sources: object, form: Form = "parquet") -> list[JobResult]:
    """The tables of these jobs, read in this process."""
    place = place_of(folder)
    prepare(place, form)
    return list(write_jobs(list(map(str, sources)), place, form, ReadAs(), None, print))


def parts(folder: Path) -> Sequence[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("part-*"))

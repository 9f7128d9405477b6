"""Jobs of four ranks: all the same, one that stops early, one with another size, one whose collectives differ."""

from typing import Any

import make
from payload_text import size_mismatch

from shapelog.report.report import Report, analyze

# The function that golden files and the documents of rules name.
FORWARD: dict[str, Any] = {"name": "forward", "line": 12, "call": 30, "seconds": 1.5}
FIRST = make.compile("0/0", make.tensor(8, 16), **FORWARD)
AGAIN = make.compile("0/1", make.tensor(24, 16), reasons=[size_mismatch("0/0", 8, 24)], dynamic=[0], **FORWARD)
GATHER = make.with_collectives(FIRST, ["all_reduce_", "wait_tensor", "all_gather_into_tensor"])
SCATTER = make.with_collectives(FIRST, ["all_reduce_", "wait_tensor", "reduce_scatter_tensor"])


def report(*traces: tuple[bytes, ...]) -> Report:
    """The report of a job with these records on each rank."""
    return analyze(make.load_ranks(*(make.trace(*parts) for parts in traces)), debug=True)


def sized(*sizes: int) -> tuple[bytes, bytes]:
    """A compile for a size, and a recompile for another one."""
    one, two = sizes
    first = make.compile("0/0", make.tensor(one, 16), **FORWARD)
    return first, make.compile("0/1", make.tensor(two, 16), reasons=[size_mismatch("0/0", one, two)], dynamic=[0], **FORWARD)


ALIKE = report((FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN))
PARTED = report((FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN), (FIRST,))
SIZES = report(sized(12, 16), sized(10, 14), sized(12, 16), sized(12, 16))
HANGS = report((GATHER,), (GATHER,), (GATHER,), (SCATTER,))

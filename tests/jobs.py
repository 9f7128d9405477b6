"""Jobs of four ranks: all the same, one that stops early, one with another size, one whose collectives differ."""

import make

from shapelog.report.report import Report, analyze

FIRST = make.compile()
AGAIN = make.compile("0/1", (24, 16), [make.mismatch("0/0", 8, 24)], free=[0])
GATHER = make.lowered(FIRST, ["all_reduce_", "wait_tensor", "all_gather_into_tensor"])
SCATTER = make.lowered(FIRST, ["all_reduce_", "wait_tensor", "reduce_scatter_tensor"])


def report(*traces: tuple[bytes, ...]) -> Report:
    """The report of a job with these records on each rank."""
    return analyze(make.distributed(*(make.run(*parts) for parts in traces)), debug=True)


def sized(*sizes: int) -> tuple[bytes, bytes]:
    """A compile for a size, and a recompile for another one."""
    one, two = sizes
    return make.compile("0/0", (one, 16)), make.compile("0/1", (two, 16), [make.mismatch("0/0", one, two)], free=[0])


ALIKE = report((FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN))
PARTED = report((FIRST, AGAIN), (FIRST, AGAIN), (FIRST, AGAIN), (FIRST,))
SIZES = report(sized(12, 16), sized(10, 14), sized(12, 16), sized(12, 16))
HANGS = report((GATHER,), (GATHER,), (GATHER,), (SCATTER,))

"""Which recompiling frames call the user's own Triton kernels? Their constexpr arguments always specialize."""

from collections.abc import Iterator

from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    rows = []
    for frame in explained.trace.frames:
        entries = frame.entries
        graphs = [compile.graph for compile in entries] if len(entries) > 1 else []
        kernels = {index for graph in graphs if graph for index in graph.triton_kernels}
        if kernels:
            rows.append((frame.title, f"{frame.file}:{frame.line}", len(kernels), len(entries)))
    if rows:
        columns = (Column("frame"), Column("where", is_wide=True), Column("kernels", True), Column("compiles", True))
        note = "constexpr arguments of a kernel always specialize: a size passed as one needs a graph per value"
        yield Table("kernels", "User-defined Triton kernels in recompiled code", columns, tuple(rows), note)

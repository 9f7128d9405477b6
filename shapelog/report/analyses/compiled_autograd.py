"""Which backward graphs did compiled autograd capture, and why were they captured again?"""

from collections.abc import Iterator

from shapelog.grouping import grouped
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Location, Table

_COLUMNS = Column("capture"), Column("compiled as"), Column("called at"), Column("seconds", True), Column("why", is_wide=True)
_NOT_RECORDED = "why a graph is captured again is recorded with TORCH_LOGS=compiled_autograd_verbose"


def analyze(explained: Explanations) -> Iterator[Table]:
    captures = [compile for compile in explained.trace.compiles if compile.is_capture]
    frames = {compile: frame for frame in explained.trace.frames for compile in frame.compiles}
    compiled = grouped(
        (compile for compile in explained.trace.compiles if compile.id.frame >= 0 and compile.id.autograd is not None),
        lambda compile: (compile.rank, compile.process, compile.id.autograd),
    )
    rows = []
    for capture in captures:
        own = compiled.get((capture.rank, capture.process, capture.id.autograd), [])
        line = next((called for compile in own if (called := frames[compile].caller(compile))), None)
        seconds = sum(compile.seconds for compile in own) or None
        why = "; ".join(capture.capture_reasons)
        rows.append(
            (capture.label, " ".join(compile.label for compile in own), Location(line.file, line.line).short if line else "", seconds, why)
        )
    if rows:
        note = "" if any(capture.capture_reasons for capture in captures) else _NOT_RECORDED
        yield Table("compiled_autograd", "Backward graphs that compiled autograd captured", _COLUMNS, tuple(rows), note)

"""The graphs of a rank → slices: how long each operator runs, as Inductor estimates it for distributed graphs."""

from collections.abc import Iterator

from shapelog.model.compile import Compile
from shapelog.model.trace import Rank
from shapelog.reading.payloads.collectives import TENSORS, Operation, operations
from shapelog.reporters.chrome_trace.event import MICROSECONDS, SLICE, TraceEvent

_ESTIMATED = {"time": "estimated by Inductor: the operators one after another, from the end of the compilation on"}


def operator_slices(rank: Rank) -> list[TraceEvent]:
    """A slice for each graph with those of its operators inside, one graph after the other. Empty where nothing was estimated."""
    found: list[TraceEvent] = []
    free = 0.0
    for frame in rank.frames:
        for compile in sorted(frame.compiles, key=lambda compile: compile.metrics.start_time or 0.0):
            estimated = list(_operations(compile)) if compile.metrics.start_time else []
            if not any(item.seconds for item in estimated):
                continue
            start = at = max(free, ((compile.metrics.start_time or 0.0) + compile.seconds) * MICROSECONDS)
            inside = []
            for item in estimated:
                length = item.seconds * MICROSECONDS
                inside.append(
                    TraceEvent(
                        phase=SLICE,
                        name=item.name,
                        category="operator",
                        start=at,
                        duration=length,
                        args={"compilation": compile.label, "kind": item.kind},
                    )
                )
                at += length
            found += [
                TraceEvent(
                    phase=SLICE,
                    name=f"{compile.label} {frame.title}",
                    category="estimated run",
                    start=start,
                    duration=at - start,
                    args=_ESTIMATED,
                ),
                *inside,
            ]
            free = at
    return found


def _operations(compile: Compile) -> Iterator[Operation]:
    """Those of all graphs of a compile. What cannot be read is a problem of the trace, which the report has."""
    for name, _, span in compile.inductor if compile.payloads else ():
        if name == TENSORS and compile.payloads:
            try:
                yield from operations(compile.payloads.text(span))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue

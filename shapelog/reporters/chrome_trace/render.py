"""A report → the JSON of a trace viewer: a process for each rank, a track for each frame, a slice for each compilation."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from shapelog import __version__
from shapelog.errors import ShapelogError
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.phase_events import Phases, phases_of
from shapelog.model.record_index import RecordIndex, index_records
from shapelog.model.trace import Rank
from shapelog.recompiles.recompile import Recompile
from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.chrome_trace.compile_slices import compile_units, summary_of
from shapelog.reporters.chrome_trace.event import INSTANT, METADATA, SLICE, TraceEvent, in_order, nested
from shapelog.reporters.chrome_trace.operator_slices import operator_slices
from shapelog.reporters.chrome_trace.record_clock import RecordClock
from shapelog.reporters.json_bytes import line

_BREAK = "dynamo_graph_break_reason"
# Process and track of an event.
_Placed = tuple[int, int, TraceEvent]


def render(report: Report, options: Options) -> bytes:
    """The trace in UTF-8. Times are in microseconds since the first event; ``otherData`` has the time of that.

    Raises ShapelogError for a report without times, as of text logs.
    """
    placed = list(_Tracks(report).events())
    timed = [event for _, _, event in placed if event.phase != METADATA]
    if not timed:
        why = "this text log has no times" if report.trace.is_text else "the trace does not record when a compilation began"
        raise ShapelogError(f"{report.trace.name}: nothing to draw in a trace viewer: {why}")
    origin = min(event.start for event in timed)
    ordered = sorted(placed, key=lambda item: (item[2].phase != METADATA, item[2].start, -item[2].duration))
    return line(
        {
            "traceEvents": [_encoded(process, track, event, origin) for process, track, event in ordered],
            "displayTimeUnit": "ms",
            "otherData": {
                "made by": f"shapelog {__version__}",
                "trace": report.trace.name,
                "torch": report.trace.torch_version,
                "time 0": datetime.fromtimestamp(origin / 1e6, timezone.utc).isoformat(),
            },
        }
    )


def _encoded(process: int, track: int, event: TraceEvent, origin: float) -> dict[str, Any]:
    head: dict[str, Any] = {"name": event.name, "ph": event.phase, "pid": process, "tid": track}
    if event.phase == METADATA:
        return {**head, "args": event.args}
    start = round(event.start - origin, 3)
    head |= {"cat": event.category, "ts": start}
    if event.args:  # speedscope shows them after the name, and an empty {} as well
        head["args"] = event.args
    if event.phase == SLICE:  # its end is rounded as the start of the next one is
        return {**head, "dur": round(round(event.end - origin, 3) - start, 3)}
    return {**head, "s": "t"}


class _Tracks:
    """The processes and tracks of a report."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.recompiles: Mapping[Compile, Recompile] = {item.compile: item for item in report.recompiles}
        self.phases: Phases = phases_of(report.trace)
        has_breaks = any(compile.breaks for compile in report.trace.compiles)
        self.index: RecordIndex | None = index_records(report.trace) if has_breaks else None

    def events(self) -> Iterator[_Placed]:
        taken = {rank.number for rank in self.report.trace.ranks if rank.number is not None}
        free = iter(number for number in range(len(taken) + len(self.report.trace.ranks) + 1) if number not in taken)
        for rank in self.report.trace.ranks:
            own = list(self._process(rank))
            if own:
                number = rank.number if rank.number is not None else next(free)
                title = f"rank {rank.number}" if rank.number is not None else "torch.compile"
                yield number, 0, _name("process_name", f"{title} (process {rank.process})" if rank.process else title)
                yield (
                    number,
                    0,
                    TraceEvent(
                        phase=METADATA, name="process_sort_index", category="", start=0.0, duration=0.0, args={"sort_index": number}
                    ),
                )
                yield from ((number, track, event) for track, event in own)

    def _process(self, rank: Rank) -> Iterator[tuple[int, TraceEvent]]:
        track = 0
        outside = self.phases.get(rank.process, [])
        if outside:
            yield track, _name("thread_name", "outside of compilations")
            yield from ((track, event) for event in nested(map(TraceEvent.of_phase, outside)))
        for frame in rank.frames:
            for number, lane in enumerate(self._lanes(rank, frame)):
                track += 1
                yield track, _name("thread_name", summary_of(frame) if not number else f"{summary_of(frame)}, at the same time")
                yield (
                    track,
                    TraceEvent(phase=METADATA, name="thread_sort_index", category="", start=0.0, duration=0.0, args={"sort_index": track}),
                )
                yield from ((track, event) for event in lane)
        operators = nested(operator_slices(rank))
        if operators:
            track += 1
            yield track, _name("thread_name", "graphs, operator by operator (estimated)")
            yield (
                track,
                TraceEvent(phase=METADATA, name="thread_sort_index", category="", start=0.0, duration=0.0, args={"sort_index": track}),
            )
            yield from ((track, event) for event in operators)

    def _lanes(self, rank: Rank, frame: Frame) -> list[list[TraceEvent]]:
        """The events of a frame, on as many tracks as it has compilations at the same time."""
        lanes: list[list[TraceEvent]] = []
        ends: list[float] = []
        units = [
            unit
            for compile in frame.compiles
            for unit in compile_units(frame, compile, self.recompiles.get(compile), self.report.remedies, self.phases.get(compile, ()))
        ]
        for unit in sorted(units, key=lambda unit: unit[0].start):
            lane = next((number for number, end in enumerate(ends) if end <= unit[0].start), len(lanes))
            if lane == len(lanes):
                lanes.append([])
                ends.append(0.0)
            lanes[lane] += nested(unit)
            ends[lane] = unit[0].end
        instants = list(self._instants(rank, frame))
        if instants:
            lanes = lanes or [[]]
            lanes[0] = in_order((*lanes[0], *instants))
        return lanes

    def _instants(self, rank: Rank, frame: Frame) -> Iterator[TraceEvent]:
        """Graph breaks, and refused calls without a time of their own, at the times of their records."""
        if rank.payloads is None:
            return
        clock: RecordClock | None = None
        for compile in frame.compiles:
            is_refused = compile.outcome.value == "limit" and not compile.metrics.start_time
            if not compile.breaks and not is_refused:
                continue
            clock = clock or RecordClock(rank.payloads.reader, [item for own in rank.frames for item in own.compiles])
            records = [record.offset for record in self.index.of(compile) if record.name == _BREAK] if self.index else []
            for found, offset in zip(compile.breaks, records, strict=False):
                place = f"{found.place.file}:{found.place.line}" if found.place else ""
                args = {"compilation": compile.label, "reason": found.words, "place": place, "help": list(found.message.hints)}
                yield from _instant(f"graph break: {found.reason}", "graph break", clock.at(offset), args)
            if is_refused:
                yield from _instant(f"{compile.label} recompile limit reached", "over the limit", clock.at(compile.offset), {})


def _instant(name: str, category: str, at: float | None, args: dict[str, Any]) -> Iterator[TraceEvent]:
    if at is not None:
        yield TraceEvent(phase=INSTANT, name=name, category=category, start=at, duration=0.0, args=args)


def _name(kind: str, text: str) -> TraceEvent:
    return TraceEvent(phase=METADATA, name=kind, category="", start=0.0, duration=0.0, args={"name": text})

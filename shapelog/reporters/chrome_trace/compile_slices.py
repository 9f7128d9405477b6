"""A compilation → its slices: the whole of it, its backward graphs, and its phases."""

from collections.abc import Iterator, Sequence
from typing import Any

from shapelog.advice.remedies import Remedies
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.phase_events import PhaseEvent
from shapelog.reading.records import Metrics
from shapelog.recompiles.recompile import Recompile
from shapelog.reporters.chrome_trace.event import INSTANT, MICROSECONDS, SLICE, TraceEvent
from shapelog.text import plural

_BY_LENGTH = {"start": "not recorded: placed by its length"}


def compile_units(
    frame: Frame, compile: Compile, recompile: Recompile | None, remedies: Remedies, phases: Sequence[PhaseEvent]
) -> list[list[TraceEvent]]:
    """The slices of a compilation in groups, each with the slice around it first: the forward, backward graphs that were compiled later,
    and phases outside of both. Empty where the trace does not have its times.
    """
    units = [[_whole(frame, compile, recompile, remedies)]] if compile.metrics.start_time else []
    units += [[_backward(frame, compile, part)] for part in compile.backward if part.start_time]
    if compile.metrics.start_time and not phases:
        units[0] += _measured(units[0][0], compile.metrics)
    for phase in map(TraceEvent.of_phase, sorted(phases, key=lambda event: event.start)):
        own = next((unit for unit in units if unit[0].start < phase.end and phase.start < unit[0].end), None)
        if own is None:
            units.append([phase])
        else:
            own.append(phase)
    return [[_around(unit), *unit[1:]] for unit in units]


def _around(unit: list[TraceEvent]) -> TraceEvent:
    """The first slice of a group, so long that it has all the others in it."""
    start, end = min(event.start for event in unit), max(event.end for event in unit)
    return unit[0]._replace(start=start, duration=end - start)


def _whole(frame: Frame, compile: Compile, recompile: Recompile | None, remedies: Remedies) -> TraceEvent:
    seconds = compile.metrics.seconds or 0.0
    return TraceEvent(
        phase=SLICE if seconds or compile.outcome is not Outcome.LIMIT else INSTANT,
        name=f"{compile.label} {frame.title_of([compile]) if compile.outcome is not Outcome.LIMIT else 'recompile limit reached'}",
        category=recompile.verdict.value if recompile else compile.outcome.value,
        start=(compile.metrics.start_time or 0.0) * MICROSECONDS,
        duration=seconds * MICROSECONDS,
        args=_args(frame, compile, recompile, remedies),
    )


def _args(frame: Frame, compile: Compile, recompile: Recompile | None, remedies: Remedies) -> dict[str, Any]:
    args: dict[str, Any] = {
        "compilation": compile.label,
        "function": frame.title_of([compile]),
        "place": f"{frame.file}:{frame.line}" if frame.file else "",
        "outcome": compile.outcome.value,
        "attempts": compile.attempts,
        "guards": compile.metrics.guard_count,
        "operators": compile.metrics.op_count,
        "dynamic": compile.is_dynamic,
        "caches": dict(compile.caches),
    }
    if recompile is not None:
        args |= {
            "verdict": recompile.verdict.value,
            "rules": list(recompile.codes),
            "causes": [cause.sentence for cause in recompile.causes] or [recompile.unexplained_because],
            "remedy": remedies.of_recompile(recompile).text,
            "compared with": recompile.nearest.label if recompile.nearest else None,
        }
    if compile.outcome in (Outcome.FAILED, Outcome.LIMIT):
        args["error"] = compile.failure.title
    return {name: value for name, value in args.items() if value not in ("", None, [], [""], {})}


def _backward(frame: Frame, compile: Compile, part: Metrics) -> TraceEvent:
    seconds = part.seconds or part.backward or 0.0
    start = (part.start_time or 0.0) * MICROSECONDS
    args = {"compilation": compile.label, "function": frame.title_of([compile])}
    return TraceEvent(
        phase=SLICE, name=f"{compile.label} backward", category="backward", start=start, duration=seconds * MICROSECONDS, args=args
    )


def _measured(whole: TraceEvent, metrics: Metrics) -> Iterator[TraceEvent]:
    """The phases that the metrics have, where PyTorch recorded no events: each is the last thing that the one around it does."""
    if metrics.before_restart:
        name = "attempts before the last"
        yield TraceEvent(
            phase=SLICE,
            name=name,
            category="phase",
            start=whole.start,
            duration=min(metrics.before_restart * MICROSECONDS, whole.duration),
            args=_BY_LENGTH,
        )
    end, most = whole.end, whole.duration - (metrics.before_restart or 0.0) * MICROSECONDS
    for name, seconds in (
        ("backend", metrics.aot or metrics.backend),
        ("Inductor", metrics.inductor),
        ("code generation", metrics.codegen),
    ):
        if seconds and most > 0:
            most = min(most, seconds * MICROSECONDS)
            yield TraceEvent(phase=SLICE, name=name, category="phase", start=end - most, duration=most, args=_BY_LENGTH)


def summary_of(frame: Frame) -> str:
    """The name of a frame's track."""
    place = f" ({frame.file.rpartition('/')[2]}:{frame.line})" if frame.file else ""
    return f"{frame.label} {frame.title}{place}, {plural(len(frame.compiles), 'compilation')}"

"""One event of a trace viewer, and how slices of one track are made to nest."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from shapelog.model.phase_events import PhaseEvent

# In a second: the unit of time of trace viewers.
MICROSECONDS = 1e6
SLICE, INSTANT, METADATA = "X", "i", "M"


class TraceEvent(NamedTuple):
    """A slice, an instant, or a name (``phase``). ``start`` and ``duration`` are in microseconds, ``duration`` 0 of what is no slice."""

    phase: str
    name: str
    category: str
    start: float
    duration: float = 0.0
    args: dict[str, Any] = {}  # noqa: RUF012  # never changed

    @classmethod
    def of_phase(cls, phase: PhaseEvent) -> "TraceEvent":
        """What PyTorch recorded itself."""
        return cls(
            phase=INSTANT if phase.is_instant else SLICE,
            name=phase.name,
            category="PyTorch",
            start=phase.start,
            duration=phase.duration,
            args=phase.args,
        )

    @property
    def end(self) -> float:
        return self.start + self.duration


def in_order(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """By time; a slice comes before what lies in it."""
    return sorted(events, key=lambda event: (event.start, -event.duration))


def nested(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """The events of one track, each slice cut off where the one around it ends: viewers draw slices that overlap otherwise wrongly."""
    found: list[TraceEvent] = []
    around: list[float] = []
    for event in in_order(events):
        while around and around[-1] <= event.start:
            around.pop()
        if event.phase == SLICE:
            if around and event.end > around[-1]:
                event = event._replace(duration=around[-1] - event.start)
            around.append(event.end)
        found.append(event)
    return found

"""What kept code from being compiled in one piece: failures, the recompile limit, graph breaks and restarts, with what each cost."""

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.python_tracebacks import RaisedException
from shapelog.report.alerts.alert import Alert, Alerts, stable_text
from shapelog.report.resumed_code import ResumedCode
from shapelog.report.weighted import WeightedCompile
from shapelog.rules import AlertKind, Rule


class InterruptionKind(Enum):
    """Worst first: after a failure there is no compiled code, after a graph break there is code in pieces."""

    FAILURE = "failure"
    UNFINISHED = "unfinished compilation"
    LIMIT = "recompile limit"
    SKIPPED = "skipped function"
    BREAK = "graph break"
    RESTART = "restart"


_KINDS = {
    AlertKind.FAILURE: InterruptionKind.FAILURE,
    AlertKind.LIMIT: InterruptionKind.LIMIT,
    AlertKind.SKIPPED: InterruptionKind.SKIPPED,
    AlertKind.BREAK: InterruptionKind.BREAK,
    AlertKind.RESTART: InterruptionKind.RESTART,
}


class Interruption(NamedTuple):
    """The same thing met at one or several places, an alert for each.

    ``title`` is what PyTorch met, ``message`` everything else that it wrote, None where it wrote nothing; ``exceptions`` are those that
    a failure raised. ``refused`` are all compilations that a recompile limit refused. ``seconds`` were spent on compilations that failed,
    or before the analysis was started again. ``resumed`` are the compilations of the code that goes on after a graph break, which would be
    part of others without it.
    """

    kind: InterruptionKind
    rule: Rule
    title: str
    alerts: tuple[Alert, ...]
    message: CompilerMessage | None
    exceptions: tuple[RaisedException, ...]
    helps: tuple[str, ...]
    seconds: float
    resumed: tuple[WeightedCompile, ...]
    refused: tuple[WeightedCompile, ...] = ()

    @property
    def times(self) -> int:
        """How often it happened, on all ranks together; the finding of a recompile limit is about the first of the calls it refused."""
        return sum(item.weight for item in self.refused) or sum(alert.count for alert in self.alerts)

    @property
    def compiles(self) -> tuple[Compile, ...]:
        met = (item.compile for alert in self.alerts for item in alert.occurrences)
        return tuple(dict.fromkeys((*met, *(item.compile for item in self.refused))))

    @property
    def resumed_times(self) -> int:
        return sum(item.weight for item in self.resumed)

    @property
    def resumed_seconds(self) -> float:
        return math.fsum(item.seconds for item in self.resumed)

    @property
    def raised(self) -> bool:
        """Whether the recompile limit raised an error, so that nothing ran in eager mode."""
        return any(compile.raised_at_limit for compile in self.compiles)


def interruptions(found: Alerts) -> tuple[Interruption, ...]:
    """All of them, the worst kind first, and of each kind those that cost most."""
    resumed = ResumedCode(found)
    listed = [(kind, alert) for alert in found.alerts if (kind := kind_of(alert))]
    groups = grouped(listed, lambda pair: (pair[0], *words_of(pair[0], pair[1])))
    made = [_interruption(found, resumed, members[0][0], [alert for _, alert in members]) for members in groups.values()]
    order = list(InterruptionKind)
    made.sort(key=lambda item: (order.index(item.kind), -item.seconds - item.resumed_seconds, -item.times))
    return tuple(made)


def kind_of(alert: Alert) -> InterruptionKind | None:
    """What kept the code of an alert from being compiled in one piece; None for one about recompilations."""
    kind = next((kind for known, kind in _KINDS.items() if known in alert.kinds), None)
    is_unfinished = all(item.compile.outcome is Outcome.UNFINISHED for item in alert.occurrences)
    return InterruptionKind.UNFINISHED if kind is InterruptionKind.FAILURE and is_unfinished else kind


def words_of(kind: InterruptionKind, alert: Alert) -> tuple[str, ...]:
    """The same for alerts that PyTorch describes in the same words, and those about one code's limit apart."""
    if kind in (InterruptionKind.LIMIT, InterruptionKind.SKIPPED) or not (alert.messages or alert.axes):
        return (alert.fingerprint,)
    words = alert.messages[0] if alert.messages else None
    return (alert.rule.code, stable_text(_title(alert)), *(words.specific_hints if words else ()))


def _title(alert: Alert) -> str:
    if AlertKind.SKIPPED in alert.kinds:
        return alert.sentence
    return alert.messages[0].title if alert.messages else alert.axis or alert.sentence


def _interruption(found: Alerts, resumed: ResumedCode, kind: InterruptionKind, alerts: Sequence[Alert]) -> Interruption:
    first = alerts[0]
    after = [item for code in resumed.after(alerts) for item in found.compiles(code)] if kind is InterruptionKind.BREAK else []
    own = [item for alert in alerts for item in found.compiles(alert.code)] if kind is InterruptionKind.LIMIT else []
    refused = [item for item in own if item.compile.outcome is Outcome.LIMIT]
    return Interruption(
        kind=kind,
        rule=first.rule,
        title=first.sentence.partition(";")[0] if kind is InterruptionKind.LIMIT else _title(first),
        alerts=tuple(alerts),
        message=next((message for alert in alerts for message in alert.messages), None),
        exceptions=next((alert.exceptions for alert in alerts if alert.exceptions), ()),
        helps=tuple(dict.fromkeys(text for alert in alerts for text in alert.helps)),
        seconds=math.fsum(item.seconds for item in refused) if refused else _seconds(found, kind, alerts),
        refused=tuple({item.compile: item for item in refused}.values()),
        resumed=tuple({item.compile: item for item in after}.values()),
    )


def _seconds(found: Alerts, kind: InterruptionKind, alerts: Iterable[Alert]) -> float:
    """The alert of a failure has no seconds of its own: a rule about it costs nothing apart from what the compilation took."""
    if kind in (InterruptionKind.BREAK, InterruptionKind.RESTART):
        return math.fsum(alert.seconds for alert in alerts)
    trace = found.report.trace
    return math.fsum(trace.seconds(compile) for compile in {item.compile for alert in alerts for item in alert.occurrences})

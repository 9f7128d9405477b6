"""Alerts that people read as one: with the same words of PyTorch, or about the same recompilations of one function."""

from collections.abc import Iterable

from shapelog.grouping import grouped
from shapelog.report.alerts import Alert
from shapelog.report.interruptions import kind_of, words_of


def alert_groups(alerts: Iterable[Alert]) -> tuple[tuple[Alert, ...], ...]:
    """Alerts in their order. Together are those that one change removes.

    That is code in which Dynamo stopped with the same words, be it in several functions, and what changed in the same recompilations of
    one function and has one remedy, be it of several rules.
    """
    return tuple(map(tuple, grouped(alerts, _key).values()))


def _key(alert: Alert) -> tuple[object, ...]:
    kind = kind_of(alert)
    if kind is not None:
        return kind, *words_of(kind, alert)
    compiles = frozenset(item.compile for item in alert.occurrences)
    return alert.level, alert.code, compiles, alert.remedy.text, alert.rest

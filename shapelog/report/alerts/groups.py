"""Alerts that people read as one: with the same words of PyTorch, or about the same recompilations of one function."""

from collections.abc import Iterable

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.report.alerts.alert import Alert
from shapelog.report.interruptions import kind_of, words_of
from shapelog.rules import AlertKind, Level

# The earlier groups about one recompilation that an alert may belong to.
_MOST_GROUPS = 8


def alert_groups(alerts: Iterable[Alert]) -> tuple[tuple[Alert, ...], ...]:
    """Alerts in their order. Together are those that one change removes.

    That is code in which Dynamo stopped with the same words, be it in several functions, and what changed in the same recompilations of
    one function: each of them is in one group, though it may need several things. With them is what changed in some of these
    recompilations alone, if it has no other remedy, is but a note, or goes with the marks that remove them.
    """
    groups: list[list[Alert]] = []
    about: dict[Compile, list[list[Alert]]] = {}
    for members in grouped(alerts, _key).values():
        first = members[0]
        compiles = dict.fromkeys(item.compile for item in first.occurrences)
        if kind_of(first) is not None or not compiles:
            groups.append(members)
            continue
        earlier = about.get(next(iter(compiles)), [])[:_MOST_GROUPS]
        group = next((found for found in earlier if _belongs(first, compiles, found[0])), None)
        if group is not None:
            group.extend(members)
            continue
        groups.append(members)
        for compile in compiles:
            about.setdefault(compile, []).append(members)
    return tuple(map(tuple, groups))


def _belongs(alert: Alert, compiles: Iterable[Compile], other: Alert) -> bool:
    """Whether an alert is about what changed in the same recompilations as another one, or in some of these, and is a note, or has the
    same remedy.

    Marks have, if they remove each of its own: those of the other one remove all that it is about, whatever else changed there.
    """
    is_marked = all(AlertKind.MARKING in item.kinds for item in alert.occurrences)
    own, others = set(compiles), {item.compile for item in other.occurrences}
    adds_nothing = alert.level is Level.NOTE or alert.remedy.text == other.remedy.text or is_marked
    return bool(alert.why and other.why) and (own == others or (adds_nothing and own <= others))


def _key(alert: Alert) -> tuple[object, ...]:
    kind = kind_of(alert)
    if kind is not None:
        return kind, *words_of(kind, alert)
    compiles = frozenset(item.compile for item in alert.occurrences)
    return alert.level, alert.code, compiles, alert.remedy.text, alert.rest, "" if alert.why else alert.sentence

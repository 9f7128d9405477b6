"""What did compile caches do, and why was an entry missing?"""

from collections.abc import Iterator

from shapelog.model.cache_uses import CacheUse, cache_uses
from shapelog.reading.payloads.cache_keys import HIT
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.text import plural

_MOST_LABELS = 6
_COLUMNS = (
    Column("frame"),
    Column("cache"),
    Column("result"),
    Column("compiles"),
    Column("why", is_wide=True),
    Column("compiling", True),
    Column("saved", True),
)
_NOTE = "a miss is explained by what its key does not share with the most similar earlier key; times in seconds"
_Group = tuple[str, str, str, str]


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    groups: dict[_Group, list[CacheUse]] = {}
    for use in cache_uses(explained.trace):
        groups.setdefault((use.frame.title, use.event.cache, use.event.result, use.why), []).append(use)
    if groups:
        ordered = sorted(groups.items(), key=lambda item: (item[0][2] == HIT, -_spent(item[1]), -_saved(item[1])))
        yield Table("caches", "Compile caches", _COLUMNS, tuple(_row(group, uses) for group, uses in ordered), _NOTE)


def _row(group: _Group, uses: list[CacheUse]) -> tuple[str | float | None, ...]:
    labels = list(dict.fromkeys(use.compile.label for use in uses))
    shown = " ".join(labels) if len(labels) <= _MOST_LABELS else f"{labels[0]} and {plural(len(labels) - 1, 'other')}"
    title, cache, result, why = group
    return title, cache, result, shown, why, _spent(uses) or None, _saved(uses) or None


def _spent(uses: list[CacheUse]) -> float:
    """What was compiled after misses, in seconds."""
    return sum(use.event.seconds or 0.0 for use in uses)


def _saved(uses: list[CacheUse]) -> float:
    """What hits saved, in seconds."""
    return sum(use.event.saved_seconds or 0.0 for use in uses)

"""What did compile caches do, why was an entry missing, and which code can never be loaded from a cache?"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.cache_uses import CacheUse, CacheUses, cache_uses
from shapelog.model.trace import Trace
from shapelog.reading.payloads.cache_keys import HIT
from shapelog.reading.records import CacheLookups, Metrics
from shapelog.recompiles.explain import Explanations
from shapelog.report.details.cache_remedies import cache_problem
from shapelog.report.results import Column, Finding, Table, location_of
from shapelog.text import cut, one_line, plural, some, without_addresses

_MOST_LABELS, _LONGEST_REASON = 6, 200
_COLUMNS = (
    Column("frame"),
    Column("cache"),
    Column("result"),
    Column("compiles"),
    Column("why", is_wide=True),
    Column("compiling", True),
    Column("saved", True),
)
_NOTE = "for a miss, the parts of its key that differ from the most similar earlier key are shown; times in seconds"
_LOOKUP_COLUMNS = (
    Column("cache"),
    Column("where"),
    Column("hits", True),
    Column("misses", True),
    Column("compiles", True),
    Column("reading", True),
    Column("writing", True),
)
_LOOKUP_NOTE = "as counted in the metrics of the compilations; times of a remote cache in seconds"


class _CacheRow(NamedTuple):
    """What one row of the table is about."""

    title: str
    cache: str
    result: str
    why: str


def analyze(explained: Explanations) -> Iterator[CacheUses | Finding | Table]:
    found = cache_uses(explained.trace)
    yield found
    yield from _findings(found.uses)
    groups = grouped(found.uses, _row_of)
    if groups:
        ordered = sorted(groups.items(), key=lambda item: (item[0].result == HIT, -(_spent(item[1]) or 0.0), -(_saved(item[1]) or 0.0)))
        yield Table("caches", "Compile caches", _COLUMNS, tuple(_cells(row, uses) for row, uses in ordered), _NOTE)
    lookups = tuple(_lookups(explained.trace))
    if lookups:
        yield Table("cache_lookups", "Lookups in compile caches", _LOOKUP_COLUMNS, lookups, _LOOKUP_NOTE)


def _findings(uses: Iterable[CacheUse]) -> Iterator[Finding]:
    """Each problem of a function once, whichever caches it keeps from being used."""
    problems = ((use, problem) for use in uses if (problem := cache_problem(use)))
    by_problem = grouped(problems, lambda pair: (pair[0].frame, pair[1].rule, pair[1].remedy or without_addresses(pair[1].reason)))
    for (frame, rule, _), pairs in by_problem.items():
        first, problem = pairs[0]
        caches = " and ".join(dict.fromkeys(f"the {use.event.cache}" for use, _ in pairs))
        labels = list(dict.fromkeys(use.compile.label for use, _ in pairs))
        subject = _SUBJECTS[rule.code].format(frame=frame.title_of(use.compile for use, _ in pairs), caches=caches)
        times = f" ({plural(len(labels), 'compilation')})" if len(labels) > 1 else ""
        yield Finding(
            rule=rule,
            sentence=f"{subject}{times}: {_short(problem.reason) or 'no reason is recorded'}",
            compile=first.compile.label,
            place=location_of(frame),
            details=(("compilations", some(labels, _MOST_LABELS)),),
            frame=frame,
            own_remedy=problem.remedy,
            text=problem.text,
        )


_SUBJECTS = {
    "SL505": "{frame} bypasses {caches}",
    "SL506": "what was compiled for {frame} could not be saved in {caches}",
    "SL507": "{frame} found no entry in {caches}, since its key changes with more than the graph",
}


def _short(reason: str) -> str:
    return cut(one_line(" ".join(without_addresses(reason).split())), _LONGEST_REASON)


def _row_of(use: CacheUse) -> _CacheRow:
    result = f"{use.event.result} ({use.storage})" if use.storage == "remote" else use.event.result
    return _CacheRow(use.frame.title_of([use.compile]), use.title, result, use.why)


def _cells(row: _CacheRow, uses: list[CacheUse]) -> tuple[str | float | None, ...]:
    labels = list(dict.fromkeys(use.compile.label for use in uses))
    shown = " ".join(labels) if len(labels) <= _MOST_LABELS else f"{labels[0]} and {plural(len(labels) - 1, 'other')}"
    return row.title, row.cache, row.result, shown, row.why, _spent(uses), _saved(uses)


def _spent(uses: list[CacheUse]) -> float | None:
    """What was compiled after misses, in seconds; None where that is not recorded."""
    return sum(use.event.seconds or 0.0 for use in uses) or None


def _saved(uses: list[CacheUse]) -> float | None:
    """What hits saved, in seconds; None where that is not recorded."""
    return sum(use.event.saved_seconds or 0.0 for use in uses) or None


def _lookups(trace: Trace) -> Iterator[tuple[str | int | float | None, ...]]:
    """One row for each cache, on this machine and shared with others."""
    found: dict[tuple[str, bool], list[tuple[CacheLookups, Metrics]]] = {}
    for compile in trace.compiles:
        for metrics in (compile.metrics, *compile.backward):
            for item in metrics.cache_lookups:
                found.setdefault((item.cache, item.is_remote), []).append((item, metrics))
    for (cache, is_remote), pairs in found.items():
        hits, misses = sum(item.hits for item, _ in pairs), sum(item.misses for item, _ in pairs)
        timed = [metrics for _, metrics in pairs if is_remote]
        backends = dict.fromkeys(metrics.remote_backend for metrics in timed if metrics.remote_backend)
        where = f"remote ({', '.join(backends)})" if backends else "remote" if is_remote else "local"
        reading, writing = (sum(times) or None for times in ([m.remote_read or 0.0 for m in timed], [m.remote_write or 0.0 for m in timed]))
        yield cache, where, hits, misses, len(pairs), reading, writing

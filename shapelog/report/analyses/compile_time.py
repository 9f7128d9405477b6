"""Where did compile time go: which phase, first compiles or recompiles?"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.report.weighted import WeightedCompile, weighted_compiles
from shapelog.text import seconds

# The sum of all phases.
ALL = "all"
_PHASES = ("Dynamo", "AOTAutograd", "Inductor", "code generation", "backend", "backward", ALL)


class PhaseSeconds(NamedTuple):
    """Seconds of one phase on all ranks, or of ``ALL``: those of first compiles, and those of recompiles."""

    name: str
    first: float
    again: float

    @property
    def total(self) -> float:
        return self.first + self.again


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    compiles = weighted_compiles(explained)
    rows = [(*item, item.total) for item in _by_phase(compiles)]
    if not rows:
        return
    columns = (Column("phase", is_wide=True), Column("first compiles", True), Column("recompiles", True), Column("all", True))
    lost = math.fsum(item.seconds_before_restart for item in compiles)
    notes = [f"{seconds(lost)} was spent on attempts that were restarted"] if lost >= 0.005 else []
    notes.extend(_caches(compiles))
    yield Table("time", "Where compile time went (seconds)", columns, tuple(rows), "; ".join(notes))


def phase_seconds(explained: Explanations) -> tuple[PhaseSeconds, ...]:
    """The phases in which time was spent, and the sum of all as the last; () where no time was recorded."""
    return _by_phase(weighted_compiles(explained))


def _by_phase(compiles: Sequence[WeightedCompile]) -> tuple[PhaseSeconds, ...]:
    first = _phases(item for item in compiles if item.recompile is None)
    again = _phases(item for item in compiles if item.recompile)
    found = (PhaseSeconds(name, first[name], again[name]) for name in _PHASES)
    return tuple(item for item in found if item.total or item.name == ALL) if first[ALL] or again[ALL] else ()


def _phases(compiles: Iterable[WeightedCompile]) -> dict[str, float]:
    """Seconds of each phase, and of all. Those of represented ranks are divided as those of the compile itself."""
    total = dict.fromkeys(_PHASES, 0.0)
    for item in compiles:
        for name, spent in item.compile.phases:
            total[name] += item.on_all_ranks(spent)
        total[ALL] += item.seconds
    return total


def _caches(compiles: Iterable[WeightedCompile]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for item in compiles:
        for name, number in item.compile.caches:
            counts[name] = counts.get(name, 0) + number * item.weight
    for cache, label in (("fx_graph_cache", "FX graph cache"), ("aotautograd_cache", "AOTAutograd cache")):
        found = [f"{counts[f'{cache}_{kind}']} {kind}" for kind in ("hit", "miss", "bypass") if f"{cache}_{kind}" in counts]
        if found:
            yield f"{label}: {', '.join(found)}"

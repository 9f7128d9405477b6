"""Where did compile time go: which phase, first compiles or recompiles?"""

import math
from collections.abc import Iterable, Iterator

from shapelog.recompiles.explain import Explanations
from shapelog.report.phases import seconds_by_phase
from shapelog.report.results import Column, Finding, Table
from shapelog.report.weighted import WeightedCompile, weighted_compiles
from shapelog.text import LEAST_SECONDS, plural, seconds


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    compiles = weighted_compiles(explained)
    rows = [(*item, item.total) for item in seconds_by_phase(compiles)]
    if not rows:
        return
    columns = (Column("phase", is_wide=True), Column("first compiles", True), Column("recompiles", True), Column("all", True))
    lost = math.fsum(item.seconds_before_restart for item in compiles)
    notes = [f"{seconds(lost)} was spent on attempts that were restarted"] if lost >= LEAST_SECONDS else []
    notes.extend(_caches(compiles))
    yield Table("time", "Where compile time went (seconds)", columns, tuple(rows), "; ".join(notes))


def _caches(compiles: Iterable[WeightedCompile]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for item in compiles:
        for name, number in item.compile.caches:
            counts[name] = counts.get(name, 0) + number * item.weight
    for cache, label in (("fx_graph_cache", "FX graph cache"), ("aotautograd_cache", "AOTAutograd cache")):
        known = [(counts[f"{cache}_{kind}"], kind) for kind in ("hit", "miss", "bypass") if f"{cache}_{kind}" in counts]
        found = [plural(number, kind) for number, kind in known]
        if found:
            yield f"{label}: {', '.join(found)}"

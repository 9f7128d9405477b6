"""Where did compile time go: which phase, first compiles or recompiles?"""

import math
from collections.abc import Iterable, Iterator

from shapelog.model.trace import Compile, Trace
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table

_PHASES = ("Dynamo", "AOTAutograd", "Inductor", "code generation", "backend", "backward", "all")


def analyze(study: Explanations) -> Iterator[Finding | Table]:
    again = {id(item.compile) for item in study.recompiles}
    first = [compile for compile in study.trace.compiles if id(compile) not in again]
    recompiles = [compile for compile in study.trace.compiles if id(compile) in again]
    columns_of = (_phases(first, study.trace), _phases(recompiles, study.trace))
    if not any(phases["all"] for phases in columns_of):
        return
    rows = [
        (name, columns_of[0][name], columns_of[1][name], columns_of[0][name] + columns_of[1][name])
        for name in _PHASES
        if name == "all" or columns_of[0][name] or columns_of[1][name]
    ]
    columns = (Column("phase", is_wide=True), Column("first compiles", True), Column("recompiles", True), Column("all", True))
    lost = math.fsum((compile.metrics.before_restart or 0.0) * study.trace.rank_weight(compile.rank) for compile in study.trace.compiles)
    notes = [f"{lost:.2f} s of it before restarts"] if lost >= 0.005 else []
    notes.extend(_caches(study.trace))
    yield Table("time", "Where compile time went (seconds)", columns, tuple(rows), "; ".join(notes))


def _phases(compiles: Iterable[Compile], trace: Trace) -> dict[str, float]:
    """Seconds of each phase, and of all; where ranks stand for others, theirs are divided as its own are."""
    total = dict.fromkeys(_PHASES, 0.0)
    for compile in compiles:
        own, all_ranks = compile.seconds, trace.seconds(compile)
        for name, seconds in compile.phases:
            total[name] += seconds * all_ranks / own if own else seconds
        total["all"] += all_ranks
    return total


def _caches(trace: Trace) -> Iterator[str]:
    counts: dict[str, int] = {}
    for compile in trace.compiles:
        for name, number in compile.caches:
            counts[name] = counts.get(name, 0) + number * trace.rank_weight(compile.rank)
    for cache, label in (("fx_graph_cache", "FX graph cache"), ("aotautograd_cache", "AOTAutograd cache")):
        found = [f"{counts[f'{cache}_{kind}']} {kind}" for kind in ("hit", "miss", "bypass") if f"{cache}_{kind}" in counts]
        if found:
            yield f"{label}: {', '.join(found)}"

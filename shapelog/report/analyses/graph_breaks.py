"""Where did graphs break, and which compiles were traced again from the start?"""

import math
from collections.abc import Iterator

from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Cell, Column, Finding, Location, Table
from shapelog.report.weighted import WeightedCompile, weighted_compiles


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    breaks: dict[tuple[str, ...], list[WeightedCompile]] = {}
    restarts: dict[tuple[str, ...], list[WeightedCompile]] = {}
    for compiled in weighted_compiles(explained):
        for item in compiled.compile.breaks:
            where = Location(item.place.file, item.place.line).short if item.place else ""
            breaks.setdefault((where, item.words), []).append(compiled)
        for reason in compiled.compile.restarts:
            restarts.setdefault((reason,), []).append(compiled)
    reason_column = Column("reason", is_wide=True)
    if breaks:
        yield _table("graph_breaks", "Graph breaks", (Column("where"), reason_column), breaks)
    if restarts:
        yield _table("restarts", "Restarts of the analysis for other reasons", (reason_column,), restarts)


def _table(name: str, title: str, keys: tuple[Column, ...], found: dict[tuple[str, ...], list[WeightedCompile]]) -> Table:
    """Each key with how often it was, the seconds that it cost and the compiles; the most frequent first."""
    rows: list[tuple[Cell, ...]] = []
    for key, members in sorted(found.items(), key=lambda pair: -len(pair[1])):
        labels = " ".join(dict.fromkeys(item.compile.label for item in members))
        lost = math.fsum(item.seconds_before_restart for item in members)
        is_timed = any(item.compile.metrics.seconds is not None for item in members)
        rows.append((*key, sum(item.weight for item in members), lost if is_timed else None, labels))
    columns = (*keys, Column("times", True), Column("seconds lost", True), Column("compiles"))
    return Table(name, title, columns, tuple(rows))

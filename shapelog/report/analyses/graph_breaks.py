"""Where did graphs break, and which compiles were traced again from the start?"""

import math
from collections.abc import Iterator

from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Location, Table
from shapelog.report.weighted import WeightedCompile, weighted_compiles


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    breaks: dict[tuple[str, str], list[WeightedCompile]] = {}
    restarts: dict[str, list[WeightedCompile]] = {}
    for compiled in weighted_compiles(explained):
        for item in compiled.compile.breaks:
            where = Location(item.place.file, item.place.line).short if item.place else ""
            breaks.setdefault((where, item.words), []).append(compiled)
        for reason in compiled.compile.restarts:
            restarts.setdefault(reason, []).append(compiled)
    if breaks:
        rows = tuple(
            (where, words, *_cost(members), _labels(members))
            for (where, words), members in sorted(breaks.items(), key=lambda pair: -len(pair[1]))
        )
        columns = (Column("where"), Column("reason", is_wide=True), Column("times", True), Column("seconds lost", True), Column("compiles"))
        yield Table("graph_breaks", "Graph breaks", columns, rows)
    if restarts:
        rows_again = tuple(
            (reason, *_cost(members), _labels(members)) for reason, members in sorted(restarts.items(), key=lambda pair: -len(pair[1]))
        )
        again = (Column("reason", is_wide=True), Column("times", True), Column("seconds lost", True), Column("compiles"))
        yield Table("restarts", "Restarts of the analysis for other reasons", again, rows_again)


def _cost(members: list[WeightedCompile]) -> tuple[int, float]:
    """How often, and seconds."""
    return sum(item.weight for item in members), math.fsum(item.seconds_before_restart for item in members)


def _labels(members: list[WeightedCompile]) -> str:
    return " ".join(dict.fromkeys(item.compile.label for item in members))

"""Where did graphs break, and which compiles were traced again from the start?"""

import math
from collections.abc import Iterator

from shapelog.model.trace import Compile, Trace
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table


def analyze(study: Explanations) -> Iterator[Finding | Table]:
    breaks: dict[tuple[str, str], list[Compile]] = {}
    restarts: dict[str, list[Compile]] = {}
    for compile in study.trace.compiles:
        for item in compile.breaks:
            where = f"{item.place.file.rsplit('/', 1)[-1]}:{item.place.line}" if item.place else ""
            breaks.setdefault((where, item.words), []).append(compile)
        for reason in compile.restarts:
            restarts.setdefault(reason, []).append(compile)
    if breaks:
        rows = tuple(
            (where, words, *_cost(members, study.trace), _labels(members))
            for (where, words), members in sorted(breaks.items(), key=lambda pair: -len(pair[1]))
        )
        columns = (Column("where"), Column("reason", is_wide=True), Column("times", True), Column("seconds lost", True), Column("compiles"))
        yield Table("graph_breaks", "Graph breaks", columns, rows)
    if restarts:
        rows_again = tuple(
            (reason, *_cost(members, study.trace), _labels(members))
            for reason, members in sorted(restarts.items(), key=lambda pair: -len(pair[1]))
        )
        again = (Column("reason", is_wide=True), Column("times", True), Column("seconds lost", True), Column("compiles"))
        yield Table("restarts", "Restarts of the analysis for other reasons", again, rows_again)


def _cost(members: list[Compile], trace: Trace) -> tuple[int, float]:
    """How often, and seconds, on all ranks."""
    weights = [trace.rank_weight(compile.rank) for compile in members]
    lost = (compile.metrics.before_restart or 0.0 for compile in members)
    return sum(weights), math.fsum(weight * seconds for weight, seconds in zip(weights, lost, strict=True))


def _labels(members: list[Compile]) -> str:
    return " ".join(dict.fromkeys(compile.label for compile in members))

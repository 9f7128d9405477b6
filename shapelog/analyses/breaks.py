"""Where did graphs break, and which compiles were traced again from the start?"""

import math
from collections.abc import Iterator

from shapelog.findings import Column, Finding, Table
from shapelog.model import Compile
from shapelog.study import Study


def analyze(study: Study) -> Iterator[Finding | Table]:
    breaks: dict[tuple[str, str], list[Compile]] = {}
    restarts: dict[str, list[Compile]] = {}
    for compile in study.trace.compiles:
        known = {item.reason for item in compile.breaks}
        for item in compile.breaks:
            where = f"{item.place.file.rsplit('/', 1)[-1]}:{item.place.line}" if item.place else ""
            words = f"{item.reason.rstrip(' :')}: {item.explanation}" if item.explanation else item.reason
            breaks.setdefault((where, words), []).append(compile)
        for reason in compile.metrics.restart_reasons:
            first = _first_line(reason)
            if not any(first in text or text in first for text in known):
                restarts.setdefault(first, []).append(compile)
    if breaks:
        rows = tuple(
            (where, words, len(members), math.fsum(compile.metrics.before_restart or 0.0 for compile in members), _labels(members))
            for (where, words), members in sorted(breaks.items(), key=lambda pair: -len(pair[1]))
        )
        columns = (Column("where"), Column("reason", is_wide=True), Column("times", True), Column("seconds lost", True), Column("compiles"))
        yield Table("graph_breaks", "Graph breaks", columns, rows)
    if restarts:
        rows_again = tuple(
            (reason, len(members), math.fsum(compile.metrics.before_restart or 0.0 for compile in members), _labels(members))
            for reason, members in sorted(restarts.items(), key=lambda pair: -len(pair[1]))
        )
        again = (Column("reason", is_wide=True), Column("times", True), Column("seconds lost", True), Column("compiles"))
        yield Table("restarts", "Restarts of the analysis for other reasons", again, rows_again)


def _labels(members: list[Compile]) -> str:
    return " ".join(dict.fromkeys(compile.label for compile in members))


def _first_line(reason: str) -> str:
    return reason.strip().split("\n", 1)[0].strip("'\"")

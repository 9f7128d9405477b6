"""What the charts have in common: the kinds of compiles, which have colors, and texts that are not too long."""

import math
from collections.abc import Iterable

from shapelog.model.trace import Compile, Outcome
from shapelog.recompiles.explain import Recompile
from shapelog.rules import Verdict
from shapelog.text import file_name, seconds

_VERDICTS = (
    Verdict.MARKING,
    Verdict.CODE,
    Verdict.JUSTIFIED,
    Verdict.UNEXPLAINED,
    Verdict.LIMIT,
    Verdict.FAILED,
    Verdict.SKIPPED,
)
# The label of each kind of compile, in the order of the legend.
KIND_LABELS = (
    {"first": "first compilation"} | {verdict.name.lower(): verdict.value for verdict in _VERDICTS} | {"limit": "refused (limit reached)"}
)
_KINDS = {Outcome.FAILED: "failed", Outcome.UNFINISHED: "failed", Outcome.LIMIT: "limit", Outcome.SKIPPED: "skipped"}
_MAX_FILE_NAME = 80
# In seconds.
_LEAST_SHOWN = 0.005

# Kind of compile, how many, and their seconds.
Part = tuple[str, int, float]


def kind_of(compile: Compile, recompile: Recompile | None) -> str:
    """One of ``KIND_LABELS``; "first" is a compile that went well and is no recompile."""
    return recompile.verdict.name.lower() if recompile else _KINDS.get(compile.outcome, "first")


def totals(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The sums of the kinds that occur, in the order of the legend."""
    found: dict[str, list[Part]] = {kind: [] for kind in KIND_LABELS}
    for part in parts:
        found[part[0]].append(part)
    return tuple((kind, sum(part[1] for part in own), math.fsum(part[2] for part in own)) for kind, own in found.items() if own)


def clipped(text: str, longest: int) -> str:
    """``text`` without its end where it has more than ``longest`` characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def spent(value: float | None) -> str:
    """A time, "" for one that two decimals do not show: it took next to nothing, or was not measured."""
    return seconds(value) if value and value >= _LEAST_SHOWN else ""


def file_and_line(file: str, line: int) -> str:
    """``model.py:12``; "" if the trace does not record it."""
    shown = clipped(file_name(file), _MAX_FILE_NAME)
    return f"{shown}:{line}" if shown and line else shown

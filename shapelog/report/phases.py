"""The seconds of each phase of the compiler: those of first compiles, and those of recompiles."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shapelog.model.compile import WHOLE
from shapelog.recompiles.explain import Explanations
from shapelog.report.weighted import WeightedCompile, weighted_compiles
from shapelog.text import seconds

# The least share of all seconds that words name.
_NOTABLE = 0.01
# The sum of all phases.
ALL = "all"
_PHASES = (WHOLE, "Dynamo", "AOTAutograd", "Inductor", "code generation", "backend", "backward", ALL)


class PhaseSeconds(NamedTuple):
    """Seconds of one phase on all ranks, or of ``ALL``: those of first compiles, and those of recompiles."""

    name: str
    first: float
    again: float

    @property
    def total(self) -> float:
        return self.first + self.again


def phase_seconds(explained: Explanations) -> tuple[PhaseSeconds, ...]:
    """The phases in which time was spent, and the sum of all as the last; () where no time was recorded."""
    return seconds_by_phase(weighted_compiles(explained))


def seconds_by_phase(compiles: Sequence[WeightedCompile]) -> tuple[PhaseSeconds, ...]:
    """The same of some compiles."""
    first = _phases(item for item in compiles if item.recompile is None)
    again = _phases(item for item in compiles if item.recompile)
    found = (PhaseSeconds(name, first[name], again[name]) for name in _PHASES)
    return tuple(item for item in found if item.total or item.name == ALL) if first[ALL] or again[ALL] else ()


def phase_words(phases: Iterable[tuple[str, float]]) -> str:
    """``backward 44.3 s, Inductor 6.02 s``: the phases by their seconds, without those that are next to nothing."""
    found = sorted(phases, key=lambda item: -item[1])
    least = _NOTABLE * math.fsum(spent for _, spent in found)
    return ", ".join(f"{name} {seconds(spent)}" for name, spent in found if spent > least)


def _phases(compiles: Iterable[WeightedCompile]) -> dict[str, float]:
    """Seconds of each phase, and of all. Those of represented ranks are divided as those of the compile itself."""
    total = dict.fromkeys(_PHASES, 0.0)
    for item in compiles:
        for name, spent in item.compile.phases:
            total[name] += item.on_all_ranks(spent)
        total[ALL] += item.seconds
    return total

"""The compiles of a run with their weight: how many ranks each one represents, and the seconds it took on all of them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.rules import Verdict


class WeightedCompile(NamedTuple):
    """A compile of a rank that is read in full. ``recompile`` is None for the first of a frame.

    ``ranks`` are those that its own rank represents, () outside of a distributed run; ``seconds`` are of all of them.
    """

    frame: Frame
    compile: Compile
    recompile: Recompile | None
    ranks: tuple[int, ...]
    seconds: float

    @property
    def weight(self) -> int:
        """On how many ranks, or processes outside of a distributed run, it was made."""
        return len(self.ranks) or 1

    @property
    def is_avoidable(self) -> bool:
        """Whether it is a recompilation that marking or a code change avoids."""
        return self.recompile is not None and self.recompile.verdict in (Verdict.MARKING, Verdict.CODE)

    @property
    def seconds_before_restart(self) -> float:
        """What analyses took that were started again, on all ranks."""
        return self.weight * (self.compile.metrics.before_restart or 0.0)

    def on_all_ranks(self, seconds: float) -> float:
        """A part of the seconds of the compile itself, scaled so that such parts add up to ``seconds``."""
        return seconds * self.seconds / self.compile.seconds if self.compile.seconds else seconds


@dataclass(frozen=True, slots=True)
class AboutCompiles:
    """Something that is about compiles, and what these amount to together."""

    compiled: tuple[WeightedCompile, ...]

    @property
    def times(self) -> int:
        """On how many ranks together."""
        return sum(item.weight for item in self.compiled)

    @property
    def seconds(self) -> float:
        return math.fsum(item.seconds for item in self.compiled)

    @property
    def avoidable(self) -> float:
        """Seconds of recompilations that marking or a code change avoids."""
        return math.fsum(item.seconds for item in self.compiled if item.is_avoidable)

    @property
    def frames(self) -> tuple[Frame, ...]:
        return tuple(dict.fromkeys(item.frame for item in self.compiled))


def weighted_compiles(explained: Explanations, frames: Iterable[Frame] | None = None) -> tuple[WeightedCompile, ...]:
    """Every compile of the trace, or of some of its frames."""
    trace = explained.trace
    found = []
    for frame in trace.frames if frames is None else frames:
        recompiles = {item.compile: item for item in explained.of_frame(frame)}
        ranks = trace.represented_ranks(frame.rank)
        for compile in frame.compiles:
            found.append(WeightedCompile(frame, compile, recompiles.get(compile), ranks, trace.seconds(compile)))
    return tuple(found)

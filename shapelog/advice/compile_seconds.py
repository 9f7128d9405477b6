"""Seconds of compiling, as a range: what a compile that becomes dynamic will take, from what the compiles of this run took.

The first compile of a process pays for what later ones find done: imports, workers; and the first that builds kernels: the probe of
the compiler, precompiled headers. What these took longer than the others of their code is taken for that.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from shapelog.model.compile import Compile, Outcome
from shapelog.model.trace import Trace
from shapelog.text import LEAST_SECONDS, seconds, seconds_range

# What one program takes to compile in two runs on one machine that has other work as well: the longer time over the shorter one.
RUN_TO_RUN = 1.5
# How many times as long a dynamic compile takes as a static one of the same code, at most: so it was in 95 % of the recorded traces.
DYNAMIC_OVER_STATIC = 5


@dataclass(frozen=True, slots=True)
class Seconds:
    """Seconds of compiling, from ``least`` to ``most``; ``most`` is None where the trace gives no upper end."""

    least: float = 0.0
    most: float | None = 0.0

    @classmethod
    def exactly(cls, value: float) -> "Seconds":
        return cls(value, value)

    @classmethod
    def total(cls, parts: Iterable["Seconds"]) -> "Seconds":
        """The sum of several."""
        listed = list(parts)
        ends = [part.most for part in listed]
        return cls(math.fsum([part.least for part in listed]), None if None in ends else math.fsum(filter(None, ends)))

    @property
    def in_another_run(self) -> "Seconds":
        """The same work, timed again."""
        return Seconds(self.least / RUN_TO_RUN, None if self.most is None else self.most * RUN_TO_RUN)

    def left_of(self, before: float) -> "Seconds":
        """What is saved where this is what remains of ``before``; nothing where it could take as long or longer."""
        return Seconds(0.0 if self.most is None else max(0.0, before - self.most), max(0.0, before - self.least))

    def at_least(self, limit: float) -> "Seconds":
        """The same, but never less than ``limit``."""
        return Seconds(max(self.least, limit), None if self.most is None else max(self.most, limit))

    @property
    def as_saving(self) -> str:
        """``22.3–34.7 s``, ``up to 0.38 s`` where it may be nothing, "" where it is."""
        if self.most is not None and self.most < LEAST_SECONDS:
            return ""
        return f"up to {seconds(self.most)}" if self.most and self.least < LEAST_SECONDS else str(self)

    def holds(self, measured: float) -> bool:
        """Whether a measured time lies inside, or is shown with the same figures as an end."""
        if self.least <= measured and (self.most is None or measured <= self.most):
            return True
        return seconds(measured) in {seconds(end) for end in (self.least, self.most) if end is not None}

    def __str__(self) -> str:
        return seconds_range(self.least, self.most)


def slower_words(removed: float, added: float) -> str:
    """``: removes 1.10 s, but dynamic compilations take longer``, with the seconds that all may take more than before, if any."""
    more = f"; at worst, {seconds(added)} more than now" if added >= LEAST_SECONDS else ""
    return f": removes {seconds(removed)}, but dynamic compilations take longer{more}"


class Timed(Protocol):
    """A compile, what it took on all ranks that its own represents, and whether it was a first one of its process."""

    @property
    def compile(self) -> Compile: ...
    @property
    def seconds(self) -> float: ...
    @property
    def is_first(self) -> bool: ...


def first_compiles(trace: Trace) -> frozenset[Compile]:
    """The first compile of each process, of those that went through Inductor where any did; and the first that built kernels."""
    first: dict[tuple[int | None, int, bool], Compile] = {}
    for compile in sorted(trace.compiles, key=lambda compile: (compile.metrics.inductor is None, compile.order)):
        if compile.outcome is Outcome.COMPILED:
            for has_kernels in {False, _builds_kernels(compile)}:
                first.setdefault((compile.rank, compile.process, has_kernels), compile)
    return frozenset(first.values())


def _builds_kernels(compile: Compile) -> bool:
    """Whether Inductor built kernels: that takes most of its time. A graph of matrix products alone calls those of PyTorch."""
    metrics = compile.metrics
    return (metrics.codegen or 0.0) > (metrics.inductor or 0.0) / 2


def when_dynamic(own: Timed, served: Sequence[Timed], others: Sequence[Timed]) -> Seconds:
    """What a compile will take once it is dynamic and serves these calls as well.

    The dynamic compiles among them are the measure, of these the ones with the most symbols; without one a static one is. ``others``
    are the compiles of the same code, asked for of a first one of a process: what that took longer than these, it takes again.
    """
    dynamic = [item for item in served if _shows_dynamic(item)]
    most_symbols = max((len(item.compile.symbols) for item in dynamic), default=0)
    if own.compile.is_dynamic and len(own.compile.symbols) >= most_symbols:
        return Seconds.exactly(own.seconds)
    measured = [item.seconds for item in dynamic if len(item.compile.symbols) == most_symbols]
    if not measured:
        return _from_static(own, others)
    found = Seconds(min(measured), max(measured))
    return Seconds.total((found, _paid_once(own, others))) if own.is_first else found


def with_more_symbols(own: Timed, number: int, others: Sequence[Timed]) -> Seconds:
    """What a compile will take that marks give a number of symbols more, without serving another call.

    Compiles of the same code that have as many are the measure. A graph with symbols takes no less than one without.
    """
    symbols = len(own.compile.symbols) + number
    measured = [item.seconds for item in others if _shows_dynamic(item) and len(item.compile.symbols) >= symbols]
    return Seconds(own.seconds, max(own.seconds, max(measured) if measured else own.seconds * DYNAMIC_OVER_STATIC))


def is_measured(own: Timed, served: Sequence[Timed]) -> bool:
    """Whether the trace has the time of a dynamic compile that serves these calls."""
    return own.compile.is_dynamic or any(map(_shows_dynamic, served))


def _shows_dynamic(item: Timed) -> bool:
    return item.compile.is_dynamic and not item.compile.is_cached


def _from_static(own: Timed, others: Sequence[Timed]) -> Seconds:
    """At least what it took when it was static. There is no upper end where it did not even take that, since a cache had it."""
    if own.compile.is_cached:
        return Seconds(own.seconds, None)
    usual = [item.seconds for item in others if not item.compile.is_cached]
    return Seconds(own.seconds, own.seconds + (DYNAMIC_OVER_STATIC - 1) * max(usual, default=own.seconds))


def _paid_once(first: Timed, others: Sequence[Timed]) -> Seconds:
    """What a first compile of a process took longer than others of its code, without or with its backward graph: a dynamic compile
    may make that together with the forward graph.
    """
    usual = [item.seconds for item in others]
    if not usual:
        return Seconds(0.0, first.seconds)
    alone = (first.compile.metrics.seconds or 0.0) / first.compile.seconds if first.compile.seconds else 1.0
    return Seconds(max(0.0, first.seconds * alone - max(usual)), max(0.0, first.seconds - min(usual)))

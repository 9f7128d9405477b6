"""``compare_ranks(summaries)`` → RankReport: all ranks of a job compared with each other."""

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from datetime import datetime
from statistics import median
from typing import NamedTuple

from shapelog.distributed.agreement import ComparedProperty, classes_of, compare_properties, pipeline_stages, stage_words
from shapelog.distributed.collective_order import Mismatch, OrderChange, mismatches, order_change
from shapelog.distributed.divergence import CrossSize, Divergence, cross_sizes, divergence
from shapelog.model.compile import Outcome
from shapelog.model.rank_summary import CodeName, RankSummary, Step
from shapelog.reading.payloads.collectives import Parity
from shapelog.text import seconds

# A rank is slow if it compiled this many times as long as the median one, and this many seconds longer.
_SLOW_FACTOR, _SLOW_SECONDS = 1.5, 1.0
_MAX_SHOWN = 6
# A rank whose trace ends this many seconds before the last one is reported.
MUCH_EARLIER = 60.0
# No known job has a higher rank, so a higher number is damaged and does not mean that those below it are missing.
_MAX_RANK = 1 << 17


class Spread(NamedTuple):
    """The seconds of one compile over ranks, or of its graphs as estimated: (rank, seconds) of the fastest and the slowest."""

    label: str
    title: str
    ranks: int
    fastest: tuple[int, float]
    slowest: tuple[int, float]
    median: float

    @property
    def width(self) -> float:
        return self.slowest[1] - self.fastest[1]


class RankReport(NamedTuple):
    """All ranks of a job. ``missing`` are numbers below the highest that no file has, ``unread`` those whose file cannot be read; ``early``
    holds (rank, seconds before the last one) of those whose trace ends earlier; ``slow`` those that compiled much longer than the median.
    """

    ranks: tuple[RankSummary, ...]
    missing: tuple[int, ...]
    properties: tuple[ComparedProperty, ...]
    divergence: Divergence | None
    sizes: tuple[CrossSize, ...]
    mismatches: tuple[Mismatch, ...]
    order: OrderChange | None
    parity: tuple[tuple[str, Parity, tuple[int, ...]], ...]
    compile_spread: tuple[Spread, ...]
    runtime_spread: tuple[Spread, ...]
    early: tuple[tuple[int, float], ...]
    slow: tuple[tuple[int, float], ...]
    unread: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(rank.number for rank in self.ranks)

    @property
    def agrees(self) -> bool:
        """Whether all ranks have every known property in common."""
        return not any(item.differs for item in self.properties) and not self.missing

    @property
    def behave_alike(self) -> bool:
        """Whether all that is known of them is the same, but for sizes and a few seconds."""
        is_odd = self.unread or self.divergence or self.mismatches or self.parity or self.slow
        is_early = any(value >= MUCH_EARLIER for _, value in self.early)
        return self.agrees and not is_odd and not is_early and all(rank.processes < 2 for rank in self.ranks)

    @property
    def has_collectives_on(self) -> bool:
        """Whether the ranks exchange their sizes already."""
        return any(rank.has_collectives_on or any(step.size_exchanges for step in rank.steps) for rank in self.ranks)


def compare_ranks(summaries: Sequence[RankSummary], unread: Sequence[int] = (), is_text: bool = False) -> RankReport:
    """At least two ranks, in any order; ``unread`` as in ``Trace``. A text log (``is_text``) may have been cut out of a longer one."""
    ranks = tuple(sorted(_with_names(summaries) if is_text else summaries, key=lambda rank: rank.number))
    classes = classes_of(ranks)
    steps = [(step, item.numbers) for item in classes for step in item.steps]
    order = order_change(ranks)
    stages = pipeline_stages(classes)
    present = {rank.number for rank in ranks} | set(unread)
    is_whole = max(present) < _MAX_RANK and not is_text
    has_order = not is_text or any(step.outcome == Outcome.COMPILED.value for step, _ in steps)  # more than warnings and errors
    return RankReport(
        ranks=ranks,
        missing=tuple(number for number in range(max(present)) if number not in present) if is_whole else (),
        properties=tuple(compare_properties(ranks, classes, order, stage_words(stages))),
        divergence=next((found for stage in stages for found in [divergence(stage)] if found), None) if has_order else None,
        sizes=tuple(cross_sizes(classes)),
        mismatches=tuple(mismatches(steps)),
        order=order,
        parity=tuple(_parity(ranks)),
        compile_spread=tuple(_spreads(ranks, False)),
        runtime_spread=tuple(_spreads(ranks, True)),
        early=tuple(_early(ranks)),
        slow=tuple(_slow(ranks)),
        unread=tuple(unread),
    )


def _with_names(ranks: Sequence[RankSummary]) -> Iterator[RankSummary]:
    """The ranks with code that the log does not name, as where a message is cut off, under the name that other ranks have at this id."""
    named: dict[str, set[tuple[CodeName, str]]] = {}
    for rank in ranks:
        for step in rank.steps:
            if step.code.name:
                named.setdefault(step.label, set()).add((step.code, step.title))
    for rank in ranks:
        yield rank._replace(steps=tuple([_with_name(step, named.get(step.label, set())) for step in rank.steps]))


def _with_name(step: Step, known: Set[tuple[CodeName, str]]) -> Step:
    if step.code.name or len(known) != 1:
        return step
    ((code, title),) = known
    return step._replace(code=code, title=title)


def _parity(ranks: Iterable[RankSummary]) -> Iterator[tuple[str, Parity, tuple[int, ...]]]:
    found: dict[tuple[str, Parity], list[int]] = {}
    for rank in ranks:
        for key in rank.parity:
            found.setdefault(key, []).append(rank.number)
    for (label, item), numbers in found.items():
        yield label, item, tuple(numbers)


def _spreads(ranks: Iterable[RankSummary], is_runtime: bool) -> Iterator[Spread]:
    """Compiles that several ranks made, the widest spread first; those of estimated runtimes in order of compiles."""
    times: dict[tuple[CodeName, int], tuple[Step, list[tuple[float, int]]]] = {}
    for rank in ranks:
        for step, spent in zip(rank.steps, rank.spent, strict=True):
            value = spent.runtime if is_runtime else spent.compile or None
            if value is not None:
                times.setdefault(step.key, (step, []))[1].append((value, rank.number))
    found = [
        Spread(
            label=step.label,
            title=step.title,
            ranks=len(values),
            fastest=min(values)[::-1],
            slowest=max(values)[::-1],
            median=median(value for value, _ in values),
        )
        for step, values in times.values()
        if len(values) > 1
    ]
    return iter(found if is_runtime else sorted(found, key=lambda item: -item.width))


def _early(ranks: Sequence[RankSummary]) -> Iterator[tuple[int, float]]:
    """Seconds between the last record of each rank and that of the last rank; none where times are not recorded."""
    ends = [(rank.number, _moment(rank.ended)) for rank in ranks]
    latest = max((moment for _, moment in ends if moment), default=None)
    for number, moment in ends:
        if moment and latest and (latest - moment).total_seconds() >= 0.0005:
            yield number, (latest - moment).total_seconds()


def _moment(text: str) -> datetime | None:
    """The time of a record. Records hold no year, so a leap year is taken."""
    with suppress(ValueError):
        return datetime.strptime(f"2000 {text if '.' in text else f'{text}.0'}", "%Y %m%d %H:%M:%S.%f")
    return None


def _slow(ranks: Sequence[RankSummary]) -> Iterator[tuple[int, float]]:
    middle = median(rank.seconds for rank in ranks)
    for rank in ranks:
        if rank.seconds > _SLOW_FACTOR * middle and rank.seconds > middle + _SLOW_SECONDS:
            yield rank.number, rank.seconds


def slow_words(report: RankReport) -> str:
    """Which ranks compiled much longer than the others; "" if none."""
    if not report.slow:
        return ""
    middle = median(rank.seconds for rank in report.ranks)
    listed = ", ".join(f"rank {number} {seconds(value)}" for number, value in report.slow[:_MAX_SHOWN])
    more = f" and {len(report.slow) - _MAX_SHOWN} more" if len(report.slow) > _MAX_SHOWN else ""
    return f"compiled much longer than the median of {seconds(middle)}: {listed}{more}"

"""Where ranks do not run the same collectives in the same order: what makes a job hang."""

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from shapelog.model.rank_summary import Executed, RankSummary, Step
from shapelog.text import plural, rank_list


class Mismatch(NamedTuple):
    """The first position (from 0 on) at which the collectives of one graph differ, and which ranks run what there ("" for none)."""

    label: str
    title: str
    position: int
    sides: tuple[tuple[str, tuple[int, ...]], ...]
    before: str

    @property
    def sentence(self) -> str:
        what = f"the collectives of {self.title} at {self.label}"
        agree = f"agree up to number {self.position} ({self.before}), then differ" if self.position else "differ from the first on"
        return f"{what} {agree}: {', '.join(f'{rank_list(ranks)} {_ran(operator, ranks)}' for operator, ranks in self.sides)}"


class OrderChange(NamedTuple):
    """The first position (from 0 on) at which ranks ran another graph, by the labels of compiles ("" where a rank ran no more)."""

    position: int
    sides: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def sentence(self) -> str:
        sides = ", ".join(f"{rank_list(ranks)} {_ran(label, ranks)}" for label, ranks in self.sides)
        since = f"the same order for {plural(self.position, 'run')}, then" if self.position else "different from the first run on:"
        return f"{since} {sides}"


def _ran(what: str, ranks: tuple[int, ...]) -> str:
    """``runs all_reduce``, ``run no more`` of several ranks."""
    return f"{'run' if len(ranks) > 1 else 'runs'} {what or 'no more'}"


def mismatches(steps: Iterable[tuple[Step, tuple[int, ...]]]) -> list[Mismatch]:
    """Steps with the ranks that did them → each code's compile of the same number whose collectives differ where they are known."""
    by_key: dict[object, list[tuple[Step, tuple[int, ...]]]] = {}
    for step, ranks in steps:
        if step.collectives is not None:
            by_key.setdefault(step.key, []).append((step, ranks))
    return [_mismatch(members) for members in by_key.values() if len({step.collectives for step, _ in members}) > 1]


def _mismatch(members: list[tuple[Step, tuple[int, ...]]]) -> Mismatch:
    sequences = [(step.collectives or (), ranks) for step, ranks in members]
    position = first_difference([sequence for sequence, _ in sequences])
    step = members[0][0]
    before = sequences[0][0][position - 1] if position else ""
    return Mismatch(step.label, step.title, position, _sides(sequences, position), before)


def order_change(ranks: Iterable[RankSummary]) -> OrderChange | None:
    """Where the order in which graphs ran first differs; None if it does not, or not among the recorded executions."""
    recorded: list[tuple[Executed, int]] = [(rank.executed, rank.number) for rank in ranks if rank.executed]
    if len({executed.digest for executed, _ in recorded}) < 2:
        return None
    by_digest: dict[str, tuple[Executed, list[int]]] = {}
    for executed, number in recorded:
        by_digest.setdefault(executed.digest, (executed, []))[1].append(number)
    sequences = [(executed.first, tuple(numbers)) for executed, numbers in by_digest.values()]
    position = first_difference([sequence for sequence, _ in sequences])
    sides = _sides(sequences, position)
    return OrderChange(position, sides) if len(sides) > 1 else None


def first_difference(sequences: Sequence[tuple[Hashable, ...]]) -> int:
    """The first index at which they are not all the same, or where the first of them ends; the length of those that are all the same."""
    longest = max(map(len, sequences))
    return next((index for index in range(longest) if len({item[index : index + 1] for item in sequences}) > 1), longest)


def _sides(sequences: list[tuple[tuple[str, ...], tuple[int, ...]]], position: int) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """(item at a position, the ranks that have it), most ranks first."""
    found: dict[str, list[int]] = {}
    for sequence, ranks in sequences:
        found.setdefault("".join(sequence[position : position + 1]), []).extend(ranks)
    return tuple((item, tuple(sorted(ranks))) for item, ranks in sorted(found.items(), key=lambda pair: (-len(pair[1]), min(pair[1]))))


def parity_words(difference: int, missing_waits: int) -> str:
    """``2 collectives off the schedule, 1 without a wait``."""
    parts = [f"{plural(difference, 'collective')} off the schedule"] if difference else []
    return ", ".join(parts + ([f"{missing_waits} without a wait"] if missing_waits else []))

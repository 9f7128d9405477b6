"""Two texts side by side: which lines are the same, changed, gone or new, and what changed within a line."""

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import eq
from typing import NamedTuple

# Lines that are the same around each difference.
_CONTEXT = 2
# Lines of each text: comparing takes time that grows with the square of what differs.
_MAX_COMPARED = 3000
_MAX_ROWS = 300
# What a line of a graph is about: the name before its type or value.
_NAME = re.compile(r"\s*\w*")


class Line(NamedTuple):
    """A line of one text: its 1-based number, and the part ``text[start:end]`` that the other side does not have."""

    number: int
    text: str
    start: int = 0
    end: int = 0


class AlignedRow(NamedTuple):
    """``same``, ``changed``, ``gone`` (left only), ``new`` (right only), or ``skipped``: lines left out between two rows."""

    kind: str
    left: Line | None
    right: Line | None
    skipped: int = 0


class Diff(NamedTuple):
    """The rows around each difference. ``left_out`` counts differing lines beyond what is shown, ``is_same`` is True without any."""

    rows: tuple[AlignedRow, ...]
    left_out: int
    is_same: bool
    changed: int


def side_by_side(before: Sequence[str], after: Sequence[str]) -> Diff:
    """The differences of two texts, given as lines."""
    if before == after:
        return Diff((), 0, True, 0)
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    one, other = before[start : len(before) - end], after[start : len(after) - end]
    uncompared = max(0, len(one) - _MAX_COMPARED) + max(0, len(other) - _MAX_COMPARED)
    rows: list[AlignedRow] = []
    differing = 0
    matcher = difflib.SequenceMatcher(None, one[:_MAX_COMPARED], other[:_MAX_COMPARED])
    groups = [(op, a + start, b + start, c + start, d + start) for op, a, b, c, d in matcher.get_opcodes()]
    whole = [("equal", 0, start, 0, start), *groups]
    if not uncompared:
        whole.append(("equal", len(before) - end, len(before), len(after) - end, len(after)))
    for index, (op, a, b, c, d) in enumerate(whole):
        if op == "equal":
            rows.extend(_equal(lines=before, start=a, stop=b, other=c, is_first=index == 0, is_last=index == len(whole) - 1))
        else:
            differing += max(b - a, d - c)
            rows.extend(_unequal(before[a:b], after[c:d], a, c))
    shown = rows[:_MAX_ROWS]
    hidden = sum(row.kind not in ("same", "skipped") for row in rows[_MAX_ROWS:])
    return Diff(tuple(shown), hidden + uncompared, False, differing + uncompared)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many items are the same at the start."""
    return sum(takewhile(bool, map(eq, one, other)))


def _equal(lines: Sequence[str], start: int, stop: int, other: int, is_first: bool, is_last: bool) -> Iterator[AlignedRow]:
    """The lines next to a difference, and how many lie between."""
    head = 0 if is_first else _CONTEXT
    tail = 0 if is_last else _CONTEXT
    hidden = range(start + head, stop - tail)
    for index in range(start, stop):
        if index not in hidden:
            yield AlignedRow("same", Line(index + 1, lines[index]), Line(other + index - start + 1, lines[index]))
        elif index == hidden.start:
            yield AlignedRow("skipped", None, None, len(hidden))


def _unequal(one: Sequence[str], other: Sequence[str], start: int, other_start: int) -> Iterator[AlignedRow]:
    """Lines that begin with the same name share a row."""
    names = [_NAME.match(line)[0] for line in one]  # type: ignore[index]  # it matches everything
    others = [_NAME.match(line)[0] for line in other]  # type: ignore[index]
    for op, a, b, c, d in difflib.SequenceMatcher(None, names, others).get_opcodes():
        if op == "equal":
            for index in range(b - a):
                yield _changed(one[a + index], other[c + index], start + a + index + 1, other_start + c + index + 1)
            continue
        for index in range(a, b):
            yield AlignedRow("gone", Line(start + index + 1, one[index]), None)
        for index in range(c, d):
            yield AlignedRow("new", None, Line(other_start + index + 1, other[index]))


def _changed(left: str, right: str, number: int, other: int) -> AlignedRow:
    head = _common(left, right)
    tail = _common(left[head:][::-1], right[head:][::-1])
    return AlignedRow("changed", Line(number, left, head, len(left) - tail), Line(other, right, head, len(right) - tail))

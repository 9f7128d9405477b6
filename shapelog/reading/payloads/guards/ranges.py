"""Which numbers a condition over one size or int allows, in short: long arithmetic is most often a bound or a multiple."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise

from shapelog.reading.payloads.guards.expressions import parse

# Conditions that are longer without the names in them are worked out where that is possible.
_LONG = 20
_NAME = "n"
# Conditions that are longer than this together are left as they are: the time for each number grows with their length.
_LONGEST = 2000
# Every number from the first to the last is tried, and beyond these a sample around powers of two.
_FIRST, _LAST = 2, 1 << 9
_BEYOND = tuple((1 << bits) + offset for bits in range(10, 31) for offset in (-1, 0, 1, 5))
_MOST_RANGES = 2


def in_short(conditions: Sequence[str]) -> list[str]:
    """The conditions of a cache entry, unchanged; where they are over one name and one of them is long, the range that they allow together.

    Only numbers from 2 on count, as 0 and 1 have graphs of their own; [] where all of these are allowed.
    """
    if sum(map(len, conditions)) > _LONGEST:
        return list(conditions)
    names = {name for text in conditions for name in parse(text).names}
    if len(names) != 1 or not any(map(_is_long, conditions)):
        return list(conditions)
    (name,) = names
    together = _allowed(conditions, name)
    if together is not None:
        return together
    each = (short if _is_long(text) and (short := _allowed([text], name)) is not None else [text] for text in conditions)
    return list(dict.fromkeys(text for texts in each for text in texts))


def _is_long(condition: str) -> bool:
    """Whether it takes more than a glance: ``((-1) + n) != 1`` does, too."""
    renamed = _renamed(condition)
    return len(renamed) > _LONG or f" + {_NAME} " in renamed


def _renamed(condition: str) -> str:
    parsed = parse(condition)
    return parsed.renamed(dict.fromkeys(parsed.names, _NAME))


def _allowed(conditions: Sequence[str], name: str) -> list[str] | None:
    """The numbers for which all of these hold; None where these are neither one or two ranges nor multiples, or are not known."""
    texts = _worked_out(tuple(map(_renamed, conditions)))
    return None if texts is None else [text.format(name) for text in texts]


@lru_cache(maxsize=1024)
def _worked_out(conditions: tuple[str, ...]) -> list[str] | None:
    """What conditions over ``n`` allow, with ``{0}`` for the name. Several inputs, and the layers of a model, have the same conditions."""
    parsed = [parse(text) for text in conditions]

    def holds(number: int) -> bool:
        return all(condition.holds({_NAME: number}) is True for condition in parsed)

    held = [number for number in range(_FIRST, _LAST + 1) if holds(number)]
    if not held:
        return None
    ranges = _ranges(held, holds)
    return _multiples(held, holds) if ranges is None else ranges


def _ranges(held: Sequence[int], holds: Callable[[int], bool]) -> list[str] | None:
    gaps = [(before, after) for before, after in pairwise(held) if after - before > 1]
    goes_on = held[-1] == _LAST
    if len(gaps) >= _MOST_RANGES or any(holds(number) != goes_on for number in _BEYOND):
        return None
    starts, ends = [held[0], *(after for _, after in gaps)], [*(before for before, _ in gaps), held[-1]]
    texts = [_range(start, end) for start, end in zip(starts, ends, strict=True)]
    return [" or ".join(texts)] if any(texts) else []


def _range(start: int, end: int) -> str:
    if start == end:
        return f"{{0}} == {start}"
    if end == _LAST:
        return f"{start} <= {{0}}" if start > _FIRST else ""
    return f"{start} <= {{0}} <= {end}" if start > _FIRST else f"{{0}} <= {end}"


def _multiples(held: Sequence[int], holds: Callable[[int], bool]) -> list[str] | None:
    steps = {after - before for before, after in pairwise(held)}
    step = min(steps, default=0)
    if len(steps) != 1 or held[-1] + step <= _LAST:
        return None
    rest = held[0] % step
    if any(holds(number) != (number % step == rest) for number in _BEYOND):
        return None
    return [f"{{0}} % {step} == {rest}", *([f"{held[0]} <= {{0}}"] if held[0] >= _FIRST + step else [])]

"""Guards over sizes that have the number of something static, which is another one in this call."""

import re
from collections.abc import Sequence
from itertools import combinations

from shapelog.reading.payloads.guards.expressions import Expression
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.consequences.changes import Changes
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts, pin_of

_MOST_PAIRED = 16
_DIFFERENCE = re.compile(r"(?P<minuend>[^\s()]+) == (?:(?P<number>\d{1,18}) \+ )?(?P<subtrahend>[^\s()]+)")
_WRITTEN = re.compile(r"\d{1,18}")


def constant_in_guard_changed(item: Violation, changes: Changes) -> bool:
    """A guard such as ``x.size()[0] == 2 + k`` or ``i < n - 1``, whose number is, or is calculated from, a static int or size that is
    another one in this call. But for an equation, the line of code must not have such a number itself.
    """
    if not changes.numbers or item.shape is None:
        return False
    guard = item.shape.parsed
    static = _fixed_before(guard, changes) if guard.is_equation and len(guard.names) == 1 else changes.static
    numbers = changes.numbers if static is changes.static else _equal_to(guard.names[0], static, changes)
    if guard.is_equation and guard.with_constants(numbers).holds(changes.call.numbers) is True:
        return True
    if guard.is_equation and guard.with_constants(_products(static)).holds(changes.call.numbers) is True:
        return True
    written = {int(number) for number in _WRITTEN.findall(item.shape.comment.partition("  # ")[0])}
    calculated = {
        number + offset: now + offset
        for offset in (-1, 1, 0)
        for name, number, now in static
        if name not in guard.names and not written.intersection(range(number + offset - 1, number + offset + 2))
    }
    return bool(item.shape.comment and calculated) and guard.with_constants(calculated).holds(changes.call.numbers) is True


def _products(static: Sequence[tuple[str, int, int]]) -> dict[int, int]:
    """Each two numbers multiplied, as in ``x.size()[0] == 9*n`` for ``x.view(n, 3, 3)``."""
    pairs = combinations(static[:_MOST_PAIRED], 2)
    return {one * other: one_now * other_now for (_, one, one_now), (_, other, other_now) in pairs}


def _fixed_before(guard: Expression, changes: Changes) -> Sequence[tuple[str, int, int]]:
    """What ``static`` has that ``k == 8`` can come from: not the sizes and ints that became numbers only after k did."""
    places = [Source(source).canonical for item in changes.entry.compile.specializations for source in item.sources]
    name = guard.names[0]
    if name not in places:
        return changes.static
    later = frozenset(places[places.index(name) + 1 :])
    return [item for item in changes.static if item[0] not in later]


def _equal_to(name: str, static: Sequence[tuple[str, int, int]], changes: Changes) -> dict[int, int]:
    """The new value of each static number by its old one, of those that may be equal to what is pinned in every compile."""
    alike = _pinned_alike(name, changes)
    return {before: after for other, before, after in static if not any(_differ(known, name, other) for known in alike)}


def _pinned_alike(name: str, changes: Changes) -> Sequence[CompileFacts]:
    """What is known of the compiles in which the same line pinned the same."""
    entry = changes.entry
    pins = entry.specializations_by_source.items()
    return next((entry.pinned_alike(pin_of(source, pin)) for source, pin in pins if Source(source).canonical == name), [])


def _differ(known: CompileFacts, one: str, other: str) -> bool:
    """Whether two numbers are known and not equal: that they are in two calls is chance then."""
    numbers = known.numbers.get(one), known.numbers.get(other)
    return None not in numbers and numbers[0] != numbers[1]


def simplified_by_a_static_size(item: Violation, changes: Changes) -> bool:
    """A guard such as ``x.size()[0] // 8 == 1`` for ``(past + x.size(0)) // 8 == 2``, where ``past`` was static and is another size now.

    The call's own entry has a symbol for that as well: it has the same graph, and its guards hold for the sizes of the earlier call.
    """
    return item.shape is not None and item.shape.is_of_code and not changes.tied_to_static.isdisjoint(item.shape.parsed.names)


def met_by_equal_sizes(item: Violation, changes: Changes) -> bool:
    """A guard over a symbol that several equal sizes shared, of which this call has different ones."""
    return item.shape is not None and item.shape.expression in changes.by_equal_sizes


def length_that_fits_a_size(item: Violation, changes: Changes) -> bool:
    """``stop == 1 + start`` for ``x[start:stop] = y``, where y has a size of 1, and another one in this call: an equation of two ints whose
    number, which is 0 or 1, is a static size that changed as their difference did.
    """
    found = _DIFFERENCE.fullmatch(item.shape.expression) if item.shape else None
    if found is None:
        return False
    numbers = changes.call.numbers
    minuend, subtrahend = numbers.get(found["minuend"]), numbers.get(found["subtrahend"])
    if minuend is None or subtrahend is None:
        return False
    number = found["number"] or "0"
    sizes = ((str(other.expected), str(other.actual)) for other in changes.of(Kind.SIZE))
    return number in ("0", "1") and (number, str(minuend - subtrahend)) in sizes

"""What a pinned size or int is tied to: static sizes and ints that vary with it, so that marking all of them lets it vary.

A symbol is pinned where the code compares it with a constant: with the static length of another tensor (``mask + scores``), or with
ints of a module (``assert length == self.height * self.width``).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import Key
from shapelog.reading.payloads.properties import VALUE, Kind, size
from shapelog.recompiles.facts import CompileFacts, StaticValue

_MOST = 40  # pairs of them are tried


def tied_to(
    key: Key, values: tuple[int | None, int | None], known: CompileFacts, entry: CompileFacts, call: CompileFacts
) -> tuple[str, ...]:
    """The names of what a size or int (``key``, with its ``values`` in two calls) is equal to in both, () where nothing static is.

    ``known`` is the compile in which it was pinned: what is symbolic there does not pin. It is one other size or int, or the product or
    sum of two.
    """
    before, after = values
    if before is None or after is None:
        return ()
    if (known, entry) not in call.static_values:
        call.static_values.clear()
        call.static_values[known, entry] = tuple(islice(_static(known, entry, call), _MOST + 1))
    static = [item for item in call.static_values[known, entry] if item.key != key][:_MOST]
    found = next((group for group in _groups(static) if _equals(group, before, after)), ())
    return tuple(item.name for item in found if item.before != item.after)


def _groups(static: list[StaticValue]) -> Iterator[tuple[StaticValue, ...]]:
    yield from ((item,) for item in static)
    yield from (pair for pair in combinations(static, 2) if any(item.before != item.after for item in pair))


def _equals(group: Sequence[StaticValue], before: int, after: int) -> bool:
    if len(group) == 1:
        return (group[0].before, group[0].after) == (before, after)
    one, other = group
    return (one.before * other.before, one.after * other.after) == (before, after) or (
        (one.before + other.before, one.after + other.after) == (before, after)
    )


def _static(known: CompileFacts, entry: CompileFacts, call: CompileFacts) -> Iterator[StaticValue]:
    """The sizes and ints that are static in a compile, with their values in two calls.

    What was pinned there had a symbol: its own, or by duck sizing that of an equal size.
    """
    symbolic = known.symbolic.union(known.specializations_by_source)
    for (source, prop), fact in entry.facts.items():
        if prop.kind is Kind.VALUE and source not in symbolic:
            before, after = integer(str(fact)), integer(str(call.facts.get((source, VALUE), "")))
            if before is not None and after is not None:
                yield StaticValue((source, VALUE), source.display_name, before, after)
    for tensor in entry.compile.inputs:
        now = call.input(tensor.source)
        for dim, (size_before, size_now) in enumerate(zip(tensor.size, now.size if now else (), strict=False)):
            if size_before != size_now and f"{tensor.source}.size()[{dim}]" not in symbolic:
                yield StaticValue((tensor.source, size(dim)), f"{tensor.source.display_name}.size[{dim}]", size_before, size_now)

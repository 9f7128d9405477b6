"""What a pinned size or int is tied to: static sizes and ints that vary with it, so that marking all of them lets it vary.

A symbol is pinned where the code compares it with a constant: with the static length of another tensor (``mask + scores``), or with
ints of a module (``assert length == self.height * self.width``).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import Key
from shapelog.reading.payloads.properties import VALUE, Kind, size
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.facts import CompileFacts

_MOST = 40  # what varies with it in one call; more would take quadratic time


class _Varying(NamedTuple):
    name: str
    before: int
    after: int


def tied_to(key: Key, values: tuple[int | None, int | None], known: CompileFacts, entry: CompileFacts, call: CompileFacts) -> tuple[str, ...]:
    """The names of what a size or int (``key``, with its ``values`` in two calls) is equal to in both, () where nothing static is.

    ``known`` is the compile in which it was pinned: what is symbolic there does not pin. It is one other size or int, or the product or
    sum of two.
    """
    before, after = values
    if before is None or after is None:
        return ()
    varying = list(_varying(key, known, entry, call))[:_MOST]
    return next((tuple(item.name for item in group) for group in _groups(varying) if _equals(group, before, after)), ())


def _groups(varying: list[_Varying]) -> Iterator[tuple[_Varying, ...]]:
    yield from ((item,) for item in varying)
    yield from combinations(varying, 2)


def _equals(group: Sequence[_Varying], before: int, after: int) -> bool:
    if len(group) == 1:
        return (group[0].before, group[0].after) == (before, after)
    one, other = group
    return (one.before * other.before, one.after * other.after) == (before, after) or (
        (one.before + other.before, one.after + other.after) == (before, after)
    )


def _varying(key: Key, known: CompileFacts, entry: CompileFacts, call: CompileFacts) -> Iterator[_Varying]:
    """The sizes and ints that differ between two calls and are static in a compile, without the one at ``key``."""
    symbolic = {symbol.source.unwrapped for symbol in known.compile.symbols}
    for tensor in entry.compile.inputs:
        now = call.input(tensor.source)
        for dim, (before, after) in enumerate(zip(tensor.size, now.size if now else (), strict=False)):
            is_symbolic = Source(f"{tensor.source}.size()[{dim}]") in symbolic
            if before != after and not is_symbolic and key != (tensor.source, size(dim)):
                yield _Varying(f"{tensor.source.display_name}.size[{dim}]", before, after)
    for (source, prop), fact in entry.facts.items():
        if prop.kind is Kind.VALUE and source not in symbolic and key != (source, VALUE):
            before_int, after_int = integer(str(fact)), integer(str(call.facts.get((source, VALUE), "")))
            if before_int is not None and after_int is not None and before_int != after_int:
                yield _Varying(source.display_name, before_int, after_int)

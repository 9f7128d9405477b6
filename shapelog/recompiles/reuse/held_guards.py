"""The guards of a dynamic entry over sizes, replayed on the sizes of another call."""

from collections.abc import Iterable
from typing import NamedTuple

from shapelog.reading.payloads.guards.leaves import DYNAMIC, Key
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import Kind, Property
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import EntryDifference
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.tied_sizes import met_by_equal_sizes


def guards_hold(entry: CompileFacts, call: CompileFacts, marked: tuple[Key, ...] = (), without: frozenset[str] = frozenset()) -> bool:
    """Replay the shape guards of a dynamic entry on the sizes of another call; what cannot be evaluated counts as held.

    ``marked`` are sizes and ints that are to be symbolic. One that was a constant in the entry is a number in guards that it took part
    in, such as ``9 <= x.size()[0]`` for ``x[:k]``: there the call's own value takes its place. An offset may be a constant in one entry
    only. Guards of ``without`` do not count.
    """
    constants: list[_Constant] | None = None
    by_equal_sizes: frozenset[str] | None = None
    for shape in entry.tree.shapes if entry.tree else ():
        if not shape.is_of_code or is_over_offset(shape.expression) or shape.parsed.holds(call.numbers) is not False:
            continue
        if shape.expression in without or pins_float(shape, call):
            continue
        by_equal_sizes = met_by_equal_sizes(entry, call) if by_equal_sizes is None else by_equal_sizes
        if shape.expression in by_equal_sizes:
            continue
        constants = _constants(entry, call, marked) if constants is None else constants
        changes = {item.before: item.after for item in constants if item.name not in shape.parsed.names}
        if not changes or shape.parsed.with_constants(changes).holds(call.numbers) is False:
            return False
    return True


class _Constant(NamedTuple):
    """A number in guards, what it would be in another call, and the size or int that it represents, as guards name that."""

    name: str
    before: int
    after: int


def _constants(entry: CompileFacts, call: CompileFacts, marked: tuple[Key, ...]) -> list[_Constant]:
    """The numbers that represent these sizes and ints in guards of the entry; of the same number, the last counts.

    An int may be off by one there, in divisions. What is symbolic in the entry is no number there, unless it was pinned.
    """
    found: list[_Constant] = []
    symbolic = entry.symbolic - entry.specializations_by_source.keys()
    for source, prop in sorted(marked, key=lambda key: key[1].kind is not Kind.SIZE):
        is_size = prop.kind is Kind.SIZE
        part = f".size()[{prop.dim}]" if is_size else ""
        before, after = (known.number((source, prop)) for known in (entry, call))
        if before is not None and after is not None and f"{source}{part}" not in symbolic:
            offsets = (0,) if is_size else (-1, 1, 0)
            found += [_Constant(f"{source.canonical}{part}", before + offset, after + offset) for offset in offsets]
    return found


def is_dynamic_in(entry: CompileFacts, difference: EntryDifference) -> bool:
    """Whether an entry is dynamic in all that separates two calls: guards of one that is not are over constants that would not be there.

    An entry for calls without this input, as with a keyword that they leave out, shows nothing about it.
    """
    tree = entry.tree
    keys = [(cause.source, cause.prop) for cause in difference.causes if cause.prop.kind is Kind.SIZE or cause.is_int]
    if tree is None or any(source not in entry.sources and source not in entry.symbolic for source, _ in keys):
        return False
    return all(tree.facts.get(key, DYNAMIC) == DYNAMIC for key in keys)


def fails_alone(entry: CompileFacts, calls: Iterable[CompileFacts], marked: tuple[Key, ...]) -> bool:
    """Whether an entry that is dynamic in a part of what separates two calls has a guard over nothing else that fails for one of them.

    Such as ``k != 1``, which no constant of the entry takes part in.
    """
    names = {in_guards(source, prop) for source, prop in marked}
    names &= entry.symbolic
    shapes = entry.tree.shapes if entry.tree and names else ()
    others = frozenset(shape.expression for shape in shapes if not shape.parsed.names or not names.issuperset(shape.parsed.names))
    return len(others) < len(shapes) and not all(guards_hold(entry, call, marked, others) for call in calls)


def beyond(entry: CompileFacts, one: CompileFacts, other: CompileFacts) -> frozenset[str]:
    """The shape guards of a dynamic entry that fail for both of two calls, over sizes that are the same in both.

    ``2 <= x.size()[1]`` where it is 1 in both: what else differs between them can be symbolic on their side of it, too.
    """
    numbers = one.numbers, other.numbers
    return frozenset(
        shape.expression
        for shape in (entry.tree.shapes if entry.tree else ())
        if all(shape.parsed.holds(known) is False for known in numbers)
        and all(numbers[0].get(name) == numbers[1].get(name) for name in shape.parsed.names)
    )


def in_guards(source: Source, prop: Property) -> str:
    """How guard expressions name a size or an int."""
    return f"{source.canonical}.size()[{prop.dim}]" if prop.kind is Kind.SIZE else source.canonical


def pins_float(shape: ShapeGuard, call: CompileFacts) -> bool:
    """Whether a guard fixes a float to one value, which a mark of something else does not change."""
    return shape.parsed.is_equation and any(isinstance(call.numbers.get(name), float) for name in shape.parsed.names)


def is_over_offset(guard: str) -> bool:
    """Whether a guard is over where a tensor begins in its storage, on which nothing else depends."""
    return ".storage_offset()" in guard

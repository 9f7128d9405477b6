"""What a pinned size or int is tied to: static sizes and ints that vary with it, so that marking all of them lets it vary.

A symbol is pinned where the code compares it with a constant: with the static length of another tensor (``mask + scores``), or with
ints of a module (``assert length == self.height * self.width``). A guard over a symbol that several sizes share is over any of these.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import combinations, islice
from operator import add, mul
from typing import NamedTuple

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.leaves import Key
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import VALUE, Kind, size
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.facts.compile_facts import CompileFacts, Pin, StaticValue

_MOST = 40  # pairs of them are tried
# How many values show that one number is always the same multiple or fraction of another.
_SURE = 3
_LARGEST_WINDOW, _MOST_SIDES = 64, 8


class _Tie(NamedTuple):
    """A number that is calculated from one or two others."""

    parts: tuple[StaticValue, ...]
    of: Callable[..., int | None]


def tied_to(
    key: Key, values: tuple[int | None, int | None], pin: Pin, known: CompileFacts, entry: CompileFacts, call: CompileFacts
) -> tuple[str, ...]:
    """The names of what a size or int (``key``, with its ``values`` in two calls) is calculated from in both, () where nothing static is.

    ``known`` is the compile in which it was pinned: what is symbolic there does not pin. It is one other size or int, the product or
    sum of two, a multiple or fraction of an int, the number of windows of an image, or a size of a tensor that is new in this call. It
    is so in every compile in which the same line pinned it (``pin``): what holds in two calls alone is chance.
    """
    before, after = values
    if before is None or after is None:
        return ()
    if (known, entry) not in call.static_values:
        call.static_values.clear()
        call.static_values[known, entry] = tuple(islice(_static(known, entry, call), _MOST + 1))
    static = [item for item in call.static_values[known, entry] if item.key != key][:_MOST]
    pinned = known.pinned_alike(pin)
    equal = _in_equation(key, static, call) if known is entry else None
    if equal and all(_holds(equal, key, call, other) for other in pinned):
        return (equal.parts[0].name,)
    seen = {before, after, *(other.number(key) for other in pinned)}
    for tie in _ties(static, before, after, is_sure=len(seen - {None}) >= _SURE):
        if all(_holds(tie, key, call, other) for other in pinned):
            return tuple(item.name for item in tie.parts if item.before != item.after)
    same_value = (item for item in (_only_in_call(entry, call, before) if known is call else ()) if item.after == after)
    return next(((item.name,) for item in same_value if all(_holds(_Tie((item,), int), key, call, other) for other in pinned)), ())


def met_by_equal_sizes(entry: CompileFacts, call: CompileFacts) -> frozenset[str]:
    """The guards of an entry over a symbol that equal sizes shared which the graph of a call requires of others of these sizes.

    ``y.size()[0] == x.size()[0]*x.size()[0]`` for ``x.flatten() + y`` and a square ``x``: the graph of a call in which the two sizes of
    ``x`` differ, with a symbol for each, requires the product of both.
    """
    equal = entry.tree.one_symbol if entry.tree else {}
    if not entry.tree or not call.tree or not equal:
        return frozenset()
    required = {shape.parsed.renamed(equal) for shape in _over(equal, call.tree.shapes)}
    return frozenset(shape.expression for shape in _over(equal, entry.tree.shapes) if shape.parsed.renamed(equal) in required)


def _over(names: Mapping[str, str], shapes: Iterable[ShapeGuard]) -> Iterator[ShapeGuard]:
    """The guards over any of these sizes, but for those that they are equal."""
    return (shape for shape in shapes if shape.parsed.tree and shape.is_of_code and not names.keys().isdisjoint(shape.parsed.names))


def _in_equation(key: Key, static: list[StaticValue], call: CompileFacts) -> _Tie | None:
    """What a later graph, in which both are symbolic, requires to be so much more or less: ``x.size()[1] == 1 + y.size()[1]``."""
    prop = key[1]
    parts = {_name(item.key): item for item in static if item.before != item.after}
    for shape in call.tree.shapes if call.tree and prop.kind is Kind.SIZE else ():
        others = [name for name in shape.parsed.names if name != _name(key)]
        item = parts.get(others[0]) if len(others) == 1 and len(shape.parsed.names) == 2 else None
        if item and shape.parsed.is_equation:
            own, other = call.number(key), call.number(item.key)
            if own is not None and other is not None:
                return _Tie((item,), partial(add, own - other))
    return None


def _name(key: Key) -> str:
    """How guards spell it."""
    source, prop = key
    return f"{source.canonical}.size()[{prop.dim}]" if prop.kind is Kind.SIZE else source.canonical


def _ties(static: list[StaticValue], before: int, after: int, is_sure: bool) -> Iterator[_Tie]:
    """What gives both values; multiples and fractions where more values than these two were seen."""
    for item in static:
        if (item.before, item.after) == (before, after):
            yield _Tie((item,), int)
    for one, other in combinations(static, 2):
        if one.before != one.after or other.before != other.after:
            yield from (
                _Tie((one, other), of) for of in (mul, add) if (of(one.before, other.before), of(one.after, other.after)) == (before, after)
            )
    ints = [item for item in static if item.key[1].kind is Kind.VALUE and item.before != item.after and item.before > 0] if is_sure else []
    for item in ints:
        is_multiple = before % item.before == 0 or (before > 0 and item.before % before == 0)
        if is_multiple and item.after * before == after * item.before:
            yield _Tie((item,), partial(_scaled, before, item.before))
    for one, other in combinations(ints[:_MOST_SIDES], 2):
        for side in range(2, _LARGEST_WINDOW + 1):
            if (_windows(side, one.before, other.before), _windows(side, one.after, other.after)) == (before, after):
                yield _Tie((one, other), partial(_windows, side))


def _scaled(by: int, over: int, value: int) -> int | None:
    """The value times ``by / over``; None where that is no integer."""
    found, rest = divmod(value * by, over)
    return None if rest else found


def _windows(side: int, height: int, width: int) -> int:
    """How many squares cover an image."""
    return -(-height // side) * -(-width // side)


def _holds(tie: _Tie, key: Key, call: CompileFacts, other: CompileFacts) -> bool:
    """Whether the same is true in another compile, as far as it is known what that was called with: it may do without a tensor, as where
    a dict has other keys, or have one of another rank, as an optimizer has for each parameter.
    """
    sizes = [source for source, prop in (key, *(item.key for item in tie.parts)) if prop.kind is Kind.SIZE]
    if any(_rank(call, source) != _rank(other, source) for source in sizes if other.input(source)):
        return True
    numbers = [other.number(item.key) for item in tie.parts]
    whole = other.number(key)
    if None in numbers or whole is None:
        is_without = any(item.key[1].kind is Kind.SIZE and other.input(item.key[0]) is None for item in tie.parts)
        return not other.compile.inputs or is_without or all(item.key[1].kind is Kind.VALUE for item in tie.parts)
    return tie.of(*numbers) == whole


def _rank(known: CompileFacts, source: Source) -> int | None:
    tensor = known.input(source)
    return len(tensor.size) if tensor else None


def _only_in_call(entry: CompileFacts, call: CompileFacts, before: int) -> Iterator[StaticValue]:
    """The static sizes of tensors that the entry was not called with, as if each had been ``before`` there."""
    for tensor in call.tensors_not_in(entry):
        for dim, now in enumerate(tensor.size):
            if f"{tensor.source}.size()[{dim}]" not in call.symbolic:
                yield StaticValue((tensor.source, size(dim)), f"{tensor.source.display_name}.size[{dim}]", before, now)


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
        for dim, before in enumerate(tensor.size):
            key = tensor.source, size(dim)
            now = call.number(key)
            if now is not None and before != now and f"{tensor.source}.size()[{dim}]" not in symbolic:
                yield StaticValue(key, f"{tensor.source.display_name}.size[{dim}]", before, now)

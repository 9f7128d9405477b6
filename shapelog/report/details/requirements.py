"""What a call has to have for a cache entry to serve it: the guards of the entry, as its user would write them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.comments import UserLine, place_of
from shapelog.reading.payloads.guards.leaves import DYNAMIC, Fact
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.properties import (
    DISPATCH_KEYS,
    DTYPE,
    GRAD_MODE,
    LENGTH,
    RANK,
    REQUIRES_GRAD,
    TENSOR,
    Kind,
    Property,
    size,
    stride,
)
from shapelog.reading.payloads.source_names import Source, display_text, is_torch
from shapelog.text import plural

_PLAIN_TENSORS = ("Tensor", "Parameter")
_EQUAL = frozenset((Kind.VALUE, Kind.PLAIN_VALUE))
# Of many objects: a module has one for each of its parts.
_OBJECTS = frozenset((Kind.TYPE, Kind.ID))
_ANY_INT = re.compile(rf"-{2**63} <= [^<>=]*")
_OF_CODE = ".__defaults__", ".__kwdefaults__", ".__closure__"
_DEFAULT_DEVICE = "utils_device.CURRENT_DEVICE"  # until torch 2.3
_Facts = Mapping[Property, Fact]


class Requirement(NamedTuple):
    """What one source has to be, or an expression over sizes: ``x: float32 [s77, 8]``, ``mode == 'train'``, ``x.size()[0] <= 30``.

    ``source`` is what the guard is about, empty for an expression. ``place`` is the user's line that the guard comes from, None where
    PyTorch does not name it.
    """

    source: Source
    text: str
    place: UserLine | None = None


class Requirements(NamedTuple):
    """All that an entry requires: ``each``, the tensors first, then expressions over sizes, then values; and ``rest``, in short.

    In the rest are parameters and buffers, whose sizes are fixed, and what is guarded by its type or identity alone.
    """

    each: tuple[Requirement, ...]
    rest: tuple[str, ...]


def requirements_of(compile: Compile) -> Requirements | None:
    """What the guards of a compile require of a call; None where they are not recorded, or only hold what every
    call has.
    """
    tree = compile.guards
    if tree is None:
        return None
    of_source: dict[Source, dict[Property, Fact]] = {}
    for (source, prop), fact in tree.facts.items():
        of_source.setdefault(source, {})[prop] = fact
    symbols = {str(symbol.source): symbol.name for symbol in compile.symbols if symbol.source}
    inputs = {source: facts for source, facts in of_source.items() if TENSOR in facts and not source.is_registered}
    needed = Requirements(
        each=(
            *[Requirement(source, f"{source.display_name}: {_tensor(source, facts, symbols)}") for source, facts in inputs.items()],
            *_aliases(tree, inputs),
            *_conditions(tree),
            *sorted(_values(tree, of_source), key=_comes_late),
        ),
        rest=tuple(_rest(of_source)),
    )
    return needed if any(needed) else None


def _rest(of_source: Mapping[Source, _Facts]) -> Iterator[str]:
    state = of_source.get(Source(), {})
    if GRAD_MODE in state:
        yield f"grad mode {'on' if state[GRAD_MODE] else 'off'}"
    for part, noun in ("._parameters[", "parameter"), ("._buffers[", "buffer"):
        count = sum(1 for source, facts in of_source.items() if TENSOR in facts and part in source)
        if count:
            yield f"the sizes and dtypes of {plural(count, noun)}"
    objects = sum(1 for source, facts in of_source.items() if source and any(prop.kind in _OBJECTS for prop in facts))
    if objects:
        yield f"the type or identity of {plural(objects, 'object')}"


def _tensor(source: Source, facts: _Facts, symbols: Mapping[str, str]) -> str:
    """``float32 [s77, 8] on cuda:0, requires grad``; the sizes that may be any are those without a symbol and a number."""
    kind = facts[TENSOR]
    sizes = []
    for dim in range(int(facts.get(RANK, 0))):
        fact = facts.get(size(dim), DYNAMIC)
        sizes.append(symbols.get(f"{source}.size()[{dim}]", "any") if fact == DYNAMIC else str(fact))
    parts = [
        "" if kind in _PLAIN_TENSORS else f"{kind} of",
        str(facts.get(DTYPE, "tensor")),
        f"[{', '.join(sizes)}]" if RANK in facts else "",
        _device(facts),
    ]
    strides = [facts.get(stride(dim), DYNAMIC) for dim in range(len(sizes))]
    is_known = all(isinstance(value, int) for value in (*strides, *[facts.get(size(dim)) for dim in range(len(sizes))]))
    rest = [
        ", requires grad" if facts.get(REQUIRES_GRAD) else "",
        f", strides {strides}" if is_known and strides != _contiguous(facts, len(sizes)) else "",
    ]
    return " ".join(filter(None, parts)) + "".join(rest)


def _device(facts: _Facts) -> str:
    number = next((value for prop, value in facts.items() if prop.kind is Kind.DEVICE), None)
    kind = str(facts.get(DISPATCH_KEYS, "")).removeprefix("DispatchKeySet(").split(",")[0].rstrip(")").lower()
    return "" if not kind else f"on {kind}" if number in (None, "None") else f"on {kind}:{number}"


def _contiguous(facts: _Facts, rank: int) -> list[Fact]:
    """The strides of a contiguous tensor with these sizes."""
    strides: list[Fact] = []
    step = 1
    for dim in reversed(range(rank)):
        strides.insert(0, step)
        step *= max(1, int(facts[size(dim)]))
    return strides


def _aliases(tree: GuardTree, tensors: Iterable[Source]) -> Iterator[Requirement]:
    """Tensors that are one, in the order of their names."""
    firsts = grouped(sorted(tree.same), lambda pair: pair[0])
    for first, pairs in firsts.items():
        names = ", ".join(second.display_name for _, second in pairs)
        if first in tensors or any(second in tensors for _, second in pairs):
            yield Requirement(first, f"{first.display_name} is the same tensor as {names}")


def _conditions(tree: GuardTree) -> Iterator[Requirement]:
    """The expressions over sizes and ints, without the range of all ints, which torch 2.4 writes."""
    for shape in tree.shapes:
        if not _ANY_INT.fullmatch(shape.expression):
            yield Requirement(Source(), display_text(shape.expression), place_of(shape.comment))


def _values(tree: GuardTree, of_source: Mapping[Source, _Facts]) -> Iterator[Requirement]:
    for source, facts in of_source.items():
        for prop, fact in facts.items() if source and source != _DEFAULT_DEVICE else ():
            text = _value(source.display_name, prop, fact)
            if text:
                yield Requirement(source, text, tree.places.get(tree.by_key[source, prop].comment))


def _comes_late(value: Requirement) -> int:
    """What a call brings comes first, then what the code of PyTorch reads of it, then globals, defaults, closures and classes."""
    if not value.source.startswith("L[") or any(map(value.source.__contains__, _OF_CODE)):
        return 2
    return 1 if value.place and is_torch(value.place.file) else 0


def _value(name: str, prop: Property, fact: Fact) -> str:
    """``mode == 'train'``, ``len(xs) == 3``; "" for what is in the rest or belongs to a tensor."""
    if prop.kind in _EQUAL:
        return f"{name} is {fact}" if fact in ("None", "True", "False", "nan") else f"{name} == {fact}"
    if prop == LENGTH:
        return f"len({name}) == {fact}"
    if prop.kind is Kind.KEYS:
        return f"list({name}) == {fact}"
    if prop.kind is Kind.HAS:
        return f"{prop.name} {'in' if fact else 'not in'} {name}"
    return ""

"""Which marks it takes for an earlier entry to serve a later call."""

from typing import NamedTuple

from shapelog.advice.marks import Mark, mark_at
from shapelog.advice.propagation import Flows
from shapelog.model.trace import Compile, Frame
from shapelog.reading.payloads.guard_expressions import canonical
from shapelog.reading.payloads.guards import DYNAMIC
from shapelog.reading.payloads.source_names import tensor_part, unwrap
from shapelog.recompiles.causes import Cause, Explanation
from shapelog.recompiles.graph_reuse import is_proven
from shapelog.recompiles.violations import Comparer

Need = frozenset[Mark]
"""Marks of which one is enough."""


class Route(NamedTuple):
    """An earlier entry that would serve a call once every need is met; ``is_proven`` if a dynamic version's guards hold for both.

    ``lost`` are sources that vary and that the call's own compile had symbolic where the entry has not, each with what keeps it so.
    """

    entry: Compile
    needs: tuple[Need, ...]
    is_proven: bool
    lost: tuple[tuple[str, Need], ...] = ()

    def narrows(self, chosen: frozenset[Mark]) -> tuple[str, ...]:
        """The sources that would be static in place of symbolic, were these marked."""
        return tuple(source for source, need in self.lost if need.isdisjoint(chosen))


def route(frame: Frame, item: Explanation, compile: Compile, comparer: Comparer, flows: Flows) -> Route | None:
    """How the entry of an explanation would serve this call, None if no mark makes it do so."""
    proven = is_proven(frame, item, compile, comparer)
    if proven is None:
        return None
    needs = _needs(frame, item, compile, comparer, flows)
    return Route(item.entry, needs, proven, _lost(frame, item.entry, compile, comparer, flows)) if needs is not None else None


def _lost(frame: Frame, entry: Compile, compile: Compile, comparer: Comparer, flows: Flows) -> tuple[tuple[str, Need], ...]:
    """What varies in this frame, is symbolic in the compile that would go, and static in the entry that would take its place.

    Later calls may have hit the compile that goes with other values of it, and then compile again: such calls left no record.
    """
    if not compile.symbols:
        return ()
    tree = entry.guards
    own = {unwrap(symbol.source) for symbol in entry.symbols}
    pinned = {source for special in compile.specializations for source in special.sources}
    found: dict[str, Need] = {}
    for symbol in compile.symbols:
        source = unwrap(symbol.source)
        part = tensor_part(source)
        if not source or source in own or symbol.source in pinned or (part is not None and part[1] != "size"):
            continue
        key = (part[0], f"size[{part[2]}]") if part else (source, "value")
        static = tree.facts.get(key) if tree else None
        if static is not None and static != DYNAMIC and len(_values(frame, key, comparer)) > 1:
            origins = flows.origins(frame, part[0], part[2]) if part else ()
            found[source] = frozenset((mark_at(source), *origins))
    return tuple(found.items())


def _values(frame: Frame, key: tuple[str, str], comparer: Comparer) -> set[object]:
    found = (comparer.observe(compile).facts.get(key) for compile in frame.compiles)
    return {str(value) for value in found if value is not None}


def _needs(frame: Frame, item: Explanation, compile: Compile, comparer: Comparer, flows: Flows) -> tuple[Need, ...] | None:
    needs: dict[Need, None] = {}
    for cause in item.causes:
        found = _needs_of(cause, frame, item.entry, compile, comparer, flows)
        if not found:
            return None
        needs.update(dict.fromkeys(found))
    return tuple(needs)


def _needs_of(cause: Cause, frame: Frame, entry: Compile, compile: Compile, comparer: Comparer, flows: Flows) -> tuple[Need, ...]:
    if cause.codes[0] == "SL103":
        return _unequal_pairs(entry, compile, comparer)
    if cause.prop.startswith("size["):
        dim = int(cause.prop[5:-1])
        tensor = next((item for item in compile.inputs if item.source == cause.source), None)
        if tensor and tensor.layout == "torch.jagged" and dim == 0:  # its offsets are one longer
            return frozenset((Mark(cause.source, 0),)), frozenset((Mark(f"{cause.source}._offsets", 0),))
        if tensor and tensor.layout != "torch.strided":
            return ()  # sizes of other nested and of sparse tensors cannot be marked
        return (frozenset((Mark(cause.source, dim), *flows.origins(frame, cause.source, dim))),)
    if cause.codes[0] == "SL105":
        # any symbolic size makes the strides that follow from none symbolic too
        part = tensor_part(cause.source)
        source = _described(part[0] if part else cause.source, compile, comparer)
        tensor = next((item for item in compile.inputs if item.source == source), None)
        return (frozenset(Mark(source, dim) for dim, size in enumerate(tensor.size) if size > 1),) if tensor else ()
    return (frozenset((_mark_of(cause.source, compile, comparer),)),)


def _unequal_pairs(entry: Compile, compile: Compile, comparer: Comparer) -> tuple[Need, ...]:
    """Of every two dims that the entry took for equal and that differ in this call, one must be marked: marked dims share no symbol."""
    seen = comparer.observe(compile).numbers
    tree = entry.guards
    needs: dict[Need, None] = {}
    classes: list[set[str]] = []
    for shape in tree.shapes if tree else ():
        if "duck sizing" not in shape.comment:
            continue
        names = {name for name in comparer.expression(shape.expression).names if tensor_part(name)}
        joined = [group for group in classes if group & names]
        classes = [group for group in classes if not group & names] + [names.union(*joined)]
    for group in classes:
        members = sorted(group)
        for index, one in enumerate(members):
            for other in members[index + 1 :]:
                if seen.get(one) != seen.get(other):
                    needs[frozenset(_mark_of(name, compile, comparer) for name in (one, other))] = None
    return tuple(needs)


def _mark_of(name: str, compile: Compile, comparer: Comparer) -> Mark:
    mark = mark_at(name)
    return mark if mark.is_int else Mark(_described(mark.source, compile, comparer), mark.dim)


def _described(source: str, compile: Compile, comparer: Comparer) -> str:
    """The source as PyTorch writes it, for one spelled as guards are parsed."""
    spelled = canonical(source)
    return next((item.source for item in compile.inputs if comparer.spell(item.source) == spelled), source)

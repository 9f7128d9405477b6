"""Whether the graph of an earlier entry would serve a later call, and which marks that takes.

The graphs must be similar, every cause that separates the two must be one that marks act on, and where the trace has dynamic versions
of that graph, the guards of one of them must hold for both calls.
"""

import re
from typing import NamedTuple

from shapelog.axes import Comparer
from shapelog.causes import Cause, Explanation, explain
from shapelog.flows import Flows
from shapelog.marks import Mark, mark_at
from shapelog.model import Compile, Frame, Outcome
from shapelog.payloads.exprs import canonical, integer
from shapelog.payloads.guards import DYNAMIC
from shapelog.payloads.sources import tensor_part, unwrapped
from shapelog.pinning import pinned_by

# Codes whose recompile a dynamic mark removes, and those that stand in its way.
MARKABLE = frozenset(("SL101", "SL102", "SL103", "SL105", "SL106", "SL315"))
BLOCKED = frozenset(("SL104", "SL201", "SL202", "SL204"))
_INTS = frozenset(("SL102", "SL315"))
# A size of 0 or 1 among those that a failed guard speaks of: "q.size()[0] = 1, k.size()[0] = 14", "10 and 1".
_SMALL = re.compile(r"(?:^|= |and )[01](?:,|$| and)")

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


def similar(one: Compile, other: Compile) -> bool:
    """Whether two compiles have similar graphs; a graph without operations is similar to none."""
    if one.graph_span is None or other.graph_span is None:
        return False
    if one.graph_span.digest and one.graph_span.digest == other.graph_span.digest:
        return has_operations(one)
    first, second = one.graph, other.graph
    return bool(first and second and first.key and first.key == second.key)


def has_operations(compile: Compile) -> bool:
    return compile.graph is not None and bool(compile.graph.key)


def can_serve(frame: Frame, item: Explanation, compile: Compile, comparer: Comparer) -> bool:
    """Whether the graph of an entry would serve this call, were all its causes marked dynamic."""
    return _is_proven(frame, item, compile, comparer) is not None


def route(frame: Frame, item: Explanation, compile: Compile, comparer: Comparer, flows: Flows) -> Route | None:
    """How the entry of an explanation would serve this call, None if no mark makes it do so."""
    is_proven = _is_proven(frame, item, compile, comparer)
    if is_proven is None:
        return None
    needs = _needs(frame, item, compile, comparer, flows)
    return Route(item.entry, needs, is_proven, _lost(frame, item.entry, compile, comparer, flows)) if needs is not None else None


def at_the_limit(item: Explanation, others: list[Explanation]) -> Explanation | None:
    """What separates a call that hit the limit from an entry: such a call has left reasons alone, one failed guard for each entry.

    What failed in another entry fails in this one as well where it holds the same value. Where it holds another and the call's own is not
    known, and no mark acts on it (a float that is another at each call, say), None: nothing tells that the entry would serve.
    """
    tree = item.entry.guards
    causes = {(cause.source, cause.prop): cause for cause in item.causes}
    for cause in (cause for other in others for cause in other.causes):
        fact = tree.facts.get((cause.source, cause.prop)) if tree else None
        if fact is None or fact == DYNAMIC or (cause.source, cause.prop) in causes or (cause.after and str(fact) == cause.after):
            continue
        is_same = str(fact) == cause.before
        if is_same:
            causes[cause.source, cause.prop] = cause
        elif not cause.size_related or cause.codes[0] not in MARKABLE:
            return None
    return Explanation(item.entry, tuple(causes.values()), item.consequences)


def _marks_act(item: Explanation) -> bool:
    for cause in item.causes:
        if not cause.size_related or cause.codes[0] not in MARKABLE or not BLOCKED.isdisjoint(cause.codes):
            return False
        # a size of 0 or 1 has a graph of its own, marked or not
        if cause.is_size and (_SMALL.search(cause.after) or _SMALL.search(cause.before)):
            return False
    return bool(item.causes) and not held_static(item)


def held_static(item: Explanation) -> str:
    """A dim among the causes on which the program calls mark_static, "" if there is none. That beats the list; torch 2.13 guards on it."""
    sizes = [cause for cause in item.causes if cause.prop.startswith("size[")]
    tree = item.entry.guards if sizes else None
    facts = tree.facts if tree else {}
    for cause in sizes:
        marked = facts.get((cause.source, "marking _dynamo_static_indices"))
        if isinstance(marked, str) and cause.prop[5:-1] in re.findall(r"\d+", marked):
            return cause.axis
    return ""


def _is_proven(frame: Frame, item: Explanation, compile: Compile, comparer: Comparer) -> bool | None:
    """Whether a dynamic entry proves that one graph serves both calls: False if the trace has none that could, None if none of those does,
    or marks do not act on what separates the two.
    """
    if compile.outcome is Outcome.LIMIT:  # which has left no graph
        return False if _marks_act(item) else None
    pair = (id(item.entry), id(compile))
    if pair not in comparer.versions:
        comparer.versions[pair] = _proof(frame, item, compile, comparer) if _marks_act(item) else None
    return comparer.versions[pair]


def _proof(frame: Frame, item: Explanation, compile: Compile, comparer: Comparer) -> bool | None:
    """The same for a compile that has a graph, and causes that marks act on; worked out once for frames that are alike."""
    entries = comparer.dynamic_entries(frame)
    key = (item.causes, *map(comparer.likeness, (item.entry, compile, *entries)))
    if key not in comparer.served:
        versions = _versions(item, compile, entries, comparer)
        comparer.served[key] = None if versions is None else bool(versions)
    return comparer.served[key]


def _versions(item: Explanation, compile: Compile, entries: tuple[Compile, ...], comparer: Comparer) -> list[Compile] | None:
    """The dynamic entries that prove it.

    A compile that is dynamic itself may have another graph than the static entry, such as ``x[i]`` for ``x[3]``. If its guards hold for
    the entry's call, that call makes the same graph once it is marked.
    """
    if (
        compile.is_dynamic
        and _tensors(compile, comparer) == _tensors(item.entry, comparer)
        and not explain(comparer, compile, item.entry).causes
    ):
        return [compile]
    if not (similar(item.entry, compile) or not (has_operations(item.entry) or has_operations(compile))):
        return None
    dynamic = [entry for entry in entries if similar(entry, compile)]
    if not dynamic and pinned(item, compile, comparer):
        return None
    wide = [entry for entry in dynamic if _is_wide(entry, item)]
    ints = tuple(cause.source for cause in item.causes if cause.codes[0] in _INTS)
    held = [entry for entry in wide or dynamic if all(guards_hold(entry, call, comparer, ints) for call in (compile, item.entry))]
    if held or not dynamic:
        return held if wide else []
    return None


def pinned(item: Explanation, compile: Compile, comparer: Comparer) -> str:
    """The operator of two static graphs that takes what varied as a number, which no mark makes symbolic; "" where none does."""
    before, after = comparer.pinned_numbers(item.entry), comparer.pinned_numbers(compile)
    for cause in item.causes if before and after else ():
        old, new = integer(cause.before), integer(cause.after)
        operator = pinned_by(before, after, old, new) if old is not None and new is not None else ""
        if operator:
            return operator
    return ""


def _tensors(compile: Compile, comparer: Comparer) -> frozenset[str]:
    """The tensors of a call; a float that became symbolic is written as one, and is none."""
    found = comparer.tensors.get(id(compile))
    if found is None:
        names = [tensor.source for tensor in compile.inputs]
        found = comparer.tensors[id(compile)] = frozenset([name for name in names if not name.startswith("___as_tensor(")])
    return found


def _is_wide(entry: Compile, item: Explanation) -> bool:
    """Whether an entry is dynamic in all that separates two calls: guards of one that is not speak of constants that would not be there."""
    tree = entry.guards
    keys = ((cause.source, cause.prop) for cause in item.causes if cause.prop.startswith("size[") or cause.codes[0] in _INTS)
    return tree is not None and all(tree.facts.get(key, DYNAMIC) == DYNAMIC for key in keys)


def guards_hold(entry: Compile, compile: Compile, comparer: Comparer, ints: tuple[str, ...] = ()) -> bool:
    """Replay the shape guards of a dynamic entry on the sizes of another call; what cannot be evaluated counts as held.

    ``ints`` are to be marked. One that was a constant in the entry stands as a number in guards that it took part in, such as
    ``9 <= x.size()[0]`` for ``x[:k]``: there the call's own value takes its place.
    """
    tree = entry.guards
    seen = comparer.observe(compile).numbers
    changes: dict[int, int] | None = None
    for shape in tree.shapes if tree else ():
        if "duck sizing" in shape.comment:
            continue
        guard = comparer.expression(shape.expression)
        if guard.holds(seen) is False:
            changes = _constants(entry, compile, comparer, ints) if changes is None else changes
            if not changes or guard.with_constants(changes).holds(seen) is False:
                return False
    return True


def _constants(entry: Compile, compile: Compile, comparer: Comparer, ints: tuple[str, ...]) -> dict[int, int]:
    """The numbers that stand for these ints in guards of the entry, and what they would be in the other call; off by one in divisions."""
    changes: dict[int, int] = {}
    for source in ints:
        before, after = (integer(str(comparer.observe(item).facts.get((source, "value"), ""))) for item in (entry, compile))
        if before is not None and after is not None:
            changes |= {before + offset: after + offset for offset in (-1, 1, 0)}
    return changes


def _lost(frame: Frame, entry: Compile, compile: Compile, comparer: Comparer, flows: Flows) -> tuple[tuple[str, Need], ...]:
    """What varies in this frame, is symbolic in the compile that would go, and static in the entry that would take its place.

    Later calls may have hit the compile that goes with other values of it, and then compile again: such calls left no record.
    """
    if not compile.symbols:
        return ()
    tree = entry.guards
    own = {unwrapped(symbol.source) for symbol in entry.symbols}
    pinned = {source for special in compile.specializations for source in special.sources}
    found: dict[str, Need] = {}
    for symbol in compile.symbols:
        source = unwrapped(symbol.source)
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

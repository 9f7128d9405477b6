"""Whether the graph of an earlier entry would serve a later call.

The graphs must be similar, every cause that separates the two must be one that marks act on, and where the trace has dynamic versions
of that graph, the guards of one of them must hold for both calls.
"""

import re

from shapelog.model.trace import Compile, Frame, Outcome
from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import DYNAMIC
from shapelog.recompiles.causes import Explanation, explain
from shapelog.recompiles.constant_arguments import pinned_by
from shapelog.recompiles.violations import Comparer
from shapelog.rules import any_blocks_marking

_INTS = frozenset(("SL102", "SL315"))
# A size of 0 or 1 among those that a failed guard speaks of: "q.size()[0] = 1, k.size()[0] = 14", "10 and 1".
_SMALL = re.compile(r"(?:^|= |and )[01](?:,|$| and)")


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
    return is_proven(frame, item, compile, comparer) is not None


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
        elif not cause.size_related or not cause.rule.markable:
            return None
    return Explanation(item.entry, tuple(causes.values()), item.consequences)


def _marks_act(item: Explanation) -> bool:
    for cause in item.causes:
        if not cause.size_related or not cause.rule.markable or any_blocks_marking(cause.codes):
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


def is_proven(frame: Frame, item: Explanation, compile: Compile, comparer: Comparer) -> bool | None:
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

"""What the guards of an entry show when they are compared with the facts of a call."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from shapelog.reading.payloads.guards.leaves import DYNAMIC, Fact, Key
from shapelog.reading.payloads.guards.tree import GuardTree, ShapeGuard
from shapelog.reading.payloads.properties import ID, LENGTH, TENSOR, TYPE, VALUE, Kind, Property, class_written_with_address, size
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.evidence.object_types import another_type, constant_in_place_of_tensor, objects, tensor_kind, type_of
from shapelog.recompiles.evidence.violation import ALIASING, IDENTITY, Described, Known, Violation, constant_type
from shapelog.recompiles.facts.compile_facts import CompileFacts

_FUNCTION, _CODE = "function", ".__code__"
_ZEROS = {"0.0", "-0.0"}


def against_guards(entry: CompileFacts, tree: GuardTree, call: CompileFacts) -> Iterator[Violation]:
    """Every fact of a call that a guard of the entry does not accept."""
    facts = call.facts
    is_cut = entry.compile.metrics.lost_guards or call.compile.metrics.lost_guards  # what is not there may have been
    for key, expected in tree.facts.items():
        actual = facts.get(key)
        if actual == expected or expected == DYNAMIC:
            continue
        source, prop = key
        if actual is None:
            if prop.kind in IDENTITY and not is_cut:
                yield from _another_kind(tree, call, source, prop, expected)
            elif prop.kind is Kind.SIZE and (size_now := _size_of_part(tree, call, key)) not in (None, expected):
                yield Violation(source, prop, expected, size_now, comment=tree.by_key[key].comment)
        elif prop.kind is Kind.TENSOR:
            if call.guarded(key) == actual:  # the type of a tensor is checked exactly
                yield Violation(source, TYPE, tensor_kind(expected), tensor_kind(actual), comment=tree.by_key[key].comment)
        elif _differs(prop, expected, actual):
            known: tuple[Property, Known, Known] = (prop, expected, actual)
            if prop.kind in (Kind.TYPE, Kind.ID):
                known = objects(tree=tree, call=call, source=source, prop=prop, expected=str(expected), actual=str(actual))
            yield Violation(source, *known, comment=tree.by_key[key].comment)
    yield from _presence(entry, tree, call)
    yield from _aliasing(tree, call)
    for shape in tree.shapes:
        if shape.parsed.holds(call.numbers) is False:
            yield shape_violation(shape, entry, call, None)


def _size_of_part(tree: GuardTree, call: CompileFacts, key: Key) -> Fact | None:
    """The size of a tensor that a subclass consists of, where it is dynamic in the call: that of the subclass, if it had the same."""
    source, prop = key
    whole = Source(source.rpartition(".")[0]), prop
    if call.guarded(key) != DYNAMIC or tree.facts.get(whole) != tree.facts[key]:
        return None
    return call.facts.get(whole)


def _differs(prop: Property, expected: Fact, actual: Fact) -> bool:
    """Whether two values that are written differently violate a guard. Zero has two signs, and Python compares them as equal; so may two
    objects of one class be.
    """
    if prop.kind is Kind.VALUE:
        written = class_written_with_address(str(expected))
        return {expected, actual} != _ZEROS and not (written and written == class_written_with_address(str(actual)))
    if prop.kind is not Kind.MARKING:
        return True
    if expected is False:  # not marked when it was compiled
        return actual is not False
    if actual is False or actual is True or expected is True:
        return False
    return not _indices(str(actual)) <= _indices(str(expected))


def _indices(text: str) -> set[str]:
    return {part.strip() for part in text.strip("{}").split(",") if part.strip()}


def shape_violation(shape: ShapeGuard, entry: CompileFacts, call: CompileFacts, reason: Reason | None) -> Violation:
    """A guard over sizes, with those of the call. Sizes that satisfy what failed are not its own, but those that a mark names as a hint.

    Where a tensor and the base of another one are required to have the same size because they are one, they no longer are.
    """
    names = shape.parsed.names
    if (base := _base_of(names, entry)) is not None:
        return Violation(Source(), ALIASING, base, Described.DISTINCT, shape.comment, reason=reason)
    is_hint = reason is not None and shape.parsed.holds(call.numbers) is True
    known = "" if is_hint else ", ".join(f"{name} = {call.numbers[name]}" for name in names if name in call.numbers)
    source = Source(names[0] if names else "")
    prop = Property(Kind.SHAPE_GUARD, name=shape.expression)
    return Violation(source, prop, expected=shape.expression, actual=known, comment=shape.comment, shape=shape, reason=reason)


def _base_of(names: Sequence[str], entry: CompileFacts) -> str | None:
    """``L['q']._base is L['docs']``, where a guard is over the sizes of both, and both were one tensor."""
    parts = [part.tensor for name in names if (part := Source(name).tensor_part)]
    for view, base in entry.compile.bases.items() if len(parts) == 2 else ():
        if {f"{view.canonical}._base", base.canonical} == set(parts):
            return f"{view}._base is {base}"
    return None


def _another_kind(tree: GuardTree, call: CompileFacts, source: Source, prop: Property, expected: Fact) -> Iterator[Violation]:
    """A source that is guarded as one kind of thing in the entry, and as another in the new compile."""
    comment = tree.by_key[source, prop].comment
    if source.endswith(_CODE) and call.types.get(Source(source.removesuffix(_CODE)), _FUNCTION) != _FUNCTION:
        source = Source(source.removesuffix(_CODE))  # it has no code: another kind of thing, called in place of a function
    was, now = tree.types.get(source, ""), call.types.get(source, "")
    found = another_type(was, now, tree, call, source) if was and now and was != now else _another_guard(tree, call, source, prop, expected)
    if found is not None:
        other, before, after = found
        yield Violation(source, other, before, after, comment)


def _another_guard(
    tree: GuardTree, call: CompileFacts, source: Source, prop: Property, expected: Fact
) -> tuple[Property, Known, Known] | None:
    """(property, before, after) where the call has other facts about the source; None where they show no change."""
    facts = call.facts
    value, is_tensor, has_type = facts.get((source, VALUE)), (source, TENSOR) in facts, (source, TYPE) in facts
    own, type_seen = tree.types.get(source, ""), call.types.get(source, "")
    described = str(facts[source, TENSOR]) if is_tensor and not type_seen else ""  # of a call that left no guards
    is_of_type = own != "" and (own == type_seen or own.rpartition(".")[2] == described)
    if prop.kind is Kind.VALUE:
        if is_tensor:
            return VALUE, expected, Described.TENSOR
        constant = constant_type(str(expected))
        if value is None and (has_type or (source, ID) in facts):
            if constant == "NoneType" or (type_seen and constant and type_seen != constant):
                return VALUE, expected, type_seen or Described.OTHER_OBJECT
            if constant in ("int", "float") and has_type and not call.has_symbols:
                return VALUE, expected, Described.UNKNOWN
    elif prop.kind is Kind.TENSOR:
        if value is not None:
            return TYPE, Described.TENSOR, type_of(str(value))
        if has_type:
            return TYPE, Described.TENSOR, type_seen or Described.OTHER_OBJECT
    elif prop.kind is Kind.TYPE and (source, TENSOR) not in tree.facts:
        if is_tensor:  # of which the entry may check the type alone
            return None if is_of_type else (TYPE, own or Described.OTHER_TYPE, Described.TENSOR)
        if isinstance(value, str) and (value == "None" or (own and constant_type(value) and own != constant_type(value))):
            return VALUE if value == "None" else TYPE, own or Described.OBJECT, type_of(value)
    elif prop.kind is Kind.ID and (is_tensor or value is not None) and not is_of_type:  # whether it is the same object is not known
        return VALUE, own or Described.OBJECT, Described.TENSOR if is_tensor else str(value)
    return None


def _presence(entry: CompileFacts, tree: GuardTree, call: CompileFacts) -> Iterator[Violation]:
    """Attributes and keys that were absent and are there now, keys that are absent now, and dicts that have more or fewer keys (where no
    length is recorded). A graph with symbols guards fewer keys; more are new where the code of the entry itself adds to the dict.
    """
    if call.tree is None:
        return
    for (source, prop), expected in tree.facts.items():
        if expected is not False or prop.kind is not Kind.HAS_ATTRIBUTE or call.tree.facts.get((source, prop)) is False:
            continue  # what an object itself lacks, its class may have
        if f"{source}.{prop.name}" in call.tree.sources:
            yield Violation(source, prop, False, True, tree.by_key[source, prop].comment)
    yield from (Violation(source, prop, False, True, tree.by_key[source, prop].comment) for source, prop in _new_keys(tree, call.tree))
    yield from (Violation(source, prop, True, False) for source, prop in _new_keys(call.tree, tree))
    yield from (Violation(source, prop, True, False) for source, prop in _missing_keys(tree, call.tree))
    for source, count in tree.key_counts.items():
        now = call.tree.key_counts.get(source, count)
        is_sure = not call.has_symbols or (now > count and source in entry.compile.changed_objects)
        if now != count and is_sure and (source, LENGTH) not in tree.facts:
            yield Violation(source, LENGTH, count, now)


def _new_keys(without: GuardTree, other: GuardTree) -> Iterator[Key]:
    """Keys of dicts that one tree checks to be absent, and of which the other checks the item or something below it."""
    absent = [key for key, fact in without.facts.items() if key[1].kind is Kind.HAS and fact is False]
    checked = sorted(other.sources) if absent else []
    for source, prop in absent:
        item = f"{source}[{prop.name}]"
        at = bisect_left(checked, item)
        if at < len(checked) and checked[at].startswith(item) and other.facts.get((source, prop)) is not False:
            yield source, prop


def _missing_keys(tree: GuardTree, other: GuardTree) -> Iterator[Key]:
    """Keys that a dict of the same length no longer has: the other tree has a guard for each of its keys, and none for these."""
    for source, keys in other.guarded_keys.items():
        if tree.facts.get((source, LENGTH)) == other.facts[source, LENGTH] == len(keys):
            for key in sorted(tree.guarded_keys.get(source, keys) - keys):
                yield source, Property(Kind.HAS, name=key)


def _aliasing(tree: GuardTree, call: CompileFacts) -> Iterator[Violation]:
    """Inputs that were distinct tensors and are one now, or the other way round."""
    other = call.tree
    if other is None:
        return
    for first, second in sorted(other.same):
        if first in tree.distinct and second in tree.distinct:
            yield Violation(Source(), ALIASING, Described.DISTINCT, f"{first} is {second}")
    for first, second in sorted(tree.same):
        if first in other.distinct and second in other.distinct:
            yield Violation(Source(), ALIASING, f"{first} is {second}", Described.DISTINCT)
            yield from _sizes_of_own(tree, call, *((first, second) if (first, TENSOR) in tree.facts else (second, first)))
        elif (constant := constant_in_place_of_tensor(tree, call, (first, second))) is not None:
            yield Violation(constant[0], TYPE, Described.TENSOR, constant[1])


def _sizes_of_own(tree: GuardTree, call: CompileFacts, known: Source, other: Source) -> Iterator[Violation]:
    """Sizes of an input that was the same tensor as another one, and is one of its own: guarded as those of that other one."""
    tensor = call.input(other)
    for dim in range(len(tensor.size)) if tensor is not None else ():
        expected, actual = tree.facts.get((known, size(dim))), call.facts.get((other, size(dim)))
        if expected not in (None, DYNAMIC, actual) and (other, size(dim)) not in tree.facts and actual is not None:
            yield Violation(other, size(dim), expected, actual, comment=tree.by_key[known, size(dim)].comment)

"""Facts → violations: what one compile was called with, held against what an earlier cache entry checks.

A fact is *property of a source = value*. Facts come from described tensors, guards, symbols and recompile reasons, in that order of
trust. A violation is a fact in which a compile does not satisfy an earlier entry. A guard that stands in one tree alone says nothing:
the value on the other side is not known, and often the guard is only there because another path was taken.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from shapelog.model.trace import Compile, Frame
from shapelog.reading.payloads import guard_expressions
from shapelog.reading.payloads.guards import DYNAMIC, Fact, GuardTree, ShapeGuard, type_name
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import dict_of_key, is_below, tensor_part, unwrap, without_locals
from shapelog.recompiles.constant_arguments import Pinned, pinned_numbers

_LOOKS = attrgetter("source", "size", "stride", "dtype", "requires_grad")
_HINTS = attrgetter("source", "hint")
_SOURCES = attrgetter("sources")
_AS_SAID = ("torch.Tensor", "a tensor")
_CONSTANT_TYPES = {"True": "bool", "False": "bool", "None": "NoneType"}
UNKNOWN = ""
# Properties that tell what an object is; one that fails stands for all.
_KIND_PROPS = frozenset(("value", "type", "id", "tensor"))
# Fields of the global state that torch 2.13 and later write into the guard tree.
STATE_PROPS = frozenset(
    (
        "allow_bf16_reduce",
        "allow_fp16_reduce",
        "allow_tf32",
        "default_dtype",
        "deterministic_algorithms",
        "deterministic_algorithms_warn_only",
        "grad_mode",
        "num_threads",
        "torch_function",
        "torch_function_all_disabled",
    )
)


class Violation(NamedTuple):
    """``source`` had ``prop`` = ``actual`` where the entry wanted ``expected``; ``actual`` is UNKNOWN where the trace does not tell.

    ``shape`` is set for a guard over sizes, ``reason`` where PyTorch itself named this failure.
    """

    source: str
    prop: str
    expected: Fact
    actual: Fact
    comment: str = ""
    shape: ShapeGuard | None = None
    reason: Reason | None = None

    @property
    def key(self) -> tuple[str, str]:
        return self.source, self.prop


class Observation(NamedTuple):
    """What is known about the call that led to a compile. ``numbers`` holds sizes, strides and ints under their guard spelling.

    ``has_symbols`` is False where the version records neither symbols nor reasons: then an int that is guarded by its type alone has
    become symbolic, which happens only when it changed.
    """

    facts: dict[tuple[str, str], Fact]
    numbers: dict[str, guard_expressions.Value]
    types: dict[str, str]
    tree: GuardTree | None = None
    has_symbols: bool = True


@dataclass(slots=True, eq=False, repr=False)
class Comparer:
    """Compares the compiles of one trace; remembers what it parsed and compared, so that repeated payloads cost nothing."""

    signatures: dict[int, tuple[object, ...]] = field(default_factory=dict)
    expressions: dict[str, guard_expressions.Expression] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)
    observations: dict[tuple[object, ...], Observation] = field(default_factory=dict)
    differences: dict[tuple[object, ...], tuple[Violation, ...]] = field(default_factory=dict)
    stripped: dict[str, dict[str, str]] = field(default_factory=dict)
    explained: dict[tuple[object, ...], object] = field(default_factory=dict)
    reasons: dict[int, dict[str, tuple[Reason, ...]]] = field(default_factory=dict)
    focused: dict[int, tuple[tuple[tuple[str, str], Fact], ...]] = field(default_factory=dict)
    dynamic: dict[int, tuple[Compile, ...]] = field(default_factory=dict)
    pinned: dict[int, Pinned] = field(default_factory=dict)
    strangers: dict[tuple[object, ...], Compile] = field(default_factory=dict)
    explanations: dict[tuple[int, int], object] = field(default_factory=dict)
    observed: dict[int, Observation] = field(default_factory=dict)
    versions: dict[tuple[int, int], bool | None] = field(default_factory=dict)
    served: dict[tuple[object, ...], bool | None] = field(default_factory=dict)
    alike: dict[int, tuple[object, ...]] = field(default_factory=dict)
    tensors: dict[int, frozenset[str]] = field(default_factory=dict)
    bounding: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    sources: dict[int, frozenset[str]] = field(default_factory=dict)
    values: dict[int, frozenset[str]] = field(default_factory=dict)
    freed: dict[int, frozenset[str]] = field(default_factory=dict)

    def dynamic_entries(self, frame: Frame) -> tuple[Compile, ...]:
        """The entries of a frame in which anything is symbolic."""
        found = self.dynamic.get(id(frame))
        if found is None:
            found = self.dynamic[id(frame)] = tuple(entry for entry in frame.entries if entry.is_dynamic)
        return found

    def looked_at(self, frame: Frame) -> frozenset[str]:
        """The sources of a frame's tensors, and of the values that its guards check."""
        found = self.sources.get(id(frame))
        if found is None:
            names = {item.source for compile in frame.compiles for item in compile.inputs}
            trees = {id(tree): tree for tree in (compile.guards for compile in frame.compiles) if tree}
            found = self.sources[id(frame)] = frozenset(names).union(*map(self.guarded_values, trees.values()))
        return found

    def guarded_values(self, tree: GuardTree) -> frozenset[str]:
        """The sources whose value is checked."""
        found = self.values.get(id(tree))
        if found is None:
            found = self.values[id(tree)] = frozenset(source for source, prop in tree.facts if prop == "value")
        return found

    def free(self, tree: GuardTree) -> frozenset[str]:
        """The sources of which any property may be anything."""
        found = self.freed.get(id(tree))
        if found is None:
            found = self.freed[id(tree)] = frozenset(source for (source, _), value in tree.facts.items() if value == DYNAMIC)
        return found

    def bounds(self, tree: GuardTree) -> dict[str, list[str]]:
        """The guards that bound one size or int alone, by its guard spelling."""
        found = self.bounding.get(id(tree))
        if found is None:
            found = self.bounding[id(tree)] = {}
            for shape in tree.shapes:
                names = self.expression(shape.expression).names
                if len(names) == 1:
                    found.setdefault(names[0], []).append(shape.expression)
        return found

    def pinned_numbers(self, compile: Compile) -> Pinned:
        """The constants in a compile's graph that its operators need as such."""
        graph = compile.graph
        if graph is None:
            return ()
        found = self.pinned.get(id(graph))
        if found is None:
            found = self.pinned[id(graph)] = pinned_numbers(graph.statements)
        return found

    def observe(self, compile: Compile) -> Observation:
        found = self.observed.get(id(compile))
        if found is None:
            key = self.signature(compile)
            found = self.observations.get(key)
            if found is None:
                found = self.observations[key] = self._observe(compile)
            self.observed[id(compile)] = found
        return found

    def violations(self, entry: Compile, compile: Compile) -> tuple[Violation, ...]:
        """Every fact in which ``compile`` is known not to satisfy the guards of ``entry``, PyTorch's own reason first."""
        named = [self._from_reason(entry, compile, reason) for reason in self.reasons_about(entry, compile)]
        key = self.pair(entry, compile)
        found = self.differences.get(key)
        if found is None:
            tree = entry.guards
            differing = self._differences(tree, self.observe(compile)) if tree else _described_differences(entry, compile)
            found = self.differences[key] = tuple(differing)
        state = next((violation.reason for violation in named if violation.prop == "global state"), None)
        if state is not None and any(is_state(violation) for violation in found):  # the tree tells it, with both values
            named = [violation for violation in named if violation.prop != "global state"]
            found = tuple(item._replace(reason=state) if is_state(item) and item.prop[:8] in state.expected else item for item in found)
        said = {violation.key for violation in named}
        kinds = {violation.source for violation in named if violation.prop in _KIND_PROPS}
        new = [item for item in found if item.key not in said and not (item.prop in _KIND_PROPS and item.source in kinds)]
        return (*named, *{item.key: item for item in new}.values())

    def reasons_about(self, entry: Compile, compile: Compile) -> tuple[Reason, ...]:
        """What PyTorch said about one entry; a reason knows no generation, and those of a compile are all of its own."""
        found = self.reasons.get(id(compile))
        if found is None:
            found = self.reasons[id(compile)] = {}
            for reason in compile.reasons:
                found[reason.entry] = (*found.get(reason.entry, ()), reason)
        return found.get(entry.label if entry.id.generation == 1 else entry.label.partition("#")[0], ())

    def focus(self, compiles: Iterable[Compile]) -> None:
        """Find out which facts differ at all among these, so that comparing each with each need not look at the others."""
        tables = [tree.facts for tree in {id(compile.guards): compile.guards for compile in compiles}.values() if tree]
        tables += [observation.facts for observation in {id(item): item for item in map(self.observe, compiles)}.values()]
        first = tables[0] if tables else {}
        same = {key for key, value in first.items() if all(table.get(key) == value for table in tables)}
        for compile in compiles:
            tree = compile.guards
            if tree:
                self.focused[id(tree)] = tuple((key, value) for key, value in tree.facts.items() if key not in same)

    def pair(self, entry: Compile, compile: Compile) -> tuple[object, ...]:
        """Pairs with the same key differ in the same facts."""
        return ((entry.guards_span and entry.guards_span.digest) or id(entry), *self.signature(compile))

    def signature(self, compile: Compile) -> tuple[object, ...]:
        """Two compiles with the same signature saw the same facts."""
        found = self.signatures.get(id(compile))
        if found is None:
            looks = hash(tuple(map(_LOOKS, compile.inputs))), hash(tuple(map(_HINTS, compile.symbols)))
            if compile.guards_span:
                found = compile.guards_span.digest or id(compile), *looks
            else:  # which hold most of what is known
                told = (compile.has_reasons_record, compile.inputs, compile.automatic_dynamic, *map(_SOURCES, compile.specializations))
                found = hash(told), *looks
            self.signatures[id(compile)] = found
        return found

    def likeness(self, compile: Compile) -> tuple[object, ...]:
        """Two compiles that are alike saw the same facts, pinned the same, have the same graph and are both dynamic or both not."""
        found = self.alike.get(id(compile))
        if found is None:
            graph = compile.graph_span and (compile.graph_span.digest or id(compile))
            pinned = tuple(map(_SOURCES, compile.specializations))
            found = self.alike[id(compile)] = (graph, compile.is_dynamic, pinned, *self.signature(compile))
        return found

    def number(self, compile: Compile, spelling: str) -> guard_expressions.Value | None:
        return self.observe(compile).numbers.get(self.spell(spelling))

    def spell(self, source: str) -> str:
        found = self.spellings.get(source)
        if found is None:
            found = self.spellings[source] = guard_expressions.canonical(source)
        return found

    def expression(self, text: str) -> guard_expressions.Expression:
        found = self.expressions.get(text)
        if found is None:
            found = self.expressions[text] = guard_expressions.parse(text)
        return found

    def _observe(self, compile: Compile) -> Observation:
        tree = compile.guards
        facts = {key: value for key, value in tree.facts.items() if value != DYNAMIC} if tree else {}
        numbers: dict[str, guard_expressions.Value] = {}
        for item in compile.inputs:
            facts.setdefault((item.source, "tensor"), "Parameter" if item.is_parameter else "Tensor")
            facts[item.source, "rank"] = len(item.size)
            facts[item.source, "dtype"] = item.dtype
            facts[item.source, "requires_grad"] = item.requires_grad
            spelled = self.spell(item.source)
            for name, values in (("size", item.size), ("stride", item.stride)):
                for dim, value in enumerate(values):
                    facts[item.source, f"{name}[{dim}]"] = value
                    numbers[f"{spelled}.{name}()[{dim}]"] = value
        for symbol in compile.symbols:
            source = unwrap(symbol.source)
            if source and symbol.hint and tensor_part(source) is None:
                facts.setdefault((source, "value"), symbol.hint)
                if symbol.value is not None:
                    numbers.setdefault(self.spell(source), symbol.value)
        for event in compile.automatic_dynamic:
            if event.dim == "scalar" and guard_expressions.integer(event.new) is not None:
                facts.setdefault((event.source, "value"), event.new)
        for (source, prop), fact in facts.items():
            number = guard_expressions.integer(fact) if prop == "value" and isinstance(fact, str) else None
            if number is not None:
                numbers.setdefault(self.spell(source), number)
        if not compile.inputs and tree:  # torch 2.4 describes no parameters, but static guards hold their sizes
            for (source, prop), size in facts.items():
                if isinstance(size, int) and prop.startswith(("size[", "stride[")):
                    part, _, index = prop[:-1].partition("[")
                    numbers.setdefault(f"{self.spell(source)}.{part}()[{index}]", size)
        has_symbols = bool(compile.symbols) or compile.has_reasons_record
        return Observation(facts, numbers, tree.types if tree else {}, tree, has_symbols)

    def _differences(self, tree: GuardTree, seen: Observation) -> Iterator[Violation]:
        facts, own = seen.facts, self.focused.get(id(tree)) or tree.facts.items()
        for key, expected in own:
            actual = facts.get(key)
            if actual == expected or expected == DYNAMIC:
                continue
            source, prop = key
            if actual is None:
                if prop in ("value", "type", "tensor", "id"):
                    yield from _other_kind(tree, seen, source, prop, expected)
            elif _really_differs(prop, expected, actual):
                guard = tree.by_key[key]
                if prop in ("type", "id"):
                    expected, actual = tree.types.get(source, str(expected)), seen.types.get(source, str(actual))
                yield Violation(source, prop, expected, actual, guard.comment)
        yield from _presence(tree, seen, own)
        yield from _aliasing(tree, seen.tree)
        for shape in tree.shapes:
            if self.expression(shape.expression).holds(seen.numbers) is False:
                yield self._shape_violation(shape, seen, None)

    def _shape_violation(self, shape: ShapeGuard, seen: Observation, reason: Reason | None) -> Violation:
        names = self.expression(shape.expression).names
        known = [f"{name} = {seen.numbers[name]}" for name in names if name in seen.numbers]
        return Violation(
            names[0] if names else "", f"shape {shape.expression}", shape.expression, ", ".join(known), shape.comment, shape, reason
        )

    def _from_reason(self, entry: Compile, compile: Compile, reason: Reason) -> Violation:
        """The failure that PyTorch named, with its source spelled as in the guard tree and the new value where another record has it."""
        tree, seen = entry.guards, self.observe(compile)
        if reason.family == "shape":
            for shape in tree.shapes if tree else ():
                if shape.expression == reason.code or without_locals(shape.expression) == reason.code:
                    return self._shape_violation(shape, seen, reason)
            return self._shape_violation(ShapeGuard(reason.code, reason.comment), seen, reason)
        owner = entry if tree else compile  # an entry without guards: this compile looked at the same sources
        source = self._unstripped(owner, owner.guards, reason.source)
        actual: Fact = seen.facts.get((source, reason.prop), UNKNOWN)
        if reason.family in ("size", "stride", "rank"):
            return Violation(source, reason.prop, int(reason.expected), int(reason.actual), reason.comment, reason=reason)
        if reason.family in ("dtype", "dispatch_keys", "device"):
            known = tree.facts.get((source, reason.prop), reason.expected) if tree else reason.expected
            return Violation(source, reason.prop, known, reason.actual if actual == UNKNOWN else actual, reason.comment, reason=reason)
        if reason.family == "requires_grad":
            wanted = reason.expected == "1"
            return Violation(source, reason.prop, wanted, not wanted, reason.comment, reason=reason)
        if reason.family == "tensor_type":
            return Violation(source, "type", "a tensor", type_name(reason.actual), reason.comment, reason=reason)
        if reason.family in ("type", "id"):
            was = tree.types.get(source, reason.actual) if tree else reason.actual
            return Violation(source, reason.prop, was, seen.types.get(source, _kind_seen(seen, source)), reason.comment, reason=reason)
        expected: Fact = reason.expected
        if reason.prop == "len":
            length = guard_expressions.integer(reason.expected)
            counted = _key_counts(seen.tree).get(source) if seen.tree and actual == UNKNOWN else None
            actual = counted if counted is not None and counted != length else actual
            expected = reason.expected if length is None else length
        elif reason.prop.startswith("has "):
            expected = reason.expected == "True"
        if reason.prop == "value" and actual == UNKNOWN:
            actual = _kind_seen(seen, source)
        if actual == expected:
            actual = UNKNOWN
        return Violation(source, reason.prop, expected, actual, reason.comment, reason=reason)

    def _unstripped(self, entry: Compile, tree: GuardTree | None, name: str) -> str:
        """``x`` of a reason back to ``L['x']``, with the help of the entry's own guards."""
        if tree is None or not name:
            return name
        key = (entry.guards_span and entry.guards_span.digest) or str(id(entry))
        table = self.stripped.get(key)
        if table is None:
            table = self.stripped[key] = {}
            sources = (*(guard.source for guard in tree.guards), *tree.types, *(item.source for item in entry.inputs))
            for source in dict.fromkeys(sources):
                table.setdefault(without_locals(source), source)
        return table.get(name) or table.get(without_locals(name)) or name


def is_state(violation: Violation) -> bool:
    """Whether a violation is a field of the global state, as the guard tree holds it."""
    return not violation.source and (violation.prop in STATE_PROPS or violation.prop.startswith("autocast "))


def _constant_type(text: str) -> str:
    """The Python type of a constant as written in a guard."""
    if text in _CONSTANT_TYPES:
        return _CONSTANT_TYPES[text]
    if guard_expressions.integer(text) is not None:
        return "int"
    if text[:1] in "'\"":
        return "str"
    try:
        float(text)
    except ValueError:
        return {"(": "tuple", "[": "list", "{": "set", "b": "bytes"}.get(text[:1], "")
    return "float"


def _kind_seen(seen: Observation, source: str) -> str:
    """What ``source`` was on the other side, in words; UNKNOWN if nothing there speaks of it."""
    facts = seen.facts
    if (source, "tensor") in facts:
        return "a tensor"
    value = facts.get((source, "value"))
    if isinstance(value, str):
        return value
    return seen.types.get(source, "another object" if (source, "type") in facts or (source, "id") in facts else UNKNOWN)


def _other_kind(tree: GuardTree, seen: Observation, source: str, prop: str, expected: Fact) -> Iterator[Violation]:
    """A source that is guarded as one kind of thing in the entry, and as another in the new compile."""
    facts, comment = seen.facts, tree.by_key[source, prop].comment
    was, now = tree.types.get(source, "").replace(*_AS_SAID), seen.types.get(source, "").replace(*_AS_SAID)
    if was and now and was != now:  # the tree names the type of everything that it looks at
        if was == "NoneType":
            yield Violation(source, "value", "None", facts.get((source, "value"), now), comment)
        elif now == "NoneType":
            yield Violation(source, "value", was, "None", comment)
        else:
            yield Violation(source, "type", was, facts.get((source, "value"), now), comment)
        return
    value, is_tensor = facts.get((source, "value")), (source, "tensor") in facts
    if prop == "value":
        type_seen = seen.types.get(source, "")
        if is_tensor:
            yield Violation(source, "value", expected, "a tensor", comment)
        elif value is None and ((source, "type") in facts or (source, "id") in facts):
            own = _constant_type(str(expected))
            if own == "NoneType" or (type_seen and own and type_seen != own):
                yield Violation(source, "value", expected, type_seen or "another object", comment)
            elif own in ("int", "float") and (source, "type") in facts and not seen.has_symbols:
                yield Violation(source, "value", expected, UNKNOWN, comment)
    elif prop == "tensor":
        if value is not None:
            yield Violation(source, "type", "a tensor", value, comment)
        elif (source, "type") in facts:
            yield Violation(source, "type", "a tensor", seen.types.get(source, "another object"), comment)
    elif prop == "type" and (source, "tensor") not in tree.facts:
        own = tree.types.get(source, "")
        if is_tensor:
            yield Violation(source, "type", own or "another type", "a tensor", comment)
        elif isinstance(value, str) and (value == "None" or (own and _constant_type(value) and own != _constant_type(value))):
            yield Violation(source, "value" if value == "None" else "type", own or "an object", value, comment)
    elif prop == "id" and (is_tensor or value is not None):
        yield Violation(source, "value", tree.types.get(source, "an object"), "a tensor" if is_tensor else str(value), comment)


def _really_differs(prop: str, expected: Fact, actual: Fact) -> bool:
    if prop == "tensor":
        return False  # Tensor against Parameter is no guard of its own
    if not prop.startswith("marking "):
        return True
    if expected is False:  # no mark when it was compiled
        return actual is not False
    if actual is False or actual is True or expected is True:
        return False
    return not _indices(str(actual)) <= _indices(str(expected))


def _indices(text: str) -> set[str]:
    return {part.strip() for part in text.strip("{}").split(",") if part.strip()}


def _described_differences(entry: Compile, compile: Compile) -> Iterator[Violation]:
    """Without the guards of the entry: what differs between the described tensors, where the entry has no symbol for it."""
    before = {item.source: item for item in entry.inputs}
    symbolic = {symbol.source for symbol in entry.symbols}
    for now in compile.inputs:
        was = before.get(now.source)
        if was is None:
            continue
        if len(was.size) != len(now.size):
            yield Violation(now.source, "rank", len(was.size), len(now.size))
            continue
        for prop, old, new in (("dtype", was.dtype, now.dtype), ("requires_grad", was.requires_grad, now.requires_grad)):
            if old != new:
                yield Violation(now.source, prop, old, new)
        for name, old_values, new_values in (("size", was.size, now.size), ("stride", was.stride, now.stride)):
            for dim, (one, other) in enumerate(zip(old_values, new_values, strict=False)):
                if one != other and f"{now.source}.{name}()[{dim}]" not in symbolic:
                    yield Violation(now.source, f"{name}[{dim}]", one, other)


def _presence(tree: GuardTree, seen: Observation, facts: Iterable[tuple[tuple[str, str], Fact]]) -> Iterator[Violation]:
    """Attributes that were absent and are looked at now, and (where no length is recorded) dicts that have more or fewer keys."""
    if seen.tree is None:
        return
    for (source, prop), expected in facts:
        if expected is False and prop.startswith("has attribute ") and f"{source}.{prop[14:]}" in seen.tree.sources:
            yield Violation(source, prop, False, True, tree.by_key[source, prop].comment)
    if not seen.has_symbols:
        counts = _key_counts(seen.tree)
        for source, count in _key_counts(tree).items():
            now = counts.get(source, count)
            if now != count and (source, "len") not in tree.facts:
                yield Violation(source, "len", count, now)


def _key_counts(tree: GuardTree) -> dict[str, int]:
    """How many keys of each dict are guarded."""
    counts: dict[str, int] = {}
    for source in tree.sources:
        owner = dict_of_key(source)
        if owner is not None:
            counts[owner] = counts.get(owner, 0) + 1
    return counts


def _aliasing(tree: GuardTree, other: GuardTree | None) -> Iterator[Violation]:
    """Inputs that were distinct tensors and are one now, or the other way round."""
    if other is None:
        return
    for first, second in sorted(other.same):
        if first in tree.distinct and second in tree.distinct:
            yield Violation("", "aliasing", "distinct", f"{first} is {second}")
    for first, second in sorted(tree.same):
        if first in other.distinct and second in other.distinct:
            yield Violation("", "aliasing", f"{first} is {second}", "distinct")


def covers(parent: str, violation: Violation) -> bool:
    """Whether a violation lies below an object that itself changed, and so follows from that."""
    return is_below(violation.source, parent)

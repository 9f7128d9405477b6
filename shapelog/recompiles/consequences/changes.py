"""All that separates a call from an entry, and what the consequences are recognized by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from shapelog.grouping import grouped
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Owners, Source
from shapelog.recompiles import tied_sizes
from shapelog.recompiles.evidence.violation import Described, Violation, constant_type, was_traced
from shapelog.recompiles.facts.compile_facts import CompileFacts

# What another object has of its own; sizes and values below it changed by themselves.
OBJECT_KINDS = frozenset((Kind.ID, Kind.TYPE, Kind.TENSOR, Kind.CLOSURE))
ARGUMENTS = ("L['args']", "L['kwargs']")
_SELF = "L['self']"
_NUMBERS = frozenset((Kind.VALUE, Kind.SIZE))
_WHOLE, _SWITCH = frozenset(("str", "bytes", "tuple", "list", "set", "frozenset")), frozenset(("True", "False"))
_WITH_OTHER_KEYS = frozenset((Kind.TENSOR, Kind.TYPE, Kind.DEVICE))


@dataclass(frozen=True, eq=False)
class Changes:
    """The violations of one call, in any order, and what is known of the entry and of the call. All else is found when it is asked for."""

    violations: Sequence[Violation]
    entry: CompileFacts
    call: CompileFacts

    @cached_property
    def _by_kind(self) -> Mapping[Kind, Sequence[Violation]]:
        return grouped(self.violations, lambda item: item.prop.kind)

    def has(self, kind: Kind) -> bool:
        return kind in self._by_kind

    def of(self, kind: Kind) -> Sequence[Violation]:
        """The violations of a kind: as a rule few, where those of all kinds may be thousands."""
        return self._by_kind.get(kind, ())

    # Objects

    @cached_property
    def replaced(self) -> dict[str, Violation]:
        """By source, the first sign that an object was replaced."""
        return {owner(item): item for item in reversed(self.violations) if replaces(item)}

    @cached_property
    def replaced_objects(self) -> Owners:
        return Owners(self.replaced)

    @cached_property
    def of_other_types(self) -> Owners:
        return Owners(item.source for item in self.of(Kind.TYPE))

    @cached_property
    def functions(self) -> Owners:
        """Those that have other code."""
        return Owners(owner(item) for item in self.of(Kind.ID) if item.source.endswith(".__code__"))

    @cached_property
    def class_changed(self) -> bool:
        """Whether ``self`` is of another class."""
        return any(item.source == _SELF for item in self.of(Kind.TYPE))

    @cached_property
    def callee(self) -> str:
        """What Dynamo's own wrapper calls, where that is another function or module; "" where it is not, and for other code."""
        callee = self.entry.wrapped or self.call.wrapped
        return callee if callee in self.replaced else ""

    @cached_property
    def collected(self) -> Owners:
        """Objects that are gone."""
        return Owners(item.source for item in self.of(Kind.LIFETIME) if item.source)

    @cached_property
    def arguments(self) -> Sequence[Violation]:
        """What changed in ``args`` and ``kwargs`` themselves."""
        return [item for item in self.violations if item.source in ARGUMENTS]

    @cached_property
    def whole(self) -> frozenset[Source]:
        """Texts and containers that are compared as a whole, and have another value."""
        return frozenset(item.source for item in self.of(Kind.VALUE) if constant_type(str(item.expected)) in _WHOLE)

    @cached_property
    def switched(self) -> frozenset[str]:
        """The names of attributes that were True or False: ``training`` of ``self.training``."""
        return frozenset(item.source.rpartition(".")[2] for item in self.of(Kind.VALUE) if str(item.expected) in _SWITCH)

    # Sizes and numbers. Names are spelled as in guard expressions.

    @cached_property
    def resized(self) -> frozenset[str]:
        """Tensors of which a size, a stride or the rank changed."""
        resized = {item.source.canonical for item in self.violations if item.prop.is_of_dim or item.prop.kind is Kind.RANK}
        for item in self.violations:
            names = item.shape.parsed.names if item.shape else ()
            if not any(".stride()[" in name for name in names):
                resized.update(name.split(".size()[")[0] for name in names)
        return frozenset(resized)

    @cached_property
    def rank_changed(self) -> frozenset[str]:
        """Tensors with another number of dims."""
        return frozenset(item.source.canonical for item in self.of(Kind.RANK))

    @cached_property
    def length_changed(self) -> Owners:
        """Containers of another length."""
        return Owners(item.source.canonical for item in self.of(Kind.LENGTH))

    @cached_property
    def static(self) -> Sequence[tuple[str, int, int]]:
        """The name that each static int and size that changed has in guards, its old and its new value."""
        found = []
        for item in self.violations:
            if item.prop.kind in _NUMBERS:
                before, after = integer(str(item.expected)), integer(str(item.actual))
                if before is not None and after is not None and before > 1:  # any equation may have a factor of 1
                    part = f".size()[{item.prop.dim}]" if item.prop.kind is Kind.SIZE else ""
                    found.append((f"{item.source.canonical}{part}", before, after))
        return found

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The new value of each of these, by its old one."""
        return {before: after for _, before, after in self.static}

    @cached_property
    def tied_to_static(self) -> set[str]:
        """The names that the guards of the call have together with one that was static in the entry, if the entry's call meets them all."""
        graph, own = self.entry.compile.graph, self.call.compile.graph
        fixed = {name for name, _, _ in self.static}
        if not fixed or not (graph and own and self.call.tree) or graph.key != own.key:
            return set()
        shapes = [shape.parsed for shape in self.call.tree.shapes if shape.is_of_code]
        if any(shape.holds(self.entry.numbers) is False for shape in shapes):
            return set()
        together = [(set(shape.names), fixed.intersection(shape.names)) for shape in shapes]
        return {name for names, known in together for name in names if known - {name}}

    @cached_property
    def by_equal_sizes(self) -> frozenset[str]:
        """Guards over sizes that were equal, which the call meets for others of them."""
        if not any(item.shape and item.shape.is_duck_shape for item in self.violations):
            return frozenset()
        return tied_sizes.met_by_equal_sizes(self.entry, self.call)

    # States

    @cached_property
    def grad_mode_changed(self) -> bool:
        return any("grad_mode" in f"{item.prop} {item.expected}" for item in self.of(Kind.GLOBAL_STATE))

    @cached_property
    def autocast_changed(self) -> bool:
        of_none = (item for item in self.violations if not item.source)
        return any(item.prop.kind is Kind.AUTOCAST or "autocast" in str(item.expected) for item in of_none)

    @cached_property
    def batched(self) -> frozenset[Source]:
        """Tensors that vmap wraps on one side only."""
        return self._wrapped("Batched")

    @cached_property
    def differentiated(self) -> frozenset[Source]:
        """Tensors that grad wraps on one side only."""
        return self._wrapped("GradWrapper")

    def _wrapped(self, key: str) -> frozenset[Source]:
        """The tensors that have a dispatch key with this in its name on one side alone."""
        return frozenset(item.source for item in self.violations if (key in str(item.expected)) != (key in str(item.actual)))

    @cached_property
    def faked(self) -> frozenset[str]:
        """Tensors that are fake ones on one side."""
        return frozenset(item.source for item in self.violations if was_traced(item) is not None)

    @cached_property
    def traced(self) -> bool:
        """Whether one side alone was traced with fake tensors, or by an operator that PyTorch compiles itself."""
        return bool(self.faked) or (self.call.is_operator and self.has(Kind.BACKEND))

    @cached_property
    def converted(self) -> frozenset[Source]:
        """Tensors of another type or on another device."""
        return frozenset(item.source for item in self.violations if item.prop.kind in _WITH_OTHER_KEYS)


def owner(item: Violation) -> str:
    """The object whose code or closure a violation is about; its source, for any other."""
    return item.source.removesuffix(".__code__").removesuffix(".__closure__")


def replaces(item: Violation) -> bool:
    """Whether the whole object behind the source is another one."""
    if item.prop.kind in OBJECT_KINDS:
        return True
    was_or_is_none = "None" in (str(item.expected), str(item.actual))
    return item.prop.kind is Kind.VALUE and (was_or_is_none or item.actual in (Described.TENSOR, Described.OTHER_OBJECT))

"""Violations that only follow from others: what lies below a replaced object, a stride that follows from a size, ..."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.reading.payloads.guard_expressions import Expression, integer
from shapelog.reading.payloads.properties import AUTOCAST_ENABLED, DUAL_LEVEL, TRANSFORMS, VALUE, Kind
from shapelog.reading.payloads.source_names import Owners, Source
from shapelog.recompiles import tied_sizes
from shapelog.recompiles.classification.result import code_of
from shapelog.recompiles.evidence.violation import Described, Violation, constant_type, was_traced
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.global_state import default_dtypes, is_of_cache
from shapelog.recompiles.strides import follows_from_sizes, layout, same_order

# What another object has of its own; sizes and values below it changed by themselves.
_OBJECT_KINDS = frozenset((Kind.ID, Kind.TYPE, Kind.TENSOR, Kind.CLOSURE))
_CONTENTS = frozenset((Kind.LENGTH, Kind.KEYS))
# What a member of an enum is made of, and the name that a function or a class was defined with.
_BY_DEFINITION = ("._value_", "._name_", ".__name__", ".__qualname__")
_OF_TRANSFORMS = ("G['__import_torch_dot__functorch_dot_", "G['__import_torch_dot_autograd_dot_forward_ad']")
_OF_FUNCTION_MODES = "___get_torch_function_mode_stack_at("
_SELF, _ARGUMENTS, _FIRST_OF_ALL = "L['self']", ("L['args']", "L['kwargs']"), "L['args'][0]"
_OWN_VARIABLES = (".__closure__", ".__defaults__", ".__kwdefaults__")
_TORCH, _PARAMETER = "torch.", "torch.nn.Parameter"
_MOST_MULTIPLIED = 16
_DIFFERENCE = re.compile(r"(?P<minuend>[^\s()]+) == (?:(?P<number>\d{1,18}) \+ )?(?P<subtrahend>[^\s()]+)")
_WRITTEN = re.compile(r"\d{1,18}")
_NUMBERS = frozenset((Kind.VALUE, Kind.SIZE))
_WHOLE, _SWITCH = frozenset(("str", "bytes", "tuple", "list", "set", "frozenset")), frozenset(("True", "False"))
_WITH_OTHER_KEYS = frozenset((Kind.TENSOR, Kind.TYPE, Kind.DEVICE))


class Consequence(NamedTuple):
    """A violation that follows from others, and the name of the rule that recognizes it."""

    violation: Violation
    because: str


@dataclass(frozen=True, eq=False)
class Changes:
    """All that separates a call from an entry, and what the consequences are recognized by.

    ``replaced`` has, by source, the first sign that an object was replaced, ``replaced_objects`` only the sources, ``of_other_types``
    those of which the type is another one. ``functions`` have other code; ``class_changed``: ``self`` is of another class. ``callee``
    is what Dynamo's own wrapper calls, if that is another one. ``collected`` are objects that are gone, ``converted`` those of another
    type or on another device. ``resized`` are tensors of which a size, stride or the rank changed, ``rank_changed`` those of another
    rank, ``length_changed`` containers; these are spelled as in guard expressions. ``batched`` and ``differentiated`` are tensors that
    vmap or grad wraps on one side only, ``transforms`` the changes of the state of torch.func. ``numbers`` has the new value of each
    static int and size that changed, by its old one, ``static`` the name that each has in guards, its old and its new value. ``traced``:
    one side alone was traced with fake tensors, or by an operator that PyTorch compiles itself. ``faked`` are the tensors that are fake
    ones on one side, ``whole`` texts and containers with another value, ``arguments`` what changed in ``args`` and ``kwargs`` themselves.
    ``by_equal_sizes`` are guards over sizes that were equal, which the call meets for others of them.
    """

    violations: Sequence[Violation]
    entry: CompileFacts
    call: CompileFacts
    by_kind: Mapping[Kind, Sequence[Violation]]
    replaced: dict[str, Violation]
    replaced_objects: Owners
    of_other_types: Owners
    functions: Owners
    class_changed: bool
    callee: str
    collected: Owners
    converted: frozenset[Source]
    resized: frozenset[str]
    rank_changed: frozenset[str]
    length_changed: Owners
    batched: frozenset[Source]
    differentiated: frozenset[Source]
    transforms: tuple[Violation, ...]
    grad_mode_changed: bool
    autocast_changed: bool
    numbers: dict[int, int]
    static: tuple[tuple[str, int, int], ...]
    traced: bool
    faked: frozenset[str]
    whole: frozenset[Source]
    switched: frozenset[str]
    arguments: tuple[Violation, ...]
    by_equal_sizes: frozenset[str]

    def has(self, kind: Kind) -> bool:
        return kind in self.by_kind

    def of(self, kind: Kind) -> Sequence[Violation]:
        """The violations of a kind: as a rule few, where those of all kinds may be thousands."""
        return self.by_kind.get(kind, ())

    @cached_property
    def tied_to_static(self) -> set[str]:
        """The names that the guards of the call have together with one that was static in the entry, if the entry's call meets them all."""
        graph, own = self.entry.compile.graph, self.call.compile.graph
        fixed = {name for name, _, _ in self.static}
        if not fixed or not (graph and own and self.call.tree) or graph.key != own.key:
            return set()
        shapes = [shape.parsed for shape in self.call.tree.shapes if not shape.is_duck_shape]
        if any(shape.holds(self.entry.numbers) is False for shape in shapes):
            return set()
        together = [(set(shape.names), fixed.intersection(shape.names)) for shape in shapes]
        return {name for names, known in together for name in names if known - {name}}


def separate(violations: Sequence[Violation], entry: CompileFacts, call: CompileFacts) -> tuple[list[Violation], list[Consequence]]:
    """What changed by itself, and what follows from that. What only follows from itself changed."""
    if len(violations) == 1:
        return list(violations), []
    changes = _changes(violations, entry, call)
    own: list[Violation] = []
    following: list[Consequence] = []
    for item in violations:
        because = next((name for name, follows in CONSEQUENCES.items() if follows(item, changes)), "")
        if because:
            following.append(Consequence(item, because))
        else:
            own.append(item)
    return (own, following) if own else ([item.violation for item in following], [])


def _changes(violations: Sequence[Violation], entry: CompileFacts, call: CompileFacts) -> Changes:
    resized = {item.source.canonical for item in violations if item.prop.is_of_dim or item.prop.kind is Kind.RANK}
    for item in violations:
        names = item.shape.parsed.names if item.shape else ()
        if not any(".stride()[" in name for name in names):
            resized.update(name.split(".size()[")[0] for name in names)
    # Of several signs that one object was replaced, the first counts.
    replaced = {_owner(item): item for item in reversed(violations) if _replaces(item)}
    states = [f"{item.prop} {item.expected}" for item in violations if item.prop.kind is Kind.GLOBAL_STATE]
    static = tuple(_numbers(violations))
    faked = frozenset(item.source for item in violations if was_traced(item) is not None)
    has_unequal = any(item.shape and item.shape.is_duck_shape for item in violations)
    return Changes(
        violations=violations,
        entry=entry,
        call=call,
        by_kind=grouped(violations, lambda item: item.prop.kind),
        replaced=replaced,
        replaced_objects=Owners(replaced),
        of_other_types=Owners(item.source for item in violations if item.prop.kind is Kind.TYPE),
        functions=Owners(_owner(item) for item in violations if item.prop.kind is Kind.ID and item.source.endswith(".__code__")),
        class_changed=any(item.source == _SELF and item.prop.kind is Kind.TYPE for item in violations),
        callee=_other_callee(violations, entry, call),
        collected=Owners(item.source for item in violations if item.prop.kind is Kind.LIFETIME and item.source),
        converted=frozenset(item.source for item in violations if item.prop.kind in _WITH_OTHER_KEYS),
        resized=frozenset(resized),
        rank_changed=frozenset(item.source.canonical for item in violations if item.prop.kind is Kind.RANK),
        length_changed=Owners(item.source.canonical for item in violations if item.prop.kind is Kind.LENGTH),
        batched=_wrapped(violations, "Batched"),
        differentiated=_wrapped(violations, "GradWrapper"),
        transforms=tuple(item for item in violations if item.prop.kind is Kind.FUNCTORCH_STATE),
        grad_mode_changed=any("grad_mode" in text for text in states),
        autocast_changed=any(item.prop.kind is Kind.AUTOCAST or "autocast" in str(item.expected) for item in violations if not item.source),
        numbers={before: after for _, before, after in static},
        static=static,
        whole=frozenset(item.source for item in violations if item.prop.kind is Kind.VALUE and constant_type(str(item.expected)) in _WHOLE),
        switched=frozenset(_attribute(item) for item in violations if item.prop.kind is Kind.VALUE and str(item.expected) in _SWITCH),
        traced=bool(faked) or (call.is_operator and any(item.prop.kind is Kind.BACKEND for item in violations)),
        faked=faked,
        arguments=tuple(item for item in violations if item.source in _ARGUMENTS),
        by_equal_sizes=tied_sizes.met_by_equal_sizes(entry, call) if has_unequal else frozenset(),
    )


def _wrapped(violations: Sequence[Violation], key: str) -> frozenset[Source]:
    """The tensors that have a dispatch key with this in its name on one side alone."""
    return frozenset(item.source for item in violations if (key in str(item.expected)) != (key in str(item.actual)))


def _other_callee(violations: Sequence[Violation], entry: CompileFacts, call: CompileFacts) -> str:
    """What the wrapper calls, where that is another function or module; "" where it is not, and for other code."""
    callee = entry.wrapped or call.wrapped
    return callee if any(_replaces(item) and callee == _owner(item) for item in violations) else ""


def _numbers(violations: Sequence[Violation]) -> Iterator[tuple[str, int, int]]:
    for item in violations:
        if item.prop.kind in _NUMBERS:
            before, after = integer(str(item.expected)), integer(str(item.actual))
            if before is not None and after is not None and before > 1:  # any equation may have a factor of 1
                part = f".size()[{item.prop.dim}]" if item.prop.kind is Kind.SIZE else ""
                yield f"{item.source.canonical}{part}", before, after


def _replaces(item: Violation) -> bool:
    """Whether the whole object behind the source is another one."""
    if item.prop.kind in _OBJECT_KINDS:
        return True
    was_or_is_none = "None" in (str(item.expected), str(item.actual))
    return item.prop.kind is Kind.VALUE and (was_or_is_none or item.actual in (Described.TENSOR, Described.OTHER_OBJECT))


def _owner(item: Violation) -> str:
    return item.source.removesuffix(".__code__").removesuffix(".__closure__")


def below_replaced_object(item: Violation, changes: Changes) -> bool:
    """What another object has of its own; another instance of the same class may have other items in its containers, too."""
    owners = [changes.replaced[owner] for owner in changes.replaced_objects.of(item.source)]
    if item.prop.kind in _CONTENTS:
        return any(owner.prop.kind is Kind.ID and owner is not item for owner in owners)
    if item.prop.kind not in _OBJECT_KINDS and not item.source.endswith(_BY_DEFINITION):
        return False
    return any(owner is not item for owner in owners)


def of_another_class(item: Violation, changes: Changes) -> bool:
    """What is looked up in the class of an object that is of another one: ``type(x).mode``."""
    return any(f"type({owner})" in item.source for owner in changes.of_other_types.of(item.source))


def variable_of_another_function(item: Violation, changes: Changes) -> bool:
    """Another function has variables of its own in its closure, and its own defaults: what has the same number there is another one."""
    return any(item.source.startswith(_OWN_VARIABLES, len(function)) for function in changes.functions.of(item.source))


def belongs_to_another_class(item: Violation, changes: Changes) -> bool:
    """A method that classes share, as ``__call__(self, *args, **kwargs)`` of Module is: the method of another class that it calls is
    another function, and takes other arguments.
    """
    if not changes.class_changed:
        return False
    return _is_arguments(item) or (item.prop.kind is Kind.ID and item.source.endswith(".__code__"))


def passed_to_another_function(item: Violation, changes: Changes) -> bool:
    """The arguments of a wrapper, on the line that passes them on to a function which is another one: ``fn(*args, **kwargs)``.

    Where their number is another one, so is the number of items that one of them has. Another function takes arguments of other types,
    but for a method, which another class has another one of.
    """
    owner = next((Source(arguments) for arguments in _ARGUMENTS if item.source.startswith(f"{arguments}[")), None)
    if owner is None:
        return _is_arguments(item) and _passes_on(code_of(item), item.source.display_name, changes)
    if item.prop.kind in _CONTENTS and any(passed_to_another_function(other, changes) for other in changes.arguments):
        return True
    if not _replaces(item) or (item.source == _FIRST_OF_ALL and all("." in str(known) for known in (item.expected, item.actual))):
        return False
    return any(_passes_on(code_of(other), owner.display_name, changes) for other in changes.of(Kind.ID))


def _passes_on(line: str, arguments: str, changes: Changes) -> bool:
    """Whether a line calls a function that is another one with all arguments of the wrapper."""
    codes = (other.source for other in changes.of(Kind.ID) if other.source.endswith(".__code__"))
    called = (re.escape(code.display_name.removesuffix(".__code__")) for code in codes)
    return any(re.search(rf"(?<![\w.]){name}\([^()]*\*{arguments}\b", line) for name in called)


def _is_arguments(item: Violation) -> bool:
    """Whether it is the number or the names of the arguments of a function that takes any."""
    return item.source in _ARGUMENTS and item.prop.kind in (Kind.LENGTH, Kind.KEYS, Kind.HAS)


def passed_to_another_callee(item: Violation, changes: Changes) -> bool:
    """What Dynamo's own wrapper passes on to another function or module, and what that has of its own."""
    return bool(changes.callee) and bool(item.source) and item.source not in (changes.callee, f"{changes.callee}.__code__")


def rank_changed(item: Violation, changes: Changes) -> bool:
    """A size or stride, or a guard over one, of a tensor with another number of dims."""
    if item.shape is None:
        return item.prop.is_of_dim and item.source.canonical in changes.rank_changed
    return any(re.split(r"\.(?:size|stride)\(\)\[", name)[0] in changes.rank_changed for name in item.shape.parsed.names)


def strides_follow_resized_tensor(item: Violation, changes: Changes) -> bool:
    """A guard that relates the strides of a tensor to its sizes, or to an int that is one of them, and failed because a size or stride
    that is static changed.
    """
    names = item.shape.parsed.names if item.shape else ()
    tensors = {name.split(".stride()[")[0] for name in names if ".stride()[" in name} & changes.resized
    if not tensors or all(".stride()[" in name for name in names):
        return False
    found = [tensor.source for name in tensors for tensor in changes.call.inputs_by_canonical.get(name, ())]
    return all(same_order(source, changes.entry, changes.call) for source in found)


def in_container_of_other_length(item: Violation, changes: Changes) -> bool:
    """A guard over an item of a container whose length changed belongs to the path for that length; a line that needs the exact value of
    an item does so for any length.
    """
    names = item.shape.parsed.names if item.shape else ()
    if item.shape and item.shape.parsed.is_equation and len(names) == 1 and item.source in changes.entry.specializations_by_source:
        return False
    return any(any(changes.length_changed.of(Source(name))) for name in names)


def product_of_other_items(item: Violation, changes: Changes) -> bool:
    """A pinned size that is the product of the ints of a container, of which the length changed: ``x.view(*size)`` pins it at theirs."""
    name = f"{item.source}.size()[{item.prop.dim}]"
    if item.prop.kind is not Kind.SIZE or not any(name in known.specializations_by_source for known in (changes.entry, changes.call)):
        return False
    sizes = integer(str(item.expected)), integer(str(item.actual))
    return any(
        sizes == (_product(other.source, other.expected, changes.entry), _product(other.source, other.actual, changes.call))
        for other in changes.of(Kind.LENGTH)
    )


def _product(container: Source, length: object, known: CompileFacts) -> int | None:
    """That of the ints in a container, None where not all are known."""
    number = integer(str(length))
    if number is None or not 0 < number <= _MOST_MULTIPLIED:
        return None
    items = [known.number((Source(f"{container}[{place}]"), VALUE)) for place in range(number)]
    return None if None in items else prod(item for item in items if item is not None)


def length_of_another_value(item: Violation, changes: Changes) -> bool:
    """Texts, tuples and the like that are compared as a whole have another length with another value."""
    return item.prop.kind is Kind.LENGTH and item.source in changes.whole


def constant_in_guard_changed(item: Violation, changes: Changes) -> bool:
    """A guard such as ``x.size()[0] == 2 + k`` or ``i < n - 1``, whose number is, or is calculated from, a static int or size that is
    another one in this call. But for an equation, the line of code must not have such a number itself.
    """
    if not changes.numbers or item.shape is None:
        return False
    guard = item.shape.parsed
    static = _fixed_before(guard, changes) if guard.is_equation and len(guard.names) == 1 else changes.static
    numbers = changes.numbers if static is changes.static else {before: after for _, before, after in static}
    if guard.is_equation and guard.with_constants(numbers).holds(changes.call.numbers) is True:
        return True
    if guard.is_equation and guard.with_constants(_products(static)).holds(changes.call.numbers) is True:
        return True
    written = {int(number) for number in _WRITTEN.findall(item.shape.comment.partition("  # ")[0])}
    calculated = {
        number + offset: now + offset
        for offset in (-1, 1, 0)
        for name, number, now in static
        if name not in guard.names and not written.intersection(range(number + offset - 1, number + offset + 2))
    }
    return bool(item.shape.comment and calculated) and guard.with_constants(calculated).holds(changes.call.numbers) is True


def simplified_by_a_static_size(item: Violation, changes: Changes) -> bool:
    """A guard such as ``x.size()[0] // 8 == 1`` for ``(past + x.size(0)) // 8 == 2``, where ``past`` was static and is another size now.

    The call's own entry has a symbol for that as well: it has the same graph, and its guards hold for the sizes of the earlier call.
    """
    return item.shape is not None and not item.shape.is_duck_shape and not changes.tied_to_static.isdisjoint(item.shape.parsed.names)


def met_by_equal_sizes(item: Violation, changes: Changes) -> bool:
    """A guard over a symbol that several equal sizes shared, of which this call has different ones."""
    return item.shape is not None and item.shape.expression in changes.by_equal_sizes


def length_that_fits_a_size(item: Violation, changes: Changes) -> bool:
    """``stop == 1 + start`` for ``x[start:stop] = y``, where y has a size of 1, and another one in this call: an equation of two ints whose
    number, which is 0 or 1, is a static size that changed as their difference did.
    """
    found = _DIFFERENCE.fullmatch(item.shape.expression) if item.shape else None
    if found is None:
        return False
    numbers = changes.call.numbers
    minuend, subtrahend = numbers.get(found["minuend"]), numbers.get(found["subtrahend"])
    if minuend is None or subtrahend is None:
        return False
    number = found["number"] or "0"
    sizes = ((str(other.expected), str(other.actual)) for other in changes.of(Kind.SIZE))
    return number in ("0", "1") and (number, str(minuend - subtrahend)) in sizes


def _products(static: tuple[tuple[str, int, int], ...]) -> dict[int, int]:
    """Each two numbers multiplied, as in ``x.size()[0] == 9*n`` for ``x.view(n, 3, 3)``."""
    pairs = combinations(static[:_MOST_MULTIPLIED], 2)
    return {one * other: one_now * other_now for (_, one, one_now), (_, other, other_now) in pairs}


def _fixed_before(guard: Expression, changes: Changes) -> tuple[tuple[str, int, int], ...]:
    """What ``static`` has that ``k == 8`` can come from: not the sizes and ints that became numbers only after k did."""
    places = [Source(source).canonical for item in changes.entry.compile.specializations for source in item.sources]
    name = guard.names[0]
    if name not in places:
        return changes.static
    later = frozenset(places[places.index(name) + 1 :])
    return tuple(item for item in changes.static if item[0] not in later)


def set_by_default_device(item: Violation, changes: Changes) -> bool:
    """The default device is a torch function mode, which has that device: where one is set or unset, the stack of modes changes as well."""
    if not changes.has(Kind.DEFAULT_DEVICE):
        return False
    devices = [{str(other.expected), str(other.actual)} for other in changes.of(Kind.DEFAULT_DEVICE)]
    if item.prop.kind is Kind.FUNCTION_MODES:
        return any("None" in values for values in devices)
    return item.source.startswith(_OF_FUNCTION_MODES) and {str(item.expected), str(item.actual)} in devices


def object_was_collected(item: Violation, changes: Changes) -> bool:
    """The identity of anything, once a named object that the entry belongs to is gone."""
    if item.prop.kind not in (Kind.ID, Kind.TYPE) or not changes.has(Kind.LIFETIME) or _is_another_than_collected(item, changes):
        return False
    return any(known.source for known in changes.of(Kind.LIFETIME))


def below_collected_object(item: Violation, changes: Changes) -> bool:
    if item.prop.kind is Kind.LIFETIME or _is_another_than_collected(item, changes):
        return False
    return any(changes.collected.of(item.source))


def collected_object_of_another_type(item: Violation, changes: Changes) -> bool:
    """The end of an object where that of the call is of another type: the entry would not be for it either, were the other alive."""
    if item.prop.kind is not Kind.LIFETIME:
        return False
    return any(other.source == item.source for other in changes.of(Kind.TYPE))


def _is_another_than_collected(item: Violation, changes: Changes) -> bool:
    """Whether it is that the object in the place of one that is gone is of another type."""
    if item.prop.kind is not Kind.TYPE:
        return False
    return any(other.source == item.source for other in changes.of(Kind.LIFETIME))


def not_named_by_pytorch(item: Violation, changes: Changes) -> bool:
    """PyTorch could not name what failed, and the facts do."""
    return item.prop.kind is Kind.UNKNOWN and len(changes.violations) > 1


def computed_under_other_grad_mode(item: Violation, changes: Changes) -> bool:
    """The requires_grad of the result of a computation follows the grad mode."""
    if item.prop.kind is not Kind.REQUIRES_GRAD or not changes.grad_mode_changed:
        return False
    found = (changes.entry.input(item.source), changes.call.input(item.source))
    return any(tensor is not None and tensor.has_history for tensor in found)


def gradient_of_a_parameter(item: Violation, changes: Changes) -> bool:
    """A parameter requires a gradient, and the plain tensor that is passed in its place does not, or the other way round."""
    if item.prop.kind is not Kind.REQUIRES_GRAD:
        return False
    types = {(str(other.expected), str(other.actual)) for other in changes.of(Kind.TYPE) if other.source == item.source}
    return any((before if item.expected is True else after) == _PARAMETER for before, after in types)


def metadata_with_requires_grad(item: Violation, changes: Changes) -> bool:
    """The metadata of a tensor subclass may have its requires_grad, as that of nested tensors (torch/nested/_internal/nested_tensor.py)
    and of DTensor does; where both differ, a call with the same requires_grad may have the same metadata.
    """
    return item.prop.kind is Kind.METADATA and any(other.source == item.source for other in changes.of(Kind.REQUIRES_GRAD))


def dtype_follows_default(item: Violation, changes: Changes) -> bool:
    """The dtype of a tensor that changed as the default dtype did, or as the complex one that belongs to it."""
    return item.prop.kind is Kind.DTYPE and any(
        (str(item.expected).removeprefix(_TORCH), str(item.actual).removeprefix(_TORCH)) in default_dtypes(other)
        for other in changes.of(Kind.GLOBAL_STATE)
    )


def changed_by_inference_mode(item: Violation, changes: Changes) -> bool:
    """Inference mode turns grad mode off, and autograd's dispatch keys of every tensor."""
    if item.prop.kind is Kind.INFERENCE_MODE or not changes.has(Kind.INFERENCE_MODE):
        return False
    if item.prop.kind is Kind.GLOBAL_STATE:
        return item.prop.name == "grad_mode" or item.expected == "grad_mode"
    if item.prop.kind is not Kind.DISPATCH_KEYS:
        return False
    old, new = (set(re.findall(r"\w+", str(text))) for text in (item.expected, item.actual))
    return all(key == "ADInplaceOrView" or key.startswith("Autograd") for key in old ^ new)


def changed_by_transform(item: Violation, changes: Changes) -> bool:
    """A transform of torch.func wraps the tensors, takes a dim from them (vmap), may make them require a gradient (grad), and counts its
    levels in ints of torch.
    """
    states, kind = changes.transforms, item.prop.kind
    if kind is Kind.RANK and item.source in changes.batched:
        return True
    if kind is Kind.REQUIRES_GRAD and item.source in changes.differentiated:
        return True
    if not states:
        return False
    if kind is Kind.RANK:
        return any(str(other.expected).count("'Vmap'") != str(other.actual).count("'Vmap'") for other in states)
    if kind is Kind.FUNCTORCH_STATE:
        return item.prop == DUAL_LEVEL and any(other.prop == TRANSFORMS for other in states)
    if kind is Kind.REQUIRES_GRAD:
        return any("'Grad'" in f"{other.expected}{other.actual}" for other in states)
    if kind is Kind.DISPATCH_KEYS:
        old, new = (set(re.findall(r"\w+", str(text))) for text in (item.expected, item.actual))
        return all(key.startswith(("FuncTorch", "Functionalize")) for key in old ^ new)
    return kind is Kind.VALUE and item.source.startswith(_OF_TRANSFORMS)


def changed_by_tracing(item: Violation, changes: Changes) -> bool:
    """Tracing runs under a dispatch mode, turns the cache of autocast off, and makes a fake tensor of one that was the same as another."""
    if item.prop.kind is Kind.DISPATCH_KEYS:
        old, new = (set(re.findall(r"\w+", str(text))) for text in (item.expected, item.actual))
        is_traced = changes.traced or any(map(is_of_cache, (*changes.of(Kind.AUTOCAST), *changes.of(Kind.GLOBAL_STATE))))
        return is_traced and all(key.startswith("Python") for key in old ^ new)
    if item.prop.kind is Kind.ALIASING:
        return not changes.faked.isdisjoint(f"{item.expected} is {item.actual}".split(" is "))
    return changes.traced and is_of_cache(item)


def dispatch_keys_of_autocast(item: Violation, changes: Changes) -> bool:
    return item.prop.kind is Kind.DISPATCH_KEYS and changes.autocast_changed and "Autocast" in f"{item.expected}{item.actual}"


def set_by_entering_autocast(item: Violation, changes: Changes) -> bool:
    """Where autocast is turned on or off, its dtype on that device and its cache change as well."""
    if item.prop.kind is not Kind.AUTOCAST or item.prop == AUTOCAST_ENABLED:
        return False
    switched = {place for other in changes.of(Kind.AUTOCAST) if other.prop == AUTOCAST_ENABLED for place in _places_that_differ(other)}
    return bool(switched) and (item.prop.name != "dtype" or _places_that_differ(item) <= switched)


def _places_that_differ(item: Violation) -> set[int]:
    """The numbers of the device types on which a part of the state of autocast differs."""
    before, after = (re.findall(r"\w+", str(value)) for value in (item.expected, item.actual))
    return {place for place, (old, new) in enumerate(zip(before, after, strict=False)) if old != new}


def stride_follows_size(item: Violation, changes: Changes) -> bool:
    return item.prop.kind is Kind.STRIDE and follows_from_sizes(item.source, item.prop.dim, changes.entry, changes.call)


def stride_of_a_single_element(item: Violation, changes: Changes) -> bool:
    """The stride of a dim whose size became 0 or 1, or was: there it means nothing."""
    if item.prop.kind is not Kind.STRIDE:
        return False
    before, after = layout(changes.entry, item.source), layout(changes.call, item.source)
    if before is None or after is None or max(item.prop.dim, 0) >= min(len(before.sizes), len(after.sizes)):
        return False
    sizes = before.sizes[item.prop.dim], after.sizes[item.prop.dim]
    return sizes[0] != sizes[1] and min(sizes) <= 1


def added_with_switch(item: Violation, changes: Changes) -> bool:
    """An attribute that came or went with a switch of its name: ``gradient_checkpointing_enable()`` sets it on a model and its layers."""
    return item.prop.kind is Kind.HAS_ATTRIBUTE and item.prop.name in changes.switched


def _attribute(item: Violation) -> str:
    """``training`` of ``self.training``."""
    return item.source.rpartition(".")[2]


def dispatch_keys_of_device(item: Violation, changes: Changes) -> bool:
    """A tensor on another device, or of another type (a subclass, say), has other dispatch keys."""
    return item.prop.kind is Kind.DISPATCH_KEYS and item.source in changes.converted


CONSEQUENCES: dict[str, Callable[[Violation, Changes], bool]] = {
    follows.__name__: follows
    for follows in (
        below_replaced_object,
        of_another_class,
        variable_of_another_function,
        belongs_to_another_class,
        passed_to_another_function,
        passed_to_another_callee,
        rank_changed,
        strides_follow_resized_tensor,
        in_container_of_other_length,
        product_of_other_items,
        length_of_another_value,
        constant_in_guard_changed,
        simplified_by_a_static_size,
        met_by_equal_sizes,
        length_that_fits_a_size,
        dtype_follows_default,
        set_by_default_device,
        object_was_collected,
        below_collected_object,
        collected_object_of_another_type,
        not_named_by_pytorch,
        computed_under_other_grad_mode,
        gradient_of_a_parameter,
        metadata_with_requires_grad,
        changed_by_inference_mode,
        changed_by_transform,
        changed_by_tracing,
        dispatch_keys_of_autocast,
        set_by_entering_autocast,
        stride_follows_size,
        stride_of_a_single_element,
        dispatch_keys_of_device,
        added_with_switch,
    )
}

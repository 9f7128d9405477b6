"""Facts of a call, compared with what an earlier entry checks → violations: every fact in which the call does not satisfy the entry.

A guard that only one of two trees has shows nothing: the value on the other side is not known, and often the guard is only there
because the code took another path.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import DYNAMIC, Fact, GuardTree, Key, ShapeGuard, type_name
from shapelog.reading.payloads.properties import (
    DTYPE,
    DUAL_LEVEL,
    ID,
    INFERENCE_MODE,
    LENGTH,
    RANK,
    REQUIRES_GRAD,
    TENSOR,
    TRANSFORMS,
    TYPE,
    VALUE,
    Kind,
    Property,
    size,
    stride,
)
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import Source, with_locals, without_locals
from shapelog.recompiles.facts import CompileFacts

_CONSTANT_TYPES = {"True": "bool", "False": "bool", "None": "NoneType"}
_BRACKET_TYPES = {"(": "tuple", "[": "list", "{": "set"}
# What other constants are made with: ``device(type='cpu')``, ``frozenset({1, 2})``.
_CALLED = re.compile(r"(?:device|frozenset|range|slice)(?=\()")
_TENSOR_TYPE = "torch.Tensor"
_OF_NN = frozenset(("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer"))
FAKE_TENSOR = "FakeTensor"
_FROM_NUMPY, _NDARRAY = "___from_numpy(", "numpy.ndarray"
THE_CLASS = "the class "
# What the types of classes end with.
_METACLASSES = ("type", "Meta", "Type")
# c10::ScalarType, as reasons name it.
_DTYPES = {
    "Byte": "uint8",
    "Char": "int8",
    "Short": "int16",
    "Int": "int32",
    "Long": "int64",
    "Half": "float16",
    "Float": "float32",
    "Double": "float64",
    "BFloat16": "bfloat16",
    "ComplexHalf": "complex32",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
    "Bool": "bool",
    "Float8_e5m2": "float8_e5m2",
    "Float8_e4m3fn": "float8_e4m3fn",
}
# The dicts of a torch.nn.Module.
_KINDS_OF_TENSORS = {"_parameters": "torch.nn.Parameter", "_buffers": "torch.nn.Buffer"}
_REGISTERED, _QUOTES = ("_parameters", "_buffers", "_modules"), "'\""
# Properties that identify an object; one that fails is enough.
_IDENTITY = frozenset((Kind.VALUE, Kind.TYPE, Kind.ID, Kind.TENSOR, Kind.NAN))
_ALIASING = Property(Kind.ALIASING)


class Described(Enum):
    """What is known of a value that the trace does not write."""

    UNKNOWN = ""
    TENSOR = "a tensor"
    OBJECT = "an object"
    OTHER_OBJECT = "another object"
    OTHER_TYPE = "another type"
    DISTINCT = "distinct"

    def __str__(self) -> str:
        return self.value


Known = Fact | Described


class Violation(NamedTuple):
    """``source`` had ``prop`` = ``actual`` where the entry requires ``expected``.

    ``shape`` is set for a guard over sizes, ``reason`` where PyTorch itself named this failure.
    """

    source: Source
    prop: Property
    expected: Known
    actual: Known
    comment: str = ""
    shape: ShapeGuard | None = None
    reason: Reason | None = None

    @property
    def key(self) -> Key:
        return self.source, self.prop

    @property
    def is_global_state(self) -> bool:
        """Whether it is a field of the global state that the guard tree holds, as in torch 2.13 and later."""
        return self.prop.kind is Kind.AUTOCAST or (self.prop.kind is Kind.GLOBAL_STATE and bool(self.prop.name))


def violations(entry: CompileFacts, call: CompileFacts, reasons: Sequence[Reason]) -> tuple[Violation, ...]:
    """Every fact in which a call is known not to satisfy the guards of an entry, the failures that PyTorch named (``reasons``) first."""
    named = [_from_reason(entry, call, reason) for reason in reasons]
    found = list(_against_guards(entry, entry.tree, call) if entry.tree else _against_inputs(entry, call))
    named, found = _with_marked_tensor(named, found)
    named = [_with_values(item, found) for item in named]
    state = next((item.reason for item in named if item.prop.kind is Kind.GLOBAL_STATE), None)
    if state is not None and any(item.is_global_state for item in found):  # the tree has both values of each field
        named = [item for item in named if item.prop.kind is not Kind.GLOBAL_STATE]
        found = [item._replace(reason=state) if item.is_global_state and _is_named_in(state, item.prop) else item for item in found]
    known = {item.key for item in named}
    identified = {item.source for item in named if item.prop.kind in _IDENTITY}
    new = [item for item in found if item.key not in known and not (item.prop.kind in _IDENTITY and item.source in identified)]
    return (*_inference_mode(entry, call, named), *named, *{item.key: item for item in new}.values())


def _with_values(item: Violation, found: Sequence[Violation]) -> Violation:
    """An object that PyTorch names by its address alone (2.8 and older), as the guards of both calls have it."""
    if item.reason is None or item.reason.family != "id" or item.reason.actual:
        return item
    return next(
        (other._replace(reason=item.reason) for other in found if other.source == item.source and other.prop.kind in _IDENTITY), item
    )


def _with_marked_tensor(named: list[Violation], found: list[Violation]) -> tuple[list[Violation], list[Violation]]:
    """A marking that PyTorch names without its tensor, as the guards have it."""
    reason = next((item.reason for item in named if item.prop.kind is Kind.MARKING and not item.source), None)
    if reason is None or not any(item.prop.kind is Kind.MARKING for item in found):
        return named, found
    rest = [item for item in named if item.prop.kind is not Kind.MARKING or item.source]
    return rest, [item._replace(reason=reason) if item.prop.kind is Kind.MARKING else item for item in found]


def _inference_mode(entry: CompileFacts, call: CompileFacts, named: Sequence[Violation]) -> Iterator[Violation]:
    """Inference mode that was entered or left. PyTorch names a tensor whose dispatch keys changed with it, or grad mode."""
    before, after = (known.facts.get((Source(), INFERENCE_MODE)) for known in (entry, call))
    if before is None or after is None or before == after:
        return
    kinds = (Kind.DISPATCH_KEYS, Kind.GLOBAL_STATE)
    reason = next((item.reason for item in named if item.prop.kind in kinds), None)
    yield Violation(Source(), INFERENCE_MODE, before, after, reason.comment if reason else "", reason=reason)


def _is_named_in(reason: Reason, field: Property) -> bool:
    """Whether PyTorch's list of what changed names a field of the global state: ``grad_mode autocast(cpu)_enabled``."""
    name = Kind.AUTOCAST.value if field.kind is Kind.AUTOCAST else field.name
    return any(word.startswith(name) or name.startswith(word) for word in reason.expected.split())


def _against_guards(entry: CompileFacts, tree: GuardTree, call: CompileFacts) -> Iterator[Violation]:
    facts = call.facts
    for key, expected in tree.facts.items():
        actual = facts.get(key)
        if actual == expected or expected == DYNAMIC:
            continue
        source, prop = key
        if actual is None:
            if prop.kind in _IDENTITY:
                yield from _another_kind(tree, call, source, prop, expected)
            elif prop.kind is Kind.SIZE and (size_now := _size_of_part(tree, call, key)) not in (None, expected):
                yield Violation(source, prop, expected, size_now, comment=tree.by_key[key].comment)
        elif prop.kind is Kind.TENSOR:
            if call.guarded(key) == actual:  # the type of a tensor is checked exactly
                yield Violation(source, TYPE, _tensor_kind(expected), _tensor_kind(actual), comment=tree.by_key[key].comment)
        elif _differs(prop, expected, actual):
            is_object = prop.kind in (Kind.TYPE, Kind.ID)
            known = _objects(tree, call, source, prop, str(expected), str(actual)) if is_object else (prop, expected, actual)
            yield Violation(source, *known, comment=tree.by_key[key].comment)
    yield from _presence(tree, call)
    yield from _aliasing(tree, call.tree)
    for shape in tree.shapes:
        if shape.parsed.holds(call.numbers) is False:
            yield _shape_violation(shape, entry, call, None)


def _size_of_part(tree: GuardTree, call: CompileFacts, key: Key) -> Fact | None:
    """The size of a tensor that a subclass consists of, where it is dynamic in the call: that of the subclass, if it had the same."""
    source, prop = key
    whole = Source(source.rpartition(".")[0]), prop
    if call.guarded(key) != DYNAMIC or tree.facts.get(whole) != tree.facts[key]:
        return None
    return call.facts.get(whole)


def was_traced(item: Violation) -> bool | None:
    """Whether a tensor was a fake one in the entry and is real in the call, False the other way round; None for any other violation."""
    is_fake = [str(known).endswith(FAKE_TENSOR) for known in (item.expected, item.actual)]
    is_real = [known is Described.TENSOR or str(known).startswith("torch.nn.") for known in (item.expected, item.actual)]
    if item.prop.kind is not Kind.TYPE or not any(is_fake) or not any(is_real):
        return None
    return is_fake[0]


def _differs(prop: Property, expected: Fact, actual: Fact) -> bool:
    """Whether two unequal values violate a guard."""
    if prop.kind is not Kind.MARKING:
        return True
    if expected is False:  # not marked when it was compiled
        return actual is not False
    if actual is False or actual is True or expected is True:
        return False
    return not _indices(str(actual)) <= _indices(str(expected))


def _indices(text: str) -> set[str]:
    return {part.strip() for part in text.strip("{}").split(",") if part.strip()}


def _shape_violation(shape: ShapeGuard, entry: CompileFacts, call: CompileFacts, reason: Reason | None) -> Violation:
    """A guard over sizes, with those of the call. Sizes that satisfy what failed are not its own, but those that a mark names as a hint.

    Where a tensor and the base of another one are required to have the same size because they are one, they no longer are.
    """
    names = shape.parsed.names
    if (base := _base_of(names, entry)) is not None:
        return Violation(Source(), _ALIASING, base, Described.DISTINCT, shape.comment, reason=reason)
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


def _from_reason(entry: CompileFacts, call: CompileFacts, reason: Reason) -> Violation:
    """The failure that PyTorch named, with its source as in the guard tree, and the new value where another record has it."""
    if reason.family == "shape":
        shapes = entry.tree.shapes if entry.tree else ()
        written = (shape for shape in shapes if reason.code in (shape.expression, without_locals(shape.expression)))
        return _shape_violation(next(written, ShapeGuard(reason.code, reason.comment)), entry, call, reason)
    owner = entry if entry.tree else call  # without guards of the entry: the same sources are guarded in this compile
    if len(reason.same) > 1:
        pair = " is ".join(_full_source(owner, name) for name in reason.same)
        before, after = (Described.DISTINCT, pair) if reason.family == "duplicate" else (pair, Described.DISTINCT)
        return Violation(Source(), _ALIASING, before, after, reason.comment, reason=reason)
    source = _full_source(owner, reason.source) or (
        _no_longer_view(entry, call) if reason.prop.kind is Kind.VIEW else _source_of(entry, reason)
    )
    if (attribute := _registered_anew(entry, call, source, reason)) is not None:
        return attribute
    prop, expected, actual = _named_values(entry, call, source, reason)
    return Violation(source, prop, expected, actual, reason.comment, reason=reason)


def _source_of(entry: CompileFacts, reason: Reason) -> Source:
    """The source of a guard whose text does not name it, such as ``___check_metadata_140057847825888_c0/0``."""
    guards = entry.tree.guards if entry.tree and reason.code else ()
    return next((guard.source for guard in guards if guard.text == reason.code), Source())


def _no_longer_view(entry: CompileFacts, call: CompileFacts) -> Source:
    """The first tensor whose base the entry has a guard on, and that is no view in the call."""
    names = (name for shape in (entry.tree.shapes if entry.tree else ()) for name in shape.parsed.names)
    owners = (owner for owner, base, _ in (name.partition("._base.") for name in names) if base)
    found = (tensor.source for owner in owners for tensor in call.inputs_by_canonical.get(owner, ()) if not tensor.is_view)
    return next(found, Source())


def _named_values(entry: CompileFacts, call: CompileFacts, source: Source, reason: Reason) -> tuple[Property, Known, Known]:
    """(property, what the entry requires, what came) of a failure that PyTorch named."""
    prop, kind, actual = reason.prop, reason.prop.kind, call.facts.get((source, reason.prop))
    if source.startswith(_FROM_NUMPY) and (source.unwrapped, TENSOR) in call.facts:
        return TYPE, _NDARRAY, Described.TENSOR
    if kind in (Kind.SIZE, Kind.STRIDE, Kind.RANK):
        is_whole = bool(reason.actual)  # a text log may end before it
        return prop, int(reason.expected) if is_whole else Described.UNKNOWN, int(reason.actual) if is_whole else Described.UNKNOWN
    if kind in (Kind.DTYPE, Kind.DISPATCH_KEYS, Kind.DEVICE):
        known = entry.guarded((source, prop))
        return prop, _dtype(reason.expected) if known is None else known, _dtype(reason.actual) if actual is None else actual
    if kind is Kind.FUNCTORCH_STATE:
        return _transforms(call, reason)
    if kind is Kind.PRESENT and (registered := _registered(call, source)):
        was = entry.guarded((source, VALUE)) or entry.types.get(source) or Described.OBJECT
        if was == "None":
            return VALUE, was, Described.TENSOR if registered in _KINDS_OF_TENSORS.values() else registered
        return TYPE, _type_known(was) if isinstance(was, str) else was, registered
    if kind is Kind.BACKEND:
        is_known = bool(reason.code) or entry.tree is not None  # with guards that hold, nothing but the backend is left
        return prop if is_known else Property(Kind.UNKNOWN), reason.expected, reason.actual
    if kind is Kind.REQUIRES_GRAD and reason.expected:
        return prop, reason.expected == "1", reason.expected != "1"
    if reason.family == "tensor_type":
        return TYPE, _tensor_type(entry, source), type_name(reason.actual)
    if kind in (Kind.TYPE, Kind.ID):
        seen = _kind_seen(call, source)
        known_type = _type_of(seen) if kind is Kind.TYPE and isinstance(seen, str) else seen
        return _objects(entry.tree, call, source, prop, reason.actual or reason.expected, known_type)
    expected: Known = reason.expected
    was, now = entry.types.get(source, ""), call.types.get(source, "")
    if reason.family == "iterator" and was and now and was != now:  # its check has the type in it
        return _another_type(was, now, entry.tree, call, source)
    if kind is Kind.LENGTH:
        length = integer(reason.expected)
        counted = call.tree.key_counts.get(source) if call.tree and actual is None else None
        actual = counted if counted is not None and counted != length else actual
        expected = reason.expected if length is None else length
    elif kind in (Kind.HAS, Kind.HAS_ATTRIBUTE):
        expected = reason.expected == "True"
    if kind is Kind.VALUE and actual is None and reason.actual:
        return prop, expected, reason.actual
    number = call.numbers.get(source.canonical) if kind is Kind.VALUE and actual is None else None
    if number is not None and str(number) != str(expected):
        return prop, expected, str(number)
    if kind is Kind.VALUE and actual is None:
        seen = _kind_seen(call, source)
        return prop, expected, Described.UNKNOWN if seen in (expected, constant_type(str(expected))) else seen
    return prop, expected, Described.UNKNOWN if actual is None or actual == expected else actual


def _registered_anew(entry: CompileFacts, call: CompileFacts, source: Source, reason: Reason) -> Violation | None:
    """What was a module, a parameter or a buffer, and is something else in this call, such as None: that is kept in another dict."""
    owner, _, part = source.rpartition(".")
    if reason.prop.kind is not Kind.HAS or reason.expected != "True" or part not in _REGISTERED:
        return None
    attribute, item = Source(f"{owner}.{reason.prop.name.strip(_QUOTES)}"), Source(f"{source}[{reason.prop.name}]")
    was: Known = Described.TENSOR if (item, TENSOR) in entry.facts else entry.types.get(item, "")
    now = _kind_seen(call, attribute)
    if now is Described.UNKNOWN:
        now = _registered(call, attribute) or now
    if was is Described.TENSOR and (now is was or now in _KINDS_OF_TENSORS.values()):
        was = _KINDS_OF_TENSORS[part]
    if not was or now is Described.UNKNOWN:
        return None
    guard = call.tree.by_key.get((attribute, VALUE)) if call.tree else None
    return Violation(attribute, TYPE, was, _type_of(now) if isinstance(now, str) else now, guard.comment if guard else "", reason=reason)


def _registered(call: CompileFacts, source: Source) -> Known | None:
    """What an attribute of a module is that became a parameter, a buffer or a module, and is kept in another dict since."""
    owner, _, name = source.rpartition(".")
    for part in _REGISTERED:
        found = Source(f"{owner}.{part}['{name}']")
        if (found, TENSOR) in call.facts:
            return _KINDS_OF_TENSORS.get(part, Described.TENSOR)
        if found in call.types:
            return call.types[found]
    return None


def _transforms(call: CompileFacts, reason: Reason) -> tuple[Property, Known, Known]:
    """The transforms of torch.func, or the level of forward-mode AD. Outside of all of them, only code that uses them has the guard."""
    prop = DUAL_LEVEL if "forward_ad" in reason.code else TRANSFORMS
    actual = call.facts.get((Source(), prop), "[]" if prop == TRANSFORMS else Described.UNKNOWN)
    return prop, reason.expected, Described.UNKNOWN if actual == reason.expected else actual


def _tensor_type(entry: CompileFacts, source: Source) -> Known:
    """What kind of tensor an entry was compiled with."""
    if source.startswith(_FROM_NUMPY):
        return _NDARRAY
    return _tensor_kind(entry.guarded((source, TENSOR)))


def _tensor_kind(name: Fact | None) -> Known:
    """The type of a tensor as its guard has it, without a module; those of torch.nn with it."""
    if name in (None, "Tensor"):
        return Described.TENSOR
    return f"torch.nn.{name}" if name in _OF_NN else str(name)


def _dtype(name: str) -> str:
    """``float32`` for the ``Float`` of PyTorch's C++ code."""
    return _DTYPES.get(name, name)


def _objects(
    tree: GuardTree | None, call: CompileFacts, source: Source, prop: Property, expected: str, actual: Known
) -> tuple[Property, Known, Known]:
    """(property, before, after) of two objects that differ: their types, where those differ too, or the classes that they are.

    ``expected`` and ``actual`` are what is left where the guards do not name them.
    """
    was, now = tree.types.get(source, "") if tree else "", call.types.get(source, "")
    if was and now and was != now:
        return _another_type(was, now, tree, call, source)
    if was and was == now and was.endswith(_METACLASSES):
        classes = [_class_of(known, source) for known in (tree, call.tree)]
        if all(classes):
            return prop, classes[0], classes[1]
    if was.endswith(_METACLASSES) and not now:  # the call left no guards
        return prop, _class_of(tree, source) or was, actual
    return prop, was or expected, now or actual


def _object_known(of_type: str, tree: GuardTree | None, source: Source) -> str:
    """What is known of an object: its type, or, where it is a class, which one."""
    return (_class_of(tree, source) if of_type.endswith(_METACLASSES) else "") or of_type


def _class_of(tree: GuardTree | None, source: Source) -> str:
    """``the class A``, for a source that is guarded as a class; "" where the guards do not name it."""
    guard = tree.by_key.get((source, ID)) if tree else None
    _, named, text = guard.text.rpartition(", type=") if guard else ("", "", "")
    return f"{THE_CLASS}{type_name(text)}" if named else ""


def _full_source(owner: CompileFacts, name: Source) -> Source:
    """``x`` of a reason back to ``L['x']``, with the help of the entry's own guards."""
    known = owner.guarded_by_short_name if owner.tree and name else {}
    return known.get(name) or known.get(without_locals(name)) or with_locals(name)


def constant_type(text: str) -> str:
    """The Python type of a constant as written in a guard."""
    if text in _CONSTANT_TYPES:
        return _CONSTANT_TYPES[text]
    if integer(text) is not None:
        return "int"
    if text[:1] in "'\"":
        return "str"
    if text[:2] in ("b'", 'b"'):
        return "bytes"
    for known in (float, complex):
        try:
            known(text)
        except ValueError:
            continue
        return known.__name__
    called = _CALLED.match(text)
    return called[0] if called else _BRACKET_TYPES.get(text[:1], "")


def _type_of(value: str) -> str:
    """The type of a constant, for a sentence about types; ``None`` is a type of its own."""
    return value if value == "None" else constant_type(value) or value


def _kind_seen(call: CompileFacts, source: Source) -> Known:
    """What ``source`` was in a call."""
    facts = call.facts
    if (source, TENSOR) in facts:
        return Described.TENSOR
    value = facts.get((source, VALUE))
    if isinstance(value, str):
        return value
    has_identity = (source, TYPE) in facts or (source, ID) in facts
    return _object_known(call.types.get(source, ""), call.tree, source) or (Described.OTHER_OBJECT if has_identity else Described.UNKNOWN)


def _another_kind(tree: GuardTree, call: CompileFacts, source: Source, prop: Property, expected: Fact) -> Iterator[Violation]:
    """A source that is guarded as one kind of thing in the entry, and as another in the new compile."""
    comment = tree.by_key[source, prop].comment
    was, now = tree.types.get(source, ""), call.types.get(source, "")
    found = (
        _another_type(was, now, tree, call, source) if was and now and was != now else _another_guard(tree, call, source, prop, expected)
    )
    if found is not None:
        other, before, after = found
        yield Violation(source, other, before, after, comment)


def _another_type(was: str, now: str, tree: GuardTree | None, call: CompileFacts, source: Source) -> tuple[Property, Known, Known]:
    """Where both trees name the type of what they look at."""
    value = call.facts.get((source, VALUE))
    before, after = (_type_known(_object_known(name, of, source)) for name, of in ((was, tree), (now, call.tree)))
    if was == "NoneType":
        return VALUE, "None", after if value is None else value
    if now == "NoneType":
        return VALUE, before, "None"
    if all(str(known).startswith(THE_CLASS) for known in (before, after)):  # of different metaclasses
        return ID, before, after
    if str(before).startswith(THE_CLASS) and value is not None:  # a class is a value, too
        after = value
    return TYPE, before, after


def _type_known(name: str) -> Known:
    return Described.TENSOR if name == _TENSOR_TYPE else name


def _another_guard(
    tree: GuardTree, call: CompileFacts, source: Source, prop: Property, expected: Fact
) -> tuple[Property, Known, Known] | None:
    """(property, before, after) where the call has other facts about the source; None where they show no change."""
    facts = call.facts
    value, is_tensor, has_type = facts.get((source, VALUE)), (source, TENSOR) in facts, (source, TYPE) in facts
    own, type_seen = tree.types.get(source, ""), call.types.get(source, "")
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
            return TYPE, Described.TENSOR, _type_of(str(value))
        if has_type:
            return TYPE, Described.TENSOR, type_seen or Described.OTHER_OBJECT
    elif prop.kind is Kind.TYPE and (source, TENSOR) not in tree.facts:
        if is_tensor:
            return TYPE, own or Described.OTHER_TYPE, Described.TENSOR
        if isinstance(value, str) and (value == "None" or (own and constant_type(value) and own != constant_type(value))):
            return VALUE if value == "None" else TYPE, own or Described.OBJECT, _type_of(value)
    elif prop.kind is Kind.ID and (is_tensor or value is not None):
        return VALUE, own or Described.OBJECT, Described.TENSOR if is_tensor else str(value)
    return None


def _against_inputs(entry: CompileFacts, call: CompileFacts) -> Iterator[Violation]:
    """Without the guards of the entry: what differs between the described tensors, where the entry has no symbol for it."""
    symbolic = {symbol.source for symbol in entry.compile.symbols}
    for now in call.compile.inputs:
        was = entry.input(now.source)
        if was is None:
            continue
        if len(was.size) != len(now.size):
            yield Violation(now.source, RANK, len(was.size), len(now.size))
            continue
        if was.dtype != now.dtype:
            yield Violation(now.source, DTYPE, was.dtype, now.dtype)
        if was.requires_grad != now.requires_grad:
            yield Violation(now.source, REQUIRES_GRAD, was.requires_grad, now.requires_grad)
        for of_dim, before, after in ((size, was.size, now.size), (stride, was.stride, now.stride)):
            for dim, (one, other) in enumerate(zip(before, after, strict=False)):
                prop = of_dim(dim)
                if one != other and f"{now.source}.{prop.kind.value}()[{dim}]" not in symbolic:
                    yield Violation(now.source, prop, one, other)


def _presence(tree: GuardTree, call: CompileFacts) -> Iterator[Violation]:
    """Attributes and keys that were absent and are there now, keys that are absent now, and dicts that have more or fewer keys (where no
    length is recorded).
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
    if not call.has_symbols:
        for source, count in tree.key_counts.items():
            now = call.tree.key_counts.get(source, count)
            if now != count and (source, LENGTH) not in tree.facts:
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


def _aliasing(tree: GuardTree, other: GuardTree | None) -> Iterator[Violation]:
    """Inputs that were distinct tensors and are one now, or the other way round."""
    if other is None:
        return
    for first, second in sorted(other.same):
        if first in tree.distinct and second in tree.distinct:
            yield Violation(Source(), _ALIASING, Described.DISTINCT, f"{first} is {second}")
    for first, second in sorted(tree.same):
        if first in other.distinct and second in other.distinct:
            yield Violation(Source(), _ALIASING, f"{first} is {second}", Described.DISTINCT)

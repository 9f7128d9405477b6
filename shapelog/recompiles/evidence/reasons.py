"""What PyTorch's own reasons state."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.leaves import type_name
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import DUAL_LEVEL, TENSOR, TRANSFORMS, TYPE, VALUE, Kind, Property, in_order
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import Source, with_locals, without_locals
from shapelog.recompiles.evidence.guards import shape_violation
from shapelog.recompiles.evidence.object_types import (
    another_type,
    constant_in_place_of_tensor,
    kind_seen,
    objects,
    tensor_type,
    type_known,
    type_of,
)
from shapelog.recompiles.evidence.violation import ALIASING, FROM_NUMPY, NDARRAY, Described, Known, Violation, constant_type
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.strides import dims_of_bases

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
_OBJECTS = frozenset((Kind.TYPE, Kind.ID))
_REGISTERED, _QUOTES = ("_parameters", "_buffers", "_modules"), "'\""


def from_reason(entry: CompileFacts, call: CompileFacts, reason: Reason) -> Violation:
    """The failure that PyTorch named, with its source as in the guard tree, and the new value where another record has it."""
    if reason.family == "shape" or reason.source.startswith("("):  # something calculated, such as (1.0 + clip)
        shapes = entry.tree.shapes if entry.tree else ()
        written = next((shape for shape in shapes if reason.code in (shape.expression, without_locals(shape.expression))), None)
        if written or reason.family == "shape":
            return shape_violation(written or ShapeGuard(reason.code, reason.comment), entry, call, reason)
    owner = entry if entry.tree else call  # without guards of the entry: the same sources are guarded in this compile
    if len(reason.same) > 1:
        names = [_full_source(owner, name) for name in reason.same]
        if entry.tree and reason.family != "duplicate" and (constant := constant_in_place_of_tensor(entry.tree, call, names)) is not None:
            return Violation(constant[0], TYPE, Described.TENSOR, constant[1], reason.comment, reason=reason)
        pair = " is ".join(names)
        before, after = (Described.DISTINCT, pair) if reason.family == "duplicate" else (pair, Described.DISTINCT)
        return Violation(Source(), ALIASING, before, after, reason.comment, reason=reason)
    source = _full_source(owner, reason.source) or (
        _other_view(entry, call) if reason.prop.kind is Kind.VIEW else _source_of(entry, reason)
    )
    if (attribute := _registered_anew(entry, call, source, reason)) is not None:
        return attribute
    prop, expected, actual = _named_values(entry, call, source, reason)
    return Violation(source, prop, expected, actual, reason.comment, reason=reason)


def holds_for(entry: CompileFacts, reason: Reason) -> bool:
    """Whether an entry, too, does not accept what a call has by the reason that PyTorch gave for another entry: it requires the same object
    or type, or another dtype or other dispatch keys than those that came.
    """
    required = entry.guarded((_full_source(entry, reason.source), reason.prop))
    if reason.prop.kind in (Kind.DTYPE, Kind.DISPATCH_KEYS):
        return bool(reason.actual) and required is not None and required != _dtype(reason.actual)
    return reason.prop.kind in _OBJECTS and bool(reason.expected) and required == reason.expected


def _source_of(entry: CompileFacts, reason: Reason) -> Source:
    """The source of a guard whose text does not name it, such as ``___check_metadata_140057847825888_c0/0``."""
    guards = entry.tree.guards if entry.tree and reason.code else ()
    return next((guard.source for guard in guards if guard.text == reason.code), Source())


def _other_view(entry: CompileFacts, call: CompileFacts) -> Source:
    """The first tensor whose base the entry has a guard on, and that is no view in the call, or a view of one with other dims."""
    names = (name for shape in (entry.tree.shapes if entry.tree else ()) for name in shape.parsed.names)
    owners = (owner for owner, base, _ in (name.partition("._base.") for name in names) if base)
    tensors = (tensor for owner in owners for tensor in call.inputs_by_canonical.get(owner, ()))
    found = (tensor.source for tensor in tensors if not tensor.is_view or dims_of_bases(tensor.source, entry, call))
    return next(found, Source())


_Values = tuple[Property, Known, Known]
"""(property, what the entry requires, what came)."""


def _named_values(entry: CompileFacts, call: CompileFacts, source: Source, reason: Reason) -> _Values:
    """The values of a failure that PyTorch named."""
    return _NamedGuard(entry, call, source, reason).values


@dataclass(frozen=True)
class _NamedGuard:
    """A guard of an entry that PyTorch named as the one that failed for a call."""

    entry: CompileFacts
    call: CompileFacts
    source: Source
    reason: Reason

    @property
    def values(self) -> _Values:
        if self.source.startswith(FROM_NUMPY) and (self.source.unwrapped, TENSOR) in self.call.facts:
            return TYPE, NDARRAY, Described.TENSOR
        if self.reason.family == "tensor_type":
            return TYPE, tensor_type(self.entry, self.source), type_name(self.reason.actual)
        of_kind = _BY_KIND.get(self.reason.prop.kind)
        return (of_kind(self) if of_kind else None) or self._of_iterator or self._as_written(in_order(self.reason.expected))

    @property
    def _seen(self) -> Known | None:
        """What the call has there, by its own guards; None where it has none."""
        return self.call.facts.get((self.source, self.reason.prop))

    def of_number(self) -> _Values:
        """A size, a stride or a number of dims."""
        if not self.reason.actual:  # a text log may end before it
            return self.reason.prop, Described.UNKNOWN, Described.UNKNOWN
        return self.reason.prop, int(self.reason.expected), int(self.reason.actual)

    def of_tensor(self) -> _Values:
        """A dtype, a device or dispatch keys."""
        required, seen = self.entry.guarded((self.source, self.reason.prop)), self._seen
        expected = _dtype(self.reason.expected) if required is None else required
        return self.reason.prop, expected, _dtype(self.reason.actual) if seen is None else seen

    def of_transforms(self) -> _Values:
        return _transforms(self.call, self.reason)

    def of_presence(self) -> _Values | None:
        """An attribute of a module that became a parameter, a buffer or a module."""
        registered = _registered(self.call, self.source)
        if not registered:
            return None
        was = self.entry.guarded((self.source, VALUE)) or self.entry.types.get(self.source) or Described.OBJECT
        if was == "None":
            return VALUE, was, Described.TENSOR if registered in _KINDS_OF_TENSORS.values() else registered
        return TYPE, type_known(was) if isinstance(was, str) else was, registered

    def of_backend(self) -> _Values:
        is_known = bool(self.reason.code) or self.entry.tree is not None  # with guards that hold, nothing but the backend is left
        return self.reason.prop if is_known else Property(Kind.UNKNOWN), self.reason.expected, self.reason.actual

    def of_requires_grad(self) -> _Values | None:
        return (self.reason.prop, self.reason.expected == "1", self.reason.expected != "1") if self.reason.expected else None

    def of_object(self) -> _Values:
        """A type, or an object by its id."""
        seen, prop = kind_seen(self.call, self.source), self.reason.prop
        known_type = type_of(seen) if prop.kind is Kind.TYPE and isinstance(seen, str) else seen
        expected = self.reason.actual or self.reason.expected
        return objects(tree=self.entry.tree, call=self.call, source=self.source, prop=prop, expected=expected, actual=known_type)

    def of_nan(self) -> _Values | None:
        seen = kind_seen(self.call, self.source)
        if not isinstance(seen, str) or type_of(seen) == "float":
            return None
        return (VALUE, "nan", seen) if seen == "None" else (TYPE, "float", type_of(seen))

    def of_length(self) -> _Values:
        length, seen = integer(self.reason.expected), self._seen
        counted = self.call.tree.key_counts.get(self.source) if self.call.tree and seen is None else None
        seen = counted if counted is not None and counted != length else seen
        expected = self.reason.expected if length is None else length
        return self._of_iterator or (self.reason.prop, expected, Described.UNKNOWN if seen is None or seen == expected else seen)

    def of_key(self) -> _Values:
        """Whether a dict has a key, or an object an attribute."""
        return self._of_iterator or self._as_written(self.reason.expected == "True")

    def of_value(self) -> _Values | None:
        """A constant; None where the guards of the call have its value."""
        if self._seen is not None or self._of_iterator:
            return None
        prop, expected = self.reason.prop, in_order(self.reason.expected)
        if self.reason.actual:
            return prop, expected, self.reason.actual
        number = self.call.numbers.get(self.source.canonical)
        if number is not None and str(number) != str(expected):
            return prop, expected, str(number)
        seen = kind_seen(self.call, self.source)
        return prop, expected, Described.UNKNOWN if seen in (expected, constant_type(str(expected))) else seen

    @property
    def _of_iterator(self) -> _Values | None:
        """Another type, which the check of an iterator has in it."""
        was, now = self.entry.types.get(self.source, ""), self.call.types.get(self.source, "")
        if self.reason.family != "iterator" or not was or not now or was == now:
            return None
        return another_type(was, now, self.entry.tree, self.call, self.source)

    def _as_written(self, expected: Known) -> _Values:
        seen = self._seen
        return self.reason.prop, expected, Described.UNKNOWN if seen is None or seen == expected else seen


_BY_KIND: Mapping[Kind, Callable[[_NamedGuard], _Values | None]] = {
    **dict.fromkeys((Kind.SIZE, Kind.STRIDE, Kind.RANK), _NamedGuard.of_number),
    **dict.fromkeys((Kind.DTYPE, Kind.DISPATCH_KEYS, Kind.DEVICE), _NamedGuard.of_tensor),
    **dict.fromkeys((Kind.TYPE, Kind.ID), _NamedGuard.of_object),
    **dict.fromkeys((Kind.HAS, Kind.HAS_ATTRIBUTE), _NamedGuard.of_key),
    Kind.FUNCTORCH_STATE: _NamedGuard.of_transforms,
    Kind.PRESENT: _NamedGuard.of_presence,
    Kind.BACKEND: _NamedGuard.of_backend,
    Kind.REQUIRES_GRAD: _NamedGuard.of_requires_grad,
    Kind.NAN: _NamedGuard.of_nan,
    Kind.LENGTH: _NamedGuard.of_length,
    Kind.VALUE: _NamedGuard.of_value,
}


def _registered_anew(entry: CompileFacts, call: CompileFacts, source: Source, reason: Reason) -> Violation | None:
    """What was a module, a parameter or a buffer, and is something else in this call, such as None: that is kept in another dict."""
    owner, _, part = source.rpartition(".")
    if reason.prop.kind is not Kind.HAS or reason.expected != "True" or part not in _REGISTERED:
        return None
    attribute, item = Source(f"{owner}.{reason.prop.name.strip(_QUOTES)}"), Source(f"{source}[{reason.prop.name}]")
    was: Known = Described.TENSOR if (item, TENSOR) in entry.facts else entry.types.get(item, "")
    now = kind_seen(call, attribute)
    if now is Described.UNKNOWN:
        now = _registered(call, attribute) or now
    if was is Described.TENSOR and (now is was or now in _KINDS_OF_TENSORS.values()):
        was = _KINDS_OF_TENSORS[part]
    if not was or now is Described.UNKNOWN:
        return None
    guard = call.tree.by_key.get((attribute, VALUE)) if call.tree else None
    return Violation(attribute, TYPE, was, type_of(now) if isinstance(now, str) else now, guard.comment if guard else "", reason=reason)


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


def _transforms(call: CompileFacts, reason: Reason) -> _Values:
    """The transforms of torch.func, or the level of forward-mode AD. Outside of all of them, only code that uses them has the guard; a
    call that was refused, or failed, has none.
    """
    prop = DUAL_LEVEL if "forward_ad" in reason.code else TRANSFORMS
    actual = call.facts.get((Source(), prop), "[]" if prop == TRANSFORMS and call.tree else Described.UNKNOWN)
    return prop, reason.expected, Described.UNKNOWN if actual == reason.expected else actual


def _dtype(name: str) -> str:
    """``float32`` for the ``Float`` of PyTorch's C++ code."""
    return _DTYPES.get(name, name)


def _full_source(owner: CompileFacts, name: Source) -> Source:
    """``x`` of a reason back to ``L['x']``, with the help of the entry's own guards."""
    known = owner.guarded_by_short_name if owner.tree and name else {}
    return known.get(name) or known.get(without_locals(name)) or with_locals(name)

"""Which types or classes two objects are of, as far as guards and reasons name them."""

from collections.abc import Sequence

from shapelog.reading.payloads.guards.leaves import Fact, type_name
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.properties import ID, TENSOR, TYPE, VALUE, Property
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.evidence.violation import FROM_NUMPY, NDARRAY, THE_CLASS, Described, Known, constant_type
from shapelog.recompiles.facts.compile_facts import CompileFacts

_TENSOR_TYPE = "torch.Tensor"
_OF_NN = frozenset(("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer"))
_CONSTANTS = frozenset(("None", "bool", "int", "float", "complex", "str"))
# What the types of classes end with.
_METACLASSES = ("type", "Meta", "Type")


def tensor_type(entry: CompileFacts, source: Source) -> Known:
    """What kind of tensor an entry was compiled with."""
    if source.startswith(FROM_NUMPY):
        return entry.types.get(source.unwrapped) or NDARRAY  # or a scalar, such as numpy.int64
    return tensor_kind(entry.guarded((source, TENSOR)))


def tensor_kind(name: Fact | None) -> Known:
    """The type of a tensor as its guard has it, without a module; those of torch.nn with it."""
    if name in (None, "Tensor"):
        return Described.TENSOR
    return f"torch.nn.{name}" if name in _OF_NN else str(name)


def objects(
    tree: GuardTree | None, call: CompileFacts, source: Source, prop: Property, expected: str, actual: Known
) -> tuple[Property, Known, Known]:
    """(property, before, after) of two objects that differ: their types, where those differ too, or the classes that they are.

    ``expected`` and ``actual`` are what is left where the guards do not name them.
    """
    was, now = tree.types.get(source, "") if tree else "", call.types.get(source, "")
    if was and now and was != now:
        return another_type(was, now, tree, call, source)
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
    is_instance = tree is not None and type_name(text) == tree.types.get(source) != "type"  # as of numpy.dtypes.Float64DType
    return f"{THE_CLASS}{type_name(text)}" if named and not is_instance else ""


def type_of(value: str) -> str:
    """The type of a constant, for a sentence about types; ``None`` is a type of its own."""
    return value if value == "None" else constant_type(value) or value


def constant_in_place_of_tensor(tree: GuardTree, call: CompileFacts, names: Sequence[Source]) -> tuple[Source, Known] | None:
    """Which of several names of one tensor has a constant in a call, and its type; None where none has."""
    if not any((name, TENSOR) in tree.facts for name in names):
        return None
    for name in reversed(names):
        value = call.facts.get((name, VALUE))
        now = call.types.get(name, "") if value is None else type_of(str(value))
        if now in _CONSTANTS and (name, TENSOR) not in tree.facts:
            return name, now
    return None


def kind_seen(call: CompileFacts, source: Source) -> Known:
    """What ``source`` was in a call."""
    facts = call.facts
    if (source, TENSOR) in facts:
        return Described.TENSOR
    value = facts.get((source, VALUE))
    if isinstance(value, str):
        return value
    has_identity = (source, TYPE) in facts or (source, ID) in facts
    return _object_known(call.types.get(source, ""), call.tree, source) or (Described.OTHER_OBJECT if has_identity else Described.UNKNOWN)


def another_type(was: str, now: str, tree: GuardTree | None, call: CompileFacts, source: Source) -> tuple[Property, Known, Known]:
    """Where both trees name the type of what they look at."""
    value = call.facts.get((source, VALUE))
    before, after = (type_known(_object_known(name, of, source)) for name, of in ((was, tree), (now, call.tree)))
    if was == "NoneType":
        return VALUE, "None", after if value is None else value
    if now == "NoneType":
        return VALUE, before, "None"
    if all(str(known).startswith(THE_CLASS) for known in (before, after)):  # of different metaclasses
        return ID, before, after
    if str(before).startswith(THE_CLASS) and value is not None:  # a class is a value, too
        after = value
    return TYPE, before, after


def type_known(name: str) -> Known:
    """A type as the sentences have it: a plain tensor is one without a name."""
    return Described.TENSOR if name == _TENSOR_TYPE else name

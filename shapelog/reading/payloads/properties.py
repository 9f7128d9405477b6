"""Properties: what a guard checks of a source, and what is known of it. A size, a dtype, a value, the presence of an attribute, ..."""

import re
from enum import Enum
from typing import NamedTuple

FIRST_SYMBOLIC = 2
"""The smallest size or offset that can be symbolic: PyTorch makes constants of 0 and 1."""


class Kind(Enum):
    """The kinds of properties. The value is how one is written in reports."""

    SIZE = "size"
    STRIDE = "stride"
    RANK = "rank"
    DTYPE = "dtype"
    DEVICE = "device"
    REQUIRES_GRAD = "requires_grad"
    DISPATCH_KEYS = "dispatch keys"
    VIEW = "view"
    TENSOR = "tensor"
    METADATA = "metadata"
    MARKING = "marking"
    VALUE = "value"
    PLAIN_VALUE = "plain value"
    TYPE = "type"
    ID = "id"
    LENGTH = "len"
    RANGE = "range"
    NAN = "nan"
    KEYS = "keys"
    HAS = "has"
    HAS_ATTRIBUTE = "has attribute"
    ATTRIBUTES = "attributes"
    PRESENT = "present"
    CLOSURE = "closure"
    LIFETIME = "lifetime"
    BACKEND = "backend"
    ALIASING = "aliasing"
    SHAPE_GUARD = "shape"
    DUCK_SHAPE = "duck shape"
    GLOBAL_STATE = "global state"
    INFERENCE_MODE = "inference mode"
    AUTOCAST = "autocast"
    FUNCTION_MODES = "function modes"
    DEFAULT_DEVICE = "default device"
    SAVED_TENSOR_HOOKS = "saved tensor hooks"
    FUNCTORCH_STATE = "functorch state"
    COMPILED_OBJECT = "compiled object"
    FAILURE = "failure"
    BACKWARD_SIZES = "sizes in the backward pass"
    AUTOGRAD_GRAPH = "autograd graph"
    UNKNOWN = ""

    __hash__ = object.__hash__  # that of Enum is written in Python, and every look-up of a fact needs it


class Property(NamedTuple):
    """One property of a source. ``dim`` is that of a size or stride, -1 without one.

    ``name`` is the key or attribute that is asked for, the expression of a shape guard, or the field of the global state.
    """

    kind: Kind
    dim: int = -1
    name: str = ""

    def __str__(self) -> str:
        """``size[0]``, ``dtype``, ``has attribute bias``, ``grad_mode``."""
        if self.dim >= 0:
            return f"{self.kind.value}[{self.dim}]"
        if self.kind is Kind.GLOBAL_STATE and self.name:
            return self.name
        return f"{self.kind.value} {self.name}" if self.name else self.kind.value

    @property
    def is_of_dim(self) -> bool:
        """Whether it is the size or stride of one dim."""
        return self.dim >= 0


def size(dim: int) -> Property:
    return Property(Kind.SIZE, dim)


def stride(dim: int) -> Property:
    return Property(Kind.STRIDE, dim)


RANK = Property(Kind.RANK)
DTYPE = Property(Kind.DTYPE)
REQUIRES_GRAD = Property(Kind.REQUIRES_GRAD)
DISPATCH_KEYS = Property(Kind.DISPATCH_KEYS)
TENSOR = Property(Kind.TENSOR)
GRAD_MODE = Property(Kind.GLOBAL_STATE, name="grad_mode")
VALUE = Property(Kind.VALUE)
# The plain value of an instance of a subclass of int, float or str, which PyTorch takes as a constant.
PLAIN_VALUE = Property(Kind.PLAIN_VALUE)
TYPE = Property(Kind.TYPE)
ID = Property(Kind.ID)
LENGTH = Property(Kind.LENGTH)
INFERENCE_MODE = Property(Kind.INFERENCE_MODE)
# Attribute of a marked tensor → the function that sets it (torch/_dynamo/decorators.py).
MARKED_BY = {
    "_dynamo_dynamic_indices": "mark_dynamic",
    "_dynamo_weak_dynamic_indices": "maybe_mark_dynamic",
    "_dynamo_unbacked_indices": "mark_unbacked",
    "_dynamo_strict_unbacked_indices": "mark_unbacked",
    "_dynamo_static_indices": "mark_static",
}
# The transforms of torch.func that a call is inside of, and the level of forward-mode AD.
TRANSFORMS = Property(Kind.FUNCTORCH_STATE)
DUAL_LEVEL = Property(Kind.FUNCTORCH_STATE, name="dual level")
AUTOCAST_ENABLED = Property(Kind.AUTOCAST, name="enabled")
AUTOCAST_CACHE = Property(Kind.AUTOCAST, name="cached_enabled")
_WITH_ADDRESS = re.compile(r"<([\w.<>]+) object at 0x[0-9a-fA-F]+>")
_MEMBER = re.compile(r"'(?:[^'\\]|\\.)*'|[-\w.]+", re.S)
_SET = re.compile(rf"((?:frozenset\()?\{{)((?:{_MEMBER.pattern})(?:, (?:{_MEMBER.pattern}))*)(\}}\)?)", re.S)
# Where PyTorch does not name what failed.
UNNAMED = Property(Kind.UNKNOWN)


def class_written_with_address(value: str) -> str:
    """The class in ``<app.State object at 0x7f1c>``, of which the address differs even between equal objects; "" for other values."""
    found = _WITH_ADDRESS.fullmatch(value)
    return found[1] if found else ""


def set_members(value: str) -> list[str]:
    """The members of a set of constants, sorted; none for any other value."""
    found = _SET.fullmatch(value) if value[:1] in "{f" else None
    return sorted(_MEMBER.findall(found[2])) if found else []


def in_order(value: str) -> str:
    """A constant, a set with its members sorted: equal sets are written in the order in which they were filled."""
    members = set_members(value)
    return f"{value.partition('{')[0]}{{{', '.join(members)}{value[value.rfind('}') :]}" if members else value


def is_address(prop: Property, value: str) -> bool:
    """Whether a value is only an address: that of an object or a type, as torch 2.8 and older record them, or one with a class."""
    return (prop.kind in (Kind.ID, Kind.TYPE) and value.isdigit()) or (prop == VALUE and bool(class_written_with_address(value)))

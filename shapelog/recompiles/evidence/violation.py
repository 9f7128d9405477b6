"""One fact of a call that an earlier cache entry does not accept."""

import re
from enum import Enum
from typing import NamedTuple

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.leaves import Fact, Key
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import Kind, Property
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import Source

_CONSTANT_TYPES = {"True": "bool", "False": "bool", "None": "NoneType", "Ellipsis": "ellipsis"}
_BRACKET_TYPES = {"(": "tuple", "[": "list", "{": "set"}
# What other constants are made with: ``device(type='cpu')``, ``frozenset({1, 2})``.
_CALLED = re.compile(r"(?:device|frozenset|range|slice|torch\.Size)(?=\()")
FAKE_TENSOR = "FakeTensor"
FROM_NUMPY, NDARRAY = "___from_numpy(", "numpy.ndarray"
THE_CLASS = "the class "
# Properties that identify an object; one that fails is enough.
IDENTITY = frozenset((Kind.VALUE, Kind.TYPE, Kind.ID, Kind.TENSOR, Kind.NAN))
ALIASING = Property(Kind.ALIASING)


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


def was_traced(item: Violation) -> bool | None:
    """Whether a tensor was a fake one in the entry and is real in the call, False the other way round; None for any other violation."""
    is_fake = [str(known).endswith(FAKE_TENSOR) for known in (item.expected, item.actual)]
    is_real = [
        known is Described.TENSOR or str(known) == "torch.Tensor" or str(known).startswith("torch.nn.")
        for known in (item.expected, item.actual)
    ]
    if item.prop.kind is not Kind.TYPE or not any(is_fake) or not any(is_real):
        return None
    return is_fake[0]


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

"""One leaf of a guard tree → the properties of its source that it requires, with their values."""

import re
from collections.abc import Callable, Iterator
from functools import partial

import orjson

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import (
    DTYPE,
    DUAL_LEVEL,
    ID,
    LENGTH,
    PLAIN_VALUE,
    RANK,
    REQUIRES_GRAD,
    TENSOR,
    TRANSFORMS,
    TYPE,
    VALUE,
    Kind,
    Property,
    in_order,
    size,
    stride,
)
from shapelog.reading.payloads.source_names import Source

_TENSOR = re.compile(
    r", (?P<type>[\w.]+), (?P<keys>DispatchKeySet\(.*?\)|\w+), (?P<dtype>torch\.\w+), device=(?P<device>[^,]+), "
    r"requires_grad=(?P<grad>True|False), size=\[(?P<size>.*?)\], stride=\[(?P<stride>.*?)\]\)"
)
# With dots in place of what somebody left out.
_SHORTENED_TENSOR = re.compile(
    r"(?:, (?P<type>[\w.]*\w))?, \.\.\.(?:, (?P<dtype>torch\.\w+))?(?:, device=[^,]+)?(?:, requires_grad=(?:True|False))?(?:, \.\.\.)?, "
    r"size=\[(?P<size>.*?)\], stride=\[(?P<stride>.*?)\]\)"
)
_OBJECT = re.compile(r"^___check_(obj|type)_id\(.*, (\d{1,20})\)(?:, type=.*)?$", re.S)
_LENGTH = re.compile(r"^(?:len|(?:set|dict|list|tuple|frozenset)\.__len__)\((.*)\) (==|!=) (\d{1,18})$", re.S)
_CONTAINS = re.compile(r"^(not )?(?:___dict_contains\((?P<key>.*), .*\)|(?:set|frozenset)\.__contains__\(.*?, (?P<item>.*)\))$", re.S)
_PLAIN_VALUE = re.compile(r"^(?:int|float|str|bytes|complex)\((.*)\) == (.*)$", re.S)
_COUNTER = re.compile(r"^___normalize_count_iter\((.*)\) == (.*)$")
_TRANSFORMS = re.compile(r"^torch\._functorch\.pyfunctorch\.compare_functorch_state\((.*)\)$")
_HASATTR = re.compile(r"^(not )?hasattr\((.*), '([^']*)'\)(?: == (True|False))?$", re.S)
_MARKED = re.compile(r"\b(_dynamo_\w+)(?:', set\(\)\))?\.issubset\((\{.*?\}|set\(\))\)")
# Longer texts are not matched, because some of these patterns take quadratic time.
MAX_LENGTH = 4000
ALIASING_KINDS = ("OBJECT_ALIASING", "TENSOR_ALIASING")
SHAPE_KINDS = ("LAMBDA_GUARD", "SYMBOLIC_SHAPE_GUARD")
DYNAMIC = "dynamic"
_DICT_OF_ATTRIBUTES = ".__dict__"
_DEVICE, _DISPATCH_KEYS = Property(Kind.DEVICE), Property(Kind.DISPATCH_KEYS)

Fact = int | str | bool
Facts = tuple[tuple[Property, Fact], ...]
"""Properties of one source, each with its value."""
Key = tuple[Source, Property]
"""A source and one of its properties."""


def facts_of(kind: str, code: str, source: str) -> Facts:
    """The properties of ``source`` that one leaf requires; none for a leaf without a comparable value."""
    if len(code) > MAX_LENGTH:
        return _equality(code, source)
    read = _attribute if "hasattr(" in code[:12] else _READERS.get(kind, _equality)
    return read(code, source)


def attribute_key(source: Source, prop: Property) -> Key:
    """A key that is asked of an object's ``__dict__``, as an attribute of the object."""
    if prop.kind is Kind.HAS and source.endswith(_DICT_OF_ATTRIBUTES):
        return Source(source.removesuffix(_DICT_OF_ATTRIBUTES)), Property(Kind.HAS_ATTRIBUTE, name=prop.name.strip("'\""))
    return source, prop


def type_name(text: str) -> str:
    """``<class 'torch.nn.modules.linear.Linear'>`` → ``torch.nn.modules.linear.Linear``."""
    return text[8:-2] if text.startswith("<class '") else text


def _equality(code: str, source: str, of: Property = VALUE) -> Facts:
    """``S == constant``, ``S is None`` and the like."""
    if source and code.startswith((" is ", " == "), len(source)) and code.startswith(source):
        return ((of, in_order(code[len(source) + 4 :])),)
    checked, equals, value = code.partition(" == ")
    if equals and checked in (f"list({source}.keys())", f"list(dict.keys({source}))"):
        return ((Property(Kind.KEYS), value),)
    return ((of, value),) if equals else ()


def _identity(code: str, source: str) -> Facts:
    match = _OBJECT.match(code)
    return ((ID if match[1] == "obj" else TYPE, match[2]),) if match else _equality(code, source)


def _length(code: str, source: str) -> Facts:
    length = _LENGTH.match(code)
    if length:
        return ((LENGTH, int(length[3])),)
    return ((LENGTH, 0),) if code.startswith("not ") else _equality(code, source, LENGTH) if " == " in code else ()


def _lambda(code: str, source: str) -> Facts:
    """A check that is written in Python: of an ``itertools.count``, or of an instance of a subclass of int and the like."""
    for pattern, prop in ((_PLAIN_VALUE, PLAIN_VALUE), (_COUNTER, VALUE)):
        found = pattern.match(code)
        if found and found[1] == source:
            return ((prop, found[2]),)
    state = _TRANSFORMS.match(code)
    return ((TRANSFORMS, state[1]),) if state else _not_a_number(code, source)


def _not_a_number(code: str, source: str) -> Facts:
    """NaN, which equals nothing, is guarded by ``__math_isnan(S)`` until torch 2.6, then by ``(type(S) is float and __math_isnan(S))``."""
    return ((VALUE, "nan"),) if code in (f"__math_isnan({source})", f"(type({source}) is float and __math_isnan({source}))") else ()


def _contains(code: str, source: str) -> Facts:
    found = _CONTAINS.match(code)
    return ((Property(Kind.HAS, name=found["key"] or found["item"]), not found[1]),) if found else ()


def _attribute(code: str, source: str) -> Facts:
    found = _HASATTR.match(code)
    if not found:
        return ()
    present = (found[1] is None) == (found[4] != "False")
    kind = Kind.MARKING if found[3].startswith("_dynamo_") else Kind.HAS_ATTRIBUTE
    return ((Property(kind, name=found[3]), present),)


def _marking(code: str, source: str) -> Facts:
    marked = _MARKED.search(code)
    return ((Property(Kind.MARKING, name=marked[1]), marked[2].replace("set()", "{}")),) if marked else ()


def _tensor(code: str, source: str) -> Facts:
    whole = _TENSOR.search(code)
    match = whole or _SHORTENED_TENSOR.search(code)
    if not match:
        return ()
    sizes, strides = ([part.strip() for part in match[name].split(",") if part.strip()] for name in ("size", "stride"))
    rest = ((_DISPATCH_KEYS, whole["keys"]), (_DEVICE, whole["device"]), (REQUIRES_GRAD, whole["grad"] == "True")) if whole else ()
    return (
        (TENSOR, (match["type"] or "Tensor").rsplit(".", 1)[-1]),
        (RANK, len(sizes)),
        *(((DTYPE, match["dtype"].removeprefix("torch.")),) if match["dtype"] else ()),
        *rest,
        *[
            (of_dim(dim), value if (value := integer(part)) is not None else DYNAMIC)
            for of_dim, parts in ((size, sizes), (stride, strides))
            for dim, part in enumerate(parts)
        ],
    )


def _global_state(code: str) -> Iterator[tuple[Property, Fact]]:
    """``___check_global_state() against {json}``, torch 2.13 and later: each field of the state at compile time."""
    _, _, state = code.partition(" against ")
    if not state:
        return
    try:
        fields = orjson.loads(state)
    except orjson.JSONDecodeError:
        return
    for name, value in fields.items() if isinstance(fields, dict) else ():
        if name == "autocast_state" and isinstance(value, dict):
            for part, inner in value.items():
                yield Property(Kind.AUTOCAST, name=part), str(inner)
        else:
            yield Property(Kind.GLOBAL_STATE, name=str(name)), value if isinstance(value, (bool, int)) else str(value)


# How a leaf is read that checks for no attribute, by its kind.
_READERS: dict[str, Callable[[str, str], Facts]] = {
    "TENSOR_MATCH": _tensor,
    "GLOBAL_STATE": lambda code, source: tuple(_global_state(code)),
    "TYPE_MATCH": _identity,
    "ID_MATCH": _identity,
    "LENGTH_CHECK": _length,
    "DICT_LENGTH": _length,
    "TUPLE_ITERATOR_LEN": _length,
    "DICT_CONTAINS": _contains,
    "SET_CONTAINS": _contains,
    "DYNAMIC_INDICES": _marking,
    "DIMENSION_DYNAMIC_MARKING_GUARD": _marking,
    "RANGE_ITERATOR_MATCH": partial(_equality, of=Property(Kind.RANGE)),
    "DUAL_LEVEL_MATCH": lambda code, source: _equality(code, source, DUAL_LEVEL),
    "DEFAULT_DEVICE": lambda code, source: _equality(code, "utils_device.CURRENT_DEVICE", Property(Kind.DEFAULT_DEVICE)),
    **dict.fromkeys((*ALIASING_KINDS, "NO_TENSOR_ALIASING", *SHAPE_KINDS), lambda code, source: ()),
    "LAMBDA_GUARD": _lambda,
    "FLOAT_IS_NAN": _not_a_number,
}

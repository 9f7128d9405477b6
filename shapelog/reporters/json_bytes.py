"""JSON as bytes, whatever a trace holds."""

import json
import math
from typing import Any

import orjson


def pretty(data: Any) -> bytes:
    return _written(data, orjson.OPT_INDENT_2)


def line(data: Any) -> bytes:
    """The same in one line, with its line feed."""
    return _written(data, 0)


def _written(data: Any, option: int) -> bytes:
    """A trace can hold what the fast encoder refuses: lone surrogates and ints of more than 64 bits."""
    try:
        return orjson.dumps(data, option=option | orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        indent, separators = (2, None) if option else (None, (",", ":"))
        return json.dumps(_finite(data), indent=indent, separators=separators).encode("ascii") + b"\n"


def _finite(value: Any) -> Any:
    """The same data with null for NaN and infinity, as the fast encoder has it."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

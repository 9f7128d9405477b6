"""Global state that the guards check (grad mode, autocast, default dtype, threads, ...), in words."""

import re
from collections.abc import Iterable

from shapelog.reading.payloads.properties import AUTOCAST_CACHE, Kind, Property
from shapelog.recompiles.evidence.violation import Described, Known, Violation
from shapelog.text import enumerated

_AUTOCAST = Kind.AUTOCAST.value
_CODES = {"grad_mode": "SL305", _AUTOCAST: "SL306"}
_OTHER_CODE = "SL307"
_WORDS = {
    "grad_mode": "grad mode",
    "num_threads": "the number of threads",
    "default_dtype": "the default dtype",
    "deterministic_algorithms": "deterministic algorithms",
    "deterministic_algorithms_warn_only": "deterministic algorithms (warn only)",
    "torch_function": "__torch_function__ of subclasses",
    "torch_function_all_disabled": "__torch_function__ of modes",
    "default device": "the default device",
    "allow_tf32": "TF32",
    "function modes": "the stack of torch function modes (such as `with torch.device(...)`)",
    "allow_fp16_reduce": "reduced-precision fp16 reductions",
    "allow_bf16_reduce": "reduced-precision bf16 reductions",
}
# In a remedy, and how many of them it names.
_TO_SET = {"function modes": "torch function modes (such as `with torch.device(...)`)"}
_MOST_TO_SET = 4
_DTYPE_OF_AUTOCAST = Property(Kind.AUTOCAST, name="dtype")
_NAME_OF_AUTOCAST_DTYPE = re.compile(r"autocast(?:\(\w+\))?_dtype")
_PARTS_OF_AUTOCAST = {"dtype": " its dtype", "cached_enabled": " its cache"}
_DEFAULT_DTYPE = Property(Kind.GLOBAL_STATE, name="default_dtype")
# at::ScalarType, as the global state in the guard tree writes it
_SCALAR_TYPES = {"5": "float16", "6": "float32", "7": "float64", "9": "complex64", "10": "complex128", "15": "bfloat16"}
_COMPLEX = {"float16": "complex32", "float32": "complex64", "float64": "complex128"}
_SWITCH, _INVERTED_SWITCH = {"True": "on", "False": "off"}, {"True": "off", "False": "on"}


def changed_fields(item: Violation) -> tuple[str, ...]:
    """The names of the fields that changed: torch 2.13 and later guard each, before that only PyTorch's reason names them."""
    if item.prop.kind is Kind.GLOBAL_STATE and not item.prop.name:
        return tuple(str(item.expected).split())
    return (_AUTOCAST if item.prop.kind is Kind.AUTOCAST else str(item.prop),)


def describe_change(item: Violation) -> tuple[tuple[str, ...], str]:
    """(codes, sentence) of a violation of the global state."""
    fields = [_AUTOCAST if name.startswith(_AUTOCAST) else name for name in changed_fields(item)]
    codes = tuple(dict.fromkeys(_CODES.get(name, _OTHER_CODE) for name in fields)) or (_OTHER_CODE,)
    text = " and ".join(dict.fromkeys(_WORDS.get(name, name) for name in fields)) or "the global state"
    return codes, f"{text} changed{_from_to(item) or ' after this was compiled'}"


def default_dtypes(item: Violation) -> tuple[tuple[str, str], ...]:
    """(before, after) of the default dtype that changed, and of the complex one that belongs to it; () for any other violation."""
    if item.prop != _DEFAULT_DTYPE:
        return ()
    real = state_value(item.prop, item.expected), state_value(item.prop, item.actual)
    return real, (_COMPLEX.get(real[0], ""), _COMPLEX.get(real[1], ""))


def is_of_cache(item: Violation) -> bool:
    """Whether nothing of autocast changed but its cache, which ``make_fx`` turns off while it traces
    (torch/fx/experimental/proxy_tensor.py), and so do ``torch.export`` and compiled autograd.
    """
    return item.prop == AUTOCAST_CACHE or (item.prop.kind is Kind.GLOBAL_STATE and item.expected == "autocast_cache_enabled")


def is_of_autocast_dtype(item: Violation) -> bool:
    """Whether autocast is on in both calls, with another dtype."""
    fields = changed_fields(item)
    return item.prop == _DTYPE_OF_AUTOCAST or (any(fields) and all(map(_NAME_OF_AUTOCAST_DTYPE.fullmatch, fields)))


def set_once(fields: Iterable[str]) -> str:
    """What to do about fields that changed, as causes and their axes name them; "" where another rule is about one, or none is known."""
    names = list(dict.fromkeys(fields))
    if not names or any(name.startswith(_AUTOCAST) or name in _CODES for name in names):
        return ""
    words = list(dict.fromkeys(_TO_SET.get(name, _WORDS.get(name, name)) for name in names))
    listed = enumerated(
        words if len(words) <= _MOST_TO_SET else [*words[: _MOST_TO_SET - 1], f"{len(words) - _MOST_TO_SET + 1} more settings"]
    )
    return f"set {listed} once, before the first compiled call"


def _from_to(item: Violation) -> str:
    """The two values, "" where the trace does not hold them."""
    if item.prop.kind is Kind.AUTOCAST:
        pair = autocast_pair(item)
        what = _PARTS_OF_AUTOCAST.get(item.prop.name, "")
        return f"{what} from {pair[0]} to {pair[1]}" if pair else ""
    if (item.prop.kind is Kind.GLOBAL_STATE and not item.prop.name) or item.actual in ("", Described.UNKNOWN):
        return ""
    return f" from {state_value(item.prop, item.expected)} to {state_value(item.prop, item.actual)}"


def state_value(prop: Property, value: Known) -> str:
    """A value as people write it: ``off``, ``float32``."""
    text = str(value)
    if prop == _DEFAULT_DTYPE:
        return _SCALAR_TYPES.get(text, text)
    return (_INVERTED_SWITCH if prop.name.endswith("_all_disabled") else _SWITCH).get(text, text)


def autocast_pair(item: Violation) -> tuple[str, str] | None:
    """(before, after) of the first device type whose autocast state differs; the two lists have one value for each device type."""
    names = _SCALAR_TYPES if item.prop == _DTYPE_OF_AUTOCAST else _SWITCH
    before, after = (re.findall(r"\w+", str(value)) for value in (item.expected, item.actual))
    for old, new in zip(before, after, strict=False):
        if old != new:
            return names.get(old, old), names.get(new, new)
    return None

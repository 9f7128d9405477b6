"""Global state that the guards check (grad mode, autocast, default dtype, threads, ...), in words."""

import re

from shapelog.reading.payloads.guards import Fact
from shapelog.recompiles.violations import Violation

_GENERIC_STATE = {"grad_mode": "SL305", "autocast": "SL306"}
_STATE_WORDS = {
    "grad_mode": "grad mode",
    "num_threads": "the number of threads",
    "default_dtype": "the default dtype",
    "deterministic_algorithms": "deterministic algorithms",
    "deterministic_algorithms_warn_only": "deterministic algorithms (warn only)",
    "torch_function": "the torch_function switch",
    "torch_function_all_disabled": "the torch_function switch",
    "allow_tf32": "TF32",
    "allow_fp16_reduce": "reduced precision of fp16 sums",
    "allow_bf16_reduce": "reduced precision of bf16 sums",
}


def judged_state(item: Violation) -> tuple[tuple[str, ...], str, bool | None]:
    """Global state. torch 2.13 and later write its fields into the guard tree; before, only PyTorch's reason names them."""
    names = [item.prop] if item.prop != "global state" else str(item.expected).split()
    codes: list[str] = []
    words = []
    for name in names:
        root = "autocast" if name.startswith("autocast") else name
        codes.append(_GENERIC_STATE.get(root, "SL307"))
        label = "autocast" if root == "autocast" else _STATE_WORDS.get(root, root)
        words.append(label)
    known = item.prop != "global state" and not item.prop.startswith("autocast") and item.actual != ""
    change = f" from {state_value(item.prop, item.expected)} to {state_value(item.prop, item.actual)}" if known else _autocast_change(item)
    text = " and ".join(dict.fromkeys(words)) or "the global state"
    return tuple(dict.fromkeys(codes)) or ("SL307",), f"{text} changed{change} since this was compiled", None


# at::ScalarType, as the global state in the guard tree writes it
_SCALAR_TYPES = {"5": "float16", "6": "float32", "7": "float64", "9": "complex64", "10": "complex128", "15": "bfloat16"}


def state_value(prop: str, value: Fact) -> str:
    text = str(value)
    return _SCALAR_TYPES.get(text, text) if prop == "default_dtype" else {"True": "on", "False": "off"}.get(text, text)


def _autocast_change(item: Violation) -> str:
    """What differs between two lists with one entry a device type; "" where the trace does not tell."""
    pair = autocast_pair(item) if item.prop.startswith("autocast ") else None
    if pair is None:
        return ""
    return f"{' its dtype' if item.prop == 'autocast dtype' else ''} from {pair[0]} to {pair[1]}"


def autocast_pair(item: Violation) -> tuple[str, str] | None:
    """(before, after) of the first device type whose autocast state differs; the lists have one entry a device type."""
    before, after = (re.findall(r"\w+", str(value)) for value in (item.expected, item.actual))
    for old, new in zip(before, after, strict=False):
        if old != new:
            dtype = item.prop == "autocast dtype"
            return (_SCALAR_TYPES.get(old, old), _SCALAR_TYPES.get(new, new)) if dtype else (state_value("", old), state_value("", new))
    return None

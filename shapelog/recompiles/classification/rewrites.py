"""Calls that need a number where the code has a symbol, and what computes the same of a symbolic size or int.

Measured with torch 2.13: with each of these calls, every size needs a graph; with what is in its place, one dynamic graph takes all.
"""

import re
from collections.abc import Iterable

from shapelog.reading.payloads.guards.comments import UserLine
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame

IN_PLACE_OF = {
    "linspace(a, b, n)": "a + (b - a) * torch.arange(n) / (n - 1)",
    "logspace(a, b, n)": "10 ** (a + (b - a) * torch.arange(n) / (n - 1))",
    "fftfreq(n)": "((torch.arange(n) + n // 2) % n - n // 2) / n",
    "rfftfreq(n)": "torch.arange(n // 2 + 1) / n",
    "hann_window(n)": "torch.sin(math.pi * torch.arange(n) / n) ** 2",
    "hamming_window(n)": "0.54 - 0.46 * torch.cos(2 * math.pi * torch.arange(n) / n)",
    "bartlett_window(n)": "1 - torch.abs(2 * torch.arange(n) / n - 1)",
    "one_hot(x, n)": "(x.unsqueeze(-1) == torch.arange(n)).long()",
}
_BY_NAME = {call.partition("(")[0]: (call, code) for call, code in IN_PLACE_OF.items()}
# No other form of these takes a symbol.
OUTSIDE = ("affine_grid", "tril_indices", "triu_indices", "kaiser_window", "vander")
# A graph has a fixed number of outputs of these.
_IN_PARTS = ("unbind", "split")
_OVER_ALL = {"avg_pool": "mean", "max_pool": "amax"}
_POOLS = "|".join(rf"{name}[123]d" for name in _OVER_ALL)
_CALL = re.compile(rf"(?<![\w.])(?P<owner>(?:\w+\.)*)(?P<name>{'|'.join((*_BY_NAME, *OUTSIDE, _POOLS))})\(")
_METHOD = re.compile(rf"(?<=[\w)\]])\.(?P<name>{'|'.join(_IN_PARTS)})\((?!\[)")
_OF_NUMPY = ("np.", "numpy.", "jnp.")
# A window whose size is a number in the code.
_FIXED_WINDOW = re.compile(r"\s*(?:kernel_size=)?[(\[]?\d")
_LENGTH = "max_pool1d(x, k, stride, padding) needs the exact length: write "
_IN_TWO_DIMS = "F.max_pool2d(x.unsqueeze(-2), (1, k), (1, stride), (0, padding)).squeeze(-2)"


def rewriting(lines: Iterable[StackFrame | UserLine | None]) -> str:
    """What to write in place of the call of a line that needs the exact value; "" where none is known, or the line is a library's."""
    return next(filter(None, (_rewriting(line.code) for line in lines if line and not is_library(line.file))), "")


def _rewriting(code: str) -> str:
    found = next((call for call in _CALL.finditer(code) if call["owner"] not in _OF_NUMPY), None)
    if found is None:
        parts = _METHOD.search(code)
        return f"{parts['name']}() makes a tensor of each part: compute with the whole tensor, or reshape it" if parts else ""
    name = found["name"]
    if name in _BY_NAME:
        call, instead = _BY_NAME[name]
        on_device = ", with the same device=" if "device=" in code else ""
        return f"{call} needs the exact n: write {instead}{on_device}"
    if name in OUTSIDE:
        return f"{name}() needs the exact size: call it outside the compiled code, and pass the tensor"
    window = next((item for item in _arguments(code[found.end() :])[1:] if "=" not in item or item.lstrip().startswith("kernel_size=")), "")
    if _FIXED_WINDOW.match(window):
        return f"{_LENGTH}{_IN_TWO_DIMS}" if name == "max_pool1d" else ""
    method = _OVER_ALL[name[:-2]]
    return f"{name}() needs an exact window: where it is all of a dim, write x.{method}(dim, keepdim=True)"


def _arguments(code: str) -> list[str]:
    """The arguments of a call, from behind its parenthesis on; the last one up to the end of the line, where that is within it."""
    found, depth = [""], 0
    for character in code:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            break
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return found

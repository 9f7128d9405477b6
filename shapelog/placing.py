"""Lines of Python to paste: ``mark_dynamic`` calls for a source, written as the code that makes the call would name it."""

import re

from shapelog.marks import Mark
from shapelog.payloads.exprs import integer
from shapelog.payloads.sources import friendly

_LOCAL = re.compile(r"\b[LG]\['(\w+)'\]")
_MODULE = re.compile(r"\._modules\['(\d+)'\]")
_NAMED = re.compile(r"\._(?:modules|parameters|buffers)\['([A-Za-z_]\w*)'\]")
# What stands in the way of a strict mark: PyTorch raises ConstraintViolationError where the size is specialized.
_SPECIALIZED = frozenset(("SL201", "SL202", "SL203"))


def expression(source: str) -> str:
    """``L['self']._modules['layers']._modules['0'].k_cache`` → ``self.layers[0].k_cache``, Python as its user would write it."""
    text = _LOCAL.sub(r"\1", source)
    text = _MODULE.sub(r"[\1]", text)
    return _NAMED.sub(r".\1", text)


def mark_line(mark: Mark, values: list[str], codes: tuple[str, ...]) -> str:
    """A call that marks one dim, with the sizes seen. As arguments, ``min=`` and ``max=`` shut out all others, so the comment has them."""
    if mark.source.startswith("___"):
        return f"# {friendly(mark.source)} is no tensor before the call: convert it (torch.from_numpy) and mark dim {mark.dim} of that"
    strict = not _SPECIALIZED & set(codes)
    function = "mark_dynamic" if strict else "maybe_mark_dynamic"
    sizes = sorted({number for number in map(integer, values) if number is not None})
    note = f"  # seen {sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else ""
    if note and strict and sizes[0] > 1:
        note += f"; min={sizes[0]}, max={sizes[-1]} if no others come"
    return f"torch._dynamo.{function}({expression(mark.source)}, {mark.dim}){note}"

"""Texts of payloads as PyTorch writes them: guard trees and their guards, recompile reasons, graphs."""

import json
import re
from collections.abc import Sequence

CPU_KEYS = "DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)"
# What torch 2.13 writes into the tree of a run without autocast.
_AUTOCAST = {"cached_enabled": True, "dtype": [15, 5], "enabled": [False, False]}
_GLOBAL_STATE = {"allow_tf32": False, "default_dtype": 6, "grad_mode": True, "num_threads": 1}


def code_comment(line: int, code: str, function: str = "f") -> str:
    """A guard's comment that quotes a line of the function."""
    return f"# {code}  # app/model.py:{line} in {function}"


RETURN_LINE = code_comment(6, "return x + 1")


def contiguous_strides(size: Sequence[int | None]) -> tuple[int, ...]:
    """The strides of a contiguous tensor; a dynamic dim (None) counts as 8."""
    strides = [1]
    for length in reversed(size[1:]):
        strides.insert(0, strides[0] * max(8 if length is None else length, 1))
    return tuple(strides[: len(size)])


def guard_manager(source: str, *guards: str, type: str = "", comment: str = RETURN_LINE, kind: str = "GuardManager") -> str:
    """A node of the guard tree: a source, and the guards on it."""
    of_type = f", type=<class '{type}'>" if type else ""
    access = "accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=0)"
    head = f"| +- {kind}: source={source}, {access}{of_type}, tag_safe=(False, False)"
    return "\n".join([head, *(f"| | +- {guard}  {comment}".rstrip() for guard in guards)])


def tensor_match(
    source: str = "L['x']",
    size: Sequence[int | None] = (10, 8),
    stride: Sequence[int | None] | None = None,
    dtype: str = "float32",
    requires_grad: bool = False,
    keys: str = CPU_KEYS,
    more: Sequence[str] = (),
) -> str:
    """The guards on one tensor; None is a dynamic dim."""
    strides = list(contiguous_strides(size) if stride is None else stride)
    layout = f"requires_grad={requires_grad}, size={list(size)}, stride={strides}"
    check = f"check_tensor({source}, Tensor, {keys}, torch.{dtype}, device=None, {layout})"
    return guard_manager(source, f"TENSOR_MATCH: {check}", *more, type="torch.Tensor")


def equals_match(source: str, constant: object, type: str = "int", comment: str = RETURN_LINE) -> str:
    return guard_manager(source, f"EQUALS_MATCH: {source} == {constant!r}", type=type, comment=comment)


def global_state(autocast_state: dict[str, object] | None = None, **fields: object) -> str:
    """The guard on the global state as torch 2.13 writes it; fields that are not given are those of a plain run."""
    state = {**_GLOBAL_STATE, "autocast_state": {**_AUTOCAST, **(autocast_state or {})}, **fields}
    return f"| +- GLOBAL_STATE: ___check_global_state() against {json.dumps(state)}"


def guard_tree(*parts: str, shapes: Sequence[str] = ()) -> str:
    """A whole guard tree; each shape guard with its comment, ``2 <= L['x'].size()[0]  # where``."""
    lines = ["", "TREE_GUARD_MANAGER:", "+- RootGuardManager", *parts, *(f"+- LAMBDA_GUARD: {shape}" for shape in shapes), ""]
    return "\n".join(lines)


def graph_text(inputs: str = 'L_x_: "f32[10, 8][8, 1]cpu"', *statements: str) -> str:
    """A graph as fx prints it; without statements it adds 1 to its first tensor."""
    tensors = re.findall(r'(L_\w+): ("[^"]*")', inputs)
    first, annotation = tensors[0][0].lower(), tensors[0][1]
    lines = [
        *(f"{name.lower()} = {name}" for name, _ in tensors),
        "",
        " # File: /srv/app/model.py:6 in f, code: return x + 1",
        *(statements or (f"add: {annotation} = {first} + 1;  {first} = None", "return (add,)")),
    ]
    head = ["class GraphModule(torch.nn.Module):", f"    def forward(self, {inputs}):"]
    return "\n".join([*head, *(f"        {line}" for line in lines), ""])


def size_mismatch(entry: str, expected: int, actual: int, dim: int = 0, name: str = "x") -> str:
    """A recompile reason about a size of a tensor."""
    return f"{entry}: tensor '{name}' size mismatch at index {dim}. expected {expected}, actual {actual}"


def reason_list(reasons: Sequence[str]) -> str:
    """Several recompile reasons, as they are written in one payload."""
    return "[\n" + ",\n".join(map(json.dumps, reasons)) + "\n]"

"""A graph as PyTorch prints it → a Python module: with a class name that is one, and the imports that it needs."""

import ast
import builtins
import re

from shapelog.reading.payloads.python_code import module_tree

_CLASS = re.compile(rb"\s*class (<lambda>|\w+)\((?:torch\.nn\.|nn\.)?Module\):")
_NAMELESS = re.compile(rb"(?m)^([ \t]*)class <lambda>\(")
# What the code that FX generates refers to: torch/fx/graph.py, _register_custom_builtin.
_KNOWN = {
    "device": "from torch import device",
    "fx_pytree": "import torch.fx._pytree as fx_pytree",
    "inf": "from math import inf",
    "nan": "from math import nan",
    "NoneType": "NoneType = type(None)",
    "pytree": "import torch.utils._pytree as pytree",
}
# FX writes the dots in the name of a function that is no operator as underscores. Functions of torch/_dynamo/external_utils.py in graphs;
# others of those names are made at run time.
_PREFIX = "torch__dynamo_external_utils_"
_FUNCTIONS = ("call_accumulate_grad", "call_backward", "call_hook", "call_hook_from_backward_state", "unwrap_maybe_dynamic_int")
_MOST_NAMED = 20


def is_graph(text: bytes) -> bool:
    """Whether a payload is the class of a graph, by its first line."""
    return _CLASS.match(text) is not None


def graph_head(text: bytes) -> bytes | None:
    """The lines to put before a graph so that it can be imported; None where it is no Python even so.

    Names that no import is known for are listed in a comment: PyTorch makes such functions at run time.
    """
    try:
        tree = module_tree(with_class_names(text).decode("utf-8"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    lines = ["import torch"]
    unknown: list[str] = []
    for name in sorted(_free_names(tree)):
        line = _import_of(name)
        (lines if line else unknown).append(line or name)
    if unknown:
        more = f" and {len(unknown) - _MOST_NAMED} more" if len(unknown) > _MOST_NAMED else ""
        lines.append(f"# Not defined here: {', '.join(unknown[:_MOST_NAMED])}{more}")
    return "\n".join((*lines, "", "", "")).encode()


def with_class_names(text: bytes) -> bytes:
    """The text of a graph with a name for each class that PyTorch calls ``<lambda>``."""
    return _NAMELESS.sub(rb"\1class Graph(", text)


def _free_names(tree: ast.AST) -> set[str]:
    """The names that are read and nowhere set, without those of Python and ``torch``."""
    read: set[str] = set()
    bound = {"torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.ClassDef | ast.FunctionDef):
            bound.add(node.name)
    return {name for name in read - bound if not hasattr(builtins, name)}


def _import_of(name: str) -> str:
    """The line that defines a name, "" where none is known."""
    if name in _KNOWN:
        return _KNOWN[name]
    function = name.removeprefix(_PREFIX)
    return f"from torch._dynamo.external_utils import {function} as {name}" if function != name and function in _FUNCTIONS else ""

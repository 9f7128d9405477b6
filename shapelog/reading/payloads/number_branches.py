"""Lines of code that ask a tensor for a number and branch on it, so that no setting keeps the graph in one piece there.

With ``capture_scalar_outputs`` the number becomes a symbol. A branch on one that no input has (``generic_jump``) breaks the graph, too,
and so does a loop over a range that ends at one (measured with torch 2.13); arithmetic, slices, sizes and assertions do not.
"""

import ast
from collections.abc import Iterator

from shapelog.reading.payloads.python_code import line_tree

_ITEM, _NUMBERS = frozenset(("item", "tolist")), frozenset(("int", "float", "bool"))


def branches_on_number(code: str) -> bool:
    """Whether a line such as ``if loss.item() > 100:`` decides by a number of a tensor what runs next."""
    return any(_is_number(node) for test in _tests(line_tree(code)) for node in ast.walk(test))


def index_by_tensor(code: str) -> str:
    """The variable by which a line indexes a tensor, where nothing else in the line reads a number of one; "" without one."""
    tree = line_tree(code)
    nodes = list(ast.walk(tree))
    names = {node.slice.id for node in nodes if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)}
    reads = any(_is_number(node) for node in nodes) or any(True for _ in _tests(tree))
    return names.pop() if len(names) == 1 and not reads else ""


def _tests(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            yield node.test
        elif isinstance(node, ast.BoolOp):
            yield from node.values[:-1]  # the last one decides nothing by itself
        elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
            yield from node.iter.args if isinstance(node.iter.func, ast.Name) and node.iter.func.id == "range" else ()


def _is_number(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    return function.attr in _ITEM if isinstance(function, ast.Attribute) else isinstance(function, ast.Name) and function.id in _NUMBERS

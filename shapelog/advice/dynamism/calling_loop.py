"""What a loop that calls compiled code does to an object that it passes, between two calls, by the source file.

A trace has the lines of the callers alone: that beam search reorders a cache after each step leaves no record.
"""

import ast
from collections.abc import Iterator

from shapelog.advice.call_lines import caller, passed_names
from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.python_files import is_readable, python_file
from shapelog.reading.records import StackFrame

_LOOPS, _FUNCTIONS = (ast.For, ast.AsyncFor, ast.While), (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# What takes an object and leaves it as it is, although nothing is done with what it returns.
_LEAVING = frozenset(("print", "append", "extend", "add", "insert", "put", "update", "debug", "info", "log", "save", "write"))


def is_changed_in_loop(taker: Compile, source: Source) -> bool:
    """Whether the loop around the line that calls a compile changes the object that holds an input.

    It makes it anew of itself, or calls a function or method with it and does nothing with the result, ``cache.reorder(rows)``. False
    where the file is not on this disk, or has another line there.
    """
    line, names = caller(taker), passed_names(taker, source)
    loop = _loop_around(line) if line and names else None
    return line is not None and loop is not None and any(_changes(node, names) for node in _other_statements(loop, line.line))


def _loop_around(line: StackFrame) -> ast.stmt | None:
    """The innermost loop around a line, in the same function."""
    found = python_file(line.file) if is_readable(line.file) else None
    if found is None or not 0 < line.line <= len(found.lines) or line.code.strip() not in found.lines[line.line - 1]:
        return None
    around = [node for node in ast.walk(found.tree) if isinstance(node, (*_LOOPS, *_FUNCTIONS)) and _has_line(node, line.line)]
    innermost = max(around, key=lambda node: (node.lineno, node.col_offset), default=None)
    return innermost if isinstance(innermost, _LOOPS) else None


def _has_line(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _other_statements(loop: ast.stmt, line: int) -> Iterator[ast.stmt]:
    return (node for node in ast.walk(loop) if isinstance(node, (ast.Expr, ast.Assign)) and not _has_line(node, line))


def _changes(statement: ast.stmt, names: frozenset[str]) -> bool:
    """Whether a statement changes what one of these variables holds."""
    if isinstance(statement, ast.Assign):
        is_own = any(_root(target) in names for target in statement.targets)
        return is_own and any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement.value))
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return False
    function = call.func.attr if isinstance(call.func, ast.Attribute) else _root(call.func)
    receiver = _root(call.func.value) if isinstance(call.func, ast.Attribute) else ""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return receiver in names or (function not in _LEAVING and any(_root(part) in names for part in given))


def _root(part: ast.expr) -> str:
    """``cache`` for ``cache``, ``cache.layers[0]`` and any other part of it; "" for any other expression."""
    while isinstance(part, (ast.Subscript, ast.Attribute, ast.Starred)):
        part = part.value
    return part.id if isinstance(part, ast.Name) else ""

"""What the code around a call of compiled code does with what it passes or is returned, by the source file.

A trace has the lines of the callers alone: that beam search reorders a cache after each step, or that a model normalizes what its last
block returns, leaves no record.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from shapelog.advice.call_lines import caller, is_computed, last_name, passed_names, root_name
from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.python_files import PythonFile, is_readable, python_file
from shapelog.reading.records import StackFrame

# The parts of an object that code assigns, None for any of them.
_Assigned = frozenset[str] | None
_ARGUMENT = re.compile(r"L\['(?:kwargs'\]\[')?\w+'\]")
# The attributes, keys and items on the way to an input.
_PATH = re.compile(r"\w+|\[(?=\d)")
_LOOPS, _FUNCTIONS = (ast.For, ast.AsyncFor, ast.While), (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BRANCHES = (ast.If, ast.Try, ast.Match, *_LOOPS, *_FUNCTIONS)
# What takes an object and leaves it as it is, although nothing is done with what it returns.
_LEAVING = frozenset(("print", "append", "extend", "add", "insert", "put", "update", "debug", "info", "log", "save", "write"))


@dataclass(eq=False, repr=False)
class CallingCode:
    """The functions and loops around lines that call compiled code; each file is read once."""

    _files: dict[str, PythonFile | None] = field(default_factory=dict)
    _effects: dict[tuple[Compile, str], tuple[_Assigned, ...]] = field(default_factory=dict)

    def changes(self, taker: Compile, source: Source) -> bool:
        """Whether the loop around the line that calls a compile changes the object that holds an input.

        It makes it anew of itself, or calls a function or method with it and does nothing with the result, ``cache.reorder(rows)``,
        unless that is in the same file and sets other attributes. False where the file is not on this disk, or has another line there.
        """
        argument = _ARGUMENT.match(source)
        if argument is None:
            return False
        key = taker, argument[0]
        if key not in self._effects:
            self._effects[key] = tuple(self._effects_on(taker, Source(argument[0])))
        return any(assigned is None or not assigned.isdisjoint(_PATH.findall(source)) for assigned in self._effects[key])

    def leaves(self, taker: Compile, source: Source) -> bool:
        """Whether an input is in an object that the loop around the line that calls a compile leaves as it is, by the file on this disk."""
        argument, line = _ARGUMENT.match(source), caller(taker)
        tree = self._tree_with(line) if line and argument and source != argument[0] and passed_names(taker, Source(argument[0])) else None
        in_loop = line is not None and tree is not None and isinstance(_innermost(tree, line.line, (*_LOOPS, *_FUNCTIONS)), _LOOPS)
        return in_loop and not self.changes(taker, source)

    def makes_anew(self, maker: Compile, taker: Compile, source: Source) -> bool:
        """Whether the function that calls two compiles assigns something new to the variable that held what the first one returned and
        that is passed to the second one, ``h = h.repeat_interleave(2, 0)``, on the way from the one line to the other.

        False where the file is not on this disk, or has another line there.
        """
        made, taken = caller(maker), caller(taker)
        if made is None or taken is None or (made.file, made.name) != (taken.file, taken.name) or made.line >= taken.line:
            return False
        names, tree = passed_names(taker, source), self._tree_with(taken)
        function = _innermost(tree, taken.line, _FUNCTIONS) if tree and names and self._tree_with(made) else None
        if function is None:
            return False
        return any(
            made.line < node.lineno < taken.line
            and not names.isdisjoint(target.id for target in node.targets if isinstance(target, ast.Name))
            and is_computed(node.value)
            and not _may_be_skipped(node, function, taken.line)
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
        )

    def _effects_on(self, taker: Compile, argument: Source) -> Iterator[_Assigned]:
        """What each statement of the loop assigns of an argument."""
        line, names = caller(taker), passed_names(taker, argument)
        tree = self._tree_with(line) if line and names else None
        if line is None or tree is None:
            return
        for statement in _other_statements(tree, line.line):
            for function in _changing(statement, names):
                yield _parts_set_by(tree, function) if function else None

    def returns_another(self, maker: Compile) -> bool:
        """Whether the function that calls a compile keeps what that returns, and itself returns what another call makes, ``norm(x)``.

        A class may hold what it is passed. False where the file is not on this disk, or has another line there.
        """
        line = caller(maker)
        tree = self._tree_with(line) if line else None
        function = _innermost(tree, line.line, _FUNCTIONS) if line and tree else None
        if line is None or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        inside = list(ast.walk(function))
        is_held = any(isinstance(node, ast.Assign) and _has_line(node, line.line) for node in inside)
        returned = [node.value for node in inside if isinstance(node, ast.Return)]
        return is_held and bool(returned) and all(isinstance(value, ast.Call) and last_name(value)[:1].islower() for value in returned)

    def _tree_with(self, line: StackFrame) -> ast.Module | None:
        """The file of a line, None where it has another one there."""
        if line.file not in self._files:
            self._files[line.file] = python_file(line.file) if is_readable(line.file) else None
        found, code = self._files[line.file], line.code.strip()
        is_there = found is not None and code != "" and 0 < line.line <= len(found.lines) and code in found.lines[line.line - 1]
        return found.tree if found and is_there else None


def _has_line(node: ast.stmt | ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _innermost(tree: ast.Module, line: int, kinds: tuple[type[ast.stmt | ast.expr], ...]) -> ast.stmt | ast.expr | None:
    """The innermost node of these kinds around a line."""
    around = [node for node in ast.walk(tree) if isinstance(node, kinds) and _has_line(node, line)]
    return max(around, key=lambda node: (node.lineno, node.col_offset), default=None)


def _may_be_skipped(statement: ast.stmt, function: ast.AST, line: int) -> bool:
    """Whether a statement is in a branch or a loop of a function that a line after it is not in."""
    around = (node for node in ast.walk(function) if isinstance(node, _BRANCHES) and node is not function)
    return any(_has_line(node, statement.lineno) and not _has_line(node, line) for node in around)


def _other_statements(tree: ast.Module, line: int) -> Iterator[ast.Expr | ast.Assign]:
    """The statements of the innermost loop around a line, without that one; none where the function begins within the loop."""
    innermost = _innermost(tree, line, (*_LOOPS, *_FUNCTIONS))
    for node in ast.walk(innermost) if isinstance(innermost, _LOOPS) else ():
        if isinstance(node, (ast.Expr, ast.Assign)) and not _has_line(node, line):
            yield node


def _changing(statement: ast.Expr | ast.Assign, names: frozenset[str]) -> Iterator[str]:
    """The function that a statement calls for its effect on what one of these variables holds; "" where it assigns that itself."""
    if isinstance(statement, ast.Assign):
        is_own = any(root_name(target) in names for target in statement.targets)
        if is_own and any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(statement.value)):
            yield ""
        return
    call = statement.value
    if isinstance(call, ast.Call):
        function = last_name(call)
        receiver = root_name(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if receiver in names or (function not in _LEAVING and any(root_name(part) in names for part in given)):
            yield function


def _parts_set_by(tree: ast.Module, function: str) -> _Assigned:
    """The attributes that functions of this name in a file assign, "[" for items; None where the file has none of the name."""
    bodies = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == function]
    inside = [node for body in bodies for node in ast.walk(body)]
    parts = [node for node in inside if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store)]
    return frozenset([part.attr if isinstance(part, ast.Attribute) else "[" for part in parts]) if bodies else None

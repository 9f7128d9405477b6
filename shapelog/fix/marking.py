"""``mark_dynamic`` before a call: on the argument where it has a name, else on a local that takes its place."""

import ast
from collections.abc import Iterator
from keyword import iskeyword
from typing import NamedTuple

from shapelog.fix.arguments import Argument
from shapelog.fix.call_sites import CallSite
from shapelog.fix.edits import Edit
from shapelog.fix.imports import torch_name
from shapelog.fix.names import Names, is_still
from shapelog.fix.source_files import CannotPlaceError, SourceFile

# What evaluates a part of it before all else.
_FIRST = (ast.Attribute, ast.Subscript, ast.Await, ast.UnaryOp, ast.keyword, ast.stmt)
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)


class Marking(NamedTuple):
    """Dims of an argument to mark before a call with a function of ``torch._dynamo``; ``parameter`` is what the compiled code calls it."""

    file: SourceFile
    site: CallSite
    argument: Argument
    parameter: str
    dims: tuple[int, ...]
    function: str

    def check(self, names: Names) -> None:
        """Raises CannotPlaceError where the lines cannot be put there."""
        statement = self.site.statement
        line = self.file.lines[statement.lineno - 1]
        if line.encode()[: statement.col_offset].decode().strip():
            raise CannotPlaceError(f"{self.file.name}:{statement.lineno}: the statement shares its line with another one")
        if isinstance(self.argument.node, ast.Constant):
            raise CannotPlaceError(f"{self.file.name}:{self.site.call.lineno}: the call passes a constant for {self.parameter}")
        if not self.argument.is_still and not (_is_simple(statement) and _is_first(self.site, names)):
            where = f"{self.file.name}:{self.site.call.lineno}"
            raise CannotPlaceError(f"{where}: {self.parameter} is passed as an expression that cannot be moved out of its statement")


def _is_simple(statement: ast.stmt) -> bool:
    """Whether lines before the statement run once for each time that it does, and nothing in it matters to them but its value."""
    return isinstance(statement, _SIMPLE) or (isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name))


def _is_first(site: CallSite, names: Names) -> bool:
    """Whether nothing in the statement happens before the arguments of the call."""
    inner: ast.AST = site.call
    if not _does_nothing(site.call.func):
        return False
    while inner is not site.statement:
        outer = names.parents[inner]
        if isinstance(outer, ast.Call):
            before = [] if inner is outer.func else [outer.func, *_until(outer, inner)]
        elif isinstance(outer, ast.BinOp):
            before = [] if inner is outer.left else [outer.left]
        elif isinstance(outer, ast.Tuple | ast.List):
            before = outer.elts[: outer.elts.index(inner)] if isinstance(inner, ast.expr) else []
        elif isinstance(outer, _FIRST) and not (isinstance(outer, ast.Subscript) and inner is outer.slice):
            before = []
        else:
            return False
        if not all(map(_does_nothing, before)):
            return False
        inner = outer
    return True


def _does_nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) or is_still(node)


def arguments_in_order(call: ast.Call) -> list[ast.expr]:
    """The expressions that a call passes, as they are evaluated."""
    return [*call.args, *(item.value for item in call.keywords)]


def _until(call: ast.Call, argument: ast.AST) -> Iterator[ast.expr]:
    for item in arguments_in_order(call):
        if item is argument or any(keyword is argument and keyword.value is item for keyword in call.keywords):
            return
        yield item


class CallMarks:
    """The markings of one call: all lines before its statement, and the locals that take the place of expressions."""

    def __init__(self, file: SourceFile, site: CallSite, names: Names) -> None:
        self.file = file
        self.site = site
        self.names = names
        self.markings: list[tuple[Marking, str]] = []

    def edits(self, used: set[str]) -> Iterator[Edit]:
        """``used`` are the names in the file, to which those of new locals are added."""
        file, statement = self.file, self.site.statement
        start = file.start_of(statement.lineno)
        indent, newline = file.indent_of(statement.lineno), file.newline_at(statement.lineno)
        torch = torch_name(self.names, self.site.call) or "torch"
        ids = tuple(dict.fromkeys(suggestion for _, suggestion in self.markings))
        locals_ = dict(self._new_locals(used))
        lines = []
        for node, name in locals_.items():
            text = file.segment(node)
            lines.append(f"{name} = ({text})" if "\n" in text or isinstance(node, ast.GeneratorExp) else f"{name} = {text}")
            yield Edit(file.offset(node.lineno, node.col_offset), file.offset(node.end_lineno or 0, node.end_col_offset or 0), name, ids)
        for marking, _ in self.markings:
            argument = marking.argument
            name = (locals_.get(argument.node) or file.segment(argument.node) if argument.node else "") + file.in_own_quotes(argument.rest)
            dims = str(marking.dims[0]) if len(marking.dims) == 1 else str(marking.dims)
            lines.append(f"{torch}._dynamo.{marking.function}({name}, {dims})")
        yield Edit(start, start, "".join(f"{indent}{line}{newline}" for line in lines), ids)

    def _new_locals(self, used: set[str]) -> Iterator[tuple[ast.expr, str]]:
        """Arguments that are no plain names, up to the last that is marked, with names of their own: their order stays as it was."""
        marked = {marking.argument.node: marking.parameter for marking, _ in self.markings if marking.argument.node}
        waiting = {node for node in marked if not is_still(node)}
        for number, node in enumerate(arguments_in_order(self.site.call)):
            if not waiting:
                return
            waiting.discard(node)
            if not _does_nothing(node):
                yield node, _free_name(marked.get(node, f"argument_{number}"), used)


def _free_name(wanted: str, used: set[str]) -> str:
    name = wanted if wanted.isidentifier() and not iskeyword(wanted) else "argument"
    number = 2
    found = name
    while found in used:
        found, number = f"{name}_{number}", number + 1
    used.add(found)
    return found


def used_names(names: Names, node: ast.AST) -> set[str]:
    """The names that a new local at a node must not have: those that its function uses, or that mean names of the module there."""
    function = names.function_of(node)
    words = _words(function or names.tree)
    if function:
        return {word for word, _ in words}
    return {word for word, at in words if not any(names.binds(scope, word) for scope in names.scopes(at) if scope is not names.tree)}


def _words(tree: ast.AST) -> list[tuple[str, ast.AST]]:
    """Every word that is used as a name below a node, with where; those of arguments that a call passes by name mean nothing there."""
    found: list[tuple[str, ast.AST]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword):
            continue
        found += [(str(getattr(node, field)), node) for field in ("id", "arg", "name", "asname") if getattr(node, field, None)]
        found += [(word, node) for word in node.names] if isinstance(node, ast.Global | ast.Nonlocal) else []
    return found

"""The calls of compiled code in a source file: the one on a line that the trace names, and others of the same callee."""

import ast
import builtins
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.fix.arguments import Callee, binds, passes
from shapelog.fix.names import Names
from shapelog.fix.source_files import CannotPlaceError
from shapelog.reading.records import StackFrame

_BUILTIN = frozenset(dir(builtins))
# Modules whose functions are not the user's.
_LIBRARIES = frozenset(("torch", "numpy", "np", "math", "time", "os", "random", "F", "nn"))


class CallSite(NamedTuple):
    """A call of compiled code, and the statement that it is a part of."""

    call: ast.Call
    statement: ast.stmt


def call_at(names: Names, place: StackFrame, callee: Callee, source: str) -> CallSite:
    """The call of the compiled code on a line; of several, the one that passes the source.

    Raises CannotPlaceError where there is none, or several could be meant.
    """
    on_line = [node for node in ast.walk(names.tree) if isinstance(node, ast.Call) and line_of(node) == place.line]
    known = [(node, names.behind(node.func)) for node in on_line if _may_be_compiled(node) and not _makes_object(node, callee, names)]
    fitting = [(node, behind) for node, behind in known if binds(callee, node)]
    found = [node for node, behind in fitting if behind in callee.names] or [node for node, behind in fitting if not behind]
    if len(found) > 1:
        found = [node for node in found if passes(source, callee, node, names)]
    if len(found) != 1:
        line = f"on line {place.line}"
        several, none = (
            f"more than one call {line} may be that of the compiled code",
            f"no call {line} is known to be one of the compiled code",
        )
        raise CannotPlaceError(several if found else none)
    return CallSite(found[0], statement_of(names, found[0]))


def same_calls(names: Names, site: CallSite, callee: Callee) -> Iterator[CallSite]:
    """Other calls of the same code in the file: by the same name, where that means the same, or by another name of it.

    A call that is not marked would get a graph of its own.
    """
    called = ast.dump(site.call.func)
    own = names.function_of(site.call)
    root = _root(site.call.func)
    is_shared = root is not None and _is_global(names, site.call, root)
    for node in ast.walk(names.tree):
        if not isinstance(node, ast.Call) or node is site.call or not _may_be_compiled(node) or not binds(callee, node):
            continue
        is_same = names.function_of(node) is own or (is_shared and _is_global(names, node, root or ""))
        is_other_name = names.behind(node.func) in callee.names and not _makes_object(node, callee, names)
        if (ast.dump(node.func) == called and is_same) or is_other_name:
            yield CallSite(node, statement_of(names, node))


def statement_of(names: Names, call: ast.Call) -> ast.stmt:
    """The statement that a call is evaluated in. Raises CannotPlaceError where it may be evaluated more than once, later, or not at all."""
    inner: ast.AST = call
    while not isinstance(inner, ast.stmt):
        outer = names.parents[inner]
        if isinstance(outer, ast.Lambda):
            raise CannotPlaceError("the call is in a lambda")
        if isinstance(outer, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            raise CannotPlaceError("the call is in a comprehension")
        is_optional = (isinstance(outer, ast.BoolOp) and outer.values[0] is not inner) or (
            isinstance(outer, ast.IfExp) and outer.test is not inner
        )
        if is_optional:
            raise CannotPlaceError("the call is in an expression that does not always evaluate it")
        inner = outer
    if isinstance(inner, ast.While | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Match):
        raise CannotPlaceError("the call is in the head of a compound statement")
    if isinstance(inner, ast.If) and _is_elif(names, inner):
        raise CannotPlaceError("the call is in the condition of an elif")
    if any(isinstance(node, ast.NamedExpr) for node in ast.walk(inner)) and not isinstance(inner, ast.For | ast.With | ast.If):
        raise CannotPlaceError("the statement assigns names in the middle of an expression")
    return inner


def _is_elif(names: Names, node: ast.If) -> bool:
    parent = names.parents[node]
    return isinstance(parent, ast.If) and node in parent.orelse and node.col_offset == parent.col_offset


def line_of(call: ast.Call) -> int:
    """The line that a traceback names while the call runs."""
    return call.func.end_lineno or call.lineno if isinstance(call.func, ast.Attribute) else call.lineno


def _may_be_compiled(call: ast.Call) -> bool:
    """Not a function of Python or torch, nor a method of what another call returns."""
    root = _root(call.func)
    return root is not None and root not in _LIBRARIES and not (isinstance(call.func, ast.Name) and root in _BUILTIN)


def _makes_object(call: ast.Call, callee: Callee, names: Names) -> bool:
    """Whether it calls the class that the compiled method belongs to."""
    return names.is_class(call.func) and names.behind(call.func) != callee.name


def _root(node: ast.expr) -> str | None:
    """The name that an expression with attributes and items begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_global(names: Names, node: ast.AST, name: str) -> bool:
    """Whether a name means that of the module there."""
    return not any(names.binds(scope, name) for scope in names.scopes(node) if not isinstance(scope, ast.Module))

"""What a name in a source file means, as far as its assignments show: the function or class behind ``torch.compile(Net().eval())``."""

import ast
from collections.abc import Iterator

_Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Function = ast.FunctionDef | ast.AsyncFunctionDef
# Methods that return the module they are called on.
_CHAINED = frozenset(("to", "cuda", "cpu", "eval", "train", "half", "float", "double", "bfloat16", "requires_grad_", "compile"))
_MOST_STEPS = 8
# Attributes of a tensor that are another tensor each time.
_VIEWS = frozenset(("T", "mT", "H", "mH", "real", "imag", "data", "grad"))


def parents_of(tree: ast.Module) -> dict[ast.AST, ast.AST]:
    """Node → the node that it is a part of."""
    return {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}


def chain(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    """The nodes that a node is inside of, the innermost first."""
    while node in parents:
        node = parents[node]
        yield node


def is_still(node: ast.expr) -> bool:
    """Whether an expression gives the same object each time, and does nothing else: names, their attributes, items by a string."""
    if isinstance(node, ast.Attribute):
        return node.attr not in _VIEWS and is_still(node.value)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str) and is_still(node.value)
    return isinstance(node, ast.Name)


class Names:
    """Looks names up in one file."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents = parents_of(tree)
        self.classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def scopes(self, node: ast.AST) -> Iterator[_Scope]:
        """The functions around a node and the module, the innermost first."""
        yield from (item for item in chain(node, self.parents) if isinstance(item, _Scope))

    def function_of(self, node: ast.AST) -> _Function | ast.Lambda | None:
        found = next(self.scopes(node), None)
        return None if isinstance(found, ast.Module) else found

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        """The class whose body holds a function or one of the functions around it."""
        return next((item for item in chain(node, self.parents) if isinstance(item, ast.ClassDef)), None)

    def binds(self, scope: _Scope, name: str) -> bool:
        """Whether a name belongs to this scope."""
        return _is_parameter(scope, name) or any(_binds(item, name) for item in _bindings(scope))

    def is_global(self, node: ast.AST, name: str) -> bool:
        """Whether a name means one that the module binds, at a node."""
        return self.binds(self.tree, name) and not any(self.binds(scope, name) for scope in self.scopes(node) if scope is not self.tree)

    def behind(self, node: ast.expr, steps: int = _MOST_STEPS) -> str:
        """The name of the function, or of the class of the object, that an expression is; "" where that does not show."""
        if not steps:
            return ""
        if isinstance(node, ast.Name):
            return self._behind_name(node, steps)
        if isinstance(node, ast.Attribute):
            return self._behind_attribute(node, steps)
        if not isinstance(node, ast.Call):
            return ""
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "compile" and node.args:
                return self.behind(node.args[0], steps - 1)
            return self.behind(node.func.value, steps - 1) if node.func.attr in _CHAINED else ""
        return node.func.id if isinstance(node.func, ast.Name) and self._is_class(node.func.id) else ""

    def is_class(self, node: ast.expr) -> bool:
        """Whether an expression is a class, so that a call of it makes an object: ``Net``, ``transformers.BertModel``."""
        if isinstance(node, ast.Attribute):
            imported = isinstance(node.value, ast.Name) and any(node.value.id in names for names in self._imports())
            return imported and node.attr[:1].isupper()
        return isinstance(node, ast.Name) and self._is_class(node.id)

    def _is_class(self, name: str) -> bool:
        """Whether it is a class of this file, or something that is imported and named like one."""
        return name in self.classes or (name[:1].isupper() and any(name in names for names in self._imports()))

    def _imports(self) -> Iterator[list[str]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom | ast.Import):
                yield [alias.asname or alias.name for alias in node.names]

    def _behind_name(self, node: ast.Name, steps: int) -> str:
        for scope in self.scopes(node):
            found = [item for item in _bindings(scope) if _binds(item, node.id)]
            if len(found) == 1:
                (item,) = found
                if isinstance(item, _Function | ast.ClassDef):
                    return item.name
                if isinstance(item, ast.ImportFrom):
                    return next(alias.name for alias in item.names if (alias.asname or alias.name) == node.id)
                return self.behind(item.value, steps - 1) if isinstance(item, ast.Assign) and _is_plain_target(item) else ""
            if found or _is_parameter(scope, node.id):
                return ""
        return ""

    def _behind_attribute(self, node: ast.Attribute, steps: int) -> str:
        """``self.net`` where one line of the class sets it; a method by its name."""
        owner = self.class_of(node)
        if isinstance(node.value, ast.Name) and node.value.id == "self" and owner:
            set_by = [item for item in ast.walk(owner) if isinstance(item, ast.Assign) and _sets_attribute(item, node.attr)]
            if len(set_by) == 1:
                return self.behind(set_by[0].value, steps - 1)
            return "" if set_by else node.attr
        return node.attr


def _bindings(scope: _Scope) -> Iterator[ast.AST]:
    """What binds names in a scope, without the functions and classes inside it."""
    body = scope.body if isinstance(scope.body, list) else []
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _Function | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.ImportFrom | ast.Import | ast.For):
            yield node
        if isinstance(node, ast.NamedExpr | ast.withitem | ast.ExceptHandler):
            yield node
        if not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, _Function | ast.ClassDef | ast.ExceptHandler):
        return node.name == name
    if isinstance(node, ast.ImportFrom | ast.Import):
        return any((alias.asname or alias.name.partition(".")[0]) == name for alias in node.names)
    if isinstance(node, ast.withitem):
        return node.optional_vars is not None and _names(node.optional_vars, name)
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(target is not None and _names(target, name) for target in targets)


def _names(target: ast.AST, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Store) for item in ast.walk(target))


def _is_plain_target(node: ast.Assign) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)


def _sets_attribute(node: ast.Assign, name: str) -> bool:
    targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
    return any(isinstance(item.value, ast.Name) and item.value.id == "self" and item.attr == name for item in targets)


def _is_parameter(scope: _Scope, name: str) -> bool:
    if isinstance(scope, ast.Module):
        return False
    given = scope.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *(item for item in (given.vararg, given.kwarg) if item)]
    return any(item.arg == name for item in every)

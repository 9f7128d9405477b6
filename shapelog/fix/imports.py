"""Where the imports of a file end, and what it calls torch."""

import ast

from shapelog.fix.names import Names
from shapelog.fix.source_files import SourceFile

# What a file lacks that does not import torch.
IMPORT = "import torch"
_BEGINS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With, ast.If)


def torch_name(names: Names, node: ast.AST) -> str:
    """The name of the module torch at a node, "" where it is not imported."""
    for scope in names.scopes(node):
        body = scope.body if isinstance(scope.body, list) else []
        for statement in body:
            for alias in statement.names if isinstance(statement, ast.Import) else ():
                if alias.name == "torch" or (alias.name.startswith("torch.") and not alias.asname):
                    return alias.asname or "torch"
    return ""


def after_imports(file: SourceFile) -> int:
    """The 1-based line before which a statement follows the imports at the head of the module, and precedes all functions."""
    body = file.tree.body
    head = body[: next((number for number, node in enumerate(body) if isinstance(node, _BEGINS)), len(body))]
    last: ast.stmt | None = next((node for node in reversed(head) if isinstance(node, ast.Import | ast.ImportFrom)), None)
    if last is None and body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        last = body[0]  # the docstring
    if last is None:
        return min(node.lineno for node in ast.walk(body[0]) if isinstance(node, ast.stmt | ast.expr)) if body else 1
    return (last.end_lineno or last.lineno) + 1

"""Python code that a trace quotes or a file holds → its tree, without a line of Python's own on standard error."""

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

# Real guards and lines have a few hundred characters and about ten levels. Python 3.10 crashes on the nesting that a megabyte can hold.
_MAX_LENGTH, _MAX_DEPTH = 10_000, 100


@contextmanager
def without_warnings() -> Iterator[None]:
    """Leaves out what Python warns of as it parses code, such as the escape in ``"\\d"``: somebody else wrote that."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def module_tree(text: str | bytes) -> ast.Module:
    """The tree of a whole file. Raises what ``ast.parse`` raises: SyntaxError, ValueError, RecursionError, MemoryError."""
    with without_warnings():
        return ast.parse(text)


def syntax_tree(text: str, mode: str = "eval") -> ast.AST | None:
    """The tree of code quoted in a trace, flat enough for recursion; None for anything but Python, and for code too long or too deep."""
    if len(text) > _MAX_LENGTH:
        return None
    try:
        with without_warnings():
            tree = ast.parse(text, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree if len(text) <= _MAX_DEPTH or not _is_deep(tree) else None


@lru_cache(maxsize=4096)
def line_tree(code: str) -> ast.Module:
    """The statements of a line of code, of which a block may lack its body; none where the line is only a part of a statement.

    Many records have the same line: the tree is one for all of them, and not to be changed.
    """
    text = code.strip().removeprefix("el") if code.lstrip().startswith("elif ") else code.strip()
    tree = syntax_tree(text, "exec") or syntax_tree(f"{text} pass", "exec")
    return tree if isinstance(tree, ast.Module) else ast.Module(body=[], type_ignores=[])


def _is_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(_MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)

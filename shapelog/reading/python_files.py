"""Python files that a trace names, on this disk: name → lines and tree.

Names in a trace are anyone's: only Python files are read, and none over the network.
"""

import ast
import os
import stat
import tokenize
from typing import NamedTuple

from shapelog.reading.payloads.python_code import module_tree

_MAX_BYTES = 500_000


class PythonFile(NamedTuple):
    """A file as it is now. ``saved`` is when it was last saved, in seconds since the epoch."""

    lines: tuple[str, ...]
    tree: ast.Module
    saved: float


def is_readable(path: str) -> bool:
    """Whether there is such a Python file on this disk, of a size that can be read."""
    if not path.endswith(".py") or path.startswith(("//", "\\\\")):
        return False
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= _MAX_BYTES


def python_file(path: str) -> PythonFile | None:
    """A file that ``is_readable``; None where it is no Python after all, or cannot be opened."""
    try:
        with tokenize.open(path) as opened:
            text = opened.read()
            saved = os.fstat(opened.fileno()).st_mtime
        tree = module_tree(text)
    except (OSError, SyntaxError, ValueError, LookupError, RecursionError, MemoryError):  # LookupError: a codec that is not for text
        return None
    return PythonFile(tuple(text.removesuffix("\n").split("\n")), tree, saved)

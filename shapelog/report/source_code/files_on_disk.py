"""The files that a trace names, where they lie on this disk and have not changed since.

Only those that hold every line that the trace quotes are shown.
"""

import ast
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from shapelog.reading.python_files import is_readable, python_file
from shapelog.report.repository_paths import Repository
from shapelog.report.source_code.quoted_lines import Quote, changed_line


class DiskState(Enum):
    """What became of a file since the trace was written."""

    UNCHANGED = "unchanged"
    CHANGED = "changed since"
    ELSEWHERE = "not on this disk"


class Extent(NamedTuple):
    """A function: its name with those of the classes and functions around it, and its first and last line, decorators included."""

    name: str
    first: int
    last: int


class DiskFile(NamedTuple):
    """A file on this disk. ``path`` is "" where there is none; ``lines`` and ``functions`` are () unless it is unchanged, as far as the
    trace quotes it. ``saved`` is when it was last saved, in seconds since the epoch.
    """

    state: DiskState
    path: str = ""
    lines: tuple[str, ...] = ()
    functions: tuple[Extent, ...] = ()
    saved: float = 0.0

    def function_at(self, line: int) -> Extent | None:
        """The innermost function around a line; None at the top level of the file."""
        around = [item for item in self.functions if item.first <= line <= item.last]
        return max(around, key=lambda item: item.first, default=None)


def disk_file(file: str, quotes: Mapping[int, Quote], repository: Repository) -> DiskFile:
    """A file of a trace, by its own path or by its place in the repository."""
    path = _path(file, repository)
    if not path:
        return DiskFile(DiskState.ELSEWHERE)
    found = python_file(path)
    codes = {line: quote.code for line, quote in quotes.items()}
    if found is None or not any(codes.values()) or changed_line(found.lines, codes) is not None:
        return DiskFile(DiskState.CHANGED, path)
    return DiskFile(DiskState.UNCHANGED, path, found.lines, tuple(_extents(found.tree, "")), found.saved)


def _path(file: str, repository: Repository) -> str:
    """Its absolute path on this disk, "" where there is no such Python file of a readable size."""
    candidates = [file] if os.path.isabs(file) else []
    found = repository.source_line(file, 1)
    if found and found.is_inside:
        with suppress(FileNotFoundError):  # the current directory was removed
            candidates.append(os.path.abspath(os.path.join(repository.root, found.file)))
    return next(filter(is_readable, candidates), "")


def _extents(node: ast.AST, around: str) -> Iterator[Extent]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name = f"{around}{child.name}"
            first = min([child.lineno, *(item.lineno for item in child.decorator_list)])
            yield Extent(name, first, child.end_lineno or child.lineno)
            yield from _extents(child, f"{name}.")
        else:
            yield from _extents(child, f"{around}{child.name}." if isinstance(child, ast.ClassDef) else around)

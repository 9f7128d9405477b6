"""Where the files that a trace names lie in the repository that is checked."""

import os
import posixpath
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.reading.payloads.source_names import is_library, is_notebook_cell

_DRIVE = re.compile(r"^[A-Za-z]:/")
_INSTALLED = re.compile(r"(?:^|/)(?:(?:site|dist)-packages|lib/python3\.\d+)/")
# At most this many directories are tried, innermost first.
_MAX_DEPTH = 64


class SourceLine(NamedTuple):
    """A 1-based line of a file, 0 where the line is not known.

    ``file`` is relative to the repository where ``is_inside``, else as the trace has it; slashes always.
    """

    file: str
    line: int
    is_inside: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository. ``root`` is its directory on this machine; ``prefixes`` are what its files begin with in the trace.

    A trace from elsewhere (a container, another machine) has other directories in front: a file of which the longest end is there below
    the root is taken for that one. Only names are looked at, nothing is read.
    """

    root: str = "."
    prefixes: tuple[str, ...] = ()
    known: dict[str, tuple[str, bool]] = field(default_factory=dict, repr=False, compare=False)

    def source_line(self, file: str, line: int) -> SourceLine | None:
        """None for code that lies in no file, such as generated code and notebook cells."""
        if not file.strip(".…") or file.startswith("<") or is_notebook_cell(file):
            return None
        found = self.known.get(file)
        if found is None:
            found = self.known[file] = self._placed(file.replace("\\", "/"))
        return SourceLine(found[0], max(line, 0), found[1])

    def _placed(self, path: str) -> tuple[str, bool]:
        inner = self._stripped(path) or ("" if path.startswith("/") or _DRIVE.match(path) else path)
        if inner:
            inner = posixpath.normpath(inner)
            is_outside = inner.startswith(("../", "/")) or inner in ("..", ".") or _INSTALLED.search(inner)
            return (path, False) if is_outside else (inner, True)
        return (path, False) if _INSTALLED.search(path) or is_library(path) else self._by_end(path)

    def _stripped(self, path: str) -> str:
        """What follows a prefix or the root, "" where the path has none of these in front."""
        for prefix in (*self.prefixes, *self._roots()):
            start = prefix.replace("\\", "/").rstrip("/") + "/"
            if path.startswith(start):
                return path[len(start) :]
        return ""

    def _roots(self) -> tuple[str, ...]:
        try:
            return os.path.realpath(self.root), os.path.abspath(self.root)
        except FileNotFoundError:  # the current directory was removed
            return ()

    def _by_end(self, path: str) -> tuple[str, bool]:
        parts = [part for part in path.split("/")[1:] if part]
        if ".." not in parts:
            for start in range(max(0, len(parts) - _MAX_DEPTH), len(parts)):
                end = "/".join(parts[start:])
                if os.path.isfile(os.path.join(self.root, end)):
                    return end, True
        return path, False

"""The files of the program as they are on this disk: only those below the source root that are as the trace quotes them."""

import ast
import io
import os
import tokenize
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from shapelog.fix.names import Names
from shapelog.model.trace import Trace
from shapelog.reading.payloads.python_code import module_tree
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.report.repository_paths import Repository
from shapelog.report.source_code.quoted_lines import changed_line

# More than any source file has, in bytes.
_LARGEST = 4 << 20


class CannotPlaceError(Exception):
    """Why an edit cannot be made, in words."""


class FileNotFoundHereError(CannotPlaceError):
    """The file is not below the source root: whatever else rules an edit out, this comes first."""

    def __init__(self, name: str, root: str) -> None:
        where = os.getcwd() if root == "." else root
        super().__init__(f"{name} is not found below {where}: run this where the program ran, or pass --source-root")


@dataclass(frozen=True, slots=True, eq=False)
class SourceFile:
    """A source file. ``path`` is its real path, ``name`` that below the source root, with slashes; ``lines`` keep their ends."""

    path: str
    name: str
    content: bytes
    encoding: str
    lines: tuple[str, ...]
    tree: ast.Module

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def in_own_quotes(self, code: str) -> str:
        """Code whose strings are in single quotes, in double ones where this file has more of those."""
        return code.replace("'", '"') if '"' not in code and self.text.count('"') > self.text.count("'") else code

    def newline_at(self, line: int) -> str:
        """The end of a 1-based line, or of the one before where the file ends without one."""
        text = self.lines[min(line, len(self.lines)) - 1]
        return "\r\n" if text.endswith("\r\n") or (not text.endswith("\n") and self.lines[0].endswith("\r\n")) else "\n"

    def indent_of(self, line: int) -> str:
        text = self.lines[line - 1]
        return text[: len(text) - len(text.lstrip(" \t\f"))]

    def offset(self, line: int, column: int) -> int:
        """The position in ``text`` of a place in the tree, whose columns count bytes of UTF-8."""
        before = self.lines[line - 1].encode()[:column].decode()
        return sum(map(len, self.lines[: line - 1])) + len(before)

    def start_of(self, line: int) -> int:
        """The position where a 1-based line begins."""
        return sum(map(len, self.lines[: line - 1]))

    def segment(self, node: ast.expr) -> str:
        """The text of an expression."""
        return self.text[self.offset(node.lineno, node.col_offset) : self.offset(node.end_lineno or 0, node.end_col_offset or 0)]


@dataclass(frozen=True, slots=True)
class SourceTree:
    """Finds the files that a trace names; ``quoted`` are the lines of code that it quotes, by file and line."""

    repository: Repository
    quoted: Mapping[str, Mapping[int, str]]
    known: dict[str, SourceFile | CannotPlaceError] = field(default_factory=dict, repr=False)
    names_by_file: dict[str, Names] = field(default_factory=dict, repr=False)

    def names(self, file: SourceFile) -> Names:
        """What the names in a file mean."""
        found = self.names_by_file.get(file.path)
        if found is None:
            found = self.names_by_file[file.path] = Names(file.tree)
        return found

    def file(self, path: str) -> SourceFile:
        """The file that the trace names so. Raises CannotPlaceError for one that may not be changed, or is another one by now."""
        found = self.known.get(path)
        if found is None:
            try:
                found = self._read(path)
            except CannotPlaceError as error:
                found = error
            self.known[path] = found
        if isinstance(found, CannotPlaceError):
            raise found
        return found

    def _read(self, path: str) -> SourceFile:
        shown = os.path.basename(path.replace("\\", "/")) or "code without a file"
        if is_library(path):
            raise CannotPlaceError(f"{shown} belongs to an installed package, which is never changed")
        line = self.repository.source_line(path, 1)
        if line is None:
            raise CannotPlaceError(f"{shown} is not a file")
        try:
            root = os.path.realpath(self.repository.root)
        except FileNotFoundError as error:
            raise CannotPlaceError("the current directory was removed: pass --source-root") from error
        real = os.path.realpath(os.path.join(root, line.file))
        if not line.is_inside:
            raise FileNotFoundHereError(shown, self.repository.root)
        if not real.startswith(os.path.join(root, "")):
            raise CannotPlaceError(f"{shown} is not below the source root (see --source-root)")
        if is_library(real) or not real.endswith(".py"):
            raise CannotPlaceError(f"{shown} is not a source file of the program")
        if not os.path.exists(real):
            raise FileNotFoundHereError(line.file, self.repository.root)
        file = read_source(real, os.path.relpath(real, root).replace(os.sep, "/"))
        self._compare(file, path)
        return file

    def _compare(self, file: SourceFile, path: str) -> None:
        """Raises CannotPlaceError unless the lines that the trace quotes are the lines of the file."""
        quoted = self.quoted.get(path, {})
        if not quoted:
            raise CannotPlaceError(f"the trace quotes no line of {file.name}, so it may have changed since")
        line = changed_line(file.lines, quoted)
        if line is not None:
            raise CannotPlaceError(f"{file.name} has changed since the trace was recorded (line {line})")


def read_source(path: str, name: str) -> SourceFile:
    """Raises CannotPlaceError where it cannot be read as Python."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            raise CannotPlaceError(f"{name} is not a source file of the program")
        with open(path, "rb") as file:
            content = file.read()
        encoding = tokenize.detect_encoding(io.BytesIO(content).readline)[0]
        text = content.decode(encoding)
        is_kept = text.encode(encoding, "replace") == content  # as a diff is written
        tree = module_tree(text.replace("\r\n", "\n"))
    except OSError as error:
        raise CannotPlaceError(f"{name} cannot be read: {error.strerror}") from error
    except (SyntaxError, ValueError, LookupError, RecursionError, MemoryError) as error:  # LookupError: a codec that is not for text
        raise CannotPlaceError(f"{name} is not valid Python") from error
    if not is_kept:
        raise CannotPlaceError(f"{name} has an encoding ({encoding}) in which the same text has other bytes")
    if "\r" in text.replace("\r\n", ""):
        raise CannotPlaceError(f"{name} has line ends of old Macintosh files")
    return SourceFile(path=path, name=name, content=content, encoding=encoding, lines=tuple(io.StringIO(text, newline="")), tree=tree)


def quoted_lines(trace: Trace) -> dict[str, dict[int, str]]:
    """File → line → the code that the trace quotes for it, of the callers of compiled code and of the code in its graphs."""
    found: dict[str, dict[int, str]] = {}
    for compile in trace.compiles:
        _add(found, compile.stack.frames)
        for symbol in compile.symbols[:1]:
            _add(found, symbol.stack.frames)
        if compile.graph:
            _add(found, (StackFrame(item.file, item.line, "", item.code) for item in compile.graph.user_lines))
    return found


def _add(found: dict[str, dict[int, str]], frames: Iterable[StackFrame]) -> None:
    for item in frames:
        if item.code and item.line and not is_library(item.file):
            found.setdefault(item.file, {})[item.line] = item.code.strip()

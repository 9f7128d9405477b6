"""Edits of one file, the text that they make of it, and the unified diff, whose hunks name the suggestions that they are for."""

import difflib
import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from shapelog.fix.imports import IMPORT
from shapelog.fix.source_files import SourceFile
from shapelog.reading.payloads.python_code import module_tree

_HUNK = re.compile(r"^@@ -(\d{1,18})(?:,(\d{1,18}))? \+(\d{1,18})(?:,(\d{1,18}))? @@$")


class Edit(NamedTuple):
    """``text`` in place of what lies from ``start`` to ``end`` in the text of the file; ``ids`` are those of the suggestions."""

    start: int
    end: int
    text: str
    ids: tuple[str, ...]


class FilePatch(NamedTuple):
    """A file and its text with the edits."""

    file: SourceFile
    edits: tuple[Edit, ...]

    @property
    def after(self) -> str:
        text, at = [], 0
        before = self.file.text
        for edit in self.edits:
            text += [before[at : edit.start], edit.text]
            at = edit.end
        return "".join((*text, before[at:]))

    @property
    def content(self) -> bytes:
        """What to write in place of the file."""
        return self.after.encode(self.file.encoding)

    @property
    def is_valid(self) -> bool:
        """Whether the new text is Python, in characters that the encoding of the file has."""
        try:
            module_tree(self.after.replace("\r\n", "\n"))
            return bool(self.content)
        except (SyntaxError, ValueError):
            return False

    def lines_of(self, suggestion: str) -> tuple[int, ...]:
        """The lines of the new text, 1-based, where what is inserted for a suggestion begins, imports aside."""
        return tuple(
            line for line, edit in self._placed() if suggestion in edit.ids and edit.start == edit.end and edit.text.strip() != IMPORT
        )

    def diff(self, section: Callable[[tuple[str, ...]], str]) -> Iterator[str]:
        """Its lines, with their ends; ``section`` is what a hunk has behind its line numbers, for the suggestions that it is for."""
        name = self.file.name
        # patch takes the name of the two that is there, git the second, without its first directory.
        for line in difflib.unified_diff(self.file.lines, [*io.StringIO(self.after, newline="")], name, f"b/{name}"):
            hunk = _HUNK.match(line.rstrip("\n"))
            if hunk:
                first, count = int(hunk[3]), int(hunk[4] or 1)
                ids = [item for at, edit in self._placed() if first <= at < first + count for item in edit.ids]
                yield f"{line.rstrip()} {section(tuple(dict.fromkeys(ids)))}\n"
            else:
                yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"

    def _placed(self) -> Iterator[tuple[int, Edit]]:
        """Each edit with the line of the new text that it begins on."""
        before, shift = self.file.text, 0
        for edit in self.edits:
            line = before.count("\n", 0, edit.start) + 1 + shift
            leading = len(edit.text) - len(edit.text.lstrip("\r\n"))
            yield line + edit.text.count("\n", 0, leading), edit
            shift += edit.text.count("\n") - before.count("\n", edit.start, edit.end)


def merged(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """In order of place, equal ones once, for all their suggestions."""
    found: dict[tuple[int, int, str], list[str]] = {}
    for edit in edits:
        found.setdefault(edit[:3], []).extend(edit.ids)
    ordered = sorted(found.items(), key=lambda item: item[0][:2])
    return tuple(Edit(*key, tuple(dict.fromkeys(ids))) for key, ids in ordered)

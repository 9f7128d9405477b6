"""Links that open lines of the user's code in VS Code."""

import os
import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from shapelog.reading.payloads.source_names import is_library, is_notebook_cell

# Begins at a root or a drive; what begins with two slashes is on another machine.
_ABSOLUTE = re.compile(r"/(?![/\\])|[A-Za-z]:[\\/](?![/\\])")
# Longer names are not those of files.
_MAX_PATH = 1000


class EditorLinks(NamedTuple):
    """Addresses of lines. ``on_disk`` gives the path on this disk of a file that the trace names, None where it is not here; there are no
    addresses unless ``is_shown``.
    """

    on_disk: Callable[[str], str | None]
    is_shown: bool

    def address(self, file: str, line: int) -> str:
        """The address of a line; "" for code of libraries and notebooks, and for a file that is not on this disk."""
        path = self.on_disk(file) if self.is_shown else None
        if not path or len(path) > _MAX_PATH or not _ABSOLUTE.match(path) or is_library(path) or is_notebook_cell(path):
            return ""
        return editor_address(path, line)


def existing_file(file: str) -> str | None:
    """An absolute path, where there is such a file on this disk."""
    return file if len(file) <= _MAX_PATH and _ABSOLUTE.match(file) and os.path.isfile(file) else None


def editor_address(path: str, line: int) -> str:
    """The address at which VS Code opens a line of a file, as its documentation describes it."""
    shown = quote(path.replace(chr(92), "/").lstrip("/"), safe="/:", errors="replace")
    return f"vscode://file/{shown}:{line}" if path else ""

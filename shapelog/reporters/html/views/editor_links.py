"""Links that open lines of the user's code in VS Code."""

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from shapelog.reading.payloads.source_names import is_library, is_notebook_cell

# Begins at a root or a drive; what begins with two slashes is on another machine.
_ABSOLUTE = re.compile(r"/(?![/\\])|[A-Za-z]:[\\/](?![/\\])")
# Longer names are not those of files.
_MAX_PATH = 1000


class EditorLinks(NamedTuple):
    """Addresses of lines. ``on_disk`` has the files on this disk by their names in the trace; there are none unless ``is_shown``."""

    on_disk: Mapping[str, str]
    is_shown: bool

    def address(self, file: str, line: int) -> str:
        """The address of a line; "" for code of libraries and notebooks, and for a file whose absolute path is not known."""
        path = self.on_disk.get(file) or file
        if not self.is_shown or len(path) > _MAX_PATH or not _ABSOLUTE.match(path) or is_library(path) or is_notebook_cell(path):
            return ""
        return editor_address(path, line)


def editor_address(path: str, line: int) -> str:
    """The address at which VS Code opens a line of a file, as its documentation describes it."""
    shown = quote(path.replace(chr(92), "/").lstrip("/"), safe="/:", errors="replace")
    return f"vscode://file/{shown}:{line}" if path else ""

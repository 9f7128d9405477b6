"""Opening the page of a report in the user's browser."""

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from shapelog.cli.output import Target, message
from shapelog.errors import ShapelogError


def with_page(targets: Sequence[Target]) -> tuple[Target, ...]:
    """The targets with a page in a file among them: a new temporary one, unless one of them is one.

    It takes the place of a page on standard output. Raises ShapelogError where no temporary file can be made.
    """
    if page_of(targets):
        return tuple(targets)
    try:
        handle, path = tempfile.mkstemp(prefix="shapelog-", suffix=".html")
    except OSError as error:
        raise ShapelogError(f"{tempfile.gettempdir()}: cannot write the page there: {error.strerror}") from error
    os.close(handle)
    return (*(target for target in targets if target.format != "html"), Target("html", path, is_announced=True))


def page_of(targets: Sequence[Target]) -> str:
    """The file of the first page, "" if none of them is one."""
    return next((target.file for target in targets if target.format == "html" and target.file), "")


def open_page(file: str) -> None:
    """Show a page in the browser. In CI, and where there is no display, only its path is printed."""
    import webbrowser

    try:
        is_open = _has_display(os.environ) and webbrowser.open(Path(file).resolve().as_uri())
    except webbrowser.Error:
        is_open = False
    if not is_open:
        message(f"{file}: there is no browser to open this page in")


def _has_display(environment: Mapping[str, str]) -> bool:
    """Whether a browser has a window to open; BROWSER is set by people, and by editors that forward pages from another machine."""
    if environment.get("CI"):
        return False
    return sys.platform in ("darwin", "win32") or any(environment.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))

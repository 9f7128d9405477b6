"""Opening the page of a report in the user's browser."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from shapelog.cli.output import Target, message
from shapelog.errors import ShapelogError


@contextmanager
def opened_page(targets: Sequence[Target]) -> Iterator[tuple[Target, ...]]:
    """Yields the targets, with a temporary page unless one of them is a page in a file, and then shows the page, if it was written.

    The temporary page takes the place of one on standard output, and only its owner can read it. Raises ShapelogError where there can be
    no temporary file.
    """
    file = next((target.file for target in targets if target.format == "html" and target.file), "")
    if file:
        yield tuple(targets)
        _open(file)
        return
    import tempfile

    try:
        folder = tempfile.mkdtemp(prefix="shapelog-")
    except OSError as error:
        raise ShapelogError(f"{tempfile.gettempdir()}: cannot write the page there: {error.strerror}") from error
    file = os.path.join(folder, "report.html")
    try:
        yield (*(target for target in targets if target.format != "html"), Target("html", file, is_announced=True))
        _open(file)
    finally:
        with suppress(OSError):  # it is not empty where the page was written
            os.rmdir(folder)


def _open(file: str) -> None:
    """Show a page in the browser. In CI, and where there is no display, only its path is printed."""
    import webbrowser

    if not os.path.exists(file):
        return
    try:
        is_open = _has_display(os.environ) and webbrowser.open(Path(file).resolve().as_uri())
    except webbrowser.Error:
        is_open = False
    if not is_open:
        message(f"{file}: no browser found to open this page")


def _has_display(environment: Mapping[str, str]) -> bool:
    """Whether a browser has a window to open; BROWSER is set by people, and by editors that forward pages from another machine."""
    if environment.get("CI"):
        return False
    return sys.platform in ("darwin", "win32") or any(environment.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))

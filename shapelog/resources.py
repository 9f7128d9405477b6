"""The files shipped with the code: the templates and the texts of the rules."""

from pathlib import Path

_PACKAGE = Path(__file__).parent


def template_dir() -> Path:
    """The wheel carries the templates inside the package; in a checkout they are next to it."""
    bundled = _PACKAGE / "templates"
    return bundled if bundled.is_dir() else _PACKAGE.parent / "templates"

"""What everything in HTML is made with: templates that escape every value, and fail on a name that is not there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_PACKAGE = Path(__file__).parents[1]


def template_dir() -> Path:
    """The wheel carries the templates inside the package; a checkout has them beside it."""
    bundled = _PACKAGE / "templates"
    return bundled if bundled.is_dir() else _PACKAGE.parent / "templates"


def environment(finalize: Callable[[Any], Any] | None = None) -> Environment:
    """``finalize`` is given every value before it is escaped."""
    return Environment(
        loader=FileSystemLoader(template_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )

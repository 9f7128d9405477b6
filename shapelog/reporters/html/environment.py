"""The jinja2 environment of everything in HTML: every value is escaped, and a name that does not exist is an error."""

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from shapelog.resources import template_dir


def environment(finalize: Callable[[Any], Any] | None = None) -> Environment:
    """``finalize`` is called with each value that a template prints, before the value is escaped."""
    return Environment(
        loader=FileSystemLoader(template_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )

"""The jinja2 environment of everything in HTML: every value is escaped, and a name that does not exist is an error."""

import re
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from shapelog.report.steps.step import saving_words
from shapelog.reporters.html.chart_text import KIND_LABELS, spent
from shapelog.reporters.html.template_cache import template_cache
from shapelog.resources import template_dir
from shapelog.text import beginning, file_name, one_line, plural, plural_noun, seconds_or_unknown

_BREAKS = re.compile(r"(?<=\w)(?=[.\[])|(?<=[^\W_]_)(?=[^\W_])")


def environment(finalize: Callable[[Any], Any] | None = None) -> Environment:
    """``finalize`` is called with each value that a template prints, before the value is escaped."""
    templates = Environment(
        loader=FileSystemLoader(template_dir()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        bytecode_cache=template_cache("finalized" if finalize else "plain"),
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(
        beginning=beginning,
        breakable=lambda name: _breakable(finalize(name) if finalize else name),
        file_name=file_name,
        one_line=one_line,
        percent=percent,
        plural=plural,
        plural_noun=plural_noun,
        saved=saving_words,
        seconds=seconds_or_unknown,
        spent=spent,
    )
    templates.globals["kind_labels"] = KIND_LABELS
    return templates


def _breakable(name: str) -> Markup:
    """A name that a line may break before a dot or a bracket and after an underscore, and elsewhere only where it has to."""
    return Markup("<wbr>").join(_BREAKS.split(name))


def percent(value: float) -> str:
    """``12.5%``, to two decimals: a seventh of a pixel on a wide screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"

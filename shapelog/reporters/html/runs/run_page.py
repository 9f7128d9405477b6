"""What the pages about several runs share: one file without a script, whose values are sanitized and, on request, redacted."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from shapelog import __version__
from shapelog.model.trace import Trace
from shapelog.reporters import Options
from shapelog.reporters.html.environment import environment
from shapelog.reporters.html.filters import sanitizer, sentence
from shapelog.reporters.html.redact import redaction_of
from shapelog.reporters.html.render import asset, content_policy
from shapelog.text import seconds_from_to, seconds_in_column, shorten

_STYLES = ("report.css", "charts.css", "runs.css")


def run_environment(traces: Iterable[Trace], options: Options) -> Environment:
    """The templates; without source, what they print holds neither code nor absolute paths of these traces."""
    redactions = [] if options.with_source else [redaction_of(trace) for trace in traces]

    def redact(text: str) -> str:
        return reduce(lambda found, one: one(found), redactions, text)

    templates = environment(sanitizer(None if options.with_source else redact))
    templates.filters.update(from_to=seconds_from_to, in_column=seconds_in_column, sentence=sentence, shorten=shorten)
    templates.globals["with_source"] = options.with_source
    return templates


def page(templates: Environment, name: str, **variables: Any) -> bytes:
    """The page in UTF-8."""
    css = "".join(map(asset, _STYLES))
    head: dict[str, Any] = {"css": Markup(css), "policy": content_policy("", css), "version": __version__}
    return templates.get_template(name).render(**head, **variables).encode("utf-8", "replace")

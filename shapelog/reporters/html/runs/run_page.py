"""What pages about several runs share: styles and scripts of the report, and values that are sanitized and, on request, redacted."""

from collections.abc import Iterable
from functools import cache, reduce
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
from shapelog.reporters.html.views.editor_links import EditorLinks, existing_file
from shapelog.rule_docs import link
from shapelog.text import seconds_from_to, shorten

_STYLES = ("report.css", "charts.css", "zoom.css", "runs.css")
_SCRIPTS = ("page.js", "address.js", "charts.js", "runs.js")


def run_environment(traces: Iterable[Trace], options: Options) -> Environment:
    """The templates; without source, what they print holds neither code nor absolute paths of these traces."""
    redactions = [] if options.with_source else [redaction_of(trace) for trace in traces]

    def redact(text: str) -> str:
        return reduce(lambda found, one: one(found), redactions, text)

    templates = environment(sanitizer(None if options.with_source else redact))
    templates.filters.update(from_to=seconds_from_to, sentence=sentence, shorten=shorten)
    editor = EditorLinks(cache(existing_file), options.with_source)
    templates.globals.update(editor_address=editor.address, with_source=options.with_source, rule_link=lambda rule: Markup(link(rule)))
    return templates


def page(templates: Environment, name: str, **variables: Any) -> bytes:
    """The page in UTF-8."""
    css, script = "".join(map(asset, _STYLES)), "".join(map(asset, _SCRIPTS))
    head: dict[str, Any] = {"css": Markup(css), "policy": content_policy(script, css), "script": Markup(script), "version": __version__}
    return templates.get_template(name).render(**head, **variables).encode("utf-8", "replace")

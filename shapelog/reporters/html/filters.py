"""The filters and global names of the templates of the page."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup, escape

from shapelog.advice.alike_suggestions import alike
from shapelog.advice.paste_formats import cost_of, effect_of, why_short
from shapelog.grouping import grouped
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.report.details.metric_fields import metric_fields, setting_changes
from shapelog.report.report import Report
from shapelog.reporters.html.anchors import Anchors
from shapelog.reporters.html.chart_text import same_function
from shapelog.reporters.html.environment import environment
from shapelog.reporters.html.highlight import Highlighter
from shapelog.reporters.html.page_context import PageContext
from shapelog.reporters.html.record_rows import dumped_files, rows_html
from shapelog.reporters.html.redact import without_stack
from shapelog.reporters.html.views.editor_links import EditorLinks
from shapelog.reporters.html.views.what_if_page import number_of
from shapelog.rules import RULES, problem_rule
from shapelog.text import capitalized, escape_controls, file_name, file_size, one_line, rank_list, seconds_in_column

# Rows of a table.
_MAX_ROWS = 60
_MAX_TEXT = 2000
_RANGE = re.compile(r"(?<=\d)-(?=\d)")
# A line of code that computed a tensor, in an explanation of PyTorch's: the code goes on until the next.
_COMPUTED = re.compile(r'# File "([^"\n]+)", line (\d{1,18}), in (\S+), code: (.*?)(?=# File "|$)', re.S)
# Longer names and texts are too long to be read, or meant to fill the page.
_MAX_VALUE = 30_000


def page_environment(context: PageContext) -> Environment:
    """The templates of the page. Every value loses harmful characters before it is escaped, and code and directories where these are
    not to be shown.
    """
    report, with_source = context.report, context.options.with_source
    sanitize = sanitizer(context.redact)
    templates = environment(sanitize)
    highlighter = Highlighter()
    editor = EditorLinks(context.source.on_disk.get, with_source)
    templates.filters.update(
        cell=_cell,
        code=highlighter.line,
        computed_at=_computed_at,
        cost=cost_of,
        data=lambda value: _sanitized(value, sanitize),
        diff_rows=highlighter.diff_rows,
        effect=effect_of,
        file_size=file_size,
        is_library=is_library,
        metric_fields=lambda compile, frame: metric_fields(frame, compile),
        setting_changes=lambda compile, frame: setting_changes(frame, compile),
        marked_code=highlighter.marked,
        alike=alike,
        number_of=number_of,
        why_short=why_short,
        problem_rule=problem_rule,
        prose=lambda text: _prose(sanitize(text)),
        pytorch_text=lambda text: _shortened(text.strip() if with_source else without_stack(text)),
        rank_list=lambda ranks: _RANGE.sub("–", rank_list(ranks)),
        by_function=lambda frames: [(own[0], len(own)) for own in grouped(frames, same_function).values()],
        place=lambda place: f"{file_name(place.file)}:{place.line}",
        record_rows=lambda rows: rows_html(rows, context.records.chunk_ids, lambda text: escape(sanitize(text))),
        sentence=sentence,
        shortened=_shortened,
    )
    templates.globals.update(
        anchors=context.anchors,
        handbook_codes=context.handbook.codes,
        by_label=_by_label(report, context.anchors),
        limit=_MAX_ROWS,
        marks={"static": "", "dynamic": "~", "specialized": "!"},
        provenance=context.records.provenance,
        records=context.records.rows,
        report=report,
        rules=RULES,
        editor_link=_editor_link(editor, sanitize),
        card_of=context.failures.of_compiles,
        source_of=context.source.of_frame,
        source_line=_source_line(sanitize, highlighter if with_source else None, editor, dumped_files(context.records)),
        with_source=with_source,
    )
    return templates


def _editor_link(editor: EditorLinks, sanitize: Callable[[Any], Any]) -> Callable[..., Markup]:
    """The function that gives a small link for a line whose place leads to another part of the page, or is shown as a number alone."""

    def editor_link(file: str, line: int, text: object = "") -> Markup:
        """``text`` is what it shows, which is all that there is where the line cannot be opened."""
        address = editor.address(file, line)
        if not address:
            return escape(text)
        words = Markup("Open {}:{} in VS Code").format(sanitize(file_name(file)), line)
        label = Markup(' aria-label="{}"').format(words) if not text else ""
        return Markup('<a class="editor" href="{}" title="{}"{}>{}</a>').format(address, words, label, text)

    return cache(editor_link)


def _source_line(
    sanitize: Callable[[Any], Any], highlighter: Highlighter | None, editor: EditorLinks, dumped: Mapping[str, str]
) -> Callable[..., Markup]:
    """The function that draws places; without a highlighter it shows neither code nor directories. ``dumped`` has the anchors of files that
    are records.
    """

    def source_line(file: str, line: int, name: str = "", code: str = "") -> Markup:
        """A place in the program, which opens in an editor, with the code there; a page has thousands, of which few differ."""
        if not file:
            return Markup()
        title = Markup(' title="{}:{}"').format(sanitize(file), line) if highlighter else ""
        address = editor.address(file, line)
        element, link = ("a", Markup(' href="{}"').format(address)) if address else ("span", "")
        shown = Markup("{}:{}").format(sanitize(file_name(file)), line)
        parts = [Markup('<{} class="place"{}{}>{}</{}>').format(element, link, title, shown, element)]
        if file in dumped:
            parts[0] = Markup('<a href="#{}" title="{} is among its records">{}</a>').format(dumped[file] or "trace", sanitize(file), shown)
        if name:
            parts.append(Markup('<span class="dim">in {}</span>').format(sanitize(name)))
        if code and highlighter:
            parts.append(Markup('<code class="line">{}</code>').format(highlighter.line(code)))
        return Markup(" ").join(parts)

    return cache(source_line)


class _Link(NamedTuple):
    """What a label of a compile becomes in the page."""

    anchor: str
    text: str


def _by_label(report: Report, anchors: Anchors) -> dict[str, _Link]:
    """Label of a compile → the link to it, for labels that only one compile has."""
    found: dict[str, _Link | None] = {}
    for compile in report.trace.compiles:
        link = _Link(anchors[compile], compile.reference)
        found[compile.label] = link if found.get(compile.label, link) == link else None
    return {label: link for label, link in found.items() if link}


def sanitizer(redact: Callable[[str], str] | None) -> Callable[[Any], Any]:
    """The function that every value is passed to before it is escaped; markup is templates of such values alone."""

    def sanitize(value: Any) -> Any:
        if not isinstance(value, str) or isinstance(value, Markup):
            return value
        if len(value) > _MAX_VALUE:
            value = _shortened(value, _MAX_VALUE)
        if redact is not None:
            value = redact(value)
        return escape_controls(value)

    return sanitize


def _sanitized(value: Any, sanitize: Callable[[Any], Any]) -> Any:
    """The same of every text in data for a script; tuples become lists, as in JSON."""
    if isinstance(value, dict):
        return {key: _sanitized(item, sanitize) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sanitized(item, sanitize) for item in value]
    return sanitize(value)


def _prose(text: str) -> Markup:
    """A text with what is between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(Markup("<code>{}</code>").format(part) if number % 2 else part for number, part in enumerate(parts))


def _computed_at(text: str) -> tuple[str, list[StackFrame]]:
    """An explanation without the lines of code that follow it, ``# File "a.py", line 3, in f, code: ...``, and these."""
    start = _COMPUTED.search(text)
    if not start:
        return text, []
    lines = (StackFrame(file, int(line), name, code.strip()) for file, line, name, code in _COMPUTED.findall(text))
    return text[: start.start()].rstrip(), list(lines)


def _cell(value: str | int | float | None) -> str:
    """A cell of a table, whose floats are seconds."""
    if isinstance(value, str):
        return one_line(value)
    return "" if value is None else seconds_in_column(value) if isinstance(value, float) else str(value)


def sentence(text: str, is_first: bool = True) -> str:
    """With a full stop, and with a capital unless it continues the text before it, or begins with a name."""
    text = text.strip()
    head = capitalized(text) if is_first else text
    return head if not head or head[-1] in ".!?:" else f"{head}."


def _shortened(text: str, longest: int = _MAX_TEXT) -> str:
    """Long text without its middle."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"

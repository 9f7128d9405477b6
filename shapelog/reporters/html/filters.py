"""How values become HTML: what the templates of the page are given to show numbers, places, code and differences with."""

import keyword
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from shapelog.advice.paste_formats import cost_of
from shapelog.reading.payloads.source_names import is_library
from shapelog.report.report import Report
from shapelog.reporters.html.anchors import KINDS, Anchors
from shapelog.reporters.html.chart_text import WORDS
from shapelog.reporters.html.environment import environment
from shapelog.reporters.html.page_context import PageContext
from shapelog.reporters.html.record_rows import rows_html
from shapelog.reporters.html.redact import Redaction, without_stack
from shapelog.reporters.html.side_by_side import Diff, Row, Side
from shapelog.rules import RULES, Rule, problem_rule, remedy_for
from shapelog.text import escape_controls, file_name, file_size, one_line, plural, seconds

# Rows of a table.
_ROWS = 60
_LONGEST = 2000
# Longer ones are names and texts that nobody reads, or meant to fill the page.
_LONGEST_VALUE = 30_000
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"})
# Longer lines are shown without colors, and those beyond the second length without their end.
_LONGEST_LINE, _LONGEST_SHOWN = 600, 4000


def page_environment(context: PageContext) -> Environment:
    """The templates of the page. Every value loses harmful characters before it is escaped, and code and directories where these are
    not to be shown.
    """
    report, with_source = context.report, context.options.with_source
    shown = _shown(context.redact)
    coder = Coder()
    reads_sources = report.trace.supports_dynamic_sources
    made = environment(shown)
    made.filters.update(
        base=file_name,
        bytes=file_size,
        cell=_cell,
        code=coder.line,
        cost=cost_of,
        counted=plural,
        is_library=is_library,
        problem_rule=problem_rule,
        place=lambda place: f"{file_name(place.file)}:{place.line}",
        record_rows=lambda rows: rows_html(rows, context.records.chunk_ids, lambda text: escape(shown(text))),
        remedy=lambda rule: _remedy(rule, reads_sources),
        seconds=seconds,
        sentence=_sentence,
        shortened=_shortened,
        rows=coder.rows,
        told=_told if with_source else _told_without_code,
    )
    made.globals.update(
        anchors=context.anchors,
        by_label=_by_label(report, context.anchors),
        kinds=KINDS,
        limit=_ROWS,
        marks={"static": "", "dynamic": "~", "specialized": "!"},
        records=context.records.rows,
        report=report,
        rules=RULES,
        source_line=_source_line(shown, coder, with_source),
        with_source=with_source,
        words=WORDS,
    )
    return made


def _source_line(shown: Callable[[Any], Any], coder: "Coder", with_source: bool) -> Callable[..., Markup]:
    def source_line(file: str, line: int, name: str = "", code: str = "") -> Markup:
        """A place in the program, with the code there where it may be shown; a page has thousands, and few that differ."""
        if not file:
            return Markup()
        title = Markup(' title="{}:{}"').format(shown(file), line) if with_source else ""
        parts = [Markup('<span class="place"{}>{}:{}</span>').format(title, shown(file_name(file)), line)]
        if name:
            parts.append(Markup('<span class="dim">in {}</span>').format(shown(name)))
        if code and with_source:
            parts.append(Markup('<code class="line">{}</code>').format(coder.line(code)))
        return Markup(" ").join(parts)

    return cache(source_line)


def _by_label(report: Report, anchors: Anchors) -> dict[str, str]:
    """Label of a compile → its anchor, for labels that only one compile has."""
    found: dict[str, str] = {}
    for compile in report.trace.compiles:
        name = anchors.compile(compile)
        found[compile.label] = name if found.get(compile.label, name) == name else ""
    return {label: anchor for label, anchor in found.items() if anchor}


def _shown(redact: Redaction | None) -> Callable[[Any], Any]:
    """What every value goes through; markup is made by this module and by templates alone, from values that did."""

    def shown(value: Any) -> Any:
        if not isinstance(value, str) or isinstance(value, Markup):
            return value
        if len(value) > _LONGEST_VALUE:
            value = _shortened(value, _LONGEST_VALUE)
        if redact is not None:
            value = redact(value)
        return value if value.isprintable() else escape_controls(value)

    return shown


def _cell(value: str | int | float | None) -> str:
    """A cell of a table, whose floats are seconds."""
    return "" if value is None else f"{value:.2f}" if isinstance(value, float) else one_line(value)


def _remedy(rule: Rule, reads_sources: bool) -> str:
    return _sentence(remedy_for(rule, reads_sources))


def _sentence(text: str, begins: bool = True) -> str:
    """With a capital, unless it goes on from what stands before it, and a full stop."""
    text = text.strip()
    head = text[:1].upper() + text[1:] if begins else text
    return head if not head or head[-1] in ".!?:" else f"{head}."


def _shortened(text: str, longest: int = _LONGEST) -> str:
    """Long text without its middle."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def _told(text: str) -> str:
    """PyTorch's words, which can be a screen long."""
    return _shortened(text.strip())


def _told_without_code(text: str) -> str:
    return _shortened(without_stack(text))


@dataclass(slots=True)
class Coder:
    """Python code with its parts in colors; each line is taken apart once."""

    shown: dict[tuple[str, int, int], str] = field(default_factory=dict)
    tokens: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    # With the diff itself, whose id would else be that of another once it is gone.
    diffs: dict[int, tuple[Diff, Markup]] = field(default_factory=dict)

    def line(self, text: str) -> Markup:
        return Markup(self._marked(text, 0, 0))

    def rows(self, diff: Diff) -> Markup:
        """The rows of a table with four columns: number and line of either text."""
        found = self.diffs.get(id(diff))
        if found is None:
            found = self.diffs[id(diff)] = diff, Markup("\n".join(map(self._row, diff.rows)))
        return found[1]

    def _row(self, row: Row) -> str:
        if row.kind == "skipped":
            return f'<tr class="skipped"><td colspan="4">{plural(row.skipped, "line")} the same</td></tr>'
        return f'<tr class="{row.kind}">{self._side(row.left)}{self._side(row.right)}</tr>'

    def _side(self, side: Side | None) -> str:
        if side is None:
            return '<td class="no"></td><td class="none"></td>'
        return f'<td class="no">{side.number}</td><td class="text">{self._marked(side.text, side.start, side.end)}</td>'

    def _marked(self, text: str, start: int, end: int) -> str:
        """The line as HTML, with ``text[start:end]`` marked as what changed."""
        if len(text) > _LONGEST_SHOWN:
            text = f"{text[:_LONGEST_SHOWN]}… {len(text) - _LONGEST_SHOWN} characters left out"
        key = text, start, end
        found = self.shown.get(key)
        if found is None:
            found = self.shown[key] = "".join(self._pieces(text, start, end))
        return found

    def _pieces(self, text: str, start: int, end: int) -> Iterator[str]:
        at = 0
        for name, value in self._tokens(text):
            for piece, is_marked in _cut(value, start - at, end - at):
                shown = (piece if piece.isprintable() else escape_controls(piece)).translate(_ESCAPES)
                if name:
                    shown = f'<span class="{name}">{shown}</span>'
                yield f"<mark>{shown}</mark>" if is_marked else shown
            at += len(value)

    def _tokens(self, text: str) -> list[tuple[str, str]]:
        """(class, part) for each part of the line."""
        found = self.tokens.get(text)
        if found is None:
            found = self.tokens[text] = _split(text) if len(text) <= _LONGEST_LINE else [("", text)]
        return found


@cache
def _parts() -> re.Pattern[str]:
    """Python as far as colors tell its parts apart: the names of groups are the classes, and what is in none has no color."""
    return re.compile(
        rf"(?P<hk>(?:{'|'.join((*keyword.kwlist, 'self'))})\b)|[^\W\d]\w*|(?P<hn>\d[\w.]*)|[^\w\"'#]+"
        r"|(?P<hs>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<hc>#.*)|."
    )


def _split(text: str) -> list[tuple[str, str]]:
    """(class, part) for each part of a line, those without a color joined."""
    merged: list[tuple[str, str]] = []
    for found in _parts().finditer(text):
        name, value = found.lastgroup or "", found[0]
        if merged and merged[-1][0] == name:
            merged[-1] = name, merged[-1][1] + value
        else:
            merged.append((name, value))
    return merged


def _cut(value: str, start: int, end: int) -> list[tuple[str, bool]]:
    """``value`` in its parts before, inside and behind [start, end)."""
    if end <= 0 or start >= len(value):
        return [(value, False)]
    start = max(0, start)
    return [(piece, index == 1) for index, piece in enumerate((value[:start], value[start:end], value[end:])) if piece]

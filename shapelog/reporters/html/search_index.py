"""What the search of the page finds, in addition to the headings of its views, which the script takes from the page itself."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple
from urllib.parse import quote

from shapelog.advice.suggestions import Suggestion
from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import is_library
from shapelog.report.interruptions import InterruptionKind
from shapelog.report.report import Report
from shapelog.report.repository_paths import SourceLine
from shapelog.report.source_code.quoted_lines import FileLine
from shapelog.report.trace_health import health_of
from shapelog.reporters.html.frame_page import CompileView, FrameView
from shapelog.reporters.html.handbook import Handbook
from shapelog.reporters.html.record_rows import PageRecords, kind_titled
from shapelog.reporters.html.views.failures_page import FailuresPage
from shapelog.reporters.html.views.source_page import SourcePage
from shapelog.rule_docs import anchor
from shapelog.text import beginning, file_name, one_line, some

# Longer texts make the index heavy and no result clearer.
_MAX_TITLE, _MAX_TEXT = 160, 400
_MAX_RECOMPILES, _MAX_VALUES, _MAX_LINES, _MAX_PAYLOADS = 1500, 40, 1500, 4000
_MAX_REASON, _MAX_LABELS = 160, 4
# How a title begins.
_CARDS = {InterruptionKind.FAILURE: "failed", InterruptionKind.UNFINISHED: "did not finish", InterruptionKind.LIMIT: "refused"}


class SearchEntry(NamedTuple):
    """Something to find: the part of the address that leads to it, its title, what else is known of it, and what it is."""

    where: str
    title: str
    text: str
    kind: str


class Searchable(NamedTuple):
    """What there is to find."""

    report: Report
    views: tuple[FrameView, ...]
    handbook: Handbook
    records: PageRecords
    source: SourcePage
    failures: FailuresPage

    @property
    def compiles(self) -> Iterator[tuple[FrameView, CompileView]]:
        return ((view, item) for view in self.views for item in view.compiles)


def search_entries(found: Searchable) -> Iterator[SearchEntry]:
    """All entries; of results that fit equally well, those that come first are shown first. Another kind is another function here."""
    parts = (_functions, _suggestions, _cards, _rules, _changes, _recompiles, _lines, _helps, _settings, _downloads)
    for entry in chain(*(part(found) for part in parts), islice(_payloads(found), _MAX_PAYLOADS)):
        yield entry._replace(title=beginning(one_line(entry.title), _MAX_TITLE), text=beginning(one_line(entry.text), _MAX_TEXT))


def _functions(found: Searchable) -> Iterator[SearchEntry]:
    for view in found.views:
        frame = view.frame
        place = _place(frame.file, frame.line) if frame.file else ""
        yield SearchEntry(
            view.anchor, frame.title, _listed(f"frame {frame.shown_label}" if frame.shown_label else "", view.owner, place), "function"
        )


def _suggestions(found: Searchable) -> Iterator[SearchEntry]:
    for item in found.report.advice.suggestions if found.report.advice else ():
        text = _listed(item.recommendation, *item.entries, *_code(item))
        yield SearchEntry(item.id.lower(), f"{item.id} {item.name}", text, "suggestion")


def _code(item: Suggestion) -> Iterator[str]:
    """Its calls of ``mark_dynamic``, without their comments."""
    return (line.partition("  #")[0] for line in item.python)


def _rules(found: Searchable) -> Iterator[SearchEntry]:
    caused = {code for item in found.report.recompiles for code in item.codes}
    for item in found.handbook.entries:
        rule = item.rule
        yield SearchEntry(anchor(rule), f"{rule.code} {rule.name}", _listed(rule.remedy, item.meaning), "rule")
        if rule.code in caused:
            text = f"functions and recompilations: {rule.name}"
            yield SearchEntry(f"frames?rule={rule.code}", f"{rule.code} in this report", text, "filter")


def _changes(found: Searchable) -> Iterator[SearchEntry]:
    """What changed in each function."""
    for view in found.views:
        for axis in view.report.axes:
            codes, values = " ".join(rule.code for rule in axis.rules), " ".join(axis.values[:_MAX_VALUES])
            yield SearchEntry(view.anchor, axis.name, f"{codes} in {view.frame.title}: {values}", "what changed")


def _helps(found: Searchable) -> Iterator[SearchEntry]:
    """What helps in each function, where its rule alone does not have these words."""
    for view in found.views:
        axes: dict[str, list[str]] = {}
        for axis in view.report.axes:
            for remedy in axis.remedies:
                if remedy.text != remedy.rule.remedy:
                    axes.setdefault(remedy.text, []).append(axis.name)
        for text, names in axes.items():
            yield SearchEntry(view.anchor, text, f"{some(names, _MAX_LABELS)} in {view.frame.title}", "help")


def _cards(found: Searchable) -> Iterator[SearchEntry]:
    """What failed, was refused, broke or restarted, with the compilations that met it."""
    for card in (card for group in found.failures.groups for card in group.cards):
        message, kind = card.item.message, card.item.kind
        labels = some([compile.reference for compile in card.item.compiles], _MAX_LABELS)
        raised = (exception.type for exception in card.item.exceptions)
        where = (_located(place.alert.title, place.alert.source_line) for place in card.places)
        words = (message.number, message.explanation, *message.hints) if message else ()
        text = _listed(*card.costs, some(list(where), _MAX_LABELS), labels, *raised, *words)
        yield SearchEntry(card.anchor, f"{_CARDS.get(kind, kind.value)}: {card.item.title}", text, kind.value)


def _located(title: str, line: SourceLine | None) -> str:
    return f"{title} at {_place(line.file, line.line)}" if line else title


def _settings(found: Searchable) -> Iterator[SearchEntry]:
    for name, value in health_of(found.report).config:
        yield SearchEntry("trace", name, value, "setting")


def _downloads(found: Searchable) -> Iterator[SearchEntry]:
    if found.views and not found.report.trace.is_text:
        yield SearchEntry("viewer", "Save for Perfetto", "a file for trace viewers: Perfetto, speedscope, Chrome", "download")


def _recompiles(found: Searchable) -> Iterator[SearchEntry]:
    pairs = ((view, item, item.recompile) for view, item in found.compiles if item.recompile)
    for view, item, recompile in islice(pairs, _MAX_RECOMPILES):
        reason = beginning(one_line(item.compile.reasons[0].text), _MAX_REASON) if item.compile.reasons else ""
        text = _listed(f"{' '.join(recompile.codes)} {view.frame.title_of([item.compile])}: {item.headline}", reason)
        yield SearchEntry(item.anchor, item.compile.reference, text, "recompilation")


def _lines(found: Searchable) -> Iterator[SearchEntry]:
    """Lines of the user's code, each once, with its code: on the page of the source, else where the first compile is that names it."""
    lines: dict[tuple[str, int], SearchEntry] = {}
    codes: dict[tuple[str, int], str] = {}
    shown = found.source.of_place
    for _, item in found.compiles:
        for file, line, code in _lines_of(item.compile):
            if file and line and not is_library(file) and ((file, line) not in lines or (code and not codes[file, line])):
                codes[file, line] = code.strip()
                text = _listed(f"line {line}", code.strip())
                lines[file, line] = SearchEntry(shown.get(FileLine(file, line)) or item.anchor, _place(file, line), text, "line")
        if len(lines) >= _MAX_LINES:
            break
    yield from lines.values()


def _lines_of(compile: Compile) -> Iterator[tuple[str, int, str]]:
    """(file, line, code)"""
    stacks = [compile.stack.frames, *(item.user_stack.frames for item in compile.specializations)]
    yield from ((place.file, place.line, place.code) for place in chain.from_iterable(stacks))
    yield from ((item.place.file, item.place.line, item.place.code) for item in compile.breaks if item.place)
    yield from ((item.place.file, item.place.line, item.place.code) for item in compile.reasons if item.place)


def _payloads(found: Searchable) -> Iterator[SearchEntry]:
    """The records of each compile, those of one name once."""
    for view, item in found.compiles:
        owner = f"{item.compile.reference} {view.frame.title_of([item.compile])}"
        for title in dict.fromkeys(row.title for row in found.records.rows.get(item.anchor, ())):
            yield SearchEntry(f"{item.anchor}?record={quote(one_line(title))}", title, _listed(owner, kind_titled(title)), "record")


def _place(file: str, line: int) -> str:
    return f"{file_name(file)}:{line}"


def _listed(*parts: str) -> str:
    return " · ".join(filter(None, parts))

"""The pages of the rules that a report mentions, which every code in the page links to."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from shapelog.report.alerts.alert import Alerts
from shapelog.report.report import Report
from shapelog.reporters.html.chunks import Chunk, page_chunk
from shapelog.rule_docs import Entry, anchor, blocks, entry, families, mentioned, with_links
from shapelog.rules import RULES, UNEXPLAINED, Rule, problem_rule

# The rule of records of unknown kinds.
_UNKNOWN_RECORDS = "SL904"
# Characters of HTML from which the pages are compressed.
_MAX_INLINE = 60_000
_CHUNK = "handbook"


class Handbook(NamedTuple):
    """The rules that a report mentions, and those that their texts mention, in the order of their codes."""

    entries: tuple[Entry, ...]

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(item.rule.code for item in self.entries)

    @property
    def families(self) -> dict[str, list[Entry]]:
        """Title → entries."""
        return families(self.entries)

    @property
    def anchors(self) -> list[str]:
        return [anchor(item.rule) for item in self.entries]


def handbook_of(found: Alerts) -> Handbook:
    entries: dict[str, Entry] = {}
    waiting = {rule.code for rule in _rules(found)}
    while waiting:
        new = {code: entry(code) for code in waiting}
        entries |= new
        waiting = {code for item in new.values() for _, text in item.sections for code in mentioned(text)} - entries.keys()
    return Handbook(tuple(entries[code] for code in sorted(entries)))


def _rules(found: Alerts) -> Iterator[Rule]:
    report = found.report
    yield from (alert.rule for alert in found.alerts)
    yield from (item.rule for item in report.findings)
    yield from (problem_rule(problem.code) for problem in report.problems)
    if any(book.unknown for book in report.accounts):
        yield RULES[_UNKNOWN_RECORDS]
    for item in report.recompiles:
        yield from (rule for cause in item.causes for rule in (cause.remedy_rule, *map(RULES.__getitem__, cause.codes)))
        yield report.remedies.of_recompile(item).rule
        yield from (report.remedies.of((item,), (cause,)).rule for cause in item.causes)
        yield from () if item.causes else (UNEXPLAINED,)
    yield from _rules_of_frames(report)
    # What the source names at its lines.
    yield from (RULES[code] for code, number in (("SL401", report.summary.limit_hits), ("SL403", report.summary.failures)) if number)
    for table in filter(None, map(report.table, ("specializations", "size_conditions"))):
        yield from (RULES[str(row[-1])] for row in table.rows)


def _rules_of_frames(report: Report) -> Iterator[Rule]:
    for frame in report.frames:
        for axis in frame.axes:
            yield from axis.rules
            yield from (remedy.rule for remedy in axis.remedies)
    if report.advice:
        yield from (item.rule for item in report.advice.remaining)
        yield from (RULES[code] for item in report.advice.suggestions for code in item.codes)


def handbook_pages(environment: Environment, handbook: Handbook, **variables: Any) -> tuple[Markup, Chunk | None]:
    """The view of the rules, and what it unpacks where it is long."""
    template = environment.get_template("report/handbook.html.j2")
    draw = partial(template.render, variables, handbook=handbook, texts=_texts(handbook))
    page = draw(is_compressed=False)
    if len(page) <= _MAX_INLINE:
        return Markup(page), None
    return Markup(draw(is_compressed=True, chunk=_CHUNK)), page_chunk(_CHUNK, page)


def _texts(handbook: Handbook) -> Callable[[str], list[tuple[str, str]]]:
    """The function that gives the blocks of a text: (``python``, code), or ("", HTML)."""
    markdown = MarkdownIt("commonmark", {"html": False})
    codes = handbook.codes

    def link(rule: Rule) -> str:
        return f"#{anchor(rule)}" if rule.code in codes else ""

    def texts(text: str) -> list[tuple[str, str]]:
        return [(kind, block) if kind else ("", Markup(markdown.render(with_links(block, link)))) for kind, block in blocks(text)]

    return texts

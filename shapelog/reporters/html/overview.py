"""The answer first: the verdict in a sentence and in numbers, and the lists that the first pages show."""

from collections.abc import Iterator
from typing import NamedTuple

from shapelog.advice.paste_formats import as_python, as_shell, why_nothing
from shapelog.errors import DATA_LOSS
from shapelog.report.report import Report
from shapelog.report.results import Finding
from shapelog.reporters.html.chart_text import Part, totals
from shapelog.reporters.html.frame_page import CompileView, FrameView
from shapelog.rules import RULES, Rule, Section, Verdict
from shapelog.text import is_visible, plural, plural_noun, seconds

# A longer list is not put on the page to be copied: suggest-dynamic prints it.
_MAX_LIST = 20_000


class Tile(NamedTuple):
    """A number with what it counts; ``kind`` colors it, "" leaves it without a color."""

    number: int
    label: str
    more: str
    kind: str = ""


class Overview(NamedTuple):
    """The first page. ``why`` is the reason if there is no list to set."""

    title: str
    lead: str
    version: str
    tiles: tuple[Tile, ...]
    parts: tuple[Part, ...]
    data_loss: int
    shell: str
    python: str
    why: str
    recompiles: tuple[tuple[FrameView, CompileView], ...]
    codes: tuple[Rule, ...]
    failures: tuple[Finding, ...]


def overview(report: Report, views: tuple[FrameView, ...]) -> Overview:
    shell = as_shell(report.advice) if report.advice else ""
    python = as_python(report.advice) if report.advice else ""
    codes = {code for item in report.recompiles for code in item.codes}
    title, lead = _verdict(report)
    return Overview(
        title=title,
        lead=lead,
        version=report.trace.torch_version or f"{report.trace.version_guess} (guessed from its records)",
        tiles=tuple(_tiles(report)),
        parts=totals(part for view in views for part in view.parts),
        data_loss=sum(problem.severity == DATA_LOSS for problem in report.problems),
        shell=shell if is_visible(shell) and len(shell) <= _MAX_LIST else "",
        python=python if len(python) <= _MAX_LIST else "",
        why=_why(report, shell),
        recompiles=tuple((view, item) for view in views for item in view.compiles if item.recompile),
        codes=tuple(rule for code, rule in RULES.items() if code in codes),
        failures=tuple(item for item in report.findings if item.rule.section is Section.FAILURES),
    )


def _why(report: Report, shell: str) -> str:
    if report.advice is None:
        return "the advice failed; the health of the trace says why"
    if not report.recompiles:
        return "nothing was recompiled, so there is nothing to mark"
    if shell:
        return f"{plural(len(report.advice.entries), 'entry')}: shapelog suggest-dynamic prints them"
    if report.advice.suggestions:
        return f"torch {report.advice.version} reads no list of dynamic sources (2.8 and later do); these lines mark the tensors"
    return why_nothing(report.advice)


def _verdict(report: Report) -> tuple[str, str]:
    """(the verdict in a few words, and in a sentence)"""
    summary, advice = report.summary, report.advice
    spent = f"{plural(summary.compiles, 'compile')} in {seconds(summary.seconds)}"
    if not summary.compiles and not summary.failures:
        return "Nothing was compiled in this run.", "The trace holds no compile, so there is nothing to explain."
    failed = f" {plural(summary.failures, 'compile')} failed." if summary.failures else ""
    if not report.recompiles and summary.failures:
        tried = plural(summary.compiles + summary.failures, "compile")
        return f"{summary.failures} of {tried} failed.", f"{spent} went well, and nothing was recompiled."
    if not report.recompiles:
        return "Nothing was recompiled.", f"{spent}: every frame was compiled once."
    recompiled = f"{spent}, of them {plural(summary.recompiles, 'recompile')} in {seconds(summary.recompile_seconds)}."
    if advice is None or not advice.suggestions:
        why = advice.why_empty if advice else "the advice failed"
        title = f"{plural(len(report.recompiles), 'recompile')}, and no mark would remove one."
        return title, f"{recompiled} {why[:1].upper()}{why[1:]}.{failed}"
    before, after = advice.before, advice.after
    hits = f" and {plural(before.limit_hits, 'limit hit')}" if before.limit_hits else ""
    left = f"{plural(after.compiles, 'compile')} and {plural(after.limit_hits, 'limit hit')}" if after.limit_hits else str(after.compiles)
    saved = f"{before.seconds} of compiling would be {after.seconds}"
    where = f"{advice.scope[:1].upper()}{advice.scope[1:]}, " if advice.scope else ""
    title = f"{where}{plural(before.compiles, 'compile')}{hits} become {left}."
    there = " there" if where else ""
    return title, f"Mark {advice.what_to_mark} dynamic, and {saved}{there} (predicted). {recompiled}{failed}"


def _tiles(report: Report) -> Iterator[Tile]:
    summary = report.summary
    yield Tile(summary.compiles, plural_noun(summary.compiles, "compile"), seconds(summary.seconds))
    again = seconds(summary.recompile_seconds) if summary.recompiles else ""
    yield Tile(summary.recompiles, plural_noun(summary.recompiles, "recompile"), again)
    for verdict in (Verdict.MARKING, Verdict.CODE, Verdict.JUSTIFIED, Verdict.UNEXPLAINED):
        part = summary.part(verdict)
        if part.count:
            yield Tile(part.count, verdict.value, seconds(part.seconds), verdict.name.lower())
    if summary.limit_hits:
        yield Tile(summary.limit_hits, plural_noun(summary.limit_hits, "limit hit"), "refused, run eagerly", "limit")
    if summary.failures:
        yield Tile(summary.failures, "failed", "", "failed")
    breaks = sum(len(item.compile.breaks) * item.weight for frame in report.frames for item in frame.compiles)
    if breaks:
        yield Tile(breaks, plural_noun(breaks, "graph break"), "")

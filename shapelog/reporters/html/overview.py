"""The answer first: the verdict in a sentence and in numbers, and the lists that the first pages show."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shapelog.advice.advise import Advice
from shapelog.advice.compile_seconds import slower_words
from shapelog.advice.paste_formats import as_python, shown_shell, why_nothing
from shapelog.errors import DATA_LOSS
from shapelog.model.exports import Export, ExportResult
from shapelog.model.vllm import VllmCompilation
from shapelog.report.details.uncompiled_calls import is_the_failure
from shapelog.report.details.vllm_passes import vllm_words
from shapelog.report.report import Report
from shapelog.report.steps.step import NextStep, with_references
from shapelog.reporters.html.chart_text import Part, totals
from shapelog.reporters.html.frame_page import FrameView
from shapelog.rules import RULES, AlertKind, Rule, Verdict
from shapelog.text import as_sentence, enumerated, is_visible, measured, plural, plural_noun, some, taking, whole_times

# A longer list is not put on the page to be copied: suggest-dynamic prints it.
_MAX_LIST = 20_000
# Functions that the verdict names.
_MAX_NAMES = 3
_RESULTS = {ExportResult.FAILED: "failed", ExportResult.EXPORTED: "succeeded", ExportResult.UNKNOWN: "without a recorded result"}


class Tile(NamedTuple):
    """A number with what it counts, and the part of the page that explains it; ``kind`` colors it, "" leaves it without a color."""

    number: int
    label: str
    more: str
    where: str
    kind: str = ""


class Overview(NamedTuple):
    """The first page. ``why`` is the reason if there is no list to set, ``steps`` are what to do, the most worthwhile first."""

    title: str
    lead: str
    version: str
    tiles: tuple[Tile, ...]
    parts: tuple[Part, ...]
    data_loss: int
    shell: str
    python: str
    why: str
    codes: tuple[Rule, ...]
    steps: tuple[NextStep, ...]
    exports_lead: str = ""


def overview(report: Report, views: tuple[FrameView, ...], steps: tuple[NextStep, ...]) -> Overview:
    shell = shown_shell(report.advice) if report.advice else ""
    python = as_python(report.advice) if report.advice else ""
    codes = {code for item in report.recompiles for code in item.codes}
    title, lead = _verdict(report)
    has_recompiles = any(item.recompile for view in views for item in view.compiles)
    return Overview(
        title=title,
        lead=whole_times(" ".join((lead, *report.trace.what_is_missing))),
        version=report.trace.torch_version or _guessed(report),
        tiles=tuple(_tiles(report, "all-recompiles" if has_recompiles else "frames")),
        parts=totals(part for view in views for part in view.parts),
        data_loss=sum(problem.severity == DATA_LOSS for problem in report.problems),
        shell=shell if is_visible(shell) and len(shell) <= _MAX_LIST else "",
        python=python if len(python) <= _MAX_LIST else "",
        why=_why(report, shell),
        codes=tuple(rule for code, rule in RULES.items() if code in codes),
        steps=with_references(steps),
        exports_lead=export_verdict(report.trace.exports),
    )


def skipped_functions(report: Report) -> list[str]:
    """The functions that run in eager mode since a call ran no tensor operation."""
    return list(dict.fromkeys(item.frame.title for item in report.findings if item.rule.alert_kind is AlertKind.SKIPPED and item.frame))


def graph_breaks(report: Report) -> int:
    """How many there were, on all ranks."""
    return sum(len(item.compile.breaks) * item.weight for frame in report.frames for item in frame.compiles)


def _failed_at_breaks(report: Report) -> int:
    """How many of these are counted as failed compilations."""
    compiled = (item for frame in report.frames for item in frame.compiles)
    return sum(is_the_failure(broken, item.compile) * item.weight for item in compiled for broken in item.compile.breaks)


def export_verdict(exports: tuple[Export, ...]) -> str:
    """How many exports there were, what came of them, and on what they rely."""
    counted = [(sum(export.result is result for export in exports), words) for result, words in _RESULTS.items()]
    parts = [f"{plural(count, 'export')} {words}" for count, words in counted if count]
    assumptions = sum(len(export.assumptions) for export in exports)
    return ", ".join(parts) + (f", with {plural(assumptions, 'assumption')}" if assumptions else "") + "."


def _guessed(report: Report) -> str:
    return report.trace.version_guess if report.trace.is_text else f"{report.trace.version_guess} (guessed from its records)"


def _why(report: Report, shell: str) -> str:
    if report.advice is None:
        return "the advice failed; see the health of the trace for the reason"
    if not report.recompiles:
        return "nothing was recompiled"
    if shell:
        return f"{plural(len(report.advice.entries), 'entry')}: run shapelog suggest-dynamic to print the list"
    if report.advice.suggestions:
        return "torch before 2.7 does not read a list of dynamic sources, so mark the tensors instead"
    return why_nothing(report.advice)


def _verdict(report: Report) -> tuple[str, str]:
    """(the verdict in a few words, and in a sentence)"""
    summary = report.summary
    if not (summary.compiles or summary.failures or summary.limit_hits):
        return _of_nothing_compiled(report)
    if breaks := report.trace.breaks_alone:
        return f"{plural(breaks, 'graph break')}.", f"The text has {report.without_recompilations}."
    if not summary.recompiles:
        of_vllm = f" vLLM: {vllm_words(report.trace.vllm)}." if report.trace.vllm else ""
        return _without_recompilations(report), _of_first_compilations(report) + of_vllm
    over = f" on {plural(report.trace.rank_count, 'rank')}" if report.ranks else ""
    number, spent = f"{plural(summary.compiles + summary.failures, 'compilation')}{over}", taking(summary.succeeded_seconds)
    if summary.failures:
        number = f"{number}: {summary.failures} failed{taking(summary.failed_seconds)}, {summary.compiles} succeeded"
    again = f"including {plural(summary.recompiles, 'recompilation')}{taking(summary.recompile_seconds)}"
    title = _without_recompilations(report) if summary.failures > summary.compiles else _avoidable(report)
    return title, f"{_with_marks(report.advice)} {number}{spent}, {again}."


def _of_nothing_compiled(report: Report) -> tuple[str, str]:
    outside = report.trace.why_no_frames or f"the trace has {report.trace.outside_frames}, and no compilation that succeeded"
    if report.trace.vllm:
        is_loaded = all(item.is_cached for item in report.trace.vllm)
        heading = "vLLM loaded everything from its cache." if is_loaded else "vLLM compiled without Dynamo's records."
        return heading, as_sentence(vllm_words(report.trace.vllm))
    if report.trace.exports:
        return export_verdict(report.trace.exports), as_sentence(outside)
    if graphs := len(report.trace.compiled_ahead):
        return f"{plural(graphs, 'graph')} {_was(graphs)} compiled ahead of time.", as_sentence(outside)
    if report.unfinished:
        return f"{plural(report.unfinished, 'compilation')} did not finish.", "The trace contains no other compilation."
    if skipped := skipped_functions(report):
        return f"{_named(skipped)} {_are(len(skipped))} left to eager mode.", "No other code was compiled in this run."
    return "Nothing was compiled in this run.", "The trace contains no compilation, so there is nothing to explain."


def _without_recompilations(report: Report) -> str:
    """What went wrong where no code was compiled again."""
    summary = report.summary
    if summary.failures:
        return f"{summary.failures} of {plural(summary.compiles + summary.failures, 'compilation')} failed."
    if summary.limit_hits:
        names = list(dict.fromkeys(item.frame.title for item in report.frames if item.limit_hit))
        return f"{_named(names)} hit the recompile limit." if names else "The recompile limit was hit."
    pieces = sum(item.compiled for item in report.trace.vllm)
    return f"Nothing was recompiled; vLLM compiled {plural(pieces, 'piece')}." if pieces else "Nothing was recompiled."


def _named(titles: Sequence[str]) -> str:
    return enumerated(titles) if len(titles) <= _MAX_NAMES else some(titles, _MAX_NAMES)


def _of_first_compilations(report: Report) -> str:
    summary = report.summary
    over = f" on {plural(report.trace.rank_count, 'rank')}" if report.ranks else ""
    spent = f"{plural(summary.compiles, 'compilation')}{over}{taking(summary.succeeded_seconds)}"
    if not summary.failures and not summary.limit_hits:
        skipped = skipped_functions(report)
        left = f", and {plural(len(skipped), 'function')} {_are(len(skipped))} left to eager mode" if skipped else ""
        return f"{spent}: every function was compiled once{' on each' if over else ''}{left}."
    marks = f"{_with_marks(report.advice)} " if report.advice and report.advice.suggestions else ""
    refused = f"; {plural(summary.limit_hits, 'compilation')} {_was(summary.limit_hits)} refused" if summary.limit_hits else ""
    none = "The log holds no compilation that succeeded" if report.trace.is_text else "No compilation succeeded"
    succeeded = f"{spent} succeeded, and nothing was recompiled" if summary.compiles else none
    return f"{marks}{succeeded}{refused}."


def _avoided_by_marks(advice: Advice | None) -> int:
    """How many compilations the suggested marks avoid, as the replay of the run counts them."""
    return advice.before.compiles - advice.after.compiles if advice and advice.suggestions else 0


def _avoidable_by_code(report: Report) -> int:
    """How many more a code change avoids."""
    gone = {label for item in report.advice.suggestions for label in item.gone} if report.advice else set()
    own = [item for item in report.recompiles if item.verdict is Verdict.CODE and item.compile.label in gone]
    return max(0, report.summary.part(Verdict.CODE).count - len(own))


def _avoidable(report: Report) -> str:
    """How many compilations marking avoids, and how many a code change does."""
    summary, advice = report.summary, report.advice
    saved, changed = _avoided_by_marks(advice), _avoidable_by_code(report)
    if advice and saved > 0:
        most = "Up to " if advice.after.spread else ""
        where = f" {advice.scope}" if advice.scope else ""
        by = f" by marking, {changed} more by a code change" if changed else ""
        return f"{most}{saved} of {plural(advice.before.compiles, 'compilation')}{where} {_are(saved)} avoidable{by}."
    if _lifts_limit_alone(advice):
        return "Marking may keep the code below the recompile limit."
    if changed:
        return f"{changed} of {plural(summary.compiles, 'compilation')} {_are(changed)} avoidable by a code change."
    return f"{plural(summary.recompiles, 'recompilation')}, and marking would remove none."


def _lifts_limit_alone(advice: Advice | None) -> bool:
    """Whether marks remove no compilation, as calls that were refused take the place of those that need none any more."""
    if advice is None or not advice.suggestions or _avoided_by_marks(advice) > 0:
        return False
    return advice.before.limit_hits > advice.after.limit_hits


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"


def _with_marks(advice: Advice | None) -> str:
    """What marking would save, or why there is nothing to mark."""
    if advice is None:
        return "The advice failed."
    if not advice.suggestions:
        return as_sentence(advice.why_empty)
    saved = advice.saved_seconds.as_saving
    where = f" {advice.scope}" if advice.scope else ""
    if not saved or _lifts_limit_alone(advice):
        return f"Mark {advice.what_to_mark} as dynamic."
    longer = slower_words(advice.removed_seconds, advice.added_seconds) if advice.becomes_slower else ""
    return f"Marking {advice.what_to_mark} as dynamic would save {saved} of {advice.before.seconds} of compile time{where}{longer}."


def _vllm_tiles(found: Sequence[VllmCompilation]) -> Iterator[Tile]:
    """What vLLM compiled."""
    pieces = [piece for item in found for piece in item.pieces]
    cached = sum(piece.cache == "hit" for piece in pieces)
    if found:
        yield Tile(len(found), f"{plural_noun(len(found), 'part')} of the model", "", "vllm")
    if pieces:
        yield Tile(len(pieces), plural_noun(len(pieces), "piecewise compilation"), f"{cached} found in a cache" if cached else "", "vllm")


# Where the page explains the recompilations of a verdict; of the others it lists them.
_EXPLAINED = {Verdict.MARKING: "advice", Verdict.CODE: "advice"}


def _tiles(report: Report, recompiled: str) -> Iterator[Tile]:
    """``recompiled`` is where recompilations are listed."""
    summary, exports = report.summary, report.trace.exports
    for result, words in _RESULTS.items():
        count = sum(export.result is result for export in exports)
        if count:
            kind = "failed" if result is ExportResult.FAILED else ""
            yield Tile(count, f"{plural_noun(count, 'export')} {words}", "", "exports", kind)
    assumptions = sum(len(export.assumptions) for export in exports)
    if graphs := len(report.trace.compiled_ahead):
        yield Tile(graphs, f"{plural_noun(graphs, 'graph')} compiled ahead of time", "", "trace")
    if assumptions:
        yield Tile(assumptions, plural_noun(assumptions, "assumption"), "from the example inputs", "exports", "code")
    unfinished, skipped = report.unfinished, skipped_functions(report)
    if not (summary.compiles or summary.failures or summary.limit_hits or unfinished or skipped):
        yield from () if exports else _vllm_tiles(report.trace.vllm)
        return
    yield Tile(summary.compiles, plural_noun(summary.compiles, "compilation"), measured(summary.succeeded_seconds), "frames")
    again = measured(summary.recompile_seconds)
    yield Tile(summary.recompiles, plural_noun(summary.recompiles, "recompilation"), again, recompiled)
    for verdict in (Verdict.MARKING, Verdict.CODE, Verdict.JUSTIFIED, Verdict.UNEXPLAINED):
        part = summary.part(verdict)
        if part.count:
            where = _EXPLAINED.get(verdict, recompiled)
            yield Tile(part.count, report.words_of(verdict), measured(part.seconds), where, verdict.name.lower())
    if summary.limit_hits:
        yield Tile(summary.limit_hits, "refused", "recompile limit reached", "limit-cards", "limit")
    if summary.failures:
        yield Tile(summary.failures, "failed", measured(summary.failed_seconds), "failure-cards", "failed")
    yield from _vllm_tiles(report.trace.vllm)
    if skipped:
        yield Tile(len(skipped), "left to eager mode", "after a call without a tensor operation", "skipped-cards", "failed")
    if unfinished:
        yield Tile(unfinished, "did not finish", "", "unfinished-cards", "unfinished")
    breaks = graph_breaks(report) - _failed_at_breaks(report)
    if breaks:
        yield Tile(breaks, plural_noun(breaks, "graph break"), "", "break-cards")

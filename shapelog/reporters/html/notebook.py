"""A summary of the report for notebooks: a fragment of HTML without script, and without anything fetched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_shell, effect_of, where_to_get, why_nothing
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.recompiles.explain import Recompile
from shapelog.report.report import FrameReport, Report
from shapelog.reporters import Options
from shapelog.reporters.html.environment import environment
from shapelog.rules import UNEXPLAINED, Verdict
from shapelog.text import one_line, plural, seconds, shorten

_T = TypeVar("_T")
# Of a middle brightness, to be readable on white and on black.
_COLORS = {
    Verdict.MARKING: "#2f9e44",
    Verdict.CODE: "#d08700",
    Verdict.JUSTIFIED: "#3b82c4",
    Verdict.UNEXPLAINED: "#b04fb8",
    Verdict.FAILED: "#d64545",
    Verdict.LIMIT: "#d64545",
    Verdict.SKIPPED: "#888888",
}
_MAX_TEXT = 160
_MAX_LINE = 2000


@dataclass(frozen=True, slots=True)
class _VerdictTotal:
    """How many recompiles have a verdict."""

    count: int
    verdict: str
    color: str
    seconds: str


@dataclass(frozen=True, slots=True)
class _FrameRow:
    """A frame that recompiled; ``varied`` holds (property, values, codes)."""

    title: str
    place: str
    compiles: int
    seconds: str
    varied: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class _RecompileRow:
    """A recompile with its causes as (code, sentence)."""

    label: str
    against: str
    frame: str
    causes: tuple[tuple[str, str], ...]
    note: str
    verdict: str
    color: str
    seconds: str


@dataclass(frozen=True, slots=True)
class _RemainingRow:
    """Recompiles that remain after all is marked, and their remedy."""

    frame: str
    axis: str
    code: str
    color: str
    sentence: str
    remedy: str
    count: int
    seconds: str


@dataclass(frozen=True, slots=True)
class _AdviceView:
    """What to set: ``line`` is to be copied as it is; ``note`` is shown in its place where there is none."""

    headline: str
    effect: str
    line: str
    note: str
    left_out: tuple[tuple[str, str, str], ...]
    remaining: tuple[_RemainingRow, ...]
    more_remaining: str


def render(report: Report, options: Options) -> bytes:
    """``options.limit`` is how many rows a table has, 0 for all."""
    frames, more_frames = _first([item for item in report.frames if item.recompiles], options.limit)
    recompiles, more_recompiles = _first(report.recompiles, options.limit)
    limits = [f"{_text(item.frame.title)} (from {item.limit_hit.label} on)" for item in report.frames if item.limit_hit]
    text = (
        environment()
        .get_template("notebook.html.j2")
        .render(
            headline=_headline(report),
            version=_text(report.trace.torch_version or f"{report.trace.version_guess} (guessed)"),
            parts=[
                _VerdictTotal(part.count, part.verdict.value, _COLORS[part.verdict], seconds(part.seconds)) for part in report.summary.parts
            ],
            limits=shorten(", ".join(limits), _MAX_TEXT),
            failures=plural(report.summary.failures, "compile") if report.summary.failures else "",
            advice=_advice(report.advice, options.limit) if report.advice and report.summary.compiles else None,
            frames=[_frame(item) for item in frames],
            more_frames=plural(more_frames, "more frame") if more_frames else "",
            recompiles=[_recompile(item) for item in recompiles],
            more_recompiles=plural(more_recompiles, "more recompile") if more_recompiles else "",
            problems=plural(len(report.problems), "problem") if report.has_problems else "",
        )
    )
    return text.encode("utf-8", "replace")


def _first(items: Sequence[_T], limit: int) -> tuple[Sequence[_T], int]:
    """(what is shown, how many are left out)"""
    return (items[:limit], max(0, len(items) - limit)) if limit else (items, 0)


def _text(value: object) -> str:
    return shorten(one_line(value), _MAX_TEXT)


def _headline(report: Report) -> str:
    summary = report.summary
    if not summary.compiles and not summary.failures:
        return "Nothing was compiled in this run."
    of_them = f"{plural(summary.recompiles, 'recompile')} ({seconds(summary.recompile_seconds)})" if summary.recompiles else "no recompile"
    return f"{plural(summary.compiles, 'compile')} in {seconds(summary.seconds)}, of them {of_them}"


def _frame(item: FrameReport) -> _FrameRow:
    frame = item.frame
    return _FrameRow(
        title=_text(frame.title),
        place=_text(f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}" if frame.file else "code unknown"),
        compiles=len(frame.entries),
        seconds=seconds(frame.seconds),
        varied=tuple(
            (_text(axis.name), _text(", ".join(map(one_line, axis.values))), " ".join(rule.code for rule in axis.rules))
            for axis in item.axes
        ),
    )


def _recompile(item: Recompile) -> _RecompileRow:
    causes = tuple((" ".join(cause.codes), _text(cause.sentence)) for cause in item.causes) or (
        (UNEXPLAINED.code, _text(item.unexplained_because)),
    )
    return _RecompileRow(
        label=item.compile.label,
        against=item.nearest.label if item.nearest else "",
        frame=_text(item.frame.title),
        causes=causes,
        note=_text(item.why_not_markable),
        verdict=item.verdict.value,
        color=_COLORS[item.verdict],
        seconds=seconds(item.compile.seconds),
    )


def _advice(advice: Advice, limit: int) -> _AdviceView:
    shell = as_shell(advice)
    is_shown = bool(shell) and shell.isprintable() and len(shell) <= _MAX_LINE
    remaining, more = _first(advice.remaining, limit)
    return _AdviceView(
        headline=f"Mark {plural(len(advice.suggestions), 'source')} dynamic" if advice.suggestions else "Nothing to mark dynamic",
        effect=effect_of(advice) if advice.suggestions else "",
        line=shell if is_shown else "",
        note="" if is_shown else _text(where_to_get(advice) if shell else why_nothing(advice)),
        left_out=tuple((_text(item.mark.source), _text(item.reason), _text(item.remedy)) for item in advice.left_out),
        remaining=tuple(map(_remaining, remaining)),
        more_remaining=plural(more, "more reason") if more else "",
    )


def _remaining(item: Remaining) -> _RemainingRow:
    return _RemainingRow(
        frame=_text(item.frame.title),
        axis=_text(item.axis),
        code=f"{item.rule.code} {item.rule.name}",
        color=_COLORS[item.verdict],
        sentence=_text(item.sentence),
        remedy=_text(item.remedy),
        count=len(item.compiles),
        seconds=seconds(item.seconds),
    )

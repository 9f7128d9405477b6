"""The step that marks inputs as dynamic."""

from collections.abc import Iterator, Mapping

from shapelog.advice.advise import Advice
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.marks import split_list
from shapelog.advice.paste_formats import as_python, as_shell, as_short_shell, why_short
from shapelog.model.compile import Outcome
from shapelog.model.trace import Trace
from shapelog.report.details.uncompiled_calls import Eager
from shapelog.report.report import Report
from shapelog.report.steps.step import CONFIDENCE, Confidence, NextStep, Saving, StepKind, middle
from shapelog.rules import Verdict
from shapelog.text import capitalized


def mark_steps(report: Report) -> Iterator[NextStep]:
    """All marks of the advice together, since they save more together than each does."""
    advice = report.advice
    if advice is None or not advice.suggestions:
        return
    items = advice.suggestions
    fewer = advice.before.compiles - advice.after.compiles
    unsure = max(items, key=lambda item: CONFIDENCE.index(item.confidence))
    text = (as_shell(advice),) if advice.env else tuple(as_python(advice).split("\n"))
    short = as_short_shell(advice)
    saved = advice.saved_seconds if fewer else Seconds()
    title = capitalized(items[0].recommendation) if len(items) == 1 else f"Mark {advice.what_to_mark} as dynamic"
    refused = advice.before.limit_hits - advice.after.limit_hits
    raised = _raised_at_limit(report.trace, refused, is_lifted=not advice.after.limit_hits)
    labels = dict.fromkeys(label for item in items for label in item.gone)
    forbidden = advice.before.forbidden - advice.after.forbidden
    yield NextStep(
        kind=StepKind.MARK,
        title=title if fewer or not refused else f"{title}; or raise {advice.version.limit_setting()}",
        rules=(),
        saving=Saving(
            least=max(0, fewer - advice.after.spread),
            most=fewer,
            seconds=saved,
            refused=refused,
            failed=forbidden,
            raised=forbidden + raised,
            eager=(Eager.LIMIT,) if refused > raised else (),
            is_unsure=advice.after.may_reach_limit,
            removed_seconds=advice.removed_seconds if fewer and advice.becomes_slower else 0.0,
            added_seconds=advice.added_seconds if fewer else 0.0,
        ),
        confidence=Confidence(unsure.confidence, unsure.confidence_reason),
        stake=middle(saved),
        text=text,
        entries=frozenset(split_list(advice.env)),
        explanation="; ".join((*_first_ones(report, labels), *in_their_place(report, fewer), *_explained(advice))),
        labels=tuple(labels),
        short_text=short,
        why_short=why_short(advice),
    )


def _first_ones(report: Report, labels: Mapping[str, object]) -> Iterator[str]:
    """Why more compilations go away than the summary calls avoidable, as where the backward pass of a graph is compiled by itself."""
    again = {item.compile.label for item in report.recompiles}
    compiled = (item for item in report.trace.compiles if item.outcome is Outcome.COMPILED)
    first = [item for item in compiled if item.label in labels and item.label not in again]
    if number := sum(report.trace.rank_weight(item.rank) for item in first):
        what = "is the first of its function, not a recompilation"
        several = "are the first of their functions, not recompilations"
        yield f"{number} of these compilations {what if number == 1 else several}"


def in_their_place(report: Report, fewer: int) -> Iterator[str]:
    """Why fewer compilations go away than the summary calls avoidable by marking: there is room for calls that were refused."""
    marked = sum(report.trace.rank_weight(item.compile.rank) for item in report.recompiles if item.verdict is Verdict.MARKING)
    if report.summary.limit_hits and fewer < marked:
        yield f"removes {marked}, and calls that were refused at the limit may be compiled in their place"


def _explained(advice: Advice) -> Iterator[str]:
    if advice.scope:
        yield f"estimated {advice.scope}"
    yield from advice.warnings
    if advice.how_entries_are_written:
        yield advice.how_entries_are_written


def _raised_at_limit(trace: Trace, refused: int, *, is_lifted: bool) -> int:
    """How many of these refused calls raised an error: where both kinds occur and some remain, which ones go away is not known."""
    hits = [compile for compile in trace.compiles if compile.outcome is Outcome.LIMIT]
    raised = [compile for compile in hits if compile.raised_at_limit]
    if len(raised) == len(hits):
        return refused
    return sum(trace.rank_weight(compile.rank) for compile in raised) if is_lifted else 0

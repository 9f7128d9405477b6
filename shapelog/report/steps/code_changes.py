"""Steps that change the code, or what is set up before it, so that it is not recompiled."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from shapelog.advice.call_lines import caller
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.marks import entries
from shapelog.advice.minimal_marks import HarmfulMarks, mark_for
from shapelog.advice.paste_formats import exported
from shapelog.advice.remedies import is_marked_itself, sizes_and_ints
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import is_dynamo, is_library
from shapelog.recompiles.global_state import set_once
from shapelog.recompiles.recompile import Recompile
from shapelog.report.alerts.alert import Alert, Occurrence
from shapelog.report.details.uncompiled_calls import Eager
from shapelog.report.steps.step import (
    COPIED,
    SET_UP,
    Confidence,
    NextStep,
    Saving,
    StepKind,
    StepSources,
    change_of,
    middle,
    step_of,
    subject_of_alerts,
)
from shapelog.report.weighted import WeightedCompile
from shapelog.rules import RULES
from shapelog.text import enumerated, file_name, shorten, some

# What is one thing by itself; other items of a list, say, come with another length.
_SINGLE = (Kind.VALUE, Kind.STRIDE)
_KEYS = RULES["SL314"]
_AND_MARK = ", and mark "  # a remedy that names the sizes itself
_LONGEST_LINE = 2000  # a longer one is hard to copy from a terminal
# How many of the properties that changed a title names, and how much of each.
_NAMED, _LONGEST_NAME = 2, 40


def _times(item: Occurrence | WeightedCompile) -> int:
    """On how many ranks."""
    return item.weight if isinstance(item, WeightedCompile) else item.times


def code_change(run: StepSources, alerts: Sequence[Alert]) -> NextStep:
    """Recompilations that go away when the code, or what is set up before it, changes."""
    cured: dict[Compile, set[str]] = {}
    own: dict[Compile, Occurrence | WeightedCompile] = {}
    for alert in alerts:
        for item in alert.occurrences:
            cured.setdefault(item.compile, set()).update(alert.codes)
            if run.needs_code(item.compile):
                own[item.compile] = item
    repeated = {item.compile: item for item in _repeated(run, alerts) if item.compile not in own}
    named = [item for item in own.values() if cured[item.compile].issuperset(run.recompiles[item.compile].codes)]
    own |= repeated
    alone = [*named, *(item for item in repeated.values() if _is_compared(run.recompiles[item.compile]))]
    may_be_accepted = any(change_of(alert).change != change_of(alert).text for alert in alerts)
    sure = [item for item in alone if not (may_be_accepted or _differ_in_values(run, run.recompiles[item.compile]))]
    # at the recompile limit, a call that was refused takes the place of one that needs no compile any more
    sole = [item for item in sure if not any(other.is_refused for other in run.recompiles[item.compile].frame.compiles)]
    saved = Seconds(math.fsum(item.seconds for item in sole), math.fsum(item.seconds for item in own.values()))
    confidence = Confidence("medium", "the cause is known; the changed code may meet other obstacles")
    if len(alone) < len(own):
        confidence = Confidence("low", "some of these recompilations have other causes as well")
    elif may_be_accepted:
        confidence = Confidence("low", "the code may need each of these graphs")
    elif len(sure) < len(own):
        confidence = Confidence("low", "calls with the same keys may still differ in the values, or the code may branch on these")
    elif len(sole) < len(own):
        confidence = Confidence("low", "calls that were refused at the recompile limit may be compiled in place of these")
    passed_at = _passed_in_library(list(own)) if alerts[0].rule in COPIED else ""
    kept_in = _kept_in_library(run, list(own)) if alerts[0].rule in COPIED and not passed_at else ""
    if (passed_at or kept_in) and confidence.level == "medium":
        confidence = Confidence("low", f"a library {'passes the tensor on' if passed_at else 'keeps the tensor'}, and may have made it")
    kind = StepKind.SETUP if alerts[0].rule.code in SET_UP else StepKind.CODE
    makes_room = len(sole) < len(sure)  # for calls that were refused
    eager = (Eager.LIMIT,) if makes_room or any(run.keeps_below_limit(alert) for alert in alerts) else ()
    saving = Saving(sum(map(_times, sole)), sum(map(_times, own.values())), saved, eager=eager, is_unsure=bool(eager))
    subjects = list(dict.fromkeys(shorten(alert.subjects[0], _LONGEST_NAME) for alert in alerts if alert.subjects))
    changed = some(subjects, _NAMED) if kind is StepKind.CODE else ""
    where = f", called in library code ({passed_at})" if passed_at else f", a buffer of a library ({kept_in})" if kept_in else ""
    subject = f"{subject_of_alerts(alerts)}{f' ({changed})' if changed else ''}{where}"
    change = _what_to_change(alerts)
    marks = _marks_too(run, own, is_needed_by_all=not alone) if _AND_MARK not in change else _NO_MARKS
    step = step_of(
        kind=kind,
        title=f"{subject}: {change}{marks.words}",
        alerts=alerts,
        saving=saving,
        stake=middle(saved),
        confidence=confidence,
        text=marks.lines,
    )
    labels = tuple(dict.fromkeys(item.compile.label for item in own.values()))
    enough = {item.compile for item in alone}
    shared, enough_for = (
        tuple(filter(None, dict.fromkeys(compile.shown_label for compile in own if (compile in enough) is is_enough)))
        for is_enough in (False, True)
    )
    return replace(step, labels=labels, entries=marks.entries, shared=shared, enough_for=enough_for)


class _MarksToo(NamedTuple):
    """What has to be marked for a change of the code to save anything, as the end of a sentence, and the list with what it lacks, as a line
    for the shell and by its entries.
    """

    words: str = ""
    lines: tuple[str, ...] = ()
    entries: frozenset[str] = frozenset()


_NO_MARKS = _MarksToo()


def _marks_too(run: StepSources, compiles: Iterable[Compile], is_needed_by_all: bool) -> _MarksToo:
    """The sizes and ints that changed in the same recompilations, but for those whose marks would do harm.

    Where the change saves some of these without marks, only what the list lacks: the list has a step of its own.
    """
    advice = run.report.advice
    left_out = HarmfulMarks(advice.left_out if advice else ())
    changed = (cause for compile in compiles for cause in run.recompiles[compile].causes)
    causes = [cause for cause in changed if is_marked_itself(cause) and not left_out.for_cause(cause)]
    subjects = sizes_and_ints(causes)
    if advice is None or not subjects:
        return _NO_MARKS
    listed = {mark for item in advice.suggestions for mark in item.marks}
    if not is_needed_by_all:
        causes = [cause for cause in causes if mark_for(cause) not in listed]
        subjects = sizes_and_ints(causes)
    if not subjects or (not is_needed_by_all and not run.report.trace.version.reads_sources):
        return _NO_MARKS
    named = subjects if len(subjects) <= _NAMED else [subjects[0], f"{len(subjects) - 1} more inputs"]
    missing = entries([mark for mark in map(mark_for, causes) if mark not in listed], run.report.trace.version)
    words, whole = f"; also mark {enumerated(named)}", tuple(dict.fromkeys((*advice.set_already, *advice.entries, *missing)))
    line = exported(",".join(whole))
    return _MarksToo(words, (line,), frozenset(whole)) if missing and len(line) <= _LONGEST_LINE else _MarksToo(words)


def _repeated(run: StepSources, alerts: Sequence[Alert]) -> Iterator[WeightedCompile]:
    """Compiles that differ from an entry in nothing but what these alerts are about, where another entry is nearer.

    Such are those for each value of a float that was compiled for other sizes before. What is set up happens once.
    """
    for code, members in grouped((alert for alert in alerts if alert.rule.code not in SET_UP), lambda alert: alert.code).items():
        axes = frozenset(axis for alert in members for axis in alert.axes)
        for item in run.found.compiles(code):
            is_about_others = item.recompile is not None and axes.isdisjoint(cause.axis for cause in item.recompile.causes)
            is_left = is_about_others and item.compile.outcome is Outcome.COMPILED
            compared = run.report.explained.compared.get(item.compile, ()) if is_left else ()
            if any(other.causes and all(cause.axis in axes and cause.prop.kind in _SINGLE for cause in other.causes) for other in compared):
                yield item


def _passed_in_library(compiles: Sequence[Compile]) -> str:
    """The line of a library that passes on what these compiles take, ``modeling_vits.py:596``; "" where the user's code calls any.

    Dynamo's own wrapper, which torch 2.6 records without its line of code, passes on what it is given.
    """
    # What is resumed has the line in its own code at which the graph broke.
    lines = [caller(compile) for compile in sorted(compiles, key=lambda item: resumed_by(item.metrics.code_name) is not None)]
    first = lines[0] if lines else None
    is_passed = all(line and is_library(line.file) and not is_dynamo(line.file) for line in lines)
    return f"{file_name(first.file)}:{first.line}" if first and is_passed else ""


def _kept_in_library(run: StepSources, compiles: Sequence[Compile]) -> str:
    """The file of a library, ``tcn.py``, whose code works on buffers of its modules that were other views; "" where anything else was."""
    items = [run.recompiles[compile] for compile in compiles if compile in run.recompiles]
    sources = [cause.source for item in items for cause in item.causes if cause.rule in COPIED]
    is_kept = all(item.frame.is_library for item in items) and all(source.is_registered for source in sources)
    return file_name(items[0].frame.file) if sources and is_kept else ""


def _is_compared(item: Recompile) -> bool:
    """Whether all that an entry requires is known, and not only the first guard that failed."""
    return item.nearest is not None and item.nearest.guards is not None


def _differ_in_values(run: StepSources, item: Recompile) -> bool:
    """Whether two calls with other keys in a dict also differ in what is done with them, or in a constant that is stored under one."""
    dicts = [cause.source for cause in item.causes if cause.rule is _KEYS and not cause.own_remedy]
    entry, call = item.nearest, item.compile
    if not dicts or entry is None:
        return False
    if entry.graph and call.graph and entry.graph.key != call.graph.key:
        return True
    stored = tuple(f"{source}[" for source in dicts)
    before, after = (
        {
            key: fact
            for key, fact in run.report.explained.facts.of(known).facts.items()
            if key[1].kind is Kind.VALUE and integer(str(fact)) is None and key[0].startswith(stored)
        }
        for known in (entry, call)
    )
    return before != after


def _what_to_change(alerts: Sequence[Alert]) -> str:
    """The remedy of these alerts; settings that each alone has one about are set together."""
    text = change_of(alerts[0]).text
    is_same = all(change_of(alert).text == text for alert in alerts)
    fields = [field for alert in alerts for axis in alert.axes for field in axis.split(", ")]
    return text if is_same or alerts[0].rule.code != "SL307" else set_once(fields) or text

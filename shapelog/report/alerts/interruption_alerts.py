"""Graph breaks and restarts of a piece of code → alerts."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.model.compile import GraphBreak
from shapelog.model.frame import UNNAMED_CODE, Frame
from shapelog.reading.payloads.compiler_messages import LOST_REASON, CompilerMessage
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.report.alerts.alert import Alert, Occurrence, how_many_times, level_of, stable_text
from shapelog.report.alerts.alerted_code import AlertedCode, stopped_at
from shapelog.report.details.failure_remedies import NAMES_REASON, OF_CAPTURED_GRAPH, is_in_captured_graph
from shapelog.report.details.restarts import constant_floats, restart_remedy
from shapelog.report.details.training_lines import with_training_hint
from shapelog.report.details.uncompiled_calls import is_the_failure
from shapelog.rules import RULES, AlertKind, Remedy, Rule
from shapelog.text import names_of, seconds

_BREAK, _RESTART = RULES["SL501"], RULES["SL502"]
# Where a text log lacks the line of a graph break.
_SHOWS_LINES = "TORCH_LOGS=graph_breaks shows the line"


class _Interruption(NamedTuple):
    """What a graph break or a restart is known by: its rule, what PyTorch writes, and the user's line, ("", 0) where none is known."""

    rule: Rule
    words: str
    file: str = ""
    line: int = 0


@dataclass(slots=True)
class _Interrupted:
    """Graph breaks or restarts that are one alert: ``words`` of PyTorch for each time, and how many more times it was ``repeated``.

    Of the first graph break, ``place`` is the user's line, ``inside`` the innermost one, ``message`` what PyTorch wrote.
    """

    place: StackFrame | None = None
    inside: StackFrame | None = None
    message: CompilerMessage | None = None
    words: dict[Occurrence, str] = field(default_factory=dict)
    repeated: int = 0


def interruption_alerts(alerted: AlertedCode) -> Iterator[Alert]:
    """Graph breaks by reason and line, and restarts of the analysis for other reasons; where only addresses differ, one for all."""
    found = _interrupted(alerted)
    first: dict[tuple[Rule, str], _Interruption] = {}  # of those with the same words; the one without a line, if there is one
    for key, item in found.items():
        if item.place is None or (key.rule, key.words) not in first:
            first[key.rule, key.words] = key
    for key, item in found.items():
        yield _alert(alerted, key.rule, item, first[key.rule, key.words] == key)


def _interrupted(alerted: AlertedCode) -> dict[_Interruption, _Interrupted]:
    found: dict[_Interruption, _Interrupted] = {}
    for compiled in alerted.compiles:
        lost = compiled.seconds_before_restart
        broke, again = (alerted.found.occurrence(compiled, frozenset((kind,)), lost) for kind in (AlertKind.BREAK, AlertKind.RESTART))
        for item in compiled.compile.breaks:
            if is_the_failure(item, compiled.compile):
                continue
            place = line_of_user(item, alerted.code.first)
            key = _Interruption(_BREAK, stable_text(item.words), place.file if place else "", place.line if place else 0)
            same = found.setdefault(key, _Interrupted(place, item.place, item.message))
            # Where one represents all compiles of a text, each is one more; else it is met in each attempt.
            same.repeated += broke in same.words and compiled.compile.metrics.is_unnumbered
            same.words.setdefault(broke, item.words)
        for reason in compiled.compile.restarts:
            found.setdefault(_Interruption(_RESTART, stable_text(reason)), _Interrupted()).words.setdefault(again, reason)
    return found


def _alert(alerted: AlertedCode, rule: Rule, item: _Interrupted, is_first: bool) -> Alert:
    """Those with the same words that are not the first have their line as well, so that a baseline knows them apart."""
    occurrences, reasons = tuple(item.words), tuple(dict.fromkeys(item.words.values()))
    message, place, inside = item.message, item.place, item.inside
    titles = alerted.titles(occurrences)
    title = names_of(titles)
    inside_code = f" in {title}"
    if title == UNNAMED_CODE:  # code that lies in no file has its place in the sentence
        inside_code = f" at {place.file}:{place.line}" if place and place.file.startswith("<") else ""
    what = f"graph break{inside_code}" if rule is _BREAK else f"Dynamo restarted its analysis of {title}"
    often = how_many_times(occurrences, item.repeated)
    restarted = [occurrence.compile for occurrence in occurrences if rule is _RESTART]
    remedy = restart_remedy(reasons[0], restarted)
    if lost := math.fsum(occurrence.seconds for occurrence in occurrences if rule is _RESTART):
        often += f", {seconds(lost)}"
    source_line = alerted.found.repository.source_line(place.file, place.line) if place else None
    lines = alerted.lines(title, occurrences, source_line, place.code if place else "")
    is_elsewhere = inside is not place or lines.source_line != source_line
    notes = (stopped_at(inside),) if inside and is_elsewhere else constant_floats(reasons[0], restarted)
    if message and message.specific_hints and _lacks_line(alerted, rule, item):
        notes = (*notes, f"{_SHOWS_LINES} that breaks the graph")
    axes = (reasons[0] if is_first or not place else f"{reasons[0]} at {place.code or f'line {place.line}'}",)
    return Alert(
        rule=rule,
        codes=(rule.code,),
        level=level_of(rule, occurrences),
        code=alerted.code,
        axes=axes,
        subjects=axes,
        titles=tuple(titles),
        sentence=f"{what} ({often}): {message.title if message else reasons[0]}",
        facts=reasons,
        remedy=Remedy(rule, f"one restart is normal; if it is expensive, {remedy}" if remedy else _of_break(alerted, rule, item)),
        source_line=lines.source_line,
        snippet=lines.snippet,
        marked=place.marked if place else "",
        related=lines.related,
        occurrences=occurrences,
        fingerprint=alerted.fingerprint(rule, axes),
        messages=(with_training_hint(message),) if message else (),
        notes=notes,
    )


def _of_break(alerted: AlertedCode, rule: Rule, item: _Interrupted) -> str:
    """What the rule recommends, and what is missing first: the reason of a graph break, or its line.

    The graph of a backward pass has no line to change.
    """
    if rule is _BREAK and item.message and item.message.title == LOST_REASON:
        return NAMES_REASON
    if rule is _BREAK and all(is_in_captured_graph(met.compile, item.inside) for met in item.words):
        return OF_CAPTURED_GRAPH
    return f"{rule.remedy}; {_SHOWS_LINES}" if _lacks_line(alerted, rule, item) else rule.remedy


def _lacks_line(alerted: AlertedCode, rule: Rule, item: _Interrupted) -> bool:
    """Whether a text log has a graph break without its line."""
    return rule is _BREAK and item.place is None and alerted.found.report.trace.is_text


def line_of_user(item: GraphBreak, frame: Frame) -> StackFrame | None:
    """Where a graph broke: the innermost line of the user, where that is in a library that the code calls."""
    if item.place is None or frame.is_library or not is_library(item.place.file):
        return item.place
    return next((line for line in reversed(item.message.stack) if not is_library(line.file)), item.place)

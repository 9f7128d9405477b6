"""What analyses found about a piece of code → alerts: limits, failures and others."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from shapelog.grouping import grouped
from shapelog.reading.payloads.error_titles import DATA_DEPENDENT, raised_by
from shapelog.reading.payloads.source_names import is_library
from shapelog.report.alerts.alert import Alert, Occurrence, Rest, level_of, stable_text
from shapelog.report.alerts.alerted_code import AlertedCode, stopped_at
from shapelog.report.details.raising_calls import RaisingCall, raising_call
from shapelog.report.details.training_lines import with_training_hint
from shapelog.report.results import Finding, Location
from shapelog.report.weighted import WeightedCompile
from shapelog.rules import AlertKind, Remedy, Section
from shapelog.text import names_of, some

# The compiles that a note names.
_LABELS = 4
_NUMBER = re.compile(r"\d+")


def finding_alerts(alerted: AlertedCode, items: list[Finding]) -> Iterator[Alert]:
    """What analyses found about this code: limits once, failures once for each error and, of code without a name, place."""
    rules = set[str]()
    for members in grouped(items, lambda item: (item.rule.code, _own_place(item), *_error(item))).values():
        first = members[0]
        axes = (f"{first.sentence} at {first.place}; {first.remedy}",) if first.rule.code in rules else ()
        rules.add(first.rule.code)
        place = first.place
        kinds = frozenset(filter(None, (first.rule.alert_kind,)))
        occurrences = tuple(alerted.found.occurrence(item, kinds, 0.0) for item in _compiles_of(alerted, members))
        details = (f"{name}: {value}" for item in members for name, value in item.details if value)
        messages = {item.message.title: item.message for item in members if item.message}
        stack = next((item.message.stack for item in members if item.message and item.message.stack), ())
        line = next((line for line in reversed(stack) if place and (line.file, line.line) == (place.file, place.line)), None)
        is_own = bool(place and not is_library(place.file))
        stopped = stack[-1] if is_own and stack and is_library(stack[-1].file) else None if is_own else line
        limits = [item for item in members if item.rule.section is Section.LIMITS]
        titles = alerted.titles(alerted.compiles if first.rule.section is Section.LIMITS else occurrences)
        source_line = alerted.found.repository.source_line(place.file, place.line) if place and is_own else None
        lines = alerted.lines(names_of(titles), occurrences, source_line, (line.code if line else first.code) if is_own else "")
        is_shown = stopped and not stopped.code and alerted.found.repository.source_line(stopped.file, stopped.line) == lines.source_line
        stops = [stopped_at(stopped, _what_stopped(occurrences, messages))] if stopped and not is_shown else []
        notes = (text for item in members for text in (*item.notes, *stops))
        yield Alert(
            rule=first.rule,
            codes=(first.rule.code,),
            level=level_of(first.rule, occurrences),
            code=alerted.code,
            axes=(),
            titles=tuple(titles),
            sentence=first.sentence,
            facts=tuple(dict.fromkeys(details)),
            remedy=Remedy(first.rule, first.remedy),
            source_line=lines.source_line,
            snippet=lines.snippet,
            marked=line.marked if line and is_own else "",
            related=lines.related,
            occurrences=occurrences,
            fingerprint=alerted.fingerprint(first.rule, axes),
            messages=tuple(map(with_training_hint, messages.values())),
            exceptions=next((item.exceptions for item in members if item.exceptions), ()),
            notes=tuple(dict.fromkeys((*_other_reasons(limits), *notes))),
            rest=_other_remedies(limits),
        )


def _what_stopped(occurrences: Sequence[Occurrence], titles: Collection[str]) -> str:
    """What gave up where it is not Inductor, whose files show that; "PyTorch" where a guard on data may be one of an export."""
    if occurrences and raising_call(occurrences[0].compile) is RaisingCall.EXPORT:
        return "torch.export"
    if any(raised_by(title)[0] for title in titles):
        return "the backend"
    compile = occurrences[0].compile if occurrences else None
    is_open = compile and compile.metrics.is_unnumbered and "_dynamo" not in compile.error
    return "PyTorch" if is_open and any(DATA_DEPENDENT in title for title in titles) else "Dynamo"


def _own_place(finding: Finding) -> Location | None:
    """Where code failed that has no name, so that its places may be of several functions."""
    is_unnamed = finding.frame is not None and not finding.frame.name
    return finding.place if is_unnamed and finding.rule.alert_kind is AlertKind.FAILURE else None


def _error(finding: Finding) -> tuple[str, ...]:
    """What two failures of one function differ in where one change does not cure both: what to do, and the error without its numbers."""
    if finding.rule.alert_kind is not AlertKind.FAILURE:
        return ()
    return finding.remedy, _NUMBER.sub("0", stable_text(raised_by(finding.message.title)[1])) if finding.message else ""


def _compiles_of(alerted: AlertedCode, findings: Iterable[Finding]) -> Iterator[WeightedCompile]:
    """The compiles that findings name; the first of the frame where they name none."""
    by_frame = grouped(alerted.compiles, lambda item: item.frame)
    by_label = grouped(alerted.compiles, lambda item: (item.frame, item.compile.label))
    for finding in findings:
        frame = finding.frame
        yield from by_label.get((frame, finding.compile)) or by_frame.get(frame, ())[:1] if frame else ()


def _other_reasons(limits: Sequence[Finding]) -> Iterator[str]:
    """What filled the cache of one code the other times, in other processes or after a reset, where that is all that is known of them."""
    first = {item.reason for item in limits[:1]}
    reasons = grouped((item for item in limits if item.reason and item.reason not in first), lambda item: item.reason)
    for reason, same in reasons.items():
        labels = some(_labels_of(same), _LABELS)
        yield f"the last reason{f' at {labels}' if labels else ' another time'}: {reason}"


def _other_remedies(findings: Sequence[Finding]) -> Rest | None:
    """What to do about the times that code hit the limit for another reason than the first; of several reasons the first."""
    other = next((item for item in findings if item.remedy != findings[0].remedy), None)
    if other is None:
        return None
    labels, own = (_labels_of(item for item in findings if item.remedy == remedy) for remedy in (other.remedy, findings[0].remedy))
    is_clear = set(labels).isdisjoint(own)  # two ranks may have the same
    return Rest(Remedy(other.rule, other.remedy), tuple(labels) if is_clear else (), tuple(own) if is_clear else ())


def _labels_of(findings: Iterable[Finding]) -> list[str]:
    """The ids of the compiles that these are about, without those that a text log does not have."""
    compiles = ((compile for compile in item.frame.compiles if compile.label == item.compile) for item in findings if item.frame)
    return list(dict.fromkeys(compile.shown_label for found in compiles for compile in found if compile.shown_label))

"""Everything in a report that a CI system may show, as alerts: ``collect_alerts(report, repository)`` → Alerts."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.code_matching import Code, codes_of, file_of
from shapelog.model.compile import Compile, GraphBreak, Outcome, function_of
from shapelog.model.frame import UNNAMED_CODE, Frame
from shapelog.reading.payloads.compiler_messages import LOST_REASON, CompilerMessage, raised_by
from shapelog.reading.payloads.guards import UserLine
from shapelog.reading.payloads.properties import Kind, is_address
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.classification.shown_objects import shown_object
from shapelog.recompiles.classification.values import LONGEST_VALUE
from shapelog.recompiles.evidence.violation import THE_CLASS
from shapelog.recompiles.recompile import Recompile
from shapelog.report.alerts.alert import Alert, Alerts, Occurrence, RelatedLine, Rest, digest, stable_text
from shapelog.report.details.failure_remedies import OF_CAPTURED_GRAPH, is_in_captured_graph
from shapelog.report.details.restarts import constant_floats, restart_remedy
from shapelog.report.details.uncompiled_calls import is_the_failure
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository, SourceLine
from shapelog.report.results import Finding
from shapelog.report.weighted import WeightedCompile
from shapelog.rules import RULES, UNEXPLAINED, AlertKind, Level, Remedy, Rule, Section, Verdict
from shapelog.text import (
    around_difference,
    cut,
    enumerated,
    file_name,
    how_often,
    names_of,
    one_line,
    rank_list,
    seconds,
    shorten,
    some,
    taking,
)

# The most values, other properties and compiles that a sentence names.
_VALUES, _AXES, _LABELS = 8, 4, 4
_LONGEST_CODE = 60
# Other errors of one function in a note.
_MOST_ERRORS, _LONGEST_ERROR = 2, 120
_BREAK, _RESTART = RULES["SL501"], RULES["SL502"]
# Where a text log lacks the reason of a graph break, or its line.
_NAMES_REASON = "add the other log lines of this graph break: they name its reason"
_SHOWS_LINES = "TORCH_LOGS=graph_breaks shows the line"
# How code asks a tensor for its sizes or strides.
_OF_TENSOR = r"(?:\.(?:size|shape|stride)\b(?:\([^()]*\)|\[[^\[\]]*\])?)?"


def collect_alerts(report: Report, repository: Repository) -> Alerts:
    """Everything in a report that a CI system may show, placed in the repository."""
    codes = codes_of(report.trace.ranks)
    found = Alerts(
        report=report,
        repository=repository,
        codes=tuple(codes),
        alerts=(),
        processes={frame: number for number, rank in enumerate(report.trace.ranks) for frame in rank.frames},
        identities=_identities(codes, repository),
    )
    by_frame = {frame: code for code in codes for frame in code.frames}
    findings: dict[Code, list[Finding]] = {}
    for item in report.findings:
        if item.frame is not None:
            findings.setdefault(by_frame[item.frame], []).append(item)
    collected: list[Alert] = []
    for code in codes:
        builder = _AlertBuilder(found, code, found.compiles(code))
        collected += builder.recompiles()
        collected += builder.findings(findings.get(code, []))
        collected += builder.breaks()
    order = list(Level)
    collected.sort(key=lambda item: (order.index(item.level), -item.seconds, -item.count, item.occurrences[0].compile.order))
    return replace(found, alerts=tuple(collected))


def _other_errors(first: Finding, titles: Iterable[str]) -> Iterator[str]:
    """With what else code failed to compile, where its calls met several errors."""
    own = raised_by(first.message.title)[1] if first.message else ""
    others = dict.fromkeys(error for title in titles if (error := raised_by(title)[1]) and own and error != own)
    if first.rule.alert_kind is AlertKind.FAILURE and others:
        yield f"also failed: {some([cut(one_line(error), _LONGEST_ERROR) for error in others], _MOST_ERRORS, '; ')}"


def _other_reasons(limits: Sequence[Finding]) -> Iterator[str]:
    """What filled the cache of one code the other times, in other processes or after a reset, where that is all that is known of them."""
    first = {item.reason for item in limits[:1]}
    reasons = grouped((item for item in limits if item.reason and item.reason not in first), lambda item: item.reason)
    for reason, same in reasons.items():
        labels = some(_labels_of(same), _LABELS)
        yield f"the last reason{f' at {labels}' if labels else ' another time'}: {reason}"


def _other_remedies(findings: Sequence[Finding]) -> Rest | None:
    """What to do about the times that code hit the limit, or failed, for another reason than the first; of several reasons the first."""
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


def _identities(codes: Iterable[Code], repository: Repository) -> dict[Code, tuple[str, ...]]:
    """(file, name, caller, number) of each code. Codes of one name in one file are numbered by their lines."""
    by_name: dict[tuple[str, ...], list[Code]] = {}
    for code in codes:
        source_line = repository.source_line(code.first.file, code.first.line)
        called = code.first.called_at if code.first.is_library else None
        # What lies outside of the repository, such as a library, is somewhere else on each machine.
        is_own = source_line and source_line.is_inside and not code.first.is_library
        file = source_line.file if source_line and is_own else file_name(file_of(code.first.file))
        resumed = code.resumes
        name = f"{resumed[0]} resumed" if resumed else code.title
        by_name.setdefault((file, name, called.name if called else ""), []).append(code)
    return {
        code: (*key, str(number))
        for key, same in by_name.items()
        for number, code in enumerate(sorted(same, key=lambda code: (code.first.file, code.position)))
    }


def _kinds(item: Recompile, cause: Cause | None, is_blamed: bool) -> frozenset[AlertKind]:
    """What a recompile is with regard to one of its causes: where the code is to blame for one, the others only came along."""
    kinds = {AlertKind.RECOMPILE} if item.compile.outcome is Outcome.COMPILED else set()
    if item.verdict is Verdict.UNEXPLAINED or cause is None:
        kinds.add(AlertKind.UNEXPLAINED)
    if item.verdict is Verdict.MARKING:
        kinds |= {AlertKind.AVOIDABLE, AlertKind.MARKING}
    elif item.verdict is Verdict.CODE and is_blamed:
        kinds.add(AlertKind.AVOIDABLE)
    if cause is not None:
        kinds.add(AlertKind.SIZE if cause.size_related else AlertKind.NON_SIZE)
    return frozenset(kinds)


def _level(rule: Rule, occurrences: Iterable[Occurrence]) -> Level:
    levels = {kind.level for item in occurrences for kind in item.kinds} or {rule.level}
    return next(level for level in Level if level in levels)


class _Blamed(NamedTuple):
    """A recompile and one of its causes, None where it has none that is known; ``kinds`` is what the two are together."""

    compiled: WeightedCompile
    recompile: Recompile
    cause: Cause | None
    kinds: frozenset[AlertKind]


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


class _Lines(NamedTuple):
    """The line of an alert, None where no file is known, the same as code, and the others that have to do with it."""

    source_line: SourceLine | None
    snippet: str
    related: tuple[RelatedLine, ...]


class _AlertBuilder(NamedTuple):
    """Makes the alerts of one code. ``suggestions`` are those that help it, ``marks`` all by what they name."""

    found: Alerts
    code: Code
    compiles: tuple[WeightedCompile, ...]

    def recompiles(self) -> Iterator[Alert]:
        """One for each rule and property, those together that changed in the same recompiles.

        What the recompile limit refused belongs to that rule's finding.
        """
        by_key: dict[tuple[str, str], list[_Blamed]] = {}
        for item in self.compiles:
            if item.recompile is None or item.compile.outcome is not Outcome.COMPILED:
                continue
            has_blamed = any(cause.verdict is Verdict.CODE for cause in item.recompile.causes)
            for cause in item.recompile.causes or (None,):
                key = (cause.remedy_rule.code, stable_text(cause.axis)) if cause else (UNEXPLAINED.code, "")
                is_blamed = not has_blamed or (cause is not None and cause.verdict is Verdict.CODE)
                kinds = _kinds(item.recompile, cause, is_blamed)
                by_key.setdefault(key, []).append(_Blamed(item, item.recompile, cause, kinds))
        together: dict[tuple[str, frozenset[Compile]], list[_Blamed]] = {}
        for (code, _), members in by_key.items():
            together.setdefault((code, frozenset(item.compiled.compile for item in members)), []).extend(members)
        for members in together.values():
            yield self._recompiled(members)

    def _recompiled(self, members: list[_Blamed]) -> Alert:
        compiled = {item.compiled.compile: item.compiled for item in members}
        recompiles = list({item.compiled.compile: item.recompile for item in members}.values())
        kinds: dict[Compile, frozenset[AlertKind]] = {}
        for item in members:
            compile = item.compiled.compile
            kinds[compile] = kinds.get(compile, frozenset()) | item.kinds
        causes = [item.cause for item in members if item.cause]
        cause = causes[0] if causes else None
        occurrences = tuple(self.found.occurrence(item, kinds[compile]) for compile, item in compiled.items())
        facts = tuple(dict.fromkeys(cause.sentence for cause in causes)) or tuple(
            dict.fromkeys(item.unexplained_because for item in recompiles)
        )
        cost = _cost(occurrences, recompiles)
        axes = tuple(dict.fromkeys(cause.axis for cause in causes if cause.axis))
        others = list(dict.fromkeys(cause.subject for cause in causes if cause.axis and cause.axis != axes[0]))
        why = (
            _with_other_values(facts[0], [item for item in members if item.cause and item.cause.axis == axes[0]], others)
            if axes
            else facts[0]
        )
        why = why or "the cause is not known"
        titles = self._titles(occurrences)
        title = names_of(titles)
        place = self._place(causes, axes, self._called(occurrences))
        source_line = self.found.repository.source_line(place.file, place.line) if place else None
        lines = self._lines(title, occurrences, source_line, place.code if place else "")
        remedy = self.found.report.remedies.of(recompiles, causes)
        rule = cause.remedy_rule if cause else UNEXPLAINED
        return Alert(
            rule=rule,
            codes=tuple(dict.fromkeys(code for cause in causes for code in cause.codes)) or (rule.code,),
            level=_level(rule, occurrences),
            code=self.code,
            axes=axes,
            subjects=tuple(dict.fromkeys(cause.short_subject for cause in causes if cause.axis)),
            title=title,
            sentence=f"{title} {'were' if len(titles) > 1 else 'was'} recompiled {_times(occurrences)}{cost}: {why}",
            why=why,
            facts=facts,
            remedy=remedy,
            source_line=lines.source_line,
            snippet=lines.snippet,
            marked=_named_in(place.code, axes) if place else "",
            related=lines.related,
            occurrences=occurrences,
            fingerprint=self._fingerprint(rule, axes),
            notes=(*_notes(recompiles, facts[0]), *_of_other_kinds(members)),
            rest=self._rest(members, remedy),
        )

    def _place(self, causes: Sequence[Cause], axes: Sequence[str], called: StackFrame | None) -> UserLine | None:
        """The line of this code's file that names what changed; the call, where that names it and the first line is one of a function that
        was inlined, which may know it under another name.
        """
        file, function = self.code.first.file, function_of(self.code.first.name)
        places = [place._replace(file=file or place.file) for cause in causes if (place := cause.place) and self._is_own(place.file)]
        naming = {code for code in {place.code for place in places} if _named_in(code, axes)}  # one line may be that of all
        named = [place for place in places if place.code in naming]
        if named or not places:
            return next((place for place in named if place.name == function), named[0] if named else None)
        if places[0].name not in ("", function) and called and called.line and _named_in(called.code, axes):
            return UserLine(called.file, called.line, called.name, called.code)
        return places[0]

    def _called(self, occurrences: Sequence[Occurrence]) -> StackFrame | None:
        """The line that calls this code."""
        first = self.code.first
        frame, compile = occurrences[0].frame, occurrences[0].compile
        called = frame.caller(compile)
        if called is None and (first.is_library or (frame.has_one_caller if compile.is_refused else not compile.stack.frames)):
            return first.called_at  # a refused call has no stack, and may be another line's, as one whose stack does not have the line
        return called

    def _rest(self, members: list[_Blamed], done: Remedy) -> Rest | None:
        """Where what is ``done`` removes some of these recompiles: what the others need, be it for a cause that this alert is not about.

        Of others with different remedies, those count first that something can be done about.
        """
        rest = [item for item in members if item.recompile.verdict is not Verdict.MARKING]
        if len(rest) == len(members) or not any(item.cause for item in rest):
            return None
        of_recompile = self.found.report.remedies.of_recompile
        remedy = of_recompile(min(rest, key=lambda item: item.recompile.verdict is not Verdict.CODE).recompile)
        same_remedy = [item for item in rest if of_recompile(item.recompile) == remedy]
        removed = [item for item in members if item.recompile.verdict is Verdict.MARKING]
        labels, own = (
            tuple(dict.fromkeys(label for item in items if (label := item.recompile.compile.shown_label)))
            for items in (same_remedy, removed)
        )
        return Rest(remedy, labels, own) if remedy != done else None

    def findings(self, items: list[Finding]) -> Iterator[Alert]:
        """What analyses found about this code: limits and failures, each rule once."""
        for members in grouped(items, lambda item: item.rule.code).values():
            first = members[0]
            place = first.place
            kinds = frozenset(filter(None, (first.rule.alert_kind,)))
            occurrences = tuple(self.found.occurrence(item, kinds, 0.0) for item in self._compiles_of(members))
            details = (f"{name}: {value}" for item in members for name, value in item.details if value)
            messages = {item.message.title: item.message for item in members if item.message}
            stack = next((item.message.stack for item in members if item.message and item.message.stack), ())
            line = next((line for line in reversed(stack) if place and (line.file, line.line) == (place.file, place.line)), None)
            is_own = bool(place and not is_library(place.file))
            stopped = stack[-1] if is_own and stack and is_library(stack[-1].file) else None if is_own else line
            limits = [item for item in members if item.rule.section is Section.LIMITS]
            title = names_of(self._titles(self.compiles if first.rule.section is Section.LIMITS else occurrences))
            source_line = self.found.repository.source_line(place.file, place.line) if place and is_own else None
            lines = self._lines(title, occurrences, source_line, (line.code if line else first.code) if is_own else "")
            is_shown = stopped and not stopped.code and self.found.repository.source_line(stopped.file, stopped.line) == lines.source_line
            stops = [_stopped_at(stopped)] if stopped and not is_shown else []
            notes = (text for item in members for text in (*item.notes, *stops))
            yield Alert(
                rule=first.rule,
                codes=(first.rule.code,),
                level=_level(first.rule, occurrences),
                code=self.code,
                axes=(),
                title=title,
                sentence=first.sentence,
                facts=tuple(dict.fromkeys(details)),
                remedy=Remedy(first.rule, first.remedy),
                source_line=lines.source_line,
                snippet=lines.snippet,
                marked=line.marked if line and is_own else "",
                related=lines.related,
                occurrences=occurrences,
                fingerprint=self._fingerprint(first.rule),
                messages=tuple(messages.values()),
                exceptions=next((item.exceptions for item in members if item.exceptions), ()),
                notes=tuple(dict.fromkeys((*_other_errors(first, messages), *_other_reasons(limits), *notes))),
                rest=_other_remedies(limits or (members if first.rule.alert_kind is AlertKind.FAILURE else ())),
            )

    def breaks(self) -> Iterator[Alert]:
        """Graph breaks by reason and line, and restarts of the analysis for other reasons; where only addresses differ, one for all."""
        found = self._interrupted()
        first: dict[tuple[Rule, str], _Interruption] = {}  # of those with the same words; the one without a line, if there is one
        for key, item in found.items():
            if item.place is None or (key.rule, key.words) not in first:
                first[key.rule, key.words] = key
        for key, item in found.items():
            yield self._interruption(key.rule, item, first[key.rule, key.words] == key)

    def _interrupted(self) -> dict[_Interruption, _Interrupted]:
        found: dict[_Interruption, _Interrupted] = {}
        for compiled in self.compiles:
            lost = compiled.seconds_before_restart
            broke, again = (self.found.occurrence(compiled, frozenset((kind,)), lost) for kind in (AlertKind.BREAK, AlertKind.RESTART))
            for item in compiled.compile.breaks:
                if is_the_failure(item, compiled.compile):
                    continue
                place = line_of_user(item, self.code.first)
                key = _Interruption(_BREAK, stable_text(item.words), place.file if place else "", place.line if place else 0)
                same = found.setdefault(key, _Interrupted(place, item.place, item.message))
                # Where one represents all compiles of a text, each is one more; else it is met in each attempt.
                same.repeated += broke in same.words and compiled.compile.metrics.is_unnumbered
                same.words.setdefault(broke, item.words)
            for reason in compiled.compile.restarts:
                found.setdefault(_Interruption(_RESTART, stable_text(reason)), _Interrupted()).words.setdefault(again, reason)
        return found

    def _interruption(self, rule: Rule, item: _Interrupted, is_first: bool) -> Alert:
        """Those with the same words that are not the first have their line as well, so that a baseline knows them apart."""
        occurrences, reasons = tuple(item.words), tuple(dict.fromkeys(item.words.values()))
        message, place, inside = item.message, item.place, item.inside
        title = names_of(self._titles(occurrences))
        inside_code = f" in {title}"
        if title == UNNAMED_CODE:  # code that lies in no file has its place in the sentence
            inside_code = f" at {place.file}:{place.line}" if place and place.file.startswith("<") else ""
        what = f"graph break{inside_code}" if rule is _BREAK else f"Dynamo restarted its analysis of {title}"
        often = _times(occurrences, item.repeated)
        restarted = [occurrence.compile for occurrence in occurrences if rule is _RESTART]
        remedy = restart_remedy(reasons[0], restarted)
        if lost := math.fsum(occurrence.seconds for occurrence in occurrences if rule is _RESTART):
            often += f", {seconds(lost)}"
        source_line = self.found.repository.source_line(place.file, place.line) if place else None
        lines = self._lines(title, occurrences, source_line, place.code if place else "")
        is_elsewhere = inside is not place or lines.source_line != source_line
        notes = (_stopped_at(inside),) if inside and is_elsewhere else constant_floats(reasons[0], restarted)
        if message and message.specific_hints and self._lacks_line(rule, item):
            notes = (*notes, f"{_SHOWS_LINES} that breaks the graph")
        axes = (reasons[0] if is_first or not place else f"{reasons[0]} at {place.code or f'line {place.line}'}",)
        return Alert(
            rule=rule,
            codes=(rule.code,),
            level=_level(rule, occurrences),
            code=self.code,
            axes=axes,
            subjects=axes,
            title=title,
            sentence=f"{what} ({often}): {message.title if message else reasons[0]}",
            facts=reasons,
            remedy=Remedy(rule, f"one restart is normal; if it is expensive, {remedy}" if remedy else self._of_break(rule, item)),
            source_line=lines.source_line,
            snippet=lines.snippet,
            marked=place.marked if place else "",
            related=lines.related,
            occurrences=occurrences,
            fingerprint=self._fingerprint(rule, axes),
            messages=(message,) if message else (),
            notes=notes,
        )

    def _compiles_of(self, findings: Iterable[Finding]) -> Iterator[WeightedCompile]:
        """The compiles that findings name; the first of the frame where they name none."""
        by_frame = grouped(self.compiles, lambda item: item.frame)
        by_label = grouped(self.compiles, lambda item: (item.frame, item.compile.label))
        for finding in findings:
            frame = finding.frame
            yield from by_label.get((frame, finding.compile)) or by_frame.get(frame, ())[:1] if frame else ()

    def _of_break(self, rule: Rule, item: _Interrupted) -> str:
        """What the rule recommends, and what is missing first: the reason of a graph break, or its line.

        The graph of a backward pass has no line to change.
        """
        if rule is _BREAK and item.message and item.message.title == LOST_REASON:
            return _NAMES_REASON
        if rule is _BREAK and all(is_in_captured_graph(met.compile, item.inside) for met in item.words):
            return OF_CAPTURED_GRAPH
        return f"{rule.remedy}; {_SHOWS_LINES}" if self._lacks_line(rule, item) else rule.remedy

    def _lacks_line(self, rule: Rule, item: _Interrupted) -> bool:
        """Whether a text log has a graph break without its line."""
        return rule is _BREAK and item.place is None and self.found.report.trace.is_text

    def _titles(self, items: Iterable[Occurrence | WeightedCompile]) -> list[str]:
        """The title of the code, once for each class for which it was compiled these times."""
        titles = (
            [self.code.title] if frame.title == frame.name else frame.titles_of(item.compile for item in own)
            for frame, own in grouped(items, lambda item: item.frame).items()
        )
        return list(dict.fromkeys(chain.from_iterable(titles)))

    def _is_own(self, file: str) -> bool:
        """Whether a place lies in the file of this code. Guards shorten paths to their last two parts.

        Code that a text does not name may lie in any file of the user's.
        """
        own = self.code.first.file.replace("\\", "/")
        if self.found.report.trace.is_text and not own:
            return not is_library(file)
        return not self.code.first.is_library and (own == file or own.endswith(f"/{file}"))

    def _lines(self, title: str, occurrences: Sequence[Occurrence], source_line: SourceLine | None, snippet: str) -> _Lines:
        """The lines of an alert; its own is where the code begins or is called, of a library the call first, where no other is known."""
        first, called = self.code.first, self._called(occurrences)
        own = self.found.repository.source_line(first.file, first.line)
        call = self.found.repository.source_line(called.file, called.line) if called else None
        lines = [RelatedLine(own, f"{title} begins here")] if own and own.line else []  # a text may have the file alone
        if call and called and call.line:
            lines.append(RelatedLine(call, f"{title} is called here", called.code))
        if first.is_library:
            lines.reverse()
        chosen = source_line or (lines[0].place if lines else None)
        if source_line is None and chosen:  # that of code without a file, as PyTorch generates it
            snippet = ""
        if not snippet and called and chosen == call:
            snippet = called.code
        return _Lines(chosen, snippet.strip(), tuple(line for line in lines if line.place != chosen))

    def _fingerprint(self, rule: Rule, axes: Sequence[str] = ()) -> str:
        return digest(*self.found.identities[self.code], rule.code, stable_text(axes[0]) if axes else "")


# ``len(x)`` and ``type(x).k`` are about ``x`` and ``x.k``.
_ABOUT = re.compile(r"^(?:id|len|type)\(([^()]*)\)")
# A value, without what a guard checks about it.
_NAME = re.compile(r"\w+(?:\.(?!(?:size|stride|dtype|device|requires_grad)\b|__)\w+)*")


def _named_in(code: str, axes: Sequence[str]) -> str:
    """What a line of code calls the first of these properties that it names, or its source: ``x.size(0)``, ``x``; "" for none."""
    for axis in axes:
        name = _NAME.match(_ABOUT.sub(r"\1", axis))
        last = name[0].rpartition(".")[2] if name else ""
        if not name or last not in code:
            continue
        # The code may know an attribute by another name of its object: self.layers.0.k_cache is self.k_cache there.
        own = rf"(?<![\w.]){re.escape(name[0])}", rf"(?<![\w.])[\w.]+\.{re.escape(last)}"
        found = next(filter(None, (re.search(rf"{pattern}\b{_OF_TENSOR}(?!\s*=[^=])", code) for pattern in own)), None)
        if found:
            return found[0]
    return ""


def line_of_user(item: GraphBreak, frame: Frame) -> StackFrame | None:
    """Where a graph broke: the innermost line of the user, where that is in a library that the code calls."""
    if item.place is None or frame.is_library or not is_library(item.place.file):
        return item.place
    return next((line for line in reversed(item.message.stack) if not is_library(line.file)), item.place)


def _stopped_at(line: StackFrame) -> str:
    """The line of a library on which Dynamo or Inductor stopped; the place of the alert is that of the call."""
    file = file_name(line.file) if line.file.startswith("<") else "/".join(line.file.rsplit("/", 2)[-2:])
    place = f"{file}:{line.line}"
    code = shorten(line.code.strip(), _LONGEST_CODE)
    compiler = "Inductor" if "_inductor/" in line.file.replace("\\", "/") else "Dynamo"
    return f"{compiler} stopped at {place}{f': {code}' if code else ''}"


def _notes(recompiles: Sequence[Recompile], fact: str) -> Iterator[str]:
    """Why marking does not remove some of them, each reason once, with the compiles it is about unless it is about all."""
    for why, members in grouped(recompiles, lambda item: item.why_not_markable).items():
        if why not in ("", fact):
            labels = some(list(dict.fromkeys(item.compile.shown_label for item in members if item.compile.shown_label)), _LABELS)
            yield why if len(members) == len(recompiles) or not labels else f"{labels}: {why}"


def _of_other_kinds(members: Sequence[_Blamed]) -> Iterator[str]:
    """The changes of a memory layout that are of another kind than the first one, each kind once with its compiles."""
    layouts = [(item.recompile.compile, item.cause) for item in members if item.cause and item.cause.prop.kind is Kind.STRIDE]
    others = (pair for pair in layouts if not _is_same_change(pair[1], layouts[0][1]))
    for alike in grouped(others, lambda pair: _kind(pair[1])).values():
        labels = some(list(dict.fromkeys(compile.shown_label for compile, _ in alike if compile.shown_label)), _LABELS)
        if labels and alike[0][1].axis == layouts[0][1].axis:
            yield f"{labels}: {alike[0][1].sentence}"


def _kind(cause: Cause) -> str:
    """What a sentence about a memory layout has in common with those about other strides."""
    return re.sub(r"\d+", "", cause.sentence.partition(": ")[0])


def _with_other_values(fact: str, members: list[_Blamed], others: list[str]) -> str:
    """The first fact with the values that came later, `` (then 4, 5, 6)``, or with those of each rank; and what else changed with it."""
    causes = [item.cause for item in members if item.cause]
    change, mark, why = fact.partition("; ")
    known = ("", causes[0].before, causes[0].after)
    same = [item for item in causes if _is_same_change(item, causes[0])]
    shown = (shown_object(item.after).removeprefix(THE_CLASS) for item in same if item.after not in known)
    later = list(dict.fromkeys(around_difference(text, causes[0].after, LONGEST_VALUE) for text in shown))
    of_ranks = _of_each_rank(members)
    if of_ranks:
        change = f"{causes[0].subject} changed: {of_ranks}"
    elif later:
        then = f"then {', '.join([*later[:_VALUES], *['…'][: len(later) > _VALUES]])})"
        change = f"{change[:-1]}, {then}" if " (now " in change and change.endswith(")") else f"{change} ({then}"
    named = others if len(others) <= _AXES else [*others[:_AXES], f"{len(others) - _AXES} more"]
    return f"{change}{mark}{why}" + (f"; {enumerated(named)} changed too" if others else "")


def _is_same_change(cause: Cause, first: Cause) -> bool:
    """Whether a cause differs from the first one in what the property changed to alone: of guards, the same one failed, and memory
    layouts changed in the same way. Sets of dispatch keys are no values to list.
    """
    if first.prop.kind is Kind.DISPATCH_KEYS:
        return False
    if first.prop.kind is Kind.STRIDE and _kind(cause) != _kind(first):
        return False
    is_guard = first.prop.kind is Kind.SHAPE_GUARD
    return cause.prop.kind is first.prop.kind and not is_address(cause.prop, cause.after) and (not is_guard or cause.before == first.before)


def _of_each_rank(members: list[_Blamed]) -> str:
    """``10 → 20 on rank 0, 11 → 21 on rank 1``; "" where all ranks saw the same values, or these are not plain ones."""
    values: dict[int, list[str]] = {}
    for item in members:
        if item.cause is None or not item.cause.has_plain_values:
            return ""
        for rank in item.compiled.ranks:
            values.setdefault(rank, [item.cause.before]).append(item.cause.after)
    ranks = grouped(values, lambda rank: tuple(values[rank]))
    if len(ranks) < 2:
        return ""
    in_order = sorted(ranks.items(), key=lambda pair: min(pair[1]))
    shown = [f"{' → '.join(seen[:_VALUES])}{' → …' if len(seen) > _VALUES else ''} on {rank_list(of)}" for seen, of in in_order]
    return some(shown, _LABELS)


def _cost(occurrences: Sequence[Occurrence], recompiles: Iterable[Recompile]) -> str:
    """What recompiles took, `` (10.9 s)``; where not all are avoidable, with how many are: `` (10.9 s; 1 of them avoidable: 2.14 s)``."""
    total = math.fsum(item.seconds for item in occurrences)
    avoidable = {item.compile for item in recompiles if item.verdict in (Verdict.MARKING, Verdict.CODE)}
    own = [item for item in occurrences if item.compile in avoidable]
    if not total or not 0 < len(own) < len(occurrences):
        return taking(total)
    return f" ({seconds(total)}; {sum(item.times for item in own)} of them avoidable: {seconds(math.fsum(item.seconds for item in own))})"


def _times(occurrences: Iterable[Occurrence], more: int = 0) -> str:
    return how_often(sum(occurrence.times for occurrence in occurrences) + more)

"""Recompiles of a piece of code → alerts: one for each rule and property."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from shapelog.advice.remedies import marks_act_on
from shapelog.grouping import grouped
from shapelog.model.code_matching import without_installation
from shapelog.model.compile import COMPREHENSIONS, Compile, Outcome, function_of
from shapelog.reading.payloads.guards.comments import UserLine
from shapelog.reading.payloads.source_names import is_notebook_cell, is_torch
from shapelog.reading.records import StackFrame
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.recompile import Recompile
from shapelog.report.alerts.alert import Alert, Occurrence, Rest, how_many_times, level_of, stable_text
from shapelog.report.alerts.alerted_code import AlertedCode
from shapelog.report.alerts.changes import Blamed, other_sentences, own_reasons, why_not_marked, with_other_values
from shapelog.rules import RULES, UNEXPLAINED, AlertKind, Remedy, Verdict
from shapelog.text import file_name, names_of, seconds, some, taking

# ``len(x)`` and ``type(x).k`` are about ``x`` and ``x.k``.
_ABOUT = re.compile(r"^(?:id|len|type)\(([^()]*)\)")
# A value, without what a guard checks about it.
_NAME = re.compile(r"\w+(?:\.(?!(?:size|stride|dtype|device|requires_grad)\b|__)\w+)*")
# How code asks a tensor for its sizes or strides.
_OF_TENSOR = r"(?:\.(?:size|shape|stride)\b(?:\([^()]*\)|\[[^\[\]]*\])?)?"

# A branch on a size; the other lines and compiles of them that are named.
_BRANCH, _MOST_LINES = RULES["SL204"], 3
# In front of what lies in an installed package.
_PACKAGES = "/site-packages/"


def recompile_alerts(alerted: AlertedCode) -> Iterator[Alert]:
    """One for each rule and property, those together that changed in the same recompiles.

    What the recompile limit refused belongs to that rule's finding.
    """
    by_key: dict[tuple[str, str], list[Blamed]] = {}
    for item in alerted.compiles:
        if item.recompile is None or item.compile.outcome is not Outcome.COMPILED:
            continue
        blamed = _blamed(item.recompile)
        for cause in item.recompile.causes_by_need or (None,):
            key = (cause.remedy_rule.code, stable_text(cause.axis)) if cause else (UNEXPLAINED.code, "")
            kinds = _kinds(item.recompile, cause, is_blamed=not blamed or cause in blamed)
            by_key.setdefault(key, []).append(Blamed(item, item.recompile, cause, kinds))
    together: dict[tuple[str, frozenset[Compile]], list[Blamed]] = {}
    for (code, _), members in by_key.items():
        together.setdefault((code, frozenset(item.compiled.compile for item in members)), []).extend(members)
    for members in together.values():
        yield _alert(alerted, members)


def _blamed(item: Recompile) -> list[Cause]:
    """The causes that the code is to blame for: where it is for one that no mark acts on, not for those that a mark removes, such as
    the strides of a slice of another width.
    """
    found = [cause for cause in item.causes if cause.verdict is Verdict.CODE]
    needed = [cause for cause in found if not marks_act_on(cause) or cause.rule.code == item.blocking_rule]
    return needed or found


def _alert(alerted: AlertedCode, members: list[Blamed]) -> Alert:
    compiled = {item.compiled.compile: item.compiled for item in members}
    recompiles = list({item.compiled.compile: item.recompile for item in members}.values())
    kinds: dict[Compile, frozenset[AlertKind]] = {}
    for item in members:
        compile = item.compiled.compile
        kinds[compile] = kinds.get(compile, frozenset()) | item.kinds
    members = most_common_first(members)
    causes = [item.cause for item in members if item.cause]
    cause = causes[0] if causes else None
    occurrences = tuple(alerted.found.occurrence(item, kinds[compile]) for compile, item in compiled.items())
    facts = tuple(dict.fromkeys(cause.sentence for cause in causes)) or tuple(
        dict.fromkeys(item.unexplained_because for item in recompiles)
    )
    cost = _cost(occurrences, recompiles)
    axes = tuple(dict.fromkeys(cause.axis for cause in causes if cause.axis))
    others = list(dict.fromkeys(cause.subject for cause in causes if cause.axis and cause.axis != axes[0]))
    why = with_other_values(facts[0], [item for item in members if item.cause and item.cause.axis == axes[0]], others) if axes else facts[0]
    why = why or "the cause is not known"
    titles = alerted.titles(occurrences)
    title = names_of(titles)
    place = _place(alerted, causes, axes, alerted.called(occurrences))
    source_line = alerted.found.repository.source_line(place.file, place.line) if place else None
    lines = alerted.lines(title, occurrences, source_line, place.code if place else "")
    remedy = alerted.found.report.remedies.of(recompiles, causes)
    rule = cause.remedy_rule if cause else UNEXPLAINED
    return Alert(
        rule=rule,
        codes=tuple(dict.fromkeys(code for cause in causes for code in cause.codes)) or (rule.code,),
        level=level_of(rule, occurrences),
        code=alerted.code,
        axes=axes,
        subjects=tuple(dict.fromkeys(cause.short_subject for cause in causes if cause.axis)),
        titles=tuple(titles),
        sentence=f"{title} {'were' if len(titles) > 1 else 'was'} recompiled {how_many_times(occurrences)}{cost}: {why}",
        why=why,
        cell=f"{place.file}:{place.line}" if place and is_notebook_cell(place.file) else "",
        facts=facts,
        remedy=remedy,
        source_line=lines.source_line,
        snippet=lines.snippet,
        marked=_named_in(place.code, axes) if place else "",
        related=lines.related,
        occurrences=occurrences,
        fingerprint=alerted.fingerprint(rule, axes),
        notes=(
            *(() if place else _guarded_elsewhere(causes, axes)),
            *own_reasons(members),
            *why_not_marked(recompiles, facts[0]),
            *other_sentences(members),
            *_other_branches(members, place),
        ),
        rest=_rest(alerted, members, remedy),
    )


def most_common_first(members: list[Blamed]) -> list[Blamed]:
    """In their order, but first those that failed the kind of check which most of them did, as the sentence is that of the first."""
    kinds = [item.cause.prop.kind if item.cause else None for item in members]
    leading = max(kinds, key=kinds.count)
    return sorted(members, key=lambda item: (item.cause.prop.kind if item.cause else None) is not leading)


def _place(alerted: AlertedCode, causes: Sequence[Cause], axes: Sequence[str], called: StackFrame | None) -> UserLine | None:
    """The line of this code's file that names what changed; the call, where that names it and the first line is one of a function that
    was inlined, which may know it under another name.
    """
    file, function = alerted.code.first.file, function_of(alerted.code.first.name)
    places = [place._replace(file=file or place.file) for cause in causes if (place := cause.place) and alerted.is_own(place.file)]
    naming = {code for code in {place.code for place in places} if _named_in(code, axes)}  # one line may be that of all
    named = [place for place in places if place.code in naming]
    if named or not places:
        return next((place for place in named if place.name in (function, *COMPREHENSIONS)), named[0] if named else None)
    if places[0].name not in ("", function) and called and called.line and _named_in(called.code, axes):
        return UserLine(called.file, called.line, called.name, called.code)
    return places[0]


def _other_branches(members: Sequence[Blamed], place: UserLine | None) -> Iterator[str]:
    """The other lines that branch, with the compiles for which they took another branch: each has a change of its own."""
    found = [(item.recompile.compile, item.cause.place) for item in members if item.cause and item.cause.remedy_rule is _BRANCH]
    others = [(compile, line) for compile, line in found if place and line and (line.file, line.line) != (place.file, place.line)]
    for line, same in list(grouped(others, lambda pair: pair[1]).items())[:_MOST_LINES]:
        labels = list(dict.fromkeys(compile.shown_label for compile, _ in same if compile.shown_label))
        if labels:
            yield f"{some(labels, _MOST_LINES)}: the branch is at {file_name(line.file)}:{line.line}{f'  {line.code}' if line.code else ''}"


def _guarded_elsewhere(causes: Sequence[Cause], axes: Sequence[str]) -> Iterator[str]:
    """The line that names what changed, where it is in another file: that of a function which was inlined."""
    places = (cause.place for cause in causes if axes and cause.axis == axes[0])
    if read := next((place for place in places if place and not is_torch(place.file) and _named_in(place.code, axes)), None):
        yield f"the guard comes from {without_installation(read.quoted).removeprefix(_PACKAGES)}"


def _rest(alerted: AlertedCode, members: list[Blamed], done: Remedy) -> Rest | None:
    """Where what is ``done`` is for some of these recompiles: what the others need, be it for a cause that this alert is not about.

    Of others with different remedies, those count first that something can be done about.
    """
    of_recompile = alerted.found.report.remedies.of_recompile
    is_marked = any(item.recompile.verdict is Verdict.MARKING for item in members)
    answered: list[Blamed] = []
    rest: list[Blamed] = []
    for item in members:
        is_answered = item.recompile.verdict is Verdict.MARKING if is_marked else of_recompile(item.recompile).rule is done.rule
        (answered if is_answered else rest).append(item)
    if not answered or not any(item.cause for item in rest):
        return None
    remedy = of_recompile(min(rest, key=lambda item: item.recompile.verdict is not Verdict.CODE).recompile)
    same_remedy = [item for item in rest if of_recompile(item.recompile) == remedy]
    labels, own = (
        tuple(dict.fromkeys(label for item in items if (label := item.recompile.compile.shown_label))) for items in (same_remedy, answered)
    )
    known = {item.cause.axis for item in members if item.cause}
    others = (cause for item in same_remedy for cause in item.recompile.causes if cause.rule is remedy.rule and cause.axis not in known)
    other = next((cause.subject for cause in others if cause.source), "")
    return Rest(remedy, labels, own, f"{other} changed as well" if other else "") if remedy != done else None


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


def _cost(occurrences: Sequence[Occurrence], recompiles: Iterable[Recompile]) -> str:
    """What recompiles took, `` (10.9 s)``; where not all are avoidable, with how many are: `` (10.9 s; 1 of them avoidable: 2.14 s)``."""
    total = math.fsum(item.seconds for item in occurrences)
    avoidable = {item.compile for item in recompiles if item.verdict in (Verdict.MARKING, Verdict.CODE)}
    own = [item for item in occurrences if item.compile in avoidable]
    if not total or not 0 < len(own) < len(occurrences):
        return taking(total)
    return f" ({seconds(total)}; {sum(item.times for item in own)} of them avoidable: {seconds(math.fsum(item.seconds for item in own))})"


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

"""What a CI system shows: recompiles of each piece of code by cause, limits, failures and graph breaks, placed in the repository."""

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.advice.advise import Suggestion
from shapelog.check.repository_paths import Checkout, Spot
from shapelog.model.code_matching import Code, codes_of, file_of
from shapelog.model.trace import Compile, Frame, Outcome, Trace
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Recompile
from shapelog.report.report import Report
from shapelog.report.results import Finding
from shapelog.rules import RULES, UNEXPLAINED, AlertKind, Level, Rule, Verdict, remedy_for
from shapelog.text import file_name, seconds

# How many of each a sentence tells.
_VALUES, _AXES, _ENTRIES = 8, 4, 6
_BREAK, _RESTART = RULES["SL501"], RULES["SL502"]
# What differs from run to run and from machine to machine: addresses and ids, lines, and the directories of a file.
_FLEETING = re.compile(r"0x[0-9a-fA-F]+|\d{6,}|(?<=\bline )\d+|(?:(?<=[\s`\"(])|^)(?:[A-Za-z]:)?[/\\](?:[^\s/\\]+[/\\])+")


class Event(NamedTuple):
    """One time that it happened: the compile, its rank with those that it stands for, and the number of its process among all of the run.

    ``kinds`` are what this one is with regard to the rule. ``order`` is that of the compile in
    its file, ``id`` tells all compiles of a trace apart.
    """

    label: str
    ranks: tuple[int, ...]
    process: int
    seconds: float
    kinds: frozenset[AlertKind]
    order: int
    id: int

    @property
    def times(self) -> int:
        """On how many ranks; each of them once."""
        return len(self.ranks) or 1


@dataclass(frozen=True, slots=True, eq=False)
class Alert:
    """One rule about one piece of code, with everything that ``events`` have in common.

    ``axes`` are the properties that changed together, each time the same; () where the rule is about none. ``codes`` are all codes of its
    causes. ``sentence`` says what happened, ``facts`` tell each different cause once, ``remedy`` what to do. ``spot`` is the user's line,
    None where no file is known; ``related`` are other lines that have to do with it. ``fingerprint`` is made of the file, the name of the
    code, the rule and the property, never of a line or a compile id.
    """

    rule: Rule
    codes: tuple[str, ...]
    level: Level
    code: Code
    axes: tuple[str, ...]
    sentence: str
    facts: tuple[str, ...]
    remedy: str
    spot: Spot | None
    snippet: str
    related: tuple[tuple[Spot, str], ...]
    events: tuple[Event, ...]
    fingerprint: str

    @property
    def title(self) -> str:
        return self.code.title or self.code.first.name or "unknown code"

    @property
    def axis(self) -> str:
        """The first of the properties, "" without any."""
        return self.axes[0] if self.axes else ""

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """(rule code, property): what tells the alerts of one code apart in every run; each is in one alert only."""
        return tuple((self.rule.code, axis) for axis in dict.fromkeys(map(fixed, self.axes or ("",))))

    @property
    def kinds(self) -> frozenset[AlertKind]:
        return frozenset[AlertKind]().union(*(event.kinds for event in self.events))

    @property
    def seconds(self) -> float:
        return math.fsum(event.seconds for event in self.events)

    @property
    def count(self) -> int:
        return sum(event.times for event in self.events)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(event.label for event in self.events))

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({rank for event in self.events for rank in event.ranks}))


def fixed(axis: str) -> str:
    """The name of a property without what differs from run to run or on another machine."""
    return _FLEETING.sub("$", axis)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """A report with its pieces of code and their alerts, worst and most expensive first. Processes that run the same code share them.

    ``processes`` has the number of a frame's process by the id of the frame: process ids come again, in each container the same.
    ``identities`` tell a code apart in every run, by its id here.
    """

    report: Report
    checkout: Checkout
    codes: tuple[Code, ...]
    alerts: tuple[Alert, ...]
    processes: Mapping[int, int]
    identities: Mapping[int, tuple[str, ...]]

    def weight(self, process: int) -> int:
        """How many ranks a process stands for."""
        trace = self.report.trace
        return trace.rank_weight(trace.ranks[process].number)


def survey(report: Report, checkout: Checkout) -> Survey:
    """Everything in a report that a CI system may show, placed in the repository."""
    found: list[Alert] = []
    codes = codes_of(report.trace.ranks)
    identities = _identities(codes, checkout)
    processes = {id(frame): number for number, rank in enumerate(report.trace.ranks) for frame in rank.frames}
    by_frame = {id(frame): code for code in codes for frame in code.frames}
    marks = _marks(report.advice.suggestions if report.advice else ())
    findings: dict[int, list[Finding]] = {}
    for item in report.findings:
        if item.frame is not None:
            findings.setdefault(id(by_frame[id(item.frame)]), []).append(item)
    for code in codes:
        maker = _Maker(report, checkout, code, identities[id(code)], processes, marks)
        found += maker.recompiles()
        found += maker.findings(findings.get(id(code), []))
        found += maker.breaks()
    order = list(Level)
    found.sort(key=lambda item: (order.index(item.level), -item.seconds, -item.count, item.events[0].order))
    return Survey(report, checkout, tuple(codes), tuple(found), processes, identities)


def event_of(
    frame: Frame, compile: Compile, kinds: frozenset[AlertKind], trace: Trace, processes: Mapping[int, int], cost: float | None = None
) -> Event:
    """``processes`` as in Survey; ``cost`` are seconds, None for those of the compile on all the ranks that its own stands for."""
    spent = trace.seconds(compile) if cost is None else cost
    return Event(compile.label, trace.represented_ranks(frame.rank), processes[id(frame)], spent, kinds, compile.order, id(compile))


def digest(*parts: str) -> str:
    """A fingerprint: 32 hexadecimal digits."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _identities(codes: Iterable[Code], checkout: Checkout) -> dict[int, tuple[str, ...]]:
    """(file, name, caller, number) of each code by its id. Codes of one name in one file are numbered by their lines."""
    alike: dict[tuple[str, ...], list[Code]] = {}
    for code in codes:
        spot = checkout.spot(code.first.file, code.first.line)
        called = code.first.called_at if code.first.is_library else None
        # What lies outside of the repository, such as a library, is somewhere else on each machine.
        file = spot.file if spot and spot.is_inside and not code.first.is_library else file_name(file_of(code.first.file))
        resumed = code.resumes
        name = f"{resumed[0]} resumed" if resumed else code.title
        alike.setdefault((file, name, called.name if called else ""), []).append(code)
    return {
        id(code): (*key, str(number))
        for key, same in alike.items()
        for number, code in enumerate(sorted(same, key=lambda code: (code.first.file, code.position)))
    }


def _kinds(item: Recompile, cause: Cause | None) -> frozenset[AlertKind]:
    """What a recompile is with regard to one of its causes: the cause that is to blame is avoidable, the others only came along."""
    kinds = {AlertKind.RECOMPILE} if item.compile.outcome is Outcome.COMPILED else set()
    if item.verdict is Verdict.UNEXPLAINED or cause is None:
        kinds.add(AlertKind.UNEXPLAINED)
    if item.verdict is Verdict.MARKING:
        kinds |= {AlertKind.AVOIDABLE, AlertKind.MARKING}
    elif item.verdict is Verdict.CODE:
        blamed = [other for other in item.causes if other.rule.verdict is Verdict.CODE]
        if cause in blamed or not blamed:
            kinds.add(AlertKind.AVOIDABLE)
    if cause is not None:
        kinds.add(AlertKind.SIZE if cause.size_related else AlertKind.NON_SIZE)
    return frozenset(kinds)


def _level(kinds: frozenset[AlertKind], rule: Rule) -> Level:
    """The worst of the kinds, else that of the rule."""
    levels = {kind.level for kind in kinds} or {rule.level}
    return next(level for level in Level if level in levels)


def _marks(suggestions: Sequence[Suggestion]) -> dict[str, Suggestion]:
    """Suggestions by the properties that they are about, and by their sources, which look different; the first counts."""
    found: dict[str, Suggestion] = {}
    for item in suggestions:
        for seen in item.seen:
            found.setdefault(seen.name, item)
    for item in suggestions:
        found.setdefault(item.source, item)
    return found


def _to_set(suggestions: list[Suggestion]) -> str:
    """The words and the entries of suggestions; where there are many, how many."""
    more = f", and {len(suggestions) - 1} more with it" if len(suggestions) > 1 else ""
    words = f"{suggestions[0].recommendation}{more}"
    entries = [entry for item in suggestions for entry in item.entries]
    if entries:
        shown = ",".join(entries) if len(entries) <= _ENTRIES else f"{','.join(entries[:2])} and {len(entries) - 2} more"
        return f"{words}: add {shown} to TORCH_COMPILE_DYNAMIC_SOURCES"
    lines = [line.partition("  #")[0] for item in suggestions for line in item.python if not line.startswith("#")]
    return f"{words}: {'; '.join(lines[:_ENTRIES])}{'; …' if len(lines) > _ENTRIES else ''}" if lines else words


class _Maker(NamedTuple):
    """Makes the alerts of one code."""

    report: Report
    checkout: Checkout
    code: Code
    identity: tuple[str, ...]
    processes: Mapping[int, int]
    marks: Mapping[str, Suggestion]

    def recompiles(self) -> Iterator[Alert]:
        """One for each rule and property, those together that changed in the same recompiles.

        What the recompile limit refused is told by that rule's finding.
        """
        found: dict[tuple[str, str], list[tuple[Recompile, Cause | None]]] = {}
        for frame in self.code.frames:
            for item in self.report.explained.of_frame(frame):
                if item.compile.outcome is not Outcome.COMPILED:
                    continue
                for cause in item.causes or (None,):
                    key = (cause.remedy_rule.code, fixed(cause.axis)) if cause else (UNEXPLAINED.code, "")
                    found.setdefault(key, []).append((item, cause))
        together: dict[tuple[str, frozenset[int]], list[tuple[Recompile, Cause | None]]] = {}
        for (code, _), members in found.items():
            together.setdefault((code, frozenset(id(item) for item, _ in members)), []).extend(members)
        for members in together.values():
            yield self._recompiled(members)

    def _recompiled(self, members: list[tuple[Recompile, Cause | None]]) -> Alert:
        recompiles = list({id(item): item for item, _ in members}.values())
        kinds: dict[int, frozenset[AlertKind]] = {}
        for item, blamed in members:
            kinds[id(item)] = kinds.get(id(item), frozenset()) | _kinds(item, blamed)
        causes = [cause for _, cause in members if cause]
        cause = causes[0] if causes else None
        events = tuple(self._event(item.frame, item.compile, kinds[id(item)]) for item in recompiles)
        facts = tuple(dict.fromkeys(cause.sentence for cause in causes)) or tuple(
            dict.fromkeys(item.unexplained_because for item in recompiles)
        )
        cost = seconds(math.fsum(event.seconds for event in events))
        axes = tuple(dict.fromkeys(cause.axis for cause in causes if cause.axis))
        told = _told(facts[0], [cause for cause in causes if cause.axis == axes[0]], axes) if axes else facts[0]
        sentence = f"{self._title} was recompiled {_times(events)} ({cost}): {told or 'the cause is not known'}"
        place = next((cause.place for cause in causes if cause.place and self._is_own(cause.place.file)), None)
        spot = self.checkout.spot(self.code.first.file, place.line) if place else None
        return self._alert(
            rule=cause.remedy_rule if cause else UNEXPLAINED,
            codes=tuple(dict.fromkeys(code for cause in causes for code in cause.codes)) or (UNEXPLAINED.code,),
            axes=axes,
            sentence=sentence,
            facts=facts,
            remedy=self._remedy(recompiles, causes),
            spot=spot,
            snippet=place.code if place else "",
            events=events,
        )

    def _remedy(self, items: list[Recompile], causes: list[Cause]) -> str:
        """The very entries of the list where the advice has them, else what the rule or the recompile says."""
        supports_dynamic_sources = self.report.trace.supports_dynamic_sources
        goes = [item for item in items if item.verdict is Verdict.MARKING]
        if not causes or (items[0].blocking_rule and not goes):
            return items[0].remedy(supports_dynamic_sources)
        if not goes:
            return remedy_for(causes[0].remedy_rule, supports_dynamic_sources)
        suggestions = {found.id: found for found in map(self._suggestion, causes) if found}
        if suggestions:
            return _to_set(list(suggestions.values()))
        other = self._suggestion_for(goes)
        return f"it goes with another mark: {_to_set([other])}" if other else remedy_for(causes[0].remedy_rule, supports_dynamic_sources)

    def _suggestion(self, cause: Cause) -> Suggestion | None:
        """What the advice says about this very property."""
        return self.marks.get(cause.axis) or self.marks.get(cause.source)

    def _suggestion_for(self, items: list[Recompile]) -> Suggestion | None:
        """What removes these recompiles although it names something else: dynamism travels."""
        advice = self.report.advice
        frames, labels = {id(frame) for frame in self.code.frames}, {item.compile.label for item in items}
        for suggestion in advice.suggestions if advice else ():
            if labels & set(suggestion.gone) and frames & {id(frame) for frame in suggestion.frames}:
                return suggestion
        return None

    def findings(self, items: list[Finding]) -> Iterator[Alert]:
        """What analyses found about this code: limits and failures, each rule once."""
        by_rule: dict[str, list[Finding]] = {}
        for item in items:
            by_rule.setdefault(item.rule.code, []).append(item)
        for code, members in by_rule.items():
            first = members[0]
            place = first.place
            kinds = frozenset(filter(None, (first.rule.alert_kind,)))
            events = tuple(self._event(frame, compile, kinds, 0.0) for frame, compile in _compiles_of(members))
            details = (f"{name}: {value}" for item in members for name, value in item.details if value)
            yield self._alert(
                rule=first.rule,
                codes=(code,),
                axes=(),
                sentence=first.sentence,
                facts=tuple(dict.fromkeys(details)),
                remedy=_limited(first) or first.rule.remedy,
                spot=self.checkout.spot(place.file, place.line) if place and not is_library(place.file) else None,
                snippet="",
                events=events,
            )

    def breaks(self) -> Iterator[Alert]:
        """Graph breaks by reason, and restarts of the analysis for other reasons; where only addresses differ, one for all."""
        found: dict[tuple[Rule, str], dict[Event, str]] = {}
        spots: dict[tuple[Rule, str], Spot | None] = {}
        for frame in self.code.frames:
            for compile in frame.compiles:
                lost = compile.metrics.before_restart or 0.0
                broke, again = (
                    self._event(frame, compile, frozenset((kind,)), lost * self.report.trace.rank_weight(compile.rank))
                    for kind in (AlertKind.BREAK, AlertKind.RESTART)
                )
                for item in compile.breaks:
                    key = (_BREAK, fixed(item.words))
                    found.setdefault(key, {}).setdefault(broke, item.words)
                    spots.setdefault(key, self.checkout.spot(item.place.file, item.place.line) if item.place else None)
                for reason in compile.restarts:
                    found.setdefault((_RESTART, fixed(reason)), {}).setdefault(again, reason)
        for (rule, words), events in found.items():
            said = tuple(dict.fromkeys(events.values()))
            what = "the graph broke in" if rule is _BREAK else "the analysis was started again in"
            yield self._alert(
                rule=rule,
                codes=(rule.code,),
                axes=(said[0],),
                sentence=f"{what} {self._title} ({_times(events)}): {said[0]}",
                facts=said,
                remedy=rule.remedy,
                spot=spots.get((rule, words)),
                snippet="",
                events=tuple(events),
            )

    def _event(self, frame: Frame, compile: Compile, kinds: frozenset[AlertKind], cost: float | None = None) -> Event:
        return event_of(frame, compile, kinds, self.report.trace, self.processes, cost)

    @property
    def _title(self) -> str:
        return self.code.title or self.code.first.name or "unknown code"

    def _is_own(self, file: str) -> bool:
        """Whether a place lies in the file of this code. Guards shorten paths to their last two parts."""
        own = self.code.first.file.replace("\\", "/")
        return not self.code.first.is_library and (own == file or own.endswith(f"/{file}"))

    def _alert(
        self,
        rule: Rule,
        codes: tuple[str, ...],
        axes: tuple[str, ...],
        sentence: str,
        facts: tuple[str, ...],
        remedy: str,
        spot: Spot | None,
        snippet: str,
        events: tuple[Event, ...],
    ) -> Alert:
        first = self.code.first
        called = first.called_at
        own = self.checkout.spot(first.file, first.line)
        call = self.checkout.spot(called.file, called.line) if called else None
        places = [(own, f"{self._title} begins here"), (call, f"{self._title} is called here")]
        usable = [place for place in places if place[0]]
        if first.is_library:
            usable.reverse()
        chosen = spot or (usable[0][0] if usable else None)
        if not snippet and called and chosen == call:
            snippet = called.code
        return Alert(
            rule=rule,
            codes=codes,
            level=_level(frozenset[AlertKind]().union(*(event.kinds for event in events)), rule),
            code=self.code,
            axes=axes,
            sentence=sentence,
            facts=facts,
            remedy=remedy,
            spot=chosen,
            snippet=snippet.strip(),
            related=tuple((place, text) for place, text in usable if place and place != chosen),
            events=events,
            fingerprint=digest(*self.identity, rule.code, fixed(axes[0]) if axes else ""),
        )


def _compiles_of(findings: Iterable[Finding]) -> Iterator[tuple[Frame, Compile]]:
    """The compiles that findings name; the first of the frame where they name none."""
    for item in findings:
        compiles = item.frame.compiles if item.frame else ()
        for compile in [compile for compile in compiles if compile.label == item.compile] or compiles[:1]:
            assert item.frame is not None
            yield item.frame, compile


def _limited(item: Finding) -> str:
    """What helps against a limit, which names what fills the entries; "" for another finding."""
    if item.rule.alert_kind not in (AlertKind.LIMIT, AlertKind.LIMIT_NEAR) or not item.details:
        return ""
    eaters = ", ".join(axis for axis, _ in item.details[:3])
    return f"remove what fills the entries ({eaters}), or raise torch._dynamo.config.recompile_limit"


def _told(fact: str, causes: list[Cause], axes: tuple[str, ...]) -> str:
    """The first fact with the values that came later, `` (then 4, 5, 6)``, and what else changed with it."""
    values = dict.fromkeys(cause.after for cause in causes if cause.after not in ("", causes[0].before, causes[0].after))
    told = list(values)[:_VALUES] + (["…"] if len(values) > _VALUES else [])
    change, mark, why = fact.partition("; ")
    then = f"{change} (then {', '.join(told)}){mark}{why}" if told else fact
    others = list(axes[1 : _AXES + 1]) + (["…"] if len(axes) > _AXES + 1 else [])
    return then + (f"; {len(axes) - 1} more changed with it: {', '.join(others)}" if others else "")


def _times(events: Iterable[Event]) -> str:
    number = sum(event.times for event in events)
    return "once" if number == 1 else f"{number} times"

"""What one step is: what to do, what it saves, how sure that is; and what the makers of steps share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from shapelog.advice.advise import Forecast
from shapelog.advice.compile_seconds import Seconds, slower_words
from shapelog.grouping import grouped
from shapelog.model.code_matching import Code
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.recompiles.recompile import Recompile
from shapelog.report.alerts.alert import Alert, Alerts
from shapelog.report.details.uncompiled_calls import Eager
from shapelog.report.report import Report
from shapelog.report.repository_paths import SourceLine
from shapelog.report.resumed_code import ResumedCode
from shapelog.report.weighted import weighted_compiles
from shapelog.rules import RULES, AlertKind, Remedy, Rule, Verdict
from shapelog.text import enumerated, names_of, plural, plural_noun, some

# Rules about state that a program sets up once, before the first compiled call.
SET_UP = frozenset(("SL301", "SL303", "SL305", "SL306", "SL307", "SL321"))
# What makes seconds notable: their share of all seconds of the run. A restart of the analysis that costs less is not worth a step.
COSTLY = 0.05
# The most compiles that a sentence names.
_LABELS = 4
_LAMBDA = "<lambda>"
_ALIASING, _FLOAT = RULES["SL317"], RULES["SL312"]
# What a copy of a tensor changes, and how what no argument holds is written.
COPIED, _NOT_PASSED = (RULES["SL105"], RULES["SL303"]), ("self.", "___stack", "G[")
CONFIDENCE = ("high", "medium", "low")
_NO_LONGER_EAGER = {
    Eager.ALL: "calls no longer run eagerly",
    Eager.OR_RAISED: "calls no longer run eagerly or raise an error",
    Eager.RESUMED: "the code after the graph break no longer runs eagerly",
    Eager.LIMIT: "calls beyond the recompile limit no longer run eagerly",
}


class StepKind(Enum):
    """What a step changes."""

    MARK = "mark as dynamic"
    CODE = "code change"
    SETUP = "set-up"
    GRAPH_BREAK = "graph break"
    RESTART = "restart"
    FAILURE = "failure"
    LIMIT = "recompile limit"
    RANKS = "ranks"
    EXPORT = "export"
    CACHE = "compile cache"


# Of which the labels are those of compiles that go away.
_REMOVING = (StepKind.MARK, StepKind.CODE, StepKind.SETUP)


@dataclass(frozen=True, slots=True)
class Saving:
    """What a step saves: ``least`` to ``most`` compilations, their seconds, and compilations that were refused or failed.

    Of the calls for which these were made, ``raised`` are how many raised an error, on how many ``ranks``, and ``eager`` is what ran in
    eager mode from then on. ``removed_seconds`` are those of what goes away, where what is left takes so much longer that a good part
    of them is not saved, ``added_seconds`` what all may take longer then. ``is_later`` where only runs after this one save it,
    ``is_unsure`` where calls may be refused all the same.
    """

    least: int = 0
    most: int = 0
    seconds: Seconds = field(default_factory=Seconds)
    refused: int = 0
    failed: int = 0
    raised: int = 0
    ranks: int = 0
    eager: tuple[Eager, ...] = ()
    is_later: bool = False
    is_unsure: bool = False
    removed_seconds: float = 0.0
    added_seconds: float = 0.0

    @property
    def is_any(self) -> bool:
        return bool(self.most or self.refused or self.failed or self.eager or self.seconds.as_saving)


class StepPlace(NamedTuple):
    """A line that a step is about; ``code`` is "" where the trace does not have it, ``marked`` the part of it that matters."""

    line: SourceLine
    code: str
    marked: str


class Confidence(NamedTuple):
    """How sure the saving is (``high``, ``medium`` or ``low``), and why."""

    level: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class NextStep:
    """One thing to do. ``title`` is a sentence, ``text`` what to type, literally, () where that depends on the code. ``short_text`` is the
    same in fewer characters, and ``why_short`` explains it; "" where ``text`` is short.

    ``rules`` are what it is about, ``labels`` the compiles. ``stake`` are the seconds by which steps are ranked: those that it is expected
    to save or, where code did not get compiled, those that were spent on it in vain. ``explanation``, ``hints`` and ``url`` are PyTorch's.
    ``remedy`` is how to do it, "" where the title or a hint has that, or where only the code can show it. ``entries`` are those of the
    list of dynamic sources that it sets, ``shared`` the compiles that need other changes, too, ``enough_for``
    those that need no others; both without those that the log has no id for. Where steps are numbered, ``list_of`` is the
    one before it whose list has all these entries, ``replaces`` the one whose list is part of its own, 0 for none; ``needs`` are those
    without which its shared compiles stay, ``earlier`` those before it that remove ``repeated`` ones of its compiles, too.
    """

    kind: StepKind
    title: str
    rules: tuple[Rule, ...]
    saving: Saving
    confidence: Confidence
    stake: float
    text: tuple[str, ...] = ()
    explanation: str = ""
    hints: tuple[str, ...] = ()
    remedy: str = ""
    url: str = ""
    places: tuple[StepPlace, ...] = ()
    labels: tuple[str, ...] = ()
    short_text: str = ""
    why_short: str = ""
    entries: frozenset[str] = frozenset()
    shared: tuple[str, ...] = ()
    enough_for: tuple[str, ...] = ()
    list_of: int = 0
    replaces: int = 0
    needs: tuple[int, ...] = ()
    repeated: tuple[str, ...] = ()
    earlier: tuple[int, ...] = ()

    @property
    def references(self) -> tuple[str, ...]:
        """``1/2 needs step 6 as well``, ``11/3 goes away with step 1, too``: what its compiles have to do with other steps."""
        found = []
        if self.needs:
            verb = "needs" if len(self.shared) == 1 else "need"
            found.append(f"{some(self.shared, _LABELS)} {verb} {_steps(self.needs)} as well")
        if self.earlier:
            verb = "goes" if len(self.repeated) == 1 else "go"
            found.append(f"{some(self.repeated, _LABELS)} {verb} away with {_steps(self.earlier)}, too")
        return tuple(found)


def _steps(numbers: Sequence[int]) -> str:
    return f"{plural_noun(len(numbers), 'step')} {enumerated(list(map(str, numbers)))}"


@dataclass(frozen=True)
class StepSources:
    """The alerts of a run, and what steps look up in it."""

    found: Alerts

    @property
    def report(self) -> Report:
        return self.found.report

    @cached_property
    def resumed(self) -> ResumedCode:
        return ResumedCode(self.found)

    @cached_property
    def recompiles(self) -> Mapping[Compile, Recompile]:
        return {item.compile: item for item in self.report.explained.recompiles}

    @cached_property
    def breaks(self) -> Mapping[Code, list[Alert]]:
        """The alerts about graph breaks in each code."""
        return grouped((alert for alert in self.found.alerts if AlertKind.BREAK in alert.kinds), lambda alert: alert.code)

    @cached_property
    def seconds(self) -> Mapping[Compile, float]:
        """Those of all ranks that a compile represents."""
        return {item.compile: item.seconds for item in weighted_compiles(self.report.explained)}

    def weight(self, compile: Compile) -> float:
        """By how much the seconds of all ranks that a compile represents are more than its own."""
        return self.seconds[compile] / compile.seconds if compile.seconds else 1.0

    def needs_code(self, compile: Compile) -> bool:
        """Whether a change of the code removes a recompile."""
        return self.recompiles[compile].verdict is Verdict.CODE

    def is_code_change(self, alert: Alert) -> bool:
        """Whether recompiles of an alert go away with a change of the code, or of what is set up before it."""
        is_avoidable = any(AlertKind.AVOIDABLE in item.kinds and self.needs_code(item.compile) for item in alert.occurrences)
        return is_avoidable and bool(change_of(alert).change)  # accepting graphs saves nothing

    def keeps_below_limit(self, alert: Alert) -> bool:
        """Whether a change of the code also removes nearly all that filled its cache up to the recompile limit."""
        return self.is_code_change(alert) and self.limits.get(alert.code, "").startswith(change_of(alert).change)

    @cached_property
    def limits(self) -> Mapping[Code, str]:
        """What to do about the recompile limits that code hit."""
        return {alert.code: alert.remedy.text for alert in self.found.alerts if AlertKind.LIMIT in alert.kinds}

    @cached_property
    def kept_below_limit(self) -> frozenset[Code]:
        """The code for which a step of its own also removes what filled its cache."""
        return frozenset(alert.code for alert in self.found.alerts if self.keeps_below_limit(alert))

    @cached_property
    def forecasts(self) -> Mapping[Frame, Forecast]:
        return {item.frame: item for item in self.report.advice.forecasts} if self.report.advice else {}


def with_references(steps: Sequence[NextStep]) -> tuple[NextStep, ...]:
    """The steps in this order, numbered from 1, each with those that it needs, and with how the list that it sets goes with the latest one
    before it: the variable holds one list.
    """
    found: list[NextStep] = []
    latest, known = 0, frozenset[str]()
    of_label: dict[str, list[int]] = {}
    removed: dict[str, int] = {}  # by which step first
    for number, step in enumerate(steps, 1):
        for label in step.shared:
            of_label.setdefault(label, []).append(number)
    for number, step in enumerate(steps, 1):
        needs = dict.fromkeys(other for label in step.shared for other in of_label[label] if other != number)
        shared = tuple(label for label in step.shared if of_label[label][1:])
        own = [label for label in step.labels if label not in step.shared] if step.kind in _REMOVING else []
        repeated = tuple(label for label in own if label in removed and label in step.enough_for)
        earlier = tuple(sorted({removed[label] for label in repeated}))
        removed.update((label, number) for label in own if label not in removed)
        step = replace(step, needs=tuple(sorted(needs)), shared=shared, repeated=repeated, earlier=earlier)
        if step.entries and step.entries <= known:
            found.append(replace(step, list_of=latest))
        elif step.entries:
            found.append(replace(step, replaces=latest if known and known < step.entries else 0))
            latest, known = number, step.entries
        else:
            found.append(step)
    return tuple(found)


def change_of(alert: Alert) -> Remedy:
    """What to change about the code where marking is not enough."""
    return alert.rest.remedy if alert.rest else alert.remedy


def middle(saved: Seconds) -> float:
    """What is to be expected of a range; its lower end where it has no upper one."""
    return saved.least if saved.most is None else (saved.least + saved.most) / 2


def step_of(
    kind: StepKind, title: str, alerts: Sequence[Alert], saving: Saving, stake: float, confidence: Confidence, text: Iterable[str] = ()
) -> NextStep:
    """What all steps that come from alerts have in common."""
    messages = [message for alert in alerts for message in alert.messages]
    places = {place.line: place for alert in alerts for place in _places(alert)}
    return NextStep(
        kind=kind,
        title=title,
        rules=tuple(dict.fromkeys(alert.rule for alert in alerts)),
        saving=saving,
        confidence=confidence,
        stake=stake,
        text=tuple(text),
        explanation=next((message.explanation for message in messages if message.explanation), ""),
        hints=tuple(dict.fromkeys(hint for message in messages for hint in message.specific_hints)),
        url=next((message.url for message in messages if message.url), ""),
        places=tuple(places.values()),
        labels=tuple(dict.fromkeys(label for alert in alerts for label in alert.labels)),
    )


def _places(alert: Alert) -> Iterator[StepPlace]:
    """The line that it is about, else the one that makes the call, which also is where one tensor is passed twice, and where a tensor that
    is passed is copied: a copy in the compiled code would save nothing. Both where a float that is passed is to be a tensor.
    """
    is_copied = not {alert.rule, change_of(alert).rule}.isdisjoint(COPIED) and not alert.axis.startswith(_NOT_PASSED)
    if alert.call and (not alert.snippet or alert.rule is _ALIASING or is_copied):
        yield StepPlace(alert.call.place, alert.call.code, "")
        return
    if alert.source_line:
        yield StepPlace(alert.source_line, alert.snippet, alert.marked)
    if alert.call and alert.rule is _FLOAT and "." not in alert.axis:
        yield StepPlace(alert.call.place, alert.call.code, "")


def subject_of_alerts(alerts: Sequence[Alert]) -> str:
    """The names of the functions; lambdas are counted."""
    names = list(dict.fromkeys(title for alert in alerts for title in alert.titles if title != _LAMBDA))
    lambdas = len({alert.code for alert in alerts if alert.title == _LAMBDA})
    return names_of([*names, *([_LAMBDA if lambdas == 1 else plural(lambdas, "lambda")] if lambdas else [])])


def saving_words(saving: Saving) -> str:
    """``saves 10 compilations (0.51 s); 2 calls no longer raise``; "" where nothing is known of what it saves."""
    is_one_unsure = saving.most == 1 and saving.least < 1
    number = (
        "" if is_one_unsure else f"{saving.least} to " if 0 < saving.least < saving.most else "up to " if saving.least < saving.most else ""
    )
    time = saving.seconds.as_saving
    if time and saving.removed_seconds:
        time += slower_words(saving.removed_seconds, saving.added_seconds)
    saved = f"{number}{plural(saving.most, 'compilation')}{f' ({time})' if time else ''}" if saving.most else time
    when = " in each later run" if saving.is_later else ""
    verb = "raises" if saving.raised == 1 and not saving.is_unsure else "raise"
    where = f" on {saving.ranks} ranks" if saving.ranks > 1 else ""
    gains = [f"{plural(saving.raised, 'call')}{where} no longer {verb}"] if saving.raised else []
    eager = (_NO_LONGER_EAGER[what] for what in saving.eager)
    gains += [words.replace("calls no longer", "others no longer") if saving.raised else words for words in eager]
    sure = [words.replace("no longer", "may no longer") if saving.is_unsure else words for words in gains]
    saves = "may save" if is_one_unsure else "saves"
    return "; ".join((*([f"{saves} {saved}{when}"] if saved else []), *sure))

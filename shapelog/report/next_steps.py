"""What to do first: everything that costs a run compilations, seconds or compiled code, as one list of steps, the most worthwhile first."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import NamedTuple

from shapelog.advice.advise import Forecast
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.paste_formats import as_python, as_shell
from shapelog.grouping import grouped
from shapelog.model.cache_uses import CacheUse
from shapelog.model.code_matching import Code
from shapelog.model.trace import UNNAMED_CODE, Compile, Frame, Outcome, Trace
from shapelog.reading.payloads.cache_keys import AOT_AUTOGRAD, FX_GRAPH, HIT, MISS
from shapelog.reading.payloads.compiler_messages import PLANNED_RESTARTS
from shapelog.reading.payloads.source_names import is_library
from shapelog.recompiles.explain import Recompile
from shapelog.recompiles.global_state import set_once
from shapelog.report.alerts import Alert, Alerts, Occurrence, stable_text
from shapelog.report.analyses.recompile_limit import DEFAULT_ACCUMULATED_LIMIT, DEFAULT_LIMIT, is_accumulated
from shapelog.report.details.cache_remedies import cache_problem
from shapelog.report.details.logging_calls import lines_for_logging
from shapelog.report.details.uncompiled_calls import Eager, fates
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository, SourceLine
from shapelog.report.results import Finding
from shapelog.report.resumed_code import ResumedCode
from shapelog.report.weighted import weighted_compiles
from shapelog.rules import AlertKind, Level, Remedy, Rule, Section, Verdict
from shapelog.text import capitalized, plural, sentence_end, shorten, some

# Rules about state that a program sets up once, before the first compiled call.
_SET_UP = frozenset(("SL301", "SL303", "SL305", "SL306", "SL307", "SL321"))
# ``torch._dynamo.config.trace_numpy = True``, `` `torch._dynamo.config.trace_numpy` to `True` ``; one hint lacks the ``config``.
_SETTING = re.compile(r"torch\._dynamo\.(?:config\.)?(\w+)(?: ?= ?|`? to `?(?=True|False))(\w+)")
# What makes seconds notable: their share of all seconds of the run. A restart of the analysis that costs less is not worth a step.
_COSTLY = 0.05
# How many of the properties that changed a title names, and how much of each.
_NAMED, _LONGEST_NAME = 2, 40
# A title that is longer than this ends with its first sentence.
_LONG_TITLE = 120
_SHORTEST_SENTENCE = 20
# Of an error in a title.
_LONGEST_ERROR = 80
_LAMBDA = "<lambda>"
_CONFIDENCE = ("high", "medium", "low")


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


_NO_LONGER_EAGER = {
    Eager.ALL: "calls no longer run eagerly",
    Eager.OR_RAISED: "calls no longer run eagerly or raise",
    Eager.RESUMED: "the code after the graph break no longer runs eagerly",
    Eager.LIMIT: "calls beyond the recompile limit no longer run eagerly",
}


@dataclass(frozen=True, slots=True)
class Saving:
    """What a step saves: ``least`` to ``most`` compilations, their seconds, and compilations that were refused or failed.

    Of the calls for which these were made, ``raised`` are how many raised an error, and ``eager`` is what ran in eager mode from then on.
    ``is_later`` where only runs after this one save it, ``is_unsure`` where calls may be refused all the same.
    """

    least: int = 0
    most: int = 0
    seconds: Seconds = field(default_factory=Seconds)
    refused: int = 0
    failed: int = 0
    raised: int = 0
    eager: tuple[Eager, ...] = ()
    is_later: bool = False
    is_unsure: bool = False

    @property
    def is_any(self) -> bool:
        return bool(self.most or self.refused or self.failed or self.seconds.as_saving)


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
    """One thing to do. ``title`` is a sentence, ``text`` what to type, literally, () where that depends on the code.

    ``rules`` are what it is about, ``labels`` the compiles. ``stake`` are the seconds by which steps are ranked: those that it is expected
    to save or, where code did not get compiled, those that were spent on it in vain. ``explanation``, ``hints`` and ``url`` are PyTorch's.
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
    url: str = ""
    places: tuple[StepPlace, ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Run:
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
    def seconds(self) -> Mapping[Compile, float]:
        """Those of all ranks that a compile represents."""
        return {item.compile: item.seconds for item in weighted_compiles(self.report.explained)}

    def weight(self, compile: Compile) -> float:
        """By how much the seconds of all ranks that a compile represents are more than its own."""
        return self.seconds[compile] / compile.seconds if compile.seconds else 1.0

    def needs_code(self, compile: Compile) -> bool:
        """Whether a change of the code removes a recompile."""
        return self.recompiles[compile].verdict is Verdict.CODE

    @cached_property
    def forecasts(self) -> Mapping[Frame, Forecast]:
        return {item.frame: item for item in self.report.advice.forecasts} if self.report.advice else {}


def next_steps(found: Alerts) -> tuple[NextStep, ...]:
    """Every step that saves anything, the most worthwhile first; what makes a job hang or compute nonsense comes before all."""
    report = found.report
    marks = list(_marks(report))
    # Sizes that differ across ranks are marked by the same list.
    steps = marks + [step for step in _of_ranks(report.findings) if not (marks and step.rules[0].verdict is Verdict.MARKING)]
    run = _Run(found)
    for kind, members in grouped(found.alerts, lambda alert: _key(run, alert)).items():
        if kind is not None:
            steps.append(_MAKERS[kind[0]](run, members))
    steps += _of_exports(report.findings, found.repository)
    steps += _of_caches(run)
    useful = [step for step in steps if step.saving.is_any or step.kind in (StepKind.RANKS, StepKind.EXPORT)]
    notable = _COSTLY * report.summary.seconds
    return tuple(sorted(useful, key=lambda step: _rank(step, notable)))


def _rank(step: NextStep, notable: float) -> tuple[float, ...]:
    """By the seconds at stake; where these are not ``notable``, what leaves no compiled code or no exported program comes first."""
    hangs = any(rule.code == "SL703" for rule in step.rules)
    saving = step.saving
    stops_export = step.kind is StepKind.EXPORT and step.rules[0].level is Level.ERROR
    without_code = saving.refused + saving.failed + stops_export
    is_minor = step.stake <= notable
    return (
        -hangs,
        is_minor and not without_code,
        is_minor,
        -round(step.stake, 3),
        -saving.most,
        -without_code,
        _CONFIDENCE.index(step.confidence.level),
    )


def _middle(saved: Seconds) -> float:
    """What is to be expected of a range; its lower end where it has no upper one."""
    return saved.least if saved.most is None else (saved.least + saved.most) / 2


def _marks(report: Report) -> Iterator[NextStep]:
    """All marks of the advice together, since they save more together than each does."""
    advice = report.advice
    if advice is None or not advice.suggestions:
        return
    items = advice.suggestions
    fewer = advice.before.compiles - advice.after.compiles
    unsure = max(items, key=lambda item: _CONFIDENCE.index(item.confidence))
    text = (as_shell(advice),) if advice.env else tuple(as_python(advice).split("\n"))
    saved = advice.avoidable_seconds if fewer else Seconds()
    title = capitalized(items[0].recommendation) if len(items) == 1 else f"Mark {advice.what_to_mark} as dynamic"
    refused = advice.before.limit_hits - advice.after.limit_hits
    raised = _raised_at_limit(report.trace, refused, is_lifted=not advice.after.limit_hits)
    forbidden = advice.before.forbidden - advice.after.forbidden
    yield NextStep(
        kind=StepKind.MARK,
        title=title if fewer or not refused else f"{title}; or raise {advice.version.limit_setting()}",
        rules=(),
        saving=Saving(
            least=max(0, fewer - advice.after.more),
            most=fewer,
            seconds=saved,
            refused=refused,
            failed=forbidden,
            raised=forbidden + raised,
            eager=(Eager.LIMIT,) if refused > raised else (),
            is_unsure=bool(advice.after.more or advice.after.doubtful),
        ),
        confidence=Confidence(unsure.confidence, unsure.confidence_reason),
        stake=_middle(saved),
        text=text,
        explanation="; ".join([*([f"estimated {advice.scope}"] if advice.scope else []), *advice.warnings]),
        labels=tuple(dict.fromkeys(label for item in items for label in item.gone)),
    )


def _raised_at_limit(trace: Trace, refused: int, *, is_lifted: bool) -> int:
    """How many of these refused calls raised an error: where both kinds occur and some remain, which ones go away is not known."""
    hits = [compile for compile in trace.compiles if compile.outcome is Outcome.LIMIT]
    raised = [compile for compile in hits if compile.raised_at_limit]
    if len(raised) == len(hits):
        return refused
    return sum(trace.rank_weight(compile.rank) for compile in raised) if is_lifted else 0


def _of_exports(findings: Iterable[Finding], repository: Repository) -> Iterator[NextStep]:
    """What to change so that exports succeed and assume nothing; what stops them first."""
    found = [item for item in findings if item.rule.section is Section.EXPORTS]
    stopped = {item.place for item in found if item.rule.level is Level.ERROR and item.place}
    # The line at which an export failed is what its error is about.
    kept = [item for item in found if item.rule.level is Level.ERROR or item.place not in stopped]
    for same in grouped(sorted(kept, key=lambda item: item.rule.level is not Level.ERROR), lambda item: (item.remedy, item.place)).values():
        first = same[0]
        line = repository.source_line(first.place.file, first.place.line) if first.place else None
        yield NextStep(
            kind=StepKind.EXPORT,
            title=capitalized(first.remedy),
            rules=(first.rule,),
            saving=Saving(),
            confidence=Confidence("medium", "an export that gets further may meet more"),
            stake=0.0,
            text=first.text,
            explanation=first.sentence,
            hints=first.message.hints if first.message else (),
            places=(StepPlace(line, first.code, ""),) if line else (),
        )


def _of_caches(run: _Run) -> Iterator[NextStep]:
    """What lets later runs load code from a compile cache, where compiling it took a good part of the seconds."""
    problems = ((use, problem) for use in run.report.caches.uses if (problem := cache_problem(use)) and problem.remedy)
    for (rule, remedy), pairs in grouped(problems, lambda pair: (pair[1].rule, pair[1].remedy)).items():
        problem = pairs[0][1]
        concerned = (
            [use for use in run.report.caches.uses if use.event.result == MISS] if problem.is_everywhere else [use for use, _ in pairs]
        )
        uses = grouped(concerned, lambda use: use.compile)
        saved = Seconds(0.0, math.fsum(_loadable(same, run) * run.weight(compile) for compile, same in uses.items()))
        if not saved.most or saved.most <= _COSTLY * run.report.summary.seconds:
            continue
        titles = list(dict.fromkeys(use.frame.title for use in concerned))
        yield NextStep(
            kind=StepKind.CACHE,
            title=f"Let {_names(titles)} be loaded from the compile cache: {remedy}",
            rules=(rule,),
            saving=Saving(seconds=saved, is_later=True),
            confidence=Confidence(*_SURE if problem.is_sure else _UNSURE),
            stake=_middle(saved),
            text=problem.text,
            explanation=capitalized(f"{rule.name.replace('-', ' ')}: {' '.join(problem.reason.split())}"),
            labels=tuple(dict.fromkeys(compile.label for compile in uses)),
        )


_SURE = "medium", "it holds for runs that find the cache directory of an earlier one"
_UNSURE = "low", "it changes more than the cache, and holds only for runs that find the cache directory of an earlier one"


def _loadable(uses: Sequence[CacheUse], run: _Run) -> float:
    """The seconds of a compile that entries in the caches of these uses make unnecessary.

    An entry of the FX graph cache replaces Inductor, one of the AOTAutograd cache AOTAutograd as well; Dynamo runs in any case.
    """
    compile, caches = uses[0].compile, {use.event.cache for use in uses}
    others = {use.event.cache for use in run.report.caches.of(compile) if use.event.result in (HIT, MISS)}
    phases = dict(compile.phases)
    without_graphs = phases.pop("AOTAutograd") if AOT_AUTOGRAD in caches else 0.0
    is_all = FX_GRAPH in caches or FX_GRAPH not in others
    return without_graphs + (
        math.fsum(spent for phase, spent in phases.items() if phase not in ("Dynamo", "AOTAutograd")) if is_all else 0.0
    )


def _of_ranks(findings: Iterable[Finding]) -> Iterator[NextStep]:
    """What concerns the ranks of a job among each other."""
    for rule, members in grouped((item for item in findings if item.rule.section is Section.RANKS), lambda item: item.rule).items():
        yield NextStep(
            kind=StepKind.RANKS,
            title=capitalized(rule.remedy),
            rules=(rule,),
            saving=Saving(),
            confidence=Confidence("medium", "how long ranks wait for each other is not in a trace"),
            stake=0.0,
            explanation=members[0].sentence,
            labels=tuple(dict.fromkeys(item.compile for item in members if item.compile)),
        )


def _key(run: _Run, alert: Alert) -> tuple[StepKind, object] | None:
    """The same for alerts that one step cures; None for those that no step does."""
    kinds = alert.kinds
    hints = tuple(hint for message in alert.messages for hint in message.specific_hints)
    if AlertKind.FAILURE in kinds and all(item.compile.outcome is not Outcome.FAILED for item in alert.occurrences):
        return None  # it was cut off while it compiled, so nothing is known to be wrong with the code
    if AlertKind.FAILURE in kinds and all(item.compile.is_forbidden for item in alert.occurrences) and _is_lifted(run, alert.code):
        return None
    is_elsewhere = alert.source_line is not None and is_library(alert.source_line.file) and not any(map(_SETTING.search, hints))
    if AlertKind.BREAK in kinds and is_elsewhere:
        return None  # in a library, where a user changes no line, and no setting avoids it
    if AlertKind.FAILURE in kinds or AlertKind.BREAK in kinds:
        kind = StepKind.FAILURE if AlertKind.FAILURE in kinds else StepKind.GRAPH_BREAK
        return (kind, (alert.rule, stable_text(alert.messages[0].title), hints) if alert.messages else alert)
    if AlertKind.RESTART in kinds:
        is_costly = alert.seconds > _COSTLY * run.report.summary.seconds
        return (StepKind.RESTART, alert) if is_costly and alert.axis not in PLANNED_RESTARTS else None
    if AlertKind.LIMIT in kinds:
        return None if _is_lifted(run, alert.code) else (StepKind.LIMIT, _of_all_objects(alert))
    is_avoidable = any(AlertKind.AVOIDABLE in item.kinds and run.needs_code(item.compile) for item in alert.occurrences)
    if is_avoidable and _change(alert).change:  # accepting graphs saves nothing
        return (StepKind.SETUP, alert.rule) if alert.rule.code in _SET_UP else (StepKind.CODE, _change(alert))
    return None


def _change(alert: Alert) -> Remedy:
    """What to change about the code where marking is not enough."""
    return alert.rest.remedy if alert.rest else alert.remedy


def _step(
    kind: StepKind, title: str, alerts: Sequence[Alert], saving: Saving, stake: float, confidence: Confidence, text: Iterable[str] = ()
) -> NextStep:
    """What all steps that come from alerts have in common."""
    messages = [message for alert in alerts for message in alert.messages]
    places = {place.line: place for alert in alerts if (place := _place(alert))}
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


def _place(alert: Alert) -> StepPlace | None:
    """The line that it is about, else the one that makes the call."""
    if alert.call and not alert.snippet:
        return StepPlace(alert.call.place, alert.call.code, "")
    return StepPlace(alert.source_line, alert.snippet, alert.marked) if alert.source_line else None


def _subject(alerts: Sequence[Alert]) -> str:
    """The names of the functions; lambdas are counted."""
    names = list(dict.fromkeys(alert.title for alert in alerts if alert.title != _LAMBDA))
    lambdas = len({alert.code for alert in alerts if alert.title == _LAMBDA})
    return _names([*names, *([_LAMBDA if lambdas == 1 else plural(lambdas, "lambda")] if lambdas else [])])


def _names(titles: Sequence[str]) -> str:
    """``f``, ``f and g``, ``f and 3 more``."""
    return " and ".join(titles) if len(titles) < 3 else f"{titles[0]} and {len(titles) - 1} more"


def _code_change(run: _Run, alerts: Sequence[Alert]) -> NextStep:
    """Recompilations that go away when the code, or what is set up before it, changes."""
    cured: dict[Compile, set[str]] = {}
    own: dict[Compile, Occurrence] = {}
    for alert in alerts:
        for item in alert.occurrences:
            cured.setdefault(item.compile, set()).update(alert.codes)
            if run.needs_code(item.compile):
                own[item.compile] = item
    sole = [item for item in own.values() if cured[item.compile].issuperset(run.recompiles[item.compile].codes)]
    saved = Seconds(math.fsum(item.seconds for item in sole), math.fsum(item.seconds for item in own.values()))
    confidence = Confidence("medium", "the cause is known; the changed code may meet other obstacles")
    if len(sole) < len(own):
        confidence = Confidence("low", "some of these recompilations have other causes as well")
    kind = StepKind.SETUP if alerts[0].rule.code in _SET_UP else StepKind.CODE
    saving = Saving(sum(item.times for item in sole), sum(item.times for item in own.values()), saved)
    subjects = list(dict.fromkeys(shorten(alert.subjects[0], _LONGEST_NAME) for alert in alerts if alert.subjects))
    changed = some(subjects, _NAMED) if kind is StepKind.CODE else ""
    subject = f"{_subject(alerts)}{f' ({changed})' if changed else ''}"
    step = _step(kind, f"{subject}: {_what_to_change(alerts)}", alerts, saving, _middle(saved), confidence)
    return replace(step, labels=tuple(dict.fromkeys(item.compile.label for item in own.values())))


def _what_to_change(alerts: Sequence[Alert]) -> str:
    """The remedy of these alerts; settings that each alone has one about are set together."""
    text = _change(alerts[0]).text
    is_same = all(_change(alert).text == text for alert in alerts)
    fields = [field for alert in alerts for axis in alert.axes for field in axis.split(", ")]
    return text if is_same or alerts[0].rule.code != "SL307" else set_once(fields) or text


def _graph_break(run: _Run, alerts: Sequence[Alert]) -> NextStep:
    """Without the break, what it cost goes away, and the code that goes on after it is compiled as part of the rest."""
    resumed = [item for code in run.resumed.after(alerts) for item in run.found.compiles(code)]
    lost = math.fsum(alert.seconds for alert in alerts)
    saved = Seconds(lost, lost + math.fsum(item.seconds for item in resumed))
    saving = Saving(0, sum(item.weight for item in resumed), saved)
    what = _title_of(alerts[0])
    places = {alert.source_line for alert in alerts}
    which = f"the graph break in {alerts[0].title}" if len(places) == 1 else f"{len(places)} graph breaks"
    return _step(StepKind.GRAPH_BREAK, f"Remove {which}: {what}", alerts, saving, _middle(saved), *_cure(alerts))


def _title_of(alert: Alert) -> str:
    """What PyTorch met; of a long text the first sentence."""
    title = alert.messages[0].title if alert.messages else alert.axis or alert.sentence
    end = sentence_end(title, _SHORTEST_SENTENCE) if len(title) > _LONG_TITLE else -1
    return title[: end - 1] if end > 0 else title


def _cure(alerts: Sequence[Alert]) -> tuple[Confidence, tuple[str, ...]]:
    """How sure PyTorch's hints make a step, and the settings that they name."""
    hints = [hint for alert in alerts for message in alert.messages for hint in message.specific_hints]
    named = (f"torch._dynamo.config.{name} = {value}" for hint in hints for name, value in _SETTING.findall(hint))
    settings = tuple(dict.fromkeys((*named, *_logging_lines(alerts))))
    return Confidence(*(("medium", "PyTorch names a remedy") if hints else ("low", "PyTorch names no remedy"))), settings


def _logging_lines(alerts: Sequence[Alert]) -> Iterator[str]:
    return (line for alert in alerts for message in alert.messages for line in lines_for_logging(message, alert.snippet))


def _restart(run: _Run, alerts: Sequence[Alert]) -> NextStep:
    saved = Seconds(0.0, math.fsum(alert.seconds for alert in alerts))
    title = f"Avoid the restarted analysis of {_subject(alerts)}: {alerts[0].axis}"
    return _step(StepKind.RESTART, title, alerts, Saving(seconds=saved), _middle(saved), Confidence("low", "a restart may be needed"))


def _failure(run: _Run, alerts: Sequence[Alert]) -> NextStep:
    failures = [item for alert in alerts for item in alert.occurrences if item.compile.outcome is Outcome.FAILED]
    stake = math.fsum(run.seconds[compile] for compile in {item.compile for item in failures})
    raised, eager = fates((item.frame, item.compile, item.times) for item in failures)
    saving = Saving(failed=sum(item.times for item in failures), raised=raised, eager=eager)
    error, _, words = _own_error(alerts[0]).partition(": ")
    subject = _subject(alerts)
    title = f"{'Fix the error' if subject == UNNAMED_CODE else f'Fix what keeps {subject} from compiling'}: {_title_of(alerts[0])}"
    if error:
        title = f"Fix the {error}{'' if subject == UNNAMED_CODE else f' in {subject}'}{f': {words}' if words else ''}"
    is_bug = any(message.is_bug for message in alerts[0].messages[:1])
    if is_bug or all(item.compile.is_forbidden for item in failures):
        title = f"{subject}: {alerts[0].remedy.text}"
    return _step(StepKind.FAILURE, title, alerts, saving, stake, *_cure(alerts))


def _own_error(alert: Alert) -> str:
    """``KeyError: 'a'``: what the user's code raised while Dynamo traced it; "" where Dynamo stopped for another reason."""
    raised = alert.exceptions[0] if alert.exceptions and alert.exceptions[0].is_observed else None
    if raised is None:
        return next((message.operation_error for message in alert.messages if message.operation_error), "")
    return f"{raised.type}: {shorten(raised.message, _LONGEST_ERROR)}" if raised.message else raised.type


def _is_lifted(run: _Run, code: Code) -> bool:
    """Whether with the marks no call of this code is refused."""
    own = [run.forecasts[frame] for frame in code.frames if frame in run.forecasts]
    return bool(own) and any(item.before.refused for item in own) and not any(item.after.refused for item in own)


def _limit(run: _Run, alerts: Sequence[Alert]) -> NextStep:
    trace = run.report.trace
    refused = [item for alert in alerts for item in run.found.compiles(alert.code) if item.compile.outcome is Outcome.LIMIT]
    raised = sum(item.weight for item in refused if item.compile.raised_at_limit)
    number = sum(item.weight for item in refused)
    saving = Saving(refused=number, raised=raised, eager=(Eager.LIMIT,) if raised < number else ())
    # Where something else removes recompilations of the code, that comes first: it lowers what fills the limit.
    others = {alert.code for alert in run.found.alerts if AlertKind.AVOIDABLE in alert.kinds}
    stake = math.fsum(item.seconds for alert in alerts if alert.code not in others for item in run.found.compiles(alert.code))
    confidence = Confidence("low", "how many compilations a higher limit costs is not in the trace")
    of_all = _of_all_objects(alerts[0])
    setting = trace.version.limit_setting(of_all)
    remedies = {alert.remedy.text for alert in alerts}
    remedy = remedies.pop() if len(remedies) == 1 else f"remove the cause of each, or raise {setting}"
    known = trace.config.accumulated_recompile_limit if of_all else trace.config.recompile_limit
    limit = known or (DEFAULT_ACCUMULATED_LIMIT if of_all else DEFAULT_LIMIT)
    # A text without the limit may be of a program that raised it.
    settings = () if trace.is_text and not known else (f"{setting} = {2 * limit}",)
    subject = _subject(alerts)
    title = f"{'Stay' if subject == UNNAMED_CODE else f'Keep {subject}'} below the recompile limit: {remedy}"
    return _step(StepKind.LIMIT, title, alerts, saving, stake, confidence, settings)


def _of_all_objects(alert: Alert) -> bool:
    """Whether the limit that code hit is the one for the entries of all objects that share it."""
    hits = [item.compile for item in alert.occurrences if item.compile.outcome is Outcome.LIMIT]
    return bool(hits) and all(map(is_accumulated, hits))


_MAKERS = {
    StepKind.CODE: _code_change,
    StepKind.SETUP: _code_change,
    StepKind.GRAPH_BREAK: _graph_break,
    StepKind.RESTART: _restart,
    StepKind.FAILURE: _failure,
    StepKind.LIMIT: _limit,
}


def saving_words(saving: Saving) -> str:
    """``saves 10 compilations (0.51 s); 2 calls no longer raise``; "" where nothing is known of what it saves."""
    number = f"{saving.least} to " if 0 < saving.least < saving.most else "up to " if saving.least < saving.most else ""
    time = saving.seconds.as_saving
    saved = f"{number}{plural(saving.most, 'compilation')}{f' ({time})' if time else ''}" if saving.most else time
    when = " in each later run" if saving.is_later else ""
    verb = "raises" if saving.raised == 1 and not saving.is_unsure else "raise"
    gains = [f"{plural(saving.raised, 'call')} no longer {verb}"] if saving.raised else []
    eager = (_NO_LONGER_EAGER[what] for what in saving.eager)
    gains += [words.replace("calls no longer", "others no longer") if saving.raised else words for words in eager]
    sure = [words.replace("no longer", "should no longer") if saving.is_unsure else words for words in gains]
    return "; ".join((*([f"saves {saved}{when}"] if saved else []), *sure))

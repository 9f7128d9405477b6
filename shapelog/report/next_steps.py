"""What to do first: everything that costs a run compilations, seconds or compiled code, as one list of steps, the most worthwhile first."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from shapelog.advice.advise import Advice
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.paste_formats import as_python, as_shell
from shapelog.model.code_matching import Code
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Frame
from shapelog.report.alerts import Alert, Alerts
from shapelog.report.repository_paths import SourceLine
from shapelog.report.results import Finding
from shapelog.rules import AlertKind, Rule, Section, Verdict

# Rules about state that a program sets up once, before the first compiled call.
_SET_UP = frozenset(("SL301", "SL303", "SL305", "SL306", "SL307", "SL321"))
_SETTING = re.compile(r"torch\._dynamo\.config\.\w+ = \w+")
# What a restart of the analysis has to cost, as a share of all seconds of the run, to be worth a step.
_COSTLY = 0.05
_ORDER = {"high": 0, "medium": 1, "low": 2}


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


@dataclass(frozen=True, slots=True)
class Saving:
    """What a step saves: ``least`` to ``most`` compilations, their seconds, and compilations that were refused or failed.

    Where code was refused or failed, later calls of it ran eagerly, or raised.
    """

    least: int = 0
    most: int = 0
    seconds: Seconds = Seconds()  # noqa: RUF009 (it is frozen)
    refused: int = 0
    failed: int = 0

    @property
    def is_any(self) -> bool:
        return bool(self.most or self.refused or self.failed or self.seconds.most is None or self.seconds.most > 0)


@dataclass(frozen=True, slots=True, eq=False)
class NextStep:
    """One thing to do. ``title`` is a sentence, ``text`` what to type, literally, () where that depends on the code.

    ``rules`` are what it is about, ``labels`` the compiles. ``confidence`` is how sure the saving is (high, medium or low), with the reason.
    ``stake`` are the seconds by which steps are ranked: those that it is expected to save or, where code did not get compiled, those that
    were spent on this code in vain. ``hints`` and ``url`` are PyTorch's.
    """

    kind: StepKind
    title: str
    rules: tuple[Rule, ...]
    saving: Saving
    confidence: str
    confidence_reason: str
    stake: float
    text: tuple[str, ...] = ()
    explanation: str = ""
    hints: tuple[str, ...] = ()
    url: str = ""
    place: SourceLine | None = None
    snippet: str = ""
    marked: str = ""
    labels: tuple[str, ...] = ()


def next_steps(found: Alerts) -> tuple[NextStep, ...]:
    """Every step that saves anything, the most worthwhile first; what makes a job hang or compute nonsense comes before all."""
    report = found.report
    steps = [*_marks(report.advice), *_of_ranks(report.findings)]
    for alert in found.alerts:
        steps += _of_alert(found, alert)
    useful = [step for step in steps if step.saving.is_any or step.kind is StepKind.RANKS]
    return tuple(sorted(useful, key=_rank))


def _rank(step: NextStep) -> tuple[float, ...]:
    hangs = any(rule.code == "SL703" for rule in step.rules)
    return (-hangs, -round(step.stake, 3), -step.saving.most, -step.saving.refused - step.saving.failed, _ORDER[step.confidence])


def _middle(saved: Seconds) -> float:
    """What is to be expected of a range; its lower end where it has no upper one."""
    return saved.least if saved.most is None else (saved.least + saved.most) / 2


def _marks(advice: Advice | None) -> Iterator[NextStep]:
    """All marks of the advice together, since they save more together than each does."""
    if advice is None or not advice.suggestions:
        return
    items = advice.suggestions
    fewer = advice.before.compiles - advice.after.compiles
    unsure = min((item for item in items), key=lambda item: -_ORDER[item.confidence])
    text = (as_shell(advice),) if advice.env else tuple(as_python(advice).split("\n"))
    saved = advice.avoidable_seconds
    yield NextStep(
        kind=StepKind.MARK,
        title=_sentence(items[0].recommendation) if len(items) == 1 else f"Mark {len(items)} inputs as dynamic",
        rules=(),
        saving=Saving(max(0, fewer - advice.after.more), fewer, saved, advice.before.limit_hits - advice.after.limit_hits),
        confidence=unsure.confidence,
        confidence_reason=unsure.confidence_reason,
        stake=_middle(saved),
        text=text,
        labels=tuple(dict.fromkeys(label for item in items for label in item.gone)),
    )


def _of_ranks(findings: Iterable[Finding]) -> Iterator[NextStep]:
    """What concerns the ranks of a job among each other."""
    for item in findings:
        if item.rule.section is Section.RANKS:
            yield NextStep(
                kind=StepKind.RANKS,
                title=_sentence(item.rule.remedy),
                rules=(item.rule,),
                saving=Saving(),
                confidence="medium",
                confidence_reason="what it saves depends on how long ranks wait for each other, which no trace records",
                stake=0.0,
                explanation=item.sentence,
                labels=(item.compile,) if item.compile else (),
            )


def _of_alert(found: Alerts, alert: Alert) -> Iterator[NextStep]:
    kinds = alert.kinds
    if AlertKind.FAILURE in kinds:
        yield _failure(found, alert)
    elif AlertKind.BREAK in kinds:
        yield _graph_break(found, alert)
    elif AlertKind.RESTART in kinds:
        if alert.seconds > _COSTLY * found.report.summary.seconds:
            yield _restart(alert)
    elif AlertKind.LIMIT in kinds:
        if not _is_lifted(found.report.advice, alert.code):
            yield _limit(found, alert)
    elif AlertKind.AVOIDABLE in kinds and AlertKind.MARKING not in kinds:
        yield _code_change(found, alert)


def _step(
    alert: Alert, kind: StepKind, title: str, saving: Saving, stake: float, confidence: tuple[str, str], text: tuple[str, ...]
) -> NextStep:
    """What all steps that come from an alert have in common."""
    message = alert.messages[0] if alert.messages else None
    return NextStep(
        kind=kind,
        title=title,
        rules=(alert.rule,),
        saving=saving,
        confidence=confidence[0],
        confidence_reason=confidence[1],
        stake=stake,
        text=text,
        explanation=message.explanation if message else "",
        hints=tuple(dict.fromkeys(hint for item in alert.messages for hint in item.specific_hints)),
        url=message.url if message else "",
        place=alert.source_line,
        snippet=alert.snippet,
        marked=alert.marked,
        labels=alert.labels,
    )


def _code_change(found: Alerts, alert: Alert) -> NextStep:
    """Recompiles that go away when the code, or what is set up before it, changes."""
    recompiles = {item.compile: item for frame in alert.code.frames for item in found.report.explained.of_frame(frame)}
    own = [item for item in alert.occurrences if recompiles[item.compile].verdict is Verdict.CODE]
    sole = [item for item in own if _is_sole_cause(recompiles[item.compile].codes, alert)]
    most = math.fsum(item.seconds for item in own)
    saved = Seconds(math.fsum(item.seconds for item in sole), most)
    reason = "medium", "what changed is known; that the new code meets no other obstacle is not"
    if len(sole) < len(own):
        reason = "low", "some of these recompilations have other causes as well"
    is_setup = alert.rule.code in _SET_UP
    return _step(
        alert,
        StepKind.SETUP if is_setup else StepKind.CODE,
        f"{alert.title}: {alert.remedy}",
        Saving(sum(item.times for item in sole), sum(item.times for item in own), saved),
        _middle(saved),
        reason,
        (),
    )


def _is_sole_cause(codes: Sequence[str], alert: Alert) -> bool:
    return set(codes) <= set(alert.codes)


def _graph_break(found: Alerts, alert: Alert) -> NextStep:
    """Without the break, what it cost goes away, and what resumes the code is compiled as part of it."""
    resumed = [item for code in _resuming(found, alert) for item in found.compiles(code)]
    lost, spent = alert.seconds, math.fsum(item.seconds for item in resumed)
    number = sum(item.weight for item in resumed)
    hints = [hint for message in alert.messages for hint in message.specific_hints]
    confidence = ("medium", "PyTorch names what to change") if hints else ("low", "PyTorch names no way around this break")
    saved = Seconds(lost, lost + spent)
    text = tuple(dict.fromkeys(setting for hint in hints for setting in _SETTING.findall(hint)))
    what = alert.messages[0].title if alert.messages else alert.axis
    return _step(
        alert,
        StepKind.GRAPH_BREAK,
        f"Remove the graph break in {alert.title}: {what}",
        Saving(0, number, saved),
        _middle(saved),
        confidence,
        text,
    )


def _resuming(found: Alerts, alert: Alert) -> Iterator[Code]:
    """The code with which the function goes on after a break: it is named after the line that the break interrupted."""
    lines = {(line.file, line.line) for message in alert.messages for line in message.stack}
    lines |= {(place.file, place.line) for place in _break_places(alert)}
    for code in found.codes:
        if code.resumes and (code.first.file, code.resumes[1]) in lines:
            yield code


def _break_places(alert: Alert) -> Iterator[SourceLine | Frame]:
    for item in dict.fromkeys(occurrence.compile for occurrence in alert.occurrences):
        yield from (found.place for found in item.breaks if found.place and found.message in alert.messages)  # type: ignore[misc]


def _restart(alert: Alert) -> NextStep:
    saved = Seconds(0.0, alert.seconds)
    title = f"Avoid the restarted analysis of {alert.title}: {alert.axis}"
    return _step(alert, StepKind.RESTART, title, Saving(seconds=saved), _middle(saved), ("low", "one restart may be needed"), ())


def _failure(found: Alerts, alert: Alert) -> NextStep:
    failed = {item.compile: item for item in alert.occurrences}
    stake = math.fsum(item.seconds for item in found.compiles(alert.code) if item.compile in failed)
    what = alert.messages[0].title if alert.messages else alert.sentence
    hints = [hint for message in alert.messages for hint in message.specific_hints]
    reason = ("medium", "PyTorch names what to change") if hints else ("low", "the trace holds the error alone")
    text = tuple(dict.fromkeys(setting for hint in hints for setting in _SETTING.findall(hint)))
    return _step(
        alert, StepKind.FAILURE, f"Fix what keeps {alert.title} from compiling: {what}", Saving(failed=alert.count), stake, reason, text
    )


def _is_lifted(advice: Advice | None, code: Code) -> bool:
    """Whether the marks keep this code below the limit."""
    own = [item for item in (advice.forecasts if advice else ()) if item.frame in code.frames]
    return bool(own) and any(item.before.limit_hits for item in own) and not any(item.after.limit_hits for item in own)


def _limit(found: Alerts, alert: Alert) -> NextStep:
    trace = found.report.trace
    refused = sum(item.times for item in alert.occurrences)
    stake = math.fsum(item.seconds for item in found.compiles(alert.code))
    text = (f"{limit_setting(trace.version)} = {2 * (trace.config.recompile_limit or 8)}",)
    reason = "low", "a higher limit costs further compilations; how many is not known"
    return _step(
        alert, StepKind.LIMIT, f"Keep {alert.title} below the recompile limit: {alert.remedy}", Saving(refused=refused), stake, reason, text
    )


def limit_setting(version: TorchVersion) -> str:
    """The setting of the recompile limit, by its name in that version (it has been renamed in torch 2.7)."""
    return f"torch._dynamo.config.{'recompile_limit' if version.at_least(7) else 'cache_size_limit'}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]

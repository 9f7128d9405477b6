"""What became of one piece of code from one run to another: compiles, causes, dynamic dims, and whether that is better or worse."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum

from shapelog.advice.remedies import Remedies
from shapelog.model.code_matching import Code
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.recompiles.shape_table import State
from shapelog.report.break_changes import BreakChange, breaks_of
from shapelog.report.report import FrameReport, Report
from shapelog.rules import RULES, UNEXPLAINED, Remedy, Rule
from shapelog.text import plural

_WITHOUT_CODE = (Outcome.FAILED, Outcome.LIMIT, Outcome.SKIPPED, Outcome.UNFINISHED)


class Effect(Enum):
    """What a change did."""

    BETTER = "better"
    WORSE = "worse"
    MIXED = "mixed"
    SAME = "same"


class Gain(Enum):
    """What is better about a frame. Fewer compiles are a gain only where no compiled code was lost."""

    CODE = "compiled now"
    LIMIT = "no longer over the limit"
    FAILURES = "fewer failed compiles"
    BREAKS = "fewer graph breaks"
    COMPILES = "fewer compiles"


class Loss(Enum):
    """What is worse about a frame. All but more compiles mean that code which was compiled before now runs eagerly, or in pieces."""

    CODE = "no compiled code any more"
    LIMIT = "over the limit now"
    FAILURES = "more failed compiles"
    BREAKS = "more graph breaks"
    COMPILES = "more compiles"


class DynamicSince(Enum):
    """From when on a dim or int was dynamic."""

    NEVER = "static"
    LATER = "dynamic from a later compile on"
    FIRST = "dynamic from the first compile on"


@dataclass(frozen=True, slots=True)
class Counts:
    """What one run did. ``compiles`` produced code; ``failures`` include compiles that never ended; ``breaks`` are places, each counted
    once a frame; ``cached`` are compiles that a compile cache served. None where the torch version does not record it.
    """

    compiles: int = 0
    recompiles: int = 0
    limit_hits: int | None = 0
    failures: int = 0
    breaks: int | None = 0
    cached: int = 0
    seconds: float = 0.0

    @property
    def number(self) -> int:
        """Everything that takes time, compiled or not."""
        return self.compiles + (self.limit_hits or 0) + self.failures


@dataclass(frozen=True, slots=True)
class CauseChange:
    """How many recompiles a cause took part in: its rule, and the property that changed ("" where that is not known).

    ``remedy`` is what helps in the later run: marking a size that the code pins does not.
    """

    code: str
    axis: str
    before: int
    after: int
    remedy: Remedy

    @property
    def rule(self) -> Rule:
        return RULES[self.code]


@dataclass(frozen=True, slots=True)
class DimChange:
    """A dim or int that is dynamic earlier, later, or no longer."""

    axis: str
    source: str
    before: DynamicSince
    after: DynamicSince


@dataclass(frozen=True, slots=True)
class RunSide:
    """One code in one run with its frames' reports; ``code`` is None where that run does not have it."""

    code: Code | None
    remedies: Remedies
    reports: tuple[FrameReport, ...] = ()
    counts: Counts = Counts()

    @property
    def compiles(self) -> tuple[Compile, ...]:
        return tuple(compile for frame in (self.code.frames if self.code else ()) for compile in frame.compiles)


def side_of(code: Code | None, report: Report, reports: Mapping[Frame, FrameReport], is_unrecorded: bool) -> RunSide:
    """``is_unrecorded``: whether the torch version records neither graph breaks nor the recompile limit."""
    if code is None:
        return RunSide(None, report.remedies)
    own = tuple(reports[frame] for frame in code.frames)
    compiles = [item for report in own for item in report.compiles]
    compiled = [item for item in compiles if item.compile.outcome is Outcome.COMPILED]
    counts = Counts(
        compiles=sum(item.weight for item in compiled),
        recompiles=sum(item.weight for item in compiled if item.recompile),
        limit_hits=None if is_unrecorded else sum(item.weight for item in compiles if item.compile.outcome is Outcome.LIMIT),
        failures=sum(item.weight for item in compiles if _failed(item.compile)),
        breaks=None if is_unrecorded else len(breaks_of(code.frames)),
        cached=sum(item.weight for item in compiles if item.compile.is_cached),
        seconds=math.fsum(report.seconds for report in own),
    )
    return RunSide(code, report.remedies, own, counts)


def summed(counts: Sequence[Counts], is_unrecorded: bool) -> Counts:
    columns = {field.name: [getattr(item, field.name) or 0 for item in counts] for field in fields(Counts)}
    seconds = math.fsum(columns.pop("seconds"))
    total = Counts(seconds=seconds, **{name: sum(column) for name, column in columns.items()})
    return replace(total, limit_hits=None, breaks=None) if is_unrecorded else total


def _failed(compile: Compile) -> bool:
    """Whether it failed, or never ended; what compiled autograd captures has no stack, and no end either."""
    return compile.outcome is Outcome.FAILED or (compile.outcome is Outcome.UNFINISHED and compile.stack.header is not None)


def cause_changes(before: RunSide, after: RunSide) -> tuple[CauseChange, ...]:
    """The causes of either run, those that changed most first."""
    was, now = causes_of(before), causes_of(after)
    remedies = _remedies(before) | _remedies(after)
    return _in_order(CauseChange(*key, was[key], now[key], remedies[key]) for key in was | now)


def merged(causes: Iterable[CauseChange]) -> tuple[CauseChange, ...]:
    """The causes of several frames together."""
    found: dict[tuple[str, str], CauseChange] = {}
    for item in causes:
        known = found.get((item.code, item.axis))
        sums = (item.before + known.before, item.after + known.after) if known else (item.before, item.after)
        remedy = known.remedy if known and item.remedy.rule is item.rule else item.remedy
        found[item.code, item.axis] = CauseChange(item.code, item.axis, *sums, remedy)
    return _in_order(found.values())


def _in_order(causes: Iterable[CauseChange]) -> tuple[CauseChange, ...]:
    return tuple(sorted(causes, key=lambda item: (-abs(item.after - item.before), -item.after, item.code, item.axis)))


def causes_of(side: RunSide) -> Counter[tuple[str, str]]:
    """(rule code, property) → in how many recompiles; those that failed or were refused count as well, calls that Dynamo skipped do not."""
    found: Counter[tuple[str, str]] = Counter()
    for item in (item for report in side.reports for item in report.compiles):
        if item.recompile and item.compile.outcome is not Outcome.SKIPPED:
            for key in {(cause.remedy_rule.code, cause.axis) for cause in item.recompile.causes} or {(UNEXPLAINED.code, "")}:
                found[key] += item.weight
    return found


def _remedies(side: RunSide) -> dict[tuple[str, str], Remedy]:
    """(rule code, property) → what helps; why marking is not enough wins over what to mark."""
    found = {(UNEXPLAINED.code, ""): Remedy(UNEXPLAINED, UNEXPLAINED.remedy)}
    for recompile, cause in ((item, cause) for report in side.reports for item in report.recompiles for cause in item.causes):
        key = cause.remedy_rule.code, cause.axis
        if key not in found or found[key].rule is cause.remedy_rule:
            found[key] = side.remedies.of((recompile,), (cause,))
    return found


def dim_changes(before: RunSide, after: RunSide) -> tuple[DimChange, ...]:
    """The dims and ints that both runs look at and that are dynamic from another compile on, or in one run alone."""
    if not any(compile.is_dynamic for side in (before, after) for compile in side.compiles):
        return ()
    was, now = _since(before), _since(after)
    found = (DimChange(axis, now[axis][0], was[axis][1], now[axis][1]) for axis in now if axis in was)
    return tuple(item for item in found if item.before is not item.after)


def _since(side: RunSide) -> dict[str, tuple[str, DynamicSince]]:
    """Property → (source, from when on it is dynamic), over the compiles that produced code."""
    found: dict[str, tuple[str, DynamicSince]] = {}
    for report in side.reports:
        table = report.shapes
        columns = [index for index, compile in enumerate(table.compiles) if compile.outcome is Outcome.COMPILED]
        for row in table.rows:
            states = [state for index in columns if (state := row.cells[index].state) is not State.ABSENT]
            if not states:
                continue
            since = (
                DynamicSince.FIRST if states[0] is State.DYNAMIC else DynamicSince.LATER if State.DYNAMIC in states else DynamicSince.NEVER
            )
            known = found.setdefault(row.name, (row.source, since))[1]
            if known is DynamicSince.NEVER and since is not known:  # a generation before it was static throughout
                found[row.name] = (row.source, DynamicSince.LATER)
    return found


def gains_and_losses(before: RunSide, after: RunSide, breaks: tuple[BreakChange, ...]) -> tuple[tuple[Gain, ...], tuple[Loss, ...]]:
    """What is better and what is worse about code that both runs have."""
    was, now = before.counts, after.counts
    if not now.compiles:  # eager in both, or lost: whatever else went down did so because nothing is compiled
        return (), (Loss.CODE,) if was.compiles else ()
    gains = [] if was.compiles else [Gain.CODE]
    losses: list[Loss] = []
    hits = bool(now.limit_hits) - bool(was.limit_hits) if None not in (was.limit_hits, now.limit_hits) else 0
    more_breaks = sum(1 if item.is_new else -1 for item in breaks)
    for change, gain, loss in (
        (hits, Gain.LIMIT, Loss.LIMIT),
        (now.failures - was.failures, Gain.FAILURES, Loss.FAILURES),
        (more_breaks, Gain.BREAKS, Loss.BREAKS),
    ):
        if change > 0 and was.compiles:
            losses.append(loss)
        elif change < 0:
            gains.append(gain)
    is_capped = was.limit_hits is None and bool(now.limit_hits)  # it is not known whether it was before
    if now.compiles < was.compiles and not losses and not is_capped:
        gains.append(Gain.COMPILES)
    elif now.compiles > was.compiles > 0:
        losses.append(Loss.COMPILES)
    return tuple(gains), tuple(losses)


def facts_of(before: RunSide, after: RunSide, gains: tuple[Gain, ...], losses: tuple[Loss, ...]) -> tuple[str, ...]:
    """Sentences about code that both runs have, what is worse first."""
    was, now = before.counts, after.counts
    shown = [gain for gain in gains if gain is not Gain.FAILURES or Gain.CODE not in gains]
    facts = [_loss_sentence(loss, before, after) for loss in losses] + [_gain_sentence(gain, before, after) for gain in shown]
    if now.compiles < was.compiles and losses:
        facts.append("fewer compilations are not an improvement here")
    elif now.compiles < was.compiles and Gain.COMPILES not in gains:
        facts.append(f"{instead(was.compiles, now.compiles, 'compilation')}, but the recompile limit is hit, and may have been hit before")
    if facts:
        return tuple(facts)
    if not now.compiles:
        return ("no compiled code in either run" + (f": {_ended(after)}" if now.failures > was.failures else ""),)
    reasons = ", for other reasons" if causes_of(before) != causes_of(after) else ""
    return (instead(was.compiles, now.compiles, "compilation") + reasons,)


def dim_facts(dims: tuple[DimChange, ...]) -> tuple[str, ...]:
    """A sentence for each kind of change, with the first dim and how many more there are."""
    facts = []
    for since in DynamicSince:
        named = [item.axis for item in dims if item.after is since]
        if named:
            facts.append(f"{named[0]} {f'and {len(named) - 1} more are' if len(named) > 1 else 'is'} {since.value}")
    return tuple(facts)


def break_facts(breaks: tuple[BreakChange, ...]) -> tuple[str, ...]:
    """Where the graph breaks now, with how many more such places there are."""
    new = [item for item in breaks if item.is_new]
    if not new:
        return ()
    where = f" at {location.short}" if (location := new[0].location) else ""
    return (f"new graph break{where}: {new[0].words}" + (f", and {len(new) - 1} more" if len(new) > 1 else ""),)


def _loss_sentence(loss: Loss, before: RunSide, after: RunSide) -> str:
    was, now = before.counts, after.counts
    if loss is Loss.CODE:
        return f"lost its compiled code ({counted(was.compiles, 'compilation')} before) and runs in eager mode or raises: {_ended(after)}"
    if loss is Loss.LIMIT:
        return f"now hits the recompile limit ({_ended(after, (Outcome.LIMIT,))}): any call that misses the cache runs in eager mode"
    if loss is Loss.FAILURES:
        how = _ended(after, (Outcome.FAILED, Outcome.UNFINISHED))
        return f"{instead(was.failures, now.failures, 'failed compilation')} ({how}): these calls run in eager mode or raise"
    if loss is Loss.BREAKS:
        return _breaks_instead(was, now, "more")
    gained = [item for item in cause_changes(before, after) if item.after > item.before]
    why = f", because of {_named(gained[0])}" if gained else ""
    return instead(was.compiles, now.compiles, "compilation") + why


def _gain_sentence(gain: Gain, before: RunSide, after: RunSide) -> str:
    was, now = before.counts, after.counts
    if gain is Gain.CODE:
        return f"now compiled ({counted(now.compiles, 'compilation')}); it was not before"
    if gain is Gain.LIMIT:
        return "no longer hits the recompile limit"
    if gain is Gain.FAILURES:
        return instead(was.failures, now.failures, "failed compilation")
    if gain is Gain.BREAKS:
        return _breaks_instead(was, now, "fewer")
    left = max(cause_changes(RunSide(None, after.remedies), after), key=lambda item: item.after, default=None)
    rest = f", still recompiles for {_named(left)}" if left else ", no recompilations remain" if was.recompiles else ""
    return instead(was.compiles, now.compiles, "compilation") + rest


def _breaks_instead(was: Counts, now: Counts, change: str) -> str:
    """Where others moved in from other graphs or out to these, the numbers of this one do not have it."""
    number = (now.breaks or 0) - (was.breaks or 0)
    is_in_numbers = number > 0 if change == "more" else number < 0
    return instead(was.breaks or 0, now.breaks or 0, "graph break") if is_in_numbers else f"{change} graph breaks"


def _named(item: CauseChange) -> str:
    return f"{item.axis or item.rule.name} ({item.code})"


def _ended(side: RunSide, outcomes: tuple[Outcome, ...] = _WITHOUT_CODE) -> str:
    """How the last compile with one of these outcomes ended."""
    ended = [item for item in side.compiles if item.outcome in outcomes]
    if not ended:
        return "no record of it"
    last = ended[-1]
    if last.outcome is Outcome.FAILED:
        return f"{last.reference} failed: {last.failure.title}"
    words = {Outcome.LIMIT: "was refused", Outcome.SKIPPED: "produced no code"}
    return f"{last.reference} {words.get(last.outcome, 'did not finish')}"


def counted(number: int, noun: str) -> str:
    return plural(number, noun) if number else f"no {noun}s"


def instead(before: int, after: int, noun: str) -> str:
    """``2 compilations instead of 5``, ``2 compilations as before``, ``no more compilations``."""
    if before and not after:
        return f"no more {noun}s"
    return f"{counted(after, noun)} as before" if before == after else f"{counted(after, noun)} instead of {before or 'none'}"

"""What marking will not fix: the recompiles that remain, each with its obstacle and the remedy."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from shapelog.advice.minimal_marks import HarmfulMark, HarmfulMarks, mark_for
from shapelog.advice.remedies import Remedies
from shapelog.advice.replay import Marks, Replay
from shapelog.display import in_notebook
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.rules import Rule, Verdict, any_blocks_marking
from shapelog.text import compilations

# What another dim of the same tensor, or of another one, may be marked for.
_RELATIVE = frozenset(("SL103", "SL105"))


class Remaining(NamedTuple):
    """Recompiles of one code that stay for one and the same reason. ``frame`` and ``change`` are those of the first of them.

    ``why_left_out`` is the harm that a mark for it would do, "" where none was left out.
    """

    frame: Frame
    axis: str
    rule: Rule
    size_related: bool
    verdict: Verdict
    compiles: tuple[Compile, ...]
    change: str
    remedy: str
    place: str
    why_left_out: str = ""

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def sentence(self) -> str:
        """What changed, and why no mark is listed for it."""
        return f"{self.change}; a mark for it was left out: {self.why_left_out}" if self.why_left_out else self.change

    @property
    def limit_hits(self) -> int:
        """How many of them were refused at the recompile limit."""
        return sum(compile.outcome is Outcome.LIMIT for compile in self.compiles)

    @property
    def counted(self) -> str:
        """``7 recompilations and 1 limit hit``."""
        return compilations(len(self.compiles) - self.limit_hits, self.limit_hits, "recompilation")

    @property
    def seconds(self) -> float:
        return math.fsum(compile.seconds for compile in self.compiles)


class WithOneRemedy(NamedTuple):
    """Reasons of one rule that one remedy is for, most expensive first."""

    rule: Rule
    remedy: str
    members: tuple[Remaining, ...]

    @property
    def counted(self) -> str:
        """``7 recompilations and 1 limit hit``."""
        refused = sum(item.limit_hits for item in self.members)
        return compilations(sum(len(item.compiles) for item in self.members) - refused, refused, "recompilation")

    @property
    def seconds(self) -> float:
        return math.fsum(item.seconds for item in self.members)


def by_remedy(items: Sequence[Remaining]) -> tuple[WithOneRemedy, ...]:
    """What remains, with each remedy once, most expensive first."""
    same_remedy = grouped(items, lambda item: (item.rule, item.remedy))
    found = [WithOneRemedy(rule, remedy, tuple(members)) for (rule, remedy), members in same_remedy.items()]
    return tuple(sorted(found, key=lambda item: -item.seconds))


def remaining(
    explained: Explanations, replayed: Replay, marks: Marks, left_out: tuple[HarmfulMark, ...], version: TorchVersion, remedies: Remedies
) -> tuple[Remaining, ...]:
    """The recompiles that these marks leave, most expensive first. Failed and skipped ones are not counted: they left no code."""
    instead = HarmfulMarks(left_out)
    groups: dict[tuple[object, ...], list[tuple[Recompile, Cause | None, str]]] = {}
    for plan in replayed.plans:
        gone = {plan.calls[index].compile for index in plan.served(marks)}
        by_compile = {item.compile: item for item in explained.of_frame(plan.frame)}
        for call in plan.calls:
            item = by_compile.get(call.compile)
            if item is None or call.compile in gone:
                continue
            if call.compile.outcome is Outcome.LIMIT and gone:
                continue  # there is room for it now
            cause, note = _obstacle(item, marks, instead, version)
            # one code may have a frame for each rank, and one more after every torch._dynamo.reset()
            key = (plan.frame.origin, cause.remedy_rule.code if cause else "SL399", cause.axis if cause else note)
            groups.setdefault(key, []).append((item, cause, note))
    found = [_joined(members, instead, remedies) for members in groups.values()]
    return tuple(sorted(found, key=lambda item: (-item.seconds, item.compiles[0].order)))


def _obstacle(item: Recompile, marks: Marks, instead: HarmfulMarks, version: TorchVersion) -> tuple[Cause | None, str]:
    """The cause that no mark removes, or that is not marked, or another obstacle. Of a justified recompile, it is one that justifies it."""
    for cause in item.causes_by_need if item.verdict is Verdict.JUSTIFIED else ():
        if cause.verdict is not Verdict.CODE and (any_blocks_marking(cause.codes) or not cause.rule.markable):
            return cause, ""
    for cause in item.causes_by_need:
        if not cause.size_related or not cause.rule.markable:
            return cause, ""
    for cause in item.causes:
        if any_blocks_marking(cause.codes):
            return cause, ""
    for cause in item.causes:
        if instead.for_cause(cause) or (not version.reads_sources and ("SL106" in cause.codes or mark_for(cause).is_int)):
            return cause, ""
    for cause in item.causes:
        if cause.rule.code == item.blocking_rule:
            return cause, item.why_not_markable
    for cause in item.causes:
        if cause.codes[0] not in _RELATIVE and mark_for(cause) not in marks:
            return cause, item.why_not_markable
    return (item.causes[0], item.why_not_markable) if item.causes else (None, item.unexplained_because)


def _joined(members: list[tuple[Recompile, Cause | None, str]], instead: HarmfulMarks, remedies: Remedies) -> Remaining:
    item, cause, note = members[0]
    remedy = remedies.of((item,), (cause,) if cause else ())
    sentence = cause.sentence if cause else (note or "the trace does not record why")
    if cause and note:
        sentence = f"{sentence}; {note}"
    harm = instead.for_cause(cause) if cause and cause.size_related and cause.rule.markable else None
    return Remaining(
        frame=item.frame,
        axis=cause.axis if cause else "",
        rule=remedy.rule,
        size_related=item.size_related,
        verdict=item.verdict,
        compiles=tuple(member.compile for member, _, _ in members),
        change=sentence,
        remedy=remedy.text,
        place=str(cause.place) if cause and cause.place else "",
        why_left_out=harm.reason if harm else "",
    )

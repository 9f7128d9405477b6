"""The calls of a trace, replayed under marks: which compiles would go, which stay, and what the rest costs.

A call that was compiled is served by an earlier entry once all that separates the two is marked. What a run does beyond the calls that
compiled is not in its trace: calls that hit the cache hit it again, and calls after a limit hit are not known.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.advice.marks import Mark
from shapelog.advice.propagation import Flows
from shapelog.advice.routes import Route, route
from shapelog.model.trace import Compile, Frame, Outcome, Trace
from shapelog.recompiles.explain import Study
from shapelog.recompiles.graph_reuse import at_the_limit

Marks = frozenset[Mark]


@dataclass(frozen=True, slots=True)
class Cost:
    """Compiles that produce code, recompile-limit hits, and seconds of compiling."""

    compiles: int = 0
    limit_hits: int = 0
    seconds: float = 0.0

    @property
    def total(self) -> int:
        return self.compiles + self.limit_hits

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.compiles + other.compiles, self.limit_hits + other.limit_hits, self.seconds + other.seconds)


class Call(NamedTuple):
    """A call that was compiled, or hit the limit, and the ways in which an earlier entry would serve it.

    ``seconds`` are those of all ranks that the frame stands for.
    """

    compile: Compile
    routes: tuple[Route, ...]
    seconds: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FramePlan:
    """The calls of one frame in order. ``fixed_seconds`` are those of failed compiles, which stay whatever is marked.

    ``weight`` is the number of ranks that the frame stands for, each of which compiles what it does. ``model`` is the plan of the frame
    that recompiled first as this one did, if there is one before.
    """

    frame: Frame
    calls: tuple[Call, ...]
    fixed_seconds: float
    marks: Marks
    weight: int = 1
    model: "FramePlan | None" = None
    known: dict[Marks, dict[int, Route]] = field(default_factory=dict)

    def served(self, marks: Marks) -> dict[int, Route]:
        """The calls that need no compile of their own, by their place in ``calls``, and what serves each."""
        found = self.known.get(marks)
        if found is None:
            found = self.known[marks] = self._served(marks)
        return found

    def _served(self, marks: Marks) -> dict[int, Route]:
        found: dict[int, Route] = {}
        kept: set[int] = set()
        for index, call in enumerate(self.calls):
            way = _way(call.routes, kept, marks)
            if way is not None:
                found[index] = way
            elif call.compile.outcome is Outcome.COMPILED:
                kept.add(id(call.compile))
        return found

    def cost(self, marks: Marks) -> Cost:
        """What this frame would cost. A limit hit that stays after entries have gone becomes a compile: there is room for it."""
        served = self.served(marks)
        left = [call for index, call in enumerate(self.calls) if index not in served]
        room = any(self.calls[index].compile.outcome is Outcome.COMPILED for index in served)
        hits = sum([call.compile.outcome is Outcome.LIMIT for call in left])
        seconds = self.fixed_seconds + math.fsum(self._seconds(left, served))
        return Cost(self.weight * (len(left) - (0 if room else hits)), 0 if room else self.weight * hits, seconds)

    def _seconds(self, left: list[Call], served: dict[int, Route]) -> list[float]:
        """A static compile that serves others becomes a dynamic one, and takes as long as that took where the trace has one."""
        dynamic = {id(way.entry): call.seconds for index, way in served.items() if (call := self.calls[index]).compile.is_dynamic}
        return [call.seconds if call.compile.is_dynamic else dynamic.get(id(call.compile), call.seconds) for call in left]


def _way(routes: Iterable[Route], kept: set[int], marks: Marks) -> Route | None:
    """The first of these routes whose entry is still there and whose needs are met."""
    for way in routes:
        if id(way.entry) in kept and not any(map(marks.isdisjoint, way.needs)):
            return way
    return None


@dataclass(slots=True, eq=False, repr=False)
class Replay:
    """All frames of a trace, ready to be asked what any set of marks would do.

    ``weights`` has, by identity of each plan without a model, the ranks that it and those like it stand for together.
    """

    plans: tuple[FramePlan, ...]
    by_mark: dict[Mark, list[FramePlan]]
    weights: Counter[int]
    costs: dict[tuple[int, Marks], Cost] = field(default_factory=dict)

    def cost_of(self, plan: FramePlan, marks: Marks) -> Cost:
        """What one frame would cost under these marks."""
        key = (id(plan), marks & plan.marks)
        found = self.costs.get(key)
        if found is None:
            found = self.costs[key] = plan.cost(key[1])
        return found

    def cost(self, marks: Iterable[Mark]) -> Cost:
        """What the whole run would cost under these marks; () gives what it did cost."""
        chosen = frozenset(marks)
        compiles, limit_hits, seconds = 0, 0, 0.0
        for plan in self.plans:
            cost = self.cost_of(plan, chosen)
            compiles, limit_hits, seconds = compiles + cost.compiles, limit_hits + cost.limit_hits, seconds + cost.seconds
        return Cost(compiles, limit_hits, seconds)

    def earns(self, unit: Iterable[Mark], chosen: Marks) -> int:
        """How many compiles and limit hits would come back were these marks left out of the chosen ones."""
        members = frozenset(unit)
        models = {id(plan): plan for mark in members for plan in self.by_mark.get(mark, ()) if plan.model is None}
        rest = chosen - members
        return sum(
            self.weights[key] * (self.cost_of(plan, rest).total - self.cost_of(plan, chosen).total) // plan.weight
            for key, plan in models.items()
        )


def replay(studied: Study) -> Replay:
    """Work out, for each call of each frame, which earlier entries would serve it under which marks."""
    flows = Flows(studied.trace, studied.comparer)
    made: dict[int, FramePlan] = {}
    for frame in studied.trace.frames:
        model = made.get(id(studied.models.get(id(frame))))
        made[id(frame)] = _plan(frame, studied, flows) if model is None or flows.may_lead_to(frame) else _plan_like(model, frame, studied)
    plans = tuple(made.values())
    by_mark: dict[Mark, list[FramePlan]] = {}
    weights: Counter[int] = Counter()
    for plan in plans:
        weights[id(plan.model or plan)] += plan.weight
        for mark in plan.marks:
            by_mark.setdefault(mark, []).append(plan)
    return Replay(plans, by_mark, weights)


def _plan(frame: Frame, studied: Study, flows: Flows) -> FramePlan:
    calls = []
    entries: list[Compile] = []
    for compile in frame.compiles:
        if compile.outcome in (Outcome.COMPILED, Outcome.LIMIT):
            ways = _routes(frame, compile, studied, flows) if entries and id(frame) not in studied.failed else ()
            calls.append(Call(compile, ways, studied.trace.seconds(compile)))
        if compile.outcome is Outcome.COMPILED:
            entries.append(compile)
    marks = frozenset([mark for call in calls for way in call.routes for need in way.needs for mark in need])
    return FramePlan(frame, tuple(calls), _fixed(frame, studied.trace), marks, studied.trace.weight(frame.rank))


def _plan_like(model: FramePlan, frame: Frame, studied: Study) -> FramePlan:
    """The plan of a frame that recompiled as another one did."""
    trace = studied.trace
    own = {id(other): compile for other, compile in zip(model.frame.compiles, frame.compiles, strict=True)}
    calls = []
    for call in model.calls:
        compile = own[id(call.compile)]
        calls.append(Call(compile, tuple([way._replace(entry=own[id(way.entry)]) for way in call.routes]), trace.seconds(compile)))
    return FramePlan(frame, tuple(calls), _fixed(frame, trace), model.marks, trace.weight(frame.rank), model)


def _fixed(frame: Frame, trace: Trace) -> float:
    others = [compile for compile in frame.compiles if compile.outcome not in (Outcome.COMPILED, Outcome.LIMIT)]
    return math.fsum(map(trace.seconds, others))


def _routes(frame: Frame, compile: Compile, studied: Study, flows: Flows) -> tuple[Route, ...]:
    told = studied.told[id(compile)]
    if compile.outcome is Outcome.LIMIT:
        told = [known for item in told if (known := at_the_limit(item, told))]
    ways = [route(frame, item, compile, studied.comparer, flows) for item in told]
    return tuple([way for way in ways if way is not None])

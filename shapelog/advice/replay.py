"""The calls of a trace, replayed under marks: which compiles would go, which remain, and what the rest costs.

A call that was compiled is served by an earlier entry once all that separates the two is marked. What a run does beyond the calls that
compiled is not in its trace: calls that hit the cache hit it again, and calls after a limit hit are not known.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import NamedTuple

from shapelog.advice.base_marks import with_bases
from shapelog.advice.compile_seconds import Seconds, first_compiles, is_measured, when_dynamic, with_more_symbols
from shapelog.advice.dynamism.propagation import DynamismPropagation
from shapelog.advice.marks import Mark
from shapelog.advice.routes import Route, Router
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.model.frame import Callers, Frame, Function
from shapelog.model.trace import Trace
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.backends import has_backends
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.reuse.refused_calls import complete_refused

Marks = frozenset[Mark]
# The routes of a call to what replaces entries that would serve it.
_MOST_THROUGH_OTHERS = 8


@dataclass(frozen=True, slots=True)
class Cost:
    """Compiles that produce code, recompile-limit hits, and seconds of compiling.

    ``kept`` are the seconds that the compiles which are left took in this run: no more is saved than the others took.

    ``forbidden`` are recompiles that raise an error instead, because the program allows none (``error_on_recompile``).

    Calls that left no records, because they came after a limit hit, may cost up to ``more`` compiles and limit hits in addition.
    Where one entry serves every call that is recorded, also the one that hit the limit, it is expected to serve those after it too:
    what they may cost all the same is ``unexpected``, without their seconds. Refused calls that are served as far as their record shows,
    which has one failed guard for each entry, may be left: ``doubtful`` is how many. ``unsure`` are other calls that may: a tensor is
    taken to be what another function returned, by its sizes, or the compile that goes may have served calls that left no records; a graph
    for views whose base becomes dynamic may be added. These calls took ``unsure_seconds``.
    ``replaced`` are calls that are not served if code outside puts other tensors in place of those that a function keeps.
    """

    compiles: int = 0
    limit_hits: int = 0
    seconds: Seconds = field(default_factory=Seconds)
    more: int = 0
    unexpected: int = 0
    doubtful: int = 0
    unsure: int = 0
    replaced: int = 0
    forbidden: int = 0
    unsure_seconds: float = 0.0
    kept: float = field(default=0.0, compare=False)

    @property
    def in_this_run(self) -> "Cost":
        """The same, had this run compiled no more than that."""
        return replace(self, seconds=self.seconds.at_least(self.kept))

    @property
    def refused(self) -> int:
        """Calls that are not compiled: limit hits, and what is forbidden."""
        return self.limit_hits + self.forbidden

    @property
    def total(self) -> int:
        return self.compiles + self.limit_hits

    @property
    def spread(self) -> int:
        """How many compiles more than predicted there may well be: the width of the range that is shown."""
        return self.more + self.unsure

    @property
    def unrecorded(self) -> int:
        """What calls may cost in addition that left no records, expected or not, or not all of what they differ in."""
        return self.more + self.unexpected + self.doubtful

    @property
    def may_reach_limit(self) -> bool:
        """Whether calls that left no records, or not all of what they differ in, may be refused all the same.

        In 8 of 15 runs that were measured the limit was hit as before where this was so.
        """
        return bool(self.more or self.doubtful)

    @property
    def at_most(self) -> int:
        return self.total + self.unrecorded + self.unsure + self.replaced


def total_cost(costs: Sequence[Cost]) -> Cost:
    """What several frames cost together."""
    return Cost(
        compiles=sum([cost.compiles for cost in costs]),
        limit_hits=sum([cost.limit_hits for cost in costs]),
        seconds=Seconds.total(cost.seconds for cost in costs),
        more=sum([cost.more for cost in costs]),
        unexpected=sum([cost.unexpected for cost in costs]),
        doubtful=sum([cost.doubtful for cost in costs]),
        unsure=sum([cost.unsure for cost in costs]),
        replaced=sum([cost.replaced for cost in costs]),
        forbidden=sum([cost.forbidden for cost in costs]),
        unsure_seconds=math.fsum([cost.unsure_seconds for cost in costs]),
        kept=math.fsum([cost.kept for cost in costs]),
    )


class Call(NamedTuple):
    """A call that was compiled or refused, and the ways in which an earlier entry would serve it.

    ``seconds`` are those of all ranks that the frame represents; ``is_first`` a first compile of its process.
    """

    compile: Compile
    routes: tuple[Route, ...]
    seconds: float
    is_first: bool = False


class Widened(NamedTuple):
    """Compiles of a frame that marks make dynamic without making them fewer: how many, their seconds, and the most that they take more."""

    frame: Frame
    compiles: int
    seconds: float
    more: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FramePlan:
    """The calls of one frame in order. ``fixed_seconds`` are those of failed compiles, which remain whatever is marked.

    ``marks`` are those that its routes require, ``settling`` those that settle what is in doubt about them, ``splitting`` those under which
    it may need one more graph, for views of what other compiled code returns; ``weight`` is the number of ranks that the frame represents,
    each of which compiles what it does. ``followers`` has, for each frame that it runs, how often that was compiled: it compiles nothing
    more once this one is at the recompile limit. ``has_backends`` is whether its code is compiled with more than one backend. ``widening``
    has, for each compile, the marks of any frame that make sizes symbolic which were constants in it: they match by name. ``alike`` are
    the compiles of the same code, those of other ranks included, each with the seconds of one rank.
    """

    frame: Frame
    calls: tuple[Call, ...]
    fixed_seconds: float
    marks: Marks
    settling: Marks = frozenset()
    splitting: Marks = frozenset()
    weight: int = 1
    followers: tuple[int, ...] = ()
    has_backends: bool = False
    widening: Mapping[Compile, Marks] = field(default_factory=dict)
    alike: tuple[Call, ...] = ()
    _served: dict[Marks, dict[int, Route]] = field(default_factory=dict)
    _costs: dict[Marks, Cost] = field(default_factory=dict)

    @property
    def is_full(self) -> bool:
        """Whether it hit the recompile limit."""
        return any(call.compile.outcome is Outcome.LIMIT for call in self.calls)

    def served(self, marks: Marks) -> dict[int, Route]:
        """The calls that need no compile of their own under these marks, by their place in ``calls``, and what serves each."""
        own = marks & self.marks
        if own not in self._served:
            self._served[own] = self._serve(own)
        return self._served[own]

    def _serve(self, marks: Marks) -> dict[int, Route]:
        found: dict[int, Route] = {}
        remaining: set[Compile] = set()
        for index, call in enumerate(self.calls):
            route = _first_usable(call.routes, remaining, marks)
            if route is not None:
                found[index] = route
            elif call.compile.outcome is Outcome.COMPILED:
                remaining.add(call.compile)
        return found

    def cost(self, marks: Marks) -> Cost:
        """What this frame would cost under these marks."""
        own = marks & (self.marks | self.settling | self.splitting)
        if own not in self._costs:
            self._costs[own] = self._cost(own, self.served(own))
        return self._costs[own]

    def _cost(self, marks: Marks, served: dict[int, Route]) -> Cost:
        """A limit hit that remains after entries have gone becomes a compile: there is room for it, and for calls that came after it."""
        left = [call for index, call in enumerate(self.calls) if index not in served]
        has_room = any(self.calls[index].compile.outcome is Outcome.COMPILED for index in served)
        hits = 0 if has_room else sum([call.compile.outcome is Outcome.LIMIT for call in left])
        forbidden = sum([call.compile.is_forbidden for call in left])
        room = len(served) if has_room and self.is_full else 0
        more = room + sum(min(room, compiled) for compiled in self.followers) if len(left) > 1 else 0
        in_doubt = {index for index, route in served.items() if route.is_doubtful(marks) or route.narrows(marks)}
        doubtful = [self.calls[index].compile.is_refused for index in in_doubt]
        unsure = [self.calls[index].seconds for index in in_doubt if not self.calls[index].compile.is_refused]
        if not marks.isdisjoint(self.splitting):
            unsure.append(max((call.seconds for call in self.calls), default=0.0))
        replaced = [index for index in served.keys() - in_doubt if served[index].may_be_replaced(marks)]
        return Cost(
            compiles=self.weight * (len(left) - hits - forbidden),
            limit_hits=self.weight * hits,
            seconds=self._seconds(left, served, more),
            more=self.weight * more,
            unexpected=0 if more else self.weight * room,
            doubtful=self.weight * sum(doubtful),
            unsure=self.weight * len(unsure),
            replaced=self.weight * len(replaced),
            forbidden=self.weight * forbidden,
            unsure_seconds=math.fsum(unsure),
            kept=self.fixed_seconds + math.fsum([call.seconds for call in left]),
        )

    def assumes_seconds(self, marks: Marks) -> bool:
        """Whether an entry that becomes dynamic under these marks takes an unknown time: no compile shows what a dynamic one takes."""
        by_entry = self._by_entry(self.served(marks))
        return any(call.compile in by_entry and not is_measured(call, by_entry[call.compile]) for call in self.calls)

    def _by_entry(self, served: dict[int, Route]) -> dict[Compile, list["Call"]]:
        """The calls that each entry serves."""
        found: dict[Compile, list[Call]] = {}
        for index, route in served.items():
            found.setdefault(route.entry, []).append(self.calls[index])
        return found

    def widened(self, marks: Marks) -> Widened:
        """The compiles that these marks make dynamic, or more so, without serving another call: as often, and taking longer."""
        served = self.served(marks)
        by_entry = self._by_entry(served)
        left = [call for index, call in enumerate(self.calls) if index not in served and call.compile not in by_entry]
        more = {call: len(self.widening.get(call.compile, frozenset()) & marks) for call in left}
        own = [call for call, number in more.items() if number]
        taken = math.fsum(call.seconds for call in own)
        longer = Seconds.total(with_more_symbols(_of_one_rank(call, self.weight), more[call], self.alike) for call in own)
        return Widened(self.frame, len(own), taken, max(0.0, self.weight * (longer.most or 0.0) - taken))

    def more_seconds(self, marks: Marks) -> Seconds:
        """What compiles take more that these marks make dynamic without making them fewer."""
        return Seconds(0.0, self.widened(marks).more)

    def _seconds(self, left: list[Call], served: dict[int, Route], more: int) -> Seconds:
        """What the calls that are left take, and up to ``more`` others."""
        if not served:
            return Seconds.exactly(self.fixed_seconds + math.fsum([call.seconds for call in left]))
        by_entry = self._by_entry(served)
        entries = [call for call in self.calls if call.compile.outcome is Outcome.COMPILED]
        taken = [call.seconds for call in entries] or [0.0]
        parts = [Seconds.exactly(self.fixed_seconds), Seconds(0.0, more * max(taken))]
        for call in left:
            if call.compile in by_entry:
                others = [other for other in entries if other is not call] if call.is_first else []
                parts.append(when_dynamic(call, by_entry[call.compile], others))
            else:
                is_new = more and call.compile.outcome is Outcome.LIMIT
                parts.append(Seconds(min(taken), max(taken)) if is_new else Seconds.exactly(call.seconds))
        return Seconds.total(parts)


def _first_usable(routes: Iterable[Route], remaining: set[Compile], marks: Marks) -> Route | None:
    """The first of these routes whose entry is still compiled and whose marks are set."""
    for route in routes:
        if (route.is_elsewhere or route.entry in remaining) and not any(map(marks.isdisjoint, route.required_marks)):
            return route
    return None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Replay:
    """All frames of a trace, ready to be asked what any set of marks would do."""

    plans: tuple[FramePlan, ...]
    by_mark: dict[Mark, list[FramePlan]]

    def plans_with(self, marks: Iterable[Mark]) -> list[FramePlan]:
        """The plans whose routes require one of these marks; where none does, those in which one settles what is in doubt."""
        together = frozenset(marks)
        found = dict.fromkeys(plan for mark in sorted(together) for plan in self.by_mark.get(mark, ()))
        return list(found) or [plan for plan in self.plans if not plan.settling.isdisjoint(together)]

    def cost(self, marks: Iterable[Mark]) -> Cost:
        """What the whole run would cost under these marks; () gives what it did cost."""
        chosen = frozenset(marks)
        return total_cost([plan.cost(chosen) for plan in self.plans])

    def cost_in_this_run(self, marks: Iterable[Mark]) -> Cost:
        """What this run would have cost, had these marks been set."""
        chosen = frozenset(marks)
        return total_cost([plan.cost(chosen).in_this_run for plan in self.plans])

    def widened(self, marks: Iterable[Mark]) -> list[Widened]:
        """What marks make dynamic without making it fewer, the frames that took longest first."""
        chosen = frozenset(marks)
        found = [known for plan in self.plans if (known := plan.widened(chosen)).compiles]
        return sorted(found, key=lambda item: -item.seconds)

    def more_seconds(self, marks: Marks) -> Seconds:
        """The same of all frames."""
        return Seconds(0.0, math.fsum(item.more for item in self.widened(marks)))

    def served(self, marks: Marks) -> Iterator[tuple[Compile, Route]]:
        """The calls that need no compile of their own under these marks, and what serves each."""
        return ((plan.calls[index].compile, route) for plan in self.plans for index, route in plan.served(marks).items())


def predicted(replayed: Replay | FramePlan, marks: Marks) -> Cost:
    """What another run with these marks will cost; without any it is what was recorded. Compiles that may stay all the same take time."""
    cost = replayed.cost(marks)
    seconds = Seconds.total((cost.seconds, Seconds(0.0, cost.unsure_seconds), replayed.more_seconds(marks)))
    return replace(cost, seconds=seconds.in_another_run) if marks else cost


def replay(explained: Explanations) -> Replay:
    """Work out, for each call of each frame, which earlier entries would serve it under which marks."""
    router = Router(explained, DynamismPropagation(explained.trace))
    first = first_compiles(explained.trace)
    plans = _with_captures(_with_called(_with_followers([_plan(frame, router, first) for frame in explained.trace.frames])))
    plans = _with_widening(plans, explained.facts)
    by_mark: dict[Mark, list[FramePlan]] = {}
    for plan in plans:
        for mark in plan.marks:
            by_mark.setdefault(mark, []).append(plan)
    return Replay(plans, by_mark)


def _with_widening(plans: Sequence[FramePlan], facts: FactTable) -> tuple[FramePlan, ...]:
    """The plans with what marks make symbolic in each compile. PyTorch makes no symbol of a size of 0 or 1."""
    dims: dict[Source, set[int]] = {}
    for mark in frozenset[Mark]().union(*(plan.marks for plan in plans)):
        if not mark.is_int:
            dims.setdefault(mark.source, set()).add(mark.dim)

    def widening(compile: Compile) -> Marks:
        symbolic = facts.of(compile).symbolic
        sizes = (
            (Mark(item.source, dim), item.size[dim]) for item in compile.inputs for dim in dims.get(item.source, ()) if dim < len(item.size)
        )
        return frozenset(mark for mark, size in sizes if size > 1 and mark.place not in symbolic)

    alike = {
        code: tuple([_of_one_rank(call, plan.weight) for plan in same for call in plan.calls if call.compile.outcome is Outcome.COMPILED])
        for code, same in grouped(plans, lambda plan: plan.frame.origin).items()
    }
    return tuple(
        replace(
            plan,
            widening={call.compile: own for call in plan.calls if (own := widening(call.compile))},
            alike=alike[plan.frame.origin],
        )
        for plan in plans
    )


def _of_one_rank(call: Call, weight: int) -> Call:
    """A call with the seconds of one of the ranks that a frame represents."""
    return call._replace(seconds=call.seconds / weight)


def _plan(frame: Frame, router: Router, first: frozenset[Compile]) -> FramePlan:
    explained, trace = router.explained, router.explained.trace
    can_route = frame not in explained.unexplained_frames
    routes: dict[Compile, tuple[Route, ...]] = {}
    for compile in frame.compiles:
        if compile.outcome is Outcome.COMPILED or compile.is_refused:
            direct = _routes(frame, compile, router) if can_route else ()
            routes[compile] = (*direct, *islice(_through_others(frame, compile, direct, routes, router), _MOST_THROUGH_OTHERS))
    calls = tuple(Call(compile, found, trace.seconds(compile), compile in first) for compile, found in with_bases(routes).items())
    return FramePlan(
        frame=frame,
        calls=calls,
        fixed_seconds=_seconds_without_code(frame, trace),
        marks=_marks_of(calls),
        settling=_settling(calls),
        splitting=router.propagation.splitting_marks(frame),
        weight=trace.rank_weight(frame.rank),
        has_backends=has_backends(frame),
    )


def _marks_of(calls: tuple[Call, ...]) -> Marks:
    return frozenset([mark for call in calls for route in call.routes for choice in route.required_marks for mark in choice])


def _settling(calls: tuple[Call, ...]) -> Marks:
    choices = (choice for call in calls for route in call.routes for choice in (*route.doubts, *(marks for _, marks in route.lost)))
    return frozenset([mark for choice in choices for mark in choice])


def _with_followers(plans: list[FramePlan]) -> list[FramePlan]:
    """The plans, those of frames at the recompile limit with the frames that they run.

    What a function calls, and what that calls, is not compiled either while it runs in eager mode because of the limit
    (``FrameExecStrategy`` in ``torch/_dynamo/convert_frame.py``), and leaves no records.
    """
    if not any(plan.is_full for plan in plans):
        return plans
    by_function = grouped(plans, lambda plan: plan.frame.function)
    found: dict[Frame, list[int]] = {}
    for plan in plans:
        if not plan.is_full and len(plan.calls) > 1:
            for frame in {other.frame for other in _running(plan, by_function) if other.is_full}:
                found.setdefault(frame, []).append(len(plan.calls))
    return [replace(plan, followers=tuple(found.get(plan.frame, ()))) for plan in plans]


def _running(plan: FramePlan, by_function: Mapping[Function, Sequence[FramePlan]]) -> Iterator[FramePlan]:
    """The frames that run this one: those of the functions above it in its stacks and, of resumed code, those before it."""
    frame = plan.frame
    rank, process, *own = frame.function
    above = chain.from_iterable(compile.recorded_callers or compile.stack.frames[:-1] for compile in frame.compiles)
    lines = {(at.file, at.name, at.line) for at in above}
    if resumed_by(frame.name):
        lines.add((own[0], own[1], frame.line))
    for file, name, line in lines:
        same_name = [other for other in by_function.get((rank, process, file, name), ()) if other is not plan]
        starts = [other.frame.line for other in same_name if not resumed_by(other.frame.name)]  # methods of several classes
        start, end = max((at for at in starts if at <= line), default=0), min((at for at in starts if at > line), default=math.inf)
        yield from (other for other in same_name if start <= other.frame.line < end)


def _with_called(plans: list[FramePlan]) -> list[FramePlan]:
    """The plans with routes for what was compiled only because the code that calls it had been refused: not so without that limit hit."""
    of_frame = {plan.frame: plan for plan in plans}
    if not any(plan.is_full for plan in plans):
        return plans
    found, callers = [], Callers(of_frame)
    for plan in plans:
        caller = callers.refused(plan.frame)
        hit = next(call for call in of_frame[caller].calls if call.compile.outcome is Outcome.LIMIT) if caller else None
        calls = tuple(call._replace(routes=(*call.routes, *_routes_of_capture([hit]))) for call in plan.calls) if hit else plan.calls
        found.append(replace(plan, calls=calls, marks=_marks_of(calls), settling=_settling(calls)) if hit else plan)
    return found


def _with_captures(plans: list[FramePlan]) -> tuple[FramePlan, ...]:
    """The plans with routes for what compiled autograd captured: a capture comes back with each new forward graph, and is gone with it."""
    if not any(_is_capture(plan) for plan in plans):
        return tuple(plans)
    ordered = sorted(((call, plan) for plan in plans for call in plan.calls), key=lambda item: item[0].compile.order)
    forward: dict[tuple[int | None, int], list[Call]] = {}
    routes: dict[Compile, tuple[Route, ...]] = {}
    for call, plan in ordered:
        since = forward.setdefault((call.compile.rank, call.compile.process), [])
        if not _is_capture(plan):
            since.append(call)
            continue
        own = tuple(route for route in call.routes if not any(map(_is_of_capture, route.required_marks)))
        again = tuple(route for route in own if route.entry.id.autograd == call.compile.id.autograd)  # it ran what was captured before
        routes[call.compile] = again or (_routes_of_capture(since) if since else own)
        since.clear()
    found = []
    for plan in plans:
        calls = tuple(call._replace(routes=routes.get(call.compile, call.routes)) for call in plan.calls)
        is_capture = _is_capture(plan)
        found.append(replace(plan, calls=calls, marks=_marks_of(calls), settling=_settling(calls)) if is_capture else plan)
    return tuple(found)


def _is_capture(plan: FramePlan) -> bool:
    return plan.frame.compiles[0].id.autograd is not None


def _is_of_capture(choice: Marks) -> bool:
    """Whether only sizes would be marked that compiled autograd passes to its graph: the list of sources has no effect on them."""
    return all(mark.source.startswith("L['sizes']") for mark in choice)


def _routes_of_capture(since: list[Call]) -> tuple[Route, ...]:
    """What makes all forward graphs go that were compiled since the last capture."""
    if len(since) == 1:
        return tuple(route._replace(is_elsewhere=True, lost=()) for route in since[0].routes)
    first = [call.routes[0] for call in since if call.routes]
    if len(first) < len(since):
        return ()
    required = tuple(dict.fromkeys(choice for route in first for choice in route.required_marks))
    doubts = tuple(dict.fromkeys(choice for route in first for choice in route.doubts))
    return (Route(first[0].entry, required, all(route.is_proven for route in first), is_elsewhere=True, doubts=doubts),)


def _seconds_without_code(frame: Frame, trace: Trace) -> float:
    others = [compile for compile in frame.compiles if compile.outcome is not Outcome.COMPILED and not compile.is_refused]
    return math.fsum(map(trace.seconds, others))


def _through_others(
    frame: Frame, compile: Compile, direct: Sequence[Route], known: Mapping[Compile, Sequence[Route]], router: Router
) -> Iterator[Route]:
    """Routes to entries that stand in for the entry of a direct route: once the marks that make them do so are set, they are as dynamic."""
    left = {item.entry for item in router.explained.compared.get(compile, ())} - {route.entry for route in direct}
    for route in direct:
        for other in known.get(route.entry, ()):
            if other.entry in left and not other.is_elsewhere:
                left.remove(other.entry)
                required = (*route.required_marks, *other.required_marks, *(choice for _, choice in other.lost))
                lost = router.lost(frame, router.explained.facts.of(other.entry), compile)
                doubts = tuple(dict.fromkeys((*route.doubts, *other.doubts)))
                kept = tuple(dict.fromkeys((*route.kept, *other.kept)))
                is_proven = route.is_proven and other.is_proven
                yield Route(other.entry, tuple(dict.fromkeys(required)), is_proven, lost, doubts=doubts, kept=kept)


def _routes(frame: Frame, compile: Compile, router: Router) -> tuple[Route, ...]:
    differences = router.explained.compared.get(compile, ())
    if not compile.is_refused:
        return tuple([route for item in differences if (route := router.route(frame, item, compile)) is not None])
    differences = tuple([known for item in differences if (known := complete_refused(item, differences))])
    found: list[Route] = []
    for item in differences:
        route = router.route(frame, item, compile)
        if route is not None and not router.explained.reuse.pinned_ints.pinning_line(frame, item):
            required = (*route.required_marks, *router.following(frame, item, differences))
            found.append(route._replace(required_marks=required, doubts=(*route.doubts, *router.doubts(frame, item.entry, differences))))
    return tuple(found)

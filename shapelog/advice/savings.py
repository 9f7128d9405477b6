"""What each mark of a list saves. Without a mark, only the calls are looked at that need it and those that depend on their entries, so even
a list of thousands takes little time.
"""

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from shapelog.advice.marks import Mark
from shapelog.advice.replay import FramePlan, Marks, Replay
from shapelog.advice.routes import Route
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.reading.payloads.source_names import Source

# Calls that are looked at only because others changed. After these, what such calls do without a mark is not followed.
MOST_FOLLOWED = 30_000


class LostSavings(NamedTuple):
    """What would come back without some marks: the number of compiles and limit hits in sum, and the calls that nothing would serve, with
    the plans that have them.
    """

    total: int
    calls: tuple[Compile, ...]
    plans: tuple[FramePlan, ...] = ()


class ServedCall(NamedTuple):
    """A call of a plan that an earlier entry serves, by which route, the sources that would be static in place of symbolic then, and
    whether the entry may not serve it after all.
    """

    plan: FramePlan
    compile: Compile
    route: Route
    narrowed: tuple[Source, ...]
    is_doubtful: bool


class _Place(NamedTuple):
    """A call: its plan, and its place in it."""

    plan: FramePlan
    number: int


class _ServedCalls:
    """The calls of one plan that the marks of a list serve, by their place in the plan."""

    def __init__(self, plan: FramePlan, chosen: Marks) -> None:
        self.plan = plan
        self.routes = dict(plan.served(chosen))
        self._places = {call.compile: index for index, call in enumerate(plan.calls) if call.compile.outcome is Outcome.COMPILED}
        users = ((self._places.get(route.entry), index) for index, call in enumerate(plan.calls) for route in call.routes)
        self._users = grouped(dict.fromkeys(users), lambda item: item[0])

    def changes(self, places: Iterable[int], is_open: Callable[[Route], bool], most: int) -> tuple[dict[int, Route | None], int]:
        """The calls that another route serves, or none, where the routes of the calls at ``places`` have closed; and how many others were
        looked at, ``most`` or fewer.

        A call that is no longer served leaves an entry, which may serve later calls.
        """
        found: dict[int, Route | None] = {}
        direct = set(places)
        seen = set(direct)
        most += len(direct)
        pending = list(seen)
        heapify(pending)
        while pending:
            index = heappop(pending)
            was = self.routes.get(index)
            now = next((route for route in self.plan.calls[index].routes if is_open(route) and self._has_entry(route, found)), None)
            if now is not was:
                found[index] = now
            if (now is None) is not (was is None):
                for _, later in self._users.get(index, ()):
                    if later not in seen and len(seen) < most:
                        seen.add(later)
                        heappush(pending, later)
        return found, len(seen) - len(direct)

    def _has_entry(self, route: Route, changed: dict[int, Route | None]) -> bool:
        """Whether the entry of a route is still compiled, now that these calls changed."""
        place = self._places.get(route.entry)
        return route.is_elsewhere or (place is not None and changed.get(place, self.routes.get(place)) is None)

    def apply(self, changed: dict[int, Route | None]) -> None:
        for index, route in changed.items():
            if route is None:
                del self.routes[index]
            else:
                self.routes[index] = route


class Savings:
    """A list of marks that can be taken away one unit after the other; ``chosen`` are those that are left."""

    def __init__(self, replayed: Replay, chosen: Marks) -> None:
        self.chosen = set(chosen)
        self.steps_left = MOST_FOLLOWED
        self._known: dict[frozenset[int], LostSavings] = {}
        self._closed: set[int] = set()
        self._plans = {plan: _ServedCalls(plan, chosen) for plan in replayed.plans}
        # Of each choice of a route that these marks open: the number of the route, and the marks that are left to choose from.
        self._choices: list[tuple[int, set[Mark]]] = []
        self._by_mark: dict[Mark, list[int]] = {}
        self._served: dict[Mark, list[ServedCall]] | None = None
        # The call of each route, by the number of the route.
        self._places: list[_Place] = []
        for plan in replayed.plans:
            for index, call in enumerate(plan.calls):
                for route in call.routes:
                    self._add(route, _Place(plan, index))

    def _add(self, route: Route, place: _Place) -> None:
        number = len(self._places)
        self._places.append(place)
        if any(map(self.chosen.isdisjoint, route.required_marks)):
            return
        for choice in route.required_marks:
            marks = {mark for mark in choice if mark in self.chosen}
            for mark in marks:
                self._by_mark.setdefault(mark, []).append(len(self._choices))
            self._choices.append((number, marks))

    def lost_without(self, unit: Iterable[Mark]) -> LostSavings:
        """What would come back without these marks."""
        members = frozenset(unit)
        broken = self._broken_by(members)
        if broken not in self._known:
            self._known[broken] = self._lost(members, broken)
        return self._known[broken]

    def _broken_by(self, unit: Marks) -> frozenset[int]:
        """The routes that need one of these marks, and have no other for it."""
        choices = [self._choices[index] for mark in unit for index in self._by_mark.get(mark, ())]
        return frozenset([number for number, marks in choices if marks <= unit]) - self._closed

    def _changes(self, unit: Marks, broken: frozenset[int]) -> dict[FramePlan, dict[int, Route | None]]:
        """By plan, the calls that are served otherwise without these marks, which close these routes."""

        def is_open(route: Route) -> bool:
            return all(any(mark in self.chosen and mark not in unit for mark in choice) for choice in route.required_marks)

        places = grouped((self._places[number] for number in sorted(broken)), lambda place: place.plan)
        found = {}
        for plan, members in places.items():
            found[plan], steps = self._plans[plan].changes([place.number for place in members], is_open, self.steps_left)
            self.steps_left -= steps
        return found

    def _lost(self, unit: Marks, broken: frozenset[int]) -> LostSavings:
        total, calls = 0, []
        plans = []
        for plan, changed in self._changes(unit, broken).items():
            served = self._plans[plan].routes
            lost = sorted(index for index, route in changed.items() if route is None)
            won = sum(index not in served for index, route in changed.items() if route is not None)
            total += plan.weight * (len(lost) - won)
            calls += [plan.calls[index].compile for index in lost]
            plans += [plan] if lost else []
        return LostSavings(total, tuple(calls), tuple(plans))

    def drop(self, unit: Iterable[Mark]) -> None:
        """Take these marks away."""
        members = frozenset(unit)
        broken = self._broken_by(members)
        if broken:
            for plan, changed in self._changes(members, broken).items():
                self._plans[plan].apply(changed)
            self._closed |= broken
            self._known.clear()
        self._served = None
        self.chosen -= members
        for mark in members:
            for index in self._by_mark.pop(mark, ()):
                self._choices[index][1].discard(mark)

    def served_by(self, marks: Iterable[Mark]) -> list[ServedCall]:
        """The calls that are served by a route with one of these marks, in the order of the trace."""
        if self._served is None:
            self._served = self._served_calls()
        found = {call.compile: call for mark in marks for call in self._served.get(mark, ())}
        return sorted(found.values(), key=lambda call: call.compile.order)

    def narrowed_without(self, marks: Iterable[Mark]) -> list[ServedCall]:
        """The calls that are served by what is for more values with these marks than without them, in the order of the trace."""
        chosen = frozenset(self.chosen)
        fewer = chosen.difference(marks)
        found = [
            ServedCall(plan, plan.calls[index].compile, route, route.narrows(chosen), route.is_doubtful(chosen))
            for plan, served in self._plans.items()
            for index, route in served.routes.items()
            if len(route.narrows(fewer)) > len(route.narrows(chosen))
        ]
        return sorted(found, key=lambda call: call.compile.order)

    def _served_calls(self) -> dict[Mark, list[ServedCall]]:
        found: dict[Mark, list[ServedCall]] = {}
        chosen = frozenset(self.chosen)
        for plan, served in self._plans.items():
            for index, route in sorted(served.routes.items(), key=lambda item: item[0]):
                call = ServedCall(plan, plan.calls[index].compile, route, route.narrows(chosen), route.is_doubtful(chosen))
                for mark in {mark for choice in route.required_marks for mark in choice}:
                    found.setdefault(mark, []).append(call)
        return found

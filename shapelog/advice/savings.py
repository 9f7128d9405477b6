"""What each mark of a list saves. Marks that the same routes need save the same, so even a list of thousands takes little time."""

from collections.abc import Iterable
from typing import NamedTuple

from shapelog.advice.marks import Mark
from shapelog.advice.replay import FramePlan, Marks, Replay
from shapelog.advice.routes import Route
from shapelog.model.trace import Compile
from shapelog.reading.payloads.source_names import Source


class Lost(NamedTuple):
    """What would come back without some marks: the number of compiles and limit hits in sum, and the calls that nothing would serve."""

    total: int
    calls: tuple[Compile, ...]


class ServedCall(NamedTuple):
    """A call of a plan that an earlier entry serves, by which route, and the sources that would be static in place of symbolic then."""

    plan: FramePlan
    compile: Compile
    route: Route
    narrowed: tuple[Source, ...]


class Savings:
    """A list of marks that can be taken away one unit after the other; ``chosen`` are those that are left."""

    def __init__(self, replayed: Replay, chosen: Marks) -> None:
        self._replayed = replayed
        self.chosen = set(chosen)
        self._known: dict[frozenset[int], Lost] = {}
        self._closed: set[int] = set()
        # Of each choice of a route that these marks open: the number of the route, and the marks that are left to choose from.
        self._choices: list[tuple[int, set[Mark]]] = []
        self._by_mark: dict[Mark, list[int]] = {}
        self._served: dict[Mark, list[ServedCall]] | None = None
        routes = (route for plan in replayed.plans for call in plan.calls for route in call.routes)
        for number, route in enumerate(routes):
            if any(map(chosen.isdisjoint, route.required_marks)):
                continue
            for choice in route.required_marks:
                marks = set(choice & chosen)
                for mark in marks:
                    self._by_mark.setdefault(mark, []).append(len(self._choices))
                self._choices.append((number, marks))

    def lost_without(self, unit: Iterable[Mark]) -> Lost:
        """What would come back without these marks."""
        members = frozenset(unit)
        broken = self._broken_by(members)
        if broken not in self._known:
            self._known[broken] = self._lost(members) if broken else Lost(0, ())
        return self._known[broken]

    def _broken_by(self, unit: Marks) -> frozenset[int]:
        """The routes that need one of these marks, and have no other for it."""
        choices = [self._choices[index] for mark in unit for index in self._by_mark.get(mark, ())]
        return frozenset([number for number, marks in choices if marks <= unit]) - self._closed

    def _lost(self, unit: Marks) -> Lost:
        chosen = frozenset(self.chosen)
        rest = chosen - unit
        total, calls = 0, []
        for plan in dict.fromkeys(plan for mark in unit for plan in self._replayed.by_mark.get(mark, ())):
            total += plan.cost(rest).total - plan.cost(chosen).total
            without = plan.served(rest)
            calls += [plan.calls[index].compile for index in plan.served(chosen) if index not in without]
        return Lost(total, tuple(calls))

    def drop(self, unit: Iterable[Mark]) -> None:
        """Take these marks away."""
        members = frozenset(unit)
        broken = self._broken_by(members)
        if broken:
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

    def _served_calls(self) -> dict[Mark, list[ServedCall]]:
        found: dict[Mark, list[ServedCall]] = {}
        chosen = frozenset(self.chosen)
        for plan in self._replayed.plans:
            for index, route in plan.served(chosen).items():
                call = ServedCall(plan, plan.calls[index].compile, route, route.narrows(chosen))
                for mark in {mark for choice in route.required_marks for mark in choice}:
                    found.setdefault(mark, []).append(call)
        return found

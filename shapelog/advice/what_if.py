"""What the run would cost with any part of the suggestions: each frame is replayed under every combination that can differ in it.

In one frame, suggestions that the same calls need act only together, so its outcome depends on few conditions: most frames have one or two,
however many suggestions there are. Frames are independent of each other. The cost of any combination is the sum over all frames.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from shapelog.advice.marks import Mark
from shapelog.advice.replay import Cost, FramePlan, Replay, total_cost
from shapelog.advice.suggestions import Suggestion
from shapelog.grouping import connected, grouped
from shapelog.model.frame import Frame

# A frame has no more conditions than this, 4,096 combinations: of more, the last ones are one.
_MOST_CONDITIONS = 12
# Frames have fewer once this many routes of calls have been tried; those that took longest come first.
_MOST_ROUTES = 1_000_000

Condition = tuple[int, ...]
"""Places in the list of suggestions, in their order. The condition holds if all of them are chosen."""


class FrameOutcomes(NamedTuple):
    """What one frame costs under every combination, by the places of the conditions that hold in ``conditions``."""

    frame: Frame
    conditions: tuple[Condition, ...]
    costs: dict[frozenset[int], Cost]

    def cost(self, chosen: frozenset[int]) -> Cost:
        """What the frame costs with these suggestions."""
        return self.costs[frozenset([place for place, needed in enumerate(self.conditions) if chosen.issuperset(needed)])]


class WhatIf(NamedTuple):
    """The frames that a suggestion changes, those that took longest first, and what all ``others`` cost together.

    ``bundles`` are the suggestions that can be chosen, by their places: each alone, but for those that are chosen only together, because
    very many interact in one frame.

    All costs are those of this run: seconds of another run vary (``Seconds.in_another_run``).
    """

    frames: tuple[FrameOutcomes, ...]
    others: Cost
    bundles: tuple[Condition, ...]

    def cost(self, chosen: Iterable[int]) -> Cost:
        """What the whole run costs with the suggestions at these places, any number of whole bundles."""
        places = frozenset(chosen)
        return total_cost([self.others, *[frame.cost(places) for frame in self.frames]])


def what_if(replayed: Replay, suggestions: Iterable[Suggestion]) -> WhatIf:
    """Replay the frames of a run under every combination of these suggestions, which :func:`shapelog.advice.advise.advise` returned.

    The work is bounded, so that a page with many frames and suggestions takes no longer.
    """
    marks = [frozenset(item.marks) for item in suggestions]
    place_of = {mark: place for place, own in enumerate(marks) for mark in own}
    plans = sorted(replayed.plans, key=lambda plan: -plan.cost(frozenset()).seconds.least)
    conditions = {plan: _conditions(plan, place_of) for plan in plans}
    bundles: list[Condition] = [(place,) for place in range(len(marks))]
    frames, room = [], _MOST_ROUTES
    for plan in plans:
        if conditions[plan]:
            work = sum(1 + len(call.routes) for call in plan.calls)
            most = min(_MOST_CONDITIONS, (max(0, room) // work).bit_length() - 1)
            found, together = _bundled(conditions[plan], most)
            bundles.append(together)
            room -= work << len(found)
            costs = {held: plan.cost(_marks(held, found, marks)).in_this_run for held in _combinations(len(found))}
            frames.append(FrameOutcomes(plan.frame, found, costs))
    others = total_cost([plan.cost(frozenset()) for plan in plans if not conditions[plan]])
    return WhatIf(tuple(frames), others, tuple(sorted(tuple(sorted(bundle)) for bundle in connected(bundles))))


def _bundled(conditions: tuple[Condition, ...], most: int) -> tuple[tuple[Condition, ...], Condition]:
    """At most ``most`` conditions, but at least one: the last are joined. The second value is what was joined, () for nothing."""
    kept = max(0, most - 1) if len(conditions) > max(1, most) else len(conditions)
    together = tuple(sorted(chain.from_iterable(conditions[kept:])))
    return (*conditions[:kept], together) if together else conditions, together


def _conditions(plan: FramePlan, place_of: dict[Mark, int]) -> tuple[Condition, ...]:
    """Suggestions that the same routes need are one condition. One that is a choice among several is a condition of its own."""
    needed_by: dict[int, list[int]] = {}
    chosen_among_several: set[int] = set()
    for number, route in enumerate(chain.from_iterable(call.routes for call in plan.calls)):
        choices = [{place_of[mark] for mark in choice if mark in place_of} for choice in route.required_marks]
        if not all(choices):
            continue  # it needs a mark that is not suggested
        for place in sorted(set().union(*choices)):
            needed_by.setdefault(place, []).append(number)
        chosen_among_several.update(*[choice for choice in choices if len(choice) > 1])
    groups = grouped(sorted(needed_by), lambda place: (place if place in chosen_among_several else -1, tuple(needed_by[place])))
    return tuple(map(tuple, groups.values()))


def _marks(held: Iterable[int], conditions: tuple[Condition, ...], marks: list[frozenset[Mark]]) -> frozenset[Mark]:
    return frozenset([mark for place in held for suggestion in conditions[place] for mark in marks[suggestion]])


def _combinations(count: int) -> Iterator[frozenset[int]]:
    for number in range(1 << count):
        yield frozenset([place for place in range(count) if number >> place & 1])

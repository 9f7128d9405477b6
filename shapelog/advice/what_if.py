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
from shapelog.grouping import grouped
from shapelog.model.frame import Frame

# A frame with more conditions than this, 4,096 combinations, is replayed under few of them.
_MOST_CONDITIONS = 12
# So is every frame once this many routes of calls have been tried; the frames that took longest come first.
_MOST_ROUTES = 500_000
# With more conditions than this, a frame is replayed without and with all suggestions alone.
_MOST_SINGLED_OUT = 32

Condition = tuple[int, ...]
"""Places in the list of suggestions, in their order. The condition holds if all of them are chosen."""


class FrameOutcomes(NamedTuple):
    """What one frame costs, by the places of the conditions that hold in ``conditions``.

    ``costs`` has every combination, or ``is_partial``: none, all, each condition alone, and all but one.
    """

    frame: Frame
    conditions: tuple[Condition, ...]
    costs: dict[frozenset[int], Cost]
    is_partial: bool = False

    def held(self, chosen: frozenset[int]) -> frozenset[int]:
        """The conditions that hold where these suggestions are chosen."""
        return frozenset([place for place, needed in enumerate(self.conditions) if chosen.issuperset(needed)])

    def cost(self, chosen: frozenset[int]) -> Cost | None:
        """What the frame costs with these suggestions; None where that was not replayed."""
        return self.costs.get(self.held(chosen))


class WhatIf(NamedTuple):
    """The frames that a suggestion changes, those that took longest first, and what all ``others`` cost together.

    All costs are those of this run: seconds of another run vary (``Seconds.in_another_run``).
    """

    frames: tuple[FrameOutcomes, ...]
    others: Cost

    def cost(self, chosen: Iterable[int]) -> Cost | None:
        """What the whole run costs with the suggestions at these places; None where that was not replayed."""
        places = frozenset(chosen)
        costs = [frame.cost(places) for frame in self.frames]
        known = [cost for cost in costs if cost is not None]
        return total_cost([self.others, *known]) if len(known) == len(costs) else None


def what_if(replayed: Replay, suggestions: Iterable[Suggestion]) -> WhatIf:
    """Replay the frames of a run under the combinations of these suggestions, which :func:`shapelog.advice.advise.advise` returned.

    The work is bounded, so that a page with many frames and suggestions takes no longer.
    """
    marks = [frozenset(item.marks) for item in suggestions]
    place_of = {mark: place for place, own in enumerate(marks) for mark in own}
    plans = sorted(replayed.plans, key=lambda plan: -plan.cost(frozenset()).seconds.least)
    conditions = {plan: _conditions(plan, place_of) for plan in plans}
    frames, room = [], _MOST_ROUTES
    for plan in plans:
        if found := conditions[plan]:
            work = sum(1 + len(call.routes) for call in plan.calls) << len(found)
            is_partial = len(found) > _MOST_CONDITIONS or work > room
            room -= 0 if is_partial else work
            held = _few_combinations(len(found)) if is_partial else _all_combinations(len(found))
            costs = {places: plan.cost(_marks(places, found, marks)).in_this_run for places in held}
            frames.append(FrameOutcomes(plan.frame, found, costs, is_partial))
    return WhatIf(tuple(frames), total_cost([plan.cost(frozenset()) for plan in plans if not conditions[plan]]))


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


def _all_combinations(count: int) -> Iterator[frozenset[int]]:
    for number in range(1 << count):
        yield frozenset([place for place in range(count) if number >> place & 1])


def _few_combinations(count: int) -> Iterator[frozenset[int]]:
    """None, all, each alone, and all but one; the first two where there are very many."""
    every = frozenset(range(count))
    yield frozenset()
    if count <= _MOST_SINGLED_OUT:
        yield from (frozenset((place,)) for place in range(count))
        yield from (every - {place} for place in range(count))
    yield every

"""The cost of every part of the suggestions is what a replay with just these marks gives."""

from itertools import combinations

import pytest
from make import compile, explain, guard_tree, tensor, tensor_match, trace
from payload_text import guard_manager
from recorded import RECORDED, advice_of

from shapelog.advice import what_if as module
from shapelog.advice.advise import Advice, advise
from shapelog.advice.what_if import WhatIf, what_if

# Of more suggestions, all parts would take too long to replay one by one.
MOST = 7


def advice_on(*varied: tuple[int, ...], frames: int = 1) -> Advice:
    """Frames with as many ints as each of ``varied`` has values; each of these is a compile."""
    parts = []
    for frame in range(frames):
        for number, values in enumerate(varied):
            leaves = [
                guard_manager(f"L['k{place}']", f"EQUALS_MATCH: L['k{place}'] == {value}", type="int") for place, value in enumerate(values)
            ]
            parts.append(compile(f"{frame}/{number}", tensor(8, 8), guards=guard_tree(tensor_match(size=(8, 8)), *leaves)))
    return advise(explain(trace(*parts)))


def outcomes_of(advice: Advice) -> WhatIf:
    return what_if(advice.replayed, advice.suggestions)


def parts_of(found: WhatIf) -> list[tuple[int, ...]]:
    bundles = range(len(found.bundles))
    sizes = bundles if len(bundles) <= MOST else (0, 1, 2, len(bundles) - 1)
    chosen = (part for size in (*sizes, len(bundles)) for part in combinations(found.bundles, size))
    return [tuple(place for bundle in part for place in bundle) for part in chosen]


def assert_same_as_replayed(advice: Advice) -> None:
    found = outcomes_of(advice)
    assert sorted(place for bundle in found.bundles for place in bundle) == list(range(len(advice.suggestions)))
    for chosen in parts_of(found):
        replayed = advice.replayed.cost_in_this_run(mark for place in chosen for mark in advice.suggestions[place].marks)
        cost = found.cost(chosen)
        assert (cost.compiles, cost.limit_hits, cost.more) == (replayed.compiles, replayed.limit_hits, replayed.more), chosen
        assert cost.seconds.least == pytest.approx(replayed.seconds.least)
        assert cost.seconds.most == (None if replayed.seconds.most is None else pytest.approx(replayed.seconds.most))


@pytest.mark.parametrize("name", RECORDED)
def test_every_part_of_the_suggestions_costs_what_its_replay_costs(name: str) -> None:
    assert_same_as_replayed(advice_of(name))


def test_without_suggestions_the_cost_is_that_of_the_run() -> None:
    advice = advice_of("lab/no_recompiles.log.gz")
    assert outcomes_of(advice) == WhatIf((), advice.before, ())


def test_ints_that_change_at_different_calls_are_conditions_of_their_own() -> None:
    advice = advice_on((1, 1), (2, 1), (2, 2), (3, 2))
    (frame,) = outcomes_of(advice).frames
    assert sorted(map(len, frame.conditions)) == [1, 1]
    assert len(frame.costs) == 4
    assert_same_as_replayed(advice)


def test_ints_that_always_change_together_are_one_condition() -> None:
    advice = advice_on((2, 3, 4), (5, 6, 7), (8, 9, 10))
    found = outcomes_of(advice)
    assert [frame.conditions for frame in found.frames] == [((0, 1, 2),)]
    assert [found.cost(chosen).compiles for chosen in ((), (0,), (0, 1), (0, 1, 2))] == [3, 3, 3, 1]
    assert_same_as_replayed(advice)


def one_after_the_other(count: int) -> tuple[tuple[int, ...], ...]:
    """A first call, and one more for each int, which alone differs."""
    return tuple(tuple(7 if place == changed else 3 for place in range(count)) for changed in range(-1, count))


def test_of_more_than_twelve_conditions_in_a_frame_the_last_are_chosen_together() -> None:
    advice = advice_on(*one_after_the_other(16))
    found = outcomes_of(advice)
    assert found.bundles == (*((place,) for place in range(11)), tuple(range(11, 16)))
    assert [len(frame.costs) for frame in found.frames] == [4096]
    assert found.cost((0, 3, 7)).compiles == 14
    assert found.cost((0, *range(11, 16))).compiles == 11
    assert_same_as_replayed(advice)


def test_up_to_twelve_conditions_in_a_frame_are_chosen_alone() -> None:
    found = outcomes_of(advice_on(*one_after_the_other(12)))
    assert found.bundles == tuple((place,) for place in range(12))
    assert [len(frame.costs) for frame in found.frames] == [4096]
    assert found.cost((0, 3, 7)).compiles == 10


def test_the_number_of_routes_that_are_tried_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    advice = advice_on(*one_after_the_other(3), frames=4)
    assert [len(frame.costs) for frame in outcomes_of(advice).frames] == [8, 8, 8, 8]
    monkeypatch.setattr(module, "_MOST_ROUTES", 2 * (4 + 1 + 2 + 3) * 8)  # calls with their routes, combinations
    found = outcomes_of(advice)
    assert [len(frame.costs) for frame in found.frames] == [8, 8, 2, 2]
    assert [len(bundle) for bundle in found.bundles if len(bundle) > 1]
    assert_same_as_replayed(advice)

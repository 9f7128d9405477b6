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


def parts_of(advice: Advice) -> list[tuple[int, ...]]:
    places = range(len(advice.suggestions))
    sizes = places if len(places) <= MOST else (0, 1, 2, len(places) - 1)
    return [chosen for size in (*sizes, len(places)) for chosen in combinations(places, size)]


def assert_same_as_replayed(advice: Advice) -> None:
    found = outcomes_of(advice)
    for chosen in parts_of(advice):
        replayed = advice.replayed.cost_in_this_run(mark for place in chosen for mark in advice.suggestions[place].marks)
        cost = found.cost(chosen)
        assert cost is not None
        assert (cost.compiles, cost.limit_hits, cost.more) == (replayed.compiles, replayed.limit_hits, replayed.more), chosen
        assert cost.seconds.least == pytest.approx(replayed.seconds.least)
        assert cost.seconds.most == (None if replayed.seconds.most is None else pytest.approx(replayed.seconds.most))


@pytest.mark.parametrize("name", RECORDED)
def test_every_part_of_the_suggestions_costs_what_its_replay_costs(name: str) -> None:
    assert_same_as_replayed(advice_of(name))


def test_without_suggestions_the_cost_is_that_of_the_run() -> None:
    advice = advice_of("lab/no_recompiles.log.gz")
    assert outcomes_of(advice) == WhatIf((), advice.before)


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


def test_a_frame_with_many_conditions_has_the_outcomes_of_a_few_combinations() -> None:
    advice = advice_on(*one_after_the_other(13))
    found = outcomes_of(advice)
    assert len(advice.suggestions) == 13
    assert [frame.is_partial for frame in found.frames] == [True]
    every = frozenset(range(13))
    for chosen in (frozenset[int](), every, *({place} for place in every), *(every - {place} for place in every)):
        cost = found.cost(chosen)
        assert cost is not None
        assert cost.compiles == 14 - len(chosen)
    assert found.cost((0, 1)) is None


def test_a_frame_with_twelve_conditions_has_the_outcome_of_every_combination() -> None:
    found = outcomes_of(advice_on(*one_after_the_other(12)))
    assert [(frame.is_partial, len(frame.costs)) for frame in found.frames] == [(False, 4096)]
    cost = found.cost((0, 3, 7))
    assert cost is not None
    assert cost.compiles == 10


def test_the_number_of_routes_that_are_tried_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    advice = advice_on(*one_after_the_other(3), frames=4)
    assert not any(frame.is_partial for frame in outcomes_of(advice).frames)
    monkeypatch.setattr(module, "_MOST_ROUTES", 2 * (4 + 1 + 2 + 3) * 8)  # calls with their routes, combinations
    assert [frame.is_partial for frame in outcomes_of(advice).frames] == [False, False, True, True]
    monkeypatch.setattr(module, "_MOST_SINGLED_OUT", 2)
    found = outcomes_of(advice)
    assert [len(frame.costs) for frame in found.frames] == [8, 8, 2, 2]
    assert found.cost(range(len(advice.suggestions))) == advice.replayed.cost_in_this_run(
        mark for item in advice.suggestions for mark in item.marks
    )

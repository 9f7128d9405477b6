"""The axis of the timeline: ticks, cuts, and how moments and stretches are written."""

import math
from itertools import pairwise

import pytest

from shapelog.reporters.html.time_axis import axis_of, clock, cuts_of, stretch, ticks_of


@pytest.mark.parametrize("length", [1e-6, 0.02, 0.7, 3, 59, 61, 119, 121, 900, 4000, 86_399, 200_000, 4e7, 1e12])
def test_an_axis_has_a_few_round_ticks_with_room_for_each(length: float) -> None:
    ticks = ticks_of(axis_of([(0.0, length)]))
    assert 3 <= len(ticks) <= 9
    assert ticks[0].x == 0
    places = [tick.x for tick in ticks]
    assert places == sorted(places)
    steps = {round(after - before) for before, after in pairwise(places)}
    assert max(steps) - min(steps) <= 1
    assert len({tick.text for tick in ticks}) == len(ticks)


def test_an_axis_keeps_order_and_reaches_from_edge_to_edge() -> None:
    axis = axis_of([(5000.0, 5010.0), (0.0, 4.0), (2.0, 6.0), (90.0, 91.0)])
    moments = [0.0, 3.0, 6.0, 40.0, 90.0, 91.0, 3000.0, 5000.0, 5005.0, 5010.0]
    places = [axis.at(moment) for moment in moments]
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, pytest.approx(100.0))
    assert axis.gaps == ((6.0, 90.0), (91.0, 5000.0))
    assert math.isclose(axis.idle, 84 + 4909)
    assert [cut.text for cut in cuts_of(axis)] == ["1 min 24 s", "1 h 21 min"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.44, "0.4 s"),
        (45, "45 s"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (754, "12 min"),
        (12_000, "3 h 20 min"),
        (50_000, "13 h"),
        (187_200, "2 d 4 h"),
    ],
)
def test_stretches_are_written_in_two_units_at_most(seconds: float, text: str) -> None:
    assert stretch(seconds) == text


@pytest.mark.parametrize(
    ("moment", "last", "step", "text"),
    [
        (0.5, 1, 0.05, "0.50 s"),
        (20, 100, 20, "20 s"),
        (125, 600, 60, "2:05"),
        (3725, 9000, 600, "1:02:05"),
        (262_920, 1e6, 3600, "3 d 1:02"),
    ],
)
def test_the_format_of_moments_depends_on_the_length_of_the_run(moment: float, last: float, step: float, text: str) -> None:
    assert clock(moment, last, step) == text

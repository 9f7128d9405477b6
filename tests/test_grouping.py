"""Groups of things that have something in common."""

from shapelog.grouping import grouped


def test_items_and_groups_stay_in_their_order() -> None:
    assert list(grouped([3, 1, 4, 6, 5], lambda number: number % 2).items()) == [(1, [3, 1, 5]), (0, [4, 6])]

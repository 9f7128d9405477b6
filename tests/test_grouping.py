"""Groups of things that have something in common."""

from shapelog.grouping import connected, grouped


def test_items_and_groups_stay_in_their_order() -> None:
    assert list(grouped([3, 1, 4, 6, 5], lambda number: number % 2).items()) == [(1, [3, 1, 5]), (0, [4, 6])]


def test_groups_that_share_an_item_are_together() -> None:
    assert connected(["ab", "cd", "", "be", "f", "ec"]) == [["a", "b", "e", "c", "d"], ["f"]]

"""Alignment finds what a comparison of each with each would find."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from shapelog.model.alignment import align_lines, align_paths

LINES = st.lists(st.integers(1, 60), unique=True, max_size=12)
PATHS = st.frozensets(st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join), max_size=8)


def best_first(candidates: list[tuple[int, int, int]]) -> dict[int, int]:
    found: dict[int, int] = {}
    for _, one, other in sorted(candidates):
        if one not in found and other not in found.values():
            found[one] = other
    return found


@given(LINES, LINES)
def test_of_two_lists_of_different_length_the_nearest_lines_belong_together(before: list[int], after: list[int]) -> None:
    same = set(before) & set(after)
    left, right = ([line for line in lines if line not in same] for lines in (before, after))
    if len(left) != len(right):
        nearest = best_first([(abs(one - other), one, other) for one, other in product(left, right)])
        found = {before[one]: after[other] for one, other in align_lines(before, after).items()}
        distances = [sorted(abs(one - other) for one, other in pairs.items()) for pairs in (found, nearest | {line: line for line in same})]
        assert distances[0] == distances[1]


@given(LINES)
def test_as_many_lines_on_both_sides_keep_their_order(lines: list[int]) -> None:
    shifted = [line + 100 for line in lines]
    assert align_lines(lines, shifted) == {index: index for index in range(len(lines))}


def test_a_line_that_is_there_twice_is_found_twice() -> None:
    assert align_lines([5, 5, 9], [9, 5, 5, 7]) == {0: 1, 1: 2, 2: 0}


@given(PATHS, PATHS)
def test_the_paths_with_the_longest_common_end_belong_together(before: frozenset[str], after: frozenset[str]) -> None:
    left, moved = sorted(before - after), sorted(after - before)

    def common(one: str, other: str) -> int:
        parts = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
        return next((index for index, (first, second) in enumerate(parts) if first != second), min(one.count("/"), other.count("/")) + 1)

    candidates = [(-common(one, other), left.index(one), moved.index(other)) for one in left for other in moved if common(one, other)]
    assert align_paths(left, moved) == {moved[other]: left[one] for one, other in best_first(candidates).items()}

"""Code in colors: what is kept of one text never shows for another."""

from shapelog.page.diff import side_by_side
from shapelog.reporters.html_filters import Coder


def test_a_diff_is_not_taken_for_one_that_is_gone() -> None:
    coder = Coder()
    gone = [side_by_side([f"x{number}"], [f"y{number}"]) for number in range(100)]
    for diff in gone:
        coder.rows(diff)
    del gone, diff
    kept = [side_by_side([f"a{number}"], [f"b{number}"]) for number in range(100)]
    assert all(f"a{number}" in coder.rows(diff) for number, diff in enumerate(kept))

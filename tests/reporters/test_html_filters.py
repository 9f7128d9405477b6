"""Code in colors: what is kept of one text never shows for another."""

from shapelog.page.diff import side_by_side
from shapelog.reporters.html_filters import Coder


def test_a_diff_is_not_taken_for_one_that_is_gone() -> None:
    coder = Coder()
    for number in range(200):
        shown = coder.rows(side_by_side([f"x{number}"], [f"y{number}"]))
        assert f"x{number}" in shown
        assert f"y{number}" in shown

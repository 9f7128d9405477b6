"""Two texts side by side."""

from hypothesis import given
from hypothesis import strategies as st

from shapelog.reporters.html.side_by_side import AlignedRow, Diff, side_by_side


def kinds(diff: Diff) -> list[str]:
    return [row.kind for row in diff.rows]


def texts(diff: Diff) -> list[tuple[str, str]]:
    return [(row.left.text if row.left else "", row.right.text if row.right else "") for row in diff.rows if row.kind != "skipped"]


def marked(row: AlignedRow) -> tuple[str, str]:
    """What of a changed line is marked on either side."""
    assert row.left is not None
    assert row.right is not None
    return row.left.text[row.left.start : row.left.end], row.right.text[row.right.start : row.right.end]


def test_equal_texts_have_no_rows() -> None:
    diff = side_by_side(["a = 1", "b = 2"], ["a = 1", "b = 2"])
    assert diff.is_same
    assert diff.rows == ()


def test_a_changed_line_is_next_to_the_old_one_with_the_changed_part_marked() -> None:
    diff = side_by_side(["x: f32[3, 4]", "return x"], ["x: f32[s0, 4]", "return x"])
    assert kinds(diff) == ["changed", "same"]
    assert marked(diff.rows[0]) == ("3", "s0")


def test_lines_about_the_same_name_are_paired_though_another_came_between() -> None:
    diff = side_by_side(["x: f32[3]", "y: f32[3]"], ["s0: Sym(s0)", "x: f32[s0]", "y: f32[3]"])
    assert texts(diff)[:2] == [("", "s0: Sym(s0)"), ("x: f32[3]", "x: f32[s0]")]
    assert kinds(diff) == ["new", "changed", "same"]


def test_what_is_gone_and_new_has_no_other_side_and_keeps_its_number() -> None:
    diff = side_by_side(["a", "b", "c"], ["a", "c", "d"])
    gone = next(row for row in diff.rows if row.kind == "gone")
    new = next(row for row in diff.rows if row.kind == "new")
    assert (gone.left.number, gone.right) == (2, None)  # type: ignore[union-attr]
    assert (new.left, new.right.number) == (None, 3)  # type: ignore[union-attr]


def test_lines_far_from_any_difference_are_counted_not_shown() -> None:
    before = [f"line{number} = 1" for number in range(50)]
    after = [*before[:25], "line25 = 2", *before[26:]]
    diff = side_by_side(before, after)
    assert kinds(diff) == ["skipped", "same", "same", "changed", "same", "same", "skipped"]
    assert [row.skipped for row in diff.rows if row.kind == "skipped"] == [23, 22]
    assert diff.rows[1].left.number == 24  # type: ignore[union-attr]


def test_differences_beyond_what_is_shown_are_counted() -> None:
    diff = side_by_side([f"a{number} = 1" for number in range(5000)], [f"b{number} = 1" for number in range(5000)])
    shown = sum(row.kind in ("gone", "new", "changed") for row in diff.rows)
    assert diff.left_out > 0
    assert shown < 5000


@given(st.lists(st.sampled_from("abcdef"), max_size=30), st.lists(st.sampled_from("abcdef"), max_size=30))
def test_every_line_of_both_texts_is_shown_or_counted(before: list[str], after: list[str]) -> None:
    diff = side_by_side(before, after)
    if diff.is_same:
        assert before == after
        return
    left = sum(row.left is not None for row in diff.rows) + sum(row.skipped for row in diff.rows)
    right = sum(row.right is not None for row in diff.rows) + sum(row.skipped for row in diff.rows)
    assert (left, right) == (len(before), len(after))
    for row in diff.rows:
        for side, lines in ((row.left, before), (row.right, after)):
            assert side is None or lines[side.number - 1] == side.text

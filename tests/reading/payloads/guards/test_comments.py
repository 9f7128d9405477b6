"""The comments of guards: which line of the user's they name."""

import pytest

from shapelog.reading.payloads.guards.comments import UserLine, place_of, places_of

GROWS = UserLine("app/model.py", 25, "forward", "if n > self.max_len:")


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("if n > self.max_len:  # app/model.py:25 in forward (_dynamo/variables/tensor.py:2606 in evaluate_expr)", GROWS),
        ("(_prims/utils.py:322 in is_contiguous) and if n > self.max_len:  # app/model.py:25 in forward (_dynamo/utils.py:9 in f)", GROWS),
        ("y = (a and b)  # app/model.py:7 in f", UserLine("app/model.py", 7, "f", "y = (a and b)")),
        ("x = x + 1  # torch/_dynamo/utils.py:3 in f", None),
        ("", None),
    ],
)
def test_the_line_of_the_user(comment: str, expected: UserLine | None) -> None:
    assert place_of(comment) == expected


def test_each_bound_of_a_range_has_its_line() -> None:
    both = "if n < 9:  # app/model.py:5 in f (_dynamo/utils.py:3 in g) and if n > self.max_len:  # app/model.py:25 in forward"
    assert places_of(both) == (UserLine("app/model.py", 5, "f", "if n < 9:"), GROWS)
    assert places_of("if n < 9:  # app/model.py:5 in f") == ()

"""Long conditions over one size, in short."""

import pytest

from shapelog.reading.payloads.guards.expressions import parse
from shapelog.reading.payloads.guards.ranges import in_short

N = "x.size()[0]"
LENGTH = f"(((-5) + ({N} // 5)) // 8)"


def test_short_conditions_are_left_as_they_are() -> None:
    assert in_short([f"{N} <= 30", f"4 <= {N}", f"{N} <= 30"]) == [f"{N} <= 30", f"4 <= {N}", f"{N} <= 30"]


@pytest.mark.parametrize(
    ("conditions", "short"),
    [
        ([f"{LENGTH} != 1", f"65 <= {N}"], [f"105 <= {N}"]),
        ([f"{LENGTH} != {LENGTH}*{LENGTH}"], [f"{N} <= 24 or 105 <= {N}"]),
        ([f"{LENGTH} <= 4", f"3 <= {N}"], [f"3 <= {N} <= 224"]),
        ([f"{LENGTH} == 3", f"{N} % 40 == 26"], [f"{N} == 146"]),
        ([f"((((7 + {N}) // 8) * 8) - {N}) * 100000000 <= 0"], [f"{N} % 8 == 0"]),
        ([f"((((7 + {N}) // 8) * 8) - {N}) * 100000000 <= 0", f"20 <= {N}"], [f"{N} % 8 == 0", f"24 <= {N}"]),
        ([f"{LENGTH} + 1000000 >= 10 + 10 + 10 + 10 + 10"], []),
        ([f"((-1) + {N}) != 1"], [f"3 <= {N}"]),
        ([f"((-2) + {N}) <= 30"], [f"{N} <= 32"]),
    ],
    ids=["from", "two ranges", "up to", "one", "multiples", "larger multiples", "all", "a sum", "a sum with an end"],
)
def test_what_long_ones_allow_is_worked_out(conditions: list[str], short: list[str]) -> None:
    assert in_short(conditions) == short
    if " or " not in "".join(short):
        allowed = [number for number in range(2, 3000) if all(parse(text).holds({N: number}) for text in conditions)]
        assert allowed == [number for number in range(2, 3000) if all(parse(text).holds({N: number}) for text in short)]


@pytest.mark.parametrize(
    "condition",
    [
        f"({N} // 5) % 7 + ({N} // 3) % 5 + ({N} // 2) % 3 > 4",
        f"{LENGTH} != {LENGTH}*y.size()[0] + 2",
        "what nobody can read, with as many words as it takes to be long",
    ],
    ids=["scattered", "of two sizes", "no condition"],
)
def test_one_that_is_not_shorter_stays(condition: str) -> None:
    assert condition in in_short([condition])


def test_very_long_ones_are_left_as_they_are() -> None:
    conditions = [f"{LENGTH} != {number}" for number in range(100)]
    assert in_short(conditions) == conditions


def test_a_bound_beyond_what_is_tried_is_left_as_it_is() -> None:
    condition = f"{N}*{N} + 0*{N} + 0*{N} + 0*{N} <= 2147483647"
    assert in_short([condition]) == [condition]

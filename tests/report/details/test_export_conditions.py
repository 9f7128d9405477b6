"""Conditions on symbols, as a user would write them."""

import pytest

from shapelog.reading.export_records import Assumed
from shapelog.reading.records import Stack
from shapelog.report.details.export_conditions import condition, in_variables, source_name, symbols_in


@pytest.mark.parametrize(
    ("expression", "holds", "words"),
    [
        ("u0 > 4", True, "u0 > 4"),
        ("u0 > 4", False, "u0 <= 4"),
        ("Eq((((-u0)//3)) + 5, 0)", False, "(((-u0)//3)) + 5 != 0"),
        ("Ne(Mod(s77, 4), 0)", True, "s77 % 4 != 0"),
        ("Ne(Mod(s77, s77 - 1), 0)", True, "s77 % (s77 - 1) != 0"),
        ("Eq(Mod(2*s77, 4), 0)", True, "(2*s77) % 4 == 0"),
        ("Eq(Max(1, u0), u1)", True, "Max(1, u0) == u1"),
        ("u0", True, ""),
        ("(u0 > 1) & (u0 > 2)", True, ""),
    ],
)
def test_a_relation_is_written_in_python(expression: str, holds: bool, words: str) -> None:
    assert condition(expression, holds) == words


def assumed(expression: str, *values: tuple[str, str]) -> Assumed:
    return Assumed(expression, "True", Stack(), Stack(), values=values)


def test_variables_of_the_line_take_the_place_of_what_they_hold() -> None:
    assert in_variables(assumed("u0 > 3", ("n", "u0")), {}) == "n > 3"
    assert in_variables(assumed("u4 > 2", ("picked", "Tensor(shape: torch.Size([8, u4]), stride: (1, 8))")), {}) == "picked.shape[1] > 2"
    assert in_variables(assumed("Eq((-u0) + 5, 0)", ("a", "(-u0) + 5")), {"u0": "x"}) == "Eq(a, 0)"


def test_without_variables_the_names_of_symbols_are_taken() -> None:
    assert in_variables(assumed("u0 > u10"), {"u0": "n"}) == "n > u10"


def test_a_size_is_written_as_a_shape() -> None:
    assert source_name("x.size()[0]") == "x.shape[0]"
    assert source_name("k") == "k"


def test_symbols_are_listed_once() -> None:
    assert symbols_in("Eq(s27*u0, s27 + zf3)") == ("s27", "u0", "zf3")

"""The shape table of a frame: which sizes and ints are in it, and which where there are too many."""

import make
import pytest
from make import compile, tensor, trace
from payload_text import size_mismatch

from shapelog.recompiles import shape_table
from shapelog.recompiles.shape_table import ShapeTable, State
from shapelog.report.report import Report
from shapelog.reporters import Options, renderer


def many(number: int) -> Report:
    """A frame whose compiles have a tensor each that no other has, and one that stays the same."""
    parts = []
    for at in range(number):
        reasons = [size_mismatch(f"0/{at - 1}", 8, 3, name=f"t{at - 1}")] if at else []
        own = [tensor(3 if item < at else 8, source=f"L['t{item}']") for item in (at - 1, at) if item >= 0]
        parts.append(compile(f"0/{at}", tensor(5, source="L['same']"), *own, reasons=reasons))
    return make.report(trace(*parts))


def table(report: Report) -> ShapeTable:
    return report.frames[0].shapes


def test_each_size_has_a_row_with_a_cell_for_each_compile() -> None:
    found = table(many(4))
    assert [row.name for row in found.rows] == ["same.size[0]", *(f"t{item}.size[0]" for item in range(4))]
    assert [cell.value for cell in found.rows[2].cells] == ["", "8", "3", ""]
    assert [cell.state for cell in found.rows[2].cells] == [State.ABSENT, State.STATIC, State.STATIC, State.ABSENT]
    assert found.left_out == 0


@pytest.mark.slow
def test_of_too_many_rows_those_that_vary_are_kept_and_all_formats_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape_table, "MOST_CELLS", 400)
    report = many(40)
    found = table(report)
    assert [row.name for row in found.rows] == [f"t{item}.size[0]" for item in range(10)]
    assert found.left_out == 31
    (problem,) = [item for item in report.problems if "shapes" in item.message]
    assert problem.message == "frame 0 (f): the table of its shapes has 10 of 41 sizes and ints"
    for form in ("terminal", "json", "html"):
        assert b"10 of 41 sizes and ints" in renderer("report", form)(report, Options(width=400))
    assert b"31 rows left out" in renderer("report", "html")(report, Options())
    assert b"31 more rows left out" in renderer("report", "terminal")(report, Options(width=140, frame="0"))


def test_a_tensor_that_is_described_twice_has_one_cell_in_a_compile() -> None:
    twice = make.report(trace(compile("0/0", tensor(8), tensor(8)), compile("0/1", tensor(3), reasons=[size_mismatch("0/0", 8, 3)])))
    assert [[cell.value for cell in row.cells] for row in table(twice).rows] == [["8", "3"]]

"""Which symbols were pinned to one value, by whose line?"""

import make
from recorded import report_of

from shapelog.report.analyses.specializations import analyze
from shapelog.report.results import Table

PINNED = {"symbol": "s77", "sources": ["L['x'].size()[0]"], "value": "10", "reason": "range_refined_to_singleton"}
USER = [
    {"filename": 0, "line": 20, "name": "<module>", "loc": "f(x)"},
    {"filename": 0, "line": 8, "name": "f", "loc": "if x.size(0) == 10:"},
]
FRAMEWORK = [{"filename": 1, "line": 300, "name": "conv", "loc": ""}]


def tables(recording: bytes) -> list[Table]:
    return [table for table in analyze(make.explain(recording)) if isinstance(table, Table)]


def test_the_line_of_the_user_that_pinned_a_size() -> None:
    (table,) = tables(make.trace(make.compile("0/0", make.tensor(10, 8), specializations=({**PINNED, "user_stack": USER},))))
    assert table.name == "specializations"
    assert table.rows == (("x.size()[0]", "10", "model.py:8  if x.size(0) == 10:", "by a guard", "0/0", "SL201"),)


def test_a_size_that_is_combined_with_a_static_one_is_to_be_marked_there_too() -> None:
    broadcast = [{"filename": 0, "line": 922, "name": "infer_size", "loc": ""}]
    pinned = {**PINNED, "user_stack": USER, "stack": broadcast}
    (table,) = tables(make.trace(make.compile("0/0", make.tensor(10, 8), specializations=(pinned,))))
    assert table.rows[0][3] == "by broadcasting"
    assert "Mark the same dimension of both" in table.note


def test_without_a_user_the_frame_of_the_framework() -> None:
    made = make.trace()
    made += make.record("str", ["/opt/lib/site-packages/torch/_inductor/lowering.py", 1])
    (table,) = tables(made + make.compile("0/0", make.tensor(10, 8), specializations=({**PINNED, "user_stack": [], "stack": FRAMEWORK},)))
    assert table.rows[0][2] == "_inductor/lowering.py:300 in conv (framework)"


def test_the_same_line_in_several_compiles_is_one_row() -> None:
    made = make.trace()
    for number, size in enumerate((10, 12)):
        made += make.compile(f"0/{number}", make.tensor(size, 8), specializations=({**PINNED, "value": str(size), "user_stack": USER},))
    (table,) = tables(made)
    assert table.rows == (("x.size()[0]", "10 12", "model.py:8  if x.size(0) == 10:", "by a guard", "0/0 0/1", "SL201"),)


def test_a_symbol_without_a_source_is_named_by_itself() -> None:
    (table,) = tables(make.trace(make.compile("0/0", make.tensor(10, 8), specializations=({**PINNED, "sources": []},))))
    assert table.rows[0][0] == "s77"


def test_without_specializations_there_is_no_table() -> None:
    assert tables(make.trace(make.compile("0/0", make.tensor(10, 8)), make.compile("0/1", make.tensor(12, 8)))) == []
    assert report_of("lab/batch_varies.log.gz").table("specializations") is None


def test_a_range_that_unrolls_is_shown_in_a_real_program() -> None:
    table = report_of("lab/resume_int_special.log.gz").table("specializations")
    assert table is not None
    assert any("for _ in range(hops):" in str(row[2]) for row in table.rows)

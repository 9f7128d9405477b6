"""Where did graphs break, and which compiles were traced again from the start?"""

import make
import pytest
from recorded import report_of

from shapelog.report.analyses.graph_breaks import analyze
from shapelog.report.results import Table

OLD = "Graph break in user code at /srv/app/model.py:6\nReason: Unsupported: builtin: print [...] False\nUser code traceback:\n"
NEW = (
    "Graph break in user code at /srv/app/model.py:6\nGraph Break Reason: Failed to trace builtin operator\n"
    "  Explanation: Dynamo does not know how to trace builtin operator `print`\n  Hint: ...\nUser code traceback:\n"
)


def tables(recording: bytes) -> dict[str, Table]:
    return {table.name: table for table in analyze(make.explain(recording)) if isinstance(table, Table)}


def broken(text: str, **metrics: object) -> bytes:
    made = make.trace()
    made += make.artifact("dynamo_graph_break_reason", text, id="0/0")
    return made + make.compile("0/0", make.tensor(10, 8), **metrics)


@pytest.mark.parametrize(("text", "words"), [(OLD, "Dynamo cannot trace the builtin print"), (NEW, "Failed to trace builtin operator")])
def test_a_graph_break_is_shown_with_its_place(text: str, words: str) -> None:
    (row,) = tables(broken(text))["graph_breaks"].rows
    assert str(row[0]).endswith("model.py:6")
    assert words in str(row[1])
    assert row[2] == 1
    assert row[-1] == "0/0"


def test_a_reason_that_ends_with_a_colon_gets_no_second_one() -> None:
    table = tables(broken(NEW.replace("builtin operator\n", "builtin operator:\n", 1)))["graph_breaks"]
    assert str(table.rows[0][1]).startswith("Failed to trace builtin operator: Dynamo does not know")


def test_a_restart_that_a_graph_break_explains_is_not_reported_again() -> None:
    found = tables(broken(NEW, restart_reasons=["Failed to trace builtin operator\n  more"], dynamo_time_before_restart_s=0.5))
    assert list(found) == ["graph_breaks"]


def test_a_restart_for_another_reason_is_shown_with_the_seconds_it_lost() -> None:
    made = make.trace(make.compile("0/0", make.tensor(10, 8), restart_reasons=["speculation diverged"], dynamo_time_before_restart_s=0.5))
    assert tables(made)["restarts"].rows == (("speculation diverged", 1, 0.5, "0/0"),)


def test_the_same_break_in_several_compiles_is_one_row() -> None:
    made = make.trace()
    for number in range(2):
        made += make.compile(f"0/{number}", make.tensor(number + 4, 8))
        made += make.artifact("dynamo_graph_break_reason", NEW, id=f"0/{number}")
    (row,) = tables(made)["graph_breaks"].rows
    assert row[2] == 2
    assert row[-1] == "0/0 0/1"


def test_an_unbroken_program_has_neither_table() -> None:
    assert tables(make.trace(make.compile("0/0", make.tensor(10, 8)))) == {}


def test_the_break_of_a_real_program_is_where_it_prints() -> None:
    table = report_of("real/demo.log.gz").table("graph_breaks")
    assert table is not None
    (row,) = table.rows
    assert str(row[0]).endswith("demo.py:38")
    assert row[2] == 3
    assert row[-1] == "2/0 2/1 2/2"


def test_two_four_has_no_break_records_and_its_restarts_are_shown() -> None:
    report = report_of("real/2.4/f_graph_breaks.log.gz")
    assert report.table("graph_breaks") is None
    restarts = report.table("restarts")
    assert restarts is not None
    assert "Tensor.item" in [row[0] for row in restarts.rows]

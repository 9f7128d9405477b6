"""The conditions on sizes in a text log that has no reasons."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.report import Report, analyze
from shapelog.report.results import Table
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render

HEAD = "I0228 12:04:24.190000 299 torch/fx/experimental/symbolic_shapes.py:6630] [0/1] "
SYMBOL = f"{HEAD}create_symbol s0 = 8 for L['x'].size()[0] [2, int_oo] y = x + 1  # srv.py:9 in f (_dynamo/builder.py:1 in <lambda>)"
REASON = "V0228 12:04:25.190000 299 torch/_dynamo/guards.py:2813] [0/1] [__recompiles]"


def added(expression: str, place: str = "if x.shape[0] > 4:  # srv.py:10 in f ") -> str:
    return f"{HEAD}eval {expression} [guard added] {place}(_dynamo/variables/tensor.py:1242 in evaluate_expr), for more info\n"


def report_of(text: str, folder: Path) -> Report:
    log = folder / "run.log"
    log.write_text(text)
    return analyze(load(log), debug=True)


def conditions(text: str, folder: Path) -> Table | None:
    return report_of(text, folder).table("size_conditions")


@pytest.mark.parametrize(
    ("expression", "condition"),
    [("s0 > 4", "x.shape[0] > 4"), ("Eq(s0, s1)", "x.shape[0] == s1"), ("Eq(Mod(3*s0, 8), 0)", "(3*x.shape[0]) % 8 == 0")],
)
def test_a_condition_in_the_words_of_its_sources_and_its_line(expression: str, condition: str, tmp_path: Path) -> None:
    table = conditions(f"{SYMBOL}\n{added(expression)}", tmp_path)
    assert table is not None
    assert table.rows == ((condition, "srv.py:10  if x.shape[0] > 4:", "0/1", "SL204"),)


def test_one_that_two_compiles_share_is_one_row(tmp_path: Path) -> None:
    table = conditions(added("s0 > 4") + added("s0 > 4").replace("[0/1]", "[0/2]"), tmp_path)
    assert table is not None
    assert [row[2] for row in table.rows] == ["0/1 0/2"]


@pytest.mark.parametrize("expression", ["Eq(s0, 8)", "u0 > 4"])
def test_what_fixes_a_symbol_or_is_about_data_is_no_condition_on_a_size(expression: str, tmp_path: Path) -> None:
    assert conditions(f"{SYMBOL}\n{added(expression)}", tmp_path) is None


def test_where_there_are_reasons_these_name_the_condition_that_failed(tmp_path: Path) -> None:
    reasons = (
        f"{REASON} Recompiling function f in /srv.py:8\n{REASON}     - 0/0: tensor 'x' size mismatch at index 0. expected 4, actual 8\n"
    )
    assert conditions(reasons + added("s0 > 4"), tmp_path) is None


def test_a_report_on_conditions_alone_shows_them_and_what_to_do(tmp_path: Path) -> None:
    shown = render(report_of(f"{SYMBOL}\n{added('s0 > 4')}", tmp_path), Options()).decode()
    assert "x.shape[0] > 4" in shown
    assert "accept one graph per branch" in shown


def test_a_report_on_recompiles_without_a_reason_shows_the_conditions_too(tmp_path: Path) -> None:
    shown = render(report_of(added("s0 > 4") + added("s0 <= 4").replace("[0/1]", "[0/2]"), tmp_path), Options()).decode()
    assert "SL399" in shown
    assert "s0 <= 4" in shown


def test_conditions_of_an_export_are_what_the_program_accepts(tmp_path: Path) -> None:
    head = HEAD.replace(" [0/1]", "")
    symbol = (
        f"{head}create_symbol s0 = 1024 for L['args'][0][0].size()[0] [2, int_oo] (_export/non_strict_utils.py:92 in fakify), for more\n"
    )
    text = f"{symbol}{head}eval Ne(s0, 20) [guard added] (_refs/__init__.py:3685 in _reshape_view_helper), for more info\n"
    report = report_of(text, tmp_path)
    table = report.table("size_conditions")
    assert table is not None
    assert table.title == "Conditions on sizes: the exported program accepts no others"
    assert table.rows == (("args[0][0].shape[0] != 20", "_refs/__init__.py:3685 in _reshape_view_helper", "", "SL607"),)


def test_conditions_on_data_are_checked_or_assumed(tmp_path: Path) -> None:
    unsure = (
        "{}could not evaluate {} due to data dependency, it was assumed to be {} with no runtime assertions (utils/_stats.py:28 in wrapper)"
    )
    text = f"{HEAD}runtime_assert u2 >= u1 [guard added] (ex.py:14 in forward), for more info\n"
    text += f"{unsure.format(HEAD, 'Eq(-u1 + u2, 0)', 'False')}\n{unsure.format(HEAD, 'Ne(-u1 + u2, 0)', 'True')}\n"
    report = report_of(text, tmp_path)
    table = report.table("data_conditions")
    assert table is not None
    assert table.rows == (
        ("u2 >= u1", "ex.py:14 in forward", "checked when the code runs", "0/1"),
        ("-u1 + u2 != 0", "utils/_stats.py:28 in wrapper", "assumed, not checked", "0/1"),
    )
    assert "Conditions on values that only the data have" in render(report, Options()).decode()
    assert report.table("size_conditions") is None


def test_what_is_checked_when_the_code_runs_needs_no_other_graph(tmp_path: Path) -> None:
    text = (
        f"{SYMBOL}\n{HEAD}runtime_assert Eq(s0, s1) [guard added] y = x + z  # srv.py:10 in f (_refs/fake.py:845 in infer_size), for more\n"
    )
    report = report_of(text, tmp_path)
    table = report.table("size_checks")
    assert table is not None
    assert table.rows == (("x.shape[0] == s1", "srv.py:10  y = x + z", "0/1"),)
    assert report.table("size_conditions") is None
    shown = render(report, Options()).decode()
    assert "it raises an error where one does not hold" in " ".join(shown.split())
    assert "one graph per branch" not in shown

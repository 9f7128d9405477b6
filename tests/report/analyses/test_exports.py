"""What is said about exports: what stopped them, what they assumed, what their symbols accept."""

import gzip
from typing import Any

import make
import pytest
from recorded import FIXTURES, report_of

from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.next_steps import next_steps
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding

CALL = [
    {"line": 30, "name": "<module>", "filename": 0, "loc": "export(model, inputs, dynamic_shapes=shapes)"},
    {"line": 171, "name": "export", "filename": 1, "loc": "return _export("},
]
LINE = [*CALL, {"line": 8, "name": "forward", "filename": 2, "loc": "y = narrow(x)"}]


def made(*records: bytes) -> list[Finding]:
    """What an export is found to need that wrote these records, with ``s77`` for a declared size and ``u0`` for a value from data."""
    files = (make.MAIN, "/srv/ml/lib/python3.11/site-packages/torch/export/__init__.py", make.MODEL)
    symbol = {"symbol": "s77", "val": "8", "vr": "[2, 512]", "source": "L['x'].size()[0]", "user_stack": [], "stack": CALL}
    from_data = {"symbol": "u0", "vr": "[-int_oo, int_oo]", "user_stack": LINE, "stack": LINE}
    opened = [make.record("create_symbol", symbol, stack=CALL), make.record("create_unbacked_symbol", from_data, stack=CALL)]
    report = make.report(make.trace(make.strings(*files), *opened, *records))
    return [item for item in report.findings if item.rule.code.startswith("SL6")]


def fixed_to(value: int, **body: Any) -> bytes:
    body = {"value": str(value), "reason": "range_refined_to_singleton", "user_stack": LINE, "stack": LINE, **body}
    return make.record("symbolic_shape_specialization", body, stack=CALL)


def condition(expression: str) -> bytes:
    return make.record("guard_added", {"expr": expression, "prefix": "eval", "user_stack": LINE, "stack": LINE}, stack=CALL)


def findings(name: str) -> tuple[Finding, ...]:
    return tuple(item for item in report_of(f"real/2.13/{name}.log.gz").findings if item.rule.code.startswith("SL6"))


def rows(name: str, table: str) -> list[tuple[object, ...]]:
    found = report_of(f"real/2.13/{name}.log.gz").table(table)
    return list(found.rows) if found else []


def test_a_branch_on_data_is_named_with_its_line_and_what_to_type() -> None:
    for name in ("export_data_dependent", "export_data_dependent_strict"):
        (found,) = findings(name)
        assert (found.rule.code, found.sentence) == ("SL602", "export 1 stopped at a data-dependent expression: n > 4")
        assert found.text[0].startswith("torch._check(n > 4)")
    (found,) = findings("export_data_dependent")
    assert (found.place and found.place.short, found.code) == ("exports.py:28", "if n > 4:")


def test_a_custom_operator_at_which_it_stopped_probably_lacks_a_fake_kernel() -> None:
    (found,) = findings("export_missing_kernel")
    assert found.rule.code == "SL604"
    assert "mylib.count.default" in found.sentence
    assert found.text[0] == '@torch.library.register_fake("mylib::count")'


def test_a_draft_export_lists_all_that_it_took_from_the_example() -> None:
    found = findings("export_draft")
    assert [item.rule.code for item in found] == ["SL604", "SL605", "SL603", "SL603"]
    assert [item.place and item.place.line for item in found] == [40, 41, 43, 46]
    assert found[2].text == ("torch._check(n >= 3)",)
    assert found[3].text == ("torch._check(picked.shape[0] > 2)",)
    assert [row[1] for row in rows("export_draft", "exports")] == ["exported with 2 assumptions"]


def test_conditions_on_a_declared_size_are_named_by_line() -> None:
    for name in ("export_violation", "export_violation_unrecorded"):
        narrowed = [item for item in findings(name) if item.rule.code == "SL607"]
        assert [item.place and item.place.line for item in narrowed] == [53, 55]
        assert narrowed[0].sentence == "x.shape[0] is declared as 2 to 512, but this line needs x.shape[0] <= 100"


def test_an_export_that_failed_without_an_error_in_the_trace_is_a_failure_all_the_same() -> None:
    assert [item.rule.code for item in findings("export_violation")] == ["SL601", "SL607", "SL607"]


def test_an_export_that_succeeded_needs_nothing() -> None:
    assert findings("export_good") == ()


def test_symbols_that_have_to_be_equal_share_the_range_of_the_program() -> None:
    accepted = {row[2]: row[5] for row in rows("export_good", "export_symbols")}
    assert accepted == {
        "tokens.shape[0]": "0 to 64",
        "tokens.shape[1]": "2 to 512",
        "mask.shape[0]": "0 to 64",
        "mask.shape[1]": "2 to 512",
    }


def test_an_input_of_a_strict_export_has_the_name_that_the_code_has_for_it() -> None:
    found = findings("o_export")
    assert not any("flat_args" in text for item in found for text in (item.sentence, item.remedy))
    assert [item.rule.code for item in found].count("SL606") == 1  # two exports, one strict, of one module


def test_a_violated_constraint_is_at_the_line_that_restricts_the_size_with_what_pytorch_suggests() -> None:
    failed = [item for item in findings("o_export") if item.rule.code == "SL601"]
    assert [(item.place and item.place.line, item.remedy) for item in failed] == [
        (15, "declare b = 3 in dynamic_shapes, as PyTorch suggests, or rewrite the line"),
        (21, "declare b = Dim('b', max=10) in dynamic_shapes, as PyTorch suggests, or rewrite the line"),
    ]


def test_a_line_at_which_an_export_failed_is_one_step() -> None:
    steps = next_steps(collect_alerts(report_of("real/2.13/o_export.log.gz"), Repository("nowhere")))
    assert [step.places[0].line.line for step in steps] == [15, 21]


def test_a_declared_size_that_a_line_fixes_makes_export_raise() -> None:
    (found,) = made(fixed_to(4, symbol="s77", sources=["L['x'].size()[0]"]))
    assert (found.rule.code, found.place and found.place.line) == ("SL606", 8)
    assert found.sentence == "x.shape[0] is declared as dynamic (2 to 512), but this line fixes it to 4"


def test_what_was_not_declared_is_not_fixed() -> None:
    assert made(fixed_to(4, symbol="u0", sources=[])) == []  # a check of the program when it runs
    assert made(fixed_to(-1, symbol="s72", sources=["sym_1"])) == []  # an input of the program that run_decompositions traces again


@pytest.mark.parametrize(
    ("expression", "needs"),
    [
        ("s77 <= 100", "x.shape[0] <= 100"),
        ("s77 >= 300", "x.shape[0] >= 300"),
        ("Eq(Mod(s77, 4), 0)", "x.shape[0] % 4 == 0"),
        ("Eq(RoundToInt(s77/2.0), 4)", "RoundToInt(x.shape[0]/2.0) == 4"),
        ("8*((s77//2)) <= 4*s77", ""),  # holds for every size
        ("s77 <= 600", ""),  # and this one for every declared one
        ("Ne(s77 - 4, 1)", ""),  # PyTorch compares no != with the declaration
        ("s77 != 20", ""),
        ("u0 <= s77", ""),  # a check of the program when it runs
    ],
)
def test_a_condition_is_one_on_what_was_declared(expression: str, needs: str) -> None:
    found = [(item.rule.code, item.sentence) for item in made(condition(expression))]
    assert found == ([("SL607", f"x.shape[0] is declared as 2 to 512, but this line needs {needs}")] if needs else [])


def test_an_export_that_stopped_on_a_line_that_is_not_recorded_is_placed_at_its_call() -> None:
    (found,) = made(make.artifact("make_fx_fail_partial", "graph():\n", stack=CALL))
    assert (found.rule.code, found.place and found.place.line) == ("SL601", 30)


def test_a_branch_on_data_is_at_its_line_where_the_record_of_it_ends_at_the_call() -> None:
    stack = [{"line": 105, "name": "<module>", "filename": "/srv/ml/exports/exports.py", "loc": "print(export(model, inputs))"}]
    undecided = make.record("guard_on_data_dependent_error", {"expr": "u0 > 4", "expr_id": 1, "stack": stack}, id="0/0", process=23823)
    recorded = gzip.decompress((FIXTURES / "real/2.13/export_data_dependent_strict.log.gz").read_bytes())
    lines = recorded.splitlines(keepends=True)
    end = next(number for number, line in enumerate(lines) if b'"compilation_metrics"' in line)
    report = make.report(b"".join((*lines[:end], undecided, *lines[end:])))
    (found,) = (item for item in report.findings if item.rule.code == "SL602")
    assert (found.place and found.place.short, found.code) == ("exports.py:28", "if n > 4:")

"""How an export came to its conditions: operation by operation, down to the symbols, with the user's lines."""

from typing import Any

import make
from recorded import report_of

from shapelog.model.exports import Export
from shapelog.report.details.expression_tree import ExpressionNode, asked_expressions, expression_tree, lines_of_tree

LINES = {0: make.MAIN, 1: "/srv/ml/lib/python3.11/site-packages/torch/export/__init__.py", 2: make.MODEL}
CALL = [{"line": 9, "name": "main", "filename": 0, "loc": "export(m, x)"}, {"line": 1, "name": "draft_export", "filename": 1}]


def at(line: int) -> list[dict[str, Any]]:
    return [{"line": line, "name": "forward", "filename": 2, "loc": f"line {line}"}]


def made(number: int, text: str, method: str, arguments: list[str], of: list[int], line: int) -> bytes:
    body = {"method": method, "result": text, "result_id": number, "arguments": arguments, "argument_ids": of, "user_stack": at(line)}
    return make.record("expression_created", body, stack=CALL)


def export(*records: bytes) -> Export:
    strings = [make.record("str", [text, number]) for number, text in LINES.items()]
    symbol = {"symbol": "u0", "vr": "[-int_oo, int_oo]", "user_stack": at(3), "stack": CALL}
    began = (make.record("export", {"exported": True}, stack=CALL), make.record("create_unbacked_symbol", symbol, stack=CALL))
    (found,) = make.load(make.trace(*strings, *began, *records)).exports
    return found


NEGATED, SUM, ASKED = made(11, "-u0", "neg", ["u0"], [10], 4), made(12, "4 - u0", "add", ["-u0", "4"], [11], 5), 13
COMPARED = made(ASKED, "Eq(4 - u0, 0)", "eq", ["4 - u0", "0"], [12], 6)


def texts(node: ExpressionNode | None) -> list[tuple[int, str, str]]:
    return [(depth, step.operation, step.line.code if step.line else "") for depth, step in lines_of_tree(node)] if node else []


def test_an_expression_is_followed_to_the_data_that_it_comes_from() -> None:
    assert texts(expression_tree(export(NEGATED, SUM, COMPARED), ASKED)) == [
        (0, "eq(4 - u0, 0)", "line 6"),
        (1, "add(-u0, 4)", "line 5"),
        (2, "neg(u0)", "line 4"),
        (3, "from data", "line 3"),
    ]


def test_what_has_no_record_has_no_tree() -> None:
    assert expression_tree(export(), ASKED) is None


def test_expressions_that_are_made_of_each_other_end() -> None:
    loop = made(11, "a", "add", ["b", "1"], [12], 4), made(12, "b", "add", ["a", "1"], [11], 5)
    assert [operation for _, operation, _ in texts(expression_tree(export(*loop), 11))] == ["add(b, 1)", "add(a, 1)"]


def test_what_was_assumed_and_each_condition_is_asked_once_with_the_variables_of_its_line() -> None:
    held = {"locals": {"n": ["u0", "x"], "self": None}}
    body = {"expr": "Eq(4 - u0, 0)", "result": "False", "expr_node_id": ASKED, "user_stack": at(6), "frame_locals": held}
    guard = {"expr": "4 - u0 >= 0", "prefix": "eval", "expr_node_id": 12, "user_stack": at(7), "frame_locals": held}
    records = [make.record("propagate_real_tensors_provenance", body, stack=CALL)] * 2 + [make.record("guard_added", guard, stack=CALL)]
    found = asked_expressions(export(NEGATED, SUM, COMPARED, *records))
    assert [(item.expression, item.answer, item.values) for item in found] == [
        ("Eq(4 - u0, 0)", "assumed to be False", (("n", "u0"),)),
        ("4 - u0 >= 0", "a condition of the program", (("n", "u0"),)),
    ]
    assert [item.line and item.line.code for item in found] == ["line 6", "line 7"]


def test_a_recorded_draft_export_leads_from_its_assumption_to_the_line_that_read_the_data() -> None:
    (recorded,) = report_of("real/2.13/export_draft.log.gz").trace.exports
    first = asked_expressions(recorded)[0]
    assert (first.answer, [name for name, _ in first.values]) == ("assumed to be True", ["n"])
    assert texts(first.root)[-1] == (1, "from data", "n = limit.item()")

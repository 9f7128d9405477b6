"""The printed programs and graphs of torch.export: ranges of symbols, lines of code, operators."""

import pytest

from shapelog.reading.payloads.exported_programs import (
    Range,
    last_condition,
    last_line,
    last_operation,
    line_of_operation,
    parse_range,
    range_constraints,
)

GRAPH = """


def forward(self, arg0_1: "f32[8, 2][2, 1]cpu", arg1_1: "i64[][]cpu"):
    # File: /srv/app/model.py:27 in forward, code: n = limit.item()
    item: "Sym(u0)" = torch.ops.aten.item.default(arg1_1);  arg1_1 = None

    # File: /srv/app/model.py:28 in forward, code: if n > 4:
    gt: "Sym(u0 > 4)" = item > 4;  item = gt = None
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[2, int_oo]", "2 or more"),
        ("[-int_oo, int_oo]", "any"),
        ("[3, 3]", "exactly 3"),
        ("[-int_oo, 15]", "15 or less"),
        ("[0, 64]", "0 to 64"),
    ],
)
def test_a_range_is_written_in_words(text: str, words: str) -> None:
    assert str(parse_range(text)) == words


def test_the_ranges_of_a_program_are_those_of_its_last_line() -> None:
    text = "Range constraints: {s9: VR[1, 2]}\nmore\nRange constraints: {s31: VR[0, 64], u3: VR[3, int_oo]}\n"
    assert range_constraints(text) == {"s31": Range(0, 64), "u3": Range(3, None)}
    assert range_constraints("no program") == {}


def test_a_graph_that_stopped_ends_at_its_line_and_its_condition() -> None:
    line = last_line(GRAPH)
    assert line is not None
    assert (line.file, line.line, line.code) == ("/srv/app/model.py", 28, "if n > 4:")
    assert last_condition(GRAPH) == "u0 > 4"


def test_a_graph_that_stopped_at_an_operator_has_no_condition() -> None:
    graph = GRAPH[: GRAPH.index("    gt:")] + "    count = torch.ops.mylib.count.default(arg0_1)\n"
    assert last_condition(graph) == ""
    assert last_operation(graph) == "mylib.count.default"


def test_an_operator_is_found_at_the_line_that_calls_it_first() -> None:
    line = line_of_operation(GRAPH, "aten.item.default")
    assert line is not None
    assert line.line == 27
    assert line_of_operation(GRAPH, "mylib.count.default") is None

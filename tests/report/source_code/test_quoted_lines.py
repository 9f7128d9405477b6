"""Which lines of code a trace quotes, and in which file those of guards are, whose names are shortened."""

import make
import pytest
from payload_text import code_comment, equals_match, guard_tree, tensor_match
from recorded import RECORDED, report_of

from shapelog.reading.payloads.guards.comments import UserLine
from shapelog.report.source_code.quoted_lines import FileLine, Quote, QuotedLines, is_shown, quoted_lines


def quoted(*parts: bytes) -> QuotedLines:
    return quoted_lines(make.report(make.trace(*parts)))


def line(file: str, number: int, code: str = "", name: str = "f") -> UserLine:
    return UserLine(file, number, name, code)


def test_lines_come_from_stacks_graphs_and_guards() -> None:
    guards = guard_tree(tensor_match(), equals_match("L['k']", 3, comment=code_comment(9, "return x * k")))
    found = quoted(make.compile("0/0", make.tensor(10, 8), guards=guards)).by_file
    assert found[make.MAIN] == {20: Quote("main", "f(x)")}
    assert found[make.MODEL][9] == Quote("f", "return x * k")
    assert found[make.MODEL][5] == Quote("f", "")


def test_the_line_of_a_graph_break_and_of_a_failure_are_among_them() -> None:
    text = "Graph break in user code at /srv/app/model.py:7\nReason: Unsupported: no\nUser code traceback:\n" + (
        '  File "/srv/app/model.py", line 7, in f\n    print(x)\n'
    )
    failed = make.compile("1/0", make.tensor(8), **make.FAILED, fail_user_frame_filename=make.MODEL, fail_user_frame_lineno=8)
    found = quoted(make.artifact("dynamo_graph_break_reason", text, id="0/0"), make.compile("0/0", make.tensor(10, 8)), failed).by_file
    assert found[make.MODEL][7] == Quote("f", "print(x)")
    assert 8 in found[make.MODEL]


def test_code_that_goes_on_after_a_graph_break_is_part_of_its_function() -> None:
    found = quoted(make.compile("0/0", make.tensor(8), name="torch_dynamo_resume_in_forward_at_12", line=3)).by_file
    assert found[make.MODEL][12].name == "forward"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/srv/app/model.py", True),
        ("/venv/lib/python3.11/site-packages/transformers/models/gpt2/modeling_gpt2.py", True),
        ("/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", False),
        ("<eval_with_key>.3", False),
        ("<string>", False),
        ("<ipython-input-3-abc>", True),
        ("", False),
    ],
)
def test_generated_code_and_that_of_pytorch_is_not_shown(file: str, shown: bool) -> None:
    assert is_shown(file) is shown


def test_a_line_that_is_quoted_in_two_ways_makes_its_file_unreliable() -> None:
    found = QuotedLines()
    found.add(line("/a/b.py", 3, "x = 1"))
    found.add(line("/a/b.py", 3, "x = 1"))
    assert found.conflicting == set()
    found.add(line("/a/b.py", 3, "x = 2"))
    assert found.conflicting == {"/a/b.py"}


def test_a_guard_may_leave_out_the_comment_at_the_end_of_a_line() -> None:
    found = QuotedLines()
    found.add(line("/a/b.py", 3, "x = 1"))
    found.add(line("/a/b.py", 3, "x = 1  # one"))
    assert found.conflicting == set()
    assert found.by_file["/a/b.py"][3].code == "x = 1  # one"


def test_a_lambda_on_a_line_does_not_give_the_line_its_name() -> None:
    found = QuotedLines()
    found.add(line("/a/b.py", 3, name="<lambda>"))
    found.add(line("/a/b.py", 3, name="main"))
    assert found.by_file["/a/b.py"][3].name == "main"


@pytest.mark.parametrize(
    ("short", "near", "file"),
    [
        ("app/model.py", "", "/srv/app/model.py"),
        ("app/model.py", "/srv/app/model.py", "/srv/app/model.py"),
        ("elsewhere/only.py", "", "/srv/app/only.py"),
        ("app/unknown.py", "", "app/unknown.py"),
        ("core/model.py", "", "/srv/core/model.py"),
    ],
)
def test_a_shortened_name_is_that_of_the_file_with_this_end(short: str, near: str, file: str) -> None:
    found = QuotedLines()
    for name in ("/srv/core/model.py", "/srv/app/model.py", "/srv/app/only.py"):
        found.add(line(name, 1))
    assert found.place_of(line(short, 4), near) == FileLine(file, 4)


@pytest.mark.parametrize("name", RECORDED)
def test_no_line_of_a_recorded_trace_is_quoted_in_two_ways(name: str) -> None:
    found = quoted_lines(report_of(name))
    assert found.conflicting == set()
    assert all(number > 0 for lines in found.by_file.values() for number in lines)

"""What ``torch._dynamo.explain`` prints."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.reading.text_logs.messages.summaries import explained_breaks
from shapelog.report.report import analyze
from shapelog.reporters import Options
from shapelog.reporters.terminal.report import render

BREAK = '\n1. call_function rearrange in skip_files /lib/einops.py\n  File "{file}", line 155, in forward\n    q = rearrange(q)\n'


@pytest.mark.parametrize("heading", ["Break reasons: ", " Break reasons: "])
@pytest.mark.parametrize("file", ["/srv/a.py", "/tmp/ipykernel_1302757/1698778135.py"])
def test_the_breaks_that_are_listed_are_of_those_that_are_counted(heading: str, file: str, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    text = f"Dynamo produced 100 graphs with 99 graph break and 60 ops\n{heading}\n{BREAK.format(file=file)} \n2. call_function re"
    path.write_text(text, encoding="utf-8")
    shown = render(analyze(load(path), debug=True), Options()).decode()
    assert "graph breaks (of 99 that torch._dynamo.explain counted, in 100 graphs)" in " ".join(shown.split())
    assert "graph break in forward (once): call_function rearrange in skip_files /lib/einops.py" in " ".join(shown.split())
    assert f"--> {file}:155" in shown


EXPLAINED = (
    "Dynamo produced 3 graphs, with 2 graph break and 6 ops.\n Break reasons:\n\n"
    '1. call_function BuiltinVariable(print) [ConstantVariable(str)] {}\n  File "t2.py", line 16, in f\n    print("woo")\n \n'
    '2. generic_jump\n  File "t2.py", line 17, in f\n    if b.sum() < 0:\n'
)


def test_breaks_are_in_words_with_their_lines_and_stand_for_no_compilations(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(EXPLAINED, encoding="utf-8")
    shown = " ".join(render(analyze(load(path), debug=True), Options()).decode().split())
    assert 'graph break in f (once): a call of print() --> t2.py:16 | print("woo")' in shown
    assert "graph break in f (once): a branch on the value of a tensor (generic_jump) --> t2.py:17 | if b.sum() < 0:" in shown
    assert "Summary: 2 graph breaks, nothing about recompilations in this log" in shown


def test_a_break_without_a_stack_has_its_reason() -> None:
    lines = ["Graph Break Count: 1", "Break Reasons:", "  Break Reason 1:", "    Reason: generic_jump TensorVariable()", "Ops per Graph:"]
    (found,) = explained_breaks(lines)
    assert (found.reason.split("\n")[0], found.place) == ("generic_jump TensorVariable()", None)


OBJECT = "reason='Logger not supported', user_stack=[<FrameSummary file /srv/utils.py, line 21 in prepare>"


@pytest.mark.parametrize(
    "text", [OBJECT, f"{OBJECT}]", f"GraphCompileReason({OBJECT}], graph_break=True)", f"Why? GraphCompileReason({OBJECT}])"]
)
def test_a_reason_of_explain_is_a_break_without_its_surroundings(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(f"It says:\n{text}\n", encoding="utf-8")
    (broken,) = (item for frame in load(path).frames for compile in frame.compiles for item in compile.breaks)
    assert broken.message.title == "Logger not supported"
    assert broken.place is not None
    assert (broken.place.file, broken.place.line, broken.place.name) == ("/srv/utils.py", 21, "prepare")


def test_a_reason_of_explain_that_is_no_break_is_none() -> None:
    assert list(explained_breaks([f"GraphCompileReason({OBJECT}], graph_break=False)"])) == []


PRINTED = (
    "    Reason: Failed to trace builtin operator\n"
    "  Explanation: Dynamo does not know how to trace builtin operator `print` with argument types ['str'] (has_kwargs False)\n"
    "  Hint: Avoid calling builtin `print`.\n\n"
    "  Developer debug context: builtin print [<class 'ConstantVariable'>] False\n\n"
    " For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html\n"
)
LISTED = (
    f"Graph Count: 3\nGraph Break Count: 2\nOp Count: 4\nBreak Reasons:\n  Break Reason 1:\n{PRINTED}    User Stack:\n"
    "      <FrameSummary file /srv/ex.py, line 5 in f>\n  Break Reason 2:\n"
    "    Reason: Unsupported Tensor.item() call with capture_scalar_outputs=False\n"
    "  Explanation: Dynamo does not support tracing `Tensor.item()` with config.capture_scalar_outputs=False.\n"
)
OPS = "Ops per Graph:\n  Ops 1:\n    <built-in function add>\n"


@pytest.mark.parametrize("in_front", ["", "# ", "> "])
@pytest.mark.parametrize("stack", ["", "    User Stack:\n      <FrameSummary file /srv/ex.py, line 7 in f>\n"])
def test_a_break_that_explain_lists_has_the_explanation_below_its_title(stack: str, in_front: str, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("".join(f"{in_front}{line}\n" for line in f"{LISTED}{stack}{OPS}".split("\n")), encoding="utf-8")
    first, second = (item for frame in load(path).frames for compile in frame.compiles for item in compile.breaks)
    assert first.message.title == "Failed to trace builtin operator"
    assert first.message.explanation.startswith("Dynamo does not know how to trace builtin operator `print`")
    assert first.message.hints == ("Avoid calling builtin `print`.",)
    assert first.place is not None
    assert first.place.line == 5
    assert second.message.title == "Unsupported Tensor.item() call with capture_scalar_outputs=False"
    assert "built-in" not in f"{second.message}"
    assert (second.place is not None) == bool(stack)


def test_a_reason_on_the_line_of_its_number_and_a_comma_behind_the_line_are_read() -> None:
    lines = ["# Break Reason 1: builtin: print".lstrip("# "), "  Break Reason 2:", "    Reason: Tensor.item", "    User Stack:"]
    first, second = explained_breaks([*lines, "      <FrameSummary file model.py, line 88, in forward>", "  ... (37 more)"])
    assert (first.reason, first.place) == ("builtin: print", None)
    assert second.place is not None
    assert (second.place.file, second.place.line, second.place.name) == ("model.py", 88, "forward")


WITH_MARGIN = """Graph Count: 3
Graph Break Count: 2
Op Count: 8
Break Reasons:
  Break Reason 1:
    Reason: builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False
    User Stack:
      <FrameSummary file /srv/a.py, line 7 in f>
  Break Reason 2:
    Reason: Data-dependent branching
  Explanation: Detected data-dependent branching.
  Hint: Use `torch.cond` to express dynamic control flow.
    User Stack:
      <FrameSummary file /srv/a.py, line 9 in f>
Ops per Graph:
  Ops 1:
"""


@pytest.mark.parametrize("end", ["Ops per Graph", "file /srv/a.py, line 9"])
def test_a_page_may_have_taken_the_margin_of_the_breaks(end: str, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    text = WITH_MARGIN.partition(end)[0]
    path.write_text("".join(f"{line.lstrip()}\n" for line in text.splitlines()), encoding="utf-8")
    first, second = (item for frame in load(path).frames for compile in frame.compiles for item in compile.breaks)
    assert (first.message.title, first.message.stack[0].line) == ("Dynamo cannot trace the builtin print", 7)
    assert second.message.title == "Data-dependent branching"
    assert second.message.explanation in ("Detected data-dependent branching.", "")


def test_a_break_within_whose_reason_the_text_ends_has_that_of_another_one() -> None:
    reason = "data dependent operator: aten.item.default; to enable, set torch._dynamo.config.capture_scalar_outputs = True"
    first = [
        "Break Reasons:",
        "  Break Reason 1:",
        f"    Reason: {reason}",
        "    User Stack:",
        "      <FrameSummary file a.py, line 5 in f>",
    ]
    for cut, whole in ((reason[:42], reason), ("data", "data"), ("generic_jump TensorVariable", "generic_jump TensorVariable")):
        found = explained_breaks([*first, "  Break Reason 2:", f"    Reason: {cut}"])
        assert [item.reason for item in found] == [reason, whole]

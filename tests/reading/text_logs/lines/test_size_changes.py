"""Lines about what becomes dynamic are the reasons of recompilations, where a text has nothing else."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.reading.text_logs.lines.size_changes import reason_of_change
from shapelog.report.report import analyze

HEAD = "V1128 09:45:39.589000 17475 torch/_dynamo/pgo.py:487] "
SIZE = "automatic dynamic size L['x'] size(0) 5 != 4"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (SIZE, "tensor 'L['x']' size mismatch at index 0. expected 4, actual 5"),
        ("automatic dynamic L['x'] size(1) 5 != 4", "tensor 'L['x']' size mismatch at index 1. expected 4, actual 5"),
        ("automatic dynamic stride L['x'] stride(0) 6 != 3", "tensor 'L['x']' stride mismatch at index 0. expected 3, actual 6"),
        ("automatic dynamic int L['self'].k val 2 != 1", "L['self'].k == 1"),
        ("automatic dynamic size L['x'] dim (2, 3) != (4,)", "tensor 'L['x']' rank mismatch. expected 1, actual 2"),
        ("automatic dynamic L['x'] dim 3 != 2", "tensor 'L['x']' rank mismatch. expected 2, actual 3"),
        ("automatic dynamic size L['x'] size(0) 5 != auto unset", ""),
        ("automatic dynamic shapes are on", ""),
    ],
)
def test_a_line_is_the_guard_that_failed(line: str, reason: str) -> None:
    assert reason_of_change(line) == reason


def recompiles_of(text: str, folder: Path) -> list[tuple[str, list[str]]]:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return [(item.frame.name, [cause.sentence for cause in item.causes]) for item in analyze(load(path), debug=True).recompiles]


def test_the_lines_of_a_compile_are_one_recompilation_of_what_began_there(tmp_path: Path) -> None:
    start = "I1128 09:45:39.587000 17475 torch/_dynamo/symbolic_convert.py:5335] [0/1] Step 1: torchdynamo start tracing f /srv/a.py:2\n"
    second = SIZE.replace("'x'", "'y'")
    ((name, sentences),) = recompiles_of(f"{start}{HEAD}[0/1] {SIZE}\n{HEAD}[0/1] {second}\n", tmp_path)
    assert (name, sentences) == ("f", ["dim 0 of x changed from 4 to 5", "dim 0 of y changed from 4 to 5"])


def test_a_line_without_a_head_is_a_recompilation(tmp_path: Path) -> None:
    ((_, sentences),) = recompiles_of(f"loading\n{SIZE}\n", tmp_path)
    assert sentences == ["dim 0 of x changed from 4 to 5"]


def test_in_the_first_compilation_the_other_size_is_of_an_earlier_run(tmp_path: Path) -> None:
    with pytest.raises(ShapelogError, match="about what becomes dynamic"):
        recompiles_of(f"{HEAD}[0/0] {SIZE}\n", tmp_path)


def test_reasons_of_pytorch_itself_go_before_them(tmp_path: Path) -> None:
    reason = "V1128 09:45:39.1 17475 torch/_dynamo/guards.py:1] [0/1] [__recompiles] "
    lines = ("Recompiling function f in /srv/a.py:2", "    triggered by the following guard failure(s):", "    - 0/0: L['n'] == 3")
    ((_, sentences),) = recompiles_of("".join(f"{reason}{line}\n" for line in lines) + f"{HEAD}[0/1] {SIZE}\n", tmp_path)
    assert len(sentences) == 1
    assert "int n was 3" in sentences[0]

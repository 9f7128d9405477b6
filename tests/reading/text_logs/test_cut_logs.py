"""Logs that end, begin or go on where a person cut them still get the answer that is left in them."""

from pathlib import Path

import pytest

from shapelog import load
from shapelog.report.report import Report, analyze

RECOMPILING = "V0228 12:04:24.190000 2990033 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] Recompiling function f in a.py:1\n"
REASON = "V0228 12:04:24.190000 2990033 torch/_dynamo/guards.py:2813] [0/1] [__recompiles]     - 0/0: tensor 'x' "
LIMIT = (
    "[rank{rank}]:W1101 02:43:39.336000 {process} torch/_dynamo/convert_frame.py:896] [1/8] torch._dynamo hit config.recompile_limit (8)\n"
    "[rank{rank}]:W1101 02:43:39.336000 {process} torch/_dynamo/convert_frame.py:896] [1/8]    function: 'f' (/srv/a.py:1)\n"
)
LAST = "{front}W1101 02:43:39.336000 {process} torch/_dynamo/convert_frame.py:896] [1/8]    last reason: 1/0: {reason}\n"


def report_of(text: str, folder: Path) -> Report:
    path = folder / "run.txt"
    path.write_text(text, encoding="utf-8")
    return analyze(load(path), debug=True)


@pytest.mark.parametrize(
    "end", ["mismatch", "mismatch at", "mismatch at index 0", "mismatch at index 0. exp", "mismatch at index 0. expected 10"]
)
def test_a_stride_is_the_cause_wherever_its_reason_is_cut(end: str, tmp_path: Path) -> None:
    (item,) = report_of(f"{RECOMPILING}{REASON}stride {end}", tmp_path).explained.recompiles
    assert item.codes == ("SL105",)
    assert item.causes[0].sentence == "the memory layout of x changed (transposed, channels last, or a view)"


def test_a_recompile_whose_reasons_are_cut_off_is_counted(tmp_path: Path) -> None:
    report = report_of(RECOMPILING.replace("[0/1]", "[7/2]"), tmp_path)
    assert [item.compile.label for item in report.explained.recompiles] == ["7/2"]


def test_lines_under_another_head_go_on_with_the_message_that_they_cannot_begin(tmp_path: Path) -> None:
    head = "torch._dynamo.guards.__recompiles: [DEBUG] "
    text = f"{head}Recompiling function f in a.py:1\n[2023-11-16 11:47:42,965] {head}    triggered by the following guard failure(s):\n"
    (item,) = report_of(f"{text}[2023-11-16 11:47:43,001] {head}    - L['k'] == 3\n", tmp_path).explained.recompiles
    assert (item.frame.title, item.codes) == ("f", ("SL102",))


def test_ranks_do_not_differ_because_the_warning_of_one_is_cut(tmp_path: Path) -> None:
    text = LIMIT.format(rank=0, process=143) + LAST.format(
        front="[rank0]:", process=143, reason="tensor 'x' size mismatch at index 0. expected 2, actual 3"
    )
    report = report_of(text + LIMIT.format(rank=1, process=144), tmp_path)
    assert {finding.rule.code for finding in report.findings} == {"SL401"}
    assert [problem.code for problem in report.problems] == []


def test_a_reason_that_is_not_known_is_quoted_with_the_setting_of_the_version(tmp_path: Path) -> None:
    text = "torch._dynamo hit config.cache_size_limit (8)\n   function: 'f' (/srv/a.py:1)\n   last reason: ___guarded_code.valid\n"
    (finding,) = report_of(text, tmp_path).findings
    assert finding.sentence.endswith("; the last reason that PyTorch gives: ___guarded_code.valid")
    assert finding.remedy.endswith("torch._dynamo.config.cache_size_limit")


def test_a_forbidden_recompile_is_explained_by_its_cause(tmp_path: Path) -> None:
    text = (
        f"torch._dynamo.exc.RecompileError: {RECOMPILING.partition('[__recompiles] ')[2]}    triggered by the following guard failure(s):\n"
    )
    (finding,) = report_of(text + "    - 0/0: tensor 'x' size mismatch at index 0. expected 10, actual 20\n", tmp_path).findings
    assert finding.sentence.endswith("dim 0 of x changed from 10 to 20")
    assert "mark" in finding.remedy

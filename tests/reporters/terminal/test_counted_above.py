"""A recompilation that two diagnostics are about is named as such in the second one."""

import make
import pytest
from payload_text import equals_match, guard_tree, tensor_match

from shapelog.check.check import check
from shapelog.check.policy import Policy
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.terminal.check import render_check
from shapelog.reporters.terminal.report import render
from shapelog.rules import AlertKind


@pytest.fixture
def report() -> Report:
    """0/1 has another string and another dtype, 0/2 another string alone, 0/3 another dtype alone."""
    made = make.trace()
    for number, (name, dtype) in enumerate([("a", "float32"), ("b", "float64"), ("c", "float64"), ("c", "float16")]):
        guards = guard_tree(tensor_match(dtype=dtype), equals_match("L['name']", name, "str"))
        made += make.compile(f"0/{number}", make.tensor(10, 8, dtype=f"torch.{dtype}"), guards=guards)
    return make.report(made)


def blocks(text: str) -> list[str]:
    return [" ".join(block.split()) for block in text.split("\n\n") if "was recompiled" in block]


def test_the_second_block_names_what_the_first_has(report: Report) -> None:
    first, second = blocks(render(report, Options()).decode())
    assert "counted above" not in first
    assert "0/1 is counted above, too (SL301)" in second


def test_a_check_does_so_as_well(report: Report) -> None:
    checked = check(collect_alerts(report, Repository()), Policy(fail_on=(AlertKind.RECOMPILE,)))
    assert "0/1 is counted above, too" in " ".join(render_check(checked, Options()).decode().split())

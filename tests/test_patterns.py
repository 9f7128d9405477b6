"""Every program of the page of patterns compiles as often as its last line promises."""

import re
from pathlib import Path

import pytest
from test_docs import DOCS, blocks
from test_handbook_examples import ran

pytest.importorskip("torch", minversion="2.13")
pytestmark = pytest.mark.torch

PROMISE = re.compile(r"^# (\d+) compilations?$", re.M)
# peft is not installed where the tests run.
PROGRAMS = [text for text in blocks(DOCS / "patterns.md", "python") if "from peft" not in text]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: re.findall(r"^@?[a-z][^\n]*", text, re.M)[-1][:40])
def test_a_pattern_compiles_as_often_as_it_promises(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (promised,) = PROMISE.findall(program)
    trace, error = ran("pattern", program, tmp_path, monkeypatch)
    assert error == ""
    summary = trace.report.summary
    assert (summary.compiles, summary.failures, summary.limit_hits) == (int(promised), 0, 0)

"""What ``torch._dynamo.explain`` prints."""

from pathlib import Path

import pytest

from shapelog import load
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

"""The runs of a directory in a terminal."""

import make
import pytest
from recorded import report_of

from shapelog.report.trend import NamedRun, trend
from shapelog.reporters import Options
from shapelog.reporters.terminal.trend import render_trend

RUNS = [NamedRun("11-20 08:27:33", report_of(f"real/{name}.log.gz")) for name in ("demo", "demo_marked")]


@pytest.mark.parametrize("width", [80, 140])
def test_each_run_has_a_line_that_fits(width: int) -> None:
    lines = render_trend(trend("runs", RUNS), Options(width=width)).decode().splitlines()
    assert lines[2] == "2 runs: compilations 19 → 8, recompilations 15 → 4"
    rows = [line.split() for line in lines if line.split()[1:2] == ["11-20"]]
    began = ["11-20", "08:27:33" if width == 140 else "08:27"]
    assert rows == [["1", *began, "19", "15", "11", "67.28", "1", "0"], ["2", *began, "8", "4", "0", "25.13", "0", "0", "better"]]
    assert "    - SL315 module-int-varies  self.step ×8" in lines
    assert max(map(len, lines)) <= width


def test_of_many_runs_the_newest_are_listed() -> None:
    report = make.report(make.trace(make.static_sizes(8)))
    found = trend("runs", [NamedRun("", report)] * 35, ["a.log: not a trace"])
    text = render_trend(found, Options(width=100)).decode()
    assert "not read: a.log: not a trace" in text
    assert "… 5 more older runs, shown with --limit 0" in text
    assert len(render_trend(found, Options(width=100, limit=0)).decode().splitlines()) > 35

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
    assert rows == [["1", *began, "19", "15", "13", "67.28", "1", "0"], ["2", *began, "8", "4", "3", "25.13", "0", "0", "better"]]
    assert "    - SL315 module-int-varies  self.step ×8" in lines
    assert max(map(len, lines)) <= width


def test_of_many_runs_the_newest_are_listed() -> None:
    report = make.report(make.trace(make.static_sizes(8)))
    found = trend("runs", [NamedRun("", report)] * 35, ["a.log: not a trace"])
    text = render_trend(found, Options(width=100)).decode()
    assert "not read: a.log: not a trace" in text
    assert "… 5 more older runs, shown with --limit 0" in text
    assert len(render_trend(found, Options(width=100, limit=0)).decode().splitlines()) > 35


def test_exports_have_a_table_of_their_own_and_their_problems_a_line_each() -> None:
    exports = [NamedRun("11-23 14:24:22", report_of(f"real/2.13/{name}.log.gz")) for name in ("export_violation", "export_good")]
    lines = render_trend(trend("runs", exports), Options(width=80)).decode().splitlines()
    assert lines[4].split() == ["run", "began", "exports", "failed", "problems", "in", "exports", "change"]
    assert [line.split()[3:] for line in lines[5:7]] == [["1", "1", "3"], ["1", "0", "0", "better"]]
    assert "    - SL607 export-dim-constrained  exports.py:53" in lines
    mixed = render_trend(trend("runs", [*RUNS, *exports]), Options(width=80)).decode().splitlines()
    assert max(map(len, mixed)) <= 80
    assert next(line for line in mixed if line.split()[:1] == ["run"]).split()[2] == "comp."
    assert "Exports" in mixed


def test_a_run_in_a_directory_of_its_own_has_its_name() -> None:
    found = trend("runs", [item._replace(directory=f"job_{number}") for number, item in enumerate(RUNS)])
    assert [row.name for row in found.rows] == ["job_0/demo.log.gz", "job_1/demo_marked.log.gz"]
    lines = render_trend(found, Options(width=80)).decode().splitlines()
    assert [line.split()[:2] for line in lines[4:7]] == [["run", "directory"], ["1", "job_0"], ["2", "job_1"]]
    assert max(map(len, lines)) <= 80

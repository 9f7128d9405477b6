"""The runs of a program one after another: figures of each, and what came and went in between."""

import make
from payload_text import size_mismatch
from recorded import report_of

from shapelog.report.export_changes import ExportCounts
from shapelog.report.frame_changes import Effect
from shapelog.report.trend import NamedRun, RunFigures, Trend, trend

ONCE = make.trace(make.static_sizes(8))
TWICE = make.small_trace()
INTS = make.trace(make.int_values(1, 2, 3))
OTHER = make.trace(make.compile("0/0", make.tensor(8, 8), name="other", line=99, file="/srv/ml/other.py"))


def of(*traces: bytes) -> Trend:
    return trend("runs", (NamedRun(f"11-2{number} 08:00:00", make.report(data)) for number, data in enumerate(traces)))


def test_each_run_has_its_figures() -> None:
    rows = of(ONCE, TWICE).rows
    assert [row.number for row in rows] == [1, 2]
    assert rows[0].figures == RunFigures(
        compiles=1,
        recompiles=0,
        avoidable=0,
        by_marking=0,
        seconds=1.0,
        avoidable_seconds=0.0,
        limit_hits=0,
        failures=0,
        exports=ExportCounts(),
    )
    assert rows[1].figures[:3] == (2, 1, 1)
    assert (rows[1].figures.first, rows[1].figures.other) == (1, 0)


def test_causes_come_and_go_between_neighbors() -> None:
    first, second, third = of(ONCE, TWICE, ONCE).rows
    assert first.change is None
    assert second.change
    assert (second.change.effect, [item.code for item in second.change.came], second.change.went) == (Effect.WORSE, ["SL101"], ())
    assert third.change
    assert (third.change.effect, third.change.came, [item.code for item in third.change.went]) == (Effect.BETTER, (), ["SL101"])


def test_a_cause_that_only_becomes_more_frequent_neither_came_nor_went() -> None:
    more = make.trace(
        make.compile("0/0", make.tensor(8, 16)),
        *(make.compile(f"0/{n}", make.tensor(8 + n, 16), reasons=[size_mismatch("0/0", 8, 8 + n)]) for n in (1, 2)),
    )
    change = of(TWICE, more).rows[1].change
    assert change
    assert (change.came, change.went) == ((), ())


def test_between_runs_of_other_code_nothing_came_or_went() -> None:
    change = of(TWICE, OTHER).rows[1].change
    assert change
    assert (change.word, change.came, change.went) == ("other code", (), ())


def test_the_headline_goes_from_the_first_run_to_the_last() -> None:
    assert str(of(ONCE, INTS, TWICE).headline) == "3 runs: compilations 1 → 2, recompilations 0 → 1"
    assert str(of(ONCE, TWICE, ONCE).headline) == "3 runs: 1 compilation in the first and in the last"
    assert str(of(ONCE).headline) == "Only one run: there is nothing to compare it with"


def exports(*names: str) -> Trend:
    return trend("runs", (NamedRun("", report_of(f"real/2.13/{name}.log.gz")) for name in names))


def test_problems_in_exports_come_and_go_between_neighbors() -> None:
    found = exports("export_data_dependent", "export_violation", "export_good")
    first, second, third = found.rows
    assert [(row.figures.exports.exported, row.figures.exports.failed) for row in found.rows] == [(0, 1), (0, 1), (1, 0)]
    assert not first.change
    assert second.change
    assert [item.rule.code for item in second.change.problems_came] == ["SL601", "SL607", "SL607"]
    assert [item.rule.code for item in second.change.problems_went] == ["SL602"]
    assert third.change
    assert (third.change.word, len(third.change.problems_came), len(third.change.problems_went)) == ("better", 0, 3)


def test_the_headline_counts_failed_exports() -> None:
    assert str(exports("export_violation", "export_good").headline) == "2 runs: failed exports 1 → 0"
    assert str(exports("export_good", "export_good").headline) == "2 runs: 1 export, none failed"
    mixed = trend("runs", [NamedRun("", make.report(ONCE)), NamedRun("", report_of("real/2.13/export_violation.log.gz"))])
    assert str(mixed.headline) == "2 runs: compilations 1 → 0, failed exports 0 → 1"
    assert (mixed.has_exports, mixed.is_of_exports) == (True, False)

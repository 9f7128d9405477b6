"""What became of exports from one run to another: the verdict, the figures, and the problems that went and came."""

import gzip

import make
import pytest
from recorded import FIXTURES, report_of

from shapelog.report.compare import Comparison, compare
from shapelog.report.frame_changes import Effect
from shapelog.report.report import Report


def exported(name: str) -> Report:
    return report_of(f"real/2.13/export_{name}.log.gz")


def compared(before: str, after: str) -> Comparison:
    return compare(exported(before), exported(after))


def with_compiles(name: str, *sizes: int) -> Report:
    """A run that exports and compiles."""
    data = gzip.decompress((FIXTURES / f"real/2.13/export_{name}.log.gz").read_bytes())
    return make.report(data + make.trace(make.static_sizes(*sizes)))


def test_an_export_that_succeeds_instead_of_failing_is_better() -> None:
    found = compared("violation", "good")
    assert str(found.headline) == "Better: 1 export succeeds that failed; 3 problems in exports are gone"
    assert found.outcome is found.exports.effect is Effect.BETTER
    assert [item.rule.code for item in found.exports.went] == ["SL601", "SL607", "SL607"]
    assert (found.exports.was.failed, found.exports.now.failed) == (1, 0)


def test_an_export_that_fails_instead_of_succeeding_is_worse() -> None:
    found = compared("good", "violation")
    assert str(found.headline) == "Worse: 1 export fails that succeeded; 3 new problems in exports"
    assert (found.outcome, found.exports.went, len(found.exports.came)) == (Effect.WORSE, (), 3)


def test_another_problem_instead_of_the_known_one_is_mixed() -> None:
    found = compared("data_dependent", "missing_kernel")
    assert str(found.headline) == "Mixed: 1 new problem in exports; 1 problem in exports is gone"


@pytest.mark.parametrize("name", ["good", "violation", "draft", "violation_unrecorded"])
def test_the_same_exports_are_no_difference(name: str) -> None:
    found = compared(name, name)
    failed = ", 1 failed" if name == "violation" else ""
    assert str(found.headline) == f"No difference: 1 export in both runs{failed}"
    assert (found.outcome, found.exports.went, found.exports.came) == (Effect.SAME, (), ())


def test_a_result_that_one_run_alone_records_is_neither_better_nor_worse() -> None:
    for before, after in (("violation", "violation_unrecorded"), ("violation_unrecorded", "violation")):
        found = compared(before, after)
        assert (found.outcome, found.headline.subject) == (Effect.SAME, "Neither better nor worse")
        assert any("without a recorded result: record with TORCH_DTRACE" in note for note in found.notes)


def test_problems_that_went_with_their_export_are_no_gain() -> None:
    found = compare(exported("draft"), report_of("real/demo.log.gz"))
    assert found.exports.effect is Effect.WORSE
    assert compare(exported("violation"), report_of("real/demo.log.gz")).exports.effect is Effect.SAME


def test_the_answer_about_compiled_code_has_that_about_exports_too() -> None:
    found = compare(with_compiles("violation", 8, 12), with_compiles("good", 8, 12))
    same = "2 compilations in both runs, for the same reasons"
    assert str(found.headline) == f"Better: {same}; 1 export succeeds that failed; 3 problems in exports are gone"
    found = compare(with_compiles("good", 8, 12), with_compiles("violation", 8))
    assert found.outcome is Effect.MIXED
    assert "1 compilation instead of 2" in found.headline.rest
    assert found.headline.rest.endswith("1 export fails that succeeded; 3 new problems in exports")

"""A check of a run that exports: failed exports and what they assumed are alerts like others, in every format."""

import pytest
from json_schemas import faults
from recorded import report_of

from shapelog.check.baseline import as_bytes, parse
from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Policy
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, formats, renderer
from shapelog.reporters.json.check import check_data

UNDECIDED = "real/2.13/export_data_dependent.log.gz"
GOOD = "real/2.13/export_good.log.gz"
DRAFT = "real/2.13/export_draft.log.gz"
UNRECORDED = "real/2.13/export_violation_unrecorded.log.gz"


def checked(name: str, **policy: object) -> CheckResult:
    return check(collect_alerts(report_of(name), Repository("nowhere")), Policy(**policy))  # type: ignore[arg-type]


def failing(found: CheckResult) -> list[str]:
    return [item.alert.rule.code for item in found.failing]


def test_a_failed_export_fails_the_check() -> None:
    found = checked(UNDECIDED)
    assert failing(found) == ["SL602"]
    assert str(found.headline) == "Check failed: 1 problem in exports"
    assert found.failing[0].alert.labels == ()


def test_an_export_that_succeeded_passes_and_nothing_is_missing() -> None:
    found = checked(GOOD)
    assert (failing(found), str(found.headline), found.notes) == ([], "Check passed: 1 export", ())


def test_a_rule_that_is_selected_fails_the_check_and_one_that_is_ignored_does_not() -> None:
    assert "SL603" not in failing(checked(DRAFT))
    assert set(failing(checked(DRAFT, select=("SL603",)))) == {"SL603"}
    assert failing(checked(UNDECIDED, ignore=("SL602",))) == []


def test_where_the_result_is_not_recorded_the_check_names_the_variable_that_records_it() -> None:
    assert any("TORCH_DTRACE" in note for note in checked(UNRECORDED).notes)


@pytest.mark.parametrize("format", formats("check"))
def test_every_format_names_the_line_and_the_rule(format: str) -> None:
    text = renderer("check", format)(checked(UNDECIDED), Options()).decode()
    assert "SL602" in text
    assert "exports.py" in text
    assert "data-dependent expression" in text


def test_the_json_is_as_its_schema_asks() -> None:
    assert faults("check", check_data(checked(DRAFT, select=("SL6",)))) == []


def test_the_fingerprint_is_the_same_in_every_run() -> None:
    one, other = (checked(UNDECIDED).failing[0].alert.fingerprint for _ in range(2))
    assert one == other
    assert one != checked(DRAFT, select=("SL6",)).failing[0].alert.fingerprint


def test_a_baseline_knows_what_an_export_assumed() -> None:
    found = collect_alerts(report_of(DRAFT), Repository("nowhere"))
    policy = Policy(select=("SL6",))
    assert not check(found, policy, parse(as_bytes(found), "known.json")).has_failed
    other = collect_alerts(report_of(UNDECIDED), Repository("nowhere"))
    assert failing(check(found, policy, parse(as_bytes(other), "known.json")))


def test_a_report_for_ci_has_them_too() -> None:
    found = without_policy(collect_alerts(report_of(UNDECIDED), Repository("nowhere")))
    assert [item.alert.rule.code for item in found.alerts] == ["SL602"]
    assert not found.has_failed

"""The outcome of a check as JSON."""

import json

import make
import pytest
from recorded import RECORDED, report_of

from shapelog.check.baseline import as_bytes, parse
from shapelog.check.check import check, without_policy
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters.json.check import alert_data, check_data


@pytest.mark.parametrize("name", RECORDED)
def test_the_outcome_is_json_and_the_same_each_time(name: str) -> None:
    found = collect_alerts(report_of(name), Repository("nowhere"))
    for checked in (
        without_policy(found),
        check(found, Policy(budgets=(Budget(Metric.COMPILES, 1, "*"), Budget(Metric.AVOIDABLE, 0)))),
    ):
        data = check_data(checked)
        assert json.loads(json.dumps(data, allow_nan=False)) == data
        assert data["passed"] is not checked.has_failed
        assert [item["fails"] for item in data["alerts"]] == sorted(
            (item["fails"] for item in data["alerts"]), reverse=True
        ) or not checked.is_check


def test_a_check_as_json_has_the_next_steps() -> None:
    data = check_data(check(make.alerts_of(make.trace(make.static_sizes(8, 3))), Policy()))
    assert [(step["kind"], step["text"]) for step in data["next_steps"]] == [
        ("mark as dynamic", ["export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\""])
    ]


def test_an_alert_as_json_has_what_is_new_of_it() -> None:
    known = parse(as_bytes(make.alerts_of(make.trace(make.static_sizes(8, 3)))), "known.json")
    (item,) = check(make.alerts_of(make.trace(make.static_sizes(8, 3, 5)), prefixes=("/srv/app",)), Policy(), known).alerts
    data = alert_data(item, is_timed=True)
    assert (data["count"], data["new"], data["fails"], data["level"]) == (2, 1, True, "error")
    assert (data["file"], data["line"], data["frame"], data["axis"]) == ("model.py", 6, "f", "x.size[0]")
    assert data["compile_ids"] == ["0/1", "0/2"]

"""SARIF: valid by the official schema, and as GitHub takes it."""

import json
from collections.abc import Callable
from typing import Any

import ci
import make
import pytest
from jsonschema import Draft202012Validator

from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Policy
from shapelog.report.repository_paths import SourceLine
from shapelog.reporters import Options
from shapelog.reporters.ci import sarif

Golden = Callable[[str, bytes], None]
VALIDATOR = Draft202012Validator(ci.sarif_schema())


def run_of(checked: CheckResult) -> dict[str, Any]:
    data = json.loads(sarif.render_check(checked, Options()))
    assert [error.message for error in VALIDATOR.iter_errors(data)] == []
    (run,) = data["runs"]
    return dict(run)


def test_it_is_as_recorded(golden: Golden) -> None:
    golden("demo.sarif", sarif.render_check(check(ci.fixture("real/demo"), Policy(select=("SL101", "SL4"))), Options()))


@pytest.mark.parametrize("name", ci.NAMES)
def test_any_trace_gives_what_the_official_schema_requires(name: str) -> None:
    alerts = ci.fixture(name)
    for checked in (check(alerts, ci.BUDGETS), without_policy(alerts)):
        run = run_of(checked)
        rules = run["tool"]["driver"]["rules"]
        assert len(run["results"]) == len(checked.alerts)
        for result in run["results"]:
            assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
            # GitHub refuses the whole file otherwise.
            assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]


def test_the_exit_code_is_that_of_the_check_and_a_report_has_none_but_0() -> None:
    assert run_of(ci.demo())["invocations"][0]["exitCode"] == 1
    assert run_of(ci.shown())["invocations"][0]["exitCode"] == 0


def test_a_result_is_at_the_line_with_its_code_and_names_the_other_lines() -> None:
    (result,) = (item for item in run_of(ci.demo())["results"] if item["ruleId"] == "SL315")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "demo/demo.py", "uriBaseId": "%SRCROOT%"}
    assert place["region"] == {"startLine": 29, "snippet": {"text": "self.step += 1"}}
    assert [item["physicalLocation"]["region"]["startLine"] for item in result["relatedLocations"]] == [28, 57]
    assert result["properties"]["compileIds"] == ["1/1", "1/2", "1/3", "1/4", "1/5", "1/6", "1/7"]


def test_every_rule_explains_itself() -> None:
    for rule in run_of(ci.demo())["tool"]["driver"]["rules"]:
        assert rule["helpUri"].endswith(f"#{rule['id'].lower()}")
        assert "## How to fix it" in rule["help"]["markdown"]
        assert 0 < len(rule["fullDescription"]["text"]) <= 1000
        assert len(rule["properties"]["tags"]) <= 20


def test_names_that_try_to_be_something_else_stay_text() -> None:
    results = run_of(ci.hostile())["results"]
    assert results
    for item in results:
        assert "](" not in item["message"]["text"]
        assert "<script" not in item["message"]["markdown"].replace("\\<", "")
    for text in ci.fields(results):
        assert not any(ord(character) < 32 and character != "\n" for character in text)
    uri = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri.startswith("d%3Ae,f%20%2541%0A%3A%3Awarning")


def test_faults_of_the_trace_are_notifications_with_their_rule() -> None:
    run = run_of(ci.hostile())
    found = run["invocations"][0]["toolExecutionNotifications"][0]
    assert found["level"] == "error"
    assert run["tool"]["driver"]["notifications"][found["descriptor"]["index"]]["id"] == found["descriptor"]["id"] == "SL903"


def test_only_results_that_share_rule_and_line_carry_a_hash_of_their_own() -> None:
    results = run_of(ci.demo())["results"]
    lines: dict[tuple[str, int], list[bool]] = {}
    for item in results:
        line = item["locations"][0]["physicalLocation"]["region"]["startLine"]
        lines.setdefault((item["ruleId"], line), []).append("primaryLocationLineHash" in item["partialFingerprints"])
    assert lines["SL101", 15] in ([False, True], [True, False])
    assert all(sum(not has for has in own) == 1 for own in lines.values())


def test_fingerprints_are_unique_and_stay_when_lines_shift() -> None:
    def names(trace: bytes) -> list[str]:
        found = [item["partialFingerprints"]["shapelogFingerprint/v1"] for item in run_of(ci.checked(trace))["results"]]
        assert len(set(found)) == len(found)
        return found

    assert names(ci.varying(3)) == names(ci.varying(3, line=40))
    assert len(names(ci.varying(3))) == 3


def test_a_baseline_separates_new_from_unchanged() -> None:
    known = run_of(ci.checked(ci.varying(1), baseline=ci.varying(1)))["results"]
    assert [item["baselineState"] for item in known] == ["unchanged"]
    new = run_of(ci.checked(ci.varying(1), baseline=make.trace(make.compile("0/0", make.tensor(8, 16)))))["results"]
    assert [item["baselineState"] for item in new] == ["new"]
    assert "baselineState" not in run_of(ci.checked(ci.varying(1)))["results"][0]


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("/usr/lib/a b.py", "file:///usr/lib/a%20b.py"),
        ("C:/work/ä.py", "file:///C:/work/%C3%A4.py"),
        ("//host/share/a.py", "file://host/share/a.py"),
    ],
)
def test_a_file_outside_of_the_repository_is_a_file_uri(file: str, uri: str) -> None:
    assert sarif._artifact(SourceLine(file, 1, False)) == {"uri": uri}


def test_code_that_lies_in_no_file_has_a_place_all_the_same() -> None:
    trace = ci.varying(1).replace(make.MODEL.encode(), b"<eval_with_key>.0").replace(make.MAIN.encode(), b"<string>")
    (result,) = run_of(ci.checked(trace))["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "TORCH_TRACE"
    assert result["partialFingerprints"]["primaryLocationLineHash"]


def test_more_results_than_github_takes_are_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "_MOST_RESULTS", 2)
    run = run_of(ci.checked(ci.varying(5)))
    assert len(run["results"]) == 2
    assert "3 errors of the lowest severity are left out" in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]

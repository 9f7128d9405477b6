"""JSON lines, and the JSON of a check: exactly what their schemas say."""

import json
from collections.abc import Callable
from typing import Any

import ci
import make
import pytest
from json_schemas import faults
from payload_text import size_mismatch

from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Policy
from shapelog.reporters import Options, renderer
from shapelog.reporters.json import lines as jsonl
from shapelog.rules import AlertKind

Golden = Callable[[str, bytes], None]


def lines_of(checked: CheckResult) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in jsonl.render_check(checked, Options()).splitlines()]
    assert [fault for line in found for fault in faults("lines", line)] == []
    return found


def test_it_is_as_recorded(golden: Golden) -> None:
    golden("made.jsonl", jsonl.render_check(ci.checked(ci.varying(1)), Options()))


@pytest.mark.parametrize("name", ci.NAMES)
def test_any_trace_gives_what_the_schemas_say(name: str) -> None:
    for checked in (check(ci.fixture(name), ci.BUDGETS), without_policy(ci.fixture(name))):
        kinds = [line["type"] for line in lines_of(checked)]
        assert kinds[0] == ("check" if checked.is_check else "report")
        assert kinds.count("alert") == len(checked.alerts)
        assert kinds.count("recompile") == len(checked.found.report.recompiles)
        assert kinds.count("budget") == len(checked.budgets)
        assert kinds.count("problem") == len(checked.found.report.problems)
        assert faults("check", json.loads(renderer("check", "json")(checked, Options()))) == []


def test_a_report_neither_passed_nor_failed() -> None:
    assert lines_of(ci.shown())[0]["passed"] is None
    assert lines_of(ci.demo())[0]["passed"] is False


def test_a_job_whose_ranks_part_gives_what_the_schemas_say() -> None:
    again = make.compile("0/1", make.tensor(24, 16), reasons=[size_mismatch("0/0", 8, 24)], dynamic=[0])
    traces = [make.trace(make.compile("0/0", make.tensor(8, 16)), *more) for more in ((again,), (again,), ())]
    checked = check(ci.alerts_of(make.load_ranks(*traces)), Policy(fail_on=(AlertKind.RANK,)))
    (alert,) = [line for line in lines_of(checked) if line["type"] == "alert" and line["fails"]]
    assert (alert["code"], alert["kinds"]) == ("SL701", ["rank"])
    assert faults("check", json.loads(renderer("check", "json")(checked, Options()))) == []


def test_names_are_kept_to_the_character() -> None:
    lines = lines_of(ci.hostile())
    assert {line["frame"] for line in lines if line["type"] == "alert"} == {ci.EVIL}
    assert [line["type"] for line in lines][-1] == "problem"


def test_a_field_that_a_schema_does_not_know_is_a_fault() -> None:
    assert faults("lines", {**lines_of(ci.checked(ci.varying(1), Policy()))[1], "more": 1})

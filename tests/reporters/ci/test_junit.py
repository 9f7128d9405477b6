"""JUnit XML: valid as Jenkins has it, and failing exactly when the check does."""

from collections.abc import Callable
from xml.etree import ElementTree

import ci
import pytest
from xmlschema import XMLSchema

from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Policy
from shapelog.reporters import Options
from shapelog.reporters.ci import junit

Golden = Callable[[str, bytes], None]
SCHEMA = XMLSchema(str(ci.SCHEMAS / "junit-10.xsd"))


def suite_of(checked: CheckResult) -> ElementTree.Element:
    output = junit.render_check(checked, Options())
    SCHEMA.validate(output.decode())
    found = ElementTree.fromstring(output).find("testsuite")
    assert found is not None
    cases = found.findall("testcase")
    assert found.get("tests") == str(len(cases))
    assert found.get("failures") == str(len(found.findall("testcase/failure")))
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases)
    return found


def test_it_is_as_recorded(golden: Golden) -> None:
    golden("demo.xml", junit.render_check(ci.demo(), Options()))


@pytest.mark.parametrize("name", ci.NAMES)
def test_any_trace_gives_what_the_schema_of_jenkins_requires(name: str) -> None:
    alerts = ci.fixture(name)
    checked = check(alerts, ci.BUDGETS)
    assert bool(suite_of(checked).findall("testcase/failure")) is checked.has_failed
    assert suite_of(without_policy(alerts)).findall("testcase/failure") == []


def test_a_budget_and_a_piece_of_code_are_a_test_each() -> None:
    suite = suite_of(ci.demo())
    budget = suite.find("testcase[@name='recompilations in the whole run']/failure")
    assert budget is not None
    assert budget.get("message") == "15 recompilations, 3 allowed"
    failure = suite.find("testcase[@name='MovingAverage.forward']/failure")
    assert failure is not None
    assert failure.get("type") == "SL401, SL315"
    assert "add L['self'].step to TORCH_COMPILE_DYNAMIC_SOURCES" in (failure.text or "")
    case = suite.find("testcase[@name='MovingAverage.forward']")
    assert case is not None
    assert (case.get("classname"), case.get("time")) == ("demo.demo", "11.131")


def test_what_does_not_fail_is_reported_next_to_it() -> None:
    output = suite_of(ci.checked(ci.varying(1), Policy(fail_on=()))).find("testcase/system-out")
    assert output is not None
    assert "dim 0 of x changed from 8 to 3" in (output.text or "")


def test_functions_of_one_name_are_distinguished() -> None:
    assert [case.get("name") for case in suite_of(ci.checked(ci.namesakes())).findall("testcase")] == ["forward", "forward #2"]


def test_names_that_try_to_be_something_else_stay_text() -> None:
    suite = suite_of(ci.hostile())
    assert [
        element.tag for element in suite.iter() if element.tag not in ("testsuite", "testcase", "failure", "system-out", "system-err")
    ] == []
    name = next(case.get("name") or "" for case in suite.findall("testcase") if not case.get("classname", "").startswith("shapelog."))
    assert name.startswith("f ::error file=x::y\\x0d ##[error]z ]]> </script><script>")
    assert "\\x00\\x1b[31m" in name
    assert "\\ud800�" in name


def test_a_damaged_trace_is_shown_and_no_failure() -> None:
    suite = suite_of(ci.checked(ci.varying(1) + b"V1120 broken\n", Policy(fail_on=())))
    assert suite.get("errors") == suite.get("failures") == "0"
    assert "not a trace record" in (suite.findtext("system-err") or "")

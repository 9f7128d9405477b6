"""GitLab's code quality report: every entry is one that GitLab can read."""

import json
from collections.abc import Callable
from typing import Any

import ci
import make
import pytest

from shapelog.check.check import CheckResult, check
from shapelog.check.policy import Policy
from shapelog.reporters import SUFFIXES, Options
from shapelog.reporters.ci import gitlab

Golden = Callable[[str, bytes], None]
SEVERITIES = {"info", "minor", "major", "critical", "blocker"}


def issues_of(checked: CheckResult) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = json.loads(gitlab.render_check(checked, Options()))
    for item in data:
        assert item["description"]
        assert item["severity"] in SEVERITIES
        path = item["location"]["path"]
        assert path
        assert not path.startswith(("/", "./", "../"))
        assert item["location"]["lines"]["begin"] >= 1
    assert len({item["fingerprint"] for item in data}) == len(data) == len(checked.alerts)
    return data


def test_it_is_as_recorded(golden: Golden) -> None:
    golden("demo.gitlab.json", gitlab.render_check(check(ci.fixture("real/demo"), Policy(select=("SL3", "SL4"))), Options()))


@pytest.mark.parametrize("name", ci.NAMES)
def test_any_trace_gives_entries_that_gitlab_reads(name: str) -> None:
    issues_of(check(ci.fixture(name), ci.BUDGETS))


def test_the_severity_follows_what_fails_and_what_is_lost() -> None:
    severities = {item["check_name"][:5]: item["severity"] for item in issues_of(ci.demo())}
    assert (severities["SL401"], severities["SL315"], severities["SL501"]) == ("critical", "major", "info")


def test_names_that_try_to_be_something_else_stay_text() -> None:
    for text in ci.fields(issues_of(ci.hostile())):
        assert text.replace("\ufffe", "").isprintable()


@pytest.mark.parametrize(
    ("model", "path"),
    [
        (b"/opt/elsewhere/../model.py", "opt/elsewhere/model.py"),
        (b"C:/work/model.py", "work/model.py"),
        (b"<eval_with_key>.0", "TORCH_TRACE"),
    ],
)
def test_code_outside_of_the_repository_has_a_path_all_the_same(model: bytes, path: str) -> None:
    trace = ci.varying(1).replace(make.MODEL.encode(), model).replace(make.MAIN.encode(), b"<string>")
    (issue,) = issues_of(ci.checked(trace))
    assert issue["location"]["path"] == path


def test_fingerprints_stay_when_lines_shift() -> None:
    one, other = (issues_of(ci.checked(ci.varying(3, line))) for line in (12, 40))
    assert [item["fingerprint"] for item in one] == [item["fingerprint"] for item in other]
    assert [item["location"]["lines"]["begin"] for item in one] != [item["location"]["lines"]["begin"] for item in other]


def test_two_alerts_of_one_fingerprint_become_two() -> None:
    """Budgets of a pattern differ by the title of the code alone."""
    budgets = Policy(budgets=(ci.Budget(ci.Metric.COMPILES, 0, "*"),))
    assert len(issues_of(ci.checked(ci.namesakes(), budgets))) == 2


def test_the_name_that_the_manual_gives_the_file_means_this_format() -> None:
    assert next(SUFFIXES[end] for end in SUFFIXES if "out/gl-code-quality-report.json".endswith(end)) == "gitlab"

"""A finding is added by a rule and by the analysis that raises it, and by nothing else: every command and every format shows it."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import make
import pytest

from shapelog import rule_docs
from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Policy, codes_of
from shapelog.recompiles.explain import Explanations
from shapelog.report import report as report_module
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report, analyze
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding, location_of
from shapelog.reporters import Options, formats, renderer
from shapelog.rules import RULES, AlertKind, Level, Rule, Section, Verdict
from shapelog.text import as_sentence

RULE = Rule("SL499", "made-up-finding", Verdict.CODE, "do what was made up")
FULL = RULE._replace(section=Section.LIMITS, level=Level.ERROR, alert_kind=AlertKind.FAILURE)
TEXT = "## What it means\n\nA.\n\n## Example\n\n```python\nB\n```\n\n## Why it costs\n\nC.\n\n## How to fix it\n\nD.\n"
SENTENCE = "forward does what was made up"


def found_by(explained: Explanations) -> Iterator[Finding]:
    """A finding about a compile, and one about the frame as a whole."""
    (frame,) = explained.trace.frames
    yield Finding(RULE, SENTENCE, frame.compiles[-1].label, location_of(frame), (("value", "7"),), frame)
    yield Finding(RULE, "and something else", frame=frame)


@pytest.fixture(
    params=[RULE, RULE._replace(section=Section.LIMITS, level=Level.ERROR, alert_kind=AlertKind.FAILURE)], ids=["plain", "full"]
)
def made_up(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Rule:
    rule: Rule = request.param
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / f"{rule.code}.md").write_text(TEXT, encoding="utf-8")
    (tmp_path / "rules" / "SL101.md").write_text(TEXT, encoding="utf-8")  # of the recompile in the same trace
    analysis = SimpleNamespace(__name__="made_up", analyze=lambda explained: (item._replace(rule=rule) for item in found_by(explained)))
    monkeypatch.setitem(RULES, rule.code, rule)
    monkeypatch.setattr(report_module, "ANALYSES", (analysis,))
    monkeypatch.setattr(rule_docs, "template_dir", lambda: tmp_path)
    return rule


def report() -> Report:
    return analyze(make.load(make.small_trace()), debug=True)


def checked(policy: Policy) -> CheckResult:
    return check(collect_alerts(report(), Repository("nowhere")), policy)


@pytest.mark.parametrize("name", [name for name in formats("report") if name != "chrome-trace"])  # it shows compilations alone
def test_every_format_of_the_report_shows_it(made_up: Rule, name: str) -> None:
    text = renderer("report", name)(report(), Options(width=200)).decode()
    for part in (made_up.code, SENTENCE, made_up.remedy):
        assert part in text


@pytest.mark.parametrize("name", formats("overview"))
def test_every_format_for_ci_shows_it(made_up: Rule, name: str) -> None:
    text = renderer("overview", name)(without_policy(collect_alerts(report(), Repository("nowhere"))), Options()).decode()
    for part in (made_up.code, SENTENCE, as_sentence(made_up.remedy)):
        assert part in text or (name == "jsonl" and made_up.remedy in text)


def test_a_check_of_a_trace_with_it_passes_unless_the_rule_is_selected_or_has_a_kind(made_up: Rule) -> None:
    asked = checked(Policy(select=codes_of("--select", [made_up.name])))
    assert [item.alert.rule for item in asked.failing] == [made_up]
    assert asked.reasons == (("2 other findings",) if made_up.alert_kind is None else ("2 failed compilations",))
    assert checked(Policy(ignore=("SL1",))).has_failed == (made_up.alert_kind is not None)


def test_the_terminal_of_a_check_shows_it(made_up: Rule) -> None:
    text = renderer("check", "terminal")(checked(Policy()), Options(verbose=True, width=200)).decode()
    assert f"[{made_up.code}]: " in text
    assert SENTENCE in text


def test_its_alert_has_the_level_of_its_kind_else_that_of_the_rule(made_up: Rule) -> None:
    (alert,) = [alert for alert in collect_alerts(report(), Repository("nowhere")).alerts if alert.rule is made_up]
    assert alert.level is (Level.ERROR if made_up.alert_kind else Level.WARNING)
    assert alert.labels == ("0/1", "0/0")

"""What PyTorch wrote about a failure or a graph break is in every format for CI systems."""

import html

import pytest
from recorded import RECORDED, report_of

from shapelog.check.check import without_policy
from shapelog.report.alerts.alert import exception_lines
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, renderer

FORMATS = ("markdown", "sarif", "junit", "github", "gitlab", "jsonl")


def letters(text: str) -> str:
    """Without the marks and escapes of a format."""
    text = html.unescape(text.replace("\\n", " ").replace("\\u2026", "").replace("%25", "%"))
    return "".join(filter(str.isalnum, text))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.slow
def test_every_explanation_of_pytorch_is_shown(form: str) -> None:
    seen = 0
    for name in RECORDED:
        found = collect_alerts(report_of(name), Repository("nowhere"))
        explained = {message.explanation for alert in found.alerts for message in alert.messages if message.explanation}
        if explained:
            shown = letters(renderer("overview", form)(without_policy(found), Options(limit=0)).decode())
            assert [text for text in explained if letters(text[:900]) not in shown] == [], name
        seen += len(explained)
    assert seen > 10


@pytest.mark.parametrize("form", FORMATS[:-1])  # JSON lines have the whole chain, in parts
@pytest.mark.slow
def test_the_lines_that_raised_are_shown(form: str) -> None:
    seen = 0
    for name in RECORDED:
        found = collect_alerts(report_of(name), Repository("nowhere"))
        chains = [alert.exceptions for alert in found.alerts if alert.exceptions]
        lines = {letters(line.rpartition("at ")[2]) for chain in chains for line in exception_lines(chain, "")}
        shown = letters(renderer("overview", form)(without_policy(found), Options(limit=0)).decode()) if lines else ""
        assert [line for line in lines if line not in shown] == [], name
        seen += len(lines)
    assert seen

"""Results as JSON, for programs. Each imports its own encoder, so that a short command loads little."""

from typing import TYPE_CHECKING

from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.json_bytes import pretty

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shapelog.advice.advise import Advice
    from shapelog.check.check import CheckResult
    from shapelog.report.compare import Comparison
    from shapelog.report.explain_compile import CompileExplanation
    from shapelog.report.verification import Verification
    from shapelog.rule_docs import Entry


def render(report: Report, options: Options) -> bytes:
    from shapelog.reporters.json.report import report_data

    return pretty(report_data(report))


def render_explanation(explanation: "CompileExplanation", options: Options) -> bytes:
    from shapelog.reporters.json.explain import explanation_data

    return pretty(explanation_data(explanation))


def render_check(checked: "CheckResult", options: Options) -> bytes:
    from shapelog.reporters.json.check import check_data

    return pretty(check_data(checked))


def render_comparison(comparison: "Comparison", options: Options) -> bytes:
    from shapelog.reporters.json.compare import comparison_data

    return pretty(comparison_data(comparison))


def render_advice(advice: "Advice", options: Options) -> bytes:
    from shapelog.reporters.json.advice import advice_data

    return pretty(advice_data(advice))


def render_verification(verification: "Verification", options: Options) -> bytes:
    from shapelog.reporters.json.verification import verification_data

    return pretty(verification_data(verification))


def render_rules(entries: "Iterable[Entry]", options: Options) -> bytes:
    from shapelog.reporters.json.rules import rules_data

    return pretty(rules_data(entries))


def render_rule(entry: "Entry", options: Options) -> bytes:
    return render_rules([entry], options)

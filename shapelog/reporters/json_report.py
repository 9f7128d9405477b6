"""The report as JSON, for programs."""

from collections.abc import Iterable

from shapelog.advice import Advice
from shapelog.advising import advice_data
from shapelog.check import Checked, check_data
from shapelog.compare import Comparison, comparison_data
from shapelog.handbook import Entry, rules_data
from shapelog.report import Report, as_data
from shapelog.reporters import Options
from shapelog.reporters.json_text import pretty
from shapelog.story import Story, story_data
from shapelog.verifying import Verification, verification_data

SUFFIX = ".json"


def render(report: Report, options: Options) -> bytes:
    return pretty(as_data(report))


def render_story(story: Story, options: Options) -> bytes:
    return pretty(story_data(story))


def render_check(checked: Checked, options: Options) -> bytes:
    return pretty(check_data(checked))


def render_comparison(comparison: Comparison, options: Options) -> bytes:
    return pretty(comparison_data(comparison))


def render_advice(advice: Advice, options: Options) -> bytes:
    return pretty(advice_data(advice))


def render_verification(verification: Verification, options: Options) -> bytes:
    return pretty(verification_data(verification))


def render_rules(entries: Iterable[Entry], options: Options) -> bytes:
    return pretty(rules_data(entries))


def render_rule(entry: Entry, options: Options) -> bytes:
    return pretty(rules_data([entry]))

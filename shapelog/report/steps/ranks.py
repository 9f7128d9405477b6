"""Steps that concern the ranks of a job among each other."""

from collections.abc import Iterable, Iterator

from shapelog.grouping import grouped
from shapelog.report.results import Finding
from shapelog.report.steps.step import Confidence, NextStep, Saving, StepKind
from shapelog.rules import Section
from shapelog.text import capitalized


def rank_steps(findings: Iterable[Finding]) -> Iterator[NextStep]:
    """What concerns the ranks of a job among each other."""
    for rule, members in grouped((item for item in findings if item.rule.section is Section.RANKS), lambda item: item.rule).items():
        yield NextStep(
            kind=StepKind.RANKS,
            title=capitalized(rule.remedy),
            rules=(rule,),
            saving=Saving(),
            confidence=Confidence("medium", "how long ranks wait for each other is not in a trace"),
            stake=0.0,
            explanation=members[0].sentence,
            labels=tuple(dict.fromkeys(item.compile for item in members if item.compile)),
        )

"""Steps that let exports succeed and assume nothing."""

from collections.abc import Iterable, Iterator

from shapelog.grouping import grouped
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding
from shapelog.report.steps.step import Confidence, NextStep, Saving, StepKind, StepPlace
from shapelog.rules import Level, Section
from shapelog.text import capitalized


def export_steps(findings: Iterable[Finding], repository: Repository) -> Iterator[NextStep]:
    """What to change so that exports succeed and assume nothing; what stops them first."""
    found = [item for item in findings if item.rule.section is Section.EXPORTS]
    stopped = {item.place for item in found if item.rule.level is Level.ERROR and item.place}
    # The line at which an export failed is what its error is about.
    kept = [item for item in found if item.rule.level is Level.ERROR or item.place not in stopped]
    for same in grouped(sorted(kept, key=lambda item: item.rule.level is not Level.ERROR), lambda item: (item.remedy, item.place)).values():
        first = same[0]
        line = repository.source_line(first.place.file, first.place.line) if first.place else None
        yield NextStep(
            kind=StepKind.EXPORT,
            title=capitalized(first.remedy),
            rules=(first.rule,),
            saving=Saving(),
            confidence=Confidence("medium", "an export that gets further may meet more"),
            stake=0.0,
            text=first.text,
            explanation=first.sentence,
            hints=first.message.hints if first.message else (),
            places=(StepPlace(line, first.code, ""),) if line else (),
        )

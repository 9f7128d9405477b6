"""What became of the exports of a program from one run to another: how many succeed, and which problems went or came."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from shapelog.grouping import grouped
from shapelog.model.exports import ExportResult
from shapelog.report.alerts.alert import stable_text
from shapelog.report.frame_changes import Effect, counted, instead
from shapelog.report.report import Report
from shapelog.report.results import Finding
from shapelog.rules import Section
from shapelog.text import file_name, plural


@dataclass(frozen=True, slots=True)
class ExportCounts:
    """The exports of one run by their result, and the problems that its report lists for them."""

    exported: int = 0
    failed: int = 0
    unknown: int = 0
    problems: int = 0

    @property
    def number(self) -> int:
        return self.exported + self.failed + self.unknown


@dataclass(frozen=True, slots=True, eq=False)
class ExportChanges:
    """The exports of two runs. ``went`` are problems that the first run alone has, ``came`` those of the second."""

    was: ExportCounts
    now: ExportCounts
    went: tuple[Finding, ...]
    came: tuple[Finding, ...]

    @property
    def is_empty(self) -> bool:
        """Whether neither run exported anything."""
        return not (self.was.number or self.now.number)

    @property
    def mended(self) -> int:
        """How many exports succeed in place of ones that failed."""
        return max(0, min(self.was.failed - self.now.failed, self.now.exported - self.was.exported))

    @property
    def broken(self) -> int:
        """How many exports fail in place of ones that succeeded."""
        return max(0, min(self.now.failed - self.was.failed, self.was.exported - self.now.exported))

    @property
    def effect(self) -> Effect:
        """New exports are neither better nor worse, nor are problems that went with an export, or results that one run alone records."""
        was, now = self.was, self.now
        learned, lost = max(0, was.unknown - now.unknown), max(0, now.unknown - was.unknown)
        gains = self.mended or (self.went and now.number >= was.number and not lost)
        gone = now.number < was.number and now.exported + lost < was.exported
        losses = now.failed - was.failed > learned or (self.came and not learned) or gone
        if gains and losses:
            return Effect.MIXED
        return Effect.BETTER if gains else Effect.WORSE if losses else Effect.SAME

    @property
    def facts(self) -> tuple[str, ...]:
        """What changed, in a few words each; what is worse first."""
        return tuple(self._facts())

    def _facts(self) -> Iterator[str]:
        was, now = self.was, self.now
        failing = now.failed - was.failed - self.broken
        if self.broken:
            yield f"{plural(self.broken, 'export')} {'fails' if self.broken == 1 else 'fail'} that succeeded"
        if failing > 0:
            yield f"{plural(failing, 'more export')} {'fails' if failing == 1 else 'fail'}"
        if self.mended:
            yield f"{plural(self.mended, 'export')} {'succeeds' if self.mended == 1 else 'succeed'} that failed"
        if was.number != now.number:
            yield instead(was.number, now.number, "export")
        if self.came:
            yield plural(len(self.came), "new problem") + " in exports"
        if self.went:
            yield f"{plural(len(self.went), 'problem')} in exports {'is' if len(self.went) == 1 else 'are'} gone"

    @property
    def sameness(self) -> str:
        """What both runs have where nothing changed."""
        failed = f", {self.now.failed} failed" if self.now.failed else ""
        return f"{counted(self.now.number, 'export')} in both runs{failed}"


def export_changes(before: Report, after: Report) -> ExportChanges:
    was, now = _problems(before), _problems(after)
    return ExportChanges(was=export_counts(before), now=export_counts(after), went=_beyond(was, now), came=_beyond(now, was))


def _problems(report: Report) -> list[Finding]:
    return [item for item in report.findings if item.rule.section is Section.EXPORTS]


def export_counts(report: Report) -> ExportCounts:
    """How many exports of a run succeeded and failed, and the problems that its report lists for them."""
    found = Counter(export.result for export in report.trace.exports)
    problems = len(_problems(report))
    return ExportCounts(found[ExportResult.EXPORTED], found[ExportResult.FAILED], found[ExportResult.UNKNOWN], problems)


def _beyond(problems: Sequence[Finding], others: Sequence[Finding]) -> tuple[Finding, ...]:
    """Those that the others lack: a problem is the same where its rule and its line of code are, wherever this line moved."""
    known = Counter(map(_key, others))
    groups = grouped(problems, _key)
    return tuple(item for key, members in groups.items() for item in members[known[key] :])


def _key(item: Finding) -> tuple[str, str, str]:
    file = file_name(item.place.file) if item.place else ""
    return item.rule.code, file, stable_text(item.code or item.sentence)

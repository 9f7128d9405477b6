"""How the compilations of a program changed from run to run: ``trend(runs)`` → Trend."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.report.compare import compare
from shapelog.report.export_changes import ExportCounts, export_counts
from shapelog.report.frame_changes import CauseChange, Effect
from shapelog.report.report import Report
from shapelog.report.results import Finding, Headline
from shapelog.rules import Verdict
from shapelog.text import plural


class RunFigures(NamedTuple):
    """The figures of one run. ``avoidable`` are the recompilations that marks or a change of the code avoid, ``by_marking`` those of
    them that marks do.
    """

    compiles: int
    recompiles: int
    avoidable: int
    by_marking: int
    seconds: float
    avoidable_seconds: float
    limit_hits: int
    failures: int
    exports: ExportCounts

    @property
    def is_of_exports(self) -> bool:
        """Whether exports are all that there is in the run."""
        return bool(self.exports.number and not self.compiles + self.limit_hits + self.failures)

    @property
    def first(self) -> int:
        """Compilations that are no recompilations."""
        return max(0, self.compiles - self.recompiles)

    @property
    def by_code(self) -> int:
        """Recompilations that a change of the code avoids."""
        return self.avoidable - self.by_marking

    @property
    def other(self) -> int:
        """Recompilations that are not avoidable."""
        return max(0, self.recompiles - self.avoidable)


class NamedRun(NamedTuple):
    """A report with the time when its run began (``11-20 08:27:33``, "" where it is not known).

    ``directory`` is the name of the subdirectory that its files are in, "" where it has none.
    """

    began: str
    report: Report
    directory: str = ""


@dataclass(frozen=True, slots=True)
class RunChange:
    """What is different from the run before: the causes that it did not have, and those of the run before that are gone.

    ``problems_came`` and ``problems_went`` are the same for calls of ``torch.export``. ``is_comparable`` is False where no code was
    compiled in both runs, nor exports made; then no cause came or went.
    """

    is_comparable: bool
    effect: Effect
    headline: Headline
    came: tuple[CauseChange, ...]
    went: tuple[CauseChange, ...]
    problems_came: tuple[Finding, ...]
    problems_went: tuple[Finding, ...]
    notes: tuple[str, ...]

    @property
    def has_changes(self) -> bool:
        """Whether any cause or problem came or went."""
        return bool(self.came or self.went or self.problems_came or self.problems_went)

    @property
    def word(self) -> str:
        """``better``, ``worse``, ``mixed``, ``same``, or that it is about other code."""
        return self.effect.value if self.is_comparable else "other code"


@dataclass(frozen=True, slots=True)
class TrendRow:
    """One run; ``change`` is None for the first, and for one that follows a run that could not be read."""

    number: int
    directory: str
    name: str
    began: str
    version: str
    figures: RunFigures
    change: RunChange | None


@dataclass(frozen=True, slots=True)
class Trend:
    """The runs of a directory in order of time; ``unreadable`` are those that were left out, each with the reason."""

    name: str
    rows: tuple[TrendRow, ...]
    unreadable: tuple[str, ...] = ()

    @property
    def has_exports(self) -> bool:
        """Whether any run has calls of ``torch.export``."""
        return any(row.figures.exports.number for row in self.rows)

    @property
    def is_of_exports(self) -> bool:
        """Whether exports are all that there is in every run."""
        return bool(self.rows) and all(row.figures.is_of_exports for row in self.rows)

    @property
    def headline(self) -> Headline:
        """From the first run to the last."""
        if len(self.rows) < 2:
            return Headline("Only one run", "there is nothing to compare it with")
        first, last = self.rows[0].figures, self.rows[-1].figures
        facts = [] if self.is_of_exports else [_in_both("compilation", first.compiles, last.compiles)]
        if first.recompiles != last.recompiles:
            facts.append(_in_both("recompilation", first.recompiles, last.recompiles))
        if first.exports.failed or last.exports.failed:
            facts.append(_in_both("failed export", first.exports.failed, last.exports.failed))
        return Headline(plural(len(self.rows), "run"), ", ".join(facts) or f"{plural(last.exports.number, 'export')}, none failed")


def _in_both(word: str, first: int, last: int) -> str:
    return f"{word}s {first} → {last}" if first != last else f"{plural(last, word)} in the first and in the last"


def trend(name: str, runs: Iterable[NamedRun], unreadable: Iterable[str] = ()) -> Trend:
    """``runs`` are in order of time; each is compared with the one before, and no more than two are in memory."""
    rows: list[TrendRow] = []
    before: Report | None = None
    for number, (began, report, directory) in enumerate(runs, 1):
        trace = report.trace
        rows.append(
            TrendRow(
                number=number,
                directory=directory,
                name=f"{directory}/{trace.name}" if directory else trace.name,
                began=began,
                version=trace.torch_version or trace.version_guess,
                figures=_figures(report),
                change=_change(before, report) if before else None,
            )
        )
        before = report
    return Trend(name, tuple(rows), tuple(unreadable))


def _figures(report: Report) -> RunFigures:
    found = report.summary
    marking, code = found.part(Verdict.MARKING), found.part(Verdict.CODE)
    return RunFigures(
        compiles=found.compiles,
        recompiles=found.recompiles,
        avoidable=marking.count + code.count,
        by_marking=marking.count,
        seconds=found.seconds,
        avoidable_seconds=marking.seconds + code.seconds,
        limit_hits=found.limit_hits,
        failures=found.failures,
        exports=export_counts(report),
    )


def _change(before: Report, after: Report) -> RunChange:
    compared = compare(before, after)
    is_comparable = any(item.kind == "matched" for item in compared.frames) or bool(before.trace.exports and after.trace.exports)
    causes = compared.causes if is_comparable else ()
    return RunChange(
        is_comparable=is_comparable,
        effect=compared.outcome,
        headline=compared.headline,
        came=tuple(cause for cause in causes if not cause.before and cause.after),
        went=tuple(cause for cause in causes if cause.before and not cause.after),
        problems_came=compared.exports.came if is_comparable else (),
        problems_went=compared.exports.went if is_comparable else (),
        notes=compared.notes,
    )

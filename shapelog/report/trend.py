"""How the compilations of a program changed from run to run: ``trend(runs)`` → Trend."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.report.compare import compare
from shapelog.report.frame_changes import CauseChange, Effect
from shapelog.report.report import Report
from shapelog.report.results import Headline
from shapelog.rules import Verdict
from shapelog.text import plural


class RunFigures(NamedTuple):
    """The figures of one run. ``avoidable`` are the recompilations that marking avoids, ``other`` all other ones."""

    compiles: int
    recompiles: int
    avoidable: int
    seconds: float
    avoidable_seconds: float
    limit_hits: int
    failures: int

    @property
    def first(self) -> int:
        """Compilations that are no recompilations."""
        return max(0, self.compiles - self.recompiles)

    @property
    def other(self) -> int:
        return max(0, self.recompiles - self.avoidable)


class NamedRun(NamedTuple):
    """A report with the time when its run began (``11-20 08:27:33``, "" where it is not known)."""

    began: str
    report: Report


@dataclass(frozen=True, slots=True)
class RunChange:
    """What is different from the run before: the causes that it did not have, and those of the run before that are gone.

    ``is_comparable`` is False where no code was compiled in both runs, nor exports made; then no cause came or went.
    """

    is_comparable: bool
    effect: Effect
    headline: Headline
    came: tuple[CauseChange, ...]
    went: tuple[CauseChange, ...]
    notes: tuple[str, ...]

    @property
    def word(self) -> str:
        """``better``, ``worse``, ``mixed``, ``same``, or that it is about other code."""
        return self.effect.value if self.is_comparable else "other code"


@dataclass(frozen=True, slots=True)
class TrendRow:
    """One run; ``change`` is None for the first, and for one that follows a run that could not be read."""

    number: int
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
    def headline(self) -> Headline:
        """From the first run to the last."""
        if len(self.rows) < 2:
            return Headline("Only one run", "there is nothing to compare it with")
        first, last = self.rows[0].figures, self.rows[-1].figures
        runs = plural(len(self.rows), "run")
        if first.compiles == last.compiles and first.recompiles == last.recompiles:
            return Headline(f"{runs.capitalize()}", f"{plural(last.compiles, 'compilation')} in the first and in the last")
        recompiles = f"recompilations {first.recompiles} → {last.recompiles}"
        return Headline(f"{runs.capitalize()}", f"compilations {first.compiles} → {last.compiles}, {recompiles}")


def trend(name: str, runs: Iterable[NamedRun], unreadable: Iterable[str] = ()) -> Trend:
    """``runs`` are in order of time; each is compared with the one before, and no more than two are in memory."""
    rows: list[TrendRow] = []
    before: Report | None = None
    for number, (began, report) in enumerate(runs, 1):
        trace = report.trace
        rows.append(
            TrendRow(
                number=number,
                name=trace.name,
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
    marking = found.part(Verdict.MARKING)
    return RunFigures(
        compiles=found.compiles,
        recompiles=found.recompiles,
        avoidable=marking.count,
        seconds=found.seconds,
        avoidable_seconds=marking.seconds,
        limit_hits=found.limit_hits,
        failures=found.failures,
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
        notes=compared.notes,
    )

"""A report → the rows of all tables."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from shapelog.grouping import grouped
from shapelog.model.compile import Outcome
from shapelog.model.frame import Frame
from shapelog.model.rank_summary import RankSummary
from shapelog.reading.records import StackFrame
from shapelog.report.report import Report
from shapelog.rules import Verdict
from shapelog.tables.compile_rows import (
    CodeColumns,
    break_rows,
    cause_rows,
    code_of,
    collective_rows,
    compile_row,
    failure_row,
    phase_rows,
    recompile_row,
    utc,
)
from shapelog.tables.export_rows import export_row
from shapelog.tables.schema import TABLES, FrameRow, JobRow, SuggestionRow
from shapelog.tables.start_time import started_at
from shapelog.tables.summary_rows import (
    cause_rows_of_step,
    code_of_step,
    collective_rows_of_step,
    compile_row_of_step,
    failure_row_of_step,
    recompile_row_of_step,
)

Rows: TypeAlias = dict[str, list[Any]]
"""The rows of each table, under its name."""


def rows_of(report: Report, job: str, source: str, modified: float | None = None) -> Rows:
    """The rows of one job: of each rank that was read in full, of those of a large job that were only summarized, and of the job.

    ``modified`` is when its files were last modified, in seconds since the epoch: it has the year of records without a full date.
    """
    made = _Made(report, job)
    for frame in report.trace.frames:
        made.add_frame(frame)
    for item in report.trace.summarized:
        for rank in item.ranks:
            made.add_summary(rank)
    made.rows["suggestions"] += _suggestions(report, job)
    made.rows["exports"] += [export_row(job, export) for export in report.trace.exports]
    made.rows["frames"] += _frames(made)
    made.rows["jobs"].append(_job(report, job, source, modified, made.rows))
    return made.rows


def unreadable(job: str, source: str, error: str) -> Rows:
    """The rows of a job that could not be read."""
    return {**{name: [] for name in TABLES}, "jobs": [JobRow(job, source, "unreadable", error)]}


@dataclass(slots=True)
class _Made:
    """The rows so far; of each compile the verdict of its recompilation, and of each the line that called its frame."""

    report: Report
    job: str
    rows: Rows = field(default_factory=lambda: {name: [] for name in TABLES})
    verdicts: dict[CodeColumns, str] = field(default_factory=dict)
    callers: dict[CodeColumns, StackFrame] = field(default_factory=dict)

    def add_frame(self, frame: Frame) -> None:
        recompiles = {item.compile: item for item in self.report.explained.of_frame(frame)}
        called, title = frame.called_at, frame.title
        for compile in frame.compiles:
            code, why = code_of(self.job, frame, title, compile), recompiles.get(compile)
            self.rows["compiles"].append(compile_row(code, compile, why is not None))
            self.rows["phases"] += phase_rows(code, compile)
            self.rows["collectives"] += collective_rows(code, compile)
            self.rows["graph_breaks"] += break_rows(code, compile)
            if compile.outcome in (Outcome.FAILED, Outcome.LIMIT):
                self.rows["failures"].append(failure_row(code, compile))
            if why:
                self.verdicts[code] = why.verdict.value
                self.rows["recompiles"].append(recompile_row(code, why, self.report))
                self.rows["causes"] += cause_rows(code, why, self.report)
            if called:
                self.callers[code] = called

    def add_summary(self, rank: RankSummary) -> None:
        for step, spent in zip(rank.steps, rank.spent, strict=True):
            code = code_of_step(self.job, rank, step)
            self.rows["compiles"].append(compile_row_of_step(code, step, spent))
            self.rows["collectives"] += collective_rows_of_step(code, step)
            if step.outcome in (Outcome.FAILED.value, Outcome.LIMIT.value):
                self.rows["failures"].append(failure_row_of_step(code, step, spent))
            if step.verdict:
                self.verdicts[code] = step.verdict
                self.rows["recompiles"].append(recompile_row_of_step(code, step, spent))
                self.rows["causes"] += cause_rows_of_step(code, step, spent)


def _suggestions(report: Report, job: str) -> Iterator[SuggestionRow]:
    for item in report.advice.suggestions if report.advice else ():
        first = item.frames[0]
        yield SuggestionRow(
            job=job,
            id=item.id,
            source=item.source,
            name=item.name,
            function=first.title,
            file=first.file or None,
            line=first.line or None,
            functions=len({(frame.file, frame.line, frame.title) for frame in item.frames}),
            codes=" ".join(item.codes),
            dims=" ".join(map(str, item.dims)),
            tool=item.tool,
            recommendation=item.recommendation,
            entries=",".join(item.entries),
            python="\n".join(item.python),
            compiles_saved=item.compiles,
            seconds=item.seconds or None,
            confidence=item.confidence,
            confidence_reason=item.confidence_reason,
            place_file=item.place.file if item.place else None,
            place_line=item.place.line if item.place else None,
        )


def _frames(made: _Made) -> Iterator[FrameRow]:
    for key, members in grouped(made.rows["compiles"], lambda row: (row.job, row.rank, row.process, row.frame)).items():
        compiled = [row for row in members if row.outcome == Outcome.COMPILED.value]
        again = [row for row in compiled if row.is_recompile]
        first = members[0]
        called = made.callers.get(CodeColumns(*first[:8]))
        yield FrameRow(
            *key,
            function=first.function,
            file=first.file,
            line=first.line,
            compiles=len(compiled),
            recompiles=len(again),
            limit_hits=sum(row.outcome == Outcome.LIMIT.value for row in members),
            failures=sum(row.outcome == Outcome.FAILED.value for row in members),
            seconds=_total(members),
            recompile_seconds=_total(again),
            marking_seconds=_total(row for row in again if made.verdicts.get(CodeColumns(*row[:8])) == Verdict.MARKING.value),
            code_seconds=_total(row for row in again if made.verdicts.get(CodeColumns(*row[:8])) == Verdict.CODE.value),
            called_file=called.file if called else None,
            called_line=called.line if called else None,
        )


def _total(rows: Iterable[Any]) -> float | None:
    """The seconds of rows, 0 without any; None where none of them has a time."""
    found = [row.seconds for row in rows]
    known = [seconds for seconds in found if seconds is not None]
    return math.fsum(known) if known or not found else None


def _job(report: Report, job: str, source: str, modified: float | None, rows: Rows) -> JobRow:
    trace, summary = report.trace, report.summary
    saved = report.advice.saved_seconds if report.advice and report.advice.suggestions else None
    accounts = report.accounts
    return JobRow(
        job=job,
        source=source,
        status="read",
        started=utc(started_at(trace, modified)),
        torch_version=trace.torch_version or None,
        ranks=trace.rank_count,
        unread_ranks=len(trace.unread),
        frames=len(rows["frames"]),
        compiles=summary.compiles,
        recompiles=summary.recompiles,
        limit_hits=summary.limit_hits,
        failures=summary.failures,
        graph_breaks=len(rows["graph_breaks"]),
        seconds=summary.seconds if summary.is_timed else None,
        recompile_seconds=summary.recompile_seconds if summary.is_timed else None,
        saved_seconds_least=(saved.least if saved else 0.0) if summary.is_timed else None,
        saved_seconds_most=((saved.most or 0.0) if saved else 0.0) if summary.is_timed else None,
        exports=len(rows["exports"]),
        files=len(accounts),
        bytes=sum(book.size for book in accounts),
        problems=len(report.problems),
    )

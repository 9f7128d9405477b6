"""``analyze(trace)`` → Report: the one thing that reporters know, and its versioned JSON shape."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from shapelog.advice.advise import Advice, advise
from shapelog.advice.paste_formats import advice_data
from shapelog.errors import DATA_LOSS, Problem
from shapelog.model.trace import Account, Compile, Frame, Outcome, Rank, Trace
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Group, Recompile, Study, remedy, study
from shapelog.recompiles.shape_table import ShapeTable, axes_of, shape_table
from shapelog.recompiles.violations import Comparer
from shapelog.report.analyses import ANALYSES
from shapelog.report.results import Finding, Table
from shapelog.rules import RULES, Rule, Verdict, problem_rule, remedy_for

if TYPE_CHECKING:
    from shapelog.distributed.compare_ranks import RankReport

# 1: first shape. 2: advice. 3: ranks, held against each other. 4: ranks that stand for others, and those not read.
FORMAT_VERSION = 4


@dataclass(frozen=True, slots=True)
class Part:
    """How many recompiles came to one verdict, and what they cost in seconds."""

    verdict: Verdict
    count: int
    seconds: float


class Summary(NamedTuple):
    """The verdict on the whole run. ``compiles`` produced code; ``recompiles`` are those that were not their frame's first."""

    compiles: int
    recompiles: int
    seconds: float
    recompile_seconds: float
    parts: tuple[Part, ...]
    limit_hits: int
    failures: int
    frames: int

    def part(self, verdict: Verdict) -> Part:
        return next((part for part in self.parts if part.verdict is verdict), Part(verdict, 0, 0.0))


class Axis(NamedTuple):
    """A property that took more than one value among the compiles of a frame, in order of appearance.

    ``rules`` say what it caused, ``helping`` those of them whose remedy holds.
    """

    name: str
    source: str
    values: tuple[str, ...]
    rules: tuple[Rule, ...]
    helping: tuple[Rule, ...]


class FrameReport(NamedTuple):
    """One frame with its axes and recompiles. Seconds are those of all ``ranks`` that it stands for."""

    frame: Frame
    axes: tuple[Axis, ...]
    recompiles: tuple[Recompile, ...]
    saved_by_marking: float
    saved_by_code: float
    limit: Compile | None
    comparer: Comparer
    seconds: float
    ranks: int = 1

    @property
    def shapes(self) -> ShapeTable:
        """One row a source and dim, one column a compile; made when asked for."""
        return shape_table(self.frame, self.recompiles, self.comparer)

    @property
    def varying_shapes(self) -> ShapeTable:
        """The same without most tensors that never vary, which takes less time."""
        return shape_table(self.frame, self.recompiles, self.comparer, is_whole=False)


class Settled(NamedTuple):
    """What is only known once nothing more is read from the trace."""

    advice: Advice | None
    problems: tuple[Problem, ...]
    accounts: tuple[Account, ...]


@dataclass(slots=True, eq=False, repr=False)
class Late:
    """The advice, and with it the end of the accounts: the one part of a report that others can be shown without."""

    study: Study
    failed: tuple[Problem, ...]
    debug: bool
    known: Settled | None = None

    def settled(self) -> Settled:
        if self.known is None:
            trace, failed = self.study.trace, list(self.failed)
            advice = _advice(self.study, failed, self.debug)
            self.known = Settled(advice, trace.problems + tuple(failed), trace.accounts)
        return self.known


class Report(NamedTuple):
    """Everything that a reporter may show, most important first. ``ranks`` is None where the trace holds fewer than two."""

    trace: Trace
    study: Study
    summary: Summary
    frames: tuple[FrameReport, ...]
    groups: tuple[Group, ...]
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]
    late: Late
    ranks: "RankReport | None" = None

    @property
    def advice(self) -> Advice | None:
        """What to mark dynamic, made when it is first asked for; None where that failed, which is one of the problems then."""
        return self.late.settled().advice

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self.late.settled().problems

    @property
    def accounts(self) -> tuple[Account, ...]:
        return self.late.settled().accounts

    @property
    def recompiles(self) -> tuple[Recompile, ...]:
        return self.study.recompiles

    @property
    def has_problems(self) -> bool:
        """Whether anything was lost or damaged; what is merely worth knowing does not count."""
        return any(problem.severity != "info" for problem in self.problems)

    def table(self, name: str) -> Table | None:
        return next((table for table in self.tables if table.name == name), None)


def analyze(trace: Trace, debug: bool = False) -> Report:
    """Explain every recompile of a trace, and sum up what it cost and what helps; with ``debug`` a failing analysis raises."""
    return report_on(study(trace, debug), debug)


def report_on(studied: Study, debug: bool = False) -> Report:
    """The same for recompiles that are explained already."""
    trace = studied.trace
    findings: list[Finding] = []
    tables: list[Table] = []
    ranks: RankReport | None = None
    failed: list[Problem] = list(studied.problems)
    for analysis in ANALYSES:
        try:
            for result in analysis.analyze(studied):
                if isinstance(result, Table):
                    tables.append(result)
                elif isinstance(result, Finding):
                    findings.append(result)
                else:
                    ranks = result
        except Exception as error:
            if debug:
                raise
            name = analysis.__name__.rsplit(".", 1)[-1]
            text = f"the analysis {name} failed ({type(error).__name__}: {error}); its part of the report is missing"
            failed.append(Problem("analysis-failed", text, trace.name, severity=DATA_LOSS))
    frames = sorted(_frame_reports(studied), key=_importance)
    return Report(
        trace=trace,
        study=studied,
        summary=_summary(trace, studied),
        frames=tuple(frames),
        groups=studied.groups,
        findings=tuple(findings),
        tables=tuple(tables),
        late=Late(studied, tuple(failed), debug),
        ranks=ranks,
    )


def _advice(studied: Study, failed: list[Problem], debug: bool) -> Advice | None:
    try:
        return advise(studied)
    except Exception as error:
        if debug:
            raise
        text = f"the advice failed ({type(error).__name__}: {error}); the report stands without it"
        failed.append(Problem("analysis-failed", text, studied.trace.name, severity=DATA_LOSS))
        return None


def _importance(item: FrameReport) -> tuple[float, ...]:
    """Seconds that could be saved first, those that the user need not change code for before the others."""
    return (
        -(item.saved_by_marking + item.saved_by_code),
        -float(item.limit is not None),
        -float(len(item.recompiles)),
        -item.frame.seconds,
        item.frame.compiles[0].order,
    )


def _seconds(recompiles: tuple[Recompile, ...], verdict: Verdict, trace: Trace) -> float:
    return math.fsum([trace.seconds(item.compile) for item in recompiles if item.verdict is verdict])


def _frame_reports(studied: Study) -> Iterator[FrameReport]:
    """Of all frames. What varied in one that recompiled as another one did varied in that, too."""
    axes: dict[int, tuple[Axis, ...]] = {}
    for frame in studied.trace.frames:
        known = axes.get(id(studied.models.get(id(frame))))
        axes[id(frame)] = found = _axes(frame, studied) if known is None else known
        yield _frame_report(frame, found, studied)


def _axes(frame: Frame, studied: Study) -> tuple[Axis, ...]:
    recompiles = studied.of_frame(frame)
    rules: dict[str, dict[str, None]] = {}
    helping: dict[str, dict[str, None]] = {}
    for item in recompiles:
        for cause in item.causes:
            rules.setdefault(cause.axis, {}).update(dict.fromkeys(cause.codes))
            helping.setdefault(cause.axis, {})[cause.helping.code] = None
    return tuple(
        Axis(name, source, values, tuple(map(RULES.__getitem__, rules[name])), tuple(map(RULES.__getitem__, helping[name])))
        for source, name, values in (axes_of(frame, recompiles, studied.comparer) if recompiles else ())
    )


def _frame_report(frame: Frame, axes: tuple[Axis, ...], studied: Study) -> FrameReport:
    recompiles = studied.of_frame(frame)
    return FrameReport(
        frame=frame,
        axes=axes,
        recompiles=recompiles,
        saved_by_marking=_seconds(recompiles, Verdict.MARKING, studied.trace),
        saved_by_code=_seconds(recompiles, Verdict.CODE, studied.trace),
        limit=next((compile for compile in frame.compiles if compile.outcome is Outcome.LIMIT), None),
        comparer=studied.comparer,
        seconds=math.fsum(map(studied.trace.seconds, frame.compiles)),
        ranks=studied.trace.weight(frame.rank),
    )


def _summary(trace: Trace, studied: Study) -> Summary:
    verdicts = {id(item.compile): item.verdict.value for item in studied.recompiles}
    others = [rank for item in trace.summarized for rank in item.ranks]
    told = chain(
        ((compile.outcome.value, verdicts.get(id(compile), ""), compile.seconds) for compile in trace.compiles),
        ((step.outcome, step.verdict, item.compile) for rank in others for step, item in zip(rank.steps, rank.spent, strict=True)),
    )
    outcomes: Counter[str] = Counter()
    spent_on: dict[str, list[float]] = {}
    made: list[float] = []
    for outcome, verdict, spent in told:
        outcomes[outcome] += 1
        spent_on.setdefault(verdict, []).append(spent)
        if verdict and outcome == Outcome.COMPILED.value:
            made.append(spent)
    return Summary(
        compiles=outcomes[Outcome.COMPILED.value],
        recompiles=len(made),
        seconds=math.fsum(chain.from_iterable(spent_on.values())),
        recompile_seconds=math.fsum(made),
        parts=tuple(Part(item, len(spent_on[item.value]), math.fsum(spent_on[item.value])) for item in Verdict if item.value in spent_on),
        limit_hits=outcomes[Outcome.LIMIT.value],
        failures=outcomes[Outcome.FAILED.value],
        frames=len(trace.frames) + sum(rank.frames for rank in others),
    )


def as_data(report: Report) -> dict[str, Any]:
    """The JSON report; ``shapelog/schema/report.schema.json`` describes it. Times are in seconds, ids are labels such as ``2/3``."""
    trace, summary = report.trace, report.summary
    return {
        "format": "shapelog report",
        "format_version": FORMAT_VERSION,
        "trace": {
            "name": trace.name,
            "torch_version": trace.torch_version or None,
            "torch_version_guess": trace.version_guess or None,
            "notes": list(trace.notes),
            "ranks": [_rank_data(rank, trace) for rank in trace.ranks],
        },
        "summary": {
            **summary_data(summary),
            "verdicts": [{"verdict": part.verdict.value, "count": part.count, "seconds": part.seconds} for part in summary.parts],
        },
        "advice": advice_data(report.advice) if report.advice else None,
        "frames": [_frame_data(item) for item in report.frames],
        "recompiles": [recompile_data(item, trace.lists_sources) for item in report.recompiles],
        "similar_graphs": [[_label(member) for member in group.members] for group in report.groups],
        "similar_graph_details": [_group_data(group) for group in report.groups],
        "findings": [
            {
                "code": item.rule.code,
                "rule": item.rule.name,
                "sentence": item.sentence,
                "remedy": item.rule.remedy,
                "compile_id": item.compile or None,
                "place": item.place or None,
                "details": [{"name": name, "value": value} for name, value in item.details],
            }
            for item in report.findings
        ],
        "ranks": _ranks_data(report.ranks) if report.ranks else None,
        "tables": [
            {
                "name": table.name,
                "title": table.title,
                "columns": [column.name for column in table.columns],
                "rows": [list(row) for row in table.rows],
                "note": table.note or None,
            }
            for table in report.tables
        ],
        "health": _health_data(report),
    }


def _ranks_data(ranks: "RankReport") -> dict[str, Any]:
    from shapelog.distributed.compare_ranks import ranks_data

    return ranks_data(ranks)


def _rank_data(rank: Rank, trace: Trace) -> dict[str, Any]:
    """A rank that is read in full, and those of a large job that did the same."""
    alike = trace.alike.get(rank.number, ()) if rank.number is not None else ()
    return {"rank": rank.number, "process": rank.process or None, "frames": len(rank.frames), "stands_for": list(alike)}


def summary_data(summary: Summary) -> dict[str, Any]:
    """The numbers of a run without its verdicts."""
    return {
        "compiles": summary.compiles,
        "recompiles": summary.recompiles,
        "seconds": summary.seconds,
        "recompile_seconds": summary.recompile_seconds,
        "limit_hits": summary.limit_hits,
        "failures": summary.failures,
    }


def _label(compile: Compile) -> str:
    return compile.label


def _frame_data(item: FrameReport) -> dict[str, Any]:
    frame, called = item.frame, item.frame.called_at
    return {
        "frame": frame.label,
        "rank": frame.rank,
        "process": frame.process or None,
        "title": frame.title,
        "name": frame.name or None,
        "file": frame.file or None,
        "line": frame.line or None,
        "called_at": f"{called.file}:{called.line}" if called else None,
        "seconds": frame.seconds,
        "saved_by_marking": item.saved_by_marking,
        "saved_by_code": item.saved_by_code,
        "limit_hit": item.limit.label if item.limit else None,
        "compiles": [_compile_data(compile) for compile in frame.compiles],
        "axes": [
            {"axis": axis.name, "source": axis.source, "values": list(axis.values), "codes": [rule.code for rule in axis.rules]}
            for axis in item.axes
        ],
        "shapes": [
            {
                "axis": row.name,
                "source": row.source,
                "cells": [
                    {"value": cell.value, "state": cell.state.value, "symbol": cell.symbol or None, "violated": cell.is_violated}
                    for cell in row.cells
                ],
            }
            for row in item.shapes.rows
        ],
    }


def _compile_data(compile: Compile) -> dict[str, Any]:
    metrics = compile.metrics
    return {
        "compile_id": compile.label,
        "outcome": compile.outcome.value,
        "dynamic": compile.is_dynamic,
        "attempts": compile.attempts,
        "seconds": compile.seconds,
        "backend_seconds": metrics.backend,
        "aot_seconds": metrics.aot,
        "inductor_seconds": metrics.inductor,
        "codegen_seconds": metrics.codegen,
        "guard_count": metrics.guard_count,
        "op_count": metrics.op_count,
        "symbols": [
            {"symbol": item.name, "source": item.source or None, "hint": item.hint or None, "range": item.range} for item in compile.symbols
        ],
        "inputs": len(compile.inputs),
    }


def recompile_data(item: Recompile, lists_sources: bool) -> dict[str, Any]:
    called = item.frame.caller(item.compile)
    return {
        "compile_id": item.compile.label,
        "rank": item.frame.rank,
        "process": item.frame.process or None,
        "frame": item.frame.label,
        "called_at": f"{called.file}:{called.line}" if called else None,
        "outcome": item.compile.outcome.value,
        "nearest": item.nearest.label if item.nearest else None,
        "entries_checked": item.entries_checked,
        "causes": list(item.codes),
        "size_related": item.size_related,
        "verdict": item.verdict.value,
        "served_by": item.served_by.label if item.served_by else None,
        "seconds": item.compile.seconds,
        "cause_details": [cause_data(cause, lists_sources) for cause in item.causes],
        "consequences": list(item.consequences),
        "remedy": remedy(item, lists_sources),
        "missing": item.missing or None,
        "note": item.note or None,
        "reasons": [{"entry": reason.entry, "text": reason.text} for reason in item.compile.reasons],
    }


def cause_data(cause: Cause, lists_sources: bool) -> dict[str, Any]:
    return {
        "codes": list(cause.codes),
        "rule": cause.rule.name,
        "axis": cause.axis,
        "source": cause.source,
        "before": cause.before or None,
        "after": cause.after or None,
        "size_related": cause.size_related,
        "sentence": cause.sentence,
        "remedy": remedy_for(cause.helping, lists_sources),
        "place": str(cause.place) if cause.place else None,
        "code_line": (cause.place.code or None) if cause.place else None,
        "named_by_pytorch": cause.named_by_pytorch,
    }


def _group_data(group: Group) -> dict[str, Any]:
    return {
        "rank": group.members[0].rank,
        "process": group.members[0].process or None,
        "static": [member.label for member in group.static],
        "dynamic": [member.label for member in group.dynamic],
        "converged": group.converged.label if group.converged else None,
    }


def _health_data(report: Report) -> dict[str, Any]:
    return {
        "problems": [problem_data(item) for item in report.problems],
        "files": [
            {
                "name": book.name,
                "bytes": book.size,
                "records": dict(book.records),
                "bytes_by_kind": dict(book.sizes),
                "unused": dict(book.unused),
                "unknown": dict(book.unknown),
                "unreadable_bytes": book.unreadable_bytes,
                "unreadable_records": book.unreadable_records,
                "payloads_verified": book.payloads_verified,
                "balances": book.balances,
            }
            for book in report.accounts
        ],
    }


def problem_data(item: Problem) -> dict[str, Any]:
    return {
        "code": item.code,
        "rule": problem_rule(item.code).code,
        "severity": item.severity,
        "file": item.file,
        "line": item.line or None,
        "count": item.count,
        "message": item.message,
    }

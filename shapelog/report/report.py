"""``analyze(trace)`` → Report: the one thing that reporters know."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from shapelog.advice.advise import Advice, advise
from shapelog.advice.remedies import Remedies
from shapelog.display import in_memory, in_notebook
from shapelog.errors import DATA_LOSS, INFO, Problem
from shapelog.grouping import grouped
from shapelog.model.cache_uses import CacheUses
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace
from shapelog.reading.ledger import Ledger
from shapelog.recompiles.explain import Explanations, explain_trace
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.nearest_entry import MOST_COMPARED
from shapelog.recompiles.recompile import Recompile
from shapelog.recompiles.shape_table import ShapeTable, shape_table, varying_axes
from shapelog.recompiles.similar_graphs import Group
from shapelog.report.analyses import ANALYSES
from shapelog.report.analyses.failures import of_errors
from shapelog.report.details.raising_calls import raising_call
from shapelog.report.results import Finding, Table
from shapelog.report.weighted import WeightedCompile, weighted_compiles
from shapelog.rules import RULES, AlertKind, Remedy, Rule, Verdict
from shapelog.text import cut, one_line, plural, seconds, taking

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from shapelog.distributed.compare_ranks import RankReport

# A later call with one of these got no entry of its own.
_WITHOUT_ENTRY = (Verdict.FAILED, Verdict.SKIPPED, Verdict.UNFINISHED)


@dataclass(frozen=True, slots=True)
class VerdictTotal:
    """How many recompiles came to one verdict, and what they cost in seconds."""

    verdict: Verdict
    count: int
    seconds: float


class Summary(NamedTuple):
    """The verdict on the whole run. ``compiles`` produced code; ``recompiles`` are those that were not their frame's first.

    ``parts`` add up to the recompiles. What the recompile limit refused (``limit_hits``) and what failed is counted apart, with its own
    seconds; ``seconds`` are those of everything.
    """

    compiles: int
    recompiles: int
    seconds: float
    recompile_seconds: float
    parts: tuple[VerdictTotal, ...]
    limit_hits: int
    failures: int
    frames: int
    limit_seconds: float = 0.0
    failed_seconds: float = 0.0

    @property
    def is_timed(self) -> bool:
        """Whether times are recorded; also where nothing was compiled."""
        return bool(self.seconds) or not (self.compiles or self.limit_hits or self.failures)

    @property
    def succeeded_seconds(self) -> float:
        """Those of the compilations that produced code."""
        return max(0.0, self.seconds - self.failed_seconds - self.limit_seconds)

    @property
    def compiled(self) -> str:
        """``56 compilations (35.6 s)``; where some failed, ``61 compilations: 5 failed (0.57 s), 56 succeeded (35.6 s)``."""
        spent, number = taking(self.succeeded_seconds), plural(self.compiles + self.failures, "compilation")
        failed = f": {self.failures} failed{taking(self.failed_seconds)}, {self.compiles} succeeded" if self.failures else ""
        return f"{number}{failed}{spent}"

    def part(self, verdict: Verdict) -> VerdictTotal:
        return next((part for part in self.parts if part.verdict is verdict), VerdictTotal(verdict, 0, 0.0))


class Axis(NamedTuple):
    """A property that took more than one value among the compiles of a frame, in order of appearance.

    ``rules`` are what it caused, ``remedies`` what helps against that.
    """

    name: str
    source: str
    values: tuple[str, ...]
    rules: tuple[Rule, ...]
    remedies: tuple[Remedy, ...]


class FrameReport(NamedTuple):
    """One frame with its compiles, axes and recompiles; what can be saved is in seconds of all ranks that it represents."""

    frame: Frame
    compiles: tuple[WeightedCompile, ...]
    axes: tuple[Axis, ...]
    recompiles: tuple[Recompile, ...]
    avoidable_by_marking: float
    avoidable_by_code: float
    limit_hit: Compile | None
    facts: FactTable

    def __repr__(self) -> str:
        return f"<FrameReport on {self.frame!r}, {plural(len(self.recompiles), 'recompilation')}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def seconds(self) -> float:
        return math.fsum(item.seconds for item in self.compiles)

    @property
    def has_recompiled(self) -> bool:
        """Whether a later call got an entry of its own, or hit the limit; one that failed, left no code or did not finish got none."""
        return any(item.verdict not in _WITHOUT_ENTRY for item in self.recompiles)

    @property
    def shapes(self) -> ShapeTable:
        """One row a source and dim, one column a compile; made when asked for."""
        return shape_table(self.frame, self.recompiles, self.facts)


class Report(NamedTuple):
    """Everything that a reporter may show, most important first. ``ranks`` is None where the trace holds fewer than two.

    ``advice`` is what to mark dynamic, None where that failed, which is one of the problems then. ``remedies`` are what to do about each
    recompile. ``caches`` is what compile caches did.
    """

    trace: Trace
    explained: Explanations
    summary: Summary
    frames: tuple[FrameReport, ...]
    groups: tuple[Group, ...]
    findings: tuple[Finding, ...]
    tables: tuple[Table, ...]
    advice: Advice | None
    remedies: Remedies
    problems: tuple[Problem, ...]
    accounts: tuple[Ledger, ...]
    ranks: "RankReport | None" = None
    caches: CacheUses = CacheUses()

    def __repr__(self) -> str:
        recompiles = plural(self.summary.recompiles, "recompilation")
        return f"<Report on {cut(one_line(self.trace.name), 80)}: {recompiles} in {seconds(self.summary.recompile_seconds)}>"

    @property
    def unfinished(self) -> int:
        """How many compilations began and did not finish, on all ranks."""
        every = (item for frame in self.frames for item in frame.compiles)
        return sum(item.weight for item in every if item.compile.did_not_finish)

    @property
    def failed_outside(self) -> bool:
        """Whether nothing failed but calls: of torch.compile or torch.export themselves, of compiled code, of exported programs."""
        failed = [item.compile for frame in self.frames for item in frame.compiles if item.compile.outcome is Outcome.FAILED]
        return self.trace.is_text and bool(failed) and all(map(raising_call, failed))

    @property
    def is_forbidden_alone(self) -> bool:
        """Whether it has nothing but recompilations that the program forbids, as a text has that lacks what was compiled before."""
        compiles = [item.compile for frame in self.frames for item in frame.compiles]
        return bool(compiles) and all(compile.is_forbidden for compile in compiles)

    def words_of(self, verdict: Verdict) -> str:
        """A verdict in words. Without graphs and guards it is only probable that marking is enough."""
        is_probable = verdict is Verdict.MARKING and not any(
            item.compile.graph_span or item.compile.guards_span for item in self.recompiles
        )
        return f"probably {verdict.words}" if is_probable else verdict.words

    def _repr_html_(self) -> str:
        return in_notebook("recording", self)

    def to_arrow(self, job: str = "") -> "dict[str, pyarrow.Table]":
        """The tables of ``shapelog tables`` by name, each with all its columns (docs/tables.md): ``report.to_arrow()["causes"]``.

        ``job`` is the value of the column ``job``, the name of the trace by default. Raises ShapelogError without pyarrow.
        """
        found: dict[str, pyarrow.Table] = in_memory("to_arrow", self, job)
        return found

    def to_pandas(self, job: str = "") -> "dict[str, pandas.DataFrame]":
        """The same as data frames. Raises ShapelogError without pandas or pyarrow."""
        found: dict[str, pandas.DataFrame] = in_memory("to_pandas", self, job)
        return found

    @property
    def recompiles(self) -> tuple[Recompile, ...]:
        return self.explained.recompiles

    @property
    def without_recompilations(self) -> str:
        """What a text that holds graph breaks alone has about recompilations; a CompileProfiler would have counted them."""
        return "no recompilations" if any(log.has_profile for log in self.trace.text_logs) else "nothing about recompilations"

    @property
    def has_problems(self) -> bool:
        """Whether anything was lost or damaged; what is merely worth knowing does not count."""
        return any(problem.severity != "info" for problem in self.problems)

    def table(self, name: str) -> Table | None:
        return next((table for table in self.tables if table.name == name), None)


def analyze(trace: Trace, debug: bool = False) -> Report:
    """Explain every recompile of a trace, and sum up what it cost and what helps; with ``debug`` a failing analysis raises."""
    return report_on(explain_trace(trace, debug), debug)


def report_on(explained: Explanations, debug: bool = False) -> Report:
    """The same for recompiles that are explained already."""
    trace = explained.trace
    findings: list[Finding] = []
    tables: list[Table] = []
    ranks: RankReport | None = None
    caches = CacheUses()
    failed: list[Problem] = list(explained.problems)
    for analysis in ANALYSES:
        try:
            for result in analysis.analyze(explained):
                if isinstance(result, Table):
                    tables.append(result)
                elif isinstance(result, Finding):
                    findings.append(result)
                elif isinstance(result, CacheUses):
                    caches = result
                else:
                    ranks = result
        except Exception as error:
            if debug:
                raise
            name = analysis.__name__.rsplit(".", 1)[-1]
            text = f"the analysis {name} failed ({type(error).__name__}: {error}); its part of the report is missing"
            failed.append(Problem("analysis-failed", text, trace.name, severity=DATA_LOSS))
    advice = _advice(explained, failed, debug)
    remedies = (advice.remedies if advice else Remedies(trace.version)).with_errors(of_errors(findings))
    frames = sorted([_frame_report(frame, explained, remedies) for frame in trace.frames], key=_importance)
    return Report(
        trace=trace,
        explained=explained,
        summary=_summary(explained),
        frames=tuple(frames),
        groups=explained.groups,
        findings=tuple(_with_marks(findings, explained, remedies, advice)),
        tables=tuple(tables),
        advice=advice,
        remedies=remedies,
        problems=(*trace.problems, *failed, *_cut_tables(frames, trace)),
        accounts=trace.accounts,
        ranks=ranks,
        caches=caches,
    )


def _with_marks(findings: Iterable[Finding], explained: Explanations, remedies: Remedies, advice: Advice | None) -> Iterator[Finding]:
    """The findings; those about the recompile limit and forbidden recompiles with the marks that prevent them, where marks do."""
    lifted = {item.frame: item for item in advice.forecasts if item.lifts_limit} if advice else {}
    forbidding = [(frame, found) for frame, recompiles in explained.by_frame.items() for found in recompiles if found.compile.is_forbidden]
    refused = {(frame, found.compile.label): found for frame, found in reversed(forbidding)}  # the first of a label
    for item in findings:
        recompiles = explained.of_frame(item.frame) if item.frame and item.rule.alert_kind is AlertKind.LIMIT else ()
        has_marks = item.frame in lifted and any(found.verdict is Verdict.MARKING for found in recompiles)
        removed = [found for found in recompiles if remedies.removes(found)] if has_marks else []
        forbidden = refused.get((item.frame, item.compile)) if item.frame else None
        if removed and item.frame:
            text = remedies.of(removed, [cause for found in removed for cause in found.causes]).text
            setting = explained.trace.version.limit_setting()
            raise_it = f"; if calls are still refused, raise {setting}" if lifted[item.frame].after.may_reach_limit else ""
            yield item._replace(own_remedy=text + raise_it)
        elif forbidden and forbidden.causes:
            yield item._replace(own_remedy=remedies.of_recompile(forbidden).text)
        else:
            yield item


def _cut_tables(frames: Iterable[FrameReport], trace: Trace) -> Iterator[Problem]:
    """A problem for each frame whose shape table does not hold all sizes and ints."""
    for item in frames:
        frame = item.frame
        table = item.shapes if len(frame.compiles) > MOST_COMPARED else None
        if table and table.left_out:
            shown = f"{len(table.rows):,} of {len(table.rows) + table.left_out:,} sizes and ints"
            text = f"frame {frame.label} ({frame.name}): the table of its shapes has {shown}"
            yield Problem("many-entries", text, trace.name, severity=INFO)


def _advice(explained: Explanations, failed: list[Problem], debug: bool) -> Advice | None:
    """What to mark dynamic; where making it fails, that is added to ``failed``."""
    try:
        return advise(explained)
    except Exception as error:
        if debug:
            raise
        text = f"the advice failed ({type(error).__name__}: {error}); the rest of the report is complete"
        failed.append(Problem("analysis-failed", text, explained.trace.name, severity=DATA_LOSS))
        return None


def _importance(item: FrameReport) -> tuple[float, ...]:
    """Seconds that could be saved first, those that the user need not change code for before the others."""
    return (
        -(item.avoidable_by_marking + item.avoidable_by_code),
        -float(item.limit_hit is not None),
        -float(len(item.recompiles)),
        -item.frame.seconds,
        item.frame.compiles[0].order,
    )


def _seconds(compiles: Iterable[WeightedCompile], verdict: Verdict) -> float:
    return math.fsum(item.seconds for item in compiles if item.recompile and item.recompile.verdict is verdict)


def _axes(frame: Frame, explained: Explanations, remedies: Remedies) -> tuple[Axis, ...]:
    recompiles = explained.of_frame(frame)
    blamed = grouped(((item, cause) for item in recompiles for cause in item.causes), lambda pair: pair[1].axis)
    found = []
    for source, name, values in varying_axes(frame, recompiles, explained.facts):
        rules = dict.fromkeys(RULES[code] for _, cause in blamed[name] for code in cause.codes)
        by_rule = grouped(blamed[name], lambda pair: pair[1].remedy_rule).values()
        own = dict.fromkeys(remedies.of([item for item, _ in members], [cause for _, cause in members]) for members in by_rule)
        found.append(Axis(name, source, values, tuple(rules), tuple(own)))
    return tuple(found)


def _frame_report(frame: Frame, explained: Explanations, remedies: Remedies) -> FrameReport:
    compiles = weighted_compiles(explained, (frame,))
    return FrameReport(
        frame=frame,
        compiles=compiles,
        axes=_axes(frame, explained, remedies),
        recompiles=explained.of_frame(frame),
        avoidable_by_marking=_seconds(compiles, Verdict.MARKING),
        avoidable_by_code=_seconds(compiles, Verdict.CODE),
        limit_hit=next((compile for compile in frame.compiles if compile.outcome is Outcome.LIMIT), None),
        facts=explained.facts,
    )


def _summary(explained: Explanations) -> Summary:
    """Of all ranks, each with its own seconds, whether it is read in full or only summarized."""
    trace = explained.trace
    verdicts = {item.compile: item.verdict.value for item in explained.recompiles}
    summarized = [rank for item in trace.summarized for rank in item.ranks]
    every = chain(
        ((compile.outcome.value, verdicts.get(compile, ""), compile.seconds) for compile in trace.compiles),
        ((step.outcome, step.verdict, item.compile) for rank in summarized for step, item in zip(rank.steps, rank.spent, strict=True)),
    )
    by_outcome: dict[str, list[float]] = {outcome.value: [] for outcome in Outcome}
    by_verdict: dict[str, list[float]] = {}
    for outcome, verdict, cost in every:
        by_outcome[outcome].append(cost)
        if verdict and outcome == Outcome.COMPILED.value:
            by_verdict.setdefault(verdict, []).append(cost)
    return Summary(
        compiles=len(by_outcome[Outcome.COMPILED.value]),
        recompiles=sum(map(len, by_verdict.values())),
        seconds=math.fsum(chain.from_iterable(by_outcome.values())),
        recompile_seconds=math.fsum(chain.from_iterable(by_verdict.values())),
        parts=tuple(VerdictTotal(verdict, len(spent), math.fsum(spent)) for verdict in Verdict if (spent := by_verdict.get(verdict.value))),
        limit_hits=len(by_outcome[Outcome.LIMIT.value]),
        failures=len(by_outcome[Outcome.FAILED.value]),
        frames=len(trace.frames) + sum(rank.frames for rank in summarized),
        limit_seconds=math.fsum(by_outcome[Outcome.LIMIT.value]),
        failed_seconds=math.fsum(by_outcome[Outcome.FAILED.value]),
    )

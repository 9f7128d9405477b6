"""A compile of a rank that is only summarized, as most of a large job are → its rows."""

from collections.abc import Iterator

from shapelog.model.rank_summary import RankSummary, Spent, Step
from shapelog.report.analyses.top_causes import fold
from shapelog.rules import RULES, UNEXPLAINED
from shapelog.tables.compile_rows import CodeColumns, cache_outcomes, function_at, rank_number
from shapelog.tables.schema import CauseRow, CollectiveRow, CompileRow, FailureRow, RecompileRow


def code_of_step(job: str, rank: RankSummary, step: Step) -> CodeColumns:
    """``job`` is the name of the job."""
    function = function_at(step.code.name, step.code.file, step.code.line)
    return CodeColumns(
        job=job,
        rank=rank_number(rank.number),
        process=rank.process or None,
        compile_id=step.label if step.has_id else f"{step.reference} of {function}",
        frame=_frame_of(step.label) if step.has_id else function,
        function=step.title,
        file=step.code.file or None,
        line=step.code.line or None,
    )


def _frame_of(label: str) -> str:
    """``2`` of ``2/3`` and of ``!0/2/3``, ``2#2`` of ``2/3#2``."""
    body, mark, generation = label.partition("#")
    parts = [part for part in body.split("/") if not part.startswith("!")]
    return (parts[0] if parts else "-") + mark + generation


def compile_row_of_step(code: CodeColumns, step: Step, spent: Spent) -> CompileRow:
    return CompileRow(
        *code,
        outcome=step.outcome,
        is_recompile=bool(step.verdict),
        is_dynamic=step.is_dynamic,
        seconds=spent.compile or None,
        fx_graph_cache=cache_outcomes(step.caches, "fx_graph_cache_"),
        aotautograd_cache=cache_outcomes(step.caches, "aotautograd_cache_"),
        is_summarized=True,
    )


def recompile_row_of_step(code: CodeColumns, step: Step, spent: Spent) -> RecompileRow:
    return RecompileRow(
        *code,
        outcome=step.outcome,
        verdict=step.verdict,
        seconds=spent.compile or None,
        code=step.changes[0].code if step.changes else UNEXPLAINED.code,
        causes=len(step.changes),
        is_size_related=any(change.size_related for change in step.changes),
    )


def cause_rows_of_step(code: CodeColumns, step: Step, spent: Spent) -> Iterator[CauseRow]:
    for number, change in enumerate(step.changes):
        yield CauseRow(
            *code,
            number=number,
            code=change.code,
            rule=RULES[change.code].name,
            axis=change.axis,
            axis_pattern=fold(change.axis),
            is_size_related=change.size_related,
            verdict=step.verdict,
            seconds=spent.compile / len(step.changes) or None,
            before=change.before or None,
            after=change.after or None,
            sentence=change.sentence,
        )


def failure_row_of_step(code: CodeColumns, step: Step, spent: Spent) -> FailureRow:
    return FailureRow(*code, step.outcome, spent.compile or None)


def collective_rows_of_step(code: CodeColumns, step: Step) -> Iterator[CollectiveRow]:
    for position, operation in enumerate(step.collectives or ()):
        yield CollectiveRow(*code[:4], position, operation)

"""A compile of a rank that is read in full → its rows."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import NamedTuple

from shapelog.model.compile import Compile
from shapelog.model.frame import UNNAMED_CODE, Frame
from shapelog.reading.payloads import collectives
from shapelog.reading.trace_files import clock_time
from shapelog.recompiles.recompile import Recompile
from shapelog.report.analyses.top_causes import fold
from shapelog.report.report import Report
from shapelog.tables.schema import NO_RANK, CauseRow, CollectiveRow, CompileRow, FailureRow, GraphBreakRow, PhaseRow, RecompileRow


class CodeColumns(NamedTuple):
    """The columns that most tables begin with."""

    job: str
    rank: int
    process: int | None
    compile_id: str
    frame: str
    function: str
    file: str | None
    line: int | None


def code_of(job: str, frame: Frame, title: str, compile: Compile) -> CodeColumns:
    """``job`` is the name of the job, ``title`` that of the frame, which takes time to find."""
    return CodeColumns(
        job=job,
        rank=rank_number(frame.rank),
        process=frame.process or None,
        compile_id=id_of(frame, compile),
        frame=frame_of(frame),
        function=title,
        file=frame.file or None,
        line=frame.line or None,
    )


def id_of(frame: Frame, compile: Compile) -> str:
    """The id of a compile; in a text log without ids, its number among those of its function."""
    return compile.shown_label or f"{compile.reference} of {frame_of(frame)}"


def frame_of(frame: Frame) -> str:
    """The number of a frame; in a text log without ids the function, which such a log has for a frame."""
    return frame.shown_label or function_at(frame.name, frame.file, frame.line)


def function_at(name: str, file: str, line: int) -> str:
    """``forward (net.py:10)``, which a text log without ids has no other function of."""
    return f"{name or UNNAMED_CODE}{f' ({file}' if file else ''}{f':{line}' if file and line else ''}{')' if file else ''}"


def rank_number(rank: int | None) -> int:
    """A rank as tables have it: NO_RANK for one that no process can have."""
    return rank if rank is not None and 0 <= rank < 1 << 31 else NO_RANK


def utc(seconds: float | None) -> datetime | None:
    """A time in seconds since the epoch; None for one that no clock has shown."""
    known = clock_time(seconds)
    return None if known is None else datetime.fromtimestamp(known, timezone.utc)


def compile_row(code: CodeColumns, compile: Compile, is_recompile: bool) -> CompileRow:
    return CompileRow(
        *code,
        outcome=compile.outcome.value,
        is_recompile=is_recompile,
        is_dynamic=compile.is_dynamic,
        seconds=compile.measured_seconds,
        started=utc(compile.metrics.start_time),
        attempts=compile.attempts,
        guards=compile.metrics.guard_count,
        operations=compile.metrics.op_count,
        inputs=len(compile.inputs),
        symbols=len(compile.symbols),
        fx_graph_cache=cache_outcomes(compile.caches, "fx_graph_cache_"),
        aotautograd_cache=cache_outcomes(compile.caches, "aotautograd_cache_"),
    )


def cache_outcomes(caches: Iterable[tuple[str, int]], prefix: str) -> str | None:
    """What a cache did, of the events of a compile that begin with ``prefix``."""
    return " ".join(name.removeprefix(prefix) for name, _ in caches if name.startswith(prefix)) or None


def recompile_row(code: CodeColumns, why: Recompile, report: Report) -> RecompileRow:
    called = why.frame.caller(why.compile)
    remedy = report.remedies.of_recompile(why)
    return RecompileRow(
        *code,
        outcome=why.compile.outcome.value,
        verdict=why.verdict.value,
        seconds=why.compile.measured_seconds,
        code=why.codes[0],
        causes=len(why.causes),
        is_size_related=why.size_related,
        called_file=called.file if called else None,
        called_line=called.line if called else None,
        nearest=id_of(why.frame, why.nearest) if why.nearest else None,
        served_by=id_of(why.frame, why.served_by) if why.served_by else None,
        remedy=remedy.text,
        remedy_code=remedy.rule.code,
        note=why.unexplained_because or why.why_not_markable or None,
    )


def cause_rows(code: CodeColumns, why: Recompile, report: Report) -> Iterator[CauseRow]:
    for number, cause in enumerate(why.causes):
        remedy = report.remedies.of((why,), (cause,))
        yield CauseRow(
            *code,
            number=number,
            code=cause.rule.code,
            rule=cause.rule.name,
            axis=cause.axis,
            axis_pattern=fold(cause.axis),
            is_size_related=cause.size_related,
            verdict=why.verdict.value,
            seconds=why.compile.seconds / len(why.causes) or None,
            before=cause.before or None,
            after=cause.after or None,
            sentence=cause.sentence,
            place_file=cause.place.file if cause.place else None,
            place_line=cause.place.line if cause.place else None,
            remedy=remedy.text,
            remedy_code=remedy.rule.code,
        )


def break_rows(code: CodeColumns, compile: Compile) -> Iterator[GraphBreakRow]:
    for item in compile.breaks:
        yield GraphBreakRow(
            *code,
            reason=item.reason,
            explanation=item.message.explanation or None,
            hints="\n".join(item.message.hints) or None,
            number=item.message.number or None,
            url=item.message.url or None,
            place_file=item.place.file if item.place else None,
            place_line=item.place.line if item.place else None,
        )


def failure_row(code: CodeColumns, compile: Compile) -> FailureRow:
    message, metrics = compile.failure, compile.metrics
    place = (
        (metrics.fail_file, metrics.fail_line) if metrics.fail_file else next(((item.file, item.line) for item in message.stack[-1:]), None)
    )
    return FailureRow(
        *code,
        outcome=compile.outcome.value,
        seconds=compile.measured_seconds,
        type=metrics.fail_type or None,
        message=message.title,
        explanation=message.explanation or None,
        hints="\n".join(message.hints) or None,
        url=message.url or None,
        place_file=place[0] if place else None,
        place_line=place[1] if place else None,
    )


def _scheduled(compile: Compile) -> Iterator[str]:
    """The collectives of all graphs of a compile."""
    for name, offset, span in compile.inductor if compile.payloads else ():
        if name == collectives.SCHEDULE:
            assert compile.payloads is not None
            try:
                yield from collectives.schedule(compile.payloads.text(span))
            except (ValueError, TypeError, KeyError, AttributeError):
                compile.payloads.reader.ledger.add(offset, "bad-json", f"the JSON of this {name} is not as expected")


def phase_rows(code: CodeColumns, compile: Compile) -> Iterator[PhaseRow]:
    for phase, spent in compile.phases:
        if spent:
            yield PhaseRow(*code[:4], phase, spent)


def collective_rows(code: CodeColumns, compile: Compile) -> Iterator[CollectiveRow]:
    for position, operation in enumerate(_scheduled(compile)):
        yield CollectiveRow(*code[:4], position, operation)

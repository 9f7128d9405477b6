"""What a notebook shows of the objects inside a trace and a report: a title, facts, and tables of what belongs to it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import singledispatch
from typing import NamedTuple

from shapelog.advice.alternatives.alternative import Alternative
from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.suggestions import Suggestion
from shapelog.model.compile import Compile
from shapelog.model.exports import Export
from shapelog.model.frame import Frame
from shapelog.model.trace import Rank
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile
from shapelog.report.report import FrameReport
from shapelog.report.results import Column, Finding, Table
from shapelog.reporters import Options
from shapelog.reporters.html.notebooks.notebook import rendered
from shapelog.text import file_name, measured, one_line, plural

Facts = Iterable[tuple[str, object]]
_COMPILES = (Column("compilation"), Column("outcome"), Column("time", True), Column("graph"))
_CAUSES = (Column("rules"), Column("what changed"), Column("before"), Column("now"))


class Shown(NamedTuple):
    """An object as a notebook shows it; facts without a value are left out."""

    title: str
    note: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()


def render(item: object, options: Options) -> bytes:
    """``options.limit`` is how many rows a table has, 0 for all."""
    return rendered(options, "notebook_object.html.j2", shown=shown(item))


@singledispatch
def shown(item: object) -> Shown:
    """What to show of an object. Raises TypeError for one of a type without a display."""
    raise TypeError(f"{type(item).__name__} has no display")


def _facts(pairs: Facts) -> tuple[tuple[str, str], ...]:
    return tuple((name, one_line(value)) for name, value in pairs if value not in (None, "", 0))


def _place(file: str, line: int) -> str:
    return f"{file_name(file)}:{line}" if file else "code unknown"


def _compiles(compiles: Iterable[Compile]) -> Table:
    rows = [(item.reference, item.outcome.value, item.seconds, "dynamic" if item.is_dynamic else "static") for item in compiles]
    return Table("compiles", "Compilations", _COMPILES, tuple(rows))


def _causes(causes: Sequence[Cause]) -> Table:
    return Table("causes", "Causes", _CAUSES, tuple((" ".join(item.codes), item.axis, item.before, item.after) for item in causes))


@shown.register
def _rank(rank: Rank) -> Shown:
    title = "Process" if rank.number is None else f"Rank {rank.number}"
    columns = (Column("function"), Column("code"), Column("compilations", True), Column("time", True))
    frames = sorted(rank.frames, key=lambda frame: -frame.seconds)
    rows = [(frame.title, _place(frame.file, frame.line), len(frame.entries), frame.seconds) for frame in frames]
    return Shown(title, f"process {rank.process}", tables=(Table("frames", "Functions", columns, tuple(rows)),))


@shown.register
def _frame(frame: Frame) -> Shown:
    called = frame.called_at
    facts = _facts((("called at", f"{called.file}:{called.line}" if called else ""), ("time", measured(frame.seconds))))
    number = f"frame {frame.shown_label}" if frame.shown_label else ""
    return Shown(frame.title, ", ".join(filter(None, (number, _place(frame.file, frame.line)))), facts, (_compiles(frame.compiles),))


@shown.register
def _compile(compile: Compile) -> Shown:
    phases = tuple((name, spent) for name, spent in compile.phases if spent)
    inputs = tuple((item.source, str(list(item.size)), item.dtype) for item in compile.inputs if not item.is_parameter)
    symbols = tuple((item.name, item.source, item.hint, item.range) for item in compile.symbols)
    return Shown(
        f"Compilation {compile.reference}",
        compile.outcome.value,
        _facts(_facts_of(compile)),
        (
            Table("phases", "Phases", (Column("phase"), Column("time", True)), phases),
            Table("inputs", "Inputs", (Column("tensor"), Column("size"), Column("dtype")), inputs),
            Table("symbols", "Symbols", (Column("symbol"), Column("source"), Column("value"), Column("range")), symbols),
            Table("breaks", "Graph breaks", (Column("what"),), tuple((item.words,) for item in compile.breaks)),
        ),
    )


def _facts_of(compile: Compile) -> Iterator[tuple[str, object]]:
    yield "time", measured(compile.seconds)
    yield "graph", "dynamic" if compile.is_dynamic else "static"
    yield "guards", compile.metrics.guard_count
    yield "operations", compile.metrics.op_count
    yield "attempts", compile.attempts if compile.attempts > 1 else ""
    yield "failure", compile.failure.title if compile.error or compile.metrics.fail_reason else ""


@shown.register
def _recompile(item: Recompile) -> Shown:
    facts = _facts(
        (
            ("function", item.frame.title),
            ("compared with", item.nearest.reference if item.nearest else ""),
            ("time", measured(item.compile.seconds)),
            ("not known", item.unexplained_because if not item.causes else ""),
            ("note", item.why_not_markable),
        )
    )
    return Shown(f"Recompilation {item.compile.reference}", item.verdict.words, facts, (_causes(item.causes),))


@shown.register
def _cause(cause: Cause) -> Shown:
    facts = (("before", cause.before), ("now", cause.after), ("your line", cause.place or ""), ("rules", " ".join(cause.codes)))
    return Shown(cause.axis, cause.sentence, _facts(facts))


@shown.register
def _explanations(explained: Explanations) -> Shown:
    columns = (Column("compilation"), Column("function"), Column("rules"), Column("verdict"), Column("time", True))
    rows = [
        (item.compile.reference, item.frame.title, " ".join(item.codes), item.verdict.words, item.compile.seconds)
        for item in explained.recompiles
    ]
    return Shown(plural(len(rows), "recompilation"), explained.trace.name, tables=(Table("recompiles", "", columns, tuple(rows)),))


@shown.register
def _frame_report(item: FrameReport) -> Shown:
    columns = (Column("what changed"), Column("values"), Column("rules"))
    axes = [(axis.name, ", ".join(map(one_line, axis.values)), " ".join(rule.code for rule in axis.rules)) for axis in item.axes]
    whole = shown(item.frame)
    saved = (
        ("avoidable by marking", measured(item.avoidable_by_marking)),
        ("avoidable by a code change", measured(item.avoidable_by_code)),
    )
    return whole._replace(facts=(*whole.facts, *_facts(saved)), tables=(Table("axes", "What changed", columns, tuple(axes)), *whole.tables))


@shown.register
def _suggestion(item: Suggestion) -> Shown:
    facts = (
        ("saves", f"{item.saved} ({' '.join(item.gone)})"),
        ("time", measured(item.seconds)),
        ("confidence", f"{item.confidence}: {item.confidence_reason}"),
        ("add to TORCH_COMPILE_DYNAMIC_SOURCES", ",".join(item.entries)),
        ("or in code", "; ".join(line.partition("  #")[0] for line in item.python if not line.startswith("#"))),
        ("called at", f"{item.place.file}:{item.place.line}" if item.place else ""),
    )
    return Shown(f"{item.id}: {item.recommendation}", item.rationale, _facts(facts))


@shown.register
def _finding(item: Finding) -> Shown:
    facts = (("compilation", item.compile), ("place", item.place or ""), *item.details, ("what to do", item.remedy))
    return Shown(f"{item.rule.code} {item.rule.name}", item.sentence, _facts(facts))


@shown.register
def _alternative(item: Alternative) -> Shown:
    lines = Table("lines", "", (Column("to paste"),), tuple((line,) for line in item.lines))
    return Shown(item.tool, item.sentence, _facts((("for", item.subject), ("note", item.warning))), (lines,))


@shown.register
def _remaining(item: Remaining) -> Shown:
    facts = (("what to do", item.remedy), ("place", item.place), ("compilations", " ".join(compile.reference for compile in item.compiles)))
    return Shown(
        f"{item.rule.code} {item.rule.name} in {item.frame.title}", item.sentence, _facts((*facts, ("time", measured(item.seconds))))
    )


@shown.register
def _export(export: Export) -> Shown:
    assumed = tuple((item.expression, item.result) for item in export.assumptions)
    symbols = tuple((item.name, item.source, item.hint, str(export.final_ranges.get(item.name, ""))) for item in export.symbols)
    return Shown(
        export.title,
        export.result.value,
        _facts((("called at", f"{export.call.file}:{export.call.line}" if export.call else ""), ("inputs", len(export.inputs)))),
        (
            Table("assumptions", "Assumed, as it was for the example inputs", (Column("expression"), Column("taken for")), assumed),
            Table("symbols", "Symbols", (Column("symbol"), Column("source"), Column("example"), Column("accepted")), symbols),
        ),
    )


@shown.register
def _table(table: Table) -> Shown:
    return Shown(table.title, table.note, tables=(table._replace(title=""),))

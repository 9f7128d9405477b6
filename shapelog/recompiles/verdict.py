"""What could be done about a recompile: mark something dynamic, change code, or nothing; and why marking is not enough."""

import re
from collections.abc import Sequence
from operator import itemgetter

from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.guards.comments import place_of
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import display_text
from shapelog.recompiles.branches import break_on_symbol, index_of, other_path
from shapelog.recompiles.causes import Cause, EntryDifference
from shapelog.recompiles.classification.result import line_that_failed, shown_guard
from shapelog.recompiles.exact_values import is_another_in_each_graph
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.reuse.graph_reuse import GraphReuse
from shapelog.recompiles.reuse.obstacles import (
    branch_of_call,
    broken_base_tie,
    broken_stride_tie,
    found_by_super,
    has_size_one,
    moved_to_start,
    pinning_operator,
    static_by_setting,
    statically_marked_dim,
    tied_stride,
    would_share_symbol,
)
from shapelog.recompiles.reuse.refused_calls import entry_number, is_known_by_limit
from shapelog.recompiles.reuse.similar import has_operations, similar
from shapelog.rules import Verdict, any_blocks_marking
from shapelog.text import file_name, shorten

BREAKS_ON_SYMBOL = "with a symbolic size or int, the graph breaks at "
KEPT_STATIC = " is in torch.compiler.config.static_sources"
CHANGES_STATE = "the code changes "
ONLY_UNDER_DYNAMIC_FALSE = "a mark helps only if the code is compiled with dynamic=False"
_LONGEST_CODE = 60
_OF_LAYOUT = re.compile(r"\.(?:stride\(\)\[|storage_offset\(\))")
_SIZE_ONE = (
    "marking is not enough: a tensor that is computed from this has a size of 1 in one of the two calls; "
    "PyTorch always specializes on sizes 0 and 1"
)
_BY_OUTCOME = {
    Outcome.LIMIT: Verdict.LIMIT,
    Outcome.SKIPPED: Verdict.SKIPPED,
    Outcome.FAILED: Verdict.FAILED,
    Outcome.UNFINISHED: Verdict.UNFINISHED,
}


def verdict_of(
    frame: Frame, compile: Compile, nearest: EntryDifference, differences: Sequence[EntryDifference], reuse: GraphReuse
) -> tuple[Verdict, Compile | None]:
    """The verdict, and the entry whose graph would serve the call if what varies were marked."""
    ended = verdict_of_outcome(compile)
    if ended:
        return ended, None
    for item in (nearest, *differences):
        if reuse.serves(frame, item, compile):
            return Verdict.MARKING, item.entry
    if any(cause.needs_own_graph for cause in nearest.causes):
        return Verdict.JUSTIFIED, None
    table = reuse.differences.table
    verdicts = {cause.verdict for cause in nearest.causes}
    # A size of 0 or 1, or a branch, needs a graph of its own with or without the mark, unless other code makes do without it.
    kept = (cause for cause in nearest.causes if cause.own_verdict is not Verdict.CODE)
    is_justified = Verdict.JUSTIFIED in verdicts or any(any_blocks_marking(cause.codes) for cause in kept)
    is_apart = broken_stride_tie(nearest, table, compile) and not branch_of_call(nearest, table, compile)
    is_tied = is_apart or broken_base_tie(nearest, table, compile)
    is_static = statically_marked_dim(nearest) or static_by_setting(nearest)
    if not is_justified and (is_static or is_tied or _moved_alone(nearest, table, compile)):
        return Verdict.CODE, None
    if Verdict.UNEXPLAINED in verdicts:
        return Verdict.UNEXPLAINED, None
    return Verdict.CODE if Verdict.CODE in verdicts and not is_justified else Verdict.JUSTIFIED, None


def verdict_of_outcome(compile: Compile) -> Verdict | None:
    """The verdict of a compile that left no code; None for any other."""
    return _BY_OUTCOME.get(compile.outcome)


def verdict_without_graphs(causes: Sequence[Cause]) -> Verdict:
    """The verdict where the graph of the entry is not in the trace, so that nothing shows whether marking is enough."""
    verdicts = {cause.verdict for cause in causes}
    return next((known for known in (Verdict.CODE, Verdict.JUSTIFIED) if known in verdicts), Verdict.UNEXPLAINED)


def stays_static(frame: Frame, nearest: EntryDifference, compile: Compile, reuse: GraphReuse) -> str:
    """That a size or an int does not become dynamic by itself, and which entry shows it; "" where none does."""
    fixed = reuse.fixed_number(frame, nearest)
    if not fixed:
        return ""
    axis, entry = fixed
    named = entry if compile.names_entries else "an earlier graph"
    static = "and is static nevertheless"
    is_int = any(cause.is_int and cause.axis == axis for cause in nearest.causes)
    why = "value (perhaps to choose one of several layers)" if is_int else "size (perhaps to match a weight)"
    exact = f"the code needs that exact {why}"
    if is_known_by_limit(frame):
        return (
            f"a mark may not help: {named} came after {entry_number(entry)} other graphs, {static}: either {exact}, "
            f"it is compiled with dynamic=False, or {axis} had not changed before and the other graphs "
            'differ in something else; TORCH_LOGS="recompiles" shows which'
        )
    return f"{ONLY_UNDER_DYNAMIC_FALSE}: {named} was compiled after {axis} had changed, {static}; otherwise {exact}"


def blocking_rule(frame: Frame, nearest: EntryDifference, compile: Compile, reuse: GraphReuse) -> tuple[str, str]:
    """(code, sentence) of why marking is not enough although marks act on every cause; ("", "") where they do not act on one."""
    if not all(cause.size_related and cause.rule.markable and not any_blocks_marking(cause.codes) for cause in nearest.causes):
        return "", ""
    dim = statically_marked_dim(nearest)
    if dim:
        return "SL321", f"the program calls mark_static on {dim}, which overrides every mark: remove that call"
    if listed := static_by_setting(nearest):
        return "SL321", f"{listed}{KEPT_STATIC}, which overrides the list of dynamic sources"
    if any(cause.own_verdict for cause in nearest.causes):  # known to need something else, which its remedy names
        return "", ""
    constant = found_by_super(nearest)
    if constant:
        return "SL201", f"marking does not help: PyTorch treats values read through super(), such as {constant}, as constants"
    if fixed := stays_static(frame, nearest, compile, reuse):
        return "SL201", fixed
    layout = _blocked_by_layout(nearest, compile, reuse.differences.table)
    return layout or _blocked_by_numbers(frame, nearest, compile, reuse) or _blocked_by_graph(frame, nearest, compile, reuse)


def _blocked_by_layout(nearest: EntryDifference, compile: Compile, table: FactTable) -> tuple[str, str] | None:
    """Strides, bases and offsets of tensors that do not follow from their sizes."""
    tensor = broken_stride_tie(nearest, table, compile)
    if tensor and (branch := branch_of_call(nearest, table, compile)):
        return "SL204", f"marking is not enough: the code takes a different path in this call, which requires {shown_guard(branch)}"
    if tensor:
        return "SL105", f"marking is not enough: the strides of {tensor} do not follow from its sizes"
    tensor = tied_stride(nearest, table, compile)
    if tensor:
        return "SL105", f"marking is not enough: the strides of {tensor} follow from its sizes now and did not when this was compiled"
    tied = broken_base_tie(nearest, table, compile)
    if tied:
        return "SL317", "marking is not enough: {} was a view of {} when this was compiled, and no longer is".format(*tied)
    shared = would_share_symbol(nearest, table, compile)
    if shared:
        one, other = map(display_text, shared)
        return "SL105", f"marking is not enough: {one} and {other} were equal when this was compiled, so that they would share a symbol"
    tensor = _moved_alone(nearest, table, compile)
    if tensor:
        return (
            "SL105",
            f"marking is not enough: {tensor} starts at the beginning of its storage and was part of a larger tensor before; "
            "PyTorch always specializes on storage offsets 0 and 1",
        )
    return None


def _blocked_by_numbers(frame: Frame, nearest: EntryDifference, compile: Compile, reuse: GraphReuse) -> tuple[str, str] | None:
    """Code that needs the exact value of what varied."""
    table = reuse.differences.table
    index = index_of(nearest, table.of(nearest.entry), table.of(compile))
    if index:
        return "SL201", f"marking is not enough: {index}"
    operator = pinning_operator(nearest, compile, table)
    if operator:
        return "SL202", f"marking is not enough: {operator} takes it as a constant and needs a graph for each value"
    if has_size_one(nearest, compile, table):
        return "SL104", _SIZE_ONE
    line = reuse.pinned_ints.pinning_line(frame, nearest) or _pinning_guard(nearest, compile)
    return ("SL201", f"marking does not help: {line}") if line else None


def _blocked_by_graph(frame: Frame, nearest: EntryDifference, compile: Compile, reuse: GraphReuse) -> tuple[str, str]:
    """Graphs that differ, or guards of the dynamic one that do not hold."""
    table = reuse.differences.table
    if not similar(nearest.entry, compile):
        return "SL204", f"marking is not enough: {_why_graphs_differ(nearest.entry, compile, table)}"
    path = other_path(nearest, table.of(nearest.entry), table.of(compile))
    if path:
        return "SL204", f"marking is not enough: {path}"
    broken = reuse.broken_guard(frame, nearest, compile)
    if broken and ".stride()[" in broken[1]:
        return "SL105", f"marking is not enough: the dynamic graph {broken[0].label} requires its own strides ({shown_guard(broken[1])})"
    limit = f"requires {shown_guard(broken[1])}" if broken else "does not serve this call"
    is_exact = broken is not None and is_another_in_each_graph(broken[1], [entry.guards for entry in frame.entries])
    return "SL202" if is_exact else "SL204", f"marking is not enough: the dynamic graph{f' {broken[0].label}' if broken else ''} {limit}"


def _moved_alone(nearest: EntryDifference, table: FactTable, compile: Compile) -> str:
    """A tensor that begins where its storage does in this call alone; "" where the graph has other operations as well."""
    has_others = has_operations(nearest.entry) and has_operations(compile) and not similar(nearest.entry, compile)
    return "" if has_others else moved_to_start(nearest, table, compile)


def _why_graphs_differ(entry: Compile, compile: Compile, table: FactTable) -> str:
    """That an entry ended at a graph break which this call does not meet, as the first call of a model that installs hooks does; or the
    line that branches, by a guard of this call which the other one does not meet.
    """
    if not entry.breaks and (broken_at := break_on_symbol(compile)):
        return f"{BREAKS_ON_SYMBOL}{broken_at}"
    if not entry.breaks or compile.breaks:
        return f"the code takes a different path for this value{_where_it_branches(entry, compile, table)}, so the graphs differ"
    place = entry.breaks[0].place
    where = f" at {file_name(place.file)}:{place.line}" if place else ""
    named = entry.label if compile.names_entries else "the earlier graph"
    return f"{named} ends at a graph break{where}, which this call does not reach, so the graphs differ"


def _where_it_branches(entry: Compile, compile: Compile, table: FactTable) -> str:
    """`` at model.py:342 (if pad > 0:)``; "" where no guard shows it. Sizes of 0 and 1 fail otherwise, and strides follow from sizes."""
    numbers = table.of(entry).numbers
    shapes = compile.guards.shapes if compile.guards else ()
    own = (shape for shape in shapes if shape.is_of_code and shape.parsed.names and not _OF_LAYOUT.search(shape.expression))
    failed = [shape for shape in own if shape.parsed.holds(numbers) is False and all(numbers[name] > 1 for name in shape.parsed.names)]
    places = ((shape, line_that_failed(shape, [numbers[name] for name in shape.parsed.names])) for shape in failed)
    lines = ((len(shape.expression), line) for shape, line in places if line and line.code)
    _, line = min(lines, key=itemgetter(0), default=(0, None))
    return f" at {file_name(line.file)}:{line.line} ({shorten(line.code, _LONGEST_CODE)})" if line else ""


def _pinning_guard(difference: EntryDifference, compile: Compile) -> str:
    """What varied, and the line with a guard that holds for this value of it alone; "" without one."""
    shapes = compile.guards.shapes if compile.guards else ()
    for cause in difference.causes:
        name = f"{cause.source}.size()[{cause.prop.dim}]" if cause.prop.kind is Kind.SIZE else cause.source.canonical
        value = integer(cause.after)
        for shape in shapes:
            if value is not None and shape.parsed.holds_for_one(name, value):
                line = place_of(shape.comment)
                where = f"{file_name(line.file)}:{line.line} ({line.code[:_LONGEST_CODE]})" if line else "the code"
                return f"{where} needs the exact value of {cause.axis}"
    return ""

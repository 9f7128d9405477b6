"""Which symbols were pinned to one value, by whose line? And on which conditions on the others does the code rely?"""

import re
from collections.abc import Callable, Iterator, Sequence

from shapelog.model.compile import Compile, Outcome
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import GuardAdded, Specialization, Stack
from shapelog.recompiles.explain import Explanations
from shapelog.report.details.export_conditions import condition, in_names, source_name, symbols_in
from shapelog.report.results import Column, Finding, Table

# How PyTorch calls that a guard left a symbol a single value.
_IN_PLAIN_WORDS = {"range_refined_to_singleton": "by a guard"}
# Where PyTorch finds the common size of two tensors (``infer_size``, ``_broadcast_shapes``), of which a static one fixes the other.
_BROADCASTS = re.compile(r"^infer_size|broadcast")
_BY_BROADCASTING = "by broadcasting"
_MARK_BOTH = "By broadcasting: the tensor that it is combined with has this size as a constant. Mark the same dimension of both."
# A value of the data: what is asked of one is checked when the code runs, and compiles nothing again.
_OF_DATA = re.compile(r"\b(?:u|zuf)\d")
_CONDITIONS = "Conditions on sizes: where one does not hold, another graph is needed"
_OF_EXPORT, _EXPORTS = "Conditions on sizes: the exported program accepts no others", "_export/"
_WHEN_RUN = "Conditions on sizes that are checked when the code runs: it raises an error where one does not hold"
_FROM_DATA = "Conditions on values that only the data have: they compile nothing again"
_OF_VALUE = (Column("condition", is_wide=True), Column("by", is_wide=True), Column("how"), Column("compiles"))
_ASSERTED, _ASSUMED, _NOT = "runtime_assert", "assumed to be ", "False"
_OF_CHECK = (Column("condition", is_wide=True), Column("by", is_wide=True), Column("compiles"))
_OF_CONDITION = (*_OF_CHECK, Column("rule"))


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    yield from _pinned(explained)
    yield from _conditions(explained)


def _pinned(explained: Explanations) -> Iterator[Table]:
    found: dict[tuple[str, str, str], list[tuple[Compile, Specialization]]] = {}
    for compile in explained.trace.compiles:
        for item in compile.specializations:
            source = ", ".join(source.display_name for source in item.sources) or item.symbol
            found.setdefault((source, place(item.user_stack), item.reason), []).append((compile, item))
    rows = []
    for (source, where, reason), members in sorted(found.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        values = " ".join(dict.fromkeys(item.value for _, item in members))
        ids = " ".join(dict.fromkeys(compile.shown_label for compile, _ in members)).strip()
        code = "SL201" if where else "SL202"
        is_broadcast = any(_BROADCASTS.search(line.name) for line in members[0][1].stack.frames)
        how = _BY_BROADCASTING if is_broadcast else _IN_PLAIN_WORDS.get(reason, reason.replace("_", " "))
        rows.append((source, values, where or framework_place(members[0][1].stack), how, ids, code))
    if rows:
        columns = (Column("source"), Column("pinned to"), Column("by", is_wide=True), Column("how"), Column("compiles"), Column("rule"))
        note = _MARK_BOTH if any(_BY_BROADCASTING in row for row in rows) else ""
        yield Table("specializations", "Specializations: symbols fixed to one value", columns, tuple(rows), note)


def _conditions(explained: Explanations) -> Iterator[Table]:
    """What lines of the code ask of sizes, in a text log that has nothing else to show: reasons name the conditions that failed."""
    compiles = explained.trace.compiles
    if not explained.trace.is_text or any(compile.reasons or compile.outcome is Outcome.FAILED for compile in compiles):
        return
    yield from _on_data(compiles)
    is_export = any(_is_of_export(compile) for compile in compiles)
    if not is_export and (rows := _rows_of(compiles, lambda guard: guard.prefix == _ASSERTED)):
        yield Table("size_checks", _WHEN_RUN, _OF_CHECK, rows)
    if rows := _rows_of(compiles, lambda guard: is_export or guard.prefix != _ASSERTED):
        rule = "SL607" if is_export else "SL204"
        yield Table("size_conditions", _OF_EXPORT if is_export else _CONDITIONS, _OF_CONDITION, tuple((*row, rule) for row in rows))


def _on_data(compiles: Sequence[Compile]) -> Iterator[Table]:
    """What is checked when the code runs, and what PyTorch took for granted where it could not decide."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for compile in compiles:
        for guard in compile.other_records.get(GuardAdded, ()):
            is_assumed = guard.prefix.startswith(_ASSUMED)
            if _OF_DATA.search(guard.expression) and (is_assumed or guard.prefix == _ASSERTED):
                text = condition(guard.expression, holds=not guard.prefix.endswith(_NOT)) or guard.expression
                shown = text, _asked_by(guard), "assumed, not checked" if is_assumed else "checked when the code runs"
                found.setdefault(shown, {}).setdefault(compile.shown_label)
    if found:
        yield Table("data_conditions", _FROM_DATA, _OF_VALUE, tuple((*shown, " ".join(labels).strip()) for shown, labels in found.items()))


def _asked_by(guard: GuardAdded) -> str:
    """The line that a condition comes from; a text may name the innermost one alone, be it of a library or not."""
    line = guard.stack.frames[-1] if guard.stack.frames else None
    return place(guard.user_stack) or (f"{line.file}:{line.line} in {line.name}" if line else "unknown")


def _is_of_export(compile: Compile) -> bool:
    """Whether its inputs became symbolic in code of torch.export (``torch/_export/non_strict_utils.py``)."""
    return any(frame.file.startswith(_EXPORTS) for symbol in compile.symbols for frame in symbol.stack.frames)


def _rows_of(compiles: Sequence[Compile], is_listed: Callable[[GuardAdded], bool]) -> tuple[tuple[str, str, str], ...]:
    """Each condition in the words of its sources, the line that added it, the compiles. Those that pinned a symbol are in another table."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for compile in compiles:
        names = {symbol.name: source_name(symbol.source.display_name) for symbol in compile.symbols if symbol.source}
        pinned = {item.symbol for item in compile.specializations}
        for guard in filter(is_listed, compile.other_records.get(GuardAdded, ())):
            if {*symbols_in(guard.expression)} - pinned and not _OF_DATA.search(guard.expression):
                shown = in_names(condition(guard.expression) or guard.expression, names), _asked_by(guard)
                found.setdefault(shown, {}).setdefault(compile.shown_label)
    return tuple((*shown, " ".join(labels).strip()) for shown, labels in found.items())


def place(stack: Stack) -> str:
    """The innermost line of a stack outside of libraries, with its code where that is known."""
    frames = stack.frames
    if not frames:
        return ""
    last = next((frame for frame in reversed(frames) if not is_library(frame.file)), frames[-1])
    where = f"{last.file.rsplit('/', 1)[-1]}:{last.line}"
    return f"{where}  {last.code}" if last.code else where


def framework_place(stack: Stack) -> str:
    """The innermost line of PyTorch, without those that only write the record."""
    last = next((frame for frame in reversed(stack.frames) if "/_logging/" not in frame.file), None)
    return f"{last.file.rsplit('/torch/', 1)[-1]}:{last.line} in {last.name} (framework)" if last else "unknown"

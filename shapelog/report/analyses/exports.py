"""Did each ``torch.export`` succeed, what did it assume, and what has to change? Which ranges did the symbols end with?"""

import re
from collections.abc import Iterator

from shapelog.grouping import grouped
from shapelog.model.exports import Export, ExportResult, user_line
from shapelog.reading.export_records import Assumed
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.exported_programs import Range, last_condition, last_line, last_operation, line_of_operation
from shapelog.reading.payloads.guards.expressions import parse
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import GuardAdded, StackFrame
from shapelog.recompiles.explain import Explanations
from shapelog.report.details.export_conditions import condition, in_names, in_variables, names_of, source_name, symbols_in
from shapelog.report.details.expression_tree import expression_tree, lines_of_tree
from shapelog.report.results import Column, Finding, Location, Table
from shapelog.rules import RULES, Level, Rule
from shapelog.text import file_name, plural, some

_FAILED, _DATA, _ASSUMED = RULES["SL601"], RULES["SL602"], RULES["SL603"]
_MISSING, _MISMATCHED, _FIXED, _NARROWED = RULES["SL604"], RULES["SL605"], RULES["SL606"], RULES["SL607"]
_UNDECIDED = re.compile(r"Could not (?:guard on|extract specialized integer from) data-dependent expression (.*?) \(unhinted")
# Operators of PyTorch itself.
_OWN_OPERATORS = re.compile(r"^(?:aten|prims|prim|quantized|_c10d_functional|c10d_functional|higher_order)\.")
_DECLARE = "Dim with min= and max=, a multiple such as 4 * Dim, or Dim.AUTO"
_FIXES = "Suggested fixes: "
_EQUAL = re.compile(r"^Eq\((s\d+), (s\d+)\)$")
_CONDITIONS, _CELL_CONDITIONS = 3, 4
# Sizes from the least one on for which a condition is tried, and one that is larger than any bound in code.
_TRIED, _HUGE = 256, 1 << 40
_NUMBER = re.compile(r"\d{1,15}")
_ONE_SIZE = "Dim.AUTO allows that: the program accepts this size alone"
_RAISES_IF_FIXED = "export raises for that, unless the dimension is Dim.AUTO"
_RAISES_IF_MORE = "export raises for that if a Dim declares more; Dim.AUTO and Dim.DYNAMIC accept it"
_UNRECORDED = "the trace does not record whether the export succeeded: record it with TORCH_DTRACE instead of TORCH_TRACE"


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    exports = explained.trace.exports
    found = (item for export in exports for item in findings_of(export))
    # One module may be exported several times, for the same result.
    yield from {(item.rule, item.sentence, item.place): item for item in found}.values()
    if exports:
        yield _overview(exports)
        rows = [row for export in exports for row in _symbol_rows(export)]
        if rows:
            columns = (Column("export"), Column("symbol"), Column("what it is"), Column("example"), Column("declared"), Column("accepted"))
            note = "accepted: the range that the exported program asks for, or the conditions that were added"
            yield Table("export_symbols", "Symbols of the exports", (*columns, Column("because", is_wide=True)), tuple(rows), note)


def findings_of(export: Export) -> list[Finding]:
    """What is wrong with one export, errors first."""
    found = [*_errors(export), *_assumptions(export), *_kernels(export), *_specialized(export), *_narrowed(export)]
    is_explained = export.partial_span is not None or any(item.rule in (_DATA, _FAILED) for item in found)
    if export.result is ExportResult.FAILED and not is_explained:
        found.insert(0, _unexplained(export, found))
    return sorted(found, key=lambda item: item.rule.level is not Level.ERROR)


def _finding(rule: Rule, sentence: str, line: StackFrame | None, **more: object) -> Finding:
    place = Location(line.file, line.line) if line else None
    return Finding(rule, sentence, place=place, code=line.code.strip() if line else "", **more)  # type: ignore[arg-type]


def _errors(export: Export) -> Iterator[Finding]:
    """The expression that nothing but the data decide, or what else stopped the export."""
    if export.result is not ExportResult.FAILED:
        return
    message = export.failure
    known = export.undecided[-1] if export.undecided else None
    stated = _UNDECIDED.search(export.metrics.fail_reason)
    text = known.expression if known else stated[1] if stated else last_condition(export.partial_graph)
    # With strict=True, the stack of the record ends at the call of export; that of the error has the line.
    line = user_line(message.stack) if message and known else None
    line = line or (user_line(known.stack.frames) if known else last_line(export.partial_graph))
    line = line or (user_line(message.stack) if message else None) or _origin(export, text)
    if text and (known or stated or text.startswith("u") or "u" in "".join(symbols_in(text))):
        yield _undecided(export, text, line, message)
    elif message:
        fixes = next((hint.removeprefix(_FIXES) for hint in message.hints if hint.startswith(_FIXES)), "")
        remedy = f"declare {fixes} in dynamic_shapes, as PyTorch suggests, or rewrite the line" if fixes else ""
        line = line or _only_line(export) or export.call
        others = message._replace(hints=tuple(hint for hint in message.hints if not hint.startswith(_FIXES)))
        yield _finding(_FAILED, f"{export.title} failed: {message.title}", line, message=others, own_remedy=remedy)
    elif export.partial_span:
        operator = last_operation(export.partial_graph)
        at = f" at {operator}" if operator else ""
        own = bool(operator) and not _OWN_OPERATORS.match(operator)
        yield _finding(
            _MISSING if own else _FAILED,
            f"{export.title} stopped{at}" + (", a custom operator that probably has no fake kernel" if own else ""),
            line or export.call,
            notes=("the error itself is in the output of the program, not in the trace",),
            text=_fake_kernel(operator) if own else (),
            own_remedy=f"{_register(operator)}; if it has one, the error names what is wrong with it" if own else "",
        )


def _only_line(export: Export) -> StackFrame | None:
    """The line that restricts a declared size, where one line does."""
    places = {(item.place, item.code) for item in (*_specialized(export), *_narrowed(export)) if item.place}
    found = next(iter(places)) if len(places) == 1 else None
    return StackFrame(found[0].file, found[0].line, "", found[1]) if found and found[0] else None


def _undecided(export: Export, text: str, line: StackFrame | None, message: CompilerMessage | None) -> Finding:
    names = names_of(export)
    yes, no = (condition(in_names(text, names), holds) for holds in (True, False))
    typed = (f"torch._check({yes})  # above this line, if it always holds", f"torch._check({no})  # or this one, if it never does")
    return _finding(
        _DATA,
        f"{export.title} stopped at a data-dependent expression: {in_names(text, names)}",
        line,
        notes=_origins(export, text),
        text=typed if yes else (),
        own_remedy=f"assert {yes} or {no} with torch._check, use torch.cond if both happen, or keep the branch out of the model"
        if yes
        else "",
        message=message._replace(title="", hints=()) if message else None,
    )


def _unexplained(export: Export, causes: list[Finding]) -> Finding:
    """It failed, and no record has the error: after the tracing, most often since the guards contradict ``dynamic_shapes``."""
    reason = "the code restricts sizes that dynamic_shapes declares as dynamic" if causes else "the error is in the output of the program"
    return _finding(_FAILED, f"{export.title} failed: {reason}", export.call)


def _assumptions(export: Export) -> Iterator[Finding]:
    names = names_of(export)
    for item in export.assumptions:
        text = in_variables(item, names)
        holds = item.result in ("True", "1", "true")
        is_truth = item.result in ("True", "False", "true", "false")
        shown = condition(text, holds) if is_truth else f"{text} == {item.result}"
        what = shown or f"{text} is {item.result}"
        yield _finding(
            _ASSUMED,
            f"{export.title} assumed that {what}, as it was for the example inputs",
            user_line(item.user_stack.frames) or user_line(item.stack.frames),
            notes=(*_origins(export, item.expression), *_steps(export, item)),
            text=(f"torch._check({shown})",) if shown else (),
            own_remedy=f"assert {shown} with torch._check if it always holds; otherwise use torch.cond or rewrite the line"
            if shown
            else "",
        )


def _origin(export: Export, text: str) -> StackFrame | None:
    """The line that made the first symbol of an expression which comes from data."""
    symbols = {item.name: item for item in export.symbols if not item.source}
    found = (user_line(symbols[name].user_stack.frames) for name in symbols_in(text) if name in symbols)
    return next((line for line in found if line), None)


def _origins(export: Export, text: str) -> tuple[str, ...]:
    symbols = {item.name: item for item in export.symbols if not item.source}
    found = []
    for name in symbols_in(text):
        line = user_line(symbols[name].user_stack.frames) if name in symbols else None
        if line:
            found.append(f"{name} comes from {file_name(line.file)}:{line.line}" + (f"  {line.code.strip()}" if line.code else ""))
    return tuple(found)


def _steps(export: Export, item: Assumed) -> Iterator[str]:
    """The operations on symbols that led to the expression, in order, by their lines."""
    root = expression_tree(export, item.node)
    lines: dict[str, str] = {}
    for _, step in reversed(list(lines_of_tree(root)) if root else []):
        if step.line and step.operands and step.text != item.expression:
            place = f"{file_name(step.line.file)}:{step.line.line}"
            lines[step.text] = f"{step.text} is made at {place}" + (f"  {step.line.code.strip()}" if step.line.code else "")
    yield from lines.values()


def _kernels(export: Export) -> Iterator[Finding]:
    graph = export.program or export.partial_graph
    for op in export.missing_kernels:
        sentence = f"no fake kernel for {op.op}: {export.title} took the shape of its result from a run on real data"
        yield _finding(_MISSING, sentence, line_of_operation(graph, op.op), text=_fake_kernel(op.op), own_remedy=_register(op.op))
    for operators in grouped(export.mismatched_kernels, lambda item: item.op).values():
        reasons = some(list(dict.fromkeys(item.reason.rstrip("!.") for item in operators)), _CONDITIONS, "; ")
        name = operators[0].op
        sentence = f"the fake kernel of {name} does not return what the real one returns: {reasons}"
        remedy = f"make the fake kernel of {name} return the shape, dtype and device that the real kernel returns"
        yield _finding(_MISMATCHED, sentence, line_of_operation(graph, name), own_remedy=remedy)


def _register(operator: str) -> str:
    return f"register a fake kernel for {operator}, which computes the shape, dtype and device of the result without data"


def _fake_kernel(operator: str) -> tuple[str, ...]:
    """What registers one: ``mylib.count.default`` is ``mylib::count``."""
    name = "::".join(operator.split(".")[:2])
    return (
        f'@torch.library.register_fake("{name}")',
        "def _(x):",
        "    return torch.empty_like(x)  # with the shape and dtype of the real result",
    )


def _specialized(export: Export) -> Iterator[Finding]:
    """Declared sizes that a line fixes. A value from data that ``torch._check`` fixes is checked when the program runs."""
    declared, names = {symbol.name: symbol for symbol in export.symbols}, names_of(export)
    for item in export.specializations:
        if not any(map(_is_declarable, item.sources)):
            continue
        symbol = declared.get(item.symbol)
        sources = [names[item.symbol]] if item.symbol in names else [source_name(source.display_name) for source in item.sources]
        before = f" ({export.declared_range(symbol)})" if symbol else ""
        line = user_line(item.user_stack.frames) or user_line(item.stack.frames)
        yield _finding(
            _FIXED,
            f"{some(sources, _CONDITIONS) or item.symbol} is declared as dynamic{before}, but this line fixes it to {item.value}",
            line if line != export.call else None,
            notes=(_ONE_SIZE if export.result is ExportResult.EXPORTED else _RAISES_IF_FIXED,),
            own_remedy=f"rewrite the line that needs this exact size, or declare {(*sources, item.symbol)[0]} as static or Dim.AUTO",
        )


def _is_declarable(source: Source) -> bool:
    """Whether ``dynamic_shapes`` can name it: an input of the user, and not one of the program that ``run_decompositions`` traces again."""
    return source.startswith("L[")


def _narrowed(export: Export) -> Iterator[Finding]:
    """Conditions on one declared size, by the line that needs them. Where a program came out, they are in the table of symbols.

    A condition on what comes from data as well is checked when the program runs.
    """
    if export.result is ExportResult.EXPORTED:
        return
    names = names_of(export)
    fixed = {item.symbol for item in export.specializations}
    symbols = {item.name: item for item in export.symbols if _is_declarable(item.source)}
    needed: dict[tuple[str, StackFrame | None], list[GuardAdded]] = {}
    for guard in export.guards:
        name, *others = symbols_in(guard.expression) or ("",)
        if others or name in fixed or name not in symbols:
            continue
        if _restricts(guard.expression, name, export.declared_range(symbols[name])):
            line = user_line(guard.user_stack.frames) or user_line(guard.stack.frames)
            needed.setdefault((name, line if line != export.call else None), []).append(guard)
    for (name, line), guards in needed.items():
        shown = sorted((condition(item.expression) or item.expression for item in guards), key=len)
        words = some([in_names(text, names) for text in shown], _CONDITIONS)
        declared = export.declared_range(symbols[name])
        yield _finding(
            _NARROWED,
            f"{names[name]} is declared as {declared}, but this line needs {words}",
            line,
            notes=(_RAISES_IF_MORE,),
            own_remedy=f"declare what the code accepts of {names[name]} ({_DECLARE}), or rewrite the line",
        )


def _restricts(expression: str, symbol: str, declared: Range) -> bool:
    """Whether a condition excludes a part of a range, and PyTorch compares it with the declaration, as it does with all but ``!=``.

    ``8*((s77//2)) <= 4*s77`` holds for every size. What cannot be calculated may exclude something.
    """
    guard = parse(expression)
    if guard.is_inequality:
        return False
    numbers = [int(number) for number in _NUMBER.findall(expression)]
    least, most = (0 if declared.least is None else declared.least), (_HUGE if declared.most is None else declared.most)
    tried = {*range(least, least + _TRIED), *(number + by for number in numbers for by in (-1, 0, 1)), most}
    return not all(guard.holds({symbol: value}) is True for value in tried if least <= value <= most)


def _overview(exports: tuple[Export, ...]) -> Table:
    columns = (
        Column("export"),
        Column("result"),
        Column("where"),
        Column("call", is_wide=True),
        Column("inputs", True),
        Column("symbols", True),
    )
    rows = []
    for export in exports:
        where = f"{file_name(export.call.file)}:{export.call.line}" if export.call and export.call.line else ""
        code = export.call.code if export.call else ""
        inputs = len(export.inputs) or None  # a draft export does not record them
        rows.append((export.title, _result(export), where, code, inputs, len(export.symbols)))
    note = _UNRECORDED if any(export.result is ExportResult.UNKNOWN for export in exports) else ""
    return Table("exports", "Calls of torch.export", columns, tuple(rows), note)


def _result(export: Export) -> str:
    if export.result is ExportResult.EXPORTED and export.assumptions:
        return f"exported with {plural(len(export.assumptions), 'assumption')}"
    return export.result.value


def _final_range(export: Export, name: str) -> Range | None:
    """What the program asks of a symbol; of symbols that have to be equal it lists one."""
    equal = {name}
    for item in export.guards:
        pair = _EQUAL.match(item.expression)
        if pair and equal.intersection(pair.groups()):
            equal.update(pair.groups())
    return next((export.final_ranges[other] for other in sorted(equal) if other in export.final_ranges), None)


def _symbol_rows(export: Export) -> Iterator[tuple[str, ...]]:
    names = names_of(export)
    fixed = {item.symbol: item.value for item in export.specializations}
    for symbol in export.symbols:
        line = None if symbol.source else user_line(symbol.user_stack.frames)
        where = f"{line.code.strip() or 'data'} ({file_name(line.file)}:{line.line})" if line else ""
        what = names.get(symbol.name) if symbol.source else f"from {where}" if where else "from data"
        conditions = [
            in_names(condition(item.expression) or item.expression, names)
            for item in export.guards
            if symbol.name in symbols_in(item.expression)
        ]
        final = _final_range(export, symbol.name)
        accepted = f"exactly {fixed[symbol.name]}" if symbol.name in fixed else str(final) if final else ""
        declared = str(export.declared_range(symbol)) if symbol.source else "data"
        yield (
            export.label,
            symbol.name,
            what or "",
            symbol.hint,
            declared,
            accepted,
            some(sorted(conditions, key=len), _CELL_CONDITIONS, "; "),
        )

"""What a compile without described inputs shows by its symbols, as in a log of guards or of symbols."""

from collections.abc import Iterator

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.leaves import DYNAMIC
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.properties import VALUE, Kind
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.evidence.guards import shape_violation
from shapelog.recompiles.evidence.violation import Described, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts

_OFFSET = ".storage_offset()"


def newly_symbolic(entry: CompileFacts, call: CompileFacts) -> Iterator[Violation]:
    """Sizes and ints that were constants in the entry before and are symbols in the call: Dynamo makes dynamic what has changed.

    A mark that came with the call makes them symbols as well; guards show it. Symbols that were required to be equal and are not now
    have other values. Where reasons are recorded, they name the first of these alone.
    """
    compile = call.compile
    if compile.inputs or entry.compile.id.compile + 1 != compile.id.compile:
        return
    if compile.has_reasons_record:
        names_size = any(reason.family == "size" for reason in compile.reasons)
        if names_size and entry.tree is None and not entry.compile.symbols:
            yield from _in_symbols(call)
    elif entry.tree is not None and call.tree is not None:
        yield from _in_guards(entry.tree, call)
        yield from _unequal(entry, entry.tree, call, call.tree)
    elif entry.tree is None and not entry.compile.symbols:
        yield from _in_symbols(call)


def _in_guards(tree: GuardTree, call: CompileFacts) -> Iterator[Violation]:
    marked = {source for (source, prop), fact in call.facts.items() if prop.kind is Kind.MARKING and fact is not False}
    for (source, prop), expected in tree.facts.items():
        is_dynamic = prop.kind is Kind.SIZE and expected != DYNAMIC and call.guarded((source, prop)) == DYNAMIC
        if is_dynamic and (source, prop) not in call.facts and source not in marked:
            yield Violation(source, prop, expected, Described.UNKNOWN, tree.by_key[source, prop].comment)


def _unequal(entry: CompileFacts, tree: GuardTree, call: CompileFacts, now: GuardTree) -> Iterator[Violation]:
    required = {shape.expression for shape in now.shapes}
    compared = {name for shape in now.shapes for name in shape.parsed.names}
    for shape in tree.shapes:
        one, _, other = shape.expression.partition(" == ")
        is_pair = set(shape.parsed.names) == {one, other} <= compared
        if is_pair and required.isdisjoint((shape.expression, f"{other} == {one}")) and shape.parsed.holds(call.numbers) is None:
            yield shape_violation(shape, entry, call, None)


def _in_symbols(call: CompileFacts) -> Iterator[Violation]:
    for symbol in call.compile.symbols:
        part, now = symbol.source.tensor_part, integer(symbol.hint)
        if part and part.is_size and now is not None:
            yield Violation(part.tensor, part.prop, Described.UNKNOWN, now)
        elif symbol.source and part is None and now is not None and not symbol.source.endswith(_OFFSET):
            yield Violation(Source(symbol.source), VALUE, Described.UNKNOWN, str(now))

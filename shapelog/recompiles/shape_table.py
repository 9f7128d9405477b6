"""The shape table of a frame: one row a source and dim, one column a compile; and the axes, the rows that vary."""

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import count
from typing import NamedTuple

from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.leaves import DYNAMIC
from shapelog.reading.payloads.properties import VALUE, Kind, Property, is_address, size
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.recompile import Recompile

# Properties whose values are ids, or differ in another way than the causes show.
_UNLISTED = frozenset((Kind.ID, Kind.TYPE, Kind.DISPATCH_KEYS, Kind.GLOBAL_STATE, Kind.AUTOCAST))


# The cells of a table; of a frame with more of them, the rows that vary come first.
MOST_CELLS = 500_000


class State(Enum):
    """How a compile treated a dim or int."""

    STATIC = "static"
    DYNAMIC = "dynamic"
    SPECIALIZED = "specialized"
    ABSENT = "absent"


class ShapeCell(NamedTuple):
    """One dim or int in one compile; ``is_violated`` where it kept the compile from using its nearest earlier entry."""

    value: str
    state: State
    symbol: str = ""
    is_violated: bool = False


class ShapeRow(NamedTuple):
    """One dim or int over all compiles of a frame."""

    name: str
    source: str
    cells: tuple[ShapeCell, ...]

    @property
    def is_constant(self) -> bool:
        """Static, and of one value wherever it appears."""
        return _is_constant(self.cells)


class ShapeTable(NamedTuple):
    """Rows in the order in which the sources first appear, without ``left_out`` more; columns are ``compiles``."""

    compiles: tuple[Compile, ...]
    rows: tuple[ShapeRow, ...]
    left_out: int = 0


def shape_table(frame: Frame, recompiles: tuple[Recompile, ...], facts: FactTable) -> ShapeTable:
    compiles = tuple(compile for compile in frame.compiles if compile.outcome is not Outcome.LIMIT)
    violated = {(item.compile, cause.axis) for item in recompiles for cause in item.causes}
    rows: dict[tuple[str, Source], dict[int, ShapeCell]] = {}
    for index, compile in enumerate(compiles):
        for name, source, cell in _cells(compile, facts):
            row = rows.setdefault((name, source), {})
            row.setdefault(index, cell._replace(is_violated=True) if (compile, name) in violated else cell)
    most = max(1, MOST_CELLS // max(1, len(compiles)))
    constant = {key: _is_constant(cells.values()) for key, cells in rows.items()} if len(rows) > most else {}
    shown = set(sorted(rows, key=lambda key: constant.get(key, False))[:most])
    blank = ShapeCell("", State.ABSENT)
    return ShapeTable(
        compiles=compiles,
        rows=tuple(
            ShapeRow(name, source, tuple(cells.get(index, blank) for index in range(len(compiles))))
            for (name, source), cells in rows.items()
            if (name, source) in shown
        ),
        left_out=len(rows) - len(shown),
    )


def _is_constant(cells: Iterable[ShapeCell]) -> bool:
    seen = [cell for cell in cells if cell.state is not State.ABSENT]
    return all(cell.state is State.STATIC and not cell.is_violated for cell in seen) and len({cell.value for cell in seen}) < 2


def _ever_symbolic(compile: Compile) -> set[Source]:
    """The tensors of which a size or stride was symbolic at some time."""
    sources = [symbol.source.unwrapped for symbol in compile.symbols if symbol.source]
    sources += [source for item in compile.specializations for source in item.sources]
    return {source.tensor_part.tensor for source in sources if source.tensor_part}


def _cells(compile: Compile, facts: FactTable) -> Iterator[tuple[str, Source, ShapeCell]]:
    """(name, source, cell) of each dim and int."""
    tree = compile.guards
    guarded = tree.facts if tree else {}
    symbols = {symbol.source.unwrapped: symbol.name for symbol in compile.symbols if symbol.source}
    pinned = {source for item in compile.specializations for source in item.sources}
    symbolic = _ever_symbolic(compile)
    for tensor in compile.inputs:
        source = tensor.source
        name = source.display_name
        for dim, number in enumerate(tensor.size):
            fact = guarded.get((source, size(dim)))
            own = Source(f"{source}.size()[{dim}]" if source in symbolic else "")
            state = _state(fact == DYNAMIC if fact is not None else own in symbols, own in symbols or own in pinned)
            yield f"{name}.size[{dim}]", source, ShapeCell(str(number), state, symbols.get(own, ""))
    for source in sorted({*symbols, *(tree.guarded_values if tree else ())}):
        value = facts.of(compile).facts.get((source, VALUE))
        if isinstance(value, str) and integer(value) is not None and source.tensor_part is None:
            is_static = (source, VALUE) in guarded or source in pinned
            state = _state(not is_static and source in symbols, source in symbols or source in pinned)
            yield source.display_name, source, ShapeCell(value, state, symbols.get(source, ""))


def _state(is_dynamic: bool, was_symbolic: bool) -> State:
    if is_dynamic:
        return State.DYNAMIC
    return State.SPECIALIZED if was_symbolic else State.STATIC


def varying_axes(frame: Frame, recompiles: tuple[Recompile, ...], facts: FactTable) -> Iterator[tuple[Source, str, tuple[str, ...]]]:
    """(source, name, values in order of appearance) of each property that made a recompile, most frequent first."""
    causes: dict[str, list[Cause]] = {}
    for item in recompiles:
        for cause in item.causes:
            causes.setdefault(cause.axis, []).append(cause)
    for name, members in sorted(causes.items(), key=lambda item: -len(item[1])):
        source, prop = members[0].source, members[0].prop
        values = dict.fromkeys(_values(frame, source, prop, facts))
        if len(values) < 2:
            shown = [cause for cause in members if cause.prop.kind is not Kind.SHAPE_GUARD]
            values = dict.fromkeys([value for cause in shown for value in (cause.before, cause.after) if value])
            values = dict.fromkeys(_without_addresses(prop, values))
        is_nameless = prop.kind is Kind.ID and len(values) == 1  # one kind of object, of which the guards hold no more than ids
        yield source, name, () if is_nameless else tuple(values)


def _without_addresses(prop: Property, values: Iterable[str]) -> Iterator[str]:
    """The values in order, with a number in place of each address."""
    word, number = "type" if prop.kind is Kind.TYPE else "object", count(1)
    return (f"{word} {next(number)}" if is_address(prop, value) else value for value in values)


def _values(frame: Frame, source: Source, prop: Property, facts: FactTable) -> list[str]:
    """The values of a property over all compiles; for a symbolic guard those of the size that it limits."""
    if prop.kind in _UNLISTED:
        return []
    part = source.tensor_part if prop.kind is Kind.SHAPE_GUARD else None
    key = (part.tensor, part.prop) if part else (source, VALUE if prop.kind is Kind.SHAPE_GUARD else prop)
    return [str(value) for value in facts.values(frame, key)]

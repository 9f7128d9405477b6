"""The shape table of a frame: one row a source and dim, one column a compile; and the axes, the rows that vary."""

from collections.abc import Container, Iterator
from enum import Enum
from typing import NamedTuple

from shapelog.model.trace import Compile, Frame, Outcome
from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import DYNAMIC
from shapelog.reading.payloads.source_names import display_name, tensor_part, unwrap
from shapelog.reading.records import Input
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Recompile
from shapelog.recompiles.violations import STATE_PROPS, Comparer

_SIZES = tuple(f"size[{dim}]" for dim in range(8))


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
        seen = [cell for cell in self.cells if cell.state is not State.ABSENT]
        return all(cell.state is State.STATIC and not cell.is_violated for cell in seen) and len({cell.value for cell in seen}) < 2


class ShapeTable(NamedTuple):
    """Rows in the order in which the sources first appear; columns are ``compiles``. ``left_out`` counts rows that never vary."""

    compiles: tuple[Compile, ...]
    rows: tuple[ShapeRow, ...]
    left_out: int = 0


def shape_table(frame: Frame, recompiles: tuple[Recompile, ...], comparer: Comparer, is_whole: bool = True) -> ShapeTable:
    """The table of a frame; where it need not be whole, tensors that are the same in all compiles are counted alone."""
    compiles = tuple(compile for compile in frame.compiles if compile.outcome is not Outcome.LIMIT)
    violated = {(id(item.compile), cause.axis) for item in recompiles for cause in item.causes}
    rows: dict[tuple[str, str], list[ShapeCell]] = {}
    names: dict[str, tuple[str, ...]] = {}
    blank = ShapeCell("", State.ABSENT)
    same = {} if is_whole else _unchanging(compiles, {cause.source for item in recompiles for cause in item.causes}, comparer)
    for index, compile in enumerate(compiles):
        for name, source, cell in _cells(compile, comparer, names, same):
            row = rows.setdefault((name, source), [])
            if len(row) < index:
                row.extend([blank] * (index - len(row)))
            row.append(ShapeCell(cell.value, cell.state, cell.symbol, True) if (id(compile), name) in violated else cell)
    return ShapeTable(
        compiles,
        tuple(ShapeRow(name, source, (*cells, *[blank] * (len(compiles) - len(cells)))) for (name, source), cells in rows.items()),
        sum(same.values()),
    )


def _unchanging(compiles: tuple[Compile, ...], named: set[str], comparer: Comparer) -> dict[str, int]:
    """Source → dims of each tensor that looks the same in every compile, was never symbolic, and that no cause is about."""
    found: dict[str, Input] = {item.source: item for item in compiles[0].inputs} if compiles else {}
    for compile in compiles:
        inputs = {item.source: item for item in compile.inputs}
        tree = compile.guards
        free = _touched(compile).union(comparer.free(tree) if tree else ())
        found = {source: item for source, item in found.items() if inputs.get(source) is item and source not in free}
    return {source: len(item.size) for source, item in found.items() if source not in named}


def _touched(compile: Compile) -> set[str]:
    """The tensors of which a size or stride was symbolic at some time."""
    sources = [unwrap(symbol.source) for symbol in compile.symbols if symbol.source]
    sources += [source for item in compile.specializations for source in item.sources]
    return {part[0] for source in sources if (part := tensor_part(source))}


def _cells(
    compile: Compile, comparer: Comparer, names: dict[str, tuple[str, ...]], left_out: Container[str]
) -> Iterator[tuple[str, str, ShapeCell]]:
    """(name, source, cell) of each dim and int; ``names`` holds those of the dims of each tensor that was met before."""
    tree = compile.guards
    guarded = tree.facts if tree else {}
    symbols = {unwrap(symbol.source): symbol.name for symbol in compile.symbols if symbol.source}
    pinned = {source for item in compile.specializations for source in item.sources}
    touched = _touched(compile)
    for tensor in compile.inputs:
        source = tensor.source
        if source in left_out:
            continue
        titles = names.get(source, ())
        if len(titles) < len(tensor.size):
            title = display_name(source)
            titles = names[source] = tuple(f"{title}.size[{dim}]" for dim in range(len(tensor.size)))
        is_touched = source in touched
        for dim, size in enumerate(tensor.size):
            fact = guarded.get((source, _SIZES[dim] if dim < len(_SIZES) else f"size[{dim}]"))
            whole = f"{source}.size()[{dim}]" if is_touched else ""
            state = _state(fact == DYNAMIC if fact is not None else whole in symbols, whole in symbols or whole in pinned)
            yield titles[dim], source, ShapeCell(str(size), state, symbols.get(whole, ""))
    named = {*symbols, *(comparer.guarded_values(tree) if tree else ())}
    facts = comparer.observe(compile).facts
    for source in sorted(named):
        value = facts.get((source, "value"))
        if isinstance(value, str) and integer(value) is not None and tensor_part(source) is None:
            is_static = (source, "value") in guarded or source in pinned
            state = _state(not is_static and source in symbols, source in symbols or source in pinned)
            yield display_name(source), source, ShapeCell(value, state, symbols.get(source, ""))


def _state(is_dynamic: bool, was_symbolic: bool) -> State:
    if is_dynamic:
        return State.DYNAMIC
    return State.SPECIALIZED if was_symbolic else State.STATIC


def axes_of(frame: Frame, recompiles: tuple[Recompile, ...], comparer: Comparer) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """(source, name, values in order of appearance) of each property that made a recompile, most frequent first."""
    causes: dict[str, list[Cause]] = {}
    for item in recompiles:
        for cause in item.causes:
            causes.setdefault(cause.axis, []).append(cause)
    for name in sorted(causes, key=lambda name: -len(causes[name])):
        members = causes[name]
        seen = dict.fromkeys(_seen(frame, members[0].source, members[0].prop, comparer))
        if len(seen) > 1:
            values = seen
        else:
            told = [cause for cause in members if not cause.prop.startswith("shape ")]
            values = dict.fromkeys([value for cause in told for value in (cause.before, cause.after) if value])
        is_nameless = members[0].prop == "id" and len(values) == 1  # one kind of object, of which the guards tell no more than ids
        yield members[0].source, name, () if is_nameless else tuple(values)


def _seen(frame: Frame, source: str, prop: str, comparer: Comparer) -> list[str]:
    """The values of a property over all compiles; a symbolic guard stands for the size that it limits."""
    if prop in ("id", "type", "dispatch keys") or prop in STATE_PROPS or prop.startswith("autocast "):
        return []
    part = tensor_part(source) if prop.startswith("shape ") else None
    key = (part[0], f"{part[1]}[{part[2]}]") if part else (source, "value" if prop.startswith("shape ") else prop)
    found = [comparer.observe(compile).facts.get(key) for compile in frame.compiles]
    return [str(value) for value in found if value is not None]

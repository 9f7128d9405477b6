"""Sizes of inputs that the code needs equal: where one of them is static, all are."""

from collections.abc import Container, Mapping, Sequence

from shapelog.advice.marks import Mark
from shapelog.grouping import connected, grouped
from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.comments import place_of
from shapelog.reading.payloads.guards.expressions import Expression
from shapelog.reading.payloads.guards.tree import ShapeGuard


def equal_sizes(compile: Compile, by_code: bool = False) -> dict[Mark, frozenset[Mark]]:
    """The sizes of inputs that the code needs equal to another one, for each of them.

    They are equal by an equation, or because neither may be the larger one, as where the code branches on that. Those ``by_code`` have a
    line that needs it, or a symbol each, which PyTorch may name no line for; others may share a symbol because they were equal.
    """
    shapes = compile.guards.shapes if compile.guards else ()
    if by_code:
        own = {symbol.source.canonical for symbol in compile.symbols}
        shapes = tuple(shape for shape in shapes if place_of(shape.comment) or _is_of_two_symbols(shape, own))
    sizes = {
        f"{item.source.canonical}.size()[{dim}]": (Mark(item.source, dim), size)
        for item in compile.inputs
        for dim, size in enumerate(item.size)
    }
    related = [shape.parsed for shape in shapes if len(shape.parsed.names) > 1]
    equal = [guard.names for guard in related if guard.is_equation]
    bounds = grouped((guard for guard in related if guard.is_bound and len(guard.names) == 2), lambda guard: tuple(sorted(guard.names)))
    values = {name: size for name, (_, size) in sizes.items()}
    equal += [names for names, guards in bounds.items() if _is_neither_larger(names, guards, values)]
    groups = connected([[sizes[name][0] for name in names if name in sizes] for names in equal])
    return {mark: frozenset(group) - {mark} for group in groups for mark in group}


def _is_neither_larger(names: Sequence[str], guards: Sequence[Expression], values: Mapping[str, int]) -> bool:
    """Whether two sizes are equal, and one of these guards fails where either is larger or smaller by one."""
    one, other = map(values.get, names)
    if one is None or one != other:
        return False
    changed = [(one + step, one) for step in (-1, 1)] + [(one, one + step) for step in (-1, 1)]
    return all(any(guard.holds(dict(zip(names, pair, strict=True))) is False for guard in guards) for pair in changed)


def _is_of_two_symbols(shape: ShapeGuard, own: Container[str]) -> bool:
    """Whether a guard requires two sizes to be equal, each of which became a symbol."""
    is_equality = shape.parsed.is_equation and len(shape.parsed.names) == 2
    return is_equality and shape.is_of_code and all(name in own for name in shape.parsed.names)

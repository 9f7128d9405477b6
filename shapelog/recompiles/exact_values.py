"""Numbers that graphs of the same code require of what is computed from sizes, where each requires another one."""

import re
from collections.abc import Iterable

from shapelog.reading.payloads.guards.tree import GuardTree

_EQUATION = re.compile(r"(?P<computed>[^=<>!]*[^=<>!\s]) == -?\d+")


def is_another_in_each_graph(expression: str, trees: Iterable[GuardTree | None]) -> bool:
    """Whether the guards of another graph have the equation ``(x.size()[3] // 2) == 160`` with another number.

    So it is where a backend asks for the layout of a result, as Inductor does for convolutions: of a branch, one graph has the equation,
    and all others have that it does not hold.
    """
    found = _EQUATION.fullmatch(expression)
    if found is None:
        return False
    begin = f"{found['computed']} == "
    others = (shape.expression for tree in trees if tree for shape in tree.shapes if shape.expression.startswith(begin))
    return any(other != expression and _EQUATION.fullmatch(other) for other in others)

"""Compiles whose graphs have the same operations on the same tensors; sizes and numbers do not count."""

from collections.abc import Iterable
from typing import NamedTuple

from shapelog.model.trace import Compile, Outcome


class Group(NamedTuple):
    """Compiles with similar graphs, in order of compilation. ``converged`` is the first dynamic one that no later member followed."""

    members: tuple[Compile, ...]
    converged: Compile | None

    @property
    def dynamic(self) -> tuple[Compile, ...]:
        return tuple(member for member in self.members if member.is_dynamic)

    @property
    def static(self) -> tuple[Compile, ...]:
        return tuple(member for member in self.members if not member.is_dynamic)


def groups_of(compiles: Iterable[Compile]) -> list[Group]:
    """The groups among the compiles of one process."""
    by_key: dict[str, list[Compile]] = {}
    for compile in compiles:
        graph = compile.graph
        if graph and graph.key and compile.outcome in (Outcome.COMPILED, Outcome.UNFINISHED):
            by_key.setdefault(graph.key, []).append(compile)
    return [_group(sorted(members, key=lambda member: member.order)) for members in by_key.values()]


def _group(members: list[Compile]) -> Group:
    last = members[-1]
    return Group(tuple(members), last if last.is_dynamic and len(members) > 1 else None)

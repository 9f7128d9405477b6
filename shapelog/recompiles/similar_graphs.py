"""Compiles whose graphs have the same operations on the same tensors; sizes and numbers do not count."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame


class Group(NamedTuple):
    """Compiles with similar graphs, in order of compilation. ``partial`` are dynamic ones that do not serve a call of the same frame for
    which an earlier member was compiled, as where the code branches on a size, or one that was refused after them.
    """

    members: tuple[Compile, ...]
    partial: frozenset[Compile] = frozenset()

    @property
    def converged(self) -> Compile | None:
        """The dynamic compile that came last and serves all that was compiled before it, None without one."""
        last = self.members[-1] if len(self.members) > 1 else None
        return last if last and last.is_dynamic and last not in self.partial else None

    @property
    def dynamic(self) -> tuple[Compile, ...]:
        return tuple(member for member in self.members if member.is_dynamic)

    @property
    def static(self) -> tuple[Compile, ...]:
        return tuple(member for member in self.members if not member.is_dynamic)


def groups_of(frames: Iterable[Frame], serves: Callable[[Frame, Compile, Compile], bool]) -> list[Group]:
    """The groups among the frames of one process; ``serves`` answers whether the guards of an entry hold for the call of another."""
    by_key: dict[str, dict[Frame, list[Compile]]] = {}
    for frame in frames:
        for compile in frame.compiles:
            graph = compile.graph
            if graph and graph.key and compile.outcome in (Outcome.COMPILED, Outcome.UNFINISHED):
                by_key.setdefault(graph.key, {}).setdefault(frame, []).append(compile)
    return [_group(by_frame, serves) for by_frame in by_key.values()]


def _group(by_frame: dict[Frame, list[Compile]], serves: Callable[[Frame, Compile, Compile], bool]) -> Group:
    members = sorted((member for own in by_frame.values() for member in own), key=lambda member: member.order)
    partial = []
    for frame, own in by_frame.items():
        last = own[-1]
        is_missed = any(call.is_refused and call.order > last.order for call in frame.compiles)  # such a call has no graph
        if last.is_dynamic and (is_missed or not all(serves(frame, last, member) for member in own[:-1])):
            partial.append(last)
    return Group(tuple(members), frozenset(partial))

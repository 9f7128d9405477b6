"""Similar graphs, within one frame and across frames."""

import math
from typing import NamedTuple

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.recompiles.similar_graphs import Group
from shapelog.report.merge_ranks import merged_groups, rank_label
from shapelog.report.report import Report


class GroupRow(NamedTuple):
    """Compiles with similar graphs. ``owner`` is the rank or process, "" where there is one; ``operations`` those of the graph."""

    group: Group
    frames: tuple[Frame, ...]
    owner: str
    operations: int
    seconds: float


class Groups(NamedTuple):
    """Most expensive first; a group that spans frames is listed once, and again for each of its frames that has several of its members."""

    within: tuple[GroupRow, ...]
    across: tuple[GroupRow, ...]


def groups_of(report: Report) -> Groups:
    owners = {compile: frame for frame in report.trace.frames for compile in frame.compiles}
    within: list[GroupRow] = []
    across: list[GroupRow] = []
    for same in merged_groups(report.groups):
        group = same[0]
        ranks = rank_label((item.members[0] for item in same), report.trace) if report.trace.rank_count > 1 else ""
        by_frame: dict[Frame, list[Compile]] = {}
        for member in group.members:
            by_frame.setdefault(owners[member], []).append(member)
        if len(by_frame) > 1:
            across.append(_row(group.members, group, owners, ranks))
        within.extend(_row(tuple(members), group, owners, ranks) for members in by_frame.values() if len(members) > 1)
    return Groups(tuple(sorted(within, key=_cost)), tuple(sorted(across, key=_cost)))


def _row(members: tuple[Compile, ...], group: Group, owners: dict[Compile, Frame], ranks: str) -> GroupRow:
    graph = members[-1].graph
    shown = Group(members, group.partial)
    frames = tuple(dict.fromkeys(owners[member] for member in members))
    return GroupRow(shown, frames, ranks, graph.op_count if graph else 0, math.fsum(member.seconds for member in members))


def _cost(row: GroupRow) -> tuple[float, int]:
    return -row.seconds, (*row.group.static, *row.group.dynamic)[0].order

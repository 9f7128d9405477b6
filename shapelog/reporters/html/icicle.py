"""The icicle of compile seconds over user stacks: each call as wide as everything that was compiled below it."""

import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import NamedTuple

from shapelog.reporters.html.call_tree import CallNode
from shapelog.reporters.html.chart_text import KIND_LABELS
from shapelog.text import beginning, seconds

# In percent of the width: narrower boxes are joined to one.
_NARROWEST = 0.2
# What would be too narrow to be seen is not drawn at all.
_SMALLEST = 0.05
_MAX_ROWS = 12
# More boxes than this get no stop of the Tab key: the call tree and the tables have the same links.
_TAB_STOPS = 100
# A row with more boxes than this needs more width than a phone has.
_CROWDED = 8
_MAX_TEXT = 80


class Box(NamedTuple):
    """A call or a compiled function, or ``is_rest``: several as one that are too small to be shown. Left edge and width are in percent."""

    node: CallNode
    x: float
    width: float
    title: str
    is_rest: bool = False


class Icicle(NamedTuple):
    """The chart, outermost calls in the first row. ``is_wide`` means that it is too full for a phone.

    ``common`` are calls that everything has in common, which are shown above the chart. Where no caller is known, the frames themselves
    are the outermost boxes; where no time was recorded, widths are numbers of compiles.
    """

    rows: list[list[Box]]
    common: list[CallNode]
    summary: str
    note: str
    in_tab_order: bool
    is_wide: bool


def icicle(nodes: Sequence[CallNode]) -> Icicle:
    """The chart of a call tree; without any row if nothing was compiled."""
    has_stacks = any(not node.frame for node in nodes)
    by_seconds = any(node.seconds > 0 for node in nodes)
    common = []
    while len(nodes) == 1 and not nodes[0].frame and nodes[0].calls:
        common.append(nodes[0])
        nodes = nodes[0].children
    rows = _rows(nodes, attrgetter("seconds" if by_seconds else "compiles"))
    return Icicle(
        rows=rows,
        common=common,
        summary=_summary(nodes, has_stacks, by_seconds) if rows else "Nothing was compiled.",
        note=_note(has_stacks, by_seconds),
        in_tab_order=sum(bool(box.node.frame) for row in rows for box in row) <= _TAB_STOPS,
        is_wide=any(len(row) > _CROWDED for row in rows),
    )


def _rows(nodes: Sequence[CallNode], size: Callable[[CallNode], float]) -> list[list[Box]]:
    """A box for each node that is not too small, those of its children below it."""
    total = math.fsum(map(size, nodes))
    rows: list[list[Box]] = []
    level = [(0.0, nodes)] if total else []
    while level and len(rows) < _MAX_ROWS:
        row: list[Box] = []
        below: list[tuple[float, Sequence[CallNode]]] = []
        for x, siblings in level:
            sized = [(node, 100.0 / total * size(node)) for node in siblings]
            small = [(node, width) for node, width in sized if width < _NARROWEST]
            least = _NARROWEST if len(small) > 1 else _SMALLEST
            for node, width in sized:
                if width >= least:
                    row.append(Box(node, x, width, _title(node, len(rows) == _MAX_ROWS - 1)))
                    if node.calls:
                        below.append((x, node.children))
                    x += width
            rest = math.fsum(width for _, width in small)
            if len(small) > 1 and rest >= _SMALLEST:
                node = _joined([node for node, _ in small], f"… {len(small)} more")
                row.append(Box(node, x, rest, f"{node.name}, too small to be shown\n{node.cost}", is_rest=True))
        rows.append(row)
        level = below
    return rows


def _title(node: CallNode, is_last: bool) -> str:
    where = f"{node.name} · {node.place}" if node.place else node.name
    kinds = ", ".join(f"{KIND_LABELS[kind]} {seconds(spent)}" for kind, spent in node.shares if spent > 0)
    deeper = "the calls below it are not shown: the stacks are deeper than the chart" if is_last and node.calls else ""
    return "\n".join(filter(None, (where, beginning(node.code, _MAX_TEXT), node.cost, kinds, deeper)))


def _joined(nodes: Sequence[CallNode], name: str = "") -> CallNode:
    """What several nodes cost together, as one."""
    found = CallNode(name)
    for node in nodes:
        found.add(*node.parts.values())
    return found


def _summary(nodes: Sequence[CallNode], has_stacks: bool, by_seconds: bool) -> str:
    """The chart in one sentence, for screen readers."""
    what = ("compile time" if by_seconds else "compilations") + (" by call stack" if has_stacks else " by function")
    first = nodes[0]
    most = f"most of it in {first.heading} ({first.cost})" if len(nodes) > 1 else f"all of it in {first.heading}"
    return f"Icicle of {what}: {_joined(nodes).cost}, {most}. The stacks of all compilations are listed under Trace."


def _note(has_stacks: bool, by_seconds: bool) -> str:
    stacks = "this trace records no call stacks, so the compiled functions themselves are shown"
    times = "this trace records no times, so widths are numbers of compilations"
    return "; ".join(([] if has_stacks else [stacks]) + ([] if by_seconds else [times]))

"""The icicle of compile seconds over user stacks: each call as wide as everything that was compiled below it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from shapelog.reporters.html.call_tree import CallNode
from shapelog.reporters.html.chart_text import KIND_LABELS, clipped, percent
from shapelog.text import plural, seconds

# In percent of the width: narrower boxes are joined to one.
_NARROWEST = 0.2
# What would be too narrow to be seen is not drawn at all.
_SMALLEST = 0.05
_MAX_ROWS = 12
# A narrower box has no room for a letter.
_LETTER = 1.2
# More boxes than this get no stop of the Tab key: the call tree and the tables have the same links.
_TAB_STOPS = 100
# A row with more boxes than this needs more width than a phone has.
_CROWDED = 8
_MAX_TEXT = 80


class Strip(NamedTuple):
    """The share that one kind of compile has in a box, within the box."""

    kind: str
    x: str
    width: str


class Box(NamedTuple):
    """A call, a compiled function (``anchor`` is that of its frame), or ``is_rest``: several that are too small or too deep to be shown."""

    x: str
    width: str
    has_text: bool
    name: str
    cost: str
    title: str
    place: str = ""
    code: str = ""
    anchor: str = ""
    is_rest: bool = False
    strips: tuple[Strip, ...] = ()


class Icicle(NamedTuple):
    """The chart, outermost calls in the first row. ``is_wide`` means that it is too full for a phone.

    ``common`` are calls that everything has in common, which are shown above the chart. Where no caller is known, the frames themselves
    are the outermost boxes; where no time was recorded, widths are numbers of compiles.
    """

    rows: tuple[tuple[Box, ...], ...]
    common: tuple[CallNode, ...]
    summary: str
    note: str
    in_tab_order: bool
    is_wide: bool


def icicle(tree: Sequence[CallNode]) -> Icicle:
    """The chart of a call tree; without any row if nothing was compiled."""
    has_stacks = any(not node.anchor for node in tree)
    by_seconds = any(node.seconds > 0 for node in tree)
    common, nodes = _without_common(tree)
    rows: list[list[Box]] = []
    total = math.fsum(_size(node, by_seconds) for node in nodes)
    if total:
        _lay_out(nodes, 0.0, 100.0 / total, by_seconds, 0, rows)
    return Icicle(
        rows=tuple(map(tuple, rows)),
        common=tuple(common),
        summary=_summary(nodes, has_stacks, by_seconds) if rows else "Nothing was compiled.",
        note=_note(has_stacks, by_seconds) if rows else "",
        in_tab_order=sum(bool(box.anchor) for row in rows for box in row) <= _TAB_STOPS,
        is_wide=any(len(row) > _CROWDED for row in rows),
    )


def _size(node: CallNode, by_seconds: bool) -> float:
    return node.seconds if by_seconds else float(node.compiles)


def _without_common(tree: Sequence[CallNode]) -> tuple[list[CallNode], Sequence[CallNode]]:
    """(calls that everything has in common, what they lead to)"""
    common: list[CallNode] = []
    while len(tree) == 1 and not tree[0].anchor and tree[0].children:
        common.append(tree[0])
        tree = tree[0].children
    return common, tree


def _lay_out(nodes: Sequence[CallNode], x: float, scale: float, by_seconds: bool, level: int, rows: list[list[Box]]) -> None:
    """One box for each of these siblings from ``x`` on, and theirs below; ``scale`` is percent for each second or compile."""
    if level == len(rows):
        rows.append([])
    is_last = level == _MAX_ROWS - 1
    widths = [_size(node, by_seconds) * scale for node in nodes]
    small = [index for index, width in enumerate(widths) if width < _NARROWEST]
    folded = set(small) if len(small) > 1 else set()
    for index, (node, width) in enumerate(zip(nodes, widths, strict=True)):
        if index in folded or width < _SMALLEST:
            continue
        rows[level].append(_box(node, x, width, is_last))
        if node.children and not is_last:
            _lay_out(node.children, x, scale, by_seconds, level + 1, rows)
        x += width
    rest = math.fsum(widths[index] for index in folded)
    if rest >= _SMALLEST:
        rows[level].append(_rest([nodes[index] for index in small], x, rest))


def _box(node: CallNode, x: float, width: float, is_last: bool) -> Box:
    where = f"{node.name} · {node.place}" if node.place else node.name
    name, place = _heading(node)
    code = clipped(node.code, _MAX_TEXT)
    kinds = ", ".join(f"{KIND_LABELS[kind]} {seconds(spent)}" for kind, spent in node.kinds if spent > 0)
    deeper = "what it calls is not shown: the stacks are deeper than the chart" if is_last and node.children else ""
    return Box(
        x=percent(x),
        width=percent(width),
        has_text=width >= _LETTER,
        name=clipped(name, _MAX_TEXT),
        cost=seconds(node.seconds),
        title="\n".join(part for part in (where, code, node.cost, kinds, deeper) if part),
        place=place,
        code=code,
        anchor=node.anchor,
        strips=_strips(node.kinds),
    )


def _heading(node: CallNode) -> tuple[str, str]:
    """(name, place) as a box shows them: for the top level of a script, the file instead of ``<module>``."""
    return (node.place, "") if node.name == "<module>" and node.place else (node.name, node.place)


def _rest(nodes: Sequence[CallNode], x: float, width: float) -> Box:
    name = f"… {len(nodes)} more"
    return Box(
        x=percent(x),
        width=percent(width),
        has_text=width >= _LETTER,
        name=name,
        cost=seconds(math.fsum(node.seconds for node in nodes)),
        title=f"{name}, too small to be shown\n{_total(nodes)}",
        is_rest=True,
    )


def _total(nodes: Sequence[CallNode]) -> str:
    spent, compiles = math.fsum(node.seconds for node in nodes), sum(node.compiles for node in nodes)
    return f"{seconds(spent)} · {plural(compiles, 'compile')}"


def _strips(kinds: Sequence[tuple[str, float]]) -> tuple[Strip, ...]:
    total = math.fsum(spent for _, spent in kinds)
    found, x = [], 0.0
    for kind, spent in kinds:
        width = 100.0 * spent / total if total else 0.0
        if width >= 1.0:
            found.append(Strip(kind, percent(x), percent(width)))
        x += width
    return tuple(found)


def _summary(nodes: Sequence[CallNode], has_stacks: bool, by_seconds: bool) -> str:
    """The chart in one sentence, for screen readers."""
    what = ("compile time" if by_seconds else "compiles") + (" by call stack" if has_stacks else " by function")
    first = nodes[0]
    most = f"most of it in {_heading(first)[0]} ({first.cost})" if len(nodes) > 1 else f"all of it in {_heading(first)[0]}"
    return f"Icicle of {what}: {_total(nodes)}, {most}. The stacks of all compiles are listed under Trace."


def _note(has_stacks: bool, by_seconds: bool) -> str:
    notes = (
        [] if has_stacks else ["this trace tells no line of your code that called what was compiled: these are the functions themselves"]
    )
    if not by_seconds:
        notes.append("no times were recorded: widths are numbers of compiles")
    return "; ".join(notes)

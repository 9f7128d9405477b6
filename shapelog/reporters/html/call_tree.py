"""The call tree: which of the user's calls led to each compile, and what everything below each call cost."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.model.trace import Compile, Frame, resumed_by
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.report.report import Report
from shapelog.reporters.html.anchors import Anchors, kind_of, recompiles_by_compile
from shapelog.reporters.html.chart_text import KIND_LABELS, clipped, file_and_line
from shapelog.text import plural, seconds

# What starts a program or a thread, wherever Python is installed.
_STARTERS = frozenset(("runpy.py", "threading.py"))
# Of deeper stacks (recursion) the calls in the middle are one node.
_OUTER, _INNER = 16, 24
# Distinct call stacks of a function among which the one is looked for that its resumed code came from.
_MAX_PATHS = 16
_MAX_LINKS = 200
_MAX_TEXT = 200

_Call = tuple[str, int, str]


class CompileLink(NamedTuple):
    """A compile of a node's function."""

    label: str
    anchor: str
    seconds: str


class KindLinks(NamedTuple):
    """Compiles of one kind, in order; ``more`` of them are left out. ``label`` begins with the rank if there are several."""

    kind: str
    label: str
    links: tuple[CompileLink, ...]
    more: int


class CallNode(NamedTuple):
    """A call, or a compiled function (``anchor`` is that of its frame, "" for a call).

    ``place`` is ``model.py:12``, "" if the trace does not record it. ``seconds``, ``compiles`` and ``kinds``, (kind, seconds) with the
    costliest first, are those of everything below, itself included; ``own`` are compiles of this very function. Children come by seconds.
    """

    name: str
    place: str
    code: str
    anchor: str
    seconds: float
    compiles: int
    kinds: tuple[tuple[str, float], ...]
    own: tuple[KindLinks, ...]
    children: tuple["CallNode", ...]

    @property
    def cost(self) -> str:
        return f"{seconds(self.seconds)} · {plural(self.compiles, 'compile')}"


@dataclass(slots=True)
class _NodeBuilder:
    """A node to which compiles are added."""

    name: str
    place: str
    code: str = ""
    anchor: str = ""
    own: list[tuple[Compile, str, str]] = field(default_factory=list)
    children: dict[_Call, "_NodeBuilder"] = field(default_factory=dict)


@dataclass(slots=True)
class _CallPaths:
    """The calls that led to each compile. ``codes`` holds source lines by call."""

    codes: dict[_Call, str] = field(default_factory=dict)

    def callers(self, compile: Compile, frame: Frame) -> tuple[_Call, ...]:
        """The user's calls, outermost first, without the compiled function itself."""
        found = []
        for item in compile.stack.frames:
            if not _is_hidden(item):
                call = (item.file, item.line, item.name)
                found.append(call)
                if item.code:
                    self.codes.setdefault(call, item.code)
        if found and found[-1] == (frame.file, frame.line, frame.name):
            found.pop()
        return tuple(_without_middle(found))


def _is_hidden(item: StackFrame) -> bool:
    return not item.file or is_library(item.file) or file_and_line(item.file, 0) in _STARTERS


def call_tree(report: Report, anchors: Anchors, with_code: bool = True) -> tuple[CallNode, ...]:
    """The outermost calls of all processes together. Code that is resumed after a graph break is below its function."""
    recompiles = recompiles_by_compile(report.explained)
    root = _NodeBuilder("", "")
    has_many_ranks = len(report.trace.ranks) > 1
    for rank in report.trace.ranks:
        stacks = _CallPaths()
        owner = "" if not has_many_ranks else f"rank {rank.number} · " if rank.number is not None else f"process {rank.process} · "
        for frame, compiles in _paths(rank.frames, stacks):
            for compile, path in compiles:
                node = _inner(root, path, stacks.codes if with_code else {})
                own = node.children.setdefault(_key(frame), _NodeBuilder(_leaf_name(frame), file_and_line(frame.file, frame.line)))
                own.anchor = own.anchor or anchors.frame(frame)
                kind = kind_of(compile, recompiles.get(compile))
                own.own.append((compile, kind, owner))
    return tuple(_by_seconds(_frozen(child, anchors) for child in root.children.values()))


def _paths(frames: Sequence[Frame], stacks: _CallPaths) -> Iterable[tuple[Frame, list[tuple[Compile, tuple[_Call, ...]]]]]:
    """Each frame with its compiles and the calls above them: for resumed code those of its function, and the function."""
    callers: dict[Frame, list[tuple[Compile, tuple[_Call, ...]]]] = {}
    functions: dict[tuple[str, str], dict[tuple[_Call, ...], None]] = {}
    for frame in frames:
        found = [(compile, stacks.callers(compile, frame)) for compile in frame.compiles]
        first = next((path for _, path in found if path), ())
        # A call that was refused at the limit is recorded without a stack.
        callers[frame] = [(compile, path or first) for compile, path in found]
        if not resumed_by(frame.name):
            known = functions.setdefault((frame.file, frame.name), {})
            known.update(dict.fromkeys((*path, _key(frame)) for _, path in callers[frame]))
    for frame in frames:
        resumed = resumed_by(frame.name)
        if resumed is None:
            yield frame, callers[frame]
            continue
        known = dict(list(functions.get((frame.file, resumed[0]), {}).items())[:_MAX_PATHS])
        yield frame, [(compile, _below(path, tuple(known), frame.file, resumed[0])) for compile, path in callers[frame]]


def _below(path: tuple[_Call, ...], functions: Sequence[tuple[_Call, ...]], file: str, name: str) -> tuple[_Call, ...]:
    """The path of the resumed function: of several, the one that shares most calls with ``path``."""
    if functions:
        return max(functions, key=lambda known: _shared(known, path))
    return path if path and path[-1][::2] == (file, name) else (*path, (file, 0, name))


def _shared(one: tuple[_Call, ...], other: tuple[_Call, ...]) -> int:
    return next((index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other)))


def _without_middle(calls: list[_Call]) -> list[_Call]:
    if len(calls) <= _OUTER + _INNER:
        return calls
    return [*calls[:_OUTER], ("", 0, plural(len(calls) - _OUTER - _INNER, "more call")), *calls[-_INNER:]]


def _inner(root: _NodeBuilder, path: Iterable[_Call], codes: dict[_Call, str]) -> _NodeBuilder:
    """The node that these calls lead to, made where it is new."""
    node = root
    for call in path:
        below = node.children.get(call)
        if below is None:
            file, line, name = call
            below = node.children[call] = _NodeBuilder(
                clipped(name, _MAX_TEXT) or "unknown code", file_and_line(file, line), clipped(codes.get(call, ""), _MAX_TEXT)
            )
        node = below
    return node


def _key(frame: Frame) -> _Call:
    return (frame.file, frame.line, frame.name)


def _leaf_name(frame: Frame) -> str:
    resumed = resumed_by(frame.name)
    return f"line {resumed[1]}, resumed" if resumed else clipped(frame.title, _MAX_TEXT)


def _frozen(node: _NodeBuilder, anchors: Anchors) -> CallNode:
    children = _by_seconds(_frozen(child, anchors) for child in node.children.values())
    own = [(compile.seconds, kind) for compile, kind, _ in node.own]
    kinds: dict[str, list[float]] = {}
    for spent, kind in own:
        kinds.setdefault(kind, []).append(spent)
    for child in children:
        for kind, spent in child.kinds:
            kinds.setdefault(kind, []).append(spent)
    return CallNode(
        name=node.name,
        place=node.place,
        code=node.code,
        anchor=node.anchor,
        seconds=math.fsum([*(spent for spent, _ in own), *(child.seconds for child in children)]),
        compiles=len(own) + sum(child.compiles for child in children),
        kinds=tuple(sorted(((kind, math.fsum(spent)) for kind, spent in kinds.items()), key=lambda item: -item[1])),
        own=_links(node.own, anchors),
        children=tuple(children),
    )


def _links(own: Sequence[tuple[Compile, str, str]], anchors: Anchors) -> tuple[KindLinks, ...]:
    members: dict[tuple[str, str], list[CompileLink]] = {}
    for compile, kind, owner in own:
        link = CompileLink(compile.label, anchors.compile(compile), seconds(compile.seconds))
        members.setdefault((owner, kind), []).append(link)
    return tuple(
        KindLinks(kind, f"{owner}{KIND_LABELS[kind]}", tuple(links[:_MAX_LINKS]), max(0, len(links) - _MAX_LINKS))
        for (owner, kind), links in members.items()
    )


def _by_seconds(nodes: Iterable[CallNode]) -> list[CallNode]:
    return sorted(nodes, key=lambda node: (-node.seconds, -node.compiles))

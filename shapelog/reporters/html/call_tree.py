"""The call tree: which of the user's calls led to each compile, and what everything below each call cost."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from operator import eq

from shapelog.model.compile import Compile, resumed_by
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import StackFrame
from shapelog.report.merge_ranks import rank_label
from shapelog.report.report import Report
from shapelog.reporters.html.chart_text import Part, counted, file_and_line, kind_of, spent
from shapelog.text import beginning, plural

# What starts a program or a thread, wherever Python is installed.
_STARTERS = frozenset(("runpy.py", "threading.py"))
# Of deeper stacks (recursion) the calls in the middle are one node.
_OUTER, _INNER = 16, 24
# Distinct call stacks of a function among which the one is looked for that its resumed code came from.
_MAX_PATHS = 16
_MAX_TEXT = 200

# File, line and function.
_Call = tuple[str, int, str]
_Path = tuple[_Call, ...]


@dataclass(slots=True)
class CallNode:
    """A call (``frame`` is None), or a compiled function.

    ``place`` is ``model.py:12``, "" if the trace does not record it. ``parts`` by kind are all that is below, itself
    included; ``own`` are compiles of this very function by rank, "" if there is one, and kind.
    """

    name: str
    place: str = ""
    code: str = ""
    frame: Frame | None = None
    parts: dict[str, Part] = field(default_factory=dict)
    own: dict[tuple[str, str], list[Compile]] = field(default_factory=dict)
    calls: dict[_Call, "CallNode"] = field(default_factory=dict)

    @property
    def children(self) -> list["CallNode"]:
        """By seconds."""
        return sorted(self.calls.values(), key=lambda node: (-node.seconds, -node.compiles))

    @property
    def seconds(self) -> float:
        return math.fsum(part[2] for part in self.parts.values())

    @property
    def compiles(self) -> int:
        """Those, too, that left no code."""
        return sum(part[1] for part in self.parts.values())

    @property
    def cost(self) -> str:
        return " · ".join(filter(None, (spent(self.seconds), counted(self.parts.values()))))

    @property
    def heading(self) -> str:
        """The name, but the file for the top level of a script."""
        return self.place if self.name == "<module>" and self.place else self.name

    @property
    def shares(self) -> list[tuple[str, float]]:
        """(kind, seconds), the costliest first."""
        return sorted(((kind, spent) for kind, _, spent in self.parts.values()), key=lambda item: -item[1])

    def add(self, *parts: Part) -> None:
        for kind, number, took in parts:
            _, count, before = self.parts.get(kind, (kind, 0, 0.0))
            self.parts[kind] = (kind, count + number, before + took)


def call_tree(report: Report, with_code: bool = True) -> list[CallNode]:
    """The outermost calls of all processes together. Code that is resumed after a graph break is below its function."""
    recompiles = {item.compile: item for item in report.recompiles}
    root = CallNode("")
    for rank in report.trace.ranks:
        codes: dict[_Call, str] = {}
        for frame, compile, path in _paths(rank.frames, codes):
            kind = kind_of(compile, recompiles.get(compile))
            node = root
            for call in path:
                if call not in node.calls:
                    file, line, name = call
                    code = beginning(codes.get(call, ""), _MAX_TEXT) if with_code else ""
                    node.calls[call] = CallNode(beginning(name, _MAX_TEXT) or "unknown code", file_and_line(file, line), code)
                node = node.calls[call]
                node.add((kind, 1, compile.seconds))
            node = node.calls.setdefault(_key(frame), CallNode(_leaf_name(frame), file_and_line(frame.file, frame.line)))
            node.frame = node.frame or frame
            node.add((kind, 1, compile.seconds))
            node.own.setdefault((rank_label((frame,)) if len(report.trace.ranks) > 1 else "", kind), []).append(compile)
    return root.children


def _paths(frames: Sequence[Frame], codes: dict[_Call, str]) -> Iterator[tuple[Frame, Compile, _Path]]:
    """Each compile with the calls above it, for resumed code those of its function, and the function; ``codes`` takes source lines."""
    callers: dict[Frame, list[_Path]] = {}
    functions: dict[tuple[str, str], dict[_Path, None]] = {}
    for frame in frames:
        found = [_callers(compile, frame, codes) for compile in frame.compiles]
        # A call that was refused at the limit is recorded without a stack: most likely, it is where the last one was.
        known_first = next(filter(None, found), ())
        callers[frame] = list(accumulate(found, lambda last, path: path or last, initial=known_first))[1:]
        if not resumed_by(frame.name):
            functions.setdefault((frame.file, frame.name), {}).update(dict.fromkeys((*path, _key(frame)) for path in callers[frame]))
    for frame in frames:
        resumed = resumed_by(frame.name)
        known = list(functions.get((frame.file, resumed[0]), ()))[:_MAX_PATHS] if resumed else []
        for compile, path in zip(frame.compiles, callers[frame], strict=True):
            yield frame, compile, _below(path, known, frame.file, resumed[0]) if resumed else path


def _callers(compile: Compile, frame: Frame, codes: dict[_Call, str]) -> _Path:
    """The user's calls, outermost first, without the compiled function itself."""
    found = []
    for item in compile.stack.frames:
        if not _is_hidden(item):
            call = (item.file, item.line, item.name)
            found.append(call)
            if item.code:
                codes.setdefault(call, item.code)
    if found and found[-1] == _key(frame):
        found.pop()
    if len(found) > _OUTER + _INNER:
        found[_OUTER:-_INNER] = [("", 0, plural(len(found) - _OUTER - _INNER, "more call"))]
    return tuple(found)


def _is_hidden(item: StackFrame) -> bool:
    return not item.file or is_library(item.file) or file_and_line(item.file, 0) in _STARTERS


def _below(path: _Path, functions: Sequence[_Path], file: str, name: str) -> _Path:
    """The path of the resumed function: of several, the one that shares most calls with ``path``."""
    if functions:
        return max(functions, key=lambda known: sum(takewhile(bool, map(eq, known, path))))
    return path if path and path[-1][::2] == (file, name) else (*path, (file, 0, name))


def _key(frame: Frame) -> _Call:
    return (frame.file, frame.line, frame.name)


def _leaf_name(frame: Frame) -> str:
    resumed = resumed_by(frame.name)
    return f"line {resumed[1]}, resumed" if resumed else beginning(frame.title, _MAX_TEXT)

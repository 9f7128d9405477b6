"""The compiled code of a trace: by function, by process, in order, and whether it went through AOTAutograd."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter

from shapelog.advice.marks import Mark
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.model.frame import Frame, Function
from shapelog.model.payloads import Payloads
from shapelog.model.trace import Trace
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.properties import TENSOR
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import StackFrame

# What AOTAutograd takes at least for the smallest graph: several milliseconds in torch 2.13; a fifth of one is spent without it.
_AUTOGRAD, _NOTABLE_SECONDS = "AOTAutograd", 0.001

ORDER = attrgetter("order")
OriginsOf = Callable[[Frame, Source, int], tuple[Mark, ...]]
"""Takes a dim of a tensor, and returns the marks of which any one makes it symbolic."""


@dataclass(eq=False, repr=False)
class CompiledCode:
    """What is looked up in a trace, each found once."""

    trace: Trace
    _autograd: dict[Payloads, bool] = field(default_factory=dict)
    _with_autograd: dict[Frame, bool] = field(default_factory=dict)
    _parts: dict[Frame, list[Frame]] = field(default_factory=dict)
    _guards: dict[Frame, Mapping[Source, list[tuple[Compile, GuardTree]]]] = field(default_factory=dict)

    @cached_property
    def frame_of(self) -> dict[Compile, Frame]:
        """The frame of each entry."""
        return {compile: frame for frame in self.trace.frames for compile in frame.entries}

    @cached_property
    def parts(self) -> dict[Function, list[Frame]]:
        """The frames of each function, which goes on as another one after each graph break."""
        return grouped(self.trace.frames, lambda frame: frame.function)

    def parts_of(self, frame: Frame) -> list[Frame]:
        """The frames of the function that a frame is of: methods of several classes in a file may have one name."""
        if frame not in self._parts:
            same = self.parts[frame.function]
            starts = sorted({other.line for other in same if not resumed_by(other.name)})
            by_start = grouped(same, lambda other: bisect_right(starts, other.line))
            self._parts.update((other, own) for own in by_start.values() for other in own)
        return self._parts[frame]

    @cached_property
    def in_order(self) -> dict[tuple[int | None, int], list[Compile]]:
        """The compiles of each process in order, by rank and process id."""
        return grouped(sorted(self.trace.compiles, key=ORDER), lambda compile: (compile.rank, compile.process))

    @cached_property
    def _dynamic_entries(self) -> dict[tuple[int | None, int], list[Compile]]:
        """The dynamic entries of each process in order of compilation, by rank and process id."""
        found: dict[tuple[int | None, int], list[Compile]] = {}
        for compile in sorted(self.trace.compiles, key=ORDER):
            if compile.outcome is Outcome.COMPILED and compile.is_dynamic:
                found.setdefault((compile.rank, compile.process), []).append(compile)
        return found

    @cached_property
    def _starts(self) -> dict[tuple[str, str], list[int]]:
        """The lines at which functions start, by file and name: methods of several classes may have one name."""
        starts = {(frame.file, frame.name, frame.line) for frame in self.trace.frames}
        return {key: [line for *_, line in same] for key, same in grouped(sorted(starts), lambda item: item[:2]).items()}

    @cached_property
    def _eager(self) -> frozenset[tuple[str, str, int]]:
        """The functions that failed to compile, by file, name and line."""
        return frozenset(
            (frame.file, frame.name, frame.line)
            for frame in self.trace.frames
            if any(compile.outcome is Outcome.FAILED for compile in frame.compiles) and not frame.entries
        )

    @cached_property
    def _compiled(self) -> frozenset[tuple[str, str]]:
        """The functions of which a part was compiled, by file and name."""
        return frozenset((frame.file, frame.name) for frame in self.trace.frames if frame.entries)

    def is_compiled(self, line: StackFrame) -> bool:
        """Whether a line is in a function that was compiled by itself."""
        return (line.file, line.name) in self._compiled

    def runs_eagerly(self, line: StackFrame | None) -> bool:
        """Whether a line is in a function that failed to compile: it runs in eager mode, and computes something between its calls."""
        if line is None:
            return False
        starts = self._starts.get((line.file, line.name), [])
        at = bisect_right(starts, line.line)
        return at > 0 and (line.file, line.name, starts[at - 1]) in self._eager

    def guarding(self, frame: Frame) -> Mapping[Source, list[tuple[Compile, GuardTree]]]:
        """The entries whose guards are about a tensor, by its source, each with its guards."""
        if frame not in self._guards:
            trees = [(compile, tree) for compile in frame.entries if (tree := compile.guards)]
            found = [(source, held) for held in trees for source, prop in held[1].facts if prop == TENSOR]
            self._guards[frame] = {source: [held for _, held in same] for source, same in grouped(found, lambda item: item[0]).items()}
        return self._guards[frame]

    def made_between(self, previous: Compile, compile: Compile) -> list[Compile]:
        """The dynamic entries that the same process made between two compiles."""
        made = self._dynamic_entries.get((compile.rank, compile.process), [])
        return made[bisect_right(made, previous.order, key=ORDER) : bisect_left(made, compile.order, key=ORDER)]

    def made_before(self, compile: Compile, most: int) -> list[Compile]:
        """The entries among the last compiles of the same process before one, the latest first; of its function, those of its own part."""
        made = self.in_order.get((compile.rank, compile.process), [])
        before = made[: bisect_left(made, compile.order, key=ORDER)][-most:]
        own = self.frame_of[compile]
        found = ((item, self.frame_of.get(item)) for item in reversed(before))
        return [item for item, frame in found if frame is not None and (frame is own or frame.function != own.function)]

    def dynamic_entry_like(self, maker: Compile) -> Compile | None:
        """The entry of the same function with a similar graph in which the most is symbolic, None if nothing is in any of them."""
        key = maker.graph.key if maker.graph else None
        entries = self.frame_of[maker].entries
        found = (item for item in entries if key and item.is_dynamic and item.graph and item.graph.key == key)
        return max(found, key=lambda item: len(item.symbols), default=None)

    def runs_autograd(self, frame: Frame) -> bool:
        """Whether its graphs went through AOTAutograd: as all in its file did, by the graphs that it wrote or had cached, or by its time.

        Where another backend made some of the graphs in the file, AOTAutograd takes no notable time for those. A frame that goes on after
        a graph break may have no graph; the same backend made those of the other parts of its function.
        """
        if frame not in self._with_autograd:
            payloads = frame.compiles[0].payloads
            parts = (frame,), self.parts_of(frame)
            graphs = next(filter(None, ([item for part in each for item in part.entries if item.graph_span] for each in parts)), [])
            takes_time = (any(name == _AUTOGRAD and spent >= _NOTABLE_SECONDS for name, spent in item.phases) for item in graphs)
            self._with_autograd[frame] = payloads is not None and (self._all_run_autograd(payloads) or all(takes_time))
        return self._with_autograd[frame]

    def _all_run_autograd(self, payloads: Payloads) -> bool:
        if payloads not in self._autograd:
            ledger = payloads.reader.ledger
            made = ledger.unused.get("aot_inference_graph", 0) + ledger.unused.get("aot_forward_graph", 0)
            graphs = [
                item for item in self.trace.compiles if item.payloads is payloads and item.graph_span and item.outcome is Outcome.COMPILED
            ]
            cached = sum(any(name.startswith("aotautograd") for name, _ in item.caches) for item in graphs)
            self._autograd[payloads] = bool(graphs) and max(made, cached) >= len(graphs)
        return self._autograd[payloads]


def with_origins(frame: Frame, marks: Iterable[Mark], origins_of: OriginsOf) -> set[Mark]:
    """Marks of a frame, and those that make their tensors dynamic."""
    marks = tuple(marks)
    return {*marks, *(origin for mark in marks if not mark.is_int for origin in origins_of(frame, mark.source, mark.dim))}

"""What vLLM compiled in one process: its model parts, the pieces of each by range of sizes, and the graphs of every pass."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from shapelog.reading.payloads.vllm_records import (
    BEFORE_PASSES,
    CONFIG,
    EVENT,
    EXECUTION_CODE,
    PIECE,
    Piece,
    parse_config,
    parse_event,
    parse_piece,
    pass_of,
)
from shapelog.reading.scanner import Span

_OLD_RANGES = "compile_ranges_split_points"


@dataclass(frozen=True, slots=True)
class GraphDump:
    """A graph under the name that vLLM gave it."""

    name: str
    span: Span

    @property
    def title(self) -> str:
        """The pass that left it, or its name."""
        found = pass_of(self.name)
        return found[1] if found else self.name


@dataclass(slots=True, eq=False)
class PieceCompilation:
    """One piece that was compiled for a range of sizes. ``caches`` are the names of its cache artifacts, each a hit or a miss."""

    piece: Piece
    before: GraphDump | None = None
    graphs: list[GraphDump] = field(default_factory=list)
    passes: list[GraphDump] = field(default_factory=list)
    caches: list[str] = field(default_factory=list)

    @property
    def cache(self) -> str:
        """``hit``, ``miss`` or ``bypass``: what became of it in the caches together; "" where none is recorded."""
        results = {name.rsplit("_", 1)[-1] for name in self.caches}
        return next((result for result in ("bypass", "miss", "hit") if result in results), "")

    @property
    def is_compiled(self) -> bool:
        """Whether PyTorch did anything for it: vLLM loads a piece from its own cache, or takes an earlier one with the same graph."""
        return bool(self.before or self.passes or self.caches)

    @property
    def steps(self) -> tuple[tuple[GraphDump, GraphDump], ...]:
        """(before, after) of each pass, in order."""
        chain = [*([self.before] if self.before else []), *self.passes]
        return tuple(pairwise(chain))


@dataclass(slots=True, eq=False)
class VllmCompilation:
    """One part of a model. ``event`` is ``fresh_compile`` or ``aot_cache_hit``, "" in versions that do not write it.

    ``label`` is the compile in which it happened, "" outside of any. ``is_finished``: the code that runs its pieces was made, which only
    newer versions record.
    """

    label: str = ""
    event: str = ""
    config: dict[str, str] = field(default_factory=dict)
    graphs: list[GraphDump] = field(default_factory=list)
    pieces: list[PieceCompilation] = field(default_factory=list)
    is_finished: bool = False

    @property
    def is_cached(self) -> bool:
        """Whether all of it came from vLLM's own cache."""
        if self.event:
            return self.event.endswith("cache_hit")
        return not self.is_compiled if self.pieces else self.is_finished and not self.config

    @property
    def is_compiled(self) -> bool:
        """Whether PyTorch compiled any of it."""
        return self.event == "fresh_compile" or any(piece.is_compiled for piece in self.pieces)


@dataclass(slots=True, eq=False)
class VllmBuilder:
    """Takes the records of one process that vLLM wrote, in order; others of a piece are the caches and the graph before its passes."""

    found: list[VllmCompilation] = field(default_factory=list)

    def take(self, name: str, label: str, span: Span, read: Callable[[Span], str]) -> None:
        """An artifact or a graph of this name. Raises ValueError, TypeError or KeyError for one with another content."""
        if name == EVENT:
            self.found.append(VllmCompilation(label, parse_event(read(span))))
        elif name == CONFIG:
            if not self.found or self.found[-1].config or self.found[-1].pieces or self.found[-1].is_finished:
                self.found.append(VllmCompilation(label))
            self.found[-1].config = parse_config(read(span))
        elif name == EXECUTION_CODE:
            if not self.found or self.found[-1].is_finished:
                self.found.append(VllmCompilation(label))
            self.found[-1].is_finished = True
        elif name == BEFORE_PASSES:
            if self.found and self.found[-1].pieces:
                self.found[-1].pieces[-1].before = GraphDump(name, span)
        else:
            if not self.found:
                self.found.append(VllmCompilation(label))
            if name == PIECE:
                self.found[-1].pieces.append(PieceCompilation(parse_piece(read(span))))
            else:
                self._graph(GraphDump(name, span))

    def _graph(self, graph: GraphDump) -> None:
        last = self.found[-1]
        if not last.pieces:
            last.graphs.append(graph)
        elif pass_of(graph.name):
            last.pieces[-1].passes.append(graph)
        else:
            last.pieces[-1].graphs.append(graph)

    def cache_result(self, name: str) -> bool:
        """Whether an artifact is what a cache had for a piece, such as ``fx_graph_cache_hit``; then it is kept."""
        is_result = "_cache_" in name and name.endswith(("_hit", "_miss", "_bypass")) and bool(self.found[-1].pieces)
        if is_result:
            self.found[-1].pieces[-1].caches.append(name)
        return is_result


def ranges_setting(found: Iterable[VllmCompilation]) -> str:
    """The setting that divides sizes into ranges: vLLM 0.16 calls it by another name than later versions."""
    return _OLD_RANGES if any(_OLD_RANGES in item.config for item in found) else "compile_ranges_endpoints"

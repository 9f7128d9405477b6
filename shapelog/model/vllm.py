"""What vLLM compiled in one process: its model parts, the pieces of each by range of sizes, and the graphs of every pass."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from shapelog.reading.payloads.vllm_records import (
    BEFORE_PASSES,
    BUNDLED_HIT,
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
    """One piece that was compiled for a range of sizes. ``caches`` are the names of its cache artifacts, each a hit or a miss.

    ``seconds`` is the time from its first record to that of the next piece, or to the end of the part; None where that is not recorded.
    """

    piece: Piece
    before: GraphDump | None = None
    graphs: list[GraphDump] = field(default_factory=list)
    passes: list[GraphDump] = field(default_factory=list)
    caches: list[str] = field(default_factory=list)
    seconds: float | None = None

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
    newer versions record. ``loaded`` are the graphs of one that was loaded ready-made, by the names of their cache artifacts.
    ``seconds`` is the time from its settings, or from its first graph that was loaded, to its end; None where that is not recorded.
    ``is_over``: other records follow it.
    """

    label: str = ""
    event: str = ""
    config: dict[str, str] = field(default_factory=dict)
    graphs: list[GraphDump] = field(default_factory=list)
    pieces: list[PieceCompilation] = field(default_factory=list)
    is_finished: bool = False
    loaded: list[str] = field(default_factory=list)
    seconds: float | None = None
    is_over: bool = False

    @property
    def unfinished(self) -> PieceCompilation | None:
        """The piece that was being compiled when the trace ended."""
        return self.pieces[-1] if self.pieces and not self.is_over else None

    @property
    def is_eager(self) -> bool:
        """Whether vLLM runs the pieces as they are."""
        return self.config.get("backend") == "eager"

    @property
    def is_cached(self) -> bool:
        """Whether all of it came from a cache."""
        if self.event:
            return self.event.endswith("cache_hit")
        return not (self.is_compiled or self.is_eager) if self.pieces else self.is_finished and not self.config

    @property
    def is_compiled(self) -> bool:
        """Whether PyTorch compiled any of it anew."""
        return self.event == "fresh_compile" or self.compiled > 0

    @property
    def compiled(self) -> int:
        """The pieces that PyTorch compiled anew."""
        return sum(piece.is_compiled and piece.cache != "hit" for piece in self.pieces)

    @property
    def reused(self) -> int:
        """The pieces that PyTorch did nothing for, though it is what compiles them."""
        return 0 if self.is_eager else sum(not piece.is_compiled for piece in self.pieces)


@dataclass(slots=True, eq=False)
class VllmBuilder:
    """Takes the records of one process that vLLM wrote, in order; others of a piece are the caches and the graph before its passes.

    ``is_open``: the last part is being compiled. ``_began`` is when it and its last piece began; ``_hits`` are the graphs loaded since the
    last part, ``_loading`` is when the first of them was read, and ``_has_guards`` is False where the guards of one that was loaded are
    still to come.
    """

    found: list[VllmCompilation] = field(default_factory=list)
    is_open: bool = False
    _began: tuple[float | None, float | None] = (None, None)
    _hits: list[str] = field(default_factory=list)
    _loading: float | None = None
    _has_guards: bool = True

    def take(self, name: str, label: str, span: Span, read: Callable[[Span], str], at: Callable[[], float | None]) -> None:
        """An artifact or a graph of this name, written ``at()``. Raises ValueError, TypeError or KeyError for one with another content."""
        last = self.found[-1] if self.found else None
        if name == EVENT:
            self._open(VllmCompilation(label, parse_event(read(span))), at())
        elif name == CONFIG:
            if last is None or not self.is_open or last.config or last.pieces:
                self._open(VllmCompilation(label), at())
            self.found[-1].config = parse_config(read(span))
        elif name == EXECUTION_CODE:
            if last is None or last.is_finished:
                last = VllmCompilation(label, loaded=self._hits)
                self._open(last, self._loading)
                self._has_guards = False
            self.end(at())
            last.is_finished = True
        elif name == BEFORE_PASSES:
            if self.is_open and last and last.pieces:
                last.pieces[-1].before = GraphDump(name, span)
        else:
            if last is None or last.is_finished:
                self._open(VllmCompilation(label), at())
            if name == PIECE:
                piece = PieceCompilation(parse_piece(read(span)))
                self._end_piece(now := at())
                self.found[-1].pieces.append(piece)
                self.is_open, self._began = True, (self._began[0], now)
            else:
                self._graph(GraphDump(name, span))

    def takes_guards(self) -> bool:
        """Whether guards outside of any compile are those of the part that was just loaded; then no more of it follow."""
        has_guards, self._has_guards = self._has_guards, True
        return not has_guards

    def end(self, now: float | None) -> None:
        """The part that is being compiled ends with a record that was written then."""
        if self.is_open:
            self._end_piece(now)
            self.found[-1].seconds = _between(self._began[0], now)
            self.found[-1].is_over, self.is_open = True, False

    def _open(self, part: VllmCompilation, now: float | None) -> None:
        self.end(now)
        self.found.append(part)
        self.is_open, self._began, self._hits, self._loading = True, (now, None), [], None

    def _end_piece(self, now: float | None) -> None:
        if self.is_open and self.found and self.found[-1].pieces:
            self.found[-1].pieces[-1].seconds = _between(self._began[1], now)

    def _graph(self, graph: GraphDump) -> None:
        last = self.found[-1]
        if not last.pieces:
            last.graphs.append(graph)
        elif pass_of(graph.name):
            last.pieces[-1].passes.append(graph)
        else:
            last.pieces[-1].graphs.append(graph)

    def begin_loading(self, now: float | None) -> None:
        """A graph is taken out of a cache outside of any compile; the first one since the last part begins what may be another."""
        if not self.is_open and self._loading is None:
            self._loading = now

    def cache_result(self, name: str) -> bool:
        """Whether an artifact is what a cache had for a piece, such as ``fx_graph_cache_hit``; then it is kept."""
        if self.is_open and self.found[-1].pieces:
            is_result = "_cache_" in name and name.endswith(("_hit", "_miss", "_bypass"))
            if is_result:
                self.found[-1].pieces[-1].caches.append(name)
            return is_result
        if name == BUNDLED_HIT:
            self._hits.append(name)
        return name == BUNDLED_HIT


def _between(start: float | None, end: float | None) -> float | None:
    """The seconds between two times of a day in a year; None across the end of a year."""
    return round(end - start, 6) if start is not None and end is not None and end >= start else None


def ranges_setting(found: Iterable[VllmCompilation]) -> str:
    """The setting that divides sizes into ranges: vLLM 0.16 calls it by another name than later versions."""
    return _OLD_RANGES if any(_OLD_RANGES in item.config for item in found) else "compile_ranges_endpoints"

"""What did vLLM compile: which parts of the model, for which sizes, and what came from a cache?"""

from collections.abc import Iterator

from shapelog.grouping import grouped
from shapelog.model.vllm import VllmCompilation
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.text import plural, some

_EVENTS = {"fresh_compile": "compiled", "aot_cache_hit": "loaded from the cache", "": "not recorded"}
_SUBMODULES = 4
# Settings that decide how often a model is compiled; the others are listed below them.
_FIRST_SETTINGS = (
    "model",
    "mode",
    "compile_sizes",
    "compile_ranges_split_points",
    "compile_ranges_endpoints",
    "cudagraph_mode",
    "dynamic_shapes_type",
)


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    found = explained.trace.vllm
    if not found:
        return
    yield _parts(found)
    pieces = [row for number, item in enumerate(found, 1) for row in _ranges(number, item)]
    if pieces:
        columns = (Column("part", True), Column("sizes"), Column("pieces", True), Column("cached", True), Column("passes", True))
        changed = (Column("that changed a graph", True), Column("submodules", is_wide=True))
        yield Table("vllm_pieces", "Piecewise compilations of vLLM by range of sizes", (*columns, *changed), tuple(pieces), _advice(found))
    passes = _passes(found)
    if passes:
        names = (Column("pass", is_wide=True), Column("run", True), Column("changed a graph", True))
        yield Table("vllm_passes", "Passes of vLLM after autograd", names, tuple(passes))
    settings = list(_settings(found))
    if settings:
        yield Table(
            "vllm_config",
            "Compilation settings of vLLM",
            (Column("setting"), Column("value", is_wide=True), Column("part")),
            tuple(settings),
        )


def _parts(found: tuple[VllmCompilation, ...]) -> Table:
    columns = (
        Column("part", True),
        Column("model", is_wide=True),
        Column("prefix"),
        Column("result"),
        Column("pieces", True),
        Column("compiles"),
    )
    rows = tuple(
        (
            number,
            item.config.get("model", ""),
            item.config.get("prefix", ""),
            _EVENTS.get(item.event, item.event.replace("_", " ")) if item.event or not item.pieces else "compiled",
            len(item.pieces),
            item.label,
        )
        for number, item in enumerate(found, 1)
    )
    return Table("vllm", "vLLM: parts of the model", columns, rows)


def _ranges(number: int, item: VllmCompilation) -> Iterator[tuple[str | int, ...]]:
    for sizes, members in grouped(item.pieces, lambda piece: piece.piece.sizes).items():
        names = list(dict.fromkeys(member.piece.submodule for member in members))
        cached = sum(member.cache == "hit" for member in members)
        steps = [step for member in members for step in member.steps]
        changed = sum(before.span.digest != after.span.digest for before, after in steps)
        shown = f"{sizes} (CUDA graph)" if any(member.piece.is_cuda_graph_size for member in members) else sizes
        yield number, shown, len(members), cached, sum(len(member.passes) for member in members), changed, some(names, _SUBMODULES)


def _passes(found: tuple[VllmCompilation, ...]) -> list[tuple[str | int, ...]]:
    steps = [step for item in found for piece in item.pieces for step in piece.steps]
    return [
        (name, len(members), sum(before.span.digest != after.span.digest for before, after in members))
        for name, members in grouped(steps, lambda step: step[1].title).items()
    ]


def _advice(found: tuple[VllmCompilation, ...]) -> str:
    """What the number of compilations comes from, and the setting that lowers it."""
    pieces = [piece for item in found for piece in item.pieces]
    single = {piece.piece.start for piece in pieces if piece.piece.is_single}
    ranges = {(piece.piece.start, piece.piece.end) for piece in pieces if not piece.piece.is_single}
    parts = []
    if single:
        count = sum(piece.piece.is_single for piece in pieces)
        parts.append(
            f"{count} of {plural(len(pieces), 'piecewise compilation')} are for {plural(len(single), 'size')} in compile_sizes: "
            "each size compiles every piece again, so list only sizes that need kernels of their own"
        )
    if len(ranges) > 1:
        parts.append(f"{plural(len(ranges), 'range')}: each point in compile_ranges_split_points adds one compilation of every piece")
    fresh = sum(item.event == "fresh_compile" for item in found)
    if fresh:
        verb = "was" if fresh == 1 else "were"
        parts.append(f"{plural(fresh, 'part')} {verb} compiled, not loaded: keep VLLM_CACHE_ROOT between starts so that a restart need not")
    return "; ".join(parts)


def _settings(found: tuple[VllmCompilation, ...]) -> Iterator[tuple[str, str, str]]:
    """Each setting once where all parts have the same value, else by part."""
    names = list(dict.fromkeys([*_FIRST_SETTINGS, *(name for item in found for name in item.config)]))
    for name in names:
        values: dict[str, list[str]] = {}
        for number, item in enumerate(found, 1):
            if name in item.config:
                values.setdefault(item.config[name], []).append(str(number))
        for value, parts in values.items():
            yield name, value, "" if len(values) == 1 else " ".join(parts)

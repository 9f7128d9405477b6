"""What did vLLM compile: which parts of the model, for which sizes, and what came from a cache?"""

from collections.abc import Iterator

from shapelog.grouping import grouped
from shapelog.model.vllm import VllmCompilation, ranges_setting
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.text import plural, some

_SUBMODULES = 4
# Settings that decide how often a model is compiled; the others are listed below them.
_FIRST_SETTINGS = (
    "model",
    "mode",
    "compile_sizes",
    "compile_ranges_endpoints",
    "compile_ranges_split_points",
    "cudagraph_mode",
    "dynamic_shapes_type",
)


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    found = explained.trace.vllm
    if not found:
        return
    yield _parts(found)
    pieces = [row for number, item in enumerate(found, 1) for row in _ranges(number, item)]
    passes = _passes(found)
    if pieces:
        names = ("part", "sizes", "pieces", "cached", "reused", *(("passes", "that changed a graph") if passes else ()))
        columns = (*(Column(name, name != "sizes") for name in names), Column("submodules", is_wide=True))
        rows = tuple(row if passes else (*row[:5], row[-1]) for row in pieces)
        yield Table("vllm_pieces", "Piecewise compilations of vLLM by range of sizes", columns, rows, _advice(found))
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
            "loaded from the cache" if item.is_cached else "compiled" if item.is_compiled else "not recorded",
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
        reused, passes = sum(not member.is_compiled for member in members), sum(len(member.passes) for member in members)
        yield number, sizes, len(members), cached, reused, passes, changed, some(names, _SUBMODULES)


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
    ranges = max(len({(piece.piece.start, piece.piece.end) for piece in item.pieces if not piece.piece.is_single}) for item in found)
    parts = []
    if single:
        count = sum(piece.piece.is_single for piece in pieces)
        parts.append(
            f"{count} of {plural(len(pieces), 'piecewise compilation')} are for {plural(len(single), 'size')} in compile_sizes: "
            "each size compiles every piece again, so list only sizes that need kernels of their own"
        )
    if ranges > 1:
        parts.append(f"{plural(ranges, 'range')}: each point in {ranges_setting(found)} adds one compilation of every piece")
    if any(not piece.is_compiled for piece in pieces):
        parts.append("reused: loaded from vLLM's cache, or the graph is that of an earlier piece")
    fresh = sum(item.is_compiled for item in found)
    if fresh:
        verb = "was" if fresh == 1 else "were"
        keep = "keep the directory VLLM_CACHE_ROOT between starts, and a restart loads what did not change"
        parts.append(f"{plural(fresh, 'part')} {verb} compiled, not loaded: {keep}")
    return "; ".join(parts)


def _settings(found: tuple[VllmCompilation, ...]) -> Iterator[tuple[str, str, str]]:
    """Each setting once where all parts have the same value, else by part."""
    names = list(dict.fromkeys([*_FIRST_SETTINGS, *(name for item in found for name in item.config)]))
    for name in names:
        values: dict[str, list[str]] = {}
        for number, item in enumerate(found, 1):
            if name in item.config:
                values.setdefault(item.config[name] or "none", []).append(str(number))
        for value, parts in values.items():
            yield name, value, "" if len(values) == 1 else " ".join(parts)

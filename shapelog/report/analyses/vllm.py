"""What did vLLM compile: which parts of the model, for which sizes, and what came from a cache?"""

import math
from collections.abc import Iterator, Sequence

from shapelog.grouping import grouped
from shapelog.model.vllm import PieceCompilation, VllmCompilation, ranges_setting
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.text import LEAST_SECONDS, plural, seconds, some, taking

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
        titles = ("part", "sizes", "seconds", "pieces", "cached", "reused", "passes", "that changed a graph")
        columns = (*(Column(title, title != "sizes") for title in titles), Column("submodules", is_wide=True))
        is_shown = {"seconds": any(row[2] for row in pieces), "passes": bool(passes), "that changed a graph": bool(passes)}
        kept = [number for number, column in enumerate(columns) if is_shown.get(column.name, True)]
        yield Table(
            "vllm_pieces",
            "Piecewise compilations of vLLM by range of sizes",
            tuple(columns[number] for number in kept),
            tuple(tuple(row[number] for number in kept) for row in pieces),
            _advice(found),
        )
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
    has_times = any(item.seconds for item in found)
    columns = (
        Column("part", True),
        Column("model", is_wide=True),
        Column("prefix"),
        Column("result"),
        *((Column("seconds", True),) if has_times else ()),
        Column("pieces", True),
        Column("compiles"),
    )
    rows = tuple(
        (
            number,
            item.config.get("model", ""),
            item.config.get("prefix", ""),
            _result(item),
            *((item.seconds or None,) if has_times else ()),
            len(item.pieces) or len(item.loaded),
            item.label,
        )
        for number, item in enumerate(found, 1)
    )
    return Table("vllm", "vLLM: parts of the model", columns, rows)


def _result(item: VllmCompilation) -> str:
    if item.unfinished:
        return "did not finish"
    if item.is_cached:
        return "loaded from the cache"
    if item.is_compiled:
        return "compiled"
    return "not compiled (backend eager)" if item.is_eager else "not recorded"


def _ranges(number: int, item: VllmCompilation) -> Iterator[tuple[str | float | None, ...]]:
    for sizes, members in grouped(item.pieces, lambda piece: piece.piece.sizes).items():
        cached = sum(member.cache == "hit" for member in members)
        steps = [step for member in members for step in member.steps]
        changed = sum(before.span.digest != after.span.digest for before, after in steps)
        reused = 0 if item.is_eager else sum(not member.is_compiled for member in members)
        passes, spent = sum(len(member.passes) for member in members), math.fsum(member.seconds or 0.0 for member in members)
        yield number, sizes, spent or None, len(members), cached, reused, passes, changed, _submodules(members)


def _submodules(pieces: Sequence[PieceCompilation]) -> str:
    """Their names, those that took longest first, with their times."""
    spent: dict[str, float] = {}
    for piece in pieces:
        spent[piece.piece.submodule] = spent.get(piece.piece.submodule, 0.0) + (piece.seconds or 0.0)
    longest = sorted(spent.items(), key=lambda item: -item[1])
    return some([f"{name} {seconds(time)}" if time >= LEAST_SECONDS else name for name, time in longest], _SUBMODULES)


def _passes(found: tuple[VllmCompilation, ...]) -> list[tuple[str | int, ...]]:
    steps = [step for item in found for piece in item.pieces for step in piece.steps]
    return [
        (name, len(members), sum(before.span.digest != after.span.digest for before, after in members))
        for name, members in grouped(steps, lambda step: step[1].title).items()
    ]


def _advice(found: tuple[VllmCompilation, ...]) -> str:
    """What the number of compilations comes from, and the settings that decide it."""
    pieces = [piece for item in found for piece in item.pieces]
    single = {piece.piece.start for piece in pieces if piece.piece.is_single}
    ranges = max(len({(piece.piece.start, piece.piece.end) for piece in item.pieces if not piece.piece.is_single}) for item in found)
    parts = []
    if single:
        own = [piece for piece in pieces if piece.piece.is_single]
        spent = taking(math.fsum(piece.seconds or 0.0 for piece in own))
        parts.append(
            f"{len(own)} of {plural(len(pieces), 'piecewise compilation')}{spent} are for {plural(len(single), 'size')} in compile_sizes: "
            "each size compiles every piece again"
        )
    if ranges > 1:
        parts.append(f"{plural(ranges, 'range')}: each point in {ranges_setting(found)} adds one compilation of every piece")
    if any(item.reused for item in found):
        parts.append("reused: loaded from vLLM's cache, or the graph is that of an earlier piece")
    for number, item in enumerate(found, 1):
        if last := item.unfinished:
            parts.append(f"the trace ends while part {number} is compiled: {last.piece.submodule} for {last.piece.sizes}")
    if fresh := [item for item in found if item.is_compiled and not item.unfinished]:
        verb, spent = "was" if len(fresh) == 1 else "were", taking(math.fsum(item.seconds or 0.0 for item in fresh))
        parts.append(
            f"{plural(len(fresh), 'part')} {verb} compiled{spent}, not loaded from VLLM_CACHE_ROOT, where vLLM saves what it compiles"
        )
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

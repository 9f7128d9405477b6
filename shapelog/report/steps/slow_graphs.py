"""Steps for code whose dynamic graphs take many times as long to compile as its static ones, and of which no mark makes fewer."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shapelog.advice.alternatives.alternative import callee
from shapelog.advice.compile_seconds import RUN_TO_RUN, Seconds
from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.report.steps.step import COSTLY, Confidence, NextStep, Saving, StepKind, StepPlace, StepSources, middle
from shapelog.rules import Verdict
from shapelog.text import plural, seconds, seconds_range

# How many times as long each dynamic graph takes, and by how many seconds: symbolic // and % in shapes are what takes that long.
_MUCH_SLOWER, _NOTABLE = 5.0, 10.0
_CONFIDENCE = Confidence("medium", "each size needs a graph of its own then, up to the recompile limit")


class _Graphs(NamedTuple):
    """The compiles of one frame that made static graphs, and those that made dynamic ones; () for both where a cache had one of them."""

    frame: Frame
    static: Sequence[Compile]
    dynamic: Sequence[Compile]


def static_steps(run: StepSources) -> Iterator[NextStep]:
    """What makes the graphs static: as many of them are needed in any case, since the code takes another path or needs exact sizes."""
    slow = (graphs for frame in run.report.trace.frames if _are_slow(run, graphs := _graphs_of(frame)))
    for on_ranks in grouped(slow, lambda graphs: graphs.frame.origin).values():
        saved = Seconds.total(_saved(run, graphs) for graphs in on_ranks)
        if middle(saved) > COSTLY * run.report.summary.seconds:
            yield _step(run, on_ranks[0], saved)


def _graphs_of(frame: Frame) -> _Graphs:
    entries = [item for item in frame.entries if item.seconds]
    if any(item.is_cached for item in entries) or frame.makes_dynamic is False:
        return _Graphs(frame, (), ())
    return _Graphs(frame, [item for item in entries if not item.is_dynamic], [item for item in entries if item.is_dynamic])


def _are_slow(run: StepSources, graphs: _Graphs) -> bool:
    """Whether all dynamic graphs took that much longer than the static ones, and no mark makes them fewer."""
    if not (graphs.static and graphs.dynamic):
        return False
    static, dynamic = max(item.seconds for item in graphs.static), min(item.seconds for item in graphs.dynamic)
    recompiles = (run.recompiles.get(item) for item in graphs.dynamic)
    is_markable = any(item is not None and item.verdict is Verdict.MARKING for item in recompiles)
    return dynamic >= max(_MUCH_SLOWER * static, static + _NOTABLE) and not is_markable


def _saved(run: StepSources, graphs: _Graphs) -> Seconds:
    """What is saved where each dynamic graph is a static one instead, on all ranks that took part."""
    weight, number = run.weight(graphs.dynamic[0]), len(graphs.dynamic)
    spent, static = math.fsum(item.seconds for item in graphs.dynamic), [item.seconds for item in graphs.static]
    return Seconds(max(0.0, spent - number * max(static) * RUN_TO_RUN) * weight, (spent - number * min(static)) * weight)


def _step(run: StepSources, graphs: _Graphs, saved: Seconds) -> NextStep:
    frame, number = graphs.frame, len(graphs.dynamic)
    static, dynamic = ([item.seconds for item in compiles] for compiles in (graphs.static, graphs.dynamic))
    took = f"its {plural(number, 'dynamic graph')} took {seconds_range(min(dynamic), max(dynamic))}{' each' if number > 1 else ''}"
    one = "the static one" if len(static) == 1 else "static ones"
    recompiles = [found for item in graphs.dynamic if (found := run.recompiles.get(item))]
    line = run.found.repository.source_line(frame.file, frame.line)
    title = frame.title_of(graphs.dynamic)
    return NextStep(
        kind=StepKind.SETUP,
        title=f"Compile {title} with dynamic=False: {took}, {one} {seconds(max(static))}, and no mark makes them fewer",
        rules=tuple(dict.fromkeys(cause.rule for item in recompiles for cause in item.causes[:1])),
        saving=Saving(seconds=saved),
        confidence=_CONFIDENCE,
        stake=middle(saved),
        text=(f"torch.compile({callee(frame)}, dynamic=False)",),
        places=(StepPlace(line, "", ""),) if line else (),
        labels=tuple(item.label for item in graphs.dynamic),
    )

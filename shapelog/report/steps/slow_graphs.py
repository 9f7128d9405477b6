"""Steps for code whose dynamic graphs take many times as long to compile as its static ones, and of which no mark makes fewer."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shapelog.advice.alternatives.alternative import callee
from shapelog.advice.compile_seconds import RUN_TO_RUN, Seconds
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

    static: Sequence[Compile]
    dynamic: Sequence[Compile]


def static_steps(run: StepSources) -> Iterator[NextStep]:
    """What makes the graphs static: as many of them are needed in any case, since the code takes another path or needs exact sizes."""
    for frame in run.report.trace.frames:
        graphs = _graphs_of(frame)
        static, dynamic = ([item.seconds for item in compiles] for compiles in graphs)
        if not static or not dynamic or min(dynamic) < max(_MUCH_SLOWER * max(static), max(static) + _NOTABLE):
            continue
        recompiles = [found for item in graphs.dynamic if (found := run.recompiles.get(item))]
        if any(item.verdict is Verdict.MARKING for item in recompiles):
            continue  # with a mark, fewer graphs are needed
        weight = run.weight(graphs.dynamic[0])
        slow, number = math.fsum(dynamic), len(dynamic)
        saved = Seconds(max(0.0, slow - number * max(static) * RUN_TO_RUN) * weight, (slow - number * min(static)) * weight)
        if middle(saved) <= COSTLY * run.report.summary.seconds:
            continue
        title = frame.title_of(graphs.dynamic)
        took = f"its {plural(number, 'dynamic graph')} took {seconds_range(min(dynamic), max(dynamic))}{' each' if number > 1 else ''}"
        one = "the static one" if len(static) == 1 else "static ones"
        line = run.found.repository.source_line(frame.file, frame.line)
        yield NextStep(
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


def _graphs_of(frame: Frame) -> _Graphs:
    entries = [item for item in frame.entries if item.seconds]
    if any(item.is_cached for item in entries) or frame.makes_dynamic is False:
        return _Graphs((), ())
    return _Graphs([item for item in entries if not item.is_dynamic], [item for item in entries if item.is_dynamic])

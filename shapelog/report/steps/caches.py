"""Steps that let later runs load code from a compile cache."""

import math
from collections.abc import Iterator, Sequence

from shapelog.advice.compile_seconds import Seconds
from shapelog.grouping import grouped
from shapelog.model.cache_uses import CacheUse
from shapelog.model.compile import WHOLE
from shapelog.reading.payloads.cache_keys import AOT_AUTOGRAD, FX_GRAPH, HIT, MISS
from shapelog.report.details.cache_remedies import cache_problem
from shapelog.report.steps.step import COSTLY, Confidence, NextStep, Saving, StepKind, StepPlace, StepSources, middle
from shapelog.text import capitalized, names_of

_SURE = "medium", "it holds for runs that find the cache directory of an earlier one"
_UNSURE = "low", "it changes more than the cache, and holds only for runs that find the cache directory of an earlier one"


def cache_steps(run: StepSources) -> Iterator[NextStep]:
    """What lets later runs load code from a compile cache, where compiling it took a good part of the seconds."""
    problems = ((use, problem) for use in run.report.caches.uses if (problem := cache_problem(use)) and problem.remedy)
    for (rule, remedy), pairs in grouped(problems, lambda pair: (pair[1].rule, pair[1].remedy)).items():
        problem = pairs[0][1]
        concerned = (
            [use for use in run.report.caches.uses if use.event.result == MISS] if problem.is_everywhere else [use for use, _ in pairs]
        )
        uses = grouped(concerned, lambda use: use.compile)
        saved = Seconds(0.0, math.fsum(_loadable(same, run) * run.weight(compile) for compile, same in uses.items()))
        if not saved.most or saved.most <= COSTLY * run.report.summary.seconds:
            continue
        titles = list(dict.fromkeys(use.frame.title_of([use.compile]) for use in concerned))
        yield NextStep(
            kind=StepKind.CACHE,
            title=f"Make {names_of(titles)} loadable from the compile cache: {remedy}",
            rules=(rule,),
            saving=Saving(seconds=saved, is_later=True),
            confidence=Confidence(*_SURE if problem.is_sure else _UNSURE),
            stake=middle(saved),
            text=problem.text,
            places=tuple(dict.fromkeys(_places(run, concerned))),
            explanation=capitalized(f"{rule.name.replace('-', ' ')}: {' '.join(problem.reason.split())}"),
            labels=tuple(dict.fromkeys(compile.label for compile in uses)),
        )


def _places(run: StepSources, uses: Sequence[CacheUse]) -> Iterator[StepPlace]:
    """Where the code of these uses begins."""
    for use in uses:
        if line := run.found.repository.source_line(use.frame.file, use.frame.line):
            yield StepPlace(line, "", "")


def _loadable(uses: Sequence[CacheUse], run: StepSources) -> float:
    """The seconds of a compile that entries in the caches of these uses make unnecessary.

    An entry of the FX graph cache replaces Inductor, one of the AOTAutograd cache AOTAutograd as well; Dynamo runs in any case.
    """
    compile, caches = uses[0].compile, {use.event.cache for use in uses}
    others = {use.event.cache for use in run.report.caches.of(compile) if use.event.result in (HIT, MISS)}
    phases = dict(compile.phases)
    without_graphs = phases.pop("AOTAutograd") if AOT_AUTOGRAD in caches else 0.0
    is_all = FX_GRAPH in caches or FX_GRAPH not in others
    return without_graphs + (
        math.fsum(spent for phase, spent in phases.items() if phase not in (WHOLE, "Dynamo", "AOTAutograd")) if is_all else 0.0
    )

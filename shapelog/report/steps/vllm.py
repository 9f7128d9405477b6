"""Steps in vLLM's own settings: sizes and ranges that compile every piece of a model again, and the cache that a restart reads."""

import math
from collections.abc import Iterable, Iterator

from shapelog.advice.compile_seconds import Seconds
from shapelog.grouping import grouped
from shapelog.model.vllm import PieceCompilation, ranges_setting
from shapelog.report.steps.step import COSTLY, Confidence, NextStep, Saving, StepKind, StepSources, middle
from shapelog.text import plural

_OF_SIZES = Confidence("medium", "batches of the other sizes run the kernels of their range, which may be slower")
_OF_RANGES = Confidence("low", "batches of all sizes run the same kernels, which may be slower")
_OF_CACHE = Confidence("medium", "it holds for starts in which neither the model, nor the settings, nor the versions change")


def vllm_steps(run: StepSources) -> Iterator[NextStep]:
    """What makes a start of vLLM shorter, where it took a good part of the seconds.

    Each size in ``compile_sizes`` and each range of sizes has every piece compiled again, as vLLM's ``CompilationConfig`` describes.
    """
    found = run.report.trace.vllm
    fresh = [item for item in found if item.is_compiled]
    pieces = [piece for item in fresh for piece in item.pieces]
    single = [piece for piece in pieces if piece.piece.is_single]
    ranges = grouped((piece for piece in pieces if not piece.piece.is_single), lambda piece: piece.piece.sizes)
    labels = tuple(dict.fromkeys(item.label for item in fresh if item.label))

    def step(kind: StepKind, title: str, most: float, sure: Confidence, is_later: bool = False) -> Iterator[NextStep]:
        saved = Seconds(0.0, most)
        if most > COSTLY * run.report.summary.seconds:
            saving = Saving(seconds=saved, is_later=is_later)
            yield NextStep(kind=kind, title=title, rules=(), saving=saving, confidence=sure, stake=middle(saved), labels=labels)

    if sizes := {piece.piece.start for piece in single}:
        title = f"Of the {plural(len(sizes), 'size')} in vLLM's compile_sizes, keep those that need kernels of their own"
        yield from step(StepKind.SETUP, title, _seconds(single), _OF_SIZES)
    if len(ranges) > 1:
        title = f"Have vLLM compile fewer than {len(ranges)} ranges of sizes: remove points from {ranges_setting(found)}"
        spent = sorted(map(_seconds, ranges.values()))
        yield from step(StepKind.SETUP, title, math.fsum(spent[:-1]), _OF_RANGES)
    title = "Keep vLLM's cache between starts: the directory VLLM_CACHE_ROOT"
    yield from step(StepKind.CACHE, title, math.fsum(item.seconds or 0.0 for item in fresh), _OF_CACHE, is_later=True)


def _seconds(pieces: Iterable[PieceCompilation]) -> float:
    return math.fsum(piece.seconds or 0.0 for piece in pieces)

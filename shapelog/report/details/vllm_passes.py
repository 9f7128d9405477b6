"""What vLLM compiled in one line, and what each of its passes changed in the graphs of the pieces, as diffs."""

import difflib
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.vllm import VllmCompilation
from shapelog.reading.scanner import Span
from shapelog.report.report import Report
from shapelog.text import measured, plural

# Diffs that are shown, lines of each, and lines of a graph that is compared at all: difflib takes quadratic time on what differs.
_MOST_DIFFS, _MOST_LINES, _LONGEST = 60, 200, 4000


def vllm_words(found: Sequence[VllmCompilation]) -> str:
    """What vLLM compiled, in one line."""
    pieces = [piece for item in found for piece in item.pieces]
    cached, loaded = sum(piece.cache == "hit" for piece in pieces), sum(item.is_cached for item in found)
    reused, graphs = sum(item.reused for item in found), sum(len(item.loaded) for item in found)
    ready_made = f", {plural(graphs, 'graph')}" if graphs else ""
    loading = measured(math.fsum(item.seconds or 0.0 for item in found if item.is_cached and not item.pieces))
    of_cache = f" ({loaded} loaded from the cache{f' in {loading}' if loading else ''}{ready_made})" if loaded else ""
    words = [f"{plural(len(found), 'part')} of the model{of_cache}"]
    times = measured(math.fsum(item.seconds or 0.0 for item in found if item.pieces))
    counts = (f"{count} {what}" for count, what in ((cached, "found in a cache"), (reused, "reused")) if count)
    notes = ", ".join(filter(None, (times, *counts)))
    if pieces:
        words.append(f"{plural(len(pieces), 'piecewise compilation')}{f' ({notes})' if notes else ''}")
    return ", ".join(words)


class PassDiff(NamedTuple):
    """A change of a graph by a pass: the pieces in which it made it, the lines that it added and removed, and the diff."""

    title: str
    pieces: tuple[str, ...]
    added: int
    removed: int
    lines: tuple[str, ...]
    left_out: int


class _Step(NamedTuple):
    """One pass over one piece that changed its graph."""

    title: str
    piece: str
    before: Span
    after: Span
    read: Callable[[Span], str]


def pass_diffs(report: Report) -> tuple[PassDiff, ...]:
    """The first changes that passes made, in order; the same change in several pieces once."""
    same = grouped(_steps(report), lambda step: (step.title, step.before.digest, step.after.digest))
    return tuple(_diff(members) for members in islice(same.values(), _MOST_DIFFS))


def _steps(report: Report) -> Iterator[_Step]:
    for rank in report.trace.ranks:
        for number, compilation in enumerate(rank.vllm, 1):
            for item in compilation.pieces if rank.payloads is not None else ():
                where = f"{item.piece.submodule or 'piece'} of part {number} for {item.piece.sizes}"
                for before, after in item.steps:
                    if before.span.digest != after.span.digest and rank.payloads is not None:
                        yield _Step(after.title, where, before.span, after.span, rank.payloads.text)


def _diff(steps: Sequence[_Step]) -> PassDiff:
    first, pieces = steps[0], tuple(dict.fromkeys(step.piece for step in steps))
    old, new = first.read(first.before).splitlines(), first.read(first.after).splitlines()
    if len(old) + len(new) > _LONGEST:
        return PassDiff(title=first.title, pieces=pieces, added=0, removed=0, lines=(), left_out=len(old) + len(new))
    found = list(difflib.unified_diff(old, new, lineterm="", n=2))[2:]
    added, removed = (sum(line.startswith(sign) for line in found) for sign in "+-")
    return PassDiff(
        title=first.title,
        pieces=pieces,
        added=added,
        removed=removed,
        lines=tuple(found[:_MOST_LINES]),
        left_out=max(0, len(found) - _MOST_LINES),
    )

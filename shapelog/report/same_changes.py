"""Changes that are the same in several ranks, together."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from shapelog.report.compare import FrameChange
from shapelog.text import plural, plural_noun


def across_ranks(frames: Iterable[FrameChange]) -> list[list[FrameChange]]:
    """Changes that are the same in several ranks but for their times, together."""
    found: dict[tuple[object, ...], list[FrameChange]] = {}
    seen: Counter[tuple[object, ...]] = Counter()
    for item in frames:
        first, counts = item.code.first, [replace(side, seconds=0.0) for side in (item.was, item.now)]
        key = (first.file, first.line, first.name, item.title, item.kind, *counts, item.causes, item.dims, item.breaks, item.verdict)
        own = (*key, first.rank, first.process)
        found.setdefault((*key, seen[own]), []).append(item)
        seen[own] += 1
    return list(found.values())


def ranks_of(members: Sequence[FrameChange]) -> str:
    """Whose change it is, where there are several ranks."""
    ranks = sorted(rank for item in members if (rank := item.code.first.rank) is not None)
    if len(ranks) < len(members):
        return plural(len(members), "process") if len(members) > 1 else ""
    return f"{plural_noun(len(ranks), 'rank')} {' '.join(map(str, ranks))}"

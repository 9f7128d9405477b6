"""What of two lists belongs together: paths by their common ends, lines by how near they are. Neither compares each with each."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise

_SEPARATOR = re.compile(r"[\\/]")


@dataclass(slots=True, eq=False)
class _End:
    """An end of paths, and the paths of both sides for which no longer one is in common."""

    shorter: "_End | None" = None
    longer: "dict[str, _End]" = field(default_factory=dict)
    paths: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))


def align_paths(before: Iterable[str], after: Iterable[str]) -> dict[str, str]:
    """Path of AFTER → the one of BEFORE with the same name and the longest common end, each used once."""
    ends = [_End()]
    for side, paths in enumerate((before, after)):
        for path in paths:
            end = ends[0]
            for part in reversed(_SEPARATOR.split(path)):
                if part not in end.longer:
                    end.longer[part] = _End(end)
                    ends.append(end.longer[part])
                end = end.longer[part]
            end.paths[side].append(path)
    found: dict[str, str] = {}
    for end in reversed(ends):  # each after all that are longer
        if end.shorter is not None:
            ones, others = map(sorted, end.paths)
            found.update(zip(others, ones, strict=False))
            end.shorter.paths[0].extend(ones[len(others) :])
            end.shorter.paths[1].extend(others[len(ones) :])
    return found


def align_lines(before: Sequence[int], after: Sequence[int]) -> dict[int, int]:
    """Index in BEFORE → index in AFTER: equal lines, then as many as are left on both sides in their order, else the nearest first."""
    places: dict[int, list[int]] = {}
    for other in reversed(range(len(after))):
        places.setdefault(after[other], []).append(other)
    found = {one: places[line].pop() for one, line in enumerate(before) if places.get(line)}
    left = sorted((line, one) for one, line in enumerate(before) if one not in found)
    right = sorted((line, other) for line, others in places.items() for other in others)
    if len(left) == len(right):
        return found | {one: other for (_, one), (_, other) in zip(left, right, strict=True)}
    return found | dict(_nearest(left, right))


def _nearest(before: Iterable[tuple[int, int]], after: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The nearest two of (line, index) first, each once. They are always neighbors among those that are left."""
    places = sorted([(line, 0, index) for line, index in before] + [(line, 1, index) for line, index in after])
    end = len(places)  # the neighbor of the first and of the last
    previous, following = [end, *range(end)], [*range(1, end + 1), 0]
    neighbors: list[tuple[int, int, int]] = []

    def add(first: int, second: int) -> None:
        if end not in (first, second) and places[first][1] != places[second][1]:
            heappush(neighbors, (places[second][0] - places[first][0], first, second))

    for first, second in pairwise(range(end)):
        add(first, second)
    taken: set[int] = set()
    while neighbors:
        _, first, second = heappop(neighbors)
        if taken.isdisjoint((first, second)):
            taken.update((first, second))
            one, other = (first, second) if places[second][1] else (second, first)
            yield places[one][2], places[other][2]
            outer = previous[first], following[second]
            following[outer[0]], previous[outer[1]] = outer[1], outer[0]
            add(*outer)

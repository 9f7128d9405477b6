"""Things that have something in common, together."""

from collections.abc import Callable, Hashable, Iterable
from itertools import pairwise
from typing import TypeVar

_Item = TypeVar("_Item")
_Key = TypeVar("_Key", bound=Hashable)


def grouped(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """The items of each key in their order, the keys in the order of their first items."""
    found: dict[_Key, list[_Item]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def connected(groups: Iterable[Iterable[_Key]]) -> list[list[_Key]]:
    """The items of groups that share one, together; each once."""
    beside: dict[_Key, list[_Key]] = {}
    for group in map(tuple, groups):
        for item in group:
            beside.setdefault(item, [])
        for one, other in pairwise(group):
            beside[one].append(other)
            beside[other].append(one)
    found: list[list[_Key]] = []
    seen: set[_Key] = set()
    for item in beside:
        together = [] if item in seen else [item]
        seen.add(item)
        for member in together:
            new = dict.fromkeys(other for other in beside[member] if other not in seen)
            seen.update(new)
            together.extend(new)
        found.extend([together] if together else [])
    return found

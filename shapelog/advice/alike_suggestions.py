"""Suggestions that differ in an index alone, as for the layers of a cache: one line for all of them."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shapelog.advice.suggestions import Suggestion
from shapelog.grouping import grouped
from shapelog.text import plural

_INDEX = re.compile(r"(?<=\[)\d{1,9}(?=\])|(?<=\.)\d{1,9}(?=\.|$)")
# Fewer are shown one by one.
FEWEST_ALIKE = 4


class AlikeSuggestions(NamedTuple):
    """``name`` has a star for an index that differs: ``cache.layers[*].keys``."""

    name: str
    members: tuple[Suggestion, ...]

    @property
    def how_many(self) -> str:
        """``24 inputs``, "" for one."""
        return plural(len(self.members), "input") if len(self.members) > 1 else ""

    @property
    def caveats(self) -> tuple[str, ...]:
        """Those of all members, each once for those that differ in indexes alone."""
        by_kind = {_INDEX.sub("*", caveat): caveat for item in reversed(self.members) for caveat in reversed(item.caveats)}
        return tuple(reversed(by_kind.values()))


def alike(suggestions: Iterable[Suggestion], fewest: int = FEWEST_ALIKE) -> list[AlikeSuggestions]:
    """Those that mark the same dims of such inputs and save the same compiles are together, at the place of the first."""
    found: list[AlikeSuggestions] = []
    for members in grouped(
        suggestions, lambda item: (_INDEX.sub("*", item.name), item.dims, item.gone, item.frames, item.confidence)
    ).values():
        together = [members] if len(members) >= fewest else [[item] for item in members]
        found += (AlikeSuggestions(_common_name([item.name for item in group]), tuple(group)) for group in together)
    return found


def _common_name(names: Sequence[str]) -> str:
    """The name of all, with a star for each index in which they differ."""
    first = names[0]
    by_place = list(zip(*(_INDEX.findall(name) for name in names), strict=True))
    indexes = iter(values[0] if len(set(values)) == 1 else "*" for values in by_place)
    return _INDEX.sub(lambda _: next(indexes), first)

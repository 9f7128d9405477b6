"""State that compiled code changes in some calls alone, as a table of positions that it makes anew for longer inputs.

``dynamo_side_effects`` (torch 2.13) has the objects that a graph changes; the line that branches names what they hold.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import EntryDifference
from shapelog.rules import any_blocks_marking

_PART = re.compile(r"(?:\._(?:buffers|parameters)\['(\w+)'\]|\.(\w+))")
_INTS_OF_MODULES = "SL315"


class ChangedState(NamedTuple):
    """An object that the code changes in one of two calls alone: the later one, or the one that an entry was compiled for."""

    name: str
    is_later: bool


def changed_state(nearest: EntryDifference, compile: Compile, why: str) -> ChangedState | None:
    """The object that the graph of one of two calls changes and that of the other does not, where it is what the code branches on.

    All that varied is sizes and ints. Each that needs another graph does so on a line that names a part of the object; without one,
    ``why`` names a part, or it is a part that varied. None where there is no such object.
    """
    causes = nearest.causes
    if not all(cause.size_related or cause.rule.code == _INTS_OF_MODULES for cause in causes):
        return None
    lines = [cause.place.code if cause.place else "" for cause in causes if any_blocks_marking(cause.codes)]
    entry, own = nearest.entry.changed_objects, compile.changed_objects
    for source in sorted(source for source in {*entry, *own} if (source in entry) is not (source in own)):
        parts = sorted(set(_parts(source, nearest.entry, compile)))
        named = re.compile("|".join(rf"\.{name}\b" for name in parts) or r"(?!)")
        is_part = not lines and any(cause.source.is_below(source) for cause in causes)
        if is_part or all(map(named.search, lines or [why])):
            return ChangedState(source.display_name, source in own)
    return None


def _parts(source: Source, *compiles: Compile) -> Iterator[str]:
    """The names of what an object holds, as the guards of these compiles have them."""
    for compile in compiles:
        for other in compile.guards.sources if compile.guards else ():
            found = _PART.fullmatch(other.removeprefix(source)) if other.startswith(source) else None
            if found:
                yield found[1] or found[2]

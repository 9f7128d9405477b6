"""A list of dynamic sources in fewer entries: one expression for those that differ in an index alone, as the layers of a cache do.

PyTorch tries each entry as a regular expression at the start of a source (``torch/_dynamo/variables/builder.py``, torch 2.7 and later).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from shapelog.advice.marks import SourceNames, escaped
from shapelog.grouping import grouped

_INDEX = re.compile(r"(?<=\[)\d{1,9}(?=\])|(?<=\[')\d{1,9}(?='\])")
# Fewer entries are as easy to read as their expression.
_FEWEST = 3


class NamedEntry(NamedTuple):
    """An entry of the list: the source that it names, and how it is spelled, with its dim where it has one."""

    source: str
    spelled: str
    dim: int | None


def folded(entries: Sequence[NamedEntry], others: SourceNames) -> dict[str, str]:
    """The expression for each entry that has one: it stands for several that differ in one index, and finds none of the ``others`` that
    these do not name.
    """
    found: dict[str, str] = {}
    for dim, same in grouped(entries, lambda entry: entry.dim).items():
        for expression, members in _expressions({entry.source: entry for entry in same}, others):
            spelled = expression if dim is None else f"{expression}:{dim}"
            found |= dict.fromkeys((member.spelled for member in members), spelled)
    return found


def _expressions(entries: Mapping[str, NamedEntry], others: SourceNames) -> Iterator[tuple[str, list[NamedEntry]]]:
    """Expressions with the entries that each stands for, those for the most entries first; no entry has two."""
    around = grouped(((source[: at.start()], source[at.end() :], source) for source in entries for at in _INDEX.finditer(source)), _ends)
    left = set(entries)
    for (before, behind), same in sorted(around.items(), key=lambda item: -len(item[1])):
        sources = [source for *_, source in same if source in left]
        expression = rf"{_spelled(before)}\d+{_spelled(behind)}$"
        if len(sources) >= _FEWEST and left.issuperset(others.found_by(expression)):
            left.difference_update(sources)
            yield expression, [entries[source] for source in sources]


def _ends(found: tuple[str, str, str]) -> tuple[str, str]:
    """What is before and behind an index."""
    return found[:2]


def _spelled(part: str) -> str:
    return "".join(escaped(character, dot=True) for character in part)

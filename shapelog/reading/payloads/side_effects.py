"""The objects that compiled code changes: ``dynamo_side_effects`` of torch 2.13 has a paragraph for each, with the lines that do it."""

import re
from collections.abc import Iterator, Mapping

from shapelog.reading.payloads.source_names import Source

_CHANGED = re.compile(r"^Mutating object of type .*? \(source name: (.*?)\)(?: \(unable to find user stacks for mutations\))?$", re.M)
_PLACE = re.compile(r'\s*File "')
_CARETS = re.compile(r"[\s^~]*")


def changed_objects(text: str) -> Mapping[Source, tuple[str, ...]]:
    """The sources of the objects that it names, each with the lines of code that change it; what the code made itself has none."""
    found: dict[Source, tuple[str, ...]] = {}
    heads = list(_CHANGED.finditer(text))
    for head, end in zip(heads, [*(head.start() for head in heads), len(text)][1:], strict=True):
        source = Source(head[1])
        found[source] = found.get(source, ()) + tuple(_innermost_lines(text[head.end() : end]))
    return found


def _innermost_lines(text: str) -> Iterator[str]:
    """The line of code that each of several stacks ends with."""
    for stack in text.partition("\n====")[0].split("\n\n"):
        lines = [line.strip() for line in stack.split("\n") if not _CARETS.fullmatch(line)]
        if any(map(_PLACE.match, lines)) and not _PLACE.match(lines[-1]):
            yield lines[-1]

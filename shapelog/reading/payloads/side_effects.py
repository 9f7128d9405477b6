"""The objects that compiled code changes: ``dynamo_side_effects`` of torch 2.13 has a paragraph for each, with the lines that do it."""

import re

from shapelog.reading.payloads.source_names import Source

_CHANGED = re.compile(r"^Mutating object of type .*? \(source name: (.*?)\)(?: \(unable to find user stacks for mutations\))?$", re.M)


def changed_objects(text: str) -> frozenset[Source]:
    """The sources of the objects that it names; what the code made itself has none."""
    return frozenset(map(Source, _CHANGED.findall(text)))

"""Which causes cost the most over the whole run? Ids, indexes and sizes are folded into ``*``, so that repeated ones add up."""

import re
from collections.abc import Iterator

from shapelog.model.compile import Outcome
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.report.weighted import WeightedCompile, weighted_compiles

_FOLDED = re.compile(r"0x[0-9a-fA-F]+|(?<![A-Za-z_])\d+")


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    seconds: dict[tuple[str, str, str], float] = {}
    members: dict[tuple[str, str, str], list[WeightedCompile]] = {}
    variants: dict[tuple[str, str, str], set[str]] = {}
    folded: dict[str, str] = {}
    for item in weighted_compiles(explained):
        axes: dict[tuple[str, str, str], set[str]] = {}
        for cause in item.recompile.causes if item.recompile and item.compile.outcome is Outcome.COMPILED else ():
            name, rule = folded.get(cause.axis) or folded.setdefault(cause.axis, fold(cause.axis)), cause.remedy_rule
            axes.setdefault((rule.code, rule.name, name), set()).add(cause.axis)
        for key, names in axes.items():
            # A recompile with several causes is shared among them, so that the column adds up to what recompiles cost.
            seconds[key] = seconds.get(key, 0.0) + item.seconds / len(axes)
            members.setdefault(key, []).append(item)
            variants.setdefault(key, set()).update(names)
    rows = []
    for key in sorted(seconds, key=lambda key: (-seconds[key], -len(members[key]), key)):
        code, name, axis = key
        only = next(iter(variants[key])) if len(variants[key]) == 1 else f"{axis} ({len(variants[key])} variants)"
        count = sum(item.weight for item in members[key])
        rows.append((code, name, only, count, seconds[key] or None))
    if rows:
        columns = (Column("code"), Column("cause"), Column("what", is_wide=True), Column("recompiles", True), Column("seconds", True))
        note = "the time of a recompilation with several causes is split evenly among them" if any(seconds.values()) else ""
        yield Table("top_causes", "Top causes of the whole run", columns, tuple(rows), note)


def fold(text: str) -> str:
    """Numbers and addresses replaced by ``*``: ``layers[3].weight`` and ``layers[4].weight`` are one thing."""
    return _FOLDED.sub("*", text)

"""What recompiles of one cause have in common, in words: the values that came one after the other, and what differs between them."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.reading.payloads.properties import Kind, is_address
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.classification.result import short_type
from shapelog.recompiles.classification.shown_objects import shown_object
from shapelog.recompiles.classification.values import LONGEST_VALUE
from shapelog.recompiles.evidence.violation import THE_CLASS
from shapelog.recompiles.recompile import Recompile
from shapelog.report.weighted import WeightedCompile
from shapelog.rules import AlertKind
from shapelog.text import around_difference, enumerated, plural, rank_list, some

# The most values, other properties and compiles that a sentence names.
_VALUES, _AXES, _LABELS = 8, 4, 4
# Whose changes are compared by their sentences: before and after are no values that a user would write.
_IN_SENTENCES = frozenset((Kind.STRIDE, Kind.ALIASING, Kind.MARKING))
_EACH_KIND = _IN_SENTENCES | {Kind.SHAPE_GUARD}
_NUMBER = re.compile(r"(?<![\w.])\d[\d.]*(?:e-?\d+)?")
# A change up to what is known of it; values in quotes may have the same sign in them.
_CHANGE = re.compile(r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^'\";]|;(?! ))*(?=; )")


class Blamed(NamedTuple):
    """A recompile and one of its causes, None where it has none that is known; ``kinds`` is what the two are together."""

    compiled: WeightedCompile
    recompile: Recompile
    cause: Cause | None
    kinds: frozenset[AlertKind]


def why_not_marked(recompiles: Sequence[Recompile], fact: str) -> Iterator[str]:
    """Why marking does not remove some of them, each reason once, with the compiles it is about unless it is about all."""
    for why, members in grouped(recompiles, lambda item: item.why_not_markable).items():
        if why not in ("", fact):
            labels = some(list(dict.fromkeys(item.compile.shown_label for item in members if item.compile.shown_label)), _LABELS)
            yield why if len(members) == len(recompiles) or not labels else f"{labels}: {why}"


def other_sentences(members: Sequence[Blamed]) -> Iterator[str]:
    """The changes of a memory layout, of marks, of what is the same tensor or of a condition on sizes that are of another kind than the
    first one, each kind once with its compiles.
    """
    found = [(item.recompile.compile, item.cause) for item in members if item.cause and item.cause.prop.kind in _EACH_KIND]
    others = (pair for pair in found if not _is_same_change(pair[1], found[0][1]) and pair[1].axis == found[0][1].axis)
    kinds = [alike for kind, alike in grouped(others, lambda pair: _kind(pair[1])).items() if kind != _kind(found[0][1])]
    for alike in kinds[:_LABELS]:
        labels = some(list(dict.fromkeys(compile.shown_label for compile, _ in alike if compile.shown_label)), _LABELS)
        if labels:
            yield f"{labels}: {alike[0][1].sentence}"
    if kinds[_LABELS:]:
        yield f"{plural(len(kinds) - _LABELS, 'more change')} of this kind"


def own_reasons(members: Sequence[Blamed]) -> Iterator[str]:
    """What is known of the first property in some of these compiles alone, such as what the code ties a size to, each once with these."""
    found = [(item.recompile.compile, item.cause) for item in members if item.cause]
    same = [(compile, cause) for compile, cause in found if cause.axis == found[0][1].axis]
    if not _have_one_reason([cause for _, cause in same]):
        for why, alike in list(grouped(same, lambda pair: _parts(pair[1].sentence)[1]).items())[:_LABELS]:
            labels = some(list(dict.fromkeys(compile.shown_label for compile, _ in alike if compile.shown_label)), _LABELS)
            if why and labels:
                yield f"{labels}: {why}"


def _have_one_reason(causes: Sequence[Cause]) -> bool:
    """Whether what follows the change in the sentences of these causes is the same in all."""
    return len({_parts(cause.sentence)[1] for cause in causes}) < 2


def _parts(sentence: str) -> tuple[str, str]:
    """(``dim 0 of x changed from 4 to 8``, ``the code ties it to n``): the change, and what is known of it, "" where that is nothing."""
    found = _CHANGE.match(sentence)
    return (found[0], sentence[found.end() + 2 :]) if found else (sentence, "")


def _kind(cause: Cause) -> str:
    """What a sentence about a memory layout has in common with those about other strides, and a condition with those that have other
    numbers in it; any other one has nothing.
    """
    if cause.prop.kind is Kind.SHAPE_GUARD:
        return _NUMBER.sub("", cause.before)
    return re.sub(r"\d+", "", cause.sentence.partition(": ")[0]) if cause.prop.kind is Kind.STRIDE else cause.sentence


def with_other_values(fact: str, members: list[Blamed], others: list[str]) -> str:
    """The first fact with the values that came later, `` (then 4, 5, 6)``, or with those of each rank; and what else changed with it."""
    causes = [item.cause for item in members if item.cause]
    change, why = _parts(fact)
    if not _have_one_reason([item for item in causes if item.axis == causes[0].axis]):
        why = ""  # ``own_reasons`` has it
    known = ("", causes[0].before, causes[0].after)
    same = [item for item in causes if _is_same_change(item, causes[0])]
    shown = (shown_object(item.after).removeprefix(THE_CLASS) for item in same if item.after not in known)
    later = list(dict.fromkeys(around_difference(text, causes[0].after, LONGEST_VALUE) for text in shown))
    of_ranks = _of_each_rank(members)
    if of_ranks:
        change = f"{causes[0].subject} changed: {of_ranks}"
    elif later:
        then = f"then {', '.join([*later[:_VALUES], *['…'][: len(later) > _VALUES]])})"
        change = f"{change[:-1]}, {then}" if " (now " in change and change.endswith(")") else f"{change} ({then}"
    elif of_others := _of_other_entries(same):
        change += f" (other entries: {of_others})"
    named = others if len(others) <= _AXES else [*others[:_AXES], f"{len(others) - _AXES} more"]
    return f"{change}{f'; {why}' if why else ''}" + (f"; {enumerated(named)} changed too" if others else "")


def _of_other_entries(causes: Sequence[Cause]) -> str:
    """What the entries of the other causes were compiled for, where the values that came are not known; "" where they are."""
    if not causes or any(item.after for item in causes) or causes[0].prop.kind not in (Kind.TYPE, Kind.LENGTH):
        return ""
    others = dict.fromkeys(short_type(item.before) for item in causes if item.before not in ("", causes[0].before))
    return some(list(others), _VALUES)


def _is_same_change(cause: Cause, first: Cause) -> bool:
    """Whether a cause differs from the first one in what the property changed to alone: of guards, the same one failed, and memory
    layouts changed in the same way. Sets of dispatch keys are no values to list.
    """
    if first.prop.kind is Kind.DISPATCH_KEYS:
        return False
    if first.prop.kind in _IN_SENTENCES and _kind(cause) != _kind(first):
        return False
    is_guard = first.prop.kind is Kind.SHAPE_GUARD
    return cause.prop.kind is first.prop.kind and not is_address(cause.prop, cause.after) and (not is_guard or cause.before == first.before)


def _of_each_rank(members: list[Blamed]) -> str:
    """``10 → 20 on rank 0, 11 → 21 on rank 1``; "" where all ranks saw the same values, or these are not plain ones."""
    values: dict[int, list[str]] = {}
    for item in members:
        if item.cause is None or not item.cause.has_plain_values:
            return ""
        for rank in item.compiled.ranks:
            values.setdefault(rank, [item.cause.before]).append(item.cause.after)
    ranks = grouped(values, lambda rank: tuple(values[rank]))
    if len(ranks) < 2:
        return ""
    in_order = sorted(ranks.items(), key=lambda pair: min(pair[1]))
    shown = [f"{' → '.join(seen[:_VALUES])}{' → …' if len(seen) > _VALUES else ''} on {rank_list(of)}" for seen, of in in_order]
    return some(shown, _LABELS)

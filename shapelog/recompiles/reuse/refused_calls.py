"""Calls that were refused at the recompile limit: each has left one failed guard for each entry, and no graph."""

from collections import Counter
from collections.abc import Sequence

from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.leaves import DYNAMIC, Key
from shapelog.reading.payloads.properties import FIRST_SYMBOLIC, Kind, Property
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.recompiles.causes import EntryDifference
from shapelog.rules import any_blocks_marking

_BOOLS, _ZERO_ONE = {"True", "False"}, "SL104"
# The first entry is static in any case, and the second where another size varied.
_LATE = 2
# Of fewer entries, one may have the size of the first call, and the other one a symbol for it.
_SEVERAL = 3


def complete_refused(difference: EntryDifference, others: Sequence[EntryDifference]) -> EntryDifference | None:
    """What separates a call that was refused from an entry: such a call has left reasons alone, one failed guard for each entry.

    What failed in another entry fails in this one as well where it holds the same value; a bool that is not False is True. Where it holds
    another value, the call's own is not known, and no mark acts on it (a float that is another at each call, say), None: nothing shows
    that the entry could be used. The same holds for an int or size of which another entry needs the exact value, unless a third one has
    it symbolic: a size is pinned where it is tied to one that is static. Guards on an object
    hold if one on something in it failed: they are checked before (``GuardManager.check_nopybind`` in ``torch/csrc/dynamo/guards.cpp``).
    """
    tree = difference.entry.guards
    failed = [cause.source for cause in difference.causes if cause.named_by_pytorch]
    causes = {(cause.source, cause.prop): cause for cause in difference.causes}
    for cause in (cause for other in others for cause in other.causes):
        key = cause.source, cause.prop
        fact = tree.facts.get(key) if tree else None
        if fact is None or fact == DYNAMIC or key in causes or (cause.after and str(fact) == cause.after):
            continue
        if any(source.is_below(cause.source) for source in failed) or (not cause.after and {str(fact), cause.before} == _BOOLS):
            continue
        if str(fact) == cause.before:
            causes[key] = cause
        elif (not cause.size_related or not cause.rule.markable) and _values_left(key, others) != {str(fact)}:
            return None
    named = ((cause, set(cause.codes) - {_ZERO_ONE}) for other in others for cause in other.causes)
    pinned = {(cause.source, cause.prop) for cause, codes in named if any_blocks_marking(codes)}
    trees = [other.entry.guards for other in others if other.entry.guards]
    if any(all(tree.facts.get(key) != DYNAMIC for tree in trees) for key in pinned & causes.keys()):
        return None
    return EntryDifference(difference.entry, tuple(causes.values()), difference.consequences)


def _values_left(key: Key, differences: Sequence[EntryDifference]) -> set[str]:
    """The values that entries require of something, without those that a call is known not to have; none where a value is that of one
    entry alone, so that there may be more of them.
    """
    facts = (item.entry.guards.facts.get(key) for item in differences if item.entry.guards)
    values = Counter(str(fact) for fact in facts if fact is not None)
    failed = {cause.before for item in differences for cause in item.causes if (cause.source, cause.prop) == key}
    return values.keys() - failed if min(values.values(), default=1) > 1 else set()


def static_again(frame: Frame) -> dict[tuple[str, Property], str]:
    """The sizes and int arguments for which an entry was compiled that requires one value of them all the same, each with the id of such
    an entry.

    Of several entries that require other values, all but the first were compiled because it varied, and so were those that came after a
    compile for which it had varied. Where all that is known is the reason at the recompile limit, that holds for an entry that came after
    two others or more.
    """
    made: dict[tuple[str, Property], set[str]] = {}
    required: dict[tuple[str, Property], set[str]] = {}
    first_change: dict[tuple[str, Property], tuple[int, int]] = {}
    is_alone = is_known_by_limit(frame)
    for compile in frame.compiles:
        values: dict[tuple[str, Property], list[tuple[int, str, int]]] = {}
        for reason in compile.reasons:
            key, value = (reason.source.display_name, reason.prop), integer(reason.expected)
            if value is None or not _is_size_or_argument(reason):
                continue
            number = entry_number(reason.entry)
            changed_at, before = first_change.setdefault(key, (compile.id.compile, value))
            if value < FIRST_SYMBOLIC:  # static in any case
                continue
            made.setdefault(key, set()).add(compile.label.partition("#")[0])
            required.setdefault(key, set()).add(reason.entry)
            values.setdefault(key, []).append((number, reason.entry, value))
            is_late = is_alone and reason.prop.kind is Kind.SIZE and len(compile.reasons) == 1 and number >= _LATE
            if is_late or (number >= changed_at and value != before):
                made[key].add(reason.entry)
        for key, entries in values.items():
            _, _, first = min(entries)
            made[key].update(entry for number, entry, value in entries if number >= 0 and value != first)
    found = ((key, sorted(made[key] & entries)) for key, entries in required.items())
    return {key: both[0] for key, both in found if both}


def _is_size_or_argument(reason: Reason) -> bool:
    """Whether it is a number that becomes symbolic when it varies: not a size of a parameter, nor an int of an object, as modules are."""
    if reason.prop.kind is Kind.SIZE:
        return not reason.is_parameter
    return reason.prop.kind is Kind.VALUE and reason.source.display_name.isidentifier()


def entry_number(entry: str) -> int:
    """``7`` of ``0/7``, also of ``0/7#2``; -1 where an entry has none."""
    found = integer(entry.rpartition("/")[2].partition("#")[0])
    return -1 if found is None else found


def is_known_by_limit(frame: Frame) -> bool:
    """Whether a text has of a function that it hit the recompile limit, with the entries that its reason names, and no compile."""
    return not frame.entries and any(
        compile.outcome is Outcome.LIMIT and compile.reasons and not compile.metrics.assumes_entries for compile in frame.compiles
    )


def is_of_oldest_alone(compile: Compile) -> bool:
    """Whether the reason at the recompile limit is about the first of several entries. Automatic dynamic shapes make what changed symbolic
    in the later ones, which were not reused for other reasons.
    """
    numbers = {entry_number(reason.entry) for reason in compile.reasons}
    return compile.outcome is Outcome.LIMIT and compile.id.compile >= _SEVERAL and numbers == {0}

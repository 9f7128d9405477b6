"""Which earlier entry a recompile is compared with: the nearest of those that its call was compared with at run time."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.ids import parse_compile_id
from shapelog.reading.payloads.guards.leaves import DYNAMIC, Key
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.properties import GRAD_MODE, INFERENCE_MODE, TYPE, VALUE, Kind, Property
from shapelog.reading.payloads.source_names import Source, with_locals, without_locals
from shapelog.reading.records import Metrics
from shapelog.recompiles.causes import Cause, EntryDifference
from shapelog.recompiles.classification.shown_objects import KINDS_OF_FUNCTIONS
from shapelog.recompiles.evidence.object_types import type_known
from shapelog.recompiles.evidence.violation import Described, constant_type
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.reuse.obstacles import marks_act
from shapelog.recompiles.reuse.similar import similar
from shapelog.rules import Verdict, any_blocks_marking

# The entries that a call is compared with, and how many of them are the oldest.
MOST_COMPARED, _OLDEST = 32, 8
_SHARED = frozenset((Kind.REQUIRES_GRAD, Kind.VALUE, Kind.TYPE, Kind.ID, Kind.DTYPE, Kind.DEVICE, Kind.LENGTH))
_ITEM, _KEY = re.compile(r"\[\d+\]$"), re.compile(r"\[(?:\d+|'[^']*')\]")
_ZERO_OR_ONE = frozenset("01")
_SMALL = re.compile(r"== [01]$")  # a guard on an int that was to be symbolic
_CONTENTS = frozenset((Kind.LENGTH, Kind.KEYS))
# State that is guarded without its value. A reason names the first guard that fails alone, so one of these hides behind another.
_STATE = frozenset((Kind.FUNCTION_MODES, Kind.DEFAULT_DEVICE, Kind.SAVED_TENSOR_HOOKS))


class Entries:
    """The cache entries of a frame, as they come."""

    def __init__(self) -> None:
        self._made: list[Compile] = []
        self._by_label: dict[str, Compile] = {}
        # Whether the guards of none of them are recorded, as in a log that holds recompile reasons alone.
        self.are_bare = True
        self.left_out = 0

    def __bool__(self) -> bool:
        return bool(self._made)

    def add(self, entry: Compile) -> None:
        self._made.append(entry)
        self.are_bare = self.are_bare and entry.guards_span is None
        self._by_label[entry.label.partition("#")[0]] = entry

    def compared_with(self, compile: Compile, table: FactTable) -> list[Compile]:
        """The entries that the call was compared with, most recently used first: those PyTorch lists, else all.

        Of more than ``MOST_COMPARED``, which takes a raised recompile limit, these are the most recently used and the oldest ones, without
        those that are like others; ``left_out`` is the largest number of entries that were left out.
        """
        listed = dict.fromkeys(self._by_label[reason.entry] for reason in compile.reasons if reason.entry in self._by_label)
        known = list(listed) if listed else self._made
        self.left_out = max(self.left_out, len(known) - MOST_COMPARED)
        ordered = known if listed else known[::-1]
        if len(known) <= MOST_COMPARED:
            return ordered
        return _unlike(ordered[: MOST_COMPARED - _OLDEST] + ordered[-_OLDEST:], compile, table)


def _unlike(entries: list[Compile], compile: Compile, table: FactTable) -> list[Compile]:
    """The first and the last of the entries with similar graphs that require what the call does not satisfy of the same properties."""
    call = table.of(compile)
    unsatisfied = {known: _unsatisfied(known, call) for known in set(map(table.of, entries))}

    def likeness(entry: Compile) -> tuple[str, tuple[Key, ...]]:
        graph = entry.graph
        return graph.key if graph else "", unsatisfied[table.of(entry)]

    groups = grouped(entries, likeness)
    kept = {group[end] for group in groups.values() for end in (0, -1)}
    return [entry for entry in entries if entry in kept]


def _unsatisfied(entry: CompileFacts, call: CompileFacts) -> tuple[Key, ...]:
    required = entry.tree.facts if entry.tree else entry.facts
    return tuple([key for key, value in required.items() if value != DYNAMIC and call.facts.get(key) != value])


def entries_outside_trace(earlier: Collection[str], compile: Compile) -> list[Compile]:
    """The entries that the reasons of a compile name and the trace does not hold: made before a recording began, or lost.

    ``earlier`` are the ids of the compiles before it. All that is known of those entries is what the reasons state.
    """
    found = []
    for name in dict.fromkeys(reason.entry for reason in compile.reasons):
        identity = parse_compile_id(name)
        if identity is not None and name not in earlier:
            found.append(
                Compile(
                    id=identity,
                    label=name,
                    rank=compile.rank,
                    process=compile.process,
                    order=-1,
                    has_reasons_record=True,
                    outcome=Outcome.COMPILED,
                    metrics=Metrics(code_name=compile.metrics.code_name, is_unnumbered=compile.metrics.is_unnumbered),
                )
            )
    return found


def with_shared_failures(differences: Sequence[EntryDifference]) -> tuple[EntryDifference, ...]:
    """The same differences, where a failure that PyTorch named of one entry counts for every entry that requires the same.

    The call itself need not have looked at what failed, so its own guards may not show it: weights of another branch, say.
    """
    differences = _with_metadata(differences)
    causes = (cause for item in differences for cause in item.causes if cause.named_by_pytorch)
    shared = (cause for cause in causes if (cause.source and cause.prop.kind in _SHARED and cause.before) or cause.prop.kind in _STATE)
    named = {(cause.source, cause.prop, cause.before): cause for cause in shared}
    return tuple([_completed(item, named) for item in differences]) if named and len(differences) > 1 else tuple(differences)


def _with_metadata(differences: Sequence[EntryDifference]) -> Sequence[EntryDifference]:
    """The same differences, where the metadata of a tensor subclass counts for every entry that was made for the same.

    No trace holds it, and a call fails first on a size that an entry fixes: that entry has the metadata of a dynamic one which was
    compiled after it, but not for its metadata.
    """
    failed = [(item.entry, cause) for item in differences for cause in item.causes if cause.prop.kind is Kind.METADATA]
    found = []
    for item in differences if failed else ():
        known = {cause.source for cause in item.causes if cause.prop.kind is Kind.METADATA}
        more = {cause.source: cause for entry, cause in failed if cause.source not in known and _has_metadata_of(item.entry, entry)}
        found.append(item._replace(causes=(*item.causes, *more.values())))
    return found or differences


def _has_metadata_of(one: Compile, other: Compile) -> bool:
    """Whether the later of two entries was compiled for something else than its metadata, as far as the earlier one is concerned."""
    earlier, later = sorted((one, other), key=lambda compile: compile.order)
    label = earlier.label.partition("#")[0]
    return not any(reason.prop.kind is Kind.METADATA and reason.entry == label for reason in later.reasons)


def with_both_modes(differences: Iterable[EntryDifference], compile: Compile, in_both_modes: bool) -> Iterator[EntryDifference]:
    """The same differences where calls with and without gradients each need a graph.

    That is so of a function ``in_both_modes``, and where the mode changed with ``train()`` or ``eval()``, or with a model that is trained
    and one whose parameters are frozen, such as the average of its weights. Those without may be in inference mode, which has graphs of
    its own.
    """
    for item in differences:
        if not in_both_modes and not any(cause.codes[0] == _TRAINING or _is_of_frozen(cause) for cause in item.causes):
            yield item
            continue
        modes = {entry.guards.facts.get((Source(), GRAD_MODE)) for entry in (item.entry, compile) if entry.guards}
        is_of_both = len(modes) > 1
        causes = tuple(
            cause._replace(own_verdict=Verdict.JUSTIFIED, own_remedy=_BOTH_MODES)
            if cause.codes == (_GRAD_MODE,) or (is_of_both and cause.prop == INFERENCE_MODE)
            else cause
            for cause in item.causes
        )
        yield item._replace(causes=causes)


def _is_of_frozen(cause: Cause) -> bool:
    """Whether a parameter requires grad in one of the two calls alone."""
    return cause.prop.kind is Kind.REQUIRES_GRAD and cause.source.is_registered


_STRIDES, _GRAD_MODE, _TRAINING, _OTHER_TYPE, _OTHER_FUNCTION, _NONE_OR_VALUE = "SL105", "SL305", "SL316", "SL310", "SL309", "SL322"
_MODES = (_GRAD_MODE, _TRAINING)
# As guards name it; constants other than None are in quotes, numbers, or True and False.
_TYPE_NAME = re.compile(r"(?!(?:True|False)$)[A-Za-z_][\w.]*$")
_OF_ARGUMENTS = re.compile(r"type\((?:args|kwargs)\b")
_BOTH_MODES = "accept two graphs: the function runs with gradients and without"


def _completed(item: EntryDifference, named: Mapping[tuple[Source, Property, str], Cause]) -> EntryDifference:
    tree = item.entry.guards
    known = {(cause.source, cause.prop) for cause in item.causes}
    more = [
        cause._replace(named_by_pytorch=False)
        for (*key, _), cause in named.items()
        if tree and tuple(key) not in known and cause.axis not in item.consequences and _requires_the_same(item.entry, tree, cause)
    ]
    return item._replace(causes=(*item.causes, *more)) if more and item.causes else item


def _requires_the_same(entry: Compile, tree: GuardTree, cause: Cause) -> bool:
    """Whether an entry requires what the call does not satisfy. State that had not changed when it was compiled is that of the others."""
    if cause.prop.kind in _STATE:
        return all(reason.prop.kind is not cause.prop.kind for reason in entry.reasons)
    required = tree.facts.get((cause.source, cause.prop))
    if required is None and cause.prop.kind is Kind.LENGTH and cause.source in tree.sources:
        # the guard on a dict has no leaf for its length, and lists the keys that have a guard
        names = (cause.source, without_locals(cause.source))
        had_another = any(reason.prop == cause.prop and reason.source in names for reason in entry.reasons)
        required = None if had_another else tree.key_counts.get(cause.source, 0)
    if required is None and cause.prop == TYPE:  # a constant is of one type, too
        value = tree.facts.get((cause.source, VALUE))
        return value is not None and constant_type(str(value)) == cause.before
    if required is not None and cause.prop == TYPE and cause.source in tree.types:  # by its name; what is required is an id
        return type_known(tree.types[cause.source]) == cause.before
    return required is not None and str(required) == cause.before


def without_replaced(differences: Sequence[EntryDifference]) -> tuple[EntryDifference, ...]:
    """The same differences, without entries of which another one is a dynamic version that does not accept the call either.

    A reason names the first guard that failed alone. The later entry was made because of the very size or int that is named of the
    earlier one, and fails in something else: so would the earlier one with that marked. One for a size of 0 or 1 is apart from it anyway.
    """
    versions: dict[tuple[Source, Property], list[EntryDifference]] = {}
    for item in differences if len(differences) > 1 else ():
        for key in {(with_locals(reason.source), reason.prop) for reason in item.entry.reasons if reason.entry and item.causes}:
            versions.setdefault(key, []).append(item)
    return tuple([item for item in differences if not _is_replaced(item, versions)])


def _is_replaced(item: EntryDifference, versions: Mapping[tuple[Source, Property], Sequence[EntryDifference]]) -> bool:
    """Whether there is such an entry for each cause, among those that were made because of it."""
    is_small = bool(item.causes) and all(cause.is_size and cause.before in _ZERO_OR_ONE for cause in item.causes)
    if not item.causes or not (is_small or marks_act(item)):
        return False
    label = item.entry.label.partition("#")[0]
    keys = {(cause.source, cause.prop) for cause in item.causes}
    return all(
        any(
            keys.isdisjoint((cause.source, cause.prop) for cause in found.causes)
            and (
                is_small or any((with_locals(reason.source), reason.prop, reason.entry) == (*key, label) for reason in found.entry.reasons)
            )
            for found in versions.get(key, ())
        )
        for key in keys
    )


def nearest(differences: Sequence[EntryDifference], compile: Compile) -> EntryDifference | None:
    """Fewest objects of another type, then one that PyTorch still has, then fewest causes that are not sizes, then one for as many
    dims, then one for the same of two modes that need a graph each (with and without gradients, training and evaluation), then fewest
    ints of which the entry needs 0 or 1, then one for as many items of each list, then one that does not differ in sizes as well as in
    other things, then a similar graph, then fewest causes that are not even ints (one whose exact value led to another graph is not),
    then fewest size causes, then fewest consequences, then one for any float but NaN, then fewest changes to what the guards do not
    name, then the most recently used. One that differs in strides alone, or in being a view, comes before one for other sizes that a
    mark does not merge; one that differs in a single item of a list or dict before one for another length or other keys of it, whose
    items are not compared.
    """
    explained = [((_other_types(item), _is_discarded(item), item.non_size_causes), item) for item in differences if item.causes]
    if not explained:
        return None
    fewest = min(numbers for numbers, _ in explained)
    near = [item for numbers, item in explained if numbers == fewest]
    near = _with_one_other_item([item for _, item in explained], near) or near
    if any(any_blocks_marking(cause.codes) for item in near for cause in item.causes):
        copied = [item for _, item in explained if all(map(_is_removed_by_copy, item.causes))]
        near = copied or near
    if len(near) == 1:
        return near[0]

    def distance(item: EntryDifference) -> tuple[bool, bool, int, bool, bool, bool, int, int, int, bool, int]:
        has_other_rank = any(cause.prop.kind is Kind.RANK for cause in item.causes)
        small = sum([_is_exact_int(cause) and _SMALL.search(cause.before) is not None for cause in item.causes])
        is_similar = similar(item.entry, compile)
        hard = sum([not cause.size_related or (not is_similar and _is_exact_int(cause)) for cause in item.causes])
        following = len(item.consequences) if hard else 0  # those of a size are strides and guards that it moves
        unnamed = sum([cause.after == Described.OTHER_OBJECT.value for cause in item.causes])
        has_any_value = any(cause.prop.kind is Kind.NAN for cause in item.causes)  # of a float, but for NaN
        has_other_length = any(cause.prop.kind in _CONTENTS for cause in item.causes)
        is_mixed = item.non_size_causes > 0 and any(cause.is_size for cause in item.causes)
        axes = len({cause.axis for cause in item.causes})
        is_of_other_mode = any(cause.codes[0] in _MODES and cause.verdict is Verdict.JUSTIFIED for cause in item.causes)
        return (
            has_other_rank,
            is_of_other_mode,
            small,
            has_other_length,
            is_mixed,
            not is_similar,
            hard,
            axes,
            following,
            not has_any_value,
            unnamed,
        )

    return min(near, key=distance)


def _with_one_other_item(differences: Iterable[EntryDifference], near: Iterable[EntryDifference]) -> list[EntryDifference]:
    """The entries that differ in a single item of a list or dict of which all near ones have another length or other keys."""
    contents = (frozenset(cause.source for cause in item.causes if cause.prop.kind in _CONTENTS) for item in near)
    holders = frozenset.intersection(*contents)
    return [item for item in differences if any(_is_of_one_item(item, holder) for holder in holders)]


def _is_of_one_item(item: EntryDifference, holder: Source) -> bool:
    first = item.causes[0].source if item.causes else Source()
    key = _KEY.match(first, len(holder)) if first.startswith(holder) else None
    return key is not None and all(cause.source.startswith(f"{holder}{key[0]}") for cause in item.causes)


def _is_exact_int(cause: Cause) -> bool:
    """Whether it is an int whose exact value the code needs."""
    return not cause.is_size and any_blocks_marking(cause.codes)


def _is_removed_by_copy(cause: Cause) -> bool:
    return cause.codes == (_STRIDES,) or cause.prop.kind is Kind.VIEW


def _other_types(item: EntryDifference) -> int:
    """How many objects are of another type: an entry for other values of the same types is for calls of the same kind. Two functions are
    two values, however they are made, and the items of one list count once. A function that is passed other types counts as one of them,
    and so does an object in place of None, such as a state that the first call has not.
    """
    takes_others = any(map(_OF_ARGUMENTS.match, item.consequences)) and any(cause.codes[0] == _OTHER_FUNCTION for cause in item.causes)
    other = (cause for cause in item.causes if cause.codes[0] == _OTHER_TYPE or _is_none_or_object(cause))
    types = {_ITEM.sub("", cause.source) for cause in other if not {cause.before, cause.after} <= KINDS_OF_FUNCTIONS.keys()}
    return len(types) + takes_others


def _is_none_or_object(cause: Cause) -> bool:
    """Whether a value is None in one of two calls, and an object of some type in the other: no tensor, and no constant."""
    values = {cause.before, cause.after}
    return cause.codes[0] == _NONE_OR_VALUE and "None" in values and all(_TYPE_NAME.match(value) for value in values)


def _is_discarded(item: EntryDifference) -> bool:
    """Whether PyTorch discarded the entry, with an object that is gone."""
    return any(cause.prop.kind is Kind.LIFETIME for cause in item.causes)


def is_what_marks_are_for(served: EntryDifference, best: EntryDifference) -> bool:
    """Whether to compare a call with the entry whose graph it could reuse if sizes were marked, and not with the nearest one.

    The nearest may differ in what no mark removes, such as a size of 1. It stays the one where it differs in sizes alone, and the other
    in ints.
    """
    is_of_sizes = all(cause.size_related for cause in best.causes)
    return not marks_act(best) and (not is_of_sizes or served.non_size_causes <= best.non_size_causes)

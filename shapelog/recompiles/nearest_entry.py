"""Which earlier entry a recompile is compared with: the nearest of those that its call was compared with at run time."""

from collections.abc import Sequence

from shapelog.model.ids import parse_compile_id
from shapelog.model.trace import Compile, Outcome
from shapelog.recompiles.causes import EntryDifference
from shapelog.recompiles.graph_reuse import similar


def candidates(earlier: Sequence[Compile], compile: Compile) -> list[Compile]:
    """The cache entries that the call was compared with, most recently used first: those PyTorch lists, else all earlier ones."""
    if not compile.reasons:
        return list(earlier[::-1])
    by_label = {entry.label.partition("#")[0]: entry for entry in earlier}
    listed = [by_label[reason.entry] for reason in compile.reasons if reason.entry in by_label]
    return list(dict.fromkeys(listed)) if listed else list(earlier[::-1])


def entries_outside_trace(earlier: Sequence[Compile], compile: Compile) -> list[Compile]:
    """The entries that the reasons of a compile name and the trace does not hold: made before a recording began, or lost.

    All that is known of them is what those reasons state.
    """
    labels = {entry.label.partition("#")[0] for entry in earlier}
    found = []
    for name in dict.fromkeys(reason.entry for reason in compile.reasons):
        identity = parse_compile_id(name)
        if identity is not None and name not in labels:
            found.append(
                Compile(
                    id=identity,
                    label=name,
                    rank=compile.rank,
                    process=compile.process,
                    order=-1,
                    has_reasons_record=True,
                    outcome=Outcome.COMPILED,
                )
            )
    return found


def nearest(differences: Sequence[EntryDifference], compile: Compile) -> EntryDifference | None:
    """Fewest causes that are not sizes, then a similar graph, then fewest causes that are not even ints, then fewest size causes, then
    fewest consequences, then the most recently used.
    """
    explained = [(item.non_size_causes, item) for item in differences if item.causes]
    if not explained:
        return None
    fewest = min(number for number, _ in explained)
    near = [item for number, item in explained if number == fewest]
    if len(near) == 1:
        return near[0]

    def distance(item: EntryDifference) -> tuple[bool, int, int, int]:
        hard = sum([not cause.size_related for cause in item.causes])
        following = len(item.consequences) if hard else 0  # those of a size are strides and guards that it moves
        return not similar(item.entry, compile), hard, len({cause.axis for cause in item.causes}), following

    return min(near, key=distance)

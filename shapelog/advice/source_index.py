"""What a trace has at a source, for questions that come up for each mark: one pass over the trace answers all of them."""

from bisect import bisect_left
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

from shapelog.advice.marks import Mark
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.guards.leaves import Key
from shapelog.reading.payloads.guards.tree import Guard
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile


class GuardedSize(NamedTuple):
    """The guard on one size in the first compile of a frame."""

    frame: Frame
    guard: Guard


class SourceIndex:
    """What the frames of a trace have at each source, in the order of the trace."""

    def __init__(self, explained: Explanations) -> None:
        self._explained = explained
        self._frames = explained.trace.frames
        self._causes: dict[Frame, dict[Source, list[Cause]]] = {}
        self._varying: dict[Frame, list[Source]] = {}
        self._sizes_in_entries: dict[Frame, dict[Source, list[tuple[int, ...]]]] = {}
        self._dynamic: dict[Frame, bool] = {}
        self._symbolic: dict[Frame, dict[tuple[Outcome, Source], Compile]] = {}

    def with_int(self, source: Source) -> list[Frame]:
        """Those whose guards or symbols have an int there."""
        return self._ints.get(source, [])

    def with_tensor_or_value(self, source: Source) -> list[Frame]:
        """Those that have a tensor there, or whose guards check a value there."""
        return self._tensors_and_values.get(source, [])

    def broken_with_symbol(self, mark: Mark) -> list[Frame]:
        """Those with a graph break, and a symbol for this size or int."""
        return self._broken.get(mark.place, [])

    def causes(self, frame: Frame, source: Source) -> list[Cause]:
        """The causes of a frame's recompiles at a source, or at a size or stride of the tensor there."""
        if frame not in self._causes:
            self._causes[frame] = self._causes_of(frame)
        return self._causes[frame].get(source, [])

    def varied(self, frame: Frame, source: Source) -> bool:
        """Whether a recompile of a frame has a cause at a source or below it."""
        if frame not in self._varying:
            self._varying[frame] = sorted({cause.source for item in self._explained.of_frame(frame) for cause in item.causes})
        found = self._varying[frame]
        at = bisect_left(found, source)
        return at < len(found) and found[at].startswith(source)

    def sizes(self, frame: Frame, source: Source) -> list[tuple[int, ...]]:
        """The sizes of the tensor at a source in the entries of a frame, in order."""
        return self._sizes_of(frame).get(source, [])

    def stayed(self, frame: Frame, mark: Mark) -> bool:
        """Whether a dim was a number that is the same, and more than 1, in each of several entries."""
        sizes = {size[mark.dim] for size in self.sizes(frame, mark.source) if mark.dim < len(size)}
        several = len(self.sizes(frame, mark.source)) > 1
        return several and len(sizes) == 1 and min(sizes) > 1 and self.first_symbolic(frame, mark.place, Outcome.COMPILED) is None

    def varies_further(self, sizes: frozenset[int]) -> bool:
        """Whether a dim of any frame had these sizes and others, two or more above 1: a batch, say, that other code has in full."""
        return any(sizes < other and len(other - {0, 1}) > 1 for other in self._sizes_of_dims)

    def has_dynamic_entry(self, frame: Frame) -> bool:
        """Whether something is symbolic in an entry of a frame."""
        if frame not in self._dynamic:
            self._dynamic[frame] = any(compile.is_dynamic for compile in frame.entries)
        return self._dynamic[frame]

    def first_symbolic(self, frame: Frame, source: Source, outcome: Outcome) -> Compile | None:
        """The first compile of a frame with this outcome in which an int was symbolic. Errors that the code raises do not count."""
        if frame not in self._symbolic:
            found: dict[tuple[Outcome, Source], Compile] = {}
            made = (item for item in frame.compiles if item.outcome is not Outcome.FAILED or not item.failure.is_raised_by_code)
            for compile in made:
                for place in self._explained.facts.of(compile).symbolic:
                    found.setdefault((compile.outcome, place), compile)
            self._symbolic[frame] = found
        return self._symbolic[frame].get((outcome, source))

    @cached_property
    def _sizes_of_dims(self) -> frozenset[frozenset[int]]:
        """The sizes that each dim of each frame had."""
        return frozenset(
            frozenset(size for size in sizes if size is not None)
            for frame in self._frames
            for tensors in self._sizes_of(frame).values()
            for sizes in zip_longest(*tensors)
        )

    @cached_property
    def failed_with_symbols(self) -> list[Recompile]:
        """The compiles that failed where sizes and ints alone differed from an earlier entry. Errors that the code raises do not count."""
        return [
            item
            for item in self._explained.recompiles
            if item.compile.outcome is Outcome.FAILED
            and item.causes
            and all(cause.size_related for cause in item.causes)
            and not (item.compile.is_forbidden or item.compile.failure.is_raised_by_code)
        ]

    def with_guarded_size(self, key: Key) -> list[GuardedSize]:
        """Those whose first compile has a guard on this size, with the guard."""
        return self._sizes.get(key, [])

    @cached_property
    def _ints(self) -> dict[Source, list[Frame]]:
        return self._by_place(_ints_of, self._frames)

    @cached_property
    def _tensors_and_values(self) -> dict[Source, list[Frame]]:
        return self._by_place(_tensors_and_values_of, self._frames)

    @cached_property
    def _broken(self) -> dict[Source, list[Frame]]:
        frames = [frame for frame in self._frames if any(compile.breaks for compile in frame.compiles)]
        return self._by_place(lambda compile: self._explained.facts.of(compile).symbolic, frames)

    @cached_property
    def _sizes(self) -> dict[Key, list[GuardedSize]]:
        found: dict[Key, list[GuardedSize]] = {}
        for frame in self._frames:
            tree = frame.compiles[0].guards
            for key, guard in tree.guarded_sizes if tree else ():
                found.setdefault(key, []).append(GuardedSize(frame, guard))
        return found

    def _sizes_of(self, frame: Frame) -> dict[Source, list[tuple[int, ...]]]:
        if frame not in self._sizes_in_entries:
            inputs = (item for compile in frame.entries for item in {item.source: item for item in reversed(compile.inputs)}.values())
            by_source = grouped(inputs, lambda item: item.source)
            self._sizes_in_entries[frame] = {place: [item.size for item in items] for place, items in by_source.items()}
        return self._sizes_in_entries[frame]

    def _causes_of(self, frame: Frame) -> dict[Source, list[Cause]]:
        found: dict[Source, list[Cause]] = {}
        for cause in (cause for item in self._explained.of_frame(frame) for cause in item.causes):
            part = cause.source.tensor_part
            for source in (cause.source, part.tensor) if part else (cause.source,):
                found.setdefault(source, []).append(cause)
        return found

    @staticmethod
    def _by_place(places: Callable[[Compile], Iterable[Source]], frames: Iterable[Frame]) -> dict[Source, list[Frame]]:
        found: dict[Source, list[Frame]] = {}
        for frame in frames:
            for place in dict.fromkeys(place for compile in frame.compiles for place in places(compile)):
                found.setdefault(place, []).append(frame)
        return found


def _ints_of(compile: Compile) -> Iterable[Source]:
    yield from compile.guards.guarded_ints if compile.guards else ()
    yield from (symbol.source.unwrapped for symbol in compile.symbols)


def _tensors_and_values_of(compile: Compile) -> Iterable[Source]:
    yield from (item.source for item in compile.inputs)
    yield from compile.guards.guarded_values if compile.guards else ()

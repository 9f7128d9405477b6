"""Tensors that a function keeps for its next call, as an attribute or item of an object that it changes: a cache that it writes to."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from shapelog.advice.call_lines import caller
from shapelog.advice.dynamism.calling_code import CallingCode
from shapelog.advice.dynamism.compiled_code import CompiledCode, OriginsOf, with_origins
from shapelog.advice.dynamism.equal_sizes import equal_sizes
from shapelog.advice.dynamism.graph_outputs import Fixed, GraphOutput, GraphOutputs, contiguous, evaluated, marks_by_symbol, symbol_values
from shapelog.advice.marks import Mark
from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame, Function
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input

_SYMBOL = re.compile(r"[a-z]\w*")
# Of more compiles that a kept tensor may come from, the latest are asked.
_MOST_KEEPERS = 16


class _Kept(NamedTuple):
    """The outputs of a compile that may be what it keeps: their numbers by dtype and sizes, and which sizes are symbolic in any of them.

    ``made`` are the dtypes and sizes that they had when it was compiled; ``whole`` are the numbers of those whose elements lay one after
    the other. ``similar`` has all outputs of this compile and of others with a similar graph, and the marks behind the symbols in them.
    """

    numbers: dict[tuple[str, Fixed], list[int]]
    symbolic: frozenset[tuple[bool, ...]]
    made: frozenset[tuple[str, tuple[int, ...] | None]]
    whole: frozenset[int]
    similar: tuple[tuple[list[GraphOutput], dict[str, list[Mark]]], ...]

    def like(self, tensor: Input) -> Iterator[int]:
        """The numbers of the outputs that a tensor may be. A part of a tensor is not an output that was whole: code outside has cut it."""
        is_whole = tensor.stride == contiguous(tensor.size)
        for symbolic in self.symbolic:
            if len(symbolic) == len(tensor.size):
                fixed = tuple(None if is_symbolic else size for is_symbolic, size in zip(symbolic, tensor.size, strict=True))
                yield from (number for number in self.numbers.get((tensor.dtype, fixed), ()) if is_whole or number not in self.whole)


class _Keeper(NamedTuple):
    """An entry that changes an object of its caller, such as a cache that it writes to."""

    compile: Compile
    frame: Frame


@dataclass(eq=False, repr=False)
class KeptTensors:
    """Who made the tensors that functions keep. ``origins_of`` are those of a dim of another tensor."""

    code: CompiledCode
    outputs: GraphOutputs
    calling: CallingCode
    origins_of: OriginsOf
    _marks: dict[tuple[Compile, str, tuple[int, ...], tuple[int, ...], int], tuple[tuple[Mark, ...], ...]] = field(default_factory=dict)
    _makers: dict[tuple[Frame, Mark], list[tuple[Frame, tuple[Mark, ...]]]] = field(default_factory=dict)
    _of_keepers: dict[Compile, _Kept] = field(default_factory=dict)
    _called_once: dict[Frame, Compile | None] = field(default_factory=dict)

    def origins(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """Marks of which any one makes this dim of a kept tensor symbolic; () where it is not known to be one.

        What was made of other tensors that it keeps, as the keys of a cache look like its values, is made of what those are made of.
        """
        first = frame, Mark(source, dim)
        found: list[set[Mark]] = []
        pending, asked = [first], {first}
        while pending:
            for maker, marks in self._makers_of(*pending.pop()):
                made_of = [(maker, mark) for mark in marks]
                if all(item in asked or self._makers_of(*item) for item in made_of):
                    pending += [item for item in made_of if item not in asked]
                    asked.update(made_of)
                else:
                    found.append(with_origins(maker, marks, self.origins_of))
        return tuple(sorted(set.intersection(*found))) if found else ()

    def partners(self, frame: Frame, origins: Iterable[Mark]) -> tuple[Mark, ...]:
        """What else has to be marked with the origins of a tensor that a frame keeps: the code needs these sizes equal."""
        needed = {partner for mark in origins for partner in self._equal.get(mark, ())}
        return tuple(sorted(mark for mark in needed if not self._makers_of(frame, mark)))

    def _makers_of(self, frame: Frame, mark: Mark) -> list[tuple[Frame, tuple[Mark, ...]]]:
        """The frames that may have made a tensor that a function keeps, each with the marks of which one makes the dim symbolic in it.

        Every compile that takes it comes after one of the same function that changed its owner and has an output that it can be: first
        one that did without the tensor, later those that made it anew, or of what was kept; [] where one has none. One whose output had
        its very sizes when it was compiled comes before those whose output would have them in another call.
        """
        if (frame, mark) not in self._makers:
            self._makers[frame, mark] = [] if mark.is_int else self._find_makers(frame, mark)
        return self._makers[frame, mark]

    def _find_makers(self, frame: Frame, mark: Mark) -> list[tuple[Frame, tuple[Mark, ...]]]:
        keepers = self._keepers[frame.function]
        if not keepers or mark.source.is_registered or not self.code.runs_autograd(frame) or self._is_changed_outside(frame, mark.source):
            return []
        found: dict[tuple[Frame, tuple[Mark, ...]], None] = {}
        first: Input | None = None
        for compile in frame.entries:
            tensor = self.outputs.inputs_of(compile).by_source.get(mark.source)
            if tensor is None:
                continue
            first = first or tensor
            earlier = keepers[: bisect_left(keepers, compile.order, key=lambda item: item.compile.order)][-_MOST_KEEPERS:]
            made = [(keeper, marks) for keeper in earlier for marks in self._marks_of(keeper.compile, tensor, mark.dim)]
            if not made and found and self._is_cut(earlier, tensor) and tensor.size[mark.dim] != first.size[mark.dim]:
                continue  # a size that changed is dynamic by itself
            if not made:
                return []
            exact = [item for item in made if (tensor.dtype, tensor.size) in self._kept_by(item[0].compile).made]
            found.update(dict.fromkeys((keeper.frame, marks) for keeper, marks in exact or made))
        return list(found)

    def _is_changed_outside(self, frame: Frame, source: Source) -> bool:
        """Whether the only line that calls a function does so in a loop that changes the owner of a tensor after each call."""
        if frame not in self._called_once:
            called = {line: compile for compile in frame.entries if (line := caller(compile))}
            self._called_once[frame] = next(iter(called.values())) if len(called) == 1 else None
        taker = self._called_once[frame]
        return taker is not None and self.calling.changes(taker, source)

    def _is_cut(self, keepers: Iterable[_Keeper], tensor: Input) -> bool:
        """Whether a tensor looks like a part of what a function keeps, which code outside has cut."""
        whole = tensor._replace(stride=contiguous(tensor.size))
        owners = (keeper for keeper in keepers if any(map(tensor.source.is_below, keeper.compile.changed_objects)))
        return whole != tensor and any(next(self._kept_by(keeper.compile).like(whole), None) is not None for keeper in owners)

    def _marks_of(self, keeper: Compile, tensor: Input, dim: int) -> tuple[tuple[Mark, ...], ...]:
        """The marks behind a dim of each output that a tensor can be of a compile that changes its owner; () where none is known."""
        if not any(map(tensor.source.is_below, keeper.changed_objects)):
            return ()
        key = keeper, tensor.dtype, tensor.size, tensor.stride, dim
        if key not in self._marks:
            found = tuple(dict.fromkeys(self._marks_of_outputs(keeper, tensor, dim)))
            self._marks[key] = found if len(found) <= _MOST_KEEPERS else ((),)
        return self._marks[key]

    def _marks_of_outputs(self, keeper: Compile, tensor: Input, dim: int) -> Iterator[tuple[Mark, ...]]:
        """The same of each output that a tensor looks like. What is a number in it may be symbolic in a compile of a similar graph."""
        kept = self._kept_by(keeper)
        for number in kept.like(tensor):
            dims = ((made[number].dims[dim : dim + 1], known) for made, known in kept.similar if len(made) > number)
            found = (mark for texts, known in dims for text in texts for name in _SYMBOL.findall(text) for mark in known.get(name, ()))
            yield tuple(dict.fromkeys(found))

    def _kept_by(self, keeper: Compile) -> _Kept:
        if keeper not in self._of_keepers:
            others, values = frozenset(_looks_of_others(keeper)), symbol_values(keeper)
            similar = self._dynamic_by_key.get(keeper.graph.key, ()) if keeper.graph else ()
            numbers: dict[tuple[str, Fixed], list[int]] = {}
            made, whole = set(), set()
            for number, output in enumerate(self.outputs.outputs_of(keeper)):
                sizes, strides = evaluated(output.dims, values), evaluated(output.strides, values)
                if (output.dtype, sizes, strides) not in others:
                    numbers.setdefault((output.dtype, output.fixed), []).append(number)
                    made.add((output.dtype, sizes))
                    whole |= {number} if sizes is not None and strides == contiguous(sizes) else set()
            symbolic = frozenset(tuple(size is None for size in fixed) for _, fixed in numbers)
            outputs = tuple((self.outputs.outputs_of(item), marks_by_symbol(item)) for item in (keeper, *similar))
            self._of_keepers[keeper] = _Kept(numbers, symbolic, frozenset(made), frozenset(whole), outputs)
        return self._of_keepers[keeper]

    @cached_property
    def _dynamic_by_key(self) -> dict[str, list[Compile]]:
        """The dynamic entries by the key that similar graphs share; of many the latest."""
        made = ((item.compile, item.compile.graph) for items in self._keepers.values() for item in items if item.compile.is_dynamic)
        found = grouped([(compile, graph.key) for compile, graph in made if graph], lambda item: item[1])
        return {key: [compile for compile, _ in items[-_MOST_KEEPERS:]] for key, items in found.items()}

    @cached_property
    def _keepers(self) -> dict[Function, list[_Keeper]]:
        """The entries of each function that change an object of its caller, in order of compilation."""
        return {
            function: sorted(
                (_Keeper(compile, frame) for frame in frames for compile in frame.entries if compile.changed_objects),
                key=lambda item: item.compile.order,
            )
            for function, frames in self.code.parts.items()
        }

    @cached_property
    def _equal(self) -> dict[Mark, set[Mark]]:
        """The sizes of inputs that the code of keepers needs equal to each other."""
        found: dict[Mark, set[Mark]] = {}
        for keeper in chain.from_iterable(self._keepers.values()):
            for mark, equal in equal_sizes(keeper.compile).items():
                found.setdefault(mark, set()).update(equal)
        return found


def _looks_of_others(keeper: Compile) -> Iterator[tuple[str, tuple[int, ...] | None, tuple[int, ...] | None]]:
    """The dtype, sizes and strides of each tensor that a compile took, and did not keep itself: what it keeps may be that one."""
    own = keeper.changed_objects
    for item in keeper.inputs:
        if not item.source.is_registered and not any(map(item.source.is_below, own)):
            yield item.dtype, item.size, item.stride

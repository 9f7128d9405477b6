"""Tensors that one compiled function returns, by themselves or in a container, and that are passed on to another one."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from shapelog.advice.call_lines import Link, caller, link
from shapelog.advice.dynamism.calling_code import CallingCode
from shapelog.advice.dynamism.compiled_code import CompiledCode, OriginsOf, with_origins
from shapelog.advice.dynamism.equal_sizes import equal_sizes
from shapelog.advice.dynamism.graph_outputs import GraphOutputs, may_require_grad, shared
from shapelog.advice.dynamism.resumed_tensors import ResumedTensors
from shapelog.advice.marks import Mark, mark_at
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input

# Of more compiles right before another one, the latest are asked for what it takes.
_MOST_BEFORE = 16
# The dtypes of tensors that autograd records, as they begin.
_WITH_GRADIENTS = ("float", "bfloat", "complex")
_ITEM_OF_LIST = re.compile(r"^L\['(?!args'|_)\w+'\](?:\[\d{1,9}\])+$")


class _Through(NamedTuple):
    """The marks behind a dim of an output that an input may be, what the lines of their callers show about that, and its makers."""

    marks: tuple[Mark, ...]
    link: Link
    makers: tuple[Compile, ...] = ()


# A compile in which a tensor has other sizes than before, the tensor, and what was made since.
_Change = tuple[Compile, Input, list[Compile]]


class Passed(NamedTuple):
    """Marks of which any one makes a dim of a tensor symbolic that other code returned; none where no such code is known.

    ``needed`` has to be marked with them. ``is_guessed``: they are known by sizes alone, as no line shows that it is the same tensor.
    """

    marks: tuple[Mark, ...] = ()
    needed: frozenset[Mark] = frozenset()
    is_guessed: bool = False


@dataclass(eq=False, repr=False)
class PassedTensors:
    """Who made the tensors that one function returned and another one takes. ``origins_of`` are those of a dim of another tensor."""

    code: CompiledCode
    outputs: GraphOutputs
    resumed: ResumedTensors
    calling: CallingCode
    origins_of: OriginsOf
    _small: dict[tuple[Compile, Compile], bool] = field(default_factory=dict)

    def origins(self, frame: Frame, source: Source, dim: int) -> Passed:
        """The marks behind a tensor that another compiled function returned, by itself or in a container, and that is passed on.

        It is known by its sizes and dtype: each time they changed, the other function was compiled for them just before, with an output
        that only this input can be. A part of an output does not have its dynamic dims. A change to a size of 0 or 1 shows nothing: that
        is a constant in the output, too, and has a graph of its own.
        """
        if source.is_registered or not self.code.runs_autograd(frame):
            return Passed()
        changes = [item for item in self._changes(frame, source) if item[1].size[dim : dim + 1] > (1,)]
        is_result = self.resumed.is_result(frame, source)
        own = {entry for part in (self.code.parts_of(frame) if is_result else [frame]) for entry in part.entries}
        others = [[item for item in made if item not in own] for _, _, made in changes]
        through = [self._last_made(made, compile, tensor, dim) for made, (compile, tensor, _) in zip(others, changes, strict=True)]
        if any(item.marks for item in through):
            makers = [maker for item in through for maker in item.makers]
            unmade = [change for item, change in zip(through, changes, strict=True) if not item.marks]
            is_unknown = any(tensor.is_part or self._precedes(compile, tensor, makers) for compile, tensor, _ in unmade)
        else:  # perhaps it is what this function made in another call; a cache that grows with each one is not
            is_open = not (source.is_attribute or is_result)
            through = [self._last_made(made if is_open else (), compile, tensor, dim) for compile, tensor, made in changes]
            is_unknown = not all(item.marks for item in through)
        links = {item.link for item in through if item.marks}
        if is_unknown:
            return self._taken_first(frame, source, dim, changes)
        if Link.NONE in links:
            return Passed()
        marks = dict.fromkeys(mark for item in through for mark in item.marks)
        pinned = self._pinned_before(frame, source, dim, [maker for item in through for maker in item.makers])
        if marks and pinned.issuperset(marks):
            return Passed()
        is_guessed = links != {Link.DIRECT}
        called = [*(compile for compile, _, _ in changes), *(maker for item in through for maker in item.makers)]
        if is_guessed and any(self.code.runs_eagerly(caller(compile)) for compile in called):
            return Passed()
        return Passed(
            tuple(mark for mark in marks if mark not in pinned),
            frozenset(mark for item in through for maker in item.makers for mark in self._needed_with(maker, item.marks)),
            is_guessed,
        )

    def _pinned_before(self, frame: Frame, source: Source, dim: int, makers: Sequence[Compile]) -> frozenset[Mark]:
        """The marks that leave a dim static where the first graph took it: what made it there, another graph of a maker, needs their value.

        So it is where that one takes a further tensor, whose static size the code needs equal.
        """
        if not makers:
            return frozenset()
        first = next(entry for entry in frame.entries if source in self.outputs.inputs_of(entry).by_source)
        tensor, functions = self.outputs.inputs_of(first).by_source[source], {self.code.frame_of[maker] for maker in makers}
        for maker in self.code.made_before(first, _MOST_BEFORE):
            numbers = self._outputs_taken(first, tensor, maker) if self.code.frame_of[maker] in functions else ()
            entry = self.code.dynamic_entry_like(maker) if numbers else None
            if entry:
                outputs = [output for number in numbers for output in self.outputs.outputs_of(entry)[number:][:1]]
                is_static = all(output.fixed[dim : dim + 1] != (None,) for output in outputs)
                pinned = [mark_at(place.unwrapped) for item in entry.specializations for place in item.sources]
                return frozenset(pinned if is_static else ())
        return frozenset()

    def _precedes(self, compile: Compile, tensor: Input, makers: Sequence[Compile]) -> bool:
        """Whether a function that returns such a tensor had no graph yet for its sizes when another one was compiled for it."""
        functions = {self.code.frame_of[maker] for maker in makers}
        entries = [entry for frame in functions for entry in frame.entries if entry.order < compile.order]
        looks = (self.outputs.dims_by_look_of(entry) for entry in entries)
        return bool(functions) and not any(
            entry.is_dynamic or (tensor.size, tensor.dtype) in look for entry, look in zip(entries, looks, strict=True)
        )

    def _taken_first(self, frame: Frame, source: Source, dim: int, changes: Sequence[_Change]) -> Passed:
        """The marks behind a tensor that the first graph which takes it took from an earlier one, by the lines of later compiles.

        Where it is dynamic there, that graph serves what comes later as well, whoever made it, such as code that takes rows out of it.
        A graph for a size of 0 or 1, as of the first token or of a batch of one, does not serve calls with other sizes: of these, the
        first one has to have taken it from an earlier graph, too.
        """
        takers = [compile for compile in frame.compiles if source in self.outputs.inputs_of(compile).by_source]
        firsts = takers[:1]
        for compile, _, _ in changes:
            if all(self._has_small_size_of(first, compile) for first in firsts):
                firsts.append(compile)
        found = [self._taken_from_earlier(takers, first, source, dim, changes) for first in firsts]
        if not all(item.marks for item in found):
            return Passed()
        return Passed(
            tuple(sorted({mark for item in found for mark in item.marks})), frozenset(mark for item in found for mark in item.needed)
        )

    def _taken_from_earlier(
        self, takers: Sequence[Compile], first: Compile, source: Source, dim: int, changes: Sequence[_Change]
    ) -> Passed:
        """The marks behind a tensor that one of its takers took from an earlier graph.

        That is one of another function, or of this one, which returns the first state or cache where it is passed None.
        """
        tensor = self.outputs.inputs_of(first).by_source[source]
        if not tensor.size[dim : dim + 1] > (1,):
            return Passed()
        taker = next((compile for compile in takers if caller(compile)), first)  # a static compile has no line of its caller
        for maker in self._returning_symbols(self.code.made_before(first, _MOST_BEFORE)):
            entry, numbers = self.code.dynamic_entry_like(maker), self._outputs_taken(first, tensor, maker)
            is_each_taken = len(self._alike(first, tensor)) == len(numbers)  # no other tensor can be one of them
            one, other = (maker, first) if caller(maker) and caller(first) else (entry, taker)  # the very call that made it, if known
            shown = self._link(one, other, source) if one and numbers else Link.UNKNOWN
            is_it = shown is Link.DIRECT or (
                shown is Link.NAMED and (is_each_taken or self.calling.leaves(taker, source)) and not self._is_larger_later(maker, changes)
            )
            if entry and is_it:
                outputs = [output for number in numbers for output in self.outputs.outputs_of(entry)[number:][:1]]
                marks = shared([self.outputs.marks(output.dims[dim], entry) for output in outputs if dim < len(output.dims)])
                return Passed(self._with_origins(maker, marks), frozenset(self._needed_with(entry, marks)))
        return Passed()

    def _is_larger_later(self, maker: Compile, changes: Sequence[_Change]) -> bool:
        """Whether the function that returned it was compiled right before a tensor was taken for it that is larger in some dim than all
        that it returned then: code in between repeats rows, say, and did so with the first tensor as well.
        """
        frame = self.code.frame_of[maker]
        return any(
            self.code.frame_of[item] is frame and _is_larger(tensor, self.outputs.dims_by_look_of(item))
            for _, tensor, made in changes
            for item in made[-1:]
        )

    def _outputs_taken(self, compile: Compile, tensor: Input, maker: Compile) -> Sequence[int]:
        """The numbers of the outputs one of which an input may be, () where the compile takes more such inputs than there are outputs.

        A part of a tensor is one only with the strides of the output, which is a part of the same.
        """
        numbers = self._numbers_of(tensor, maker)
        is_other = tensor.is_part and any(self.outputs.strides_of(maker, number) != tensor.stride for number in numbers)
        return () if is_other or len(self._alike(compile, tensor)) > len(numbers) else numbers

    def _alike(self, compile: Compile, tensor: Input) -> list[Input]:
        """The inputs that look like one, itself included, of the first graph that takes it.

        Where it came in with symbols, as what dynamic graphs return does, they are those that did as well: of none of them Dynamo has
        seen another size yet.
        """
        symbolic, inputs = self.outputs.symbolic_dims_of(compile), self.outputs.inputs_of(compile)
        own = symbolic.get(tensor.source, frozenset())
        return [item for item in inputs.like(tensor) if own <= symbolic.get(item.source, frozenset())]

    def _has_small_size_of(self, first: Compile, compile: Compile) -> bool:
        """Whether a size is 0 or 1 in the first of two compiles alone: its graph has that as a constant, whatever is marked."""
        if (first, compile) not in self._small:
            earlier, later = (self.outputs.inputs_of(item).by_source for item in (first, compile))
            pairs = ((tensor.size, later[source].size) for source, tensor in earlier.items() if source in later)
            self._small[first, compile] = any(one <= 1 < other for sizes in pairs for one, other in zip(*sizes, strict=False))
        return self._small[first, compile]

    def _with_origins(self, maker: Compile, marks: Sequence[Mark]) -> tuple[Mark, ...]:
        return tuple(sorted(with_origins(self.code.frame_of[maker], marks, self.origins_of)))

    def _needed_with(self, maker: Compile, marks: Sequence[Mark]) -> Iterator[Mark]:
        """The sizes that a line of the code of a maker needs equal to one of these, and that come from nowhere else."""
        equal, frame = equal_sizes(maker, by_code=True), self.code.frame_of[maker]
        for other in dict.fromkeys(other for mark in marks for other in equal.get(mark, ())):
            if not self.origins_of(frame, other.source, other.dim):
                yield other

    def _last_made(self, makers: Sequence[Compile], compile: Compile, tensor: Input, dim: int) -> _Through:
        """The marks behind a dim of the last output that this input is, or of those of all makers together."""
        for maker in reversed(makers):
            marks = self._only_output([maker], compile, tensor, dim) or self._one_of_outputs(maker, compile, tensor, dim)
            if marks:
                origins = self._with_origins(maker, marks)
                return _Through(origins, self._link(maker, compile, tensor.source), (maker,))
        return _Through(self._only_output(makers, compile, tensor, dim), Link.UNKNOWN)

    def _link(self, maker: Compile, taker: Compile, source: Source) -> Link:
        """What the lines show; by the source file, that the variable holds another tensor by then, or, where they show nothing, what a
        function does that calls the maker and not the taker.
        """
        known, made, taken = link(maker, taker, source), caller(maker), caller(taker)
        is_changed = made == taken and self.calling.changes(taker, source)  # by the rest of the loop around the one line
        if known in (Link.NAMED, Link.UNKNOWN) and (is_changed or self.calling.makes_anew(maker, taker, source)):
            return Link.NONE
        is_apart = made is not None and taken is not None and (made.file, made.name) != (taken.file, taken.name)
        return Link.NONE if known is Link.UNKNOWN and is_apart and self.calling.returns_another(maker) else known

    def _one_of_outputs(self, maker: Compile, compile: Compile, tensor: Input, dim: int) -> tuple[Mark, ...]:
        """The marks that all outputs share which an input looks like, where the lines of the callers show that it is one of them.

        Of more inputs than outputs of that look, one is another tensor, and the lines do not show which. A view of an output of other
        sizes, as in ``loss(values.flatten(), ...)``, is not one of them.
        """
        looks = self.outputs.dims_by_look_of(maker)
        outputs = self._dims_of(tensor, maker)
        inputs = [
            item
            for item in self.outputs.inputs_of(compile).like(tensor)
            if self._numbers_of(item, maker) and not (item.is_part and (item.base_size, item.dtype) in looks)
        ]
        if tensor not in inputs or len(inputs) > len(outputs) or link(maker, compile, tensor.source) is not Link.DIRECT:
            return ()
        return shared([self.outputs.marks(dims[dim], maker) for dims in outputs])

    def _only_output(self, makers: Sequence[Compile], compile: Compile, tensor: Input, dim: int) -> tuple[Mark, ...]:
        """The marks behind a dim of the outputs one of which this input is: those that all makers of such outputs share.

        () where there are more or fewer such inputs, or the dim is not symbolic in the outputs. One input that looks like each of two
        outputs may be a new tensor that was computed from both, such as a sample by its mean and deviation. The items of lists may be
        what several calls of each maker returned.
        """
        found = {maker: dims for maker in makers if (dims := self._dims_of(tensor, maker))}
        inputs, made = self._may_come_from(list(found), compile, tensor), sum(map(len, found.values()))
        calls, rest = divmod(len(inputs), made) if made else (0, 0)
        if rest or not calls or (calls > 1 and not _ITEM_OF_LIST.match(tensor.source)):
            return ()
        made_of = [self.outputs.marks(dims[0][dim], maker) for maker, dims in found.items()]
        return shared(made_of) or shared(list(map(self._with_equal, found, made_of)))

    def _numbers_of(self, tensor: Input, maker: Compile) -> Sequence[int]:
        """The numbers of the outputs of a compile that a tensor may be: those of its look that autograd knows as it does the tensor."""
        numbers = self.outputs.numbers_of(tensor, maker)
        if not numbers or _may_be_of(tensor, maker):
            return numbers
        detached = () if tensor.has_history or tensor.requires_grad else self.outputs.detached_of(maker)
        return [number for number in numbers if number in detached]

    def _dims_of(self, tensor: Input, maker: Compile) -> list[tuple[str, ...]]:
        """The dims of these outputs, as text."""
        found = self.outputs.outputs_of(maker)
        return [found[number].dims for number in self._numbers_of(tensor, maker)]

    def _with_equal(self, maker: Compile, marks: Sequence[Mark]) -> tuple[Mark, ...]:
        """Marks with those that its code needs equal: which of them has the symbol differs from graph to graph."""
        equal = equal_sizes(maker, by_code=True)
        return tuple(dict.fromkeys(other for mark in marks for other in (mark, *sorted(equal.get(mark, ())))))

    def _may_come_from(self, makers: Sequence[Compile], compile: Compile, tensor: Input) -> list[Input]:
        """The inputs that look like one, itself included, without those that no maker returned, by the lines or as autograd knows them."""
        like = self.outputs.inputs_of(compile).like(tensor)
        return [item for item in like if item is tensor or any(self._may_have_made(maker, compile, item) for maker in makers)]

    def _may_have_made(self, maker: Compile, compile: Compile, item: Input) -> bool:
        return bool(self._numbers_of(item, maker)) and link(maker, compile, item.source) is not Link.NONE

    def _returning_symbols(self, makers: Iterable[Compile]) -> list[Compile]:
        """Those whose outputs keep what is dynamic: AOTAutograd marks them so, another backend does not."""
        return [maker for maker in makers if self.code.runs_autograd(self.code.frame_of[maker])]

    def _changes(self, frame: Frame, source: Source) -> list[_Change]:
        """The compiles in which a tensor has other sizes than in the one before that took it, and what was made between the two."""
        taking = [(compile, tensor) for compile in frame.entries if (tensor := self.outputs.inputs_of(compile).by_source.get(source))]
        return [
            (compile, tensor, self._returning_symbols(self.code.made_between(previous, compile)))
            for (previous, before), (compile, tensor) in pairwise(taking)
            if before.size != tensor.size
        ]


def _is_larger(tensor: Input, looks: Iterable[tuple[tuple[int, ...], str]]) -> bool:
    """Whether some dim of a tensor is larger than in all outputs of its dtype that have as many dims."""
    sizes = [size for size, dtype in looks if dtype == tensor.dtype and len(size) == len(tensor.size)]
    return bool(sizes) and any(own > max(others) for own, *others in zip(tensor.size, *sizes, strict=True))


def _may_be_of(tensor: Input, maker: Compile) -> bool:
    """Whether a tensor may be an output of a compile, as far as autograd is concerned.

    What a graph that is trained returns has a history, what another one returns has none, and neither have bools and ints. What requires
    grad shows nothing if it is a leaf, or may be one.
    """
    if not tensor.dtype.startswith(_WITH_GRADIENTS):
        return True
    return (tensor.requires_grad and tensor.is_leaf is not False) or may_require_grad(maker) is tensor.has_history

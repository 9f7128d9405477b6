"""Dynamism that travels through compiled outputs, so that the tensors of a resumed function need no mark once their origin has one.

Since torch 2.0 AOTAutograd marks the symbolic dims of a graph's outputs on the tensors that it returns (``_dynamo_weak_dynamic_indices``,
in 2.13 ``_dynamo_propagated_dynamic_indices``); Dynamo makes these dims symbolic when such a tensor comes in again. Backends without
AOTAutograd, such as "eager", do not, and Python ints never carry it.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from operator import attrgetter
from typing import NamedTuple

from shapelog.advice.call_lines import Link, caller, link
from shapelog.advice.marks import Mark
from shapelog.grouping import connected, grouped
from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.model.frame import Frame, Function
from shapelog.model.payloads import Payloads
from shapelog.model.trace import Trace
from shapelog.reading.payloads.graphs import outputs
from shapelog.reading.payloads.guard_expressions import integer, parse, split_items
from shapelog.reading.payloads.guards import GuardTree, ShapeGuard, place_of
from shapelog.reading.payloads.properties import GRAD_MODE, RANK, TENSOR, size
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input

_ORDER = attrgetter("order")
_STACK = re.compile(r"^L\['___stack(\d{1,9})'\]")
# Graph breaks after which nothing is on Python's stack that the broken instruction returned.
_WITHOUT_RESULT = re.compile(r"branch|jump|store|setattr|setitem|delattr|delitem|assert|context manager", re.I)
_LOCAL = re.compile(r"^L\['(\w+)'\]$")
_ITEM_OF_LIST = re.compile(r"^L\['(?!args'|_)\w+'\](?:\[\d{1,9}\])+$")
# How fx writes dtypes.
_DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "b8": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "c64": "complex64",
    "c128": "complex128",
}
_NUMBERED = re.compile(r"_\d+$")
# Of more places that a tensor may come from, those farthest back are kept: a mark there serves most.
_MOST_ORIGINS = 32
# Of more compiles that a kept tensor may come from, the latest are asked.
_MOST_KEEPERS = 16
_SYMBOL = re.compile(r"[a-z]\w*")
_Fixed = tuple[int | None, ...]
_SHAPE = re.compile(r"^\w+\[([^\]]*)\](?:\[([^\]]*)\])?")


class _Output(NamedTuple):
    """An output of a graph: its dtype, "" where it is no tensor, its dims and strides as text."""

    dtype: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]

    @property
    def fixed(self) -> _Fixed:
        """Its sizes, None for those that are symbolic."""
        return tuple(integer(dim) if dim.isdecimal() else None for dim in self.dims)


class _Kept(NamedTuple):
    """The outputs of a compile that may be what it keeps: their numbers by dtype and sizes, and which sizes are symbolic in any of them.

    ``made`` are the dtypes and sizes that they had when it was compiled. ``similar`` has all outputs of this compile and of others with a
    similar graph, and the marks behind the symbols in them.
    """

    numbers: dict[tuple[str, _Fixed], list[int]]
    symbolic: frozenset[tuple[bool, ...]]
    made: frozenset[tuple[str, tuple[int, ...] | None]]
    similar: tuple[tuple[list[_Output], dict[str, list[Mark]]], ...]

    def like(self, tensor: Input) -> Iterator[int]:
        """The numbers of the outputs that a tensor may be."""
        for symbolic in self.symbolic:
            if len(symbolic) == len(tensor.size):
                fixed = tuple(None if is_symbolic else size for is_symbolic, size in zip(symbolic, tensor.size, strict=True))
                yield from self.numbers.get((tensor.dtype, fixed), ())


class _Inputs(NamedTuple):
    """The tensors of a compile by their sources, and, by size, the sources of those whose gradients are described with them.

    ``by_look`` are those that have a size and dtype, without parameters and buffers.
    """

    by_source: dict[Source, Input]
    with_grad: Mapping[tuple[int, ...], frozenset[Source]]
    by_look: Mapping[tuple[tuple[int, ...], str], Sequence[Input]]

    def like(self, tensor: Input) -> list[Input]:
        """The inputs that look like a tensor, itself included. One that autograd knows is not like those that it does not know."""
        candidates = self.by_look.get((tensor.size, tensor.dtype), ())
        return [item for item in candidates if item.has_history or not tensor.has_history]


class _Through(NamedTuple):
    """The marks behind a dim of an output that an input may be, what the lines of their callers show about that, and its makers."""

    marks: tuple[Mark, ...]
    link: Link
    makers: tuple[Compile, ...] = ()


class _Keeper(NamedTuple):
    """An entry that changes an object of its caller, such as a cache that it writes to."""

    compile: Compile
    frame: Frame


@dataclass(eq=False, repr=False)
class DynamismPropagation:
    """Where the tensors come from that compiled functions return, and resumed or other compiled functions take; asked one dim at a time."""

    trace: Trace
    _origins: dict[tuple[Frame, Source, int], tuple[Mark, ...]] = field(default_factory=dict)
    _guessed: set[tuple[Frame, Source, int]] = field(default_factory=set)
    _of_kept: set[tuple[Frame, Source, int]] = field(default_factory=set)
    _needed: dict[tuple[Frame, Source, int], set[Mark]] = field(default_factory=dict)
    _autograd: dict[Payloads, bool] = field(default_factory=dict)
    _makers: dict[Function, dict[str, list[Frame]]] = field(default_factory=dict)
    _guards: dict[Frame, Mapping[Source, list[tuple[Compile, GuardTree]]]] = field(default_factory=dict)
    _inputs: dict[Compile, _Inputs] = field(default_factory=dict)
    _kept_marks: dict[tuple[Compile, str, tuple[int, ...], int], tuple[tuple[Mark, ...], ...]] = field(default_factory=dict)
    _makers_by_kept: dict[tuple[Frame, Mark], list[tuple[Frame, tuple[Mark, ...]]]] = field(default_factory=dict)
    _of_keepers: dict[Compile, _Kept] = field(default_factory=dict)
    _outputs: dict[Compile, list[_Output]] = field(default_factory=dict)
    _by_symbol: dict[Compile, dict[str, list[Mark]]] = field(default_factory=dict)
    _dims_by_look: dict[Compile, dict[tuple[tuple[int, ...], str], list[tuple[str, ...]]]] = field(default_factory=dict)

    def origins(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """Marks of which any one makes this dim symbolic, because other compiled code made the tensor; () where no such path shows."""
        key = frame, source, dim
        if key not in self._origins:
            self._origins[key] = ()  # a resumed function in a loop may lead back here
            found = self._with_its_tensor(frame, source, dim) or self._find_origins(frame, source, dim)
            found = found or self._handed_on(frame, source, dim)
            self._origins[key] = found or self._kept(frame, source, dim)
            if not found and self._origins[key]:
                self._of_kept.add(key)
        return self._origins[key]

    def partners(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """What else has to be marked with the origins of this dim: the code needs these sizes equal, and a static one makes all static."""
        origins = self.origins(frame, source, dim)
        if (frame, source, dim) not in self._of_kept:
            return tuple(sorted(self._needed.get((frame, source, dim), ())))
        needed = {partner for mark in origins for partner in self._tied.get(mark, ())}
        return tuple(sorted(mark for mark in needed if not self._makers_of_kept(frame, mark)))

    def is_guessed(self, frame: Frame, source: Source, dim: int) -> bool:
        """Whether the origins of this dim are known by sizes alone: code in eager mode may have made a new tensor of the same sizes."""
        return bool(self.origins(frame, source, dim)) and (frame, source, dim) in self._guessed

    def is_kept(self, frame: Frame, source: Source, dim: int) -> bool:
        """Whether a tensor is taken to be what the function kept in an earlier call: code outside may have put another one in its place."""
        return bool(self.origins(frame, source, dim)) and (frame, source, dim) in self._of_kept

    def _with_its_tensor(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """The mark on the tensor whose gradient this is: it has the symbols of that, as PyTorch describes both at once."""
        found: frozenset[Source] | None = None
        for compile, tree in self._guarding(frame).get(source, ()):
            inputs = self._inputs_of(compile)
            if source in inputs.by_source:
                return ()
            rank = tree.facts.get((source, RANK))
            facts = (tree.facts.get((source, size(number))) for number in range(rank if isinstance(rank, int) else 0))
            sizes = tuple(fact for fact in facts if isinstance(fact, int))
            if len(sizes) == rank:
                fitting = inputs.with_grad.get(sizes, frozenset())
                found = fitting if found is None else found & fitting
        return tuple(Mark(tensor, dim) for tensor in found) if found and len(found) == 1 else ()

    def _guarding(self, frame: Frame) -> Mapping[Source, list[tuple[Compile, GuardTree]]]:
        """The entries whose guards are about a tensor, by its source, each with its guards."""
        if frame not in self._guards:
            trees = [(compile, tree) for compile in frame.entries if (tree := compile.guards)]
            found = [(source, held) for held in trees for source, prop in held[1].facts if prop == TENSOR]
            self._guards[frame] = {source: [held for _, held in same] for source, same in grouped(found, lambda item: item[0]).items()}
        return self._guards[frame]

    def _inputs_of(self, compile: Compile) -> _Inputs:
        if compile not in self._inputs:
            inputs = compile.inputs
            with_grad = grouped((item for item in inputs if item.has_grad), lambda item: item.size)
            by_size = {sizes: frozenset(item.source for item in items) for sizes, items in with_grad.items()}
            passed = [item for item in inputs if not item.source.is_registered]
            by_look = grouped(passed, lambda item: (item.size, item.dtype))
            self._inputs[compile] = _Inputs({item.source: item for item in inputs}, by_size, by_look)
        return self._inputs[compile]

    def _find_origins(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        local = _LOCAL.match(source)
        if not local or not resumed_by(frame.name) or not self._runs_autograd(frame) or self._is_result(frame, source):
            return ()
        name = "" if source.is_unnamed else local[1]
        return self._origins_by_name(frame, source, name, dim) or self._origins_by_name(frame, source, "", dim)

    def _is_result(self, frame: Frame, source: Source) -> bool:
        """Whether resumed code takes over what the call or operator returned at which the graph broke, which no part of the function made.

        That is on top of Python's stack. Branches and stores leave nothing there. Where the graph broke further inside, the code that was
        called is compiled by itself, or runs in eager mode where nothing of it was.
        """
        at, resumed = _STACK.match(source), resumed_by(frame.name)
        if at is None or resumed is None:
            return False
        first = frame.compiles[0]
        before = (compile for part in self._parts[frame.function] for compile in part.entries if compile.order < first.order)
        broken = max((compile for compile in before if compile.breaks), key=_ORDER, default=None)
        if broken is None:
            return False
        place = (frame.file, resumed[1])
        found = [item for item in broken.breaks if item.place and (item.place.file, item.place.line) == place]
        if any(_WITHOUT_RESULT.search(item.message.title) for item in found) or not (found or self._failed_inside(broken, first)):
            return False
        held = (match for known in self._guarding(frame) if (match := _STACK.match(known)))
        return int(at[1]) == max((int(match[1]) for match in held), default=int(at[1]))

    def _failed_inside(self, broken: Compile, resumed: Compile) -> bool:
        """Whether the code that was called where a graph broke failed to compile at the same line, and nothing of it was compiled: right
        before the rest.
        """
        made = self._in_order.get((resumed.rank, resumed.process), [])
        index = bisect_left(made, resumed.order, key=_ORDER)
        last = made[index - 1] if index else broken
        places = {(item.place.file, item.place.line) for item in broken.breaks if item.place}
        is_same = any(item.place and (item.place.file, item.place.line) in places for item in last.breaks)
        return last.order > broken.order and last.outcome is Outcome.FAILED and is_same

    def _origins_by_name(self, frame: Frame, source: Source, name: str, dim: int) -> tuple[Mark, ...]:
        """Those where an output of this name is the local; "" for any output, as fx may call it by the operation that made it."""
        found: dict[Mark, None] = {}
        for other in self._returning(frame.function, name):
            if other is frame:
                continue
            for compile in frame.compiles:
                for mark in self._through(other, compile, source, name, dim):
                    found[mark] = None
                    found.update(dict.fromkeys(self.origins(other, mark.source, mark.dim) if not mark.is_int else ()))
        return tuple(found)[-_MOST_ORIGINS:]

    def _returning(self, function: Function, name: str) -> Sequence[Frame]:
        """The parts of a function that may return a local of this name; all of them where the value has none ("")."""
        if function not in self._makers:
            parts = self._parts[function]
            made = [(frame, output) for frame in parts for compile in frame.entries if compile.is_dynamic for output in _names(compile)]
            by_name = grouped(made, lambda item: item[1])
            self._makers[function] = {"": parts} | {
                name: list(dict.fromkeys(frame for frame, _ in items)) for name, items in by_name.items()
            }
        return self._makers[function].get(name, ())

    def _handed_on(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """Marks behind a tensor that another compiled function returned, by itself or in a container, and that is passed on to this one.

        It is known by its sizes and dtype: each time they changed, the other function was compiled for them just before, with an output
        that only this input can be. A part of an output does not have its dynamic dims. A change to a size of 0 or 1 shows nothing: that
        is a constant in the output, too, and has a graph of its own.
        """
        if source.is_registered or not self._runs_autograd(frame):
            return ()
        changes = [item for item in self._changes(frame, source) if item[1].size[dim : dim + 1] > (1,)]
        is_result = self._is_result(frame, source)
        own = {entry for part in (self._parts[frame.function] if is_result else [frame]) for entry in part.entries}
        others = [[item for item in made if item not in own] for _, _, made in changes]
        through = [self._last_made(made, compile, tensor, dim) for made, (compile, tensor, _) in zip(others, changes, strict=True)]
        if any(item.marks for item in through):
            is_unknown = any(tensor.is_part and not item.marks for item, (_, tensor, _) in zip(through, changes, strict=True))
        else:  # perhaps it is what this function made in another call; a cache that grows with each one is not
            is_open = not (source.is_attribute or is_result)
            through = [self._last_made(made if is_open else (), compile, tensor, dim) for compile, tensor, made in changes]
            is_unknown = not all(item.marks for item in through)
        links = {item.link for item in through if item.marks}
        if is_unknown or Link.NONE in links:
            return ()
        if links != {Link.DIRECT}:
            callers = (caller(compile) for compile, _, _ in changes)
            if any(found and (found.file, found.name) in self._eager for found in callers):
                return ()
            self._guessed.add((frame, source, dim))
        self._needed[frame, source, dim] = {mark for item in through for maker in item.makers for mark in self._tied_to(maker, item.marks)}
        return tuple(dict.fromkeys(mark for item in through for mark in item.marks))

    def _tied_to(self, maker: Compile, marks: Sequence[Mark]) -> Iterator[Mark]:
        """The sizes that a line of the code of a maker needs equal to one of these, and that come from nowhere else."""
        tied, frame = _tied(maker, by_code=True), self._frames[maker]
        for other in dict.fromkeys(other for mark in marks for other in tied.get(mark, ())):
            if not self.origins(frame, other.source, other.dim):
                yield other

    def _last_made(self, makers: Sequence[Compile], compile: Compile, tensor: Input, dim: int) -> _Through:
        """The marks behind a dim of the last output that this input is, or of those of all makers together."""
        for maker in reversed(makers):
            marks = self._only_output([maker], compile, tensor, dim) or self._one_of_outputs(maker, compile, tensor, dim)
            if marks:
                origins = tuple(sorted(self._with_origins(self._frames[maker], marks)))
                return _Through(origins, link(maker, compile, tensor.source), (maker,))
        return _Through(self._only_output(makers, compile, tensor, dim), Link.UNKNOWN)

    def _one_of_outputs(self, maker: Compile, compile: Compile, tensor: Input, dim: int) -> tuple[Mark, ...]:
        """The marks that all outputs share which an input looks like, where the lines of the callers show that it is one of them.

        Of more inputs than outputs of that look, one is another tensor, and the lines do not show which. A view of an output of other
        sizes, as in ``loss(values.flatten(), ...)``, is not one of them.
        """
        looks = self._dims_by_look_of(maker)
        outputs = looks.get((tensor.size, tensor.dtype), [])
        inputs = [item for item in self._inputs_of(compile).like(tensor) if not (item.is_part and (item.base_size, item.dtype) in looks)]
        if tensor not in inputs or len(inputs) > len(outputs) or link(maker, compile, tensor.source) is not Link.DIRECT:
            return ()
        return _shared([self._marks(dims[dim], maker) for dims in outputs])

    def _only_output(self, makers: Sequence[Compile], compile: Compile, tensor: Input, dim: int) -> tuple[Mark, ...]:
        """The marks behind a dim of the outputs one of which this input is: those that all makers of such outputs share.

        () where there are more or fewer such inputs, or the dim is not symbolic in the outputs. One input that looks like each of two
        outputs may be a new tensor that was computed from both, such as a sample by its mean and deviation. The items of lists may be
        what several calls of each maker returned.
        """
        look = tensor.size, tensor.dtype
        able = (maker for maker in makers if _may_be_of(tensor, maker))
        found = {maker: dims for maker in able if (dims := self._dims_by_look_of(maker).get(look))}
        inputs, made = len(self._inputs_of(compile).like(tensor)), sum(map(len, found.values()))
        calls, rest = divmod(inputs, made) if made else (0, 0)
        if rest or not calls or (calls > 1 and not _ITEM_OF_LIST.match(tensor.source)):
            return ()
        return _shared([self._marks(dims[0][dim], maker) for maker, dims in found.items()])

    def _marks(self, dim: str, maker: Compile) -> tuple[Mark, ...]:
        """The marks behind the symbols in a dim of an output."""
        if maker not in self._by_symbol:
            self._by_symbol[maker] = _marks_by_symbol(maker)
        return tuple(mark for name in dict.fromkeys(_SYMBOL.findall(dim)) for mark in self._by_symbol[maker].get(name, ()))

    def _dims_by_look_of(self, maker: Compile) -> dict[tuple[tuple[int, ...], str], list[tuple[str, ...]]]:
        """The dims of the outputs of a compile, as text, by the sizes that they had and their dtype."""
        if maker not in self._dims_by_look:
            found: dict[tuple[tuple[int, ...], str], list[tuple[str, ...]]] = {}
            values = _values(maker)
            for output in self._outputs_of(maker):
                if (sizes := _numbers(output.dims, values)) is not None:
                    found.setdefault((sizes, output.dtype), []).append(output.dims)
            self._dims_by_look[maker] = found
        return self._dims_by_look[maker]

    def _changes(self, frame: Frame, source: Source) -> list[tuple[Compile, Input, list[Compile]]]:
        """The compiles in which a tensor has other sizes than in the one before that took it, and what was made between the two."""
        taking = [(compile, tensor) for compile in frame.entries if (tensor := self._inputs_of(compile).by_source.get(source))]
        return [
            (compile, tensor, self._made_between(previous, compile))
            for (previous, before), (compile, tensor) in pairwise(taking)
            if before.size != tensor.size
        ]

    def _kept(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """Marks behind a tensor that the function keeps for its next call, as an attribute or item of an object that it changes.

        What was made of other tensors that it keeps, as the keys of a cache look like its values, is made of what those are made of.
        """
        first = frame, Mark(source, dim)
        found: list[set[Mark]] = []
        pending, asked = [first], {first}
        while pending:
            for maker, marks in self._makers_of_kept(*pending.pop()):
                made_of = [(maker, mark) for mark in marks]
                if all(item in asked or self._makers_of_kept(*item) for item in made_of):
                    pending += [item for item in made_of if item not in asked]
                    asked.update(made_of)
                else:
                    found.append(self._with_origins(maker, marks))
        return tuple(sorted(set.intersection(*found))) if found else ()

    def _makers_of_kept(self, frame: Frame, mark: Mark) -> list[tuple[Frame, tuple[Mark, ...]]]:
        """The frames that may have made what a function keeps, each with the marks of which one makes the dim symbolic in it.

        Every compile that takes it comes after one of the same function that changed its owner and has an output that it can be: first
        one that did without the tensor, later those that made it anew, or of what was kept; [] where one has none. One whose output had
        its very sizes when it was compiled comes before those whose output would have them in another call.
        """
        if (frame, mark) not in self._makers_by_kept:
            self._makers_by_kept[frame, mark] = [] if mark.is_int else self._find_makers_of_kept(frame, mark)
        return self._makers_by_kept[frame, mark]

    def _find_makers_of_kept(self, frame: Frame, mark: Mark) -> list[tuple[Frame, tuple[Mark, ...]]]:
        keepers = self._keepers[frame.function]
        if not keepers or mark.source.is_registered or not self._runs_autograd(frame):
            return []
        found: dict[tuple[Frame, tuple[Mark, ...]], None] = {}
        for compile in frame.entries:
            tensor = self._inputs_of(compile).by_source.get(mark.source)
            if tensor is None:
                continue
            earlier = keepers[: bisect_left(keepers, compile.order, key=lambda item: item.compile.order)][-_MOST_KEEPERS:]
            made = [(keeper, marks) for keeper in earlier for marks in self._marks_of_kept(keeper.compile, tensor, mark.dim)]
            if not made:
                return []
            exact = [item for item in made if (tensor.dtype, tensor.size) in self._kept_by(item[0].compile).made]
            found.update(dict.fromkeys((keeper.frame, marks) for keeper, marks in exact or made))
        return list(found)

    def _marks_of_kept(self, keeper: Compile, tensor: Input, dim: int) -> tuple[tuple[Mark, ...], ...]:
        """The marks behind a dim of each output that a tensor can be of a compile that changes its owner; () where none is known."""
        if not any(map(tensor.source.is_below, keeper.changed_objects)):
            return ()
        key = keeper, tensor.dtype, tensor.size, dim
        if key not in self._kept_marks:
            found = tuple(dict.fromkeys(self._marks_of_outputs(keeper, tensor, dim)))
            self._kept_marks[key] = found if len(found) <= _MOST_KEEPERS else ((),)
        return self._kept_marks[key]

    def _marks_of_outputs(self, keeper: Compile, tensor: Input, dim: int) -> Iterator[tuple[Mark, ...]]:
        """The same of each output that a tensor looks like. What is a number in it may be symbolic in a compile of a similar graph."""
        kept = self._kept_by(keeper)
        for number in kept.like(tensor):
            dims = ((made[number].dims[dim : dim + 1], known) for made, known in kept.similar if len(made) > number)
            found = (mark for texts, known in dims for text in texts for name in _SYMBOL.findall(text) for mark in known.get(name, ()))
            yield tuple(dict.fromkeys(found))

    def _kept_by(self, keeper: Compile) -> _Kept:
        if keeper not in self._of_keepers:
            others, values = frozenset(_looks_of_others(keeper)), _values(keeper)
            similar = self._dynamic_by_key.get(keeper.graph.key, ()) if keeper.graph else ()
            numbers: dict[tuple[str, _Fixed], list[int]] = {}
            made = set()
            for number, output in enumerate(self._outputs_of(keeper)):
                sizes = _numbers(output.dims, values)
                if (output.dtype, sizes, _numbers(output.strides, values)) not in others:
                    numbers.setdefault((output.dtype, output.fixed), []).append(number)
                    made.add((output.dtype, sizes))
            symbolic = frozenset(tuple(size is None for size in fixed) for _, fixed in numbers)
            outputs = tuple((self._outputs_of(item), _marks_by_symbol(item)) for item in (keeper, *similar))
            self._of_keepers[keeper] = _Kept(numbers, symbolic, frozenset(made), outputs)
        return self._of_keepers[keeper]

    def _outputs_of(self, compile: Compile) -> list[_Output]:
        if compile not in self._outputs:
            self._outputs[compile] = list(map(_output, outputs(compile.graph) if compile.graph else ()))
        return self._outputs[compile]

    @cached_property
    def _eager(self) -> frozenset[tuple[str, str]]:
        """The functions that failed to compile, by file and name: they run in eager mode, and compute something between their calls."""
        return frozenset(
            (frame.file, frame.name)
            for frame in self.trace.frames
            if any(compile.outcome is Outcome.FAILED for compile in frame.compiles) and not frame.entries
        )

    @cached_property
    def _in_order(self) -> dict[tuple[int | None, int], list[Compile]]:
        """The compiles of each process in order, by rank and process id."""
        return grouped(sorted(self.trace.compiles, key=_ORDER), lambda compile: (compile.rank, compile.process))

    @cached_property
    def _dynamic_by_key(self) -> dict[str, list[Compile]]:
        """The dynamic entries by the key that similar graphs share; of many the latest."""
        made = ((item.compile, item.compile.graph) for items in self._keepers.values() for item in items if item.compile.is_dynamic)
        found = grouped([(compile, graph.key) for compile, graph in made if graph], lambda item: item[1])
        return {key: [compile for compile, _ in items[-_MOST_KEEPERS:]] for key, items in found.items()}

    def _with_origins(self, frame: Frame, marks: Iterable[Mark]) -> set[Mark]:
        return {*marks, *(origin for mark in marks if not mark.is_int for origin in self.origins(frame, mark.source, mark.dim))}

    @cached_property
    def _keepers(self) -> dict[Function, list[_Keeper]]:
        """The entries of each function that change an object of its caller, in order of compilation."""
        return {
            function: sorted(
                (_Keeper(compile, frame) for frame in frames for compile in frame.entries if compile.changed_objects),
                key=lambda item: item.compile.order,
            )
            for function, frames in self._parts.items()
        }

    @cached_property
    def _tied(self) -> dict[Mark, set[Mark]]:
        """The sizes of inputs that the code of keepers needs equal to each other."""
        found: dict[Mark, set[Mark]] = {}
        for keeper in chain.from_iterable(self._keepers.values()):
            for mark, equal in _tied(keeper.compile).items():
                found.setdefault(mark, set()).update(equal)
        return found

    @cached_property
    def _frames(self) -> dict[Compile, Frame]:
        """The frame of each entry."""
        return {compile: frame for frame in self.trace.frames for compile in frame.entries}

    @cached_property
    def _parts(self) -> dict[Function, list[Frame]]:
        """The frames of each function, which goes on as another one after each graph break."""
        return grouped(self.trace.frames, lambda frame: frame.function)

    @cached_property
    def _dynamic_entries(self) -> dict[tuple[int | None, int], list[Compile]]:
        """The dynamic entries of each process in order of compilation, by rank and process id."""
        found: dict[tuple[int | None, int], list[Compile]] = {}
        for compile in sorted(self.trace.compiles, key=_ORDER):
            if compile.outcome is Outcome.COMPILED and compile.is_dynamic:
                found.setdefault((compile.rank, compile.process), []).append(compile)
        return found

    def _made_between(self, previous: Compile, compile: Compile) -> list[Compile]:
        """The dynamic entries that the same process made between two compiles."""
        made = self._dynamic_entries.get((compile.rank, compile.process), [])
        return made[bisect_right(made, previous.order, key=_ORDER) : bisect_left(made, compile.order, key=_ORDER)]

    def _runs_autograd(self, frame: Frame) -> bool:
        """Whether every graph in the frame's file went through AOTAutograd, by the graphs that it wrote or had cached."""
        payloads = frame.compiles[0].payloads
        if payloads is None:
            return False
        if payloads not in self._autograd:
            ledger = payloads.reader.ledger
            made = ledger.unused.get("aot_inference_graph", 0) + ledger.unused.get("aot_forward_graph", 0)
            graphs = [
                item for item in self.trace.compiles if item.payloads is payloads and item.graph_span and item.outcome is Outcome.COMPILED
            ]
            cached = sum(any(name.startswith("aotautograd") for name, _ in item.caches) for item in graphs)
            self._autograd[payloads] = bool(graphs) and max(made, cached) >= len(graphs)
        return self._autograd[payloads]

    def _through(self, origin: Frame, compile: Compile, source: Source, name: str, dim: int) -> tuple[Mark, ...]:
        """The marks behind an output of the origin's latest compile that is this input: the same name and sizes, one dim symbolic.

        Without a name they are those that all outputs of these sizes share.
        """
        tensor = self._inputs_of(compile).by_source.get(source)
        made = [item for item in origin.compiles if item.order < compile.order and item.outcome is Outcome.COMPILED]
        if tensor is None or not made or not made[-1].is_dynamic:
            return ()
        return _shared([self._marks(dims[dim], made[-1]) for dims in _outputs_like(tensor, made[-1], name)[: 1 if name else None]])


def _may_be_of(tensor: Input, maker: Compile) -> bool:
    """Whether a tensor may be an output of a compile, as far as autograd is concerned.

    What a graph that is trained returns has a history, what another one returns has none. What requires grad shows nothing if it is a leaf,
    or may be one.
    """
    return (tensor.requires_grad and tensor.is_leaf is not False) or _may_require_grad(maker) is tensor.has_history


def _may_require_grad(maker: Compile) -> bool:
    """Whether an output of a compile may require grad: an input does, and it was not compiled under ``no_grad``."""
    tree = maker.guards
    is_enabled = tree is None or tree.facts.get((Source(), GRAD_MODE)) is not False
    return is_enabled and any(item.requires_grad for item in maker.inputs)


def _shared(marks: Sequence[tuple[Mark, ...]]) -> tuple[Mark, ...]:
    """The marks that all of these have; () of none."""
    return tuple(mark for mark in marks[0] if all(mark in others for others in marks)) if marks else ()


def _looks_of_others(keeper: Compile) -> Iterator[tuple[str, tuple[int, ...] | None, tuple[int, ...] | None]]:
    """The dtype, sizes and strides of each tensor that a compile took, and did not keep itself: what it keeps may be that one."""
    own = keeper.changed_objects
    for item in keeper.inputs:
        if not item.source.is_registered and not any(map(item.source.is_below, own)):
            yield item.dtype, item.size, item.stride


def _outputs_like(tensor: Input, maker: Compile, name: str = "") -> list[tuple[str, ...]]:
    """The dims, as text, of the outputs that have the sizes and dtype of a tensor, and are a local of this name where it has one."""
    named = (item for item in (outputs(maker.graph) if maker.graph else ()) if name in ("", item[0], _NUMBERED.sub("", item[0])))
    return [item.dims for item in map(_output, named) if item.dtype == tensor.dtype and _sizes(item.dims, maker) == tensor.size]


def _output(output: tuple[str, str]) -> _Output:
    """The output with the annotation ``f32[s0, 8][8, 1]cpu``."""
    annotation = output[1]
    shape = _SHAPE.match(annotation)
    if not shape:
        return _Output("", (), ())
    return _Output(_DTYPES.get(annotation.partition("[")[0], ""), split_items(shape[1]), split_items(shape[2] or ""))


def _sizes(dims: tuple[str, ...], compile: Compile) -> tuple[int, ...] | None:
    """The sizes of the dims of an output, None where a symbol in them is not known."""
    return _numbers(dims, _values(compile))


def _values(compile: Compile) -> dict[str, int]:
    return {symbol.name: symbol.value for symbol in compile.symbols if isinstance(symbol.value, int)}


def _numbers(dims: tuple[str, ...], values: Mapping[str, int]) -> tuple[int, ...] | None:
    found = []
    for dim in dims:
        size = parse(dim).value(values) if (number := integer(dim)) is None else number
        if not isinstance(size, int):
            return None
        found.append(size)
    return tuple(found)


def _names(compile: Compile) -> set[str]:
    """The names of locals that the outputs of a graph may be: as written, and without the number that fx may add."""
    return {name for output, _ in (outputs(compile.graph) if compile.graph else ()) for name in (output, _NUMBERED.sub("", output))}


def _marks_by_symbol(compile: Compile) -> dict[str, list[Mark]]:
    found: dict[str, list[Mark]] = {}
    for symbol in compile.symbols:
        part = symbol.source.tensor_part
        if symbol.source and (part is None or part.is_size):
            mark = Mark(part.tensor, part.dim) if part else Mark(symbol.source.unwrapped)
            found.setdefault(symbol.name, []).append(mark)
    return found


def _tied(compile: Compile, by_code: bool = False) -> dict[Mark, frozenset[Mark]]:
    """The sizes of inputs that the code needs equal to another one, for each of them: where one of these is static, all are.

    They are equal by an equation, or because neither may be the larger one, as where the code branches on that. Those ``by_code`` have a
    line that needs it, or a symbol each, which PyTorch may name no line for; others may share a symbol because they were equal.
    """
    shapes = compile.guards.shapes if compile.guards else ()
    if by_code:
        own = {symbol.source.canonical for symbol in compile.symbols}
        shapes = tuple(shape for shape in shapes if place_of(shape.comment) or _is_of_two_symbols(shape, own))
    places = {f"{item.source.canonical}.size()[{dim}]": Mark(item.source, dim) for item in compile.inputs for dim in range(len(item.size))}
    bounds = Counter(frozenset(shape.parsed.names) for shape in shapes if not shape.parsed.is_equation and len(shape.parsed.names) > 1)
    equal = [shape.parsed.names for shape in shapes if shape.parsed.is_equation and len(shape.parsed.names) > 1]
    equal += [tuple(sorted(names)) for names, number in bounds.items() if number > 1]
    groups = connected([[places[name] for name in names if name in places] for names in equal])
    return {mark: frozenset(group) - {mark} for group in groups for mark in group}


def _is_of_two_symbols(shape: ShapeGuard, own: Container[str]) -> bool:
    """Whether a guard requires two sizes to be equal, each of which became a symbol."""
    is_equality = shape.parsed.is_equation and len(shape.parsed.names) == 2
    return is_equality and not shape.is_duck_shape and all(name in own for name in shape.parsed.names)

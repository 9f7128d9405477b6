"""What compiles take and what their graphs return, and the marks behind each symbolic dim of it."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.advice.marks import Mark
from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.expressions import integer, parse, split_items
from shapelog.reading.payloads.properties import GRAD_MODE
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input

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
NUMBERED = re.compile(r"_\d+$")
_SYMBOL = re.compile(r"[a-z]\w*")
_DETACHED = re.compile(r'^(\w+)(?:: "[^"]*")? = \w+\.detach\(\)$')
_SHAPE = re.compile(r"^\w+\[([^\]]*)\](?:\[([^\]]*)\])?")
Fixed = tuple[int | None, ...]


class GraphOutput(NamedTuple):
    """An output of a graph: its dtype, "" where it is no tensor, its dims and strides as text."""

    dtype: str
    dims: tuple[str, ...]
    strides: tuple[str, ...]

    @property
    def fixed(self) -> Fixed:
        """Its sizes, None for those that are symbolic."""
        return tuple(integer(dim) if dim.isdecimal() else None for dim in self.dims)


class Inputs(NamedTuple):
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


@dataclass(eq=False, repr=False)
class GraphOutputs:
    """The inputs and outputs of compiles as tensors, each read once."""

    _inputs: dict[Compile, Inputs] = field(default_factory=dict)
    _outputs: dict[Compile, list[GraphOutput]] = field(default_factory=dict)
    _by_symbol: dict[Compile, dict[str, list[Mark]]] = field(default_factory=dict)
    _dims_by_look: dict[Compile, dict[tuple[tuple[int, ...], str], list[tuple[str, ...]]]] = field(default_factory=dict)
    _numbers_by_look: dict[Compile, Mapping[tuple[tuple[int, ...] | None, str], Sequence[int]]] = field(default_factory=dict)

    def inputs_of(self, compile: Compile) -> Inputs:
        """The tensors that a compile takes."""
        if compile not in self._inputs:
            inputs = compile.inputs
            with_grad = grouped((item for item in inputs if item.has_grad), lambda item: item.size)
            by_size = {sizes: frozenset(item.source for item in items) for sizes, items in with_grad.items()}
            passed = [item for item in inputs if not item.source.is_registered]
            by_look = grouped(passed, lambda item: (item.size, item.dtype))
            self._inputs[compile] = Inputs({item.source: item for item in inputs}, by_size, by_look)
        return self._inputs[compile]

    def outputs_of(self, compile: Compile) -> list[GraphOutput]:
        """What its graph returns; [] where that is not recorded."""
        if compile not in self._outputs:
            self._outputs[compile] = list(map(_output, compile.graph.outputs if compile.graph else ()))
        return self._outputs[compile]

    def dims_by_look_of(self, maker: Compile) -> dict[tuple[tuple[int, ...], str], list[tuple[str, ...]]]:
        """The dims of the outputs of a compile, as text, by the sizes that they had and their dtype."""
        if maker not in self._dims_by_look:
            found: dict[tuple[tuple[int, ...], str], list[tuple[str, ...]]] = {}
            values = symbol_values(maker)
            for output in self.outputs_of(maker):
                if (sizes := evaluated(output.dims, values)) is not None:
                    found.setdefault((sizes, output.dtype), []).append(output.dims)
            self._dims_by_look[maker] = found
        return self._dims_by_look[maker]

    def numbers_of(self, tensor: Input, maker: Compile) -> Sequence[int]:
        """The numbers of the outputs of a compile that had the sizes and the dtype of a tensor."""
        if maker not in self._numbers_by_look:
            values = symbol_values(maker)
            looks = [(evaluated(item.dims, values), item.dtype) for item in self.outputs_of(maker)]
            self._numbers_by_look[maker] = grouped(range(len(looks)), looks.__getitem__)
        return self._numbers_by_look[maker].get((tensor.size, tensor.dtype), ())

    def detached_of(self, maker: Compile) -> frozenset[int]:
        """The numbers of the outputs that the code detaches, of which autograd knows nothing."""
        statements = (statement.partition(";  ")[0] for statement in (maker.graph.statements if maker.graph else ()))
        detached = {match[1] for statement in statements if (match := _DETACHED.match(statement))}
        return frozenset(at for at, (name, _) in enumerate(maker.graph.outputs if maker.graph else ()) if name in detached)

    def strides_of(self, maker: Compile, number: int) -> tuple[int, ...] | None:
        """The strides that an output of a compile had, None where they are not known."""
        return evaluated(self.outputs_of(maker)[number].strides, symbol_values(maker))

    def marks(self, dim: str, maker: Compile) -> tuple[Mark, ...]:
        """The marks behind the symbols in a dim of an output."""
        by_symbol = self._marks_by_symbol(maker)
        return tuple(mark for name in dict.fromkeys(_SYMBOL.findall(dim)) for mark in by_symbol.get(name, ()))

    def symbolic_dims_of(self, compile: Compile) -> dict[Source, frozenset[int]]:
        """The dims of its tensors that have symbols, be it that its code needed their values later."""
        marks = [mark for found in self._marks_by_symbol(compile).values() for mark in found if not mark.is_int]
        return {source: frozenset(mark.dim for mark in same) for source, same in grouped(marks, lambda mark: mark.source).items()}

    def _marks_by_symbol(self, compile: Compile) -> dict[str, list[Mark]]:
        if compile not in self._by_symbol:
            self._by_symbol[compile] = marks_by_symbol(compile)
        return self._by_symbol[compile]


def outputs_like(tensor: Input, maker: Compile, name: str = "") -> list[tuple[str, ...]]:
    """The dims, as text, of the outputs that have the sizes and dtype of a tensor, and are a local of this name where it has one."""
    named = (item for item in (maker.graph.outputs if maker.graph else ()) if name in ("", item[0], NUMBERED.sub("", item[0])))
    return [item.dims for item in map(_output, named) if item.dtype == tensor.dtype and _sizes(item.dims, maker) == tensor.size]


def names(compile: Compile) -> set[str]:
    """The names of locals that the outputs of a graph may be: as written, and without the number that fx may add."""
    return {name for output, _ in (compile.graph.outputs if compile.graph else ()) for name in (output, NUMBERED.sub("", output))}


def marks_by_symbol(compile: Compile) -> dict[str, list[Mark]]:
    """The marks that make each symbol of a compile, by its name."""
    found: dict[str, list[Mark]] = {}
    for symbol in compile.symbols:
        part = symbol.source.tensor_part
        if symbol.source and (part is None or part.is_size):
            mark = Mark(part.tensor, part.dim) if part else Mark(symbol.source.unwrapped)
            found.setdefault(symbol.name, []).append(mark)
    return found


def evaluated(dims: tuple[str, ...], values: Mapping[str, int]) -> tuple[int, ...] | None:
    """The sizes of dims such as ``2*s77 + 1``, by the values of their symbols; None where one is not known."""
    found = []
    for dim in dims:
        size = parse(dim).value(values) if (number := integer(dim)) is None else number
        if not isinstance(size, int):
            return None
        found.append(size)
    return tuple(found)


def contiguous(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor of these sizes whose elements lie one after the other, as PyTorch writes them for a new one."""
    return tuple(math.prod(max(size, 1) for size in sizes[dim + 1 :]) for dim in range(len(sizes)))


def symbol_values(compile: Compile) -> dict[str, int]:
    """What each symbol of a compile was in the call that it was made for."""
    return {symbol.name: symbol.value for symbol in compile.symbols if isinstance(symbol.value, int)}


def _sizes(dims: tuple[str, ...], compile: Compile) -> tuple[int, ...] | None:
    """The sizes of the dims of an output, None where a symbol in them is not known."""
    return evaluated(dims, symbol_values(compile))


def _output(output: tuple[str, str]) -> GraphOutput:
    """The output with the annotation ``f32[s0, 8][8, 1]cpu``."""
    annotation = output[1]
    shape = _SHAPE.match(annotation)
    if not shape:
        return GraphOutput("", (), ())
    return GraphOutput(_DTYPES.get(annotation.partition("[")[0], ""), split_items(shape[1]), split_items(shape[2] or ""))


def may_require_grad(maker: Compile) -> bool:
    """Whether an output of a compile may require grad: an input does, and it was not compiled under ``no_grad``."""
    tree = maker.guards
    is_enabled = tree is None or tree.facts.get((Source(), GRAD_MODE)) is not False
    return is_enabled and any(item.requires_grad for item in maker.inputs)


def shared(marks: Sequence[tuple[Mark, ...]]) -> tuple[Mark, ...]:
    """The marks that all of these have; () of none."""
    return tuple(mark for mark in marks[0] if all(mark in others for others in marks)) if marks else ()

"""Dynamism that travels through compiled outputs, so that the tensors of a resumed function need no mark once their origin has one.

Since torch 2.0 AOTAutograd marks the symbolic dims of a graph's outputs on the tensors that it returns (``_dynamo_weak_dynamic_indices``,
in 2.13 ``_dynamo_propagated_dynamic_indices``); Dynamo makes these dims symbolic when such a tensor comes in again. Backends without
AOTAutograd, such as "eager", do not, and Python ints never carry it.
"""

import re
from dataclasses import dataclass, field

from shapelog.advice.marks import Mark
from shapelog.model.trace import Compile, Frame, Outcome, Trace
from shapelog.reading.payloads.graphs import Graph, outputs
from shapelog.reading.payloads.source_names import tensor_part, unwrap
from shapelog.recompiles.violations import Comparer

_RESUMES = "torch_dynamo_resume_in_"
_RESUMED = re.compile(rf"^{_RESUMES}(.+)_at_\d+$")
_LOCAL = re.compile(r"^L\['(\w+)'\]$")
_SHAPE = re.compile(r"^\w+\[([^\]]*)\]")


@dataclass(slots=True, eq=False, repr=False)
class Flows:
    """Where the tensors of resumed functions come from; asked one source and dim at a time."""

    trace: Trace
    comparer: Comparer
    known: dict[tuple[int, str, int], tuple[Mark, ...]] = field(default_factory=dict)
    autograd: dict[int, bool] = field(default_factory=dict)

    def may_lead_to(self, frame: Frame) -> bool:
        """Whether its tensors may come from another compiled function: it goes on after a graph break."""
        return frame.name.startswith(_RESUMES)

    def origins(self, frame: Frame, source: str, dim: int) -> tuple[Mark, ...]:
        """Marks of which any one makes this dim of a resumed function's tensor symbolic, () where the trace shows no such path."""
        if not self.may_lead_to(frame):
            return ()
        key = (id(frame), source, dim)
        found = self.known.get(key)
        if found is None:
            self.known[key] = ()  # a resumed function in a loop may lead back here
            found = self.known[key] = self._origins(frame, source, dim)
        return found

    def _origins(self, frame: Frame, source: str, dim: int) -> tuple[Mark, ...]:
        resumed, local = _RESUMED.match(frame.name), _LOCAL.match(source)
        if not resumed or not local:
            return ()
        if not self._runs_autograd(frame):
            return ()
        found: dict[Mark, None] = {}
        for other in self.trace.frames:
            if other is not frame and other.file == frame.file and other.process == frame.process and _original(other.name) == resumed[1]:
                for compile in frame.compiles:
                    for mark in self._through(other, compile, source, local[1], dim):
                        found[mark] = None
                        found.update(dict.fromkeys(self.origins(other, mark.source, mark.dim) if not mark.is_int else ()))
        return tuple(found)

    def _runs_autograd(self, frame: Frame) -> bool:
        """Whether every graph in the frame's file went through AOTAutograd, told from the graphs that it wrote or had cached."""
        payloads = frame.compiles[0].payloads
        if payloads is None:
            return False
        key = id(payloads)
        if key not in self.autograd:
            book = payloads.reader.ledger
            made = book.unused.get("aot_inference_graph", 0) + book.unused.get("aot_forward_graph", 0)
            graphs = [
                item for item in self.trace.compiles if item.payloads is payloads and item.graph_span and item.outcome is Outcome.COMPILED
            ]
            cached = sum(any(name.startswith("aotautograd") for name, _ in item.caches) for item in graphs)
            self.autograd[key] = bool(graphs) and max(made, cached) >= len(graphs)
        return self.autograd[key]

    def _through(self, origin: Frame, compile: Compile, source: str, name: str, dim: int) -> tuple[Mark, ...]:
        """The marks behind an output of the origin's latest compile that is this input: the same name and sizes, one dim symbolic."""
        tensor = next((item for item in compile.inputs if item.source == source), None)
        made = [item for item in origin.compiles if item.order < compile.order and item.outcome is Outcome.COMPILED]
        if tensor is None or not made or not made[-1].is_dynamic:
            return ()
        graph = made[-1].graph
        for dims in _outputs(graph, name) if graph else ():
            if len(dims) == len(tensor.size) and self._sizes(dims, made[-1]) == tensor.size:
                return _marks(dims[dim], made[-1])
        return ()

    def _sizes(self, dims: tuple[str, ...], compile: Compile) -> tuple[int, ...] | None:
        values = {symbol.name: symbol.value for symbol in compile.symbols if isinstance(symbol.value, int)}
        found = []
        for dim in dims:
            size = int(dim) if dim.isdecimal() else self.comparer.expression(dim).value(values)
            if not isinstance(size, int):
                return None
            found.append(size)
        return tuple(found)


def _original(name: str) -> str:
    resumed = _RESUMED.match(name)
    return resumed[1] if resumed else name


def _outputs(graph: Graph, name: str) -> list[tuple[str, ...]]:
    """The dims, as text, of the outputs that may be this local. A value left on Python's stack has no name: any output may be it."""
    found = []
    for output, annotation in outputs(graph):
        if name.startswith("___stack") or re.fullmatch(rf"{re.escape(name)}(?:_\d+)?", output):
            shape = _SHAPE.match(annotation)
            if shape:
                found.append(tuple(part.strip() for part in shape[1].split(",")) if shape[1].strip() else ())
    return found


def _marks(dim: str, compile: Compile) -> tuple[Mark, ...]:
    names = set(re.findall(r"[a-z]\w*", dim))
    found = []
    for symbol in compile.symbols:
        if symbol.name in names and symbol.source:
            part = tensor_part(symbol.source)
            if part is None:
                found.append(Mark(unwrap(symbol.source)))
            elif part[1] == "size":
                found.append(Mark(part[0], part[2]))
    return tuple(found)

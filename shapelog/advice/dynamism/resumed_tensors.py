"""Tensors that the code after a graph break takes over from the code before it."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from shapelog.advice.dynamism.compiled_code import ORDER, CompiledCode, OriginsOf
from shapelog.advice.dynamism.graph_outputs import GraphOutputs, names, outputs_like, shared
from shapelog.advice.marks import Mark
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome, resumed_by
from shapelog.model.frame import Frame, Function
from shapelog.reading.payloads.source_names import Source

_STACK = re.compile(r"^L\['___stack(\d{1,9})'\]")
# Graph breaks after which nothing is on Python's stack that the broken instruction returned.
_WITHOUT_RESULT = re.compile(r"branch|jump|store|setattr|setitem|delattr|delitem|assert|context manager", re.I)
_LOCAL = re.compile(r"^L\['(\w+)'\]$")
# Of more places that a tensor may come from, those farthest back are kept: a mark there serves most.
_MOST_ORIGINS = 32


@dataclass(eq=False, repr=False)
class ResumedTensors:
    """Which part of a function made the tensors that a later part takes. ``origins_of`` are those of a dim of another tensor."""

    code: CompiledCode
    outputs: GraphOutputs
    origins_of: OriginsOf
    _makers: dict[Function, dict[str, list[Frame]]] = field(default_factory=dict)

    def origins(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """Marks of which any one makes this dim of a local of resumed code symbolic; () where no part of the function made it."""
        local = _LOCAL.match(source)
        if not local or not resumed_by(frame.name) or not self.code.runs_autograd(frame) or self.is_result(frame, source):
            return ()
        name = "" if source.is_unnamed else local[1]
        return self._origins_by_name(frame, source, name, dim) or self._origins_by_name(frame, source, "", dim)

    def is_result(self, frame: Frame, source: Source) -> bool:
        """Whether resumed code takes over what the call or operator returned at which the graph broke, which no part of the function made.

        That is on top of Python's stack. Branches and stores leave nothing there. Where the graph broke further inside, the code that was
        called is compiled by itself, or runs in eager mode where nothing of it was.
        """
        at, resumed = _STACK.match(source), resumed_by(frame.name)
        if at is None or resumed is None:
            return False
        first = frame.compiles[0]
        before = (compile for part in self.code.parts[frame.function] for compile in part.entries if compile.order < first.order)
        broken = max((compile for compile in before if compile.breaks), key=ORDER, default=None)
        if broken is None:
            return False
        place = (frame.file, resumed[1])
        found = [item for item in broken.breaks if item.place and (item.place.file, item.place.line) == place]
        if any(_WITHOUT_RESULT.search(item.message.title) for item in found) or not (found or self._failed_inside(broken, first)):
            return False
        held = (match for known in self.code.guarding(frame) if (match := _STACK.match(known)))
        return int(at[1]) == max((int(match[1]) for match in held), default=int(at[1]))

    def taken_over_from(self, frame: Frame, source: Source) -> Frame | None:
        """The part of a function before a graph break that took the same local; None where its graph may have returned another one."""
        first, parts = frame.compiles[0], self.code.parts[frame.function]
        before = ((item, part) for part in parts if part is not frame for item in part.compiles if item.order < first.order)
        last, part = max(before, key=lambda item: ORDER(item[0]), default=(None, None))
        if last is None or source.is_unnamed or not (_LOCAL.match(source) and resumed_by(frame.name) and last.outcome is Outcome.COMPILED):
            return None
        tensor, same = (self.outputs.inputs_of(compile).by_source.get(source) for compile in (first, last))
        is_same = tensor and same and (tensor.size, tensor.stride, tensor.dtype) == (same.size, same.stride, same.dtype)
        return part if tensor and is_same and not self.outputs.numbers_of(tensor, last) else None

    def _failed_inside(self, broken: Compile, resumed: Compile) -> bool:
        """Whether the code that was called where a graph broke failed to compile at the same line, and nothing of it was compiled: right
        before the rest.
        """
        made = self.code.in_order.get((resumed.rank, resumed.process), [])
        index = bisect_left(made, resumed.order, key=ORDER)
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
                    found.update(dict.fromkeys(self.origins_of(other, mark.source, mark.dim) if not mark.is_int else ()))
        return tuple(found)[-_MOST_ORIGINS:]

    def _returning(self, function: Function, name: str) -> Sequence[Frame]:
        """The parts of a function that may return a local of this name; all of them where the value has none ("")."""
        if function not in self._makers:
            parts = self.code.parts[function]
            made = [(frame, output) for frame in parts for compile in frame.entries if compile.is_dynamic for output in names(compile)]
            by_name = grouped(made, lambda item: item[1])
            self._makers[function] = {"": parts} | {
                name: list(dict.fromkeys(frame for frame, _ in items)) for name, items in by_name.items()
            }
        return self._makers[function].get(name, ())

    def _through(self, origin: Frame, compile: Compile, source: Source, name: str, dim: int) -> tuple[Mark, ...]:
        """The marks behind an output of the origin's latest compile that is this input: the same name and sizes, one dim symbolic.

        Without a name they are those that all outputs of these sizes share.
        """
        tensor = self.outputs.inputs_of(compile).by_source.get(source)
        made = [item for item in origin.compiles if item.order < compile.order and item.outcome is Outcome.COMPILED]
        if tensor is None or not made or not made[-1].is_dynamic:
            return ()
        return shared([self.outputs.marks(dims[dim], made[-1]) for dims in outputs_like(tensor, made[-1], name)[: 1 if name else None]])

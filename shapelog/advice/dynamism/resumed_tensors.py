"""Tensors that the code after a graph break takes over from the code before it."""

import ast
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
from shapelog.reading.payloads.python_code import line_tree
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input

_STACK = re.compile(r"^L\['___stack(\d{1,9})'\]")
# Graph breaks after which nothing is on Python's stack that the broken instruction returned.
_WITHOUT_RESULT = re.compile(r"branch|jump|store|setattr|setitem|delattr|delitem|assert|context manager", re.I)
_LOCAL = re.compile(r"^L\['(\w+)'\]$")
_ITEM = re.compile(r"^L\['\w+'\](?:\[\d{1,9}\])+$")  # of a tuple or a list
# Of more places that a tensor may come from, those farthest back are kept: a mark there serves most.
_MOST_ORIGINS = 32


@dataclass(eq=False, repr=False)
class ResumedTensors:
    """Which part of a function made the tensors that a later part takes. ``origins_of`` are those of a dim of another tensor."""

    code: CompiledCode
    outputs: GraphOutputs
    origins_of: OriginsOf
    _makers: dict[Function, dict[str, list[Frame]]] = field(default_factory=dict)
    _assigned: dict[Compile, frozenset[str]] = field(default_factory=dict)

    def origins(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """Marks of which any one makes this dim of a local of resumed code symbolic; () where no part of the function made it."""
        local, is_item = _LOCAL.match(source), _ITEM.match(source) is not None
        if not (local or is_item) or not resumed_by(frame.name) or not self.code.runs_autograd(frame) or self.is_result(frame, source):
            return ()
        name = local[1] if local and not source.is_unnamed else ""
        return self._origins_by_name(frame, source, name, dim) or self._origins_by_name(frame, source, "", dim)

    def is_result(self, frame: Frame, source: Source) -> bool:
        """Whether resumed code takes over what the call or operator returned at which the graph broke, which no part of the function made.

        That is on top of Python's stack. Branches and stores leave nothing there. Where the graph broke further inside, the code that was
        called is compiled by itself, or runs in eager mode where nothing of it was.
        """
        at, resumed = _STACK.match(source), resumed_by(frame.name)
        broken = self._broken(frame) if at and resumed else None
        if at is None or resumed is None or broken is None:
            return False
        place = (frame.file, resumed[1])
        found = [item for item in broken.breaks if item.place and (item.place.file, item.place.line) == place]
        if any(_WITHOUT_RESULT.search(item.message.title) for item in found):
            return False
        if not (found or self._ran_eagerly(broken, frame, place) or self._failed_inside(broken, frame.compiles[0])):
            return False
        held = (match for known in self.code.guarding(frame) if (match := _STACK.match(known)))
        return int(at[1]) == max((int(match[1]) for match in held), default=int(at[1]))

    def is_made_eagerly(self, frame: Frame, source: Source) -> bool:
        """Whether it is such a result, and nothing was compiled between the graph break and the code that takes it."""
        if not self.is_result(frame, source):
            return False
        broken = self._broken(frame)
        return broken is not None and self._last_before(frame.compiles[0]) is broken

    def _broken(self, frame: Frame) -> Compile | None:
        """The last compile of a function with a graph break before a part of it was compiled first."""
        first = frame.compiles[0]
        before = (compile for part in self.code.parts_of(frame) for compile in part.entries if compile.order < first.order)
        return max((compile for compile in before if compile.breaks), key=ORDER, default=None)

    def _last_before(self, compile: Compile) -> Compile | None:
        """The compile of the same process right before one."""
        made = self.code.in_order.get((compile.rank, compile.process), [])
        index = bisect_left(made, compile.order, key=ORDER)
        return made[index - 1] if index else None

    def _ran_eagerly(self, broken: Compile, frame: Frame, place: tuple[str, int]) -> bool:
        """Whether the graph broke in code that is called at a place and that left no record of its own, as code of PyTorch leaves none."""
        stacks = (item.message.stack for item in broken.breaks)
        inside = [stack[number + 1 :] for stack in stacks for number, line in enumerate(stack) if (line.file, line.line) == place]
        is_next = self._last_before(frame.compiles[0]) is broken
        return is_next and any(inside) and not any(self.code.is_compiled(line) for lines in inside for line in lines)

    def taken_over_from(self, frame: Frame, source: Source) -> Frame | None:
        """The part of a function before a graph break that took the same local; None where its graph may have returned another one."""
        if source.is_unnamed or not (_LOCAL.match(source) and resumed_by(frame.name)):
            return None
        first, parts = frame.compiles[0], self.code.parts_of(frame)
        before = ((item, part) for part in parts if part is not frame for item in part.compiles if item.order < first.order)
        last, part = max(before, key=lambda item: ORDER(item[0]), default=(None, None))
        if last is None or last.outcome is not Outcome.COMPILED:
            return None
        tensor, same = (self.outputs.inputs_of(compile).by_source.get(source) for compile in (first, last))
        is_same = tensor and same and (tensor.size, tensor.stride, tensor.dtype) == (same.size, same.stride, same.dtype)
        return part if tensor and is_same and not self.outputs.numbers_of(tensor, last) else None

    def _failed_inside(self, broken: Compile, resumed: Compile) -> bool:
        """Whether the code that was called where a graph broke failed to compile at the same line, and nothing of it was compiled: right
        before the rest.
        """
        last = self._last_before(resumed) or broken
        places = {(item.place.file, item.place.line) for item in broken.breaks if item.place}
        is_same = any(item.place and (item.place.file, item.place.line) in places for item in last.breaks)
        return last.order > broken.order and last.outcome is Outcome.FAILED and is_same

    def _origins_by_name(self, frame: Frame, source: Source, name: str, dim: int) -> tuple[Mark, ...]:
        """Those where an output of this name is the local; "" for any output, as fx may call it by the operation that made it."""
        found: dict[Mark, None] = {}
        own = self.code.parts_of(frame)
        for other in self._returning(frame.function, name):
            if other is frame or other not in own:
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

    def _is_kept_input(self, tensor: Input, maker: Compile) -> bool:
        """Whether a local is rather what an earlier part took and kept under another name: ``residual = x; x = norm(x)``."""
        if tensor.source.is_unnamed:
            return False
        own = names(maker)
        same = (match[1] for item in self.outputs.inputs_of(maker).like(tensor) if (match := _LOCAL.match(item.source)))
        return any(name in own for name in same)

    def _is_left_alone(self, tensor: Input, compile: Compile, maker: Compile) -> bool:
        """Whether the lines of an earlier part assign another local that looks like this one, and not this one, as an argument of the
        function that only later code takes.
        """
        assigned = self._assigned_in(maker) if not tensor.source.is_unnamed else frozenset()
        alike = {match[1] for item in self.outputs.inputs_of(compile).like(tensor) if (match := _LOCAL.match(item.source))}
        own = _LOCAL.match(tensor.source)
        return own is not None and own[1] not in assigned and not assigned.isdisjoint(alike)

    def _assigned_in(self, maker: Compile) -> frozenset[str]:
        """The locals that the lines of its graph assign, as far as they are in its own function."""
        if maker not in self._assigned:
            lines = [line for line in (maker.graph.user_lines if maker.graph else ()) if line.name == maker.metrics.code_name]
            nodes = (node for line in lines for node in ast.walk(line_tree(line.code)))
            self._assigned[maker] = frozenset(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        return self._assigned[maker]

    def _through(self, origin: Frame, compile: Compile, source: Source, name: str, dim: int) -> tuple[Mark, ...]:
        """The marks behind an output of the origin's latest compile that is this input: the same name and sizes, one dim symbolic.

        Without a name they are those that all outputs of these sizes share.
        """
        tensor = self.outputs.inputs_of(compile).by_source.get(source)
        made = [item for item in origin.compiles if item.order < compile.order and item.outcome is Outcome.COMPILED]
        if tensor is None or not made or not made[-1].is_dynamic or (not name and self._is_kept_input(tensor, made[-1])):
            return ()
        if not name and self._is_left_alone(tensor, compile, made[-1]):
            return ()
        return shared([self.outputs.marks(dims[dim], made[-1]) for dims in outputs_like(tensor, made[-1], name)[: 1 if name else None]])

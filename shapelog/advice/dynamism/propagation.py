"""Dynamism that travels through compiled outputs, so that the tensors of a resumed function need no mark once their origin has one.

Since torch 2.0 AOTAutograd marks the symbolic dims of a graph's outputs on the tensors that it returns (``_dynamo_weak_dynamic_indices``,
in 2.13 ``_dynamo_propagated_dynamic_indices``); Dynamo makes these dims symbolic when such a tensor comes in again. Backends without
AOTAutograd, such as "eager", do not, and Python ints never carry it.
"""

from typing import NamedTuple
from weakref import WeakMethod

from shapelog.advice.dynamism.calling_code import CallingCode
from shapelog.advice.dynamism.compiled_code import CompiledCode, OriginsOf
from shapelog.advice.dynamism.graph_outputs import GraphOutputs
from shapelog.advice.dynamism.kept_tensors import KeptTensors
from shapelog.advice.dynamism.passed_tensors import PassedTensors
from shapelog.advice.dynamism.resumed_tensors import ResumedTensors
from shapelog.advice.dynamism.view_bases import ViewBases
from shapelog.advice.marks import Mark
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace
from shapelog.reading.payloads.properties import RANK, size
from shapelog.reading.payloads.source_names import Source


class _Origins(NamedTuple):
    """Marks of which any one makes a dim symbolic, what has to be marked with them, and how they are known."""

    marks: tuple[Mark, ...] = ()
    partners: tuple[Mark, ...] = ()
    is_guessed: bool = False
    is_kept: bool = False


class DynamismPropagation:
    """Where the tensors come from that compiled functions return, and resumed or other compiled functions take; asked one dim at a time."""

    def __init__(self, trace: Trace) -> None:
        self._code = CompiledCode(trace)
        self._outputs = GraphOutputs()
        origins_of, calling = _weakly(self.origins), CallingCode()
        self._resumed = ResumedTensors(self._code, self._outputs, origins_of)
        self._passed = PassedTensors(self._code, self._outputs, self._resumed, calling, origins_of)
        self._kept = KeptTensors(self._code, self._outputs, calling, origins_of)
        self._bases = ViewBases(self._code, self._outputs)
        self._found: dict[tuple[Frame, Source, int], _Origins] = {}

    def origins(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """Marks of which any one makes this dim symbolic, because other compiled code made the tensor; () where no such path shows."""
        return self._origins(frame, source, dim).marks

    def partners(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """What else has to be marked with the origins of this dim: the code needs these sizes equal, and a static one makes all static."""
        found = self._origins(frame, source, dim)
        return self._kept.partners(frame, found.marks) if found.is_kept else found.partners

    def splitting_marks(self, frame: Frame) -> frozenset[Mark]:
        """The marks under each of which a frame may need one more graph, for views of what other compiled code returns."""
        return self._bases.splitting_marks(frame)

    def is_guessed(self, frame: Frame, source: Source, dim: int) -> bool:
        """Whether the origins of this dim are known by sizes alone: code in eager mode may have made a new tensor of the same sizes."""
        return self._origins(frame, source, dim).is_guessed

    def is_kept(self, frame: Frame, source: Source, dim: int) -> bool:
        """Whether a tensor is taken to be what the function kept in an earlier call: code outside may have put another one in its place."""
        return self._origins(frame, source, dim).is_kept

    def _origins(self, frame: Frame, source: Source, dim: int) -> _Origins:
        key = frame, source, dim
        if key not in self._found:
            self._found[key] = _Origins()  # a resumed function in a loop may lead back here
            self._found[key] = self._find(frame, source, dim)
        return self._found[key]

    def _find(self, frame: Frame, source: Source, dim: int) -> _Origins:
        if self._resumed.is_made_eagerly(frame, source):
            return _Origins()
        if marks := self._of_gradient(frame, source, dim) or self._resumed.origins(frame, source, dim):
            return _Origins(marks)
        before = self._resumed.taken_over_from(frame, source)
        if before and (found := self._origins(before, source, dim)).marks and not found.is_kept:
            return found
        passed = self._passed.origins(frame, source, dim)
        if passed.marks:
            return _Origins(passed.marks, tuple(sorted(passed.needed)), passed.is_guessed)
        kept = self._kept.origins(frame, source, dim)
        return _Origins(kept, is_kept=bool(kept))

    def _of_gradient(self, frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        """The mark on the tensor whose gradient this is: it has the symbols of that, as PyTorch describes both at once."""
        found: frozenset[Source] | None = None
        for compile, tree in self._code.guarding(frame).get(source, ()):
            inputs = self._outputs.inputs_of(compile)
            if source in inputs.by_source:
                return ()
            rank = tree.facts.get((source, RANK))
            facts = (tree.facts.get((source, size(number))) for number in range(rank if isinstance(rank, int) else 0))
            sizes = tuple(fact for fact in facts if isinstance(fact, int))
            if len(sizes) == rank:
                fitting = inputs.with_grad.get(sizes, frozenset())
                found = fitting if found is None else found & fitting
        return tuple(Mark(tensor, dim) for tensor in found) if found and len(found) == 1 else ()


def _weakly(origins: OriginsOf) -> OriginsOf:
    """The same method without a reference to its object: a cycle of references would keep the file of a trace open."""
    method = WeakMethod(origins)

    def origins_of(frame: Frame, source: Source, dim: int) -> tuple[Mark, ...]:
        known = method()
        assert known is not None  # it is the object that asks
        return known(frame, source, dim)

    return origins_of

"""Views of what compiled code returns, such as ``boxes[k]``: once an output is dynamic, so is the base of its views.

A base is guarded where it has symbols, and then for sizes of 2 or more alone, as all that are symbolic: a call in which it has a size of
0 or 1 needs a graph of its own, which it did not need while the base was static.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from shapelog.advice.dynamism.compiled_code import CompiledCode
from shapelog.advice.dynamism.graph_outputs import GraphOutputs
from shapelog.advice.marks import Mark
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import Input

# Of more compiles right before another one, the latest are asked for the base of its views.
_MOST_BEFORE = 16


@dataclass(eq=False, repr=False)
class ViewBases:
    """Which marks make a frame compile for bases of other sizes."""

    code: CompiledCode
    outputs: GraphOutputs

    def splitting_marks(self, frame: Frame) -> frozenset[Mark]:
        """The marks under each of which a frame may need one more graph: a size of a base that they make symbolic is 0 or 1 in other calls
        of what returns it, and in no graph of the frame.
        """
        views = ((compile, item) for compile in frame.entries for item in compile.inputs if item.is_part and item.base_size is not None)
        return frozenset([mark for compile, view in views for mark in self._of_view(frame, compile, view)])

    def _of_view(self, frame: Frame, compile: Compile, view: Input) -> Iterator[Mark]:
        base = view._replace(size=view.base_size or ())
        for maker in self.code.made_before(compile, _MOST_BEFORE):
            made_in, entry = self.code.frame_of[maker], self.code.dynamic_entry_like(maker)
            if entry is None or made_in is frame or not self.code.runs_autograd(made_in):
                continue
            outputs = [output for number in self.outputs.numbers_of(base, maker) for output in self.outputs.outputs_of(entry)[number:][:1]]
            for dim, text in [pair for output in outputs for pair in enumerate(output.dims)]:
                if text.isidentifier() and not self._has_small_base(frame, view.source, dim):
                    yield from (mark for mark in self.outputs.marks(text, entry) if self._is_small_in(made_in, mark))

    def _is_small_in(self, frame: Frame, mark: Mark) -> bool:
        """Whether a size is 0 or 1 in a call of a frame."""
        tensors = (self.outputs.inputs_of(compile).by_source.get(mark.source) for compile in frame.compiles)
        return any(size <= 1 for tensor in tensors if tensor and not mark.is_int for size in tensor.size[mark.dim : mark.dim + 1])

    def _has_small_base(self, frame: Frame, source: Source, dim: int) -> bool:
        """Whether a graph of a frame is for a base with a size of 0 or 1 there."""
        views = (self.outputs.inputs_of(compile).by_source.get(source) for compile in frame.entries)
        return any(size <= 1 for view in views if view for size in (view.base_size or ())[dim : dim + 1])

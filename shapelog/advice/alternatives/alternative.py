"""What an alternative is, and what it is chosen from."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.advice.remaining_recompiles import Remaining
from shapelog.advice.replay import Marks
from shapelog.display import in_notebook
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.ids import TorchVersion
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.recompile import Recompile

# Strides follow from sizes.
_OF_LAYOUT = re.compile(r"\.(?:stride|storage_offset)\(\)")


class Alternative(NamedTuple):
    """Another tool for a problem of this run: its name in PyTorch, what it is for, lines to paste, and a caveat.

    ``codes`` are the rules that it answers to.
    """

    tool: str
    codes: tuple[str, ...]
    subject: str
    sentence: str
    lines: tuple[str, ...]
    warning: str = ""

    def _repr_html_(self) -> str:
        return in_notebook("object", self)


class AdviceContext(NamedTuple):
    """What a trace shows, the marks that are advised for it, and what remains with them."""

    explained: Explanations
    marks: Marks
    remaining: tuple[Remaining, ...]
    version: TorchVersion

    @property
    def sources(self) -> frozenset[str]:
        return frozenset(mark.source for mark in self.marks)

    @property
    def causes(self) -> Iterator[tuple[Recompile, Cause]]:
        return ((item, cause) for item in self.explained.recompiles for cause in item.causes)

    def with_code(self, code: str) -> list[tuple[Recompile, Cause]]:
        return [(item, cause) for item, cause in self.causes if code in cause.codes]


def compared_sizes(frames: Iterable[Frame]) -> frozenset[str]:
    """The sizes that code compares with a number or another size, at which it may fail where the size is unbacked, as guards spell them.

    Of equations, many operators check them at run time instead, and others fail, such as attention (torch 2.13).
    """
    guards = (compile.guards for frame in frames for compile in frame.entries)
    shapes = (shape for tree in guards if tree for shape in tree.shapes if shape.is_of_code and not shape.is_usual)
    return frozenset(name for shape in shapes if not _OF_LAYOUT.search(shape.expression) for name in shape.parsed.names)


def specialized(compile: Compile) -> set[Source]:
    """The sources that a graph needs the exact value of."""
    return {source for item in compile.specializations for source in item.sources}


def callee(frame: Frame) -> str:
    """What to call the code in a line to paste: it may be a lambda, or the method of a model that is compiled as a whole."""
    if "." in frame.title:
        return "model"
    return frame.name if frame.name.isidentifier() else "fn"


def is_argument(source: str) -> bool:
    """Whether it is an argument itself, and nothing in one."""
    return source.startswith("L['") and source.count("[") == 1 and source.endswith("']")

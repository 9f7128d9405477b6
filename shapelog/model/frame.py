"""The compiles of one code, in the order in which they were made."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from shapelog.display import in_notebook
from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome, function_of, resumed_by
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.source_names import Source, is_torch
from shapelog.reading.payloads.source_names import is_library as in_library
from shapelog.reading.records import StackFrame
from shapelog.text import cut, file_name, names_of, one_line, plural

# In the one-line display of an object.
_LONGEST_NAME = 80
# The title of code whose name is in no record.
UNNAMED_CODE = "a function not named in the log"
_CAPTURED = "backward graph captured by compiled autograd"
# How many compiles of a frame, from the first on, are asked for its class, and for the frames that a stack lacks.
_MOST_COMPILES = 32
_WRAPPERS = frozenset(("inner", "wrapper", "wrapped", "_fn", "fn", "_call_impl", "_wrapped_call_impl", "__call__", "forward", "<lambda>"))
# Classes of torch whose objects a wrapper is given, and whose names are no help with its code.
_NO_CLASS_OF_CODE = ("torch.Tensor", "torch.nn.parameter.", "torch._ops.")
# What runs the code of a function that ``torch.compile`` was called on.
_RUNS_COMPILED = "torch/_dynamo/eval_frame.py"
# What calls a function that was given to ``torch.compiler.disable`` (``get_nonrecursive_disable_wrapper``).
_RUNS_DISABLED = "torch/_dynamo/external_utils.py"
_SELF = Source("L['self']")
_CALLEES = (_SELF, *map(Source, ("L['fn']", "L['func']", "L['args'][0]")))

Origin = tuple[str, int, str]
"""The file, the first line and the name of code."""

Function = tuple[int | None, int, str, str]
"""A rank, a process, a file, and the name of a function."""


def short_name(text: str) -> str:
    """A name in the one-line display of an object."""
    return cut(one_line(text), _LONGEST_NAME)


def _module_of(tree: GuardTree) -> Source | None:
    """The argument that is an nn.Module, where one is: the first of a method whose author does not call it ``self``."""
    modules = [source for source in tree.modules if source.is_argument]
    return modules[0] if len(modules) == 1 else None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """A piece of Python code that Dynamo compiled, once or more.

    ``file``, ``line`` and ``name`` are those of the code object ("" and 0 where the trace does not name them). ``entries`` are the compiles
    that produced guarded code.
    """

    number: int
    rank: int | None
    process: int
    generation: int
    name: str
    file: str
    line: int
    compiles: tuple[Compile, ...]
    entries: tuple[Compile, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "entries", tuple(compile for compile in self.compiles if compile.outcome is Outcome.COMPILED))

    def __repr__(self) -> str:
        return f"<Frame {self.label} {short_name(self.title)}: {plural(len(self.entries), 'compilation')}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def seconds(self) -> float:
        return math.fsum(compile.seconds for compile in self.compiles)

    @property
    def _first_compiles(self) -> tuple[Compile, ...]:
        return self.compiles[:_MOST_COMPILES]

    @property
    def makes_dynamic(self) -> bool | None:
        """Whether a size that changes becomes dynamic in any of its compiles, None where no settings are recorded."""
        known = {compile.metrics.makes_dynamic for compile in self._first_compiles} - {None}
        return True in known if known else None

    @property
    def origin(self) -> Origin:
        """Where its code is from: the same on all ranks, and when the code is compiled again after a reset."""
        return self.file, self.line, self.name

    @property
    def function(self) -> Function:
        """The function whose code it is, also where that goes on after a graph break."""
        return self.rank, self.process, self.file, function_of(self.name)

    @property
    def label(self) -> str:
        number = str(self.number) if self.number >= 0 else "-"
        return number if self.generation == 1 else f"{number}#{self.generation}"

    @property
    def shown_label(self) -> str:
        """Its number as PyTorch wrote it; "" in a text log without ids."""
        return self.label if any(compile.shown_label for compile in self.compiles) else ""

    @property
    def title(self) -> str:
        """A name that the user knows: ``Net.forward`` for a method, the wrapped class for a wrapper such as ``inner``, and the
        function or method itself for what resumes it after a graph break. Where classes share the code, that of the first.
        """
        return self._titled(next(self._classes(self._first_compiles), ""))

    @property
    def placed_title(self) -> str:
        """The title; of a library's function whose class is not known, which may have the name of many, with its place:
        ``forward (peft_model.py:1834)``.
        """
        title = self.title
        return title if "." in title or not self.is_library else f"{title} ({file_name(self.file)}:{self.line})"

    def titles_of(self, compiles: Iterable[Compile]) -> list[str]:
        """The title for each class for which these compiles were made, of which several may share the code; without a class where it is
        not known for which of them.
        """
        known = list(dict.fromkeys(self._classes(compiles)))
        if not known and len(others := set(self._classes(self._first_compiles))) == 1:
            known = list(others)
        return list(map(self._titled, known or [""]))

    def title_of(self, compiles: Iterable[Compile]) -> str:
        """The same in words."""
        return names_of(self.titles_of(compiles))

    def _titled(self, owner: str) -> str:
        """The name of the function with that of its class."""
        resumed = resumed_by(self.name)
        name = resumed[0] if resumed else self.name
        if not name:
            name = _CAPTURED if all(compile.is_capture for compile in self.compiles) else UNNAMED_CODE
        name = f"{owner}.{name}" if owner else name
        return f"{name} (resumed at line {resumed[1]})" if resumed else name

    def _classes(self, compiles: Iterable[Compile]) -> Iterator[str]:
        """The class that a method or wrapper worked for in each of these compiles, as far as guards have it.

        Only what is called ``self`` makes any other function a method.
        """
        resumed = resumed_by(self.name)
        is_wrapper = (resumed[0] if resumed else self.name) in _WRAPPERS
        for compile in compiles:
            tree = compile.guards
            callee = next((source for source in _CALLEES if source in tree.types), _module_of(tree)) if tree and is_wrapper else _SELF
            named = tree.types.get(callee, "") if tree and callee else ""
            if "." in named and not named.startswith(_NO_CLASS_OF_CODE):  # classes of Python such as function and int have no module
                yield named.rsplit(".", 1)[-1]

    def caller(self, compile: Compile) -> StackFrame | None:
        """The user's line that called this code when ``compile`` was made, None if that is not recorded or all callers are libraries."""
        start = compile.stack.frames
        if compile.recorded_callers:
            return self.called_from(compile.recorded_callers)
        called = self.called_from(start)
        if called is None:
            return None
        with_same_start = (item for item in self._first_compiles if item.recorded_callers and item.stack.frames == start)
        found = {self.called_from(item.recorded_callers) for item in with_same_start} - {None}
        if len(found) == 1:
            return found.pop()
        return None if self._lacks_caller(compile) else called

    def _lacks_caller(self, compile: Compile) -> bool:
        """Whether the line that called this code is missing in the stack that its start has.

        From torch 2.10 on (the first to write its version among the metrics), that stack ends two calls before the code itself. Those
        two are PyTorch's own only for the ``forward`` of a module and for resumed code; a plain function is called by the user's line
        and ``compile_wrapper``. A wrapper of torch.compiler.disable calls a function of the user, too.
        """
        outer = compile.stack.frames[:-1]
        if not compile.metrics.torch_version or not outer:
            return False
        is_cut = not in_library(outer[-1].file) or outer[-1].file.endswith(_RUNS_DISABLED)
        return is_cut and self.name != "forward" and resumed_by(self.name) is None

    def called_from(self, stack: tuple[StackFrame, ...]) -> StackFrame | None:
        """The same of a stack. Resumed code is called where the whole function is, which calls its rest itself."""
        resumed = resumed_by(self.name)
        whole = (self.file, resumed[0]) if resumed else None
        outer = stack[:-1] if stack and (stack[-1].file, stack[-1].name) == (self.file, self.name) else stack
        callers = (item for item in reversed(outer) if (item.file, function_of(item.name)) != whole and not in_library(item.file))
        return next(callers, None)

    @property
    def called_at(self) -> StackFrame | None:
        """The user's line that calls this code: of the first compile that has the innermost one recorded, else of the first with any."""
        recorded = (self.called_from(item.recorded_callers) for item in self._first_compiles)
        return next((found for found in chain(recorded, map(self.caller, self.compiles)) if found), None)

    def last_caller_before(self, compile: Compile) -> StackFrame | None:
        """The user's line that called this code when it was last compiled before: most likely that of a refused call, too."""
        earlier = (item for item in reversed(self.compiles) if item.order < compile.order)
        return next(filter(None, map(self.caller, earlier)), None)

    @property
    def has_only_one_caller(self) -> bool:
        """Whether several calls are known to be made by one line, and none by another: another call is most likely made there, too."""
        known = [called for called in map(self.caller, self._first_compiles) if called]
        return len(known) > 1 and len(set(known)) == 1

    @property
    def refused_at(self) -> int | None:
        """When a call of it was first refused at the recompile limit, as the order of that compile; None if none was."""
        return next((compile.order for compile in self.compiles if compile.outcome is Outcome.LIMIT), None)

    @property
    def is_in_thread(self) -> bool:
        """Whether a thread that the program started calls this code: settings that other threads make do not hold there (torch 2.13)."""
        outermost = (frame for compile in self._first_compiles for frame in compile.stack.frames[:1])
        return any(frame.file.replace("\\", "/").endswith("/threading.py") for frame in outermost)

    @property
    def is_library(self) -> bool:
        """Whether the code itself lies in torch or an installed package, so that its user knows it by the caller."""
        return in_library(self.file)

    @property
    def is_within_library(self) -> bool:
        """Whether it is code of a library that code of a library calls, as far as the innermost calls are recorded."""
        known = next((found for compile in self._first_compiles if (found := compile.recorded_callers)), ())
        caller = next((line for line in reversed(known) if not is_torch(line.file)), None)
        return self.is_library and caller is not None and in_library(caller.file)


class Callers:
    """Which of these frames were running when another one was first compiled, as far as that one's stack shows.

    From torch 2.10 on, a stack ends two calls before the code. Where compiled code calls a function that is compiled by itself, these
    two are the calls of that code and of the wrapper around the function: what is above them is above the code as well.
    """

    def __init__(self, frames: Iterable[Frame]) -> None:
        frames = list(frames)
        self._by_function = grouped(frames, lambda frame: frame.function)
        started = [frame for frame in frames if frame.compiles[0].stack.frames]
        self._refused: dict[Frame, int | None] = {}
        self._by_stack = grouped(started, lambda frame: (frame.rank, frame.process, _places(frame.compiles[0].stack.frames[:-1])))

    def of(self, frame: Frame) -> Iterator[Frame]:
        """The frames that called this one, each once."""
        first = frame.compiles[0]
        outer = first.stack.frames[:-1]
        found = {
            other: None for file, name in _places(outer) for other in self._by_function.get((frame.rank, frame.process, file, name), ())
        }
        if first.metrics.torch_version and any(item.file.replace("\\", "/").endswith(_RUNS_COMPILED) for item in outer):
            found |= dict.fromkeys(self._by_stack.get((frame.rank, frame.process, _places(outer[:-2])), ()))
        return (other for other in found if other is not frame)

    def refused(self, frame: Frame) -> Frame | None:
        """The code at the recompile limit that a frame was compiled for: run in eager mode, it called this function, which is part of its
        graphs elsewhere. None where other code may have called it, or its graph breaks.
        """
        callers = list(self.of(frame))
        refused = [self._refused_whole(other) for other in callers]
        if None in refused:
            return None
        return next((other for other, at in zip(callers, refused, strict=True) if at is not None and at < frame.compiles[0].order), None)

    def _refused_whole(self, frame: Frame) -> int | None:
        """When a call of code without graph breaks was first refused, as the order of that compile; None of any other code."""
        if frame not in self._refused:
            is_broken = any(item.breaks for item in frame.compiles)
            self._refused[frame] = None if is_broken else frame.refused_at
        return self._refused[frame]


def _places(stack: Sequence[StackFrame]) -> tuple[tuple[str, str], ...]:
    return tuple((item.file, item.name) for item in stack)

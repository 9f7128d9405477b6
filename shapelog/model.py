"""Trace · Rank · Frame · Compile: what happened in one run, typed and immutable.

Payloads (guards, graphs) stay in the file until a question needs them, and each distinct one is parsed once.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from shapelog.errors import Problem
from shapelog.ids import CompileId
from shapelog.payloads import graphs, guards
from shapelog.payloads.graphs import Graph
from shapelog.payloads.guards import GuardTree
from shapelog.payloads.reasons import Reason
from shapelog.payloads.sources import is_library as in_library
from shapelog.records import AutomaticDynamic, Config, GuardAdded, Input, Metrics, Specialization, Stack, StackFrame, Symbol
from shapelog.scan import Reader, Span

__all__ = ["Compile", "Frame", "Input", "Metrics", "Outcome", "Payloads", "Rank", "Specialization", "Symbol", "Trace"]


class Outcome(Enum):
    """How a compile ended."""

    COMPILED = "compiled"
    FAILED = "failed"
    LIMIT = "limit"
    SKIPPED = "skipped"
    UNFINISHED = "unfinished"


@dataclass(slots=True)
class Payloads:
    """The payloads of one file, parsed on demand; equal MD5 means equal payload, so nothing is parsed twice."""

    reader: Reader
    trees: dict[str, GuardTree] = field(default_factory=dict)
    parsed_graphs: dict[str, Graph] = field(default_factory=dict)
    known_guards: guards.Known = field(default_factory=dict)

    def text(self, span: Span) -> str:
        return self.reader.text(span)

    def tree(self, span: Span, is_list: bool) -> GuardTree:
        key = span.digest or f"@{span.start}"
        found = self.trees.get(key)
        if found is None:
            found = self.trees[key] = self._tree(span, is_list)
        return found

    def _tree(self, span: Span, is_list: bool) -> GuardTree:
        text = self.text(span)
        if not is_list:
            return guards.parse_tree(text, self.known_guards)
        try:
            return guards.parse_list(text)
        except ValueError:
            self.reader.ledger.add(span.start, "bad-json", "the list of guards in this payload is no JSON")
            return guards.parse_list("[]")

    def graph(self, span: Span) -> Graph:
        key = span.digest or f"@{span.start}"
        found = self.parsed_graphs.get(key)
        if found is None:
            found = self.parsed_graphs[key] = graphs.parse(self.text(span))
        return found


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A place where Dynamo could not go on: what it met, PyTorch's explanation ("" before 2.8), the user's line, the whole text."""

    reason: str
    explanation: str
    place: StackFrame | None
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Compile:
    """One cache entry that Dynamo tried to fill, its attempts joined: only the last attempt made the graph.

    ``label`` is the id as text. ``inputs`` are the tensors it was called with, by source; ``symbols`` those of the last attempt;
    ``reasons`` what PyTorch said about each earlier entry, most recently used first. ``stack`` is the call stack, outermost frame
    first. ``seconds`` includes the backward graphs that were compiled later.
    """

    id: CompileId
    label: str
    rank: int | None
    process: int
    order: int
    attempts: int = 1
    stack: Stack = field(default_factory=Stack)
    inputs: tuple[Input, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    specializations: tuple[Specialization, ...] = ()
    guards_added: tuple[GuardAdded, ...] = ()
    automatic_dynamic: tuple[AutomaticDynamic, ...] = ()
    reasons: tuple[Reason, ...] = ()
    has_reasons_record: bool = False
    breaks: tuple[GraphBreak, ...] = ()
    error: str = ""
    collectives: tuple[str, ...] = ()
    caches: tuple[tuple[str, int], ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    backward: tuple[Metrics, ...] = ()
    outcome: Outcome = Outcome.UNFINISHED
    graph_is_symbolic: bool = False
    payloads: Payloads | None = field(default=None, repr=False, compare=False)
    graph_span: Span | None = None
    guards_span: Span | None = None
    guards_are_list: bool = False
    code_state_span: Span | None = None

    @property
    def seconds(self) -> float:
        return (self.metrics.seconds or 0.0) + math.fsum(part.seconds or part.backward or 0.0 for part in self.backward)

    @property
    def guards(self) -> GuardTree | None:
        """What this entry checks before it is used; None if it has no code, or the record is not there."""
        return self.payloads.tree(self.guards_span, self.guards_are_list) if self.payloads and self.guards_span else None

    @property
    def graph(self) -> Graph | None:
        return self.payloads.graph(self.graph_span) if self.payloads and self.graph_span else None

    @property
    def graph_text(self) -> str:
        return self.payloads.text(self.graph_span) if self.payloads and self.graph_span else ""

    @property
    def guards_text(self) -> str:
        return self.payloads.text(self.guards_span) if self.payloads and self.guards_span else ""

    @property
    def code_state(self) -> str:
        """The last PGO state that this compile wrote, "" without."""
        return self.payloads.text(self.code_state_span) if self.payloads and self.code_state_span else ""

    @property
    def is_dynamic(self) -> bool:
        """Whether anything in it is symbolic."""
        return bool(self.symbols) or self.graph_is_symbolic


_WRAPPERS = frozenset(("inner", "wrapper", "wrapped", "_fn", "fn", "_call_impl", "_wrapped_call_impl", "__call__", "forward", "<lambda>"))
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")
_CALLEES = ("L['self']", "L['fn']", "L['func']", "L['args'][0]")


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A piece of Python code that Dynamo compiled, once or more.

    ``file``, ``line`` and ``name`` are those of the code object ("" and 0 where the trace does not tell).
    """

    number: int
    rank: int | None
    process: int
    generation: int
    name: str
    file: str
    line: int
    compiles: tuple[Compile, ...]

    @property
    def seconds(self) -> float:
        return math.fsum(compile.seconds for compile in self.compiles)

    @property
    def entries(self) -> tuple[Compile, ...]:
        """The compiles that produced guarded code."""
        return tuple(compile for compile in self.compiles if compile.outcome is Outcome.COMPILED)

    @property
    def label(self) -> str:
        number = str(self.number) if self.number >= 0 else "-"
        return number if self.generation == 1 else f"{number}#{self.generation}"

    @property
    def title(self) -> str:
        """A name that the user knows: ``Net.forward`` for a method, the wrapped class for a wrapper such as ``inner``, and the
        function itself for what resumes it after a graph break.
        """
        resumed = _RESUMED.match(self.name)
        if resumed:
            return f"{resumed[1]} (resumed at line {resumed[2]})"
        if self.name not in _WRAPPERS:
            return self.name or "unknown code"
        for compile in self.compiles:
            tree = compile.guards
            named = next((tree.types[source] for source in _CALLEES if source in tree.types), "") if tree else ""
            if named:
                return f"{named.rsplit('.', 1)[-1]}.{self.name}"
        return self.name

    def caller(self, compile: Compile) -> StackFrame | None:
        """The user's line that called this code when ``compile`` was made, None if the stack holds library code alone."""
        own = (self.file, self.line, self.name)
        callers = [item for item in compile.stack.frames if (item.file, item.line, item.name) != own and not in_library(item.file)]
        return callers[-1] if callers else None

    @property
    def called_at(self) -> StackFrame | None:
        """The user's line that called this code first."""
        return next((found for found in map(self.caller, self.compiles) if found), None)

    @property
    def is_library(self) -> bool:
        """Whether the code itself lies in torch or an installed package, so that its user knows it by the caller."""
        return in_library(self.file)


@dataclass(frozen=True, slots=True, eq=False)
class Rank:
    """One process: its rank in a distributed run (None outside of one), its process id, its frames in order of first compile."""

    number: int | None
    process: int
    frames: tuple[Frame, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """What became of every byte and record of one file. ``records`` counts readable ones by kind."""

    name: str
    size: int
    records: Mapping[str, int]
    sizes: Mapping[str, int]
    unused: Mapping[str, int]
    unknown: Mapping[str, int]
    unreadable_bytes: int
    unreadable_records: int
    payloads_verified: int

    @property
    def balances(self) -> bool:
        return sum(self.sizes.values()) + self.unreadable_bytes == self.size


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One run. ``torch_version`` is as written, or "" ; ``version_guess`` says in words what the records look like without one."""

    name: str
    ranks: tuple[Rank, ...]
    torch_version: str
    version_guess: str
    config: Config
    notes: tuple[str, ...]
    readers: tuple[Reader, ...] = field(repr=False, compare=False)
    build_problems: tuple[Problem, ...] = ()

    @property
    def frames(self) -> tuple[Frame, ...]:
        return tuple(frame for rank in self.ranks for frame in rank.frames)

    @property
    def lists_sources(self) -> bool:
        """Whether this torch reads TORCH_COMPILE_DYNAMIC_SOURCES; it does from 2.8 on."""
        version = re.match(r"(\d+)\.(\d+)", self.torch_version)
        if version:
            return (int(version[1]), int(version[2])) >= (2, 8)
        return not self.version_guess.startswith(("2.5", "2.6 or"))

    @property
    def compiles(self) -> tuple[Compile, ...]:
        return tuple(compile for frame in self.frames for compile in frame.compiles)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that could not be used, including what was found when payloads were read later."""
        return tuple(problem for reader in self.readers for problem in reader.problems()) + self.build_problems

    @property
    def accounts(self) -> tuple[Account, ...]:
        return tuple(
            Account(
                book.name,
                book.size,
                dict(sorted(book.records.items())),
                dict(sorted(book.sizes.items())),
                dict(sorted(book.unused.items())),
                dict(sorted(book.unknown.items())),
                book.unreadable_bytes,
                book.unreadable_records,
                book.payloads_verified,
            )
            for book in (reader.ledger for reader in self.readers)
        )

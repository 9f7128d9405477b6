"""Trace · Rank · Frame · Compile: what happened in one run, typed and immutable.

Payloads (guards, graphs) stay in the file until a question needs them, and each distinct one is parsed once.

What is compared by its values is a named tuple: a dataclass takes half a millisecond to make, a hundred of them a twelfth of a report.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from shapelog.display import in_notebook
from shapelog.errors import Problem
from shapelog.model.ids import CompileId, TorchVersion, parse_compile_id, parse_version
from shapelog.model.vllm import VllmCompilation
from shapelog.reading.ledger import Ledger
from shapelog.reading.payloads import graphs, guards, pgo_state
from shapelog.reading.payloads.compiler_messages import (
    CompilerMessage,
    RaisedException,
    compiler_message,
    exception_chain,
    in_words,
    user_stack,
)
from shapelog.reading.payloads.graphs import Graph
from shapelog.reading.payloads.guards import GuardTree
from shapelog.reading.payloads.pgo_state import CodeState
from shapelog.reading.payloads.recompile_reasons import RECOMPILE_FORBIDDEN, Reason
from shapelog.reading.payloads.side_effects import changed_objects
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.payloads.source_names import is_library as in_library
from shapelog.reading.reader import Reader
from shapelog.reading.records import AutomaticDynamic, Config, Input, Metrics, Specialization, Stack, StackFrame, Symbol
from shapelog.reading.scanner import Span
from shapelog.reading.text_logs.contents import LogContents
from shapelog.text import cut, one_line, plural

if TYPE_CHECKING:
    from shapelog.model.exports import Export
    from shapelog.model.rank_summary import RankSummary

_Parsed = TypeVar("_Parsed")
# In the one-line display of an object.
_LONGEST_NAME = 80
# What a trace without a version is taken for, by the builder's guess.
UNKNOWN_VERSION = "of an unknown version"
# The title of code whose name is in no record.
UNNAMED_CODE = "code that the log does not name"
_CAPTURED = "backward graph captured by compiled autograd"
# The oldest version that is supported.
_OLDEST = TorchVersion(2, 4)


class Outcome(Enum):
    """How a compile ended."""

    COMPILED = "compiled"
    FAILED = "failed"
    LIMIT = "limit"
    SKIPPED = "skipped"
    UNFINISHED = "unfinished"


@dataclass(slots=True, eq=False, repr=False)
class Payloads:
    """The payloads of one file, parsed on demand; equal MD5 means equal payload, so nothing is parsed twice."""

    reader: Reader
    trees: dict[str, GuardTree] = field(default_factory=dict)
    parsed_graphs: dict[str, Graph] = field(default_factory=dict)
    code_states: dict[str, CodeState] = field(default_factory=dict)
    effects: dict[str, frozenset[Source]] = field(default_factory=dict)
    known_guards: guards.NodeCache = field(default_factory=dict)

    def text(self, span: Span) -> str:
        return self.reader.payload_text(span)

    def tree(self, span: Span, is_list: bool) -> GuardTree:
        return self._parsed(self.trees, span, lambda text: self._tree(text, span, is_list))

    def _tree(self, text: str, span: Span, is_list: bool) -> GuardTree:
        if not is_list:
            return guards.parse_tree(text, self.known_guards)
        try:
            return guards.parse_list(text)
        except ValueError:
            self.reader.ledger.add(span.start, "bad-json", "the list of guards in this payload is no JSON list")
            return guards.parse_list("[]")

    def graph(self, span: Span) -> Graph:
        return self._parsed(self.parsed_graphs, span, graphs.parse)

    def code_state(self, span: Span) -> CodeState:
        return self._parsed(self.code_states, span, pgo_state.parse)

    def changed_objects(self, span: Span) -> frozenset[Source]:
        return self._parsed(self.effects, span, changed_objects)

    def _parsed(self, known: dict[str, _Parsed], span: Span, parse: Callable[[str], _Parsed]) -> _Parsed:
        key = span.digest or f"@{span.start}"
        if key not in known:
            known[key] = parse(self.text(span))
        return known[key]


@dataclass(frozen=True, slots=True, eq=False)
class CodeStateRecord:
    """PGO's state when it was read or written, always the whole of it.

    ``name`` is ``get_local``, ``put_local``, ``get_remote``, ``put_remote`` or ``get_extra_remote``; ``compile`` the label of the
    compile that it happened in.
    """

    name: str
    compile: str
    span: Span
    payloads: Payloads = field(repr=False)

    @property
    def is_read(self) -> bool:
        return self.name.startswith("get_")

    @property
    def storage(self) -> str:
        """``local``, ``remote``, or ``extra remote``: that of another job, whose key the program gave."""
        return self.name.partition("_")[2].replace("_", " ")

    @property
    def state(self) -> CodeState:
        return self.payloads.code_state(self.span)


class GraphBreak(NamedTuple):
    """A place where Dynamo could not go on: PyTorch's message, the user's line, the whole text."""

    message: CompilerMessage
    place: StackFrame | None
    text: str

    @property
    def reason(self) -> str:
        """What it met, in one line."""
        return self.message.title

    @property
    def words(self) -> str:
        """What it met, with the explanation where there is one."""
        return f"{self.reason.rstrip(' :')}: {self.message.explanation}" if self.message.explanation else self.reason


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compile:
    """One cache entry that Dynamo tried to fill, its attempts joined: only the last attempt made the graph.

    ``label`` is the id as text. ``inputs`` are the tensors it was called with, by source, ``bases`` what some of them are views of, if
    that is an input as well; ``symbols`` those of the last attempt; ``reasons`` PyTorch's reason for each earlier entry, most recently
    used first. ``stack`` is the call stack, outermost frame first. ``offset`` is that of its first record in the file. ``seconds``
    includes the backward graphs that were compiled later.
    ``other_records`` holds those of further kinds by their type (``reading.records.PARSERS``).
    ``inductor`` are name, offset and payload of what Inductor wrote about its distributed graphs (see ``payloads.distributed``).
    ``links`` are (name, address), as a backend wrote them; ``rank_notes`` are (artifact, text) about what ranks compared or agreed on;
    ``metrics_offset`` is that of the record of its metrics. ``capture_reasons`` are why compiled autograd captured this backward graph.
    ``cache_records`` are name, offset and payload of what compile caches wrote, in all attempts (see ``payloads.cache_keys``).
    """

    id: CompileId
    label: str
    rank: int | None
    process: int
    order: int
    offset: int = 0
    attempts: int = 1
    stack: Stack = field(default_factory=Stack)
    inputs: tuple[Input, ...] = ()
    bases: Mapping[Source, Source] = field(default_factory=dict)
    symbols: tuple[Symbol, ...] = ()
    specializations: tuple[Specialization, ...] = ()
    other_records: Mapping[type, tuple[Any, ...]] = field(default_factory=dict)
    automatic_dynamic: tuple[AutomaticDynamic, ...] = ()
    reasons: tuple[Reason, ...] = ()
    has_reasons_record: bool = False
    breaks: tuple[GraphBreak, ...] = ()
    error: str = ""
    collectives: tuple[str, ...] = ()
    inductor_messages: tuple[str, ...] = ()
    caches: tuple[tuple[str, int], ...] = ()
    metrics: Metrics = field(default_factory=Metrics)
    backward: tuple[Metrics, ...] = ()
    outcome: Outcome = Outcome.UNFINISHED
    graph_is_symbolic: bool = False
    payloads: Payloads | None = None
    graph_span: Span | None = None
    guards_span: Span | None = None
    effects_span: Span | None = None
    guards_are_list: bool = False
    code_states: tuple[CodeStateRecord, ...] = ()
    inductor: tuple[tuple[str, int, Span], ...] = ()
    metrics_offset: int = -1
    links: tuple[tuple[str, str], ...] = ()
    rank_notes: tuple[tuple[str, str], ...] = ()
    capture_reasons: tuple[str, ...] = ()
    cache_records: tuple[tuple[str, int, Span], ...] = ()

    def __repr__(self) -> str:
        return f"<Compile {self.label}: {self.outcome.value}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def shown_label(self) -> str:
        """Its id as PyTorch wrote it; "" in a text log without ids, where ``label`` is one of our own."""
        return "" if self.metrics.is_unnumbered else self.label

    @property
    def is_capture(self) -> bool:
        """Whether compiled autograd captured a backward graph here, which is compiled under an id of its own."""
        return self.id.frame < 0 and self.id.autograd is not None

    @property
    def reference(self) -> str:
        """How a text refers to it: by its id; in a text log without ids by its number among those of its function, ``no. 2``."""
        return self.shown_label or self.id.ordinal

    def reference_of(self, entry: str) -> str:
        """How a text refers to a cache entry that one of its reasons names."""
        known = None if self.shown_label else parse_compile_id(entry)
        return known.ordinal if known else entry

    @property
    def metric_fields(self) -> Mapping[str, Any]:
        """All fields of its ``compilation_metrics`` as PyTorch wrote them, {} without that record."""
        header = self.payloads.reader.header(self.metrics_offset) if self.payloads and self.metrics_offset >= 0 else {}
        return next((body for kind, body in header.items() if kind in _METRICS and isinstance(body, Mapping)), {})

    @property
    def seconds(self) -> float:
        forward = self.metrics.seconds or 0.0
        return forward + math.fsum([part.seconds or part.backward or 0.0 for part in self.backward]) if self.backward else forward

    @property
    def measured_seconds(self) -> float | None:
        """The same, None where no time is recorded: in text logs, and of compiles that did not end."""
        return self.seconds or None

    @property
    def phases(self) -> tuple[tuple[str, float], ...]:
        """(phase, seconds) of each part, without the phases inside it; what is not measured apart stays with the outer one."""
        own = self.metrics
        inner = own.aot if own.aot is not None else own.backend or 0.0
        inductor, codegen = own.inductor or 0.0, own.codegen or 0.0
        is_eager = own.aot is None and own.inductor is None  # or a backend that does not record its phases
        return (
            ("Dynamo", max(0.0, (own.seconds or 0.0) - inner)),
            ("AOTAutograd", 0.0 if is_eager else max(0.0, inner - inductor)),
            ("Inductor", 0.0 if is_eager else max(0.0, inductor - codegen)),
            ("code generation", 0.0 if is_eager else codegen),
            ("backend", inner if is_eager else 0.0),
            ("backward", self.seconds - (own.seconds or 0.0)),
        )

    @property
    def guards(self) -> GuardTree | None:
        """What this entry checks before it is used; None if it has no code, or the record is not there."""
        return self.payloads.tree(self.guards_span, self.guards_are_list) if self.payloads and self.guards_span else None

    @property
    def graph(self) -> Graph | None:
        return self.payloads.graph(self.graph_span) if self.payloads and self.graph_span else None

    @property
    def changed_objects(self) -> frozenset[Source]:
        """The objects of its caller that it changes, such as a cache that it writes to; none where that is not recorded."""
        return self.payloads.changed_objects(self.effects_span) if self.payloads and self.effects_span else frozenset()

    @property
    def restarts(self) -> tuple[str, ...]:
        """Why the analysis was started again, for reasons that are not graph breaks."""
        if not self.metrics.restart_reasons:
            return ()
        known = {item.reason for item in self.breaks}
        reasons = (reason.strip().split("\n", 1)[0].strip("'\"") for reason in self.metrics.restart_reasons)
        return tuple(in_words(line) for line in reasons if not any(line in text or text in line for text in known))

    @property
    def failure(self) -> CompilerMessage:
        """What PyTorch wrote about its failure, of a compile that failed or was refused."""
        message = compiler_message(self.metrics.fail_reason or self.error)
        chain = () if self.metrics.fail_reason else self.exceptions
        if chain:
            message = message._replace(title=chain[-1].message or chain[-1].type)
        return message._replace(title=message.title or "no message was recorded", stack=message.stack or user_stack(self.error))

    @property
    def exceptions(self) -> tuple[RaisedException, ...]:
        """The chain of exceptions in which it failed, the first that was raised first; () where none is recorded."""
        return exception_chain(self.error)

    @property
    def raised_at_limit(self) -> bool:
        """Whether the recompile limit raised an error (``fullgraph=True``, ``fail_on_recompile_limit_hit``): then nothing runs eagerly."""
        return self.outcome is Outcome.LIMIT and self.metrics.fail_type == "FailOnRecompileLimitHit"

    @property
    def is_forbidden(self) -> bool:
        """Whether the program forbids this recompile (``error_on_recompile``): it raised an error before anything was traced."""
        return self.outcome is Outcome.FAILED and self.metrics.fail_type == RECOMPILE_FORBIDDEN

    @property
    def is_refused(self) -> bool:
        """Whether the call was not compiled, because of the recompile limit or since the program forbids it. It left reasons alone."""
        return self.outcome is Outcome.LIMIT or self.is_forbidden

    @property
    def recorded_callers(self) -> tuple[StackFrame, ...]:
        """The stack from the outermost frame to the one that called the code, as its symbols or graph breaks have it; () without any.

        ``stack`` lacks the innermost of these: one in torch 2.6, two in 2.13 and 2.15.
        """
        stack = next((found for item in self.symbols[:1] if (found := item.stack.frames)), ())
        inside = next((index for index, frame in enumerate(stack) if frame.file.replace("\\", "/").endswith(_CONVERTS)), 0)
        return stack[:inside] or self._above_break()

    def _above_break(self) -> tuple[StackFrame, ...]:
        """The part above its own code of a stack that leads to a graph break in it."""
        resumed = resumed_by(self.metrics.code_name)
        own = self.metrics.code_file, resumed[0] if resumed else self.metrics.code_name
        outer = max(0, len(self.stack.frames) - 1) if self.breaks else 0
        for stack in (item.message.stack for item in self.breaks[:_MOST_BREAKS]):
            inside = next((index for index, line in enumerate(stack) if index >= outer and (line.file, line.name) == own), 0)
            if inside:
                return stack[:inside]
        return ()

    @property
    def is_dynamic(self) -> bool:
        """Whether anything in it is symbolic."""
        return bool(self.symbols) or self.graph_is_symbolic


# Where PyTorch takes over from the code that called the compiled function.
_CONVERTS = "torch/_dynamo/convert_frame.py"
# How many compiles of a frame, from the first on, are asked for the frames that a stack lacks.
_MOST_ASKED = 32
_MOST_BREAKS = 4
_METRICS = ("compilation_metrics", "bwd_compilation_metrics")
_WRAPPERS = frozenset(("inner", "wrapper", "wrapped", "_fn", "fn", "_call_impl", "_wrapped_call_impl", "__call__", "forward", "<lambda>"))
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d+)$")
# Classes of torch whose objects a wrapper is given, and whose names are no help with its code.
_NO_CLASS_OF_CODE = ("torch.Tensor", "torch.nn.parameter.", "torch._ops.")
_CALLEES = tuple(map(Source, ("L['self']", "L['fn']", "L['func']", "L['args'][0]")))


def resumed_by(name: str) -> tuple[str, int] | None:
    """(function, line) where code of that name goes on after a graph break, None for code that is a function by itself."""
    found = _RESUMED.match(name)
    return (found[1], int(found[2])) if found else None


def _named(text: str) -> str:
    return cut(one_line(text), _LONGEST_NAME)


def _counted(frames: "tuple[Frame, ...]") -> str:
    return f"{plural(len(frames), 'function')}, {plural(sum(len(frame.entries) for frame in frames), 'compilation')}"


Function = tuple[int | None, int, str, str]
"""A rank, a process, a file, and the name of a function."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Frame:
    """A piece of Python code that Dynamo compiled, once or more.

    ``file``, ``line`` and ``name`` are those of the code object ("" and 0 where the trace does not name them).
    """

    number: int
    rank: int | None
    process: int
    generation: int
    name: str
    file: str
    line: int
    compiles: tuple[Compile, ...]

    def __repr__(self) -> str:
        return f"<Frame {self.label} {_named(self.title)}: {plural(len(self.entries), 'compilation')}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def seconds(self) -> float:
        return math.fsum(compile.seconds for compile in self.compiles)

    @property
    def entries(self) -> tuple[Compile, ...]:
        """The compiles that produced guarded code."""
        return tuple([compile for compile in self.compiles if compile.outcome is Outcome.COMPILED])

    @property
    def function(self) -> Function:
        """The function whose code it is, also where that goes on after a graph break."""
        resumed = resumed_by(self.name)
        return self.rank, self.process, self.file, resumed[0] if resumed else self.name

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
        function or method itself for what resumes it after a graph break.
        """
        resumed = resumed_by(self.name)
        name = self._name_with_class(resumed[0] if resumed else self.name)
        return f"{name} (resumed at line {resumed[1]})" if resumed else name

    def _name_with_class(self, name: str) -> str:
        if name not in _WRAPPERS:
            return name or (_CAPTURED if all(compile.is_capture for compile in self.compiles) else UNNAMED_CODE)
        for compile in self.compiles:
            tree = compile.guards
            named = next((tree.types[source] for source in _CALLEES if source in tree.types), "") if tree else ""
            if "." in named and not named.startswith(_NO_CLASS_OF_CODE):  # classes of Python such as function and int have no module
                return f"{named.rsplit('.', 1)[-1]}.{name}"
        return name

    def caller(self, compile: Compile) -> StackFrame | None:
        """The user's line that called this code when ``compile`` was made, None if the stack holds library code alone."""
        start = compile.stack.frames
        if compile.recorded_callers:
            return self.called_from(compile.recorded_callers)
        called = self.called_from(start)
        if called is None:
            return None
        alike = (item for item in self.compiles[:_MOST_ASKED] if item.recorded_callers and item.stack.frames == start)
        found = {self.called_from(item.recorded_callers) for item in alike} - {None}
        return found.pop() if len(found) == 1 else called

    def called_from(self, stack: tuple[StackFrame, ...]) -> StackFrame | None:
        """The same of a stack. Resumed code is called where the whole function is, which calls its rest itself."""
        resumed = resumed_by(self.name)
        whole = (self.file, resumed[0]) if resumed else None
        outer = stack[:-1] if stack and (stack[-1].file, stack[-1].name) == (self.file, self.name) else stack
        callers = (item for item in reversed(outer) if (item.file, item.name) != whole and not in_library(item.file))
        return next(callers, None)

    @property
    def called_at(self) -> StackFrame | None:
        """The user's line that calls this code: of the first compile that has the innermost one recorded, else of the first with any."""
        recorded = (self.called_from(item.recorded_callers) for item in self.compiles[:_MOST_ASKED])
        return next((found for found in chain(recorded, map(self.caller, self.compiles)) if found), None)

    @property
    def is_in_thread(self) -> bool:
        """Whether a thread that the program started calls this code: settings that other threads make do not hold there (torch 2.13)."""
        outermost = (frame for compile in self.compiles[:_MOST_ASKED] for frame in compile.stack.frames[:1])
        return any(frame.file.replace("\\", "/").endswith("/threading.py") for frame in outermost)

    @property
    def is_library(self) -> bool:
        """Whether the code itself lies in torch or an installed package, so that its user knows it by the caller."""
        return in_library(self.file)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rank:
    """One process: its rank in a distributed run (None outside of one), its process id, its frames in order of first compile.

    ``executed`` are the payloads with the order in which graphs ran, ``inductor_messages`` those of no compile (in text
    logs). ``last_time`` is that of the last record of its file, as it stands
    there (``1120 08:27:33.313000``), "" where it cannot be read. ``exports`` are its calls of
    ``torch.export``, ``vllm`` what vLLM compiled in it.
    """

    number: int | None
    process: int
    frames: tuple[Frame, ...]
    payloads: Payloads | None = field(default=None, repr=False)
    executed: tuple[Span, ...] = ()
    inductor_messages: tuple[str, ...] = ()
    last_time: str = ""
    exports: "tuple[Export, ...]" = ()
    vllm: tuple[VllmCompilation, ...] = ()

    def __repr__(self) -> str:
        return f"<Rank {'-' if self.number is None else self.number} (process {self.process}): {_counted(self.frames)}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What PGO read and wrote in one process, in that order of time; at least one record."""

    rank: int | None
    process: int
    records: tuple[CodeStateRecord, ...]

    @property
    def read(self) -> CodeStateRecord | None:
        """What was known at the start, from an earlier run; None in a cold one (what is read after a reset is its own)."""
        return self.records[0] if self.records[0].is_read else None

    @property
    def last(self) -> CodeStateRecord:
        """What was known at the end."""
        return self.records[-1]


class Summarized(NamedTuple):
    """A file of a large job that is known by the summary of its ranks alone, what became of its bytes, and what could not be used."""

    ranks: "tuple[RankSummary, ...]"
    account: Ledger
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """One run. ``torch_version`` is as written, or "" ; ``version_guess`` says in words what the records look like without one.

    ``ranks`` are read in full. Of a large job those are a few that represent all: ``representatives`` has for each of them the ranks that
    did the same, itself among them; ``total_seconds`` the seconds that all those spent on each compile, by rank and label; and
    ``summarized`` the files of the others. ``unread`` are ranks whose file could not be read at all.
    """

    name: str
    ranks: tuple[Rank, ...]
    torch_version: str
    version_guess: str
    config: Config
    notes: tuple[str, ...]
    readers: tuple[Reader, ...] = field(repr=False, compare=False)
    build_problems: tuple[Problem, ...] = ()
    summarized: tuple[Summarized, ...] = ()
    representatives: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    total_seconds: Mapping[tuple[int, str], float] = field(default_factory=dict)
    unread: tuple[int, ...] = ()

    def __repr__(self) -> str:
        version = self.torch_version or self.version_guess
        return f"<Trace {_named(self.name)}: torch {_named(version)}, {_counted(self.frames)}>"

    def _repr_html_(self) -> str:
        return in_notebook("trace", self)

    @property
    def rank_count(self) -> int:
        """How many ranks, or processes outside of a distributed run, in full or not."""
        return len(self._own) + sum(len(item.ranks) for item in self.summarized)

    @property
    def covered_ranks(self) -> int:
        """How many of them are read in full, or did the same as one that is."""
        return sum(self.rank_weight(number) for number, _ in self._own)

    @property
    def _own(self) -> frozenset[tuple[int | None, int]]:
        """Those that are read in full; several processes can have one rank."""
        return frozenset((rank.number, 0 if rank.number is not None else rank.process) for rank in self.ranks)

    def represented_ranks(self, rank: int | None) -> tuple[int, ...]:
        """The ranks that one which is read in full represents, itself among them; () outside of a distributed run."""
        return self.representatives.get(rank, (rank,)) if rank is not None else ()

    def rank_weight(self, rank: int | None) -> int:
        """How many ranks one represents, 1 outside of a distributed run."""
        return len(self.represented_ranks(rank)) or 1

    def seconds(self, compile: Compile) -> float:
        """What a compile took on all the ranks that its own represents."""
        return self.total_seconds.get((compile.rank, compile.label), compile.seconds) if compile.rank is not None else compile.seconds

    @property
    def frames(self) -> tuple[Frame, ...]:
        return tuple([frame for rank in self.ranks for frame in rank.frames])

    @property
    def version(self) -> TorchVersion:
        """Of PyTorch; without one in the trace the oldest that its records look like."""
        guess = None if self.version_guess.endswith("older") else parse_version(self.version_guess)
        return parse_version(self.torch_version) or max(guess or _OLDEST, _OLDEST)

    @property
    def is_text(self) -> bool:
        """Whether all of it comes from text logs, so that no time was measured."""
        return bool(self.readers) and all(reader.trace.log is not None for reader in self.readers)

    @property
    def what_is_missing(self) -> tuple[str, ...]:
        """What text logs hold and leave out, and how to record that, a text for each; () for traces."""
        return tuple(dict.fromkeys(log.note for log in self.text_logs))

    @property
    def text_logs(self) -> tuple[LogContents, ...]:
        """What each text log holds; () for traces."""
        return tuple(reader.trace.log for reader in self.readers if reader.trace.log is not None)

    @property
    def breaks_alone(self) -> int:
        """How many graph breaks there are in texts that hold nothing else and name no compilation; else 0."""
        logs = self.text_logs if self.is_text else ()
        has_ids = any(compile.shown_label for frame in self.frames for compile in frame.compiles)
        return 0 if has_ids or not all(log.has_only_breaks for log in logs) else sum(log.break_count for log in logs)

    @property
    def shows_limit_hits(self) -> bool:
        """Whether it would show that the recompile limit was reached: torch 2.4 and 2.5 write that into their log alone."""
        return self.is_text or not self.version_guess.endswith("older")

    @property
    def supports_dynamic_sources(self) -> bool:
        """Whether this torch reads TORCH_COMPILE_DYNAMIC_SOURCES."""
        return self.version.reads_sources

    @property
    def code_states(self) -> tuple[Profile, ...]:
        """PGO's state in each process before and after, without those that neither read nor wrote a state."""
        found = []
        for rank in self.ranks:
            records = [record for frame in rank.frames for compile in frame.compiles for record in compile.code_states]
            if records:
                found.append(Profile(rank.number, rank.process, tuple(sorted(records, key=lambda record: record.span.start))))
        return tuple(found)

    @property
    def exports(self) -> "tuple[Export, ...]":
        """The calls of ``torch.export``, in order."""
        return tuple([export for rank in self.ranks for export in rank.exports])

    @property
    def vllm(self) -> tuple[VllmCompilation, ...]:
        """What vLLM compiled, in order; () for the trace of another program."""
        return tuple([compilation for rank in self.ranks for compilation in rank.vllm])

    @property
    def compiles(self) -> tuple[Compile, ...]:
        return tuple([compile for frame in self.frames for compile in frame.compiles])

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that could not be used, including what was found when payloads were read later."""
        read = tuple(problem for reader in self.readers for problem in reader.problems())
        return read + tuple(problem for item in self.summarized for problem in item.problems) + self.build_problems

    @property
    def accounts(self) -> tuple[Ledger, ...]:
        """What became of every byte and record of each file."""
        return (*(reader.ledger.account() for reader in self.readers), *(item.account for item in self.summarized))


def merged(traces: Sequence[Trace]) -> Trace:
    """Several traces as one, their ranks side by side; under the oldest of their torch versions, whose rules hold for all."""
    if len(traces) == 1:
        return traces[0]
    oldest = min(traces, key=lambda trace: trace.version)
    return replace(
        oldest,
        name=", ".join(trace.name for trace in traces),
        ranks=tuple(rank for trace in traces for rank in trace.ranks),
        notes=tuple(dict.fromkeys(note for trace in traces for note in trace.notes)),
        readers=tuple(reader for trace in traces for reader in trace.readers),
        build_problems=tuple(problem for trace in traces for problem in trace.build_problems),
        summarized=tuple(item for trace in traces for item in trace.summarized),
        representatives={rank: numbers for trace in traces for rank, numbers in trace.representatives.items()},
        total_seconds={key: spent for trace in traces for key, spent in trace.total_seconds.items()},
        unread=tuple(rank for trace in traces for rank in trace.unread),
    )

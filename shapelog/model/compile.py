"""One compile: what it was made for, how it ended, and what it left in the trace."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from shapelog.display import in_notebook
from shapelog.model.ids import CompileId, parse_compile_id
from shapelog.model.payloads import CodeStateRecord, Payloads
from shapelog.reading.payloads.compiler_messages import NO_MESSAGE, CompilerMessage, compiler_message
from shapelog.reading.payloads.error_titles import in_words
from shapelog.reading.payloads.graphs import Graph
from shapelog.reading.payloads.guards.leaves import DYNAMIC
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.python_tracebacks import RaisedException, exception_chain, user_stack
from shapelog.reading.payloads.recompile_reasons import RECOMPILE_FORBIDDEN, Reason
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import AutomaticDynamic, Input, Metrics, Specialization, Stack, StackFrame, Symbol
from shapelog.reading.scanner import Span

# The phase of a compile whose parts are not measured, apart from those of Inductor.
WHOLE = "Dynamo and backend"
# Where PyTorch takes over from the code that called the compiled function.
_MADE_UP = "__meta_utils_unknown_tensor"  # torch/_subclasses/meta_utils.py
_CONVERTS = "torch/_dynamo/convert_frame.py"
_MOST_BREAKS = 4
_METRICS = ("compilation_metrics", "bwd_compilation_metrics")
_RESUMED = re.compile(r"torch_dynamo_resume_in_(.+)_at_(\d{1,18})$")


class Outcome(Enum):
    """How a compile ended."""

    COMPILED = "compiled"
    FAILED = "failed"
    LIMIT = "limit"
    SKIPPED = "skipped"
    UNFINISHED = "unfinished"


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
    ``was_cut_off``: its id began again before it ended, in a file whose records name no process, so its end may be with another one.
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
    was_cut_off: bool = False
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
    def did_not_finish(self) -> bool:
        """Whether it began and no end of it is recorded. Of what compiled autograd captures, neither is recorded."""
        return self.outcome is Outcome.UNFINISHED and bool(self.stack.header) and not self.was_cut_off

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

    @property
    def names_entries(self) -> bool:
        """Whether PyTorch wrote which cache entry each of its reasons is about. Old versions do not; entries have no fixed order."""
        return not (self.metrics.is_unnumbered or self.metrics.assumes_entries)

    def reference_of(self, entry: str) -> str:
        """How a text refers to a cache entry that one of its reasons names."""
        if self.metrics.assumes_entries:
            return "an earlier entry"
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
        whole = (own.seconds or 0.0) if own.is_whole else 0.0
        inner = own.aot if own.aot is not None else own.backend or 0.0
        inductor, codegen = own.inductor or 0.0, own.codegen or 0.0
        is_eager = own.aot is None and own.inductor is None  # or a backend that does not record its phases
        return (
            (WHOLE, max(0.0, whole - inductor)),
            ("Dynamo", max(0.0, (own.seconds or 0.0) - inner - whole)),
            ("AOTAutograd", 0.0 if is_eager or whole else max(0.0, inner - inductor)),
            ("Inductor", 0.0 if is_eager else max(0.0, inductor - codegen)),
            ("code generation", 0.0 if is_eager else codegen),
            ("backend", inner if is_eager and not whole else 0.0),
            ("backward", self.seconds - (own.seconds or 0.0)),
        )

    @property
    def is_cached(self) -> bool:
        """Whether its code came out of a cache of Inductor's or of AOTAutograd's, so that its time is not that of compiling."""
        return any(name.endswith("_hit") for name, _ in self.caches)

    @property
    def guards(self) -> GuardTree | None:
        """What this entry checks before it is used; None if it has no code, or the record is not there."""
        return self.payloads.tree(self.guards_span, self.guards_are_list) if self.payloads and self.guards_span else None

    @property
    def graph(self) -> Graph | None:
        return self.payloads.graph(self.graph_span) if self.payloads and self.graph_span else None

    @property
    def changed_objects(self) -> Mapping[Source, tuple[str, ...]]:
        """The objects of its caller that it changes, such as a cache that it writes to, each with the lines that do it; none where that is
        not recorded.
        """
        return self.payloads.changed_objects(self.effects_span) if self.payloads and self.effects_span else {}

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
        return message._replace(title=message.title or NO_MESSAGE, stack=message.stack or user_stack(self.error))

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
        own = self.metrics.code_file, function_of(self.metrics.code_name)
        outer = max(0, len(self.stack.frames) - 1) if self.breaks else 0
        for stack in (item.message.stack for item in self.breaks[:_MOST_BREAKS]):
            places = [index for index, line in enumerate(stack) if (line.file, line.name) == own]
            # without the wrappers around compiled code it may be the shorter one
            inside = next((index for index in places if index >= outer), places[-1] if places and len(stack) <= outer else 0)
            if inside:
                return stack[:inside]
        return ()

    @property
    def is_dynamic(self) -> bool:
        """Whether anything in it is symbolic. Symbols of tensors that fake tensors make up for themselves do not count."""
        has_symbols = self.graph_is_symbolic or not all(symbol.source.startswith(_MADE_UP) for symbol in self.symbols)
        return has_symbols or (self.has_guards_alone and self.guards is not None and DYNAMIC in self.guards.facts.values())

    @property
    def has_guards_alone(self) -> bool:
        """Whether guards are all that shows what is symbolic, as in a text log that has neither graphs nor symbols."""
        return self.graph_span is None and not self.symbols and self.guards_span is not None


# Code that belongs to the function around it, by its name.
COMPREHENSIONS = frozenset(("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"))


def function_of(name: str) -> str:
    """The name of the function that code of that name is, or resumes after a graph break."""
    resumed = resumed_by(name)
    return resumed[0] if resumed else name


def resumed_by(name: str) -> tuple[str, int] | None:
    """(function, line) where code of that name goes on after a graph break, None for code that is a function by itself."""
    found = _RESUMED.match(name)
    return (found[1], int(found[2])) if found else None

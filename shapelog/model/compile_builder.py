"""One compile while its records come in: attempts are joined, and the last one decides."""

import re
from dataclasses import dataclass, field, fields
from typing import Any

from shapelog.model.compile import Compile, GraphBreak, Outcome
from shapelog.model.ids import CompileId
from shapelog.model.payloads import CodeStateRecord, Payloads
from shapelog.reading.payloads.compiler_messages import compiler_message
from shapelog.reading.payloads.recompile_reasons import Reason, refused_at_limit
from shapelog.reading.payloads.source_names import Source, is_dynamo
from shapelog.reading.records import AutomaticDynamic, Input, Metrics, Specialization, Stack, StackFrame, Symbol
from shapelog.reading.scanner import Span

_BREAK_PLACE = re.compile(r"^Graph break in user code at (.*):(\d{1,18})$", re.M)


@dataclass(slots=True, eq=False)
class CompileBuilder:
    """What is known so far of one compile. ``parsed`` holds the records of the present attempt by their type.

    ``numbered`` are its inputs by the ids of their descriptions, ``views`` the ids of what some of them are views of.
    """

    id: CompileId
    process: int
    order: int
    offset: int
    rank: int | None = None
    attempt: int = 0
    started: bool = False
    was_cut_off: bool = False
    stack: Stack = field(default_factory=Stack)
    inputs: dict[str, Input] = field(default_factory=dict)
    numbered: dict[tuple[int, int], Source] = field(default_factory=dict)
    views: dict[Source, tuple[int, int]] = field(default_factory=dict)
    parsed: dict[type, list[Any]] = field(default_factory=dict)
    automatic_dynamic: list[AutomaticDynamic] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    has_reasons_record: bool = False
    breaks: list[GraphBreak] = field(default_factory=list)
    error: str = ""
    collectives: list[str] = field(default_factory=list)
    inductor_messages: list[str] = field(default_factory=list)
    caches: dict[str, int] = field(default_factory=dict)
    metrics: Metrics | None = None
    backward: list[Metrics] = field(default_factory=list)
    graph_is_symbolic: bool = False
    graph_span: Span | None = None
    guards_span: Span | None = None
    effects_span: Span | None = None
    guards_are_list: bool = False
    code_states: list[tuple[str, Span]] = field(default_factory=list)
    inductor: list[tuple[str, int, Span]] = field(default_factory=list)
    metrics_offset: int = -1
    links: list[tuple[str, str]] = field(default_factory=list)
    rank_notes: list[tuple[str, str]] = field(default_factory=list)
    capture_reasons: list[str] = field(default_factory=list)
    cache_records: list[tuple[str, int, Span]] = field(default_factory=list)
    program_span: Span | None = None
    partial_span: Span | None = None

    def restart(self, attempt: int) -> None:
        """A new attempt repeats the records of the one before, so those are forgotten."""
        self.attempt = attempt
        for known in (self.inputs, self.numbered, self.views):
            known.clear()
        self.parsed.clear()
        self.graph_is_symbolic = False
        self.graph_span = self.effects_span = None
        self.inductor.clear()

    @property
    def finished(self) -> bool:
        return self.metrics is not None

    def begins_anew(self, kind: str, artifact: str, attempt: int) -> bool:
        """Whether a record with this id opens another compile. Reasons come before the start, backwards after the metrics."""
        if kind == "dynamo_start":
            return self.started or self.finished
        if kind == "describe_source" and attempt == 0 and self.finished and self.process:
            return True  # an exported program has no start; of processes that cannot be distinguished, another may go on
        if self.started and kind != "artifact":
            return False
        if artifact == "recompile_reasons":
            return self.started or self.finished or self.has_reasons_record
        if kind in ("describe_source", "create_symbol") and attempt == 0:
            return self.finished and not self.started  # exported programs have no start
        return False

    def outcome(self) -> Outcome:
        """How it ended, as its metrics state, or as far as its records show."""
        if self.metrics is None:
            return Outcome.COMPILED if self.guards_span else Outcome.UNFINISHED
        if self.metrics.fail_type or self.metrics.fail_reason:
            is_refused = bool(refused_at_limit(self.metrics.fail_type, self.metrics.fail_reason)) and not self.started
            return Outcome.LIMIT if is_refused else Outcome.FAILED
        if self.metrics.has_guarded_code or (self.metrics.has_guarded_code is None and (self.guards_span or self.graph_span)):
            return Outcome.COMPILED
        return Outcome.COMPILED if self.guards_span else Outcome.SKIPPED

    def take_runtime_metrics(self, other: Metrics) -> None:
        """What Inductor took within an ahead-of-time compilation: PyTorch counts it among the times outside of any, and writes it later."""
        own = self.metrics
        if own is None or not own.is_whole or own.inductor is not None or own.start_time is None or other.start_time is None:
            return
        inductor, whole = other.inductor or 0.0, own.seconds or 0.0
        if own.start_time <= other.start_time <= own.start_time + whole and 0.0 < inductor <= whole:
            self.metrics = own._replace(inductor=inductor, codegen=other.codegen)

    def compile(self, rank: int | None, payloads: Payloads, torch_version: str = "") -> Compile:
        """The finished compile; ``rank`` is that of its process, for records that state none, ``torch_version`` that of its file."""
        parsed = {kind: tuple(found) for kind, found in self.parsed.items()}
        taken_over: dict[str, Any] = {name: getattr(self, name) for name in _TAKEN_OVER}
        taken_over |= {name: tuple(value) for name, value in taken_over.items() if isinstance(value, list)}
        return Compile(
            **taken_over,
            label=str(self.id),
            rank=rank if self.rank is None else self.rank,
            attempts=self.attempt + 1,
            inputs=tuple(self.inputs.values()),
            bases={view: self.numbered[base] for view, base in self.views.items() if base in self.numbered},
            symbols=parsed.pop(Symbol, ()),
            specializations=parsed.pop(Specialization, ()),
            other_records=parsed,
            caches=tuple(sorted(self.caches.items())),
            metrics=self.metrics or Metrics(torch_version=torch_version),
            outcome=self.outcome(),
            payloads=payloads,
            code_states=tuple(CodeStateRecord(name, str(self.id), span, payloads) for name, span in self.code_states),
        )


# Fields of a compile that are as those of its builder, lists as tuples.
_CONVERTED = frozenset(("rank", "inputs", "caches", "metrics", "code_states"))
_TAKEN_OVER = tuple({item.name for item in fields(Compile)}.intersection(item.name for item in fields(CompileBuilder)) - _CONVERTED)


def graph_break(text: str) -> GraphBreak:
    """The artifact ``dynamo_graph_break_reason``: what Dynamo met and where, in the words of every torch version."""
    message = compiler_message(text)
    place = _BREAK_PLACE.search(text)
    innermost = message.stack[-1] if message.stack else None
    if place and is_dynamo(place[1]):  # a stand-in for a function of Python or torch; the line that called it is the user's
        called = next((line for line in reversed(message.stack) if not is_dynamo(line.file)), innermost)
        innermost = called or StackFrame(place[1], int(place[2]), "")
    elif place and (innermost is None or (innermost.file, innermost.line) != (place[1], int(place[2]))):
        innermost = StackFrame(place[1], int(place[2]), "")
    return GraphBreak(message, innermost, text)

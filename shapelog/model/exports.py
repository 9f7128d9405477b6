"""Calls of ``torch.export``: what went in, whether a program came out, and everything that was assumed or restricted on the way."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from shapelog.display import in_notebook
from shapelog.reading.export_records import Assumed, MismatchedKernel, MissingKernel, SymbolicExpression, Undecided
from shapelog.reading.payloads.compiler_messages import CompilerMessage, compiler_message
from shapelog.reading.payloads.exported_programs import Range, lines_of, parse_range, range_constraints
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import GuardAdded, Input, Metrics, Specialization, StackFrame, Symbol
from shapelog.reading.scanner import Span


class ExportResult(Enum):
    """What came of an export. That a program came out is recorded under ``TORCH_DTRACE`` alone."""

    EXPORTED = "exported"
    FAILED = "failed"
    UNKNOWN = "not recorded"


@dataclass(frozen=True, eq=False)
class Export:
    """One call of ``torch.export.export`` or ``draft_export``.

    ``label`` names it in reports, ``call`` is the user's line, None where no record has it. ``is_detailed`` is whether the trace was
    recorded with ``TORCH_DTRACE``. ``undecided`` are expressions that raised an error, which PyTorch sometimes catches itself.
    """

    label: str
    rank: int | None
    process: int
    call: StackFrame | None
    is_draft: bool
    is_detailed: bool
    read_payload: Callable[[Span], str] = field(repr=False)
    inputs: tuple[Input, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    specializations: tuple[Specialization, ...] = ()
    guards: tuple[GuardAdded, ...] = ()
    assumptions: tuple[Assumed, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    missing_kernels: tuple[MissingKernel, ...] = ()
    mismatched_kernels: tuple[MismatchedKernel, ...] = ()
    expressions: Mapping[int, SymbolicExpression] = field(default_factory=dict, repr=False)
    metrics: Metrics = field(default_factory=Metrics)
    program_span: Span | None = None
    partial_span: Span | None = None

    def __repr__(self) -> str:
        return f"<Export {self.label}: {self.result.value}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def title(self) -> str:
        return f"draft export {self.label}" if self.is_draft else f"export {self.label}"

    @property
    def result(self) -> ExportResult:
        if self.program_span is not None:
            return ExportResult.EXPORTED
        failed = self.partial_span is not None or self.metrics.fail_type or self.metrics.fail_reason or self.is_detailed
        return ExportResult.FAILED if failed else ExportResult.UNKNOWN

    @property
    def failure(self) -> CompilerMessage | None:
        """PyTorch's message, where the trace has it: with ``strict=True`` alone."""
        return compiler_message(self.metrics.fail_reason) if self.metrics.fail_reason else None

    @cached_property
    def program(self) -> str:
        """The exported program as PyTorch prints it, "" without one."""
        return self.read_payload(self.program_span) if self.program_span else ""

    @cached_property
    def partial_graph(self) -> str:
        """What had been traced when it failed, "" where that is not recorded."""
        return self.read_payload(self.partial_span) if self.partial_span else ""

    @cached_property
    def final_ranges(self) -> dict[str, Range]:
        """Those that the program asks of its symbols, {} without one."""
        return range_constraints(self.program)

    @property
    def code_lines(self) -> Iterator[StackFrame]:
        """Every place in code that its records name, with the line there where it is known."""
        stacks = [item.user_stack for item in self.symbols]
        stacks += [stack for item in self.assumptions for stack in (item.user_stack, item.stack)]
        stacks += [item.user_stack for item in self.expressions.values()]
        stacks += [item.stack for item in self.undecided]
        stacks += [stack for item in self.specializations for stack in (item.user_stack, item.stack)]
        stacks += [stack for item in self.guards for stack in (item.user_stack, item.stack)]
        yield from ([self.call] if self.call else [])
        for stack in stacks:
            yield from stack.frames
        for graph in (self.program, self.partial_graph):
            yield from lines_of(graph)

    def declared_range(self, symbol: Symbol) -> Range:
        """The range with which a symbol began: that of its ``Dim``, from 2 on at least, or any."""
        return parse_range(symbol.range)


def user_line(frames: tuple[StackFrame, ...]) -> StackFrame | None:
    """The innermost frame of a stack outside of libraries, None without one."""
    return next((frame for frame in reversed(frames) if frame.file and not is_library(frame.file)), None)

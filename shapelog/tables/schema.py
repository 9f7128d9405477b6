"""The tables of a job: each is a NamedTuple, whose fields are the columns. Files, ``to_arrow`` and docs/tables.md all follow from it."""

import types
from datetime import datetime
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

# Raised with every change of a column: its name, its type or its meaning. 2: exports. 3: no made-up ids for text logs that have none.
# 4: what suggestions save is saved_seconds; avoidable are the seconds of recompilations.
VERSION = 4
# The rank of a process outside of a distributed run. It is no null, which names of folders can hold, but not every reader of them.
NO_RANK = -1

_Job = Annotated[str, "The job, a name that is also safe as the name of a folder. It joins all tables."]
_Rank = Annotated[int, "The rank, -1 outside of a distributed run."]
_Process = Annotated[int | None, "The process id in the trace, null where it is not recorded."]
_CompileId = Annotated[
    str,
    "The compilation, as PyTorch names it: `2/3`; in a text log without ids `no. 2 of forward (net.py:10)`. Unique for a job, rank and "
    "process.",
]
_Frame = Annotated[
    str,
    "The number of the frame, the part of `compile_id` before the slash, with `#2` where ids started again; in a text log without ids "
    "the function with its place.",
]
_Function = Annotated[str, "The function or method, as the report names it: `Net.forward`."]
_File = Annotated[str | None, "The file of the function, as the trace has it."]
_Line = Annotated[int | None, "The line on which the function begins."]
_CalledFile = Annotated[str | None, "The file of the line of your code that called it."]
_CalledLine = Annotated[int | None, "That line."]
_Seconds = Annotated[
    float | None, "Seconds on this rank, including backward graphs that were compiled later. Null where no time is recorded."
]
_Outcome = Annotated[str, "`compiled`, `failed`, `limit` (refused by the recompile limit), `skipped` (no code) or `unfinished`."]
_Verdict = Annotated[str, "What can be done: `avoidable by marking`, `avoidable by a code change`, `justified`, `unexplained`, ..."]
_Url = Annotated[str | None, "PyTorch's page about it."]


class JobRow(NamedTuple):
    """One row for each job, also for one that could not be read."""

    job: _Job
    source: Annotated[str, "The path or URL it was read from, without passwords and signatures."]
    status: Annotated[str, "`read` or `unreadable`."]
    error: Annotated[str | None, "Why it could not be read."] = None
    started: Annotated[
        datetime | None, "When the first compilation began, in UTC. Null where neither a compilation nor a record has a time."
    ] = None
    torch_version: Annotated[str | None, "The version of PyTorch, null where the trace does not hold it."] = None
    ranks: Annotated[int, "Ranks, or processes outside of a distributed run."] = 0
    unread_ranks: Annotated[int, "Ranks whose file could not be read."] = 0
    frames: Annotated[int, "Rows of `frames`."] = 0
    compiles: Annotated[int, "Compilations that produced code."] = 0
    recompiles: Annotated[int, "Those that were not the first of their frame."] = 0
    limit_hits: Annotated[int, "Compilations that the recompile limit refused."] = 0
    failures: Annotated[int, "Compilations that failed."] = 0
    graph_breaks: Annotated[int, "Rows of `graph_breaks`."] = 0
    seconds: Annotated[float | None, "Seconds of compiling on all ranks. These and the next ones are null where no time is recorded."] = (
        None
    )
    recompile_seconds: Annotated[float | None, "Seconds of the recompilations among them."] = None
    saved_seconds_least: Annotated[float | None, "The fewest seconds that the suggestions save together."] = None
    saved_seconds_most: Annotated[float | None, "The most seconds that they save together."] = None
    exports: Annotated[int, "Rows of `exports`."] = 0
    files: Annotated[int, "Trace files that were read."] = 0
    bytes: Annotated[int, "Their bytes, unpacked."] = 0
    problems: Annotated[int, "Problems with the trace that `shapelog report` lists under Health."] = 0


class CompileRow(NamedTuple):
    """One row for each compilation on each rank, whatever its outcome."""

    job: _Job
    rank: _Rank
    process: _Process
    compile_id: _CompileId
    frame: _Frame
    function: _Function
    file: _File
    line: _Line
    outcome: _Outcome
    is_recompile: Annotated[bool, "Whether the frame had been compiled before."]
    is_dynamic: Annotated[bool, "Whether anything in it is symbolic."]
    seconds: _Seconds
    started: Annotated[datetime | None, "When it began, in UTC."] = None
    attempts: Annotated[int | None, "How often the analysis started, 1 without a restart."] = None
    guards: Annotated[int | None, "Guards of its cache entry."] = None
    operations: Annotated[int | None, "Operations in its graph."] = None
    inputs: Annotated[int | None, "Tensors it was called with."] = None
    symbols: Annotated[int | None, "Symbols in it."] = None
    fx_graph_cache: Annotated[str | None, "`hit`, `miss` or `bypass` of the FX graph cache; several with a space between."] = None
    aotautograd_cache: Annotated[str | None, "The same of the AOTAutograd cache."] = None
    is_summarized: Annotated[
        bool, "Whether its rank is one of a large job that is known by a summary alone. Its columns without a value are null then."
    ] = False


class RecompileRow(NamedTuple):
    """One row for each compilation after the first of its frame, with the answer to why it happened."""

    job: _Job
    rank: _Rank
    process: _Process
    compile_id: _CompileId
    frame: _Frame
    function: _Function
    file: _File
    line: _Line
    outcome: _Outcome
    verdict: _Verdict
    seconds: _Seconds
    code: Annotated[str, "The rule of the first cause, `SL399` where the cause is not known."]
    causes: Annotated[int, "Rows of `causes`."]
    is_size_related: Annotated[bool, "Whether a size changed, or an int that could be symbolic."]
    called_file: _CalledFile = None
    called_line: _CalledLine = None
    nearest: Annotated[
        str | None,
        "The earlier compilation that it is compared with: the one with the fewest causes, or the one that marks would let it reuse.",
    ] = None
    served_by: Annotated[str | None, "The earlier compilation that would have served this call with the suggested marks."] = None
    remedy: Annotated[str | None, "What to do, in one sentence."] = None
    remedy_code: Annotated[str | None, "The rule that the remedy is from."] = None
    note: Annotated[str | None, "Why the cause is not known, or why marking is not enough."] = None


class CauseRow(NamedTuple):
    """One row for each cause of a recompilation: what changed."""

    job: _Job
    rank: _Rank
    process: _Process
    compile_id: _CompileId
    frame: _Frame
    function: _Function
    file: _File
    line: _Line
    number: Annotated[int, "Its place among the causes of the compilation, from 0 on."]
    code: Annotated[str, "The rule: `SL101`."]
    rule: Annotated[str, "Its name: `size-varies`."]
    axis: Annotated[str, "The property that changed: `x.size[0]`."]
    axis_pattern: Annotated[str, "The same with `*` for each number, to group by: `layers[*].weight`."]
    is_size_related: Annotated[bool, "Whether it is a size, or an int that could be symbolic."]
    verdict: _Verdict
    seconds: Annotated[
        float | None, "Its share of the seconds of the compilation, which are split evenly among its causes. Null where unknown."
    ]
    before: Annotated[str | None, "The value that the cache entry accepts."] = None
    after: Annotated[str | None, "The value of this call."] = None
    sentence: Annotated[str | None, "The cause in one sentence."] = None
    place_file: Annotated[str | None, "The file of the line that PyTorch names for the guard. It may be shortened."] = None
    place_line: Annotated[int | None, "That line."] = None
    remedy: Annotated[str | None, "What to do, in one sentence."] = None
    remedy_code: Annotated[str | None, "The rule that the remedy is from."] = None


class FrameRow(NamedTuple):
    """One row for each frame on each rank: a function that was compiled, once or more."""

    job: _Job
    rank: _Rank
    process: _Process
    frame: _Frame
    function: _Function
    file: _File
    line: _Line
    compiles: Annotated[int, "Compilations that produced code."]
    recompiles: Annotated[int, "Those that were not its first."]
    limit_hits: Annotated[int, "Compilations that the recompile limit refused."]
    failures: Annotated[int, "Compilations that failed."]
    seconds: Annotated[
        float | None, "Seconds of all its compilations on this rank. These and the next ones are null where no time is recorded."
    ]
    recompile_seconds: Annotated[float | None, "Seconds of its recompilations."]
    marking_seconds: Annotated[float | None, "Seconds of recompilations that are avoidable by marking inputs as dynamic."]
    code_seconds: Annotated[float | None, "Seconds of recompilations that are avoidable by a code change."]
    called_file: _CalledFile = None
    called_line: _CalledLine = None


class SuggestionRow(NamedTuple):
    """One row for each input to mark as dynamic. It holds for all ranks of the job, so that it has no `rank`."""

    job: _Job
    id: Annotated[str, "Its number in the report: `A1`."]
    source: Annotated[str, "The input, as Dynamo names it: `L['x']`."]
    name: Annotated[str, "The same as in your code: `x`."]
    function: Annotated[str, "The first function that it helps."]
    file: _File
    line: _Line
    functions: Annotated[int, "Functions that it helps."]
    codes: Annotated[str, "The rules of the causes it removes, with a space between."]
    dims: Annotated[str, "The dimensions to mark, with a space between; empty for an int."]
    tool: Annotated[str, "`dynamic source` or `mark_dynamic`, depending on the version of PyTorch."]
    recommendation: Annotated[str, "What to do, in one sentence."]
    entries: Annotated[str, "What to add to TORCH_COMPILE_DYNAMIC_SOURCES, empty before torch 2.7."]
    python: Annotated[str, "Lines of Python that do the same, empty for an int."]
    compiles_saved: Annotated[int, "Compilations that go away."]
    seconds: Annotated[float | None, "What these took on all ranks. Null where no time is recorded."]
    confidence: Annotated[str, "`high`, `medium` or `low`."]
    confidence_reason: Annotated[str, "Why."]
    place_file: Annotated[str | None, "The file of the line of your code that makes the call."] = None
    place_line: Annotated[int | None, "That line."] = None


class GraphBreakRow(NamedTuple):
    """One row for each graph break of a compilation. Summarized ranks of a large job have none."""

    job: _Job
    rank: _Rank
    process: _Process
    compile_id: _CompileId
    frame: _Frame
    function: _Function
    file: _File
    line: _Line
    reason: Annotated[str, "What Dynamo met, in one line."]
    explanation: Annotated[str | None, "Why that is not possible, in PyTorch's words."] = None
    hints: Annotated[str | None, "PyTorch's hints, one in a line."] = None
    number: Annotated[str | None, "PyTorch's number of it: `GB0059`."] = None
    url: _Url = None
    place_file: Annotated[str | None, "The file of the line that broke the graph."] = None
    place_line: Annotated[int | None, "That line."] = None


class FailureRow(NamedTuple):
    """One row for each compilation that failed or that the recompile limit refused."""

    job: _Job
    rank: _Rank
    process: _Process
    compile_id: _CompileId
    frame: _Frame
    function: _Function
    file: _File
    line: _Line
    outcome: Annotated[str, "`failed` or `limit`."]
    seconds: _Seconds
    type: Annotated[str | None, "The type of the exception."] = None
    message: Annotated[str | None, "Its message, in one line."] = None
    explanation: Annotated[str | None, "PyTorch's explanation."] = None
    hints: Annotated[str | None, "PyTorch's hints, one in a line."] = None
    url: _Url = None
    place_file: Annotated[str | None, "The file of the line that failed."] = None
    place_line: Annotated[int | None, "That line."] = None


class PhaseRow(NamedTuple):
    """One row for each phase of a compilation that took time."""

    job: _Job
    rank: _Rank
    process: _Process
    compile_id: _CompileId
    phase: Annotated[str, "`Dynamo`, `AOTAutograd`, `Inductor`, `code generation`, `backend` or `backward`."]
    seconds: Annotated[float, "Seconds on this rank, without those of the phases inside it."]


class CollectiveRow(NamedTuple):
    """One row for each collective that Inductor scheduled in a compilation, without waits."""

    job: _Job
    rank: _Rank
    process: _Process
    compile_id: _CompileId
    position: Annotated[int, "Its place in the schedule of the compilation, from 0 on."]
    operation: Annotated[str, "`all_reduce`, `all_gather_into_tensor`, ..."]


class ExportRow(NamedTuple):
    """One row for each call of ``torch.export``."""

    job: _Job
    rank: _Rank
    process: _Process
    export: Annotated[str, "Its number in the trace, from 1 on."]
    is_draft: Annotated[bool, "Whether it is a `draft_export`."]
    result: Annotated[str, "`exported`, `failed` or `not recorded`."]
    inputs: Annotated[int, "Tensors it was called with."]
    symbols: Annotated[int, "Symbols that it began with: dimensions that are not fixed, and values that depend on data."]
    ranges: Annotated[str | None, "What the exported program accepts, one symbol in a line: `s0: 2 to 64`. Null without a program."]
    assumptions: Annotated[int, "Expressions that it took from the example inputs, since they depend on data."]
    missing_kernels: Annotated[int, "Operators without a fake kernel."]
    mismatched_kernels: Annotated[int, "Operators whose fake kernel gives another result."]
    failures: Annotated[int, "Errors that the report lists for it."]
    codes: Annotated[str, "The rules of everything that the report lists for it, with a space between."]
    error: Annotated[str | None, "The first of the errors, in one sentence."] = None
    remedy: Annotated[str | None, "What to do about it."] = None
    called_file: _CalledFile = None
    called_line: _CalledLine = None


TABLES: dict[str, type[Any]] = {
    "jobs": JobRow,
    "compiles": CompileRow,
    "recompiles": RecompileRow,
    "causes": CauseRow,
    "frames": FrameRow,
    "suggestions": SuggestionRow,
    "graph_breaks": GraphBreakRow,
    "failures": FailureRow,
    "phases": PhaseRow,
    "collectives": CollectiveRow,
    "exports": ExportRow,
}
# The columns that are names of folders, where a table has them, outermost first.
PARTITIONS = ("job", "rank")


class SchemaColumn(NamedTuple):
    """A column: ``kind`` is ``str``, ``int`` (64 bits), ``float`` (64 bits), ``bool`` or ``datetime`` (microseconds, UTC)."""

    name: str
    kind: type
    is_nullable: bool
    meaning: str

    @property
    def is_partition(self) -> bool:
        """Whether it is in the path of a file, and not in the file."""
        return self.name in PARTITIONS


def columns(table: str) -> tuple[SchemaColumn, ...]:
    """The columns of a table, in their order."""
    found = []
    for name, hint in get_type_hints(TABLES[table], include_extras=True).items():
        kind, meaning = get_args(hint)
        members = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
        (plain,) = (member for member in members if member is not type(None))
        found.append(SchemaColumn(name, plain, len(members) > 1, meaning))
    return tuple(found)

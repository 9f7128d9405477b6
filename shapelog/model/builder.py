"""Records → Trace: joins attempts, describers and sources, finds where ids start again, and names the frames."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeGuard

import orjson

from shapelog.errors import DATA_LOSS, INFO, Problem, ShapelogError
from shapelog.model.ids import CompileId
from shapelog.model.trace import CodeStateRecord, Compile, Frame, GraphBreak, Outcome, Payloads, Rank, Trace
from shapelog.reading import records
from shapelog.reading.inputs import Selection
from shapelog.reading.looking import last_time
from shapelog.reading.not_a_trace import describe_non_trace
from shapelog.reading.open_trace import OpenTrace, open_all
from shapelog.reading.payloads import recompile_reasons as reason_text
from shapelog.reading.payloads.collectives import EXECUTION, SCHEDULE, TENSORS
from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.records import Config, Input, Metrics, Stack, StackFrame
from shapelog.reading.scanner import Entry, Reader, Span
from shapelog.reading.trace_files import ProgressCallback

# Before torch 2.6 the prefix holds a thread id of 15 digits; a process id has seven at most.
_LARGEST_PROCESS_ID = 1 << 22
# Kinds that can open another compile under an id that was used before.
_MAY_BEGIN = frozenset(("dynamo_start", "artifact", "describe_source", "create_symbol", "compilation_metrics", "bwd_compilation_metrics"))
_BREAK_PLACE = re.compile(r"^Graph break in user code at (.*):(\d+)$", re.M)
_BREAK_REASON = re.compile(r"^(?:Graph Break )?Reason: (.*)$", re.M)
_BREAK_EXPLANATION = re.compile(r"^\s+Explanation: (.*)$", re.M)
# Of files with more bytes it is told how far they are read, every so many records.
_LARGE, _TOLD = 100_000_000, 256
# So many files of one run are named.
_NAMES = 4
# Artifacts that are about a whole process.
_OF_PROCESS = frozenset(("torch_version", EXECUTION))
_INTS = frozenset((int,))
# What no two tensors share, and no input keeps.
_OF_ONE = ("describer_id", "id", "storage", "view_func")
_LIMIT = re.compile(r"recompile.?limit|cache_size_limit|RecompileLimit", re.I)


@dataclass(slots=True, eq=False)
class Draft:
    """A compile while its records come in."""

    id: CompileId
    process: int
    order: int
    offset: int
    rank: int | None = None
    attempt: int = 0
    started: bool = False
    finished: bool = False
    stack: Stack = field(default_factory=Stack)
    inputs: dict[str, Input] = field(default_factory=dict)
    symbols: list[records.Symbol] = field(default_factory=list)
    specializations: list[records.Specialization] = field(default_factory=list)
    guards_added: list[records.GuardAdded] = field(default_factory=list)
    automatic: list[records.AutomaticDynamic] = field(default_factory=list)
    reasons: list[reason_text.Reason] = field(default_factory=list)
    has_reasons: bool = False
    breaks: list[GraphBreak] = field(default_factory=list)
    error: str = ""
    collectives: list[str] = field(default_factory=list)
    caches: dict[str, int] = field(default_factory=dict)
    metrics: Metrics | None = None
    backward: list[Metrics] = field(default_factory=list)
    graph_is_symbolic: bool = False
    graph_span: Span | None = None
    guards_span: Span | None = None
    guards_are_list: bool = False
    code_states: list[tuple[str, Span]] = field(default_factory=list)
    inductor: list[tuple[str, int, Span]] = field(default_factory=list)

    def restart(self, attempt: int) -> None:
        """A new attempt repeats the records of the one before, so those are forgotten."""
        self.attempt = attempt
        self.inputs.clear()
        self.symbols.clear()
        self.specializations.clear()
        self.guards_added.clear()
        self.graph_is_symbolic = False
        self.graph_span = None
        self.inductor.clear()

    def outcome(self) -> Outcome:
        if self.metrics is None:
            return Outcome.COMPILED if self.guards_span else Outcome.UNFINISHED
        if self.metrics.fail_type or self.metrics.fail_reason:
            limit = _LIMIT.search(self.metrics.fail_type) or _LIMIT.search(self.metrics.fail_reason.split("Developer debug context")[0])
            return Outcome.LIMIT if limit and not self.started else Outcome.FAILED
        if self.metrics.has_guarded_code or (self.metrics.has_guarded_code is None and (self.guards_span or self.graph_span)):
            return Outcome.COMPILED
        return Outcome.COMPILED if self.guards_span else Outcome.SKIPPED

    def compile(self, payloads: Payloads) -> Compile:
        return Compile(
            id=self.id,
            label=str(self.id),
            rank=self.rank,
            process=self.process,
            order=self.order,
            offset=self.offset,
            attempts=self.attempt + 1,
            stack=self.stack,
            inputs=tuple(self.inputs.values()),
            symbols=tuple(self.symbols),
            specializations=tuple(self.specializations),
            guards_added=tuple(self.guards_added),
            automatic_dynamic=tuple(self.automatic),
            reasons=tuple(self.reasons),
            has_reasons_record=self.has_reasons,
            breaks=tuple(self.breaks),
            error=self.error,
            collectives=tuple(self.collectives),
            caches=tuple(sorted(self.caches.items())),
            metrics=self.metrics or Metrics(),
            backward=tuple(self.backward),
            outcome=self.outcome(),
            graph_is_symbolic=self.graph_is_symbolic,
            payloads=payloads,
            graph_span=self.graph_span,
            guards_span=self.guards_span,
            guards_are_list=self.guards_are_list,
            code_states=tuple(CodeStateRecord(name, str(self.id), span, payloads) for name, span in self.code_states),
            inductor=tuple(self.inductor),
        )


def process_key(number: int) -> int:
    """The process that a prefix names; thread ids of old versions cannot be told apart from processes, so they are one: 0."""
    return number if number <= _LARGEST_PROCESS_ID else 0


@dataclass(slots=True, eq=False)
class Process:
    """What one process wrote: string table, described tensors, and its compiles in order."""

    number: int
    rank: int | None = None
    strings: dict[int, str] = field(default_factory=dict)
    tensors: dict[tuple[int, int], "Described"] = field(default_factory=dict)
    current: dict[tuple[int, int, int], Draft] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    generation: int = 1
    executed: list[Span] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Described:
    """A tensor as ``describe_tensor`` has it, one for all that look the same, and the inputs made of it by source."""

    body: dict[str, Any]
    inputs: dict[str, Input] = field(default_factory=dict)


class Builder:
    """Takes the entries of one file, in order."""

    def __init__(self, reader: Reader, file_rank: int | None, debug: bool = False) -> None:
        self.reader = reader
        self.debug = debug
        self.payloads = Payloads(reader)
        self.file_rank = file_rank
        self.processes: dict[int, Process] = {}
        self.torch_version = ""
        self.config: Config | None = None
        self.outside: dict[str, int] = {}
        self.overlaps: list[str] = []
        self.reasons: dict[str, reason_text.Reason] = {}
        self.tensors: dict[bytes, Described] = {}
        self._handlers: dict[str, Callable[[Draft, Entry, Process], None]] = {
            "dynamo_start": self._start,
            "create_symbol": self._symbol,
            "create_unbacked_symbol": self._unbacked,
            "guard_added": self._guard_added,
            "guard_added_fast": self._guard_added,
            "symbolic_shape_specialization": self._specialization,
            "dynamo_output_graph": self._graph,
            "dynamo_guards": self._guards,
            "dynamo_cpp_guards_str": self._guards,
            "compilation_metrics": self._metrics,
            "bwd_compilation_metrics": self._metrics,
            "chromium_event": self._event,
            "artifact": self._artifact,
        }

    def take(self, entry: Entry) -> None:
        """Never raises for a bad record: it becomes a problem, and the rest goes on."""
        try:
            kind, header, number, _, _ = entry
            process = self.processes.get(number) or self._process(number)
            if kind == "describe_tensor":
                body = header[kind]
                key = body["describer_id"], body["id"]
                process.tensors[key] = self._tensor(body)
            elif kind == "describe_source":
                self._source(entry, process)
            elif kind == "str":
                text, number = header["str"]
                process.strings[int(number)] = str(text)
            else:
                self._take(entry, process)
        except Exception as error:
            if self.debug:
                raise
            text = f"a field of this {entry.kind} record is not as expected ({type(error).__name__}: {error})"
            self.reader.ledger.add(entry.offset, "bad-record", text, severity=DATA_LOSS)

    def _take(self, entry: Entry, process: Process) -> None:
        kind, header = entry.kind, entry.header
        if "rank" in header and process.rank is None and _is_id(header["rank"]):
            process.rank = header["rank"]
        if kind == "artifact" and entry.payload and header["artifact"]["name"] in _OF_PROCESS:
            if header["artifact"]["name"] == EXECUTION:
                process.executed.append(entry.payload)
            else:
                self._torch_version(entry.payload)
            return
        draft = self._draft_of(entry, process)
        handler = self._handlers.get(kind)
        if draft is None or handler is None:
            self.outside[kind] = self.outside.get(kind, 0) + 1
        else:
            handler(draft, entry, process)

    def _process(self, number: int) -> Process:
        key = process_key(number)
        process = self.processes.get(key)
        if process is None:
            # A forked child goes on with the string table that its parent had.
            parent = next(iter(self.processes.values()), None)
            process = self.processes[key] = Process(key, None if parent else self.file_rank, dict(parent.strings) if parent else {})
        return process

    def _draft_of(self, entry: Entry, process: Process) -> Draft | None:
        """The compile that a record belongs to; a new one where an id comes again, None outside of any compile."""
        header, kind = entry.header, entry.kind
        frame, number, autograd = header.get("frame_id"), header.get("frame_compile_id"), header.get("compiled_autograd_id")
        attempt = header.get("attempt")
        key = (frame, number, -1 if autograd is None else autograd)
        draft = process.current.get(key)  # type: ignore[arg-type]  # a strange id is in no key
        if (
            draft is not None
            and attempt == draft.attempt
            and (kind not in _MAY_BEGIN or (not draft.finished and kind == "describe_source"))
        ):
            return draft
        if not _is_id(frame) or not _is_id(number):
            if not _is_id(autograd):
                return None
            frame, number = -1, 0
        key = (frame, number, autograd if _is_id(autograd) else -1)
        draft = process.current.get(key)
        attempt = attempt if isinstance(attempt, int) else 0
        is_older = draft is not None and frame >= 0 and draft.id.generation < process.generation
        if draft is not None and (_begins_anew(draft, kind, header, attempt) or (is_older and _is_refusal(kind, header))):
            if not draft.finished and draft.started and not process.number:
                self.overlaps.append(str(draft.id))
            if frame >= 0:
                process.generation += draft.id.generation == process.generation
            draft = None
        if draft is None:
            generation = process.generation if frame >= 0 else 1
            made = CompileId(frame, number, key[2] if key[2] >= 0 else None, generation)
            draft = process.current[key] = Draft(made, process.number, len(process.drafts), entry.offset, attempt=attempt)
            process.drafts.append(draft)
        elif attempt > draft.attempt:
            draft.restart(attempt)
        if draft.rank is None and _is_id(header.get("rank")):
            draft.rank = header["rank"]
        return draft

    def _source(self, entry: Entry, process: Process) -> None:
        body = entry.header["describe_source"]
        source = str(body["source"])
        tensor = process.tensors.get((body["describer_id"], body["id"]))
        draft = self._draft_of(entry, process)
        if draft is None:
            self.outside["describe_source"] = self.outside.get("describe_source", 0) + 1
        elif tensor is None:
            self.reader.ledger.add(entry.offset, "missing-record", f"{source} is named, but the tensor itself is not described")
        elif source not in draft.inputs:
            described = tensor.inputs.get(source)
            if described is None:
                described = tensor.inputs[source] = records.described_input(tensor.body, source)
            draft.inputs[source] = described

    def _tensor(self, body: dict[str, Any]) -> Described:
        """What is kept of a description, which is many times the same but for ids and an address. Odd fields are told with its source."""
        for name in _OF_ONE:
            body.pop(name, None)
        try:
            look = orjson.dumps(body)
        except TypeError:  # a text or a number that only the slow decoder takes
            return Described(body)
        found = self.tensors.get(look)
        if found is None:
            found = self.tensors[look] = Described(body)
        return found

    def _torch_version(self, span: Span) -> None:
        text = self.reader.text(span)
        found = re.search(r'"pytorch_version": "([^"]*)"', text)
        if found and not self.torch_version:
            self.torch_version = found[1]

    def _start(self, draft: Draft, entry: Entry, process: Process) -> None:
        draft.started = True
        header = entry.header  # which holds little else
        draft.stack = Stack(lambda _: header, entry.offset, (entry.kind, "stack"), process.strings)

    def _stacks(self, entry: Entry, process: Process) -> records.Stacks:
        header, offset, kind, strings = self.reader.header, entry.offset, entry.kind, process.strings
        return lambda key: Stack(header, offset, (kind, key), strings)

    def _symbol(self, draft: Draft, entry: Entry, process: Process) -> None:
        draft.symbols.append(records.created_symbol(entry.header["create_symbol"], self._stacks(entry, process)))

    def _unbacked(self, draft: Draft, entry: Entry, process: Process) -> None:
        draft.symbols.append(records.created_unbacked_symbol(entry.header["create_unbacked_symbol"], self._stacks(entry, process)))

    def _guard_added(self, draft: Draft, entry: Entry, process: Process) -> None:
        draft.guards_added.append(records.guard_added(entry.header[entry.kind], self._stacks(entry, process)))

    def _specialization(self, draft: Draft, entry: Entry, process: Process) -> None:
        draft.specializations.append(records.specialized(entry.header["symbolic_shape_specialization"], self._stacks(entry, process)))

    def _graph(self, draft: Draft, entry: Entry, process: Process) -> None:
        sizes = entry.header["dynamo_output_graph"].get("sizes") or {}
        lists = [value for value in sizes.values() if isinstance(value, list)]
        is_static = _INTS.issuperset(map(type, chain.from_iterable(lists)))
        draft.graph_is_symbolic = not is_static and any(type(size) is str and integer(size) is None for value in lists for size in value)
        draft.graph_span = entry.payload

    def _guards(self, draft: Draft, entry: Entry, process: Process) -> None:
        is_list = entry.kind == "dynamo_guards"
        if entry.payload is None or (is_list and (draft.guards_span or entry.payload.end - entry.payload.start < 16)):
            return  # with the C++ guard manager the list is empty
        draft.guards_span, draft.guards_are_list = entry.payload, is_list
        if draft.id.compile > 0:
            self._compared_later(draft, process)

    def _compared_later(self, draft: Draft, process: Process) -> None:
        """Parse now what a recompile will be compared by: a child that searches a large file has the time to go on meanwhile."""
        before = process.current.get((draft.id.frame, draft.id.compile - 1, -1))
        for item in (before, draft):
            if item is not None and item.guards_span is not None:
                self.payloads.tree(item.guards_span, item.guards_are_list)
            if item is not None and item.graph_span is not None:
                self.payloads.graph(item.graph_span)

    def _metrics(self, draft: Draft, entry: Entry, process: Process) -> None:
        body = entry.header[entry.kind]
        metrics = records.metrics(body)
        if self.config is None and body.get("dynamo_config") and isinstance(body["dynamo_config"], str):
            self.config = records.config_of(body["dynamo_config"], body.get("compiler_config"))
        self.torch_version = self.torch_version or metrics.torch_version
        failed_limit = entry.kind == "bwd_compilation_metrics" and metrics.is_forward is None and bool(metrics.fail_type)
        is_backward = entry.kind == "bwd_compilation_metrics" and not failed_limit
        if is_backward or draft.metrics is not None:
            draft.backward.append(metrics)
        else:
            draft.metrics = metrics
            draft.finished = True

    def _event(self, draft: Draft, entry: Entry, process: Process) -> None:
        event = records.automatic_dynamic(self.reader.text(entry.payload, entry.offset)) if entry.payload else None
        if event:
            draft.automatic.append(event)

    def _artifact(self, draft: Draft, entry: Entry, process: Process) -> None:
        name = entry.header["artifact"]["name"]
        if name.endswith("_code_state"):
            if entry.payload is not None:
                draft.code_states.append((name.removesuffix("_code_state"), entry.payload))
        elif name.endswith(("_hit", "_miss", "_bypass")):
            draft.caches[name] = draft.caches.get(name, 0) + 1
        elif name in (SCHEDULE, TENSORS):
            if entry.payload is not None:
                draft.inductor.append((name, entry.offset, entry.payload))
        elif entry.payload is not None:
            self._text_artifact(draft, name, self.reader.text(entry.payload, entry.offset))

    def _text_artifact(self, draft: Draft, name: str, text: str) -> None:
        if name == "recompile_reasons":
            draft.reasons.extend(map(self._reason, reason_text.split(text)))
            draft.has_reasons = True
        elif name == "dynamo_graph_break_reason":
            draft.breaks.append(_graph_break(text))
        elif name in ("dynamo_error", "eager_compile_backwards_failure"):
            draft.error = text
        elif name == "compiler_collective":
            draft.collectives.append(text)

    def _reason(self, text: str) -> reason_text.Reason:
        """A reason, taken apart once for all entries that it is given for."""
        entry, body = reason_text.split_entry(text)
        found = self.reasons.get(body)
        if found is None:
            found = self.reasons[body] = reason_text.parse(body)
        return found if found.entry == entry else found.for_entry(entry)

    def ranks(self) -> list[Rank]:
        found = []
        for process in self.processes.values():
            rank = process.rank if self.file_rank is None else self.file_rank
            for draft in process.drafts:
                draft.rank = rank if draft.rank is None else draft.rank
            compiles = [draft.compile(self.payloads) for draft in process.drafts]
            frames, last = tuple(_frames(compiles, rank)), last_time(self.reader)
            found.append(Rank(rank, process.number, frames, self.payloads, tuple(process.executed), last))
        return found


def _is_id(value: object) -> TypeGuard[int]:
    """Whether it is a number as PyTorch counts frames, compiles and ranks."""
    return type(value) is int and value >= 0


def _is_refusal(kind: str, header: dict[str, Any]) -> bool:
    """Metrics of a compile that was refused (limit, recompiles forbidden): they come without a start, in 2.6 as those of a backward."""
    if kind not in ("compilation_metrics", "bwd_compilation_metrics"):
        return False
    body = header[kind]
    return body.get("is_forward") is None and bool(body.get("fail_type"))


def _begins_anew(draft: Draft, kind: str, header: dict[str, Any], attempt: int) -> bool:
    """Whether a record with the id of ``draft`` opens another compile. Reasons come before the start, backwards after the metrics."""
    if kind == "dynamo_start":
        return draft.started or draft.finished
    if draft.started and kind != "artifact":
        return False
    if kind == "artifact" and header["artifact"].get("name") == "recompile_reasons":
        return draft.started or draft.finished or draft.has_reasons
    if kind in ("describe_source", "create_symbol") and attempt == 0:
        return draft.finished and not draft.started  # exported programs have no start
    return False


def _graph_break(text: str) -> GraphBreak:
    place = _BREAK_PLACE.search(text)
    reason = _BREAK_REASON.search(text)
    explanation = _BREAK_EXPLANATION.search(text)
    words = reason[1].strip() if reason else text.strip().split("\n", 1)[0]
    if words.startswith("Encountered graph break") and reason:  # torch 2.10 and later name the instruction first
        words = next((line.strip() for line in text[reason.end() :].split("\n") if line.strip()), words)
    return GraphBreak(
        words, explanation[1].strip() if explanation else "", StackFrame(place[1], int(place[2]), "") if place else None, text
    )


def _frames(compiles: Iterable[Compile], rank: int | None) -> list[Frame]:
    grouped: dict[tuple[int, int | None, int], list[Compile]] = {}
    for compile in compiles:
        autograd = compile.id.autograd
        grouped.setdefault((compile.id.generation, autograd, compile.id.frame), []).append(compile)
    frames = []
    for (generation, _, number), members in grouped.items():
        file, line, name = _code_of(members)
        frames.append(Frame(number, rank, members[0].process, generation, name, file, line, tuple(members)))
    return frames


def _code_of(compiles: list[Compile]) -> tuple[str, int, str]:
    """The code object of a frame; a compile that hit the limit leaves its name out, so the earlier ones are asked."""
    for compile in compiles:
        if compile.metrics.code_name:
            return compile.metrics.code_file, compile.metrics.code_line, compile.metrics.code_name
    for compile in compiles:
        frames = compile.stack.frames
        if frames and "/torch/_dynamo/" not in frames[-1].file:
            return frames[-1].file, frames[-1].line, frames[-1].name
    return "", 0, ""


def load(selection: Selection, strict: bool = False) -> Trace:
    """Read every file of a run. Raises ShapelogError when not one of them holds a trace record."""
    return build(selection, [Reader(opened, strict) for opened in open_all(selection.files)])


def build(selection: Selection, readers: list[Reader], debug: bool = False, tell: ProgressCallback | None = None) -> Trace:
    """The trace that the readers of a selection's files give. Raises ShapelogError when not one of them holds a trace record.

    With ``debug`` a record that cannot be parsed raises instead of becoming a problem. ``tell`` hears how far large files are read.
    """
    ranks: list[Rank] = []
    builders: list[Builder] = []
    problems = [*selection.problems]
    refusals: list[str] = []
    for file, reader in zip(selection.files, readers, strict=True):
        builder = Builder(reader, file.rank, debug)
        for entry in _told(reader, tell) if tell and reader.trace.size > _LARGE else reader.entries():
            builder.take(entry)
        if not reader.ledger.readable_records and not reader.trace.is_lost:
            damage = next((item.message for item in reader.trace.problems), "")
            is_gone = damage and not reader.trace.size
            problem = f"{file.name}: nothing of it can be read" if is_gone else describe_non_trace(file.name, bytes(reader.data[:4096]))
            problem += f"; {damage}" if damage else ""
            refusals.append(problem)
            if not is_gone:
                problems.append(Problem("foreign-file", problem.removeprefix(f"{file.name}: "), file.name, severity=DATA_LOSS))
        builders.append(builder)
        ranks.extend(builder.ranks())
        problems.extend(_file_problems(builder, reader.trace))
    if not any(reader.ledger.readable_records for reader in readers):
        raise ShapelogError(refusals[0])
    version = next((builder.torch_version for builder in builders if builder.torch_version), "")
    config = next((builder.config for builder in builders if builder.config), Config())
    seen = {kind for reader in readers for kind in reader.ledger.records}
    return Trace(
        name=name_of([file.name for file in selection.files]),
        ranks=tuple(ranks),
        torch_version=version,
        version_guess="" if version else _guess(seen, ranks),
        config=config,
        notes=selection.notes,
        readers=tuple(readers),
        build_problems=tuple(problems),
        unread=tuple(
            file.rank
            for file, reader in zip(selection.files, readers, strict=True)
            if file.rank is not None and not reader.ledger.readable_records
        ),
    )


def _told(reader: Reader, tell: ProgressCallback) -> Iterator[Entry]:
    """The entries of a large file, of which ``tell`` hears how far they are."""
    name, size = reader.trace.name, reader.trace.size
    for number, entry in enumerate(reader.entries()):
        if not number % _TOLD:
            tell(name, entry.offset, size)
        yield entry
    tell(name, size, -1)


def name_of(files: list[str]) -> str:
    """The names of the files, of many the first and how many more there are."""
    shown = files if len(files) <= _NAMES else files[:1]
    return ", ".join(shown) + (f" and {len(files) - len(shown)} more files" if shown is not files else "")


def _file_problems(builder: Builder, opened: OpenTrace) -> list[Problem]:
    found = []
    if len(builder.processes) > 1:
        numbers = ", ".join(str(number) for number in builder.processes)
        text = f"records of {len(builder.processes)} processes ({numbers}) in one file, as forked children write; they are told apart"
        found.append(Problem("mixed-processes", text, opened.name, count=len(builder.processes), severity=INFO))
    if builder.overlaps:
        ids = ", ".join(dict.fromkeys(builder.overlaps))
        text = f"compile {ids} was started again before it ended: processes or threads that cannot be told apart wrote this file"
        found.append(Problem("overlapping-compiles", text, opened.name, count=len(builder.overlaps)))
    if builder.outside:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(builder.outside.items()))
        text = f"records outside of any compile, as export and compiled autograd of old versions write: {kinds}"
        found.append(Problem("outside-compiles", text, opened.name, count=sum(builder.outside.values()), severity=INFO))
    return found


# So many compiles tell what the version writes.
_LOOKED_AT = 20


def _guess(seen: set[str], ranks: list[Rank]) -> str:
    """Which torch a trace without a version looks like, from the records it holds; 2.10 and later always write the version."""
    if "chromium_event" not in seen and "create_symbol" not in seen:
        return "2.5 or older"
    compiles = [compile for rank in ranks for frame in rank.frames for compile in frame.compiles]
    # from 2.8 on, callers are written with their line of code
    callers = [item for compile in compiles[:_LOOKED_AT] for item in compile.stack.frames[:-1]]
    if callers:
        return "2.8 or 2.9" if any(item.code for item in callers) else "2.6 or 2.7"
    reasons = [reason.code for compile in compiles for reason in compile.reasons]
    if reasons:
        return "2.6 or 2.7" if any("L['" in code for code in reasons) else "2.8 or 2.9"
    return "2.6 to 2.9"

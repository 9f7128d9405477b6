"""The records of one file → ranks: assigns records to compiles, resolves tensors and sources, and finds where ids start again."""

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, TypeGuard

import orjson

from shapelog.errors import DATA_LOSS
from shapelog.model.compile import Compile
from shapelog.model.compile_builder import CompileBuilder, graph_break
from shapelog.model.export_builder import ExportsBuilder
from shapelog.model.frame import Frame
from shapelog.model.ids import CompileId
from shapelog.model.payloads import Payloads
from shapelog.model.trace import Rank
from shapelog.model.vllm import VllmBuilder
from shapelog.reading import export_records, records
from shapelog.reading.kinds import AHEAD_OF_TIME_CODE, BACKWARD_FAILURE
from shapelog.reading.payloads import recompile_reasons
from shapelog.reading.payloads.cache_keys import CACHE_ARTIFACTS
from shapelog.reading.payloads.collectives import EXECUTION, SCHEDULE, TENSORS
from shapelog.reading.payloads.cuda_graphs import INDUCTOR_MESSAGE
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.recompile_reasons import RECOMPILE_FORBIDDEN, Reason
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.payloads.vllm_records import AFTER_PARTS, BEFORE_PASSES, LOADED_GRAPH, PREFIX
from shapelog.reading.reader import Reader
from shapelog.reading.records import Config, Input, Stack
from shapelog.reading.scanner import Record, Span

# Before torch 2.6 the prefix holds a thread id of 15 digits; a process id has seven at most.
_LARGEST_PROCESS_ID = 1 << 22
# Kinds that can open another compile under an id that was used before.
_OPENING_KINDS = frozenset(
    ("dynamo_start", "artifact", "describe_source", "create_symbol", "compilation_metrics", "bwd_compilation_metrics")
)
# Artifacts that are about a whole process.
_OF_PROCESS = frozenset(("torch_version", EXECUTION))
_INTS = frozenset((int,))
# Artifacts about what ranks compared or agreed on while they compiled.
_RANK_NOTES = frozenset(("aot_joint_graph_sync_decision_cross_ranks", "inductor_spmd_graph_mismatch"))
# How the error begins with which a backend failed on a graph; it is recorded as a graph break, and the failure has records of its own.
_NOT_CONVERTED = "WON'T CONVERT "
# What ends a compile, and the functions that compile ahead of time (torch 2.10 and later).
_ENDING_KINDS = frozenset(("artifact", "compilation_metrics", "dynamo_cpp_guards_str"))
_AHEAD = frozenset(("aot_compile", "aot_compile_fullgraph", "aot_compile_module"))
# Fields of a described tensor that no two tensors share, and that no input keeps.
_OWN_FIELDS = ("describer_id", "id", "storage", "view_func", "base")


def process_key(number: int) -> int:
    """The process that a prefix names; thread ids of old versions cannot be distinguished from processes, so all are one: 0."""
    return number if number <= _LARGEST_PROCESS_ID else 0


@dataclass(slots=True, eq=False)
class DescribedTensor:
    """A tensor as ``describe_tensor`` has it, one for all that look the same, and the inputs made of it by source."""

    body: dict[str, Any]
    inputs: dict[str, Input] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ProcessState:
    """What one process has written so far: string table, described tensors with what they are views of, and its compiles in order.

    ``current`` holds the last compile of each id: frame, number, and compiled-autograd id or -1.
    """

    number: int
    rank: int | None = None
    strings: MutableMapping[int, str] = field(default_factory=dict)
    tensors: dict[tuple[int, int], DescribedTensor] = field(default_factory=dict)
    bases: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    current: dict[tuple[int, int, int], CompileBuilder] = field(default_factory=dict)
    compiles: list[CompileBuilder] = field(default_factory=list)
    generation: int = 1
    executed: list[Span] = field(default_factory=list)
    inductor_messages: list[str] = field(default_factory=list)
    exports: ExportsBuilder = field(default_factory=ExportsBuilder)
    vllm: VllmBuilder = field(default_factory=VllmBuilder)
    compiled_ahead: list[Stack] = field(default_factory=list)


class Builder:
    """Takes the decoded records of one file, in order. ``outside`` counts, by kind, those that belong to no compile."""

    def __init__(self, reader: Reader, file_rank: int | None, debug: bool = False) -> None:
        self.reader = reader
        self.debug = debug
        self.payloads = Payloads(reader)
        self.file_rank = file_rank
        self.processes: dict[int, ProcessState] = {}
        self.torch_version = ""
        self.config: Config | None = None
        self.outside: dict[str, int] = {}
        self._reasons: dict[str, Reason] = {}
        self._tensors: dict[bytes, DescribedTensor] = {}

    def take(self, record: Record) -> None:
        """Take a record whose header was decoded. A field of it that is not as expected becomes a problem, and the rest goes on."""
        header = record.header
        if header is None:
            return
        try:
            process = self.processes.get(record.process) or self._process(record.process)
            if record.kind == "describe_tensor":
                body = header["describe_tensor"]
                key = body["describer_id"], body["id"]
                if "base" in body:
                    process.bases[key] = base = body["describer_id"], body["base"]
                    body["base_size"] = process.tensors[base].body["size"] if base in process.tensors else None
                process.tensors[key] = self._tensor(body)
            elif record.kind == "describe_source":
                self._source(record, header, process)
            elif record.kind == "str":
                text, number = header["str"]
                process.strings[int(number)] = str(text)
                self.reader.name_file(int(number), str(text))
            else:
                self._take(record, header, process)
        except Exception as error:
            if self.debug:
                raise
            text = f"a field of this {record.kind} record is not as expected ({type(error).__name__}: {error})"
            self.reader.ledger.add(record.offset, "bad-record", text, severity=DATA_LOSS)

    def _take(self, record: Record, header: dict[str, Any], process: ProcessState) -> None:
        if "rank" in header and process.rank is None and _is_id(header["rank"]):
            process.rank = header["rank"]
        if self._taken_by_process(record, header, process):
            return
        compile = self._owner_of(record, header, process)
        if self._taken_by_vllm(record, compile, process):
            return
        if record.name == AHEAD_OF_TIME_CODE:
            process.compiled_ahead.append(Stack(lambda _: header, record.offset, ("stack",), process.strings))
            return
        is_parsed = record.kind in records.PARSERS or record.kind in export_records.PARSERS
        handler = Builder._parsed if is_parsed else _HANDLERS.get(record.kind)
        if compile is None and record.name == INDUCTOR_MESSAGE and record.payload:
            process.inductor_messages.append(self.reader.payload_text(record.payload, record.offset))
        elif compile is None or handler is None:
            self.outside[record.kind] = self.outside.get(record.kind, 0) + 1
        else:
            handler(self, compile, header[record.kind], record, process)

    def _taken_by_process(self, record: Record, header: dict[str, Any], process: ProcessState) -> bool:
        """Whether a record is about the process, or about calls of what it compiled last."""
        if record.kind == "artifact" and record.payload and record.name in _OF_PROCESS:
            if record.name == EXECUTION:
                process.executed.append(record.payload)
            else:
                self._torch_version(record.payload)
            return True
        if record.kind == "compilation_metrics_runtime":
            if process.compiles:
                process.compiles[-1].take_runtime_metrics(records.metrics(header[record.kind]))
            return True
        return False

    def _taken_by_vllm(self, record: Record, compile: CompileBuilder | None, process: ProcessState) -> bool:
        """Whether a record is one of vLLM's own, or about the graphs that it loads and splits."""
        vllm = process.vllm
        if record.name == BEFORE_PASSES or record.name.startswith(PREFIX):
            if record.payload:
                label, at = str(compile.id) if compile else "", partial(self.reader.clock_at, record.offset)
                vllm.take(record.name, label, record.payload, self.reader.payload_text, at)
            return True
        if record.kind == "artifact" and vllm.cache_result(record.name) and compile is None:
            return True
        if record.name == LOADED_GRAPH:
            if compile is None:
                vllm.begin_loading(self.reader.clock_at(record.offset))
            return True
        if compile is None and record.kind == "dynamo_cpp_guards_str" and vllm.takes_guards():
            return True
        if vllm.is_open and record.kind in AFTER_PARTS:
            vllm.end(self.reader.clock_at(record.offset))
        return False

    def _process(self, number: int) -> ProcessState:
        key = process_key(number)
        process = self.processes.get(key)
        if process is None:
            # A forked child goes on with the string table of its parent.
            parent = next(iter(self.processes.values()), None)
            rank = None if parent else self.file_rank
            process = self.processes[key] = ProcessState(key, rank, ChainMap({}, parent.strings) if parent else {})
        return process

    def _owner_of(self, record: Record, header: dict[str, Any], process: ProcessState) -> CompileBuilder | None:
        """The compile or the export that a record belongs to, None where it belongs to neither."""
        compile = self._compile_of(record, header, process)
        if compile is None:
            return process.exports.owner_of(record, header, process.strings) or _compiled_ahead(record, header, process)
        if not compile.started:
            process.exports.notice(compile, record, header, process.strings)
        return compile

    def _compile_of(self, record: Record, header: dict[str, Any], process: ProcessState) -> CompileBuilder | None:
        """The compile that a record belongs to; a new one where an id comes again, None outside of any compile."""
        kind, attempt = record.kind, header.get("attempt")
        frame, number, autograd = header.get("frame_id"), header.get("frame_compile_id"), header.get("compiled_autograd_id")
        key = (frame, number, -1 if autograd is None else autograd)
        compile = process.current.get(key)  # type: ignore[arg-type]  # a strange id is in no key
        if (
            compile is not None
            and attempt == compile.attempt
            and (kind not in _OPENING_KINDS or (not compile.finished and compile.started and kind == "describe_source"))
        ):
            return compile
        if not _is_id(frame) or not _is_id(number):
            if not _is_id(autograd):
                return None
            if (running := _within_capture(record, header, process)) is not None:
                return running
            frame, number = -1, 0
        key = (frame, number, autograd if _is_id(autograd) else -1)
        compile = process.current.get(key)
        attempt = attempt if isinstance(attempt, int) else 0
        if compile is not None and self._is_over(compile, record, header, attempt, process):
            compile.was_cut_off = not compile.finished and compile.started and not process.number
            if frame >= 0:
                process.generation += compile.id.generation == process.generation
            compile = None
        if compile is None:
            process.generation += header.get("begins_run") is True  # in the transcript of a log that is cut
            generation = process.generation if frame >= 0 else 1
            made = CompileId(frame, number, key[2] if key[2] >= 0 else None, generation)
            compile = CompileBuilder(made, process.number, len(process.compiles), record.offset, attempt=attempt)
            process.current[key] = compile
            process.compiles.append(compile)
        elif attempt > compile.attempt:
            compile.restart(attempt)
        if compile.rank is None and _is_id(header.get("rank")):
            compile.rank = header["rank"]
        return compile

    def _is_over(self, compile: CompileBuilder, record: Record, header: dict[str, Any], attempt: int, process: ProcessState) -> bool:
        """Whether a record with the id of ``compile`` belongs to another one, made after the ids started again."""
        if record.kind == "describe_source" and not compile.started and process.exports.has_ended(compile, header["describe_source"]):
            return True
        if compile.begins_anew(record.kind, record.name, attempt):
            return True
        is_older = compile.id.frame >= 0 and compile.id.generation < process.generation
        return is_older and _is_refusal(record.kind, header)

    def _source(self, record: Record, header: dict[str, Any], process: ProcessState) -> None:
        body = header["describe_source"]
        source = str(body["source"])
        tensor = process.tensors.get((body["describer_id"], body["id"]))
        compile = self._owner_of(record, header, process)
        if compile is None:
            self.outside["describe_source"] = self.outside.get("describe_source", 0) + 1
        elif tensor is None:
            self.reader.ledger.add(record.offset, "missing-record", f"{source} is named, but the tensor itself is not described")
        elif source not in compile.inputs:
            described = tensor.inputs.get(source)
            if described is None:
                described = tensor.inputs[source] = records.described_input(tensor.body, source)
            compile.inputs[source] = described
            number = body["describer_id"], body["id"]
            if not source.endswith("._base"):
                compile.numbered.setdefault(number, Source(source))
            if number in process.bases:
                compile.views[Source(source)] = process.bases[number]

    def _tensor(self, body: dict[str, Any]) -> DescribedTensor:
        """What is kept of a description, which is many times the same but for ids and an address."""
        for name in _OWN_FIELDS:
            body.pop(name, None)
        try:
            key = orjson.dumps(body)
        except TypeError:  # a text or a number that only the slow decoder takes
            return DescribedTensor(body)
        found = self._tensors.get(key)
        if found is None:
            found = self._tensors[key] = DescribedTensor(body)
        return found

    def _torch_version(self, span: Span) -> None:
        found = re.search(r'"pytorch_version": "([^"]*)"', self.reader.payload_text(span))
        if found and not self.torch_version:
            self.torch_version = found[1]

    def _start(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        compile.started = True
        compile.stack = Stack(lambda _: body, record.offset, ("stack",), process.strings)

    def _parsed(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        decode, offset, kind, strings = self.reader.header, record.offset, record.kind, process.strings
        parse = records.PARSERS.get(kind) or export_records.PARSERS[kind]
        found = parse(body, lambda key: Stack(decode, offset, (kind, key), strings))
        compile.parsed.setdefault(type(found), []).append(found)

    def _graph(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        sizes = body.get("sizes") or {}
        lists = [value for value in sizes.values() if isinstance(value, list)]
        is_static = _INTS.issuperset(map(type, chain.from_iterable(lists)))
        compile.graph_is_symbolic = not is_static and any(type(size) is str and integer(size) is None for value in lists for size in value)
        compile.graph_span = record.payload

    def _link(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        compile.links.append((str(body["name"]), str(body["url"])))

    def _program(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        compile.program_span = record.payload or compile.program_span

    def _guards(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        is_list, span = record.kind == "dynamo_guards", record.payload
        if span is None or (is_list and (compile.guards_span or span.end - span.start < 16)):
            return  # with the C++ guard manager the list is empty
        compile.guards_span, compile.guards_are_list = span, is_list

    def _metrics(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        metrics = records.metrics(body)
        if self.config is None and body.get("dynamo_config") and isinstance(body["dynamo_config"], str):
            self.config = records.config_of(body["dynamo_config"], body.get("compiler_config"))
        self.torch_version = self.torch_version or metrics.torch_version
        # torch 2.6 writes the metrics of a compile that was refused as those of a backward
        is_refused = metrics.is_forward is None and bool(metrics.fail_type)
        if compile.finished or (record.kind == "bwd_compilation_metrics" and not is_refused):
            compile.backward.append(metrics)
        else:
            compile.metrics, compile.metrics_offset = metrics, record.offset
            if metrics.fail_type == RECOMPILE_FORBIDDEN and not compile.reasons:
                compile.reasons.extend(map(self._reason, recompile_reasons.of_error(metrics.fail_reason)))
            elif metrics.recompile_reason not in ("", recompile_reasons.NO_REASON) and not compile.reasons:  # their record is missing
                compile.reasons.append(self._reason(metrics.recompile_reason))

    def _event(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        span = record.payload
        try:
            event = records.automatic_dynamic(self.reader.payload_text(span, record.offset)) if span else None
        except ValueError:
            self.reader.ledger.add(record.offset, "bad-json", "the event in this payload is no JSON")
            return
        if event:
            compile.automatic_dynamic.append(event)

    def _artifact(self, compile: CompileBuilder, body: Any, record: Record, process: ProcessState) -> None:
        name, span = record.name, record.payload
        if name.endswith(("_hit", "_miss", "_bypass")):
            compile.caches[name] = compile.caches.get(name, 0) + 1
        if span is not None and name in CACHE_ARTIFACTS:
            compile.cache_records.append((name, record.offset, span))
        elif span is None:
            return
        elif name.endswith("_code_state"):
            compile.code_states.append((name.removesuffix("_code_state"), span))
        elif name == "make_fx_fail_partial":
            compile.partial_span = span
        elif name == "dynamo_side_effects":
            compile.effects_span = span
        elif name in (SCHEDULE, TENSORS):
            compile.inductor.append((name, record.offset, span))
        else:
            self._text_artifact(compile, name, self.reader.payload_text(span, record.offset))

    def _text_artifact(self, compile: CompileBuilder, name: str, text: str) -> None:
        if name == "recompile_reasons":
            compile.reasons.extend(map(self._reason, recompile_reasons.split(text)))
            compile.has_reasons_record = True
        elif name == "dynamo_graph_break_reason":
            if not text.startswith(_NOT_CONVERTED):
                compile.breaks.append(graph_break(text))
        elif name in ("dynamo_error", BACKWARD_FAILURE):
            compile.error = text
        elif name in _RANK_NOTES:
            compile.rank_notes.append((name, text))
        elif name == "compiled_autograd_compile_reasons":
            compile.capture_reasons.extend(recompile_reasons.of_capture(text))
        elif name == "compiler_collective":
            compile.collectives.append(text)
        elif name == INDUCTOR_MESSAGE:
            compile.inductor_messages.append(text)

    def _reason(self, text: str) -> Reason:
        """A reason, parsed once for all entries that it is given for."""
        entry, body = recompile_reasons.split_entry(text)
        found = self._reasons.get(body)
        if found is None:
            found = self._reasons[body] = recompile_reasons.parse(body)
        return found if found.entry == entry else found._replace(entry=entry)

    def ranks(self) -> list[Rank]:
        """What each process of the file did, once all records were taken."""
        found, last_time = [], self.reader.last_time()
        for process in self.processes.values():
            rank = process.rank if self.file_rank is None else self.file_rank
            exports = process.exports.exports(rank, self.payloads)
            compiles = [item.compile(rank, self.payloads, self.torch_version) for item in process.compiles if item not in process.exports]
            found.append(
                Rank(
                    number=rank,
                    process=process.number,
                    frames=tuple(_frames(compiles, rank)),
                    payloads=self.payloads,
                    executed=tuple(process.executed),
                    inductor_messages=tuple(process.inductor_messages),
                    exports=exports,
                    vllm=tuple(process.vllm.found),
                    compiled_ahead=tuple(process.compiled_ahead),
                    last_time=last_time,
                )
            )
        return found


# Functions, not methods of one builder, which would keep itself and its file in a cycle.
_HANDLERS: dict[str, Callable[[Builder, CompileBuilder, Any, Record, ProcessState], None]] = {
    "dynamo_start": Builder._start,
    "dynamo_output_graph": Builder._graph,
    "exported_program": Builder._program,
    "link": Builder._link,
    "dynamo_guards": Builder._guards,
    "dynamo_cpp_guards_str": Builder._guards,
    "compilation_metrics": Builder._metrics,
    "bwd_compilation_metrics": Builder._metrics,
    "chromium_event": Builder._event,
    "artifact": Builder._artifact,
}


def _compiled_ahead(record: Record, header: dict[str, Any], process: ProcessState) -> CompileBuilder | None:
    """The compile that an ahead-of-time compilation ends: it has no start, and its guards and metrics come without its id."""
    if record.kind not in _ENDING_KINDS or not process.compiles:
        return None
    last, stack = process.compiles[-1], header.get("stack")
    is_ahead = isinstance(stack, list) and any(isinstance(item, dict) and item.get("name") in _AHEAD for item in stack)
    return last if is_ahead and not last.started and not last.finished else None


def _within_capture(record: Record, header: dict[str, Any], process: ProcessState) -> CompileBuilder | None:
    """The compile that is running, for its last records where PyTorch has lost the id of its frame by then (a capture has no metrics)."""
    is_end = record.kind == "compilation_metrics" and header[record.kind].get("co_name")
    if not is_end and record.kind != "chromium_event":
        return None
    last = process.compiles[-1] if process.compiles else None
    is_running = last is not None and last.started and not last.finished and last.id.frame >= 0
    return last if is_running and last and last.id.autograd == header["compiled_autograd_id"] else None


def _is_id(value: object) -> TypeGuard[int]:
    """Whether it is a number as PyTorch counts frames, compiles and ranks."""
    return type(value) is int and value >= 0


def _is_refusal(kind: str, header: dict[str, Any]) -> bool:
    """Metrics of a compile that was refused (limit, recompiles forbidden): they come without a start, in 2.6 as those of a backward."""
    if kind not in ("compilation_metrics", "bwd_compilation_metrics"):
        return False
    body = header[kind]
    return body.get("is_forward") is None and bool(body.get("fail_type"))


def _frames(compiles: Iterable[Compile], rank: int | None) -> list[Frame]:
    """The compiles of each code, by number: a text may have a later one first.

    A function that several captured backward graphs call has one frame id in all of them.
    """
    grouped: dict[tuple[int, int | None, int], list[Compile]] = {}
    for compile in compiles:
        captured = compile.id.autograd if compile.is_capture else None
        grouped.setdefault((compile.id.generation, captured, compile.id.frame), []).append(compile)
    frames = []
    for (generation, _, number), members in grouped.items():
        members.sort(key=lambda compile: compile.id.compile)
        file, line, name = _code_of(members)
        frames.append(
            Frame(
                number=number,
                rank=rank,
                process=members[0].process,
                generation=generation,
                name=name,
                file=file,
                line=line,
                compiles=tuple(members),
            )
        )
    return frames


def _code_of(compiles: list[Compile]) -> tuple[str, int, str]:
    """The code object of a frame; a compile that hit the limit leaves its name out, so the earlier ones are asked.

    In a text log the first compile may be known by a line in its body alone, and later ones by the first line of the function.
    """
    named = [compile.metrics for compile in compiles if compile.metrics.code_name]
    if named:
        file, name = named[0].code_file, named[0].code_name
        lines = (item.code_line for item in named if (item.code_file, item.code_name) == (file, name) and item.code_line)
        return file, min(lines, default=0), name
    for compile in compiles:
        frames = compile.stack.frames
        if frames and "/torch/_dynamo/" not in frames[-1].file:
            return frames[-1].file, frames[-1].line, frames[-1].name
    graph = next((compile.graph for compile in compiles if not compile.stack.header and compile.graph), None)
    line = next(iter(graph.user_lines), None) if graph else None
    return (line.file, line.line, line.name) if line else ("", 0, "")

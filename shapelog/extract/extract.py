"""The files of a run → the files that ``shapelog extract`` writes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from shapelog.errors import Problem, ShapelogError
from shapelog.extract.content import is_json
from shapelog.extract.extraction import ExtractedCompile, ExtractedFile, ExtractedProcess, Extraction, LeftOut
from shapelog.extract.file_names import attempt_directory, compile_directory, piece_directory, process_directory, subgraph_directory
from shapelog.extract.payload_files import RECORDS, PayloadFiles, joined
from shapelog.extract.selection import Wanted
from shapelog.model.builder import process_key
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.load import build, name_of
from shapelog.model.record_index import IndexedRecord, RecordIndex, index_records
from shapelog.model.trace import Rank
from shapelog.reading.inputs import Selection
from shapelog.reading.open_trace import OpenTrace, open_trace
from shapelog.reading.payloads.vllm_records import AFTER_PARTS, CONFIG, EXECUTION_CODE, PIECE, parse_config, parse_piece
from shapelog.reading.reader import Reader
from shapelog.reading.scanner import Span, scan
from shapelog.reading.trace_files import ProgressCallback, TraceFile
from shapelog.text import rank_list, some

_METRICS = frozenset(("compilation_metrics", "bwd_compilation_metrics"))
_EVENT = "chromium_event"
# How many ids or kinds a message lists.
_MOST_NAMED = 40
_MOST_FILES = 3


def extract(
    selection: Selection, directory: Path, wanted: Wanted, strict: bool = False, progress: ProgressCallback | None = None
) -> Extraction:
    """Write the payloads of a run below ``directory``, which exists; one file of the trace is read at a time.

    Raises ShapelogError where no file of the trace can be read, where nothing in it is wanted, or where a file cannot be written.
    """
    job = _Job(selection, PayloadFiles(directory), wanted, strict, progress)
    for file, opened in job.opened_files():
        job.take(file, opened)
    if not job.versions and job.unreadable:
        raise ShapelogError(job.unreadable[0])
    job.reject_nothing()
    return Extraction(
        trace=name_of([file.name for file in selection.files]),
        torch_version=next((version for version in job.versions if version), ""),
        directory=str(directory),
        processes=tuple(job.processes),
        left_out=tuple(job.left_out),
        notes=(*selection.notes, *job.notes),
        problems=tuple(job.problems),
        unreadable=tuple(job.unreadable),
    )


@dataclass(slots=True)
class _Job:
    """What was extracted so far. ``versions`` are those of torch in each file that was read; ``notes`` are for the user."""

    selection: Selection
    files: PayloadFiles
    wanted: Wanted
    strict: bool
    progress: ProgressCallback | None
    processes: list[ExtractedProcess] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    ids: dict[str, None] = field(default_factory=dict)
    kinds: dict[str, None] = field(default_factory=dict)
    ranks: list[int | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def opened_files(self) -> Iterator[tuple[TraceFile, OpenTrace]]:
        """Each file, opened; text logs last, and only where there is no trace, which holds more of the same compiles."""
        self.problems.extend(self.selection.problems)
        logs = []
        has_trace = False
        for file in self.selection.files:
            try:
                opened = open_trace(file)
            except ShapelogError as error:
                self.unreadable.append(str(error))
                continue
            if opened.log is None:
                has_trace = True
                yield file, opened
            else:
                logs.append((file, opened))
        if not has_trace:
            yield from logs
        elif logs:
            names = some([opened.name for _, opened in logs], _MOST_FILES)
            self.notes.append(f"{names} left out: text logs, whose compilations are in the traces of the same run")

    def take(self, file: TraceFile, opened: OpenTrace) -> None:
        """Extract the wanted payloads of one file."""
        reader = Reader(opened, self.strict, with_positions=True)
        try:
            trace = build(self.selection._replace(files=(file,), notes=(), problems=()), [reader], progress=self.progress)
        except ShapelogError as error:
            self.unreadable.append(str(error))
            return
        self.versions.append(trace.torch_version)
        index = index_records(trace)
        are_several = len(self.selection.files) > 1 or len(trace.ranks) > 1
        outside = index.outside
        for rank in trace.ranks or (Rank(file.rank, 0, ()),):
            self.ranks.append(rank.number)
            if self.wanted.rank in (None, rank.number):
                where = self.files.paths.new(process_directory(rank.number, rank.process)) if are_several else ""
                self._take_rank(rank, where, _Source(reader, index), outside)
                outside = ()
        self.problems.extend(trace.problems)

    def _take_rank(self, rank: Rank, where: str, source: "_Source", outside: Sequence[IndexedRecord]) -> None:
        """``outside`` are the records of no compilation: those of the file, with its first rank."""
        compiles = tuple(self._compiles(rank, where, source))
        own: list[ExtractedFile] = []
        if not self.wanted.compiles:
            own += self._records(outside, joined(where, "outside"), "")
            own += self._events(rank.process, where, source.reader)
        if compiles or own:
            self.processes.append(ExtractedProcess(rank.number, rank.process, where, compiles, tuple(own)))

    def _compiles(self, rank: Rank, where: str, source: "_Source") -> Iterator[ExtractedCompile]:
        for frame in rank.frames:
            for compile in frame.compiles:
                self.ids[compile.label] = None
                if self.wanted.has_compile(compile.id):
                    directory = joined(where, compile_directory(compile.id))
                    files = tuple(self._records(source.records.of(compile), directory, compile.label))
                    if files:
                        yield _extracted(frame, compile, directory, files)

    def _records(self, records: Sequence[IndexedRecord], directory: str, label: str) -> Iterator[ExtractedFile]:
        """The wanted records, those of attempts before the last in directories of their own."""
        last = max((record.attempt for record in records), default=0)
        headers = []
        pieces = _Pieces()
        for record in records:
            piece = pieces.directory(record)
            self.kinds[record.name or record.kind] = None
            if not self.wanted.has_kind(record.kind, record.name) and (record.span is not None or RECORDS not in self.wanted.kinds):
                continue
            attempt = attempt_directory(record.kind, record.name, record.attempt, last)
            where = "/".join(filter(None, (directory, attempt, subgraph_directory(record.subgraph), piece)))
            if record.span is not None:
                yield self.files.payload(record, where)
            elif record.kind in _METRICS:
                yield self.files.body(record, where)
            else:
                headers.append(record)
        if headers:
            yield self.files.headers(headers, directory)

    def _events(self, process: int, where: str, reader: Reader) -> Iterator[ExtractedFile]:
        """The events of PyTorch's own phases in one file, as trace viewers read them; none where none was recorded."""
        if not reader.ledger.records[_EVENT] or not self.wanted.has_kind(_EVENT, ""):
            return
        self.kinds[_EVENT] = None
        events = self._event_payloads(process, reader)
        if (first := next(events, None)) is not None:
            pieces = chain((b"[\n", first), (b",\n" + event for event in events), (b"\n]\n",))
            yield self.files.joined_payloads(_EVENT, joined(where, "chromium_events"), ".json", pieces)

    def _event_payloads(self, process: int, reader: Reader) -> Iterator[bytes]:
        for place in scan(reader.data, reader.trace.size):
            if place.kind == b"chromium_event" and process_key(place.process) == process and place.json_end + 1 < place.stop:
                event = reader.payload_bytes(Span(place.json_end + 1, place.stop, ""))
                if is_json(event):
                    yield event
                else:
                    self.left_out.append(
                        LeftOut(kind=_EVENT, name="", compile="", file=reader.trace.name, offset=place.start, reason="it is no JSON")
                    )

    def reject_nothing(self) -> None:
        """Raises ShapelogError where nothing was written; notes what else was asked for and is not there."""
        missing = [str(id) for id in sorted(self.wanted.compiles, key=str) if str(id) not in self.ids]
        faults = [f"no compilation {label}; ids: {some(list(self.ids), _MOST_NAMED, ' ') or 'none'}" for label in missing]
        if self.wanted.rank is not None and self.wanted.rank not in self.ranks:
            numbers = [rank for rank in self.ranks if rank is not None]
            faults = [f"no rank {self.wanted.rank}; the trace has {rank_list(numbers) if numbers else 'no ranks'}"]
        elif not self.processes and not faults:
            kinds = some(sorted(self.kinds), _MOST_NAMED) or "none"
            faults = [f"no payload of kind {', '.join(sorted(self.wanted.kinds)) or 'any'}; kinds: {kinds}"]
        name = name_of([file.name for file in self.selection.files])
        faults = [f"{name}: {fault}" for fault in faults]
        if not self.processes:
            raise ShapelogError(faults[0])
        self.unreadable += faults


@dataclass(slots=True)
class _Pieces:
    """The directories of what vLLM compiles piece by piece: many graphs, each for several sizes, with the same records of each."""

    prefix: str = ""
    current: str = ""

    def directory(self, record: IndexedRecord) -> str:
        """That of the piece to which a record belongs, the next one in order; "" for one of no piece."""
        if record.name == PIECE or record.name == CONFIG:
            self.current = ""
            text = record.reader.payload_text(record.span) if record.span else ""
            try:
                if record.name == CONFIG:
                    self.prefix = parse_config(text).get("prefix", "")
                else:
                    self.current = piece_directory(self.prefix, parse_piece(text))
            except (ValueError, TypeError, KeyError):
                pass  # a problem of the trace, which lists it
        elif record.name == EXECUTION_CODE or record.kind in AFTER_PARTS:
            self.current = ""
        return self.current


class _Source(NamedTuple):
    """One file of the trace, and its records by compilation."""

    reader: Reader
    records: RecordIndex


def _extracted(frame: Frame, compile: Compile, directory: str, files: tuple[ExtractedFile, ...]) -> ExtractedCompile:
    return ExtractedCompile(
        label=compile.label,
        directory=directory,
        function=frame.title,
        file=frame.file,
        line=frame.line,
        outcome=compile.outcome.value,
        seconds=compile.seconds,
        attempts=compile.attempts,
        files=files,
    )

"""Every record of each compile in file order, those that the model has no use for included, with the way to its payload."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from shapelog.model.builder import process_key
from shapelog.model.compile import Compile
from shapelog.model.trace import Trace
from shapelog.reading.kinds import DECODED, KINDS
from shapelog.reading.reader import Reader
from shapelog.reading.record_positions import Owner, RecordPositions
from shapelog.reading.scanner import Span, decode, name_in

# Process, frame id, number of the compile, compiled-autograd id or -1: what the records of one compile share.
_Key = tuple[int, int, int, int]
# The key of a subgraph's name, and the bytes at the end of a header that have it: behind it there is only the checksum of the payload.
_SUBGRAPH, _ENVELOPE = b'"subgraph_name"', 500
# PyTorch has the files of stacks at a depth of three or four. What is damaged may be as deep as the reader of JSON allows.
_DEEPEST = 20


class IndexedRecord(NamedTuple):
    """One record: its kind, the name of an artifact or file ("" without one), and where its payload lies.

    ``size`` is that of the payload in the file, with the TAB and newline of each line, in bytes; ``offset`` is where the record begins,
    ``json_start`` where the JSON in its first line does, which has ``header_size`` bytes.
    """

    kind: str
    name: str
    attempt: int
    size: int
    span: Span | None
    offset: int
    json_start: int
    header_size: int
    reader: Reader

    @property
    def key(self) -> str:
        """The same for equal payloads, "" without one. What is left of a payload that was cut off is not equal to the whole."""
        if self.span is None:
            return ""
        return f"{self.span.digest or f'{self.reader.ledger.name}@{self.span.start}'}:{self.size}"

    @property
    def header(self) -> str:
        """The JSON text of the first line."""
        return self.reader.json_text(self.json_start, self.json_start + self.header_size).decode("utf-8", "replace")

    @property
    def body(self) -> dict[str, Any]:
        """The same, decoded, with the names of files in place of their numbers; empty if it cannot be read."""
        return cast(dict[str, Any], _with_file_names(decode(self.header.encode("utf-8", "replace")) or {}, self.reader.file_names))

    @property
    def subgraph(self) -> str:
        """The subgraph that it is about, "" without one: torch 2.13 and later name it where regions of a graph are compiled apart."""
        stop = self.json_start + self.header_size
        if _SUBGRAPH not in self.reader.json_text(max(self.json_start, stop - _ENVELOPE), stop):
            return ""
        return str(self.reader.header(self.offset).get("subgraph_name") or "")

    @property
    def first(self) -> dict[str, Any]:
        """The header of the first record of its kind and name in the file; of none where it is that itself."""
        return self.reader.first_header(self.kind, self.name, before=self.offset)

    @property
    def raw(self) -> bytes:
        """The payload as PyTorch had it. Nothing is checked or noted, so another thread may ask for it."""
        return self.reader.payload_bytes(self.span) if self.span else b""

    @property
    def text(self) -> str:
        """The payload as text, its checksum verified."""
        return self.reader.payload_text(self.span, self.offset) if self.span else ""


def _with_file_names(value: Any, names: Mapping[int, str], depth: int = 0) -> Any:
    if depth > _DEEPEST:
        return value
    if isinstance(value, list):
        return [_with_file_names(item, names, depth + 1) for item in value]
    if isinstance(value, dict):
        found = {key: _with_file_names(item, names, depth + 1) for key, item in value.items()}
        if type(number := found.get("filename")) is int and names.get(number):
            found["filename"] = names[number]
        return found
    return value


# Records of one file, by index.
_Records = tuple[Reader, Sequence[int]]


@dataclass(frozen=True, slots=True, eq=False)
class RecordIndex:
    """The records of a trace by compile. They are put together when they are asked for."""

    owned: Mapping[Compile, _Records] = field(repr=False)
    unowned: tuple[_Records, ...] = field(repr=False)

    def of(self, compile: Compile) -> tuple[IndexedRecord, ...]:
        """The records of all attempts and of the backward, in file order."""
        return tuple(_records(*self.owned[compile])) if compile in self.owned else ()

    @property
    def outside(self) -> tuple[IndexedRecord, ...]:
        """Those of no compile, such as the version of torch."""
        return tuple(record for records in self.unowned for record in _records(*records))


def _records(reader: Reader, indexes: Sequence[int]) -> Iterator[IndexedRecord]:
    positions = reader.all_positions()
    for index in indexes:
        at = positions[index]
        kind, name, _ = positions.labels[at.label]
        if not name and (KINDS.get(kind) != DECODED or kind == "link"):  # of these, artifacts alone were noted with their name
            name = name_in(reader.header(at.offset).get(kind))
        span = positions.payload(at)
        yield IndexedRecord(
            kind=kind,
            name=name,
            attempt=at.attempt,
            size=span.end - span.start if span else 0,
            span=span,
            offset=at.offset,
            json_start=at.json_start,
            header_size=at.json_end - at.json_start,
            reader=reader,
        )


def index_records(trace: Trace) -> RecordIndex:
    """All records of a trace but those of ``UNLISTED`` kinds.

    A record belongs to the compile of its process and id that began last before it, as ids start again after a reset; one that
    precedes all of them to the first.
    """
    compiles: dict[Reader, list[Compile]] = {}
    for compile in trace.compiles:
        if compile.payloads is not None:
            compiles.setdefault(compile.payloads.reader, []).append(compile)
    owned: dict[Compile, _Records] = {}
    unowned = []
    for reader in trace.readers:
        positions = reader.all_positions()
        by_key = _by_key(compiles.get(reader, ()))
        left: list[int] = []
        for key, indexes in _grouped(positions).items():
            candidates = by_key.get(key)
            if candidates is None:
                left += indexes
                continue
            for owner, part in zip(candidates, _divided(positions, indexes, [compile.offset for compile in candidates]), strict=True):
                owned[owner] = reader, part
        unowned.append((reader, sorted(left)))
    return RecordIndex(owned, tuple(unowned))


def _by_key(compiles: Iterable[Compile]) -> dict[_Key | None, list[Compile]]:
    """The compiles of one file that have an id in common, in the order in which they began."""
    found: dict[_Key | None, list[Compile]] = {}
    for compile in sorted(compiles, key=lambda compile: compile.offset):
        autograd = -1 if compile.id.autograd is None else compile.id.autograd
        found.setdefault((compile.process, compile.id.frame, compile.id.compile, autograd), []).append(compile)
    return found


def _grouped(positions: RecordPositions) -> dict[_Key | None, list[int]]:
    """The records with the same key, None for those outside of any compile."""
    found: dict[_Key | None, list[int]] = {}
    for owner, indexes in positions.owned.items():
        found.setdefault(_key(owner), []).extend(indexes)
    return {key: sorted(indexes) for key, indexes in found.items()}


def _key(owner: Owner) -> _Key | None:
    """As the builder takes it: the capture of a backward graph has the id of compiled autograd alone."""
    process, frame, number, autograd = owner
    if frame is None or number is None:
        if autograd is None:
            return None
        frame, number = -1, 0
    return process_key(process), frame, number, -1 if autograd is None else autograd


def _divided(positions: RecordPositions, indexes: list[int], offsets: list[int]) -> list[list[int]]:
    """Records with one id, among the compiles that began at ``offsets``."""
    if len(offsets) == 1:
        return [indexes]
    parts: list[list[int]] = [[] for _ in offsets]
    following = -1
    for index in reversed(indexes):
        at = positions[index]
        # A tensor is described before its source, which can be what opens a compile.
        if following < 0 or positions.labels[at.label][0] != "describe_tensor":
            following = at.offset
        parts[max(0, bisect_right(offsets, following) - 1)].append(index)
    return [part[::-1] for part in parts]

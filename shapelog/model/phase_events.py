"""The events that PyTorch itself recorded (``chromium_event``, torch 2.6 and later) → slices and instants, by compilation."""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from shapelog.model.builder import process_key
from shapelog.model.compile import Compile
from shapelog.model.trace import Trace
from shapelog.reading.reader import Reader
from shapelog.reading.scanner import Span, decode, scan
from shapelog.text import cut

# A longer payload is no event; a longer text in one is cut.
_LONGEST, _LONGEST_TEXT = 1 << 20, 300
_MOST_ARGS = 40
# Process, frame, number of the compilation, compiled-autograd id; None for what its header leaves out.
_Key = tuple[int, int | None, int | None, int | None]


class PhaseEvent(NamedTuple):
    """Something that PyTorch timed, or noted at a moment. ``start`` and ``duration`` are in microseconds, ``start`` since the epoch."""

    name: str
    start: float
    duration: float
    args: dict[str, Any]
    is_instant: bool = False

    @property
    def end(self) -> float:
        return self.start + self.duration


Phases = Mapping[Compile | int, list[PhaseEvent]]


def phases_of(trace: Trace) -> Phases:
    """The events of each compilation, and by process number those outside of any, in order of their records.

    A slice without an end lasts until the last event of its process; an end without a beginning is left out.
    """
    found: defaultdict[Compile | int, list[PhaseEvent]] = defaultdict(list)
    by_reader: dict[Reader, list[Compile]] = {}
    for compile in trace.compiles:
        if compile.payloads is not None:
            by_reader.setdefault(compile.payloads.reader, []).append(compile)
    for reader in trace.readers:
        if reader.ledger.records["chromium_event"]:
            for owner, event in _owned(reader, by_reader.get(reader, ())):
                found[owner].append(event)
    return found


def _owned(reader: Reader, compiles: Iterable[Compile]) -> Iterator[tuple[Compile | int, PhaseEvent]]:
    began: defaultdict[_Key, list[Compile]] = defaultdict(list)
    for compile in sorted(compiles, key=lambda compile: compile.offset):
        id = compile.id
        frame, number = (id.frame, id.compile) if id.frame >= 0 else (None, None)
        began[compile.process, frame, number, id.autograd].append(compile)
    offsets = {key: [compile.offset for compile in members] for key, members in began.items()}
    for key, offset, event in _paired(reader):
        members = began.get(key)
        # The first event of a compilation is recorded before the record that opens it.
        owner = members[max(0, bisect_right(offsets[key], offset) - 1)] if members else key[0]
        yield owner, event


def _paired(reader: Reader) -> Iterator[tuple[_Key, int, PhaseEvent]]:
    """Each slice, once its end is found, and each instant, with the key and the offset of the record that began it."""
    open_slices: defaultdict[tuple[_Key, str], list[tuple[int, PhaseEvent]]] = defaultdict(list)
    last: dict[int, float] = {}
    for key, offset, body in _bodies(reader):
        name, start = str(body.get("name", "")), float(body["ts"])
        last[key[0]] = max(last.get(key[0], start), start)
        event = PhaseEvent(name, start, 0.0, _args(body.get("args")))
        match body.get("ph"):
            case "B":
                open_slices[key, name].append((offset, event))
            case "E" if open_slices[key, name]:
                began, first = open_slices[key, name].pop()
                yield key, began, first._replace(duration=max(0.0, start - first.start), args={**first.args, **event.args})
            case "X":
                yield key, offset, event._replace(duration=max(0.0, _number(body.get("dur")) or 0.0))
            case "i" | "I" | "R":
                yield key, offset, event._replace(is_instant=True)
    for (key, _), members in open_slices.items():
        for offset, event in members:
            end = max(event.start, last[key[0]])
            yield key, offset, event._replace(duration=end - event.start, args={**event.args, "end": "not recorded"})


def _bodies(reader: Reader) -> Iterator[tuple[_Key, int, dict[str, Any]]]:
    """The events of a file that have a time, with their keys and the offsets of their records."""
    for place in scan(reader.data, reader.trace.size):
        if place.kind != b"chromium_event" or not 0 < place.stop - place.json_end <= _LONGEST:
            continue
        header = decode(reader.json_text(place.json_start, place.json_end)) or {}
        body = decode(reader.payload_bytes(Span(place.json_end + 1, place.stop, "")))
        if body is not None and _number(body.get("ts")) is not None:
            frame, number, autograd = (_id(header.get(name)) for name in ("frame_id", "frame_compile_id", "compiled_autograd_id"))
            yield (process_key(place.process), frame, number, autograd), place.start, body


def _number(value: object) -> float | None:
    """A time that a clock may have shown, in microseconds."""
    return float(value) if type(value) in (int, float) and 0 <= value < 1e18 else None  # type: ignore[arg-type, operator]


def _id(value: object) -> int | None:
    return value if type(value) is int else None


def _args(found: object) -> dict[str, Any]:
    """What PyTorch noted with an event; long texts and lists, such as the components of a cache key, are cut."""
    if not isinstance(found, dict):
        return {}
    return {str(key): _short(value) for key, value in list(found.items())[:_MOST_ARGS] if key != "compile_id" and value is not None}


def _short(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return cut(text, _LONGEST_TEXT)

"""Bytes → entries (kind, header, payload span) and problems, in one pass. The hot loop of shapelog.

Grammar (PyTorch's ``trace_structured``): ``V1120 08:27:33.313000 12031 torch/x.py:303] {json}`` on one line, then the payload,
each of its lines behind one TAB. So a newline with anything but a TAB behind it starts a record.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from shapelog.errors import DATA_LOSS, INFO, Problem
from shapelog.reading import labels
from shapelog.reading.ahead import Ahead, Tallies
from shapelog.reading.header_trimming import Repeats, without_stack
from shapelog.reading.kinds import ENVELOPE_KEYS, KNOWN_KINDS, UNLISTED_KINDS, USED_ARTIFACTS, USED_KINDS
from shapelog.reading.labels import Place
from shapelog.reading.open_trace import OpenTrace

if TYPE_CHECKING:
    from shapelog.reading.record_positions import Notes

# A record starts behind a newline that no TAB follows. Groups: process, an empty one where the JSON begins, an empty one behind each of
# ``_PLAIN``, else kind and name of an artifact. The whole line is matched if it is not long. (``(?:x|)`` costs less than ``(?:x)?``.)
_HEAD = (
    rb"[A-Z]\d{4} [\d:.]+ +(\d{1,18}) [^\]\n]*\] ()(?=\{)(?:%b()|%b()|"
    rb'(?:\{"(\w{1,99})": (?:\{"name": "([^"\\\n]{0,999})"|)|)[^\n]{0,500})'
)
_PROCESS, _JSON, _EVENT, _STORAGE, _KIND, _NAME = range(1, 7)
# The most frequent records are only counted: events with a payload that is announced, but the one that is decoded, and storages.
_SAID = rb'"has_payload": ".{32}"\}'
_PLAIN = (
    rb'\{"chromium_event": \{[^\n]{0,500}(?<=' + _SAID + rb')(?=\n\t(?!\{\n\t"name": "automatic_dynamic"))',
    rb'\{"describe_storage": \{[^\n]{0,500}(?<=\})(?<!' + _SAID + rb")(?=\n(?!\t))",
)
_PLAIN_LABELS = {_EVENT: b"chromium_event", _STORAGE: b"describe_storage"}
_FIRST = re.compile(_HEAD % (rb"(?!)", rb"(?!)"))
_START = re.compile(rb"\n(?!\t)(?:" + _HEAD % _PLAIN + rb"|)")
# What is left of a record that was cut off before its JSON.
_BEGUN = re.compile(rb"[A-Z](?:\d{0,3}|\d{4}(?: (?:[\d:.]*|[\d:.]+ +(?:\d{0,18}|\d{1,18} [^\]\n]*(?:\] ?)?)))?)")
_AUTOMATIC = b'\t{\n\t"name": "automatic_dynamic"'
# How a header ends that announces a payload: so, then its MD5 in 32 digits, and two characters more.
_ANNOUNCED, _BEHIND = b'"has_payload": "', 34
# Names of bytecode artifacts hold the name of the function.
_PER_FUNCTION = re.compile(r".*_(ORIGINAL|MODIFIED)_BYTECODE$")
_RELEASE = 2 << 20
# What a look at a place is taken to map into memory around it: really 64 KiB, or as much as is cached in one piece, up to 2 MiB.
_AROUND = 512 << 10
_NEWLINE, _BRACE = b"\n}"
_JSON_ENDS = b"}\r"
_KINDS = {kind.encode(): kind for kind in KNOWN_KINDS}
_KEEP_PROBLEMS = 200
# A longer header or payload is accounted for and not read. PyTorch writes some megabytes; to read one takes many times its size.
_LONGEST = 64 << 20
# Headers that are longer than most; a map of a file is searched byte by byte, a copy of a piece many times faster.
_LONG, _PIECE = 512, 1 << 16
_WITH_STACKS = frozenset(("create_symbol", "create_unbacked_symbol", "guard_added", "guard_added_fast", "symbolic_shape_specialization"))
_KIND_OF = [kind for _, kind in labels.LABELS]
_made = tuple.__new__  # of a class of tuples, in half the time that calling it takes
_WITH_REPEATS = frozenset(("compilation_metrics", "bwd_compilation_metrics"))


class Span(NamedTuple):
    """Where a payload lies in the file, and the MD5 that its header states. Equal digest means equal payload."""

    start: int
    end: int
    digest: str


class Entry(NamedTuple):
    """A record whose header was decoded: its kind, its JSON object (``repeats`` says without what), the process that wrote it,
    its offset and payload.
    """

    kind: str
    header: dict[str, Any]
    process: int
    offset: int
    payload: Span | None


@dataclass(slots=True)
class Ledger:
    """The account of one file: bytes and records by kind, and everything that could not be used."""

    name: str
    size: int = 0
    records: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    unused: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    unreadable_bytes: int = 0
    unreadable_records: int = 0
    payloads_verified: int = 0
    found: list[tuple[int, str, str, int, str]] = field(default_factory=list)
    dropped_problems: int = 0

    def add(self, offset: int, code: str, message: str, count: int = 1, severity: str = "degraded") -> None:
        if len(self.found) < _KEEP_PROBLEMS:
            self.found.append((offset, code, message, count, severity))
        else:
            self.dropped_problems += 1

    @property
    def accounted_bytes(self) -> int:
        """Always the size of the file."""
        return sum(self.sizes.values()) + self.unreadable_bytes

    @property
    def readable_records(self) -> int:
        return sum(self.records.values())


# Smaller files are read before another process is up.
WORTH_A_PROCESS = 24 << 20
# In pieces of so many bytes is a file searched by two processes, in so many pieces at most: their numbers, of 4 bytes each, have to fit
# into a pipe, which for a user who has many holds no more than a page of memory.
_SEARCHED, _MOST_PIECES = 4 << 20, 1024


def _pieces(size: int) -> list[tuple[int, int]]:
    step = max(_SEARCHED, -(-size // _MOST_PIECES))
    return [(start, start + step) for start in range(0, size, step)]


class Reader:
    """One pass over one open trace, and the payloads that were asked for afterwards."""

    def __init__(self, trace: OpenTrace, strict: bool = False, ahead: bool = False, listing: bool = False) -> None:
        """``ahead`` lets a child process find the records while this one decodes them; only for programs without threads.

        ``listing`` notes on the way where all the records lie, also those that are only counted.
        """
        self.trace = trace
        self.data = trace.data
        self.strict = strict
        self.notes: Notes | None = _notes(trace) if listing else None
        self.ledger = Ledger(trace.name, trace.size)
        self._repeats = Repeats()
        self._looked_at, self._looked_to = 0, -_AROUND
        self._texts_verified: set[str] = set()
        self._mismatched: set[int] = set()
        self._firsts: dict[int, dict[str, Any]] = {}
        self._undecoded: set[int] = set()
        self._ahead = (
            Ahead(self.uncounted, self._json_text, _pieces(trace.size), self.notes)
            if ahead and trace.size >= WORTH_A_PROCESS and not strict and (os.cpu_count() or 1) > 1
            else None
        )

    def entries(self) -> Iterator[Entry]:
        """Each record of a kind that the model wants, in file order; all other records are counted."""
        tallies: Tallies = {}
        released, bad_from, bad_stop, bad_lines = 0, 0, -1, 0
        notes, first_counted, listed = self.notes, labels.FIRST_COUNTED, labels.LISTED
        places = self._ahead.places(tallies) if self._ahead else zip(self.uncounted(tallies), repeat(b""))  # one is endless
        for place, told in places:
            start, stop, _, _, label, _ = place
            if label >= first_counted and notes is not None:
                notes.add(place, told)
                continue
            text = told or self._json_text(place)
            entry = self._quick(place, text) if label >= 0 else None
            if entry is None:
                self._refuse(place, tallies)
                head = _FIRST.match(self.data, start, stop)
                if head is not None:
                    entry = self._record(start, stop, head)
                elif start == bad_stop:
                    bad_stop, bad_lines = stop, bad_lines + 1
                else:
                    self._unreadable(bad_from, bad_stop, bad_lines)
                    bad_from, bad_stop, bad_lines = start, stop, 1
            elif notes is not None and not told and label in listed:  # else who found it has noted it
                notes.add(place, text)
            if entry is not None:
                yield entry
            if stop - released > _RELEASE:
                self.trace.release(released, stop)
                released = stop
        self._unreadable(bad_from, bad_stop, bad_lines)
        self._settle(tallies)
        self.trace.release(released, self.trace.size)

    def uncounted(self, tallies: Tallies, begin: int = 0, end: int = sys.maxsize) -> Iterator[Place]:
        """The place of each record that has to be decoded or looked at; all but the latter are counted in ``tallies`` in the end.

        Only of records that start between two offsets. For a listing those that are only counted are given as well.
        """
        data, size = self.data, self.trace.size
        if not size:
            return
        head = _START.search(data, begin - 1) if begin else _FIRST.match(data)
        start = head.start() + 1 if begin and head is not None else begin
        if start >= end or (begin and head is None):
            return
        numbers, released = labels.NUMBERS, max(0, begin - 1)
        plain: dict[int | None, int] = dict.fromkeys(_PLAIN_LABELS, 0)
        plain_sizes = plain.copy()
        counts, sizes = [0] * labels.FIRST_COUNTED, [0] * labels.FIRST_COUNTED
        last = -1 if self.strict else size  # a record that ends there may be cut off, so it is always looked at
        for following in chain(_START.finditer(data, head.end() if head is not None else 0), (None,) if data[size - 1] != _NEWLINE else ()):
            stop = following.start() + 1 if following is not None else size
            if head is None or stop >= last:
                yield start, stop, -1, -1, -1, -1
            elif (group := head.lastindex) in plain:
                plain[group] += 1
                plain_sizes[group] += stop - start
            else:
                number = numbers.get(head[_KIND], -1)
                if number >= 0 and data[line_end := head.end()] == _NEWLINE:
                    counts[number] += 1
                    sizes[number] += stop - start
                    yield start, stop, head.start(_JSON), line_end, number, int(head[_PROCESS])
                elif (place := self._place(start, stop, head, tallies)) is not None:
                    yield place
                if stop - released > _RELEASE:
                    self.trace.release(released, stop)
                    released = stop
            start, head = stop, following
            if stop >= end:
                break
        for group, label in _PLAIN_LABELS.items():
            _count(tallies, label, plain[group], plain_sizes[group])
        for number, (label, _) in enumerate(labels.LABELS):
            _count(tallies, label, counts[number], sizes[number], 1)
        if end < size:
            self.trace.release(released, start)

    def _place(self, start: int, stop: int, head: re.Match[bytes], tallies: Tallies) -> Place | None:
        """The place of a record, None if it is only counted."""
        data = self.data
        kind = head[_KIND]
        label = b"artifact " + (head[_NAME] or b"") if kind == b"artifact" else kind
        line_end = head.end()
        if data[line_end] != _NEWLINE:
            line_end = self._line_end(line_end, stop)
        if label in labels.COUNTED:
            if line_end == stop - 1:
                is_fine = data.find(_ANNOUNCED, line_end - 64, line_end) <= start
            else:
                announced = max(start, line_end - _BEHIND - len(_ANNOUNCED))
                is_fine = data[announced : line_end - _BEHIND] == _ANNOUNCED
            if is_fine and data[line_end - 1] == _BRACE:
                if kind == b"chromium_event" and data[line_end + 1 : line_end + 32] == _AUTOMATIC:
                    _count(tallies, labels.LABELS[labels.AUTOMATIC][0], 1, stop - start, 1)
                    return start, stop, head.start(_JSON), line_end, labels.AUTOMATIC, int(head[_PROCESS])
                _count(tallies, label, 1, stop - start)
                if self.notes is None or labels.COUNTED[label] < 0:
                    return None
                return start, stop, head.start(_JSON), line_end, labels.COUNTED[label], int(head[_PROCESS])
        number = labels.NUMBERS.get(label, -1)
        if number < 0:
            return start, stop, -1, -1, -1, -1
        _count(tallies, label, 1, stop - start, 1)
        return start, stop, head.start(_JSON), line_end, number, int(head[_PROCESS])

    def _line_end(self, start: int, stop: int) -> int:
        """Where the line ends that a record begins with."""
        found = self.data.find(b"\n", start, min(stop, start + _LONG))
        start += _LONG
        while found < 0 and start < stop:
            at = self.data[start : min(stop, start + _PIECE)].find(b"\n")
            found, start = at if at < 0 else start + at, start + _PIECE
        return found

    def _json_text(self, place: Place) -> bytes:
        """The JSON text of a header, of a long one what is new in it, empty if it is too long; its end where it is only counted."""
        _, _, start, end, number, _ = place
        if 0 <= number < labels.FIRST_COUNTED and end - start <= _LONG:
            return self.data[start:end]
        if number >= labels.FIRST_COUNTED:
            return self.data[max(start, end - _LONG) : end]
        if number < 0 or end - start > _LONGEST:
            return b""
        text, kind = self.data[start:end], labels.LABELS[number][1]
        return self._repeats.without(text) if kind in _WITH_REPEATS else without_stack(text) if kind in _WITH_STACKS else text

    def _quick(self, place: Place, text: bytes) -> Entry | None:
        """A record of a wanted kind with nothing wrong about it; None for any other."""
        start, stop, _, line_end, number, process = place
        try:
            header = orjson.loads(text)
            digest = header.get("has_payload")
        except (ValueError, AttributeError):
            return None
        if digest is None:
            if line_end != stop - 1:
                return None
            payload = None
        elif type(digest) is str and line_end < stop - 1:
            payload = Span(line_end + 1, stop, digest)
        else:
            return None
        return _made(Entry, (_KIND_OF[number], header, process, start, payload))

    def _refuse(self, place: Place, tallies: Tallies) -> None:
        """Take back what was counted and noted where a record was found that is not as it looked."""
        start, stop, _, _, number, _ = place
        if number >= 0:
            _count(tallies, labels.LABELS[number][0], -1, start - stop, 1)
            if self.notes is not None:
                self.notes.forget(start)

    def noted(self) -> "Notes":
        """All readable records but those of ``UNLISTED_KINDS``, as far as the file was read.

        A reader that was not made for a listing reads the whole file once more.
        """
        if self.notes is None:
            again = Reader(self.trace, self.strict, listing=True)
            for _ in again.entries():
                pass
            self.notes = again.noted()
        self.notes.settle()
        return self.notes

    def _name(self, kind: str, head: re.Match[bytes], line_end: int, header: dict[str, Any] | None) -> str:
        if head[_NAME] is not None and _text(head[_KIND]) == kind:
            return _text(head[_NAME])
        header = header if header is not None else _decode(self.data[head.start(_JSON) : line_end]) or {}
        body = header.get(kind)
        name = body.get("name") if isinstance(body, dict) else None
        return name if isinstance(name, str) else ""

    def _settle(self, tallies: Tallies) -> None:
        """Enter into the ledger what the loop counted on the way."""
        for label, (count, size, is_used) in tallies.items():
            if count:
                self._tally(_KINDS[label.partition(b" ")[0]], size, count)
            if count and not is_used:
                self._unused(_text(label), count)

    def _tally(self, name: str, size: int, count: int = 1) -> None:
        ledger = self.ledger
        ledger.records[name] = ledger.records.get(name, 0) + count
        ledger.sizes[name] = ledger.sizes.get(name, 0) + size

    def _unused(self, label: str, count: int = 1) -> None:
        self.ledger.unused[label] = self.ledger.unused.get(label, 0) + count

    def _unreadable(self, start: int, stop: int, lines: int) -> None:
        """Account for so many lines in a row that are no record."""
        if not lines:
            return
        self.ledger.unreadable_bytes += stop - start
        self.ledger.unreadable_records += lines
        if stop == self.trace.size and _BEGUN.fullmatch(self.data, start, stop):
            self.ledger.add(start, "cut-off", "the last record is cut off", severity=DATA_LOSS)
            return
        first = self.data[start : min(stop, start + 60)].split(b"\n", 1)[0].decode("utf-8", "replace")
        self.ledger.add(start, "bad-prefix", f"not a trace record: {first!r}", lines, DATA_LOSS if lines > 1 or first.strip() else INFO)

    def _record(self, start: int, stop: int, head: re.Match[bytes]) -> Entry | None:
        """Count one record, and decode its header if its kind is wanted, not known, or everything is to be checked."""
        data, kind = self.data, head[_KIND]
        line_end = data.find(b"\n", head.end(), stop)
        if line_end < 0:
            line_end = stop
        name = _KINDS.get(kind)
        wanted = name in USED_KINDS or (name == "artifact" and _text(head[_NAME]) in USED_ARTIFACTS)
        if name == "chromium_event":
            wanted = data[line_end + 1 : line_end + 32] == _AUTOMATIC
        header = None
        unnamed = name == "artifact" and head[_NAME] is None
        if wanted or self.strict or name is None or unnamed or stop == self.trace.size:
            if line_end - start > _LONGEST:
                self._too_long(start, stop, line_end, name or "of no known kind")
                return None
            text = data[head.start(_JSON) : line_end]
            header = _decode(self._repeats.without(text) if name in _WITH_REPEATS else text)
            if header is not None and (name is None or unnamed):
                name = name or next((key for key in header if key not in ENVELOPE_KEYS), None)
                artifact = header.get("artifact")
                wanted = name in USED_KINDS or (isinstance(artifact, dict) and str(artifact.get("name")) in USED_ARTIFACTS)
            is_bad = header is None
        else:
            is_bad = data[line_end - 1] not in _JSON_ENDS
        if is_bad or name is None:
            self._bad_json(start, stop, name or "of no known kind")
            return None
        self._tally(name, stop - start)
        if self.notes is not None and name not in UNLISTED_KINDS:
            label = self.notes.label_of(name, self._name(name, head, line_end, header))
            self.notes.add((start, stop, head.start(_JSON), line_end, label, int(head[_PROCESS])))
        payload = self._payload(start, stop, line_end, name, header)
        if wanted and header is not None:
            return Entry(name, header, int(head[_PROCESS]), start, payload)
        self._count_unused(name, head, header)
        return None

    def _count_unused(self, name: str, head: re.Match[bytes], header: dict[str, Any] | None) -> None:
        label = name
        if name == "artifact":
            artifact = header.get("artifact") if header else None
            given = artifact.get("name") if isinstance(artifact, dict) else _text(head[_NAME])
            by_function = _PER_FUNCTION.match(str(given))
            label = f"artifact {'*_' + by_function[1] + '_BYTECODE' if by_function else given}"
        self._unused(label)
        if name not in KNOWN_KINDS:
            self.ledger.unknown[name] = self.ledger.unknown.get(name, 0) + 1

    def _bad_json(self, start: int, stop: int, name: str) -> None:
        self.ledger.unreadable_bytes += stop - start
        self.ledger.unreadable_records += 1
        if stop == self.trace.size and self.data[stop - 1] != _NEWLINE:
            self.ledger.add(start, "cut-off", f"the last record ({name}) is cut off", severity=DATA_LOSS)
        else:
            self.ledger.add(start, "bad-json", f"the JSON of this record ({name}) cannot be read", severity=DATA_LOSS)

    def _too_long(self, start: int, stop: int, line_end: int, name: str) -> None:
        self.ledger.unreadable_bytes += stop - start
        self.ledger.unreadable_records += 1
        text = f"the header of this record ({name}) has {line_end - start:,} bytes, and none of more than {_LONGEST:,} is read"
        self.ledger.add(start, "bad-size", text, severity=DATA_LOSS)

    def _payload(self, start: int, stop: int, line_end: int, name: str, header: dict[str, Any] | None) -> Span | None:
        """Where the payload lies; its absence or an announcement without one becomes a problem."""
        data, body = self.data, line_end + 1
        if header is not None:
            digest = header.get("has_payload")
        else:
            stated = data.find(b'"has_payload": "', start, line_end)
            digest = data[stated + 16 : stated + 48].decode("ascii", "replace") if stated >= 0 else None
        if body >= stop:
            if digest:
                self.ledger.add(start, "missing-payload", f"the payload of this record ({name}) is missing", severity=DATA_LOSS)
            return None
        if not isinstance(digest, str) or not digest:
            self.ledger.add(start, "unannounced-payload", f"the record ({name}) has a payload that its header does not announce")
            return Span(body, stop, "")
        span = Span(body, stop, digest)
        if stop == self.trace.size and data[stop - 1] == _NEWLINE:
            self.text(span, start)  # a file that was cut off at the end of a line shows it here alone
        elif stop == self.trace.size and not self._is_whole(span):
            self.ledger.add(start, "cut-off", f"the file ends inside the payload of this record ({name})", severity=DATA_LOSS)
            self._mismatched.add(span.start)
        elif self.strict:
            self.text(span, start)
        return span

    def _is_whole(self, span: Span) -> bool:
        """Whether the payload has its checksum; one that is too long to be read is taken for whole."""
        if span.end - span.start > _LONGEST:
            return True
        return _digest(self.raw(span)) == span.digest

    def header(self, offset: int) -> dict[str, Any]:
        """The JSON object of the record that starts at ``offset``, decoded again; empty, and a problem, if it cannot be."""
        text = self.header_text(offset)
        found = _decode(text)
        if found is None and text and offset not in self._undecoded:
            self._undecoded.add(offset)
            self.ledger.add(offset, "bad-json", "the JSON of this record cannot be read in full", severity=DATA_LOSS)
        return found or {}

    def first_header(self, offset: int) -> dict[str, Any]:
        """The same for a record that many are held against; it is kept."""
        found = self._firsts.get(offset)
        if found is None:
            found = self._firsts[offset] = self.header(offset)
        return found

    def header_text(self, offset: int) -> bytes:
        """The JSON text of the record that starts at ``offset``; empty if it is too long."""
        head = _FIRST.match(self.data, offset)
        if head is None:
            return b""
        start = head.start(_JSON)
        line_end = self.data.find(b"\n", start)
        return self.json_text(start, (line_end if line_end >= 0 else self.trace.size) - start)

    def json_text(self, start: int, size: int) -> bytes:
        """The JSON text of that many bytes that begins at ``start``; empty if it is too long."""
        self._look(start, size)
        return self.data[start : start + size] if size <= _LONGEST else b""

    def _look(self, start: int, size: int) -> None:
        """Give back the pages that were looked at before, when they are many. Next to the place before, few are new."""
        self._looked_at += min(abs(start - self._looked_to), _AROUND) + size
        self._looked_to = start + size
        if self._looked_at > _RELEASE:
            self._looked_at, self._looked_to = 0, -_AROUND
            self.trace.release(0, self.trace.size)

    def raw(self, span: Span) -> bytes:
        """The payload as PyTorch had it: without the TAB of each line and the last newline; empty if it is too long."""
        if span.end - span.start > _LONGEST:
            return b""
        self._look(span.start, span.end - span.start)
        data, last = self.data, span.end - 1
        end = last if last >= span.start and data[last] == _NEWLINE else span.end
        return b"\n".join(data[span.start + 1 : end].split(b"\n\t"))  # half the time of replace()

    def text(self, span: Span, offset: int = -1) -> str:
        """The payload as text. Its checksum is verified; one that does not match is used all the same, and reported.

        One that is too long is reported, too, and empty.
        """
        size = span.end - span.start
        if size > _LONGEST:
            if span.start not in self._mismatched:
                self._mismatched.add(span.start)
                text = f"this payload has {size:,} bytes, and none of more than {_LONGEST:,} is read"
                self.ledger.add(max(offset, 0) or span.start, "oversized-payload", text, severity=DATA_LOSS)
            return ""
        raw = self.raw(span)
        if span.digest not in self._texts_verified:
            self.ledger.payloads_verified += 1
            if _digest(raw) == span.digest:
                self._texts_verified.add(span.digest)
            elif span.digest and span.start not in self._mismatched:
                self._mismatched.add(span.start)
                self.ledger.add(max(offset, 0) or span.start, "checksum-mismatch", "the payload is not the one its checksum was made of")
        return raw.decode("utf-8", "replace")

    def problems(self) -> list[Problem]:
        """What was found, with line numbers: newlines are counted only when there is something to place."""
        found = sorted(self.ledger.found)
        lines = self._lines([offset for offset, *_ in found])
        placed = [Problem(code, text, self.trace.name, lines[offset], count, severity) for offset, code, text, count, severity in found]
        if self.ledger.dropped_problems:
            text = f"{self.ledger.dropped_problems} more problems like these"
            placed.append(Problem("more-problems", text, self.trace.name, count=self.ledger.dropped_problems))
        return self.trace.problems + placed

    def _lines(self, offsets: list[int]) -> dict[int, int]:
        lines: dict[int, int] = {}
        at, line = 0, 1
        for offset in offsets:
            while at < offset:
                step = min(offset, at + (1 << 20))
                line += self.data[at:step].count(b"\n")
                at = step
            lines[offset] = line
        return lines


def _count(tallies: Tallies, label: bytes, count: int, size: int, is_used: int = 0) -> None:
    if count:
        tally = tallies.get(label) or tallies.setdefault(label, [0, 0, is_used])
        tally[0] += count
        tally[1] += size


def _text(name: bytes | None) -> str:
    return name.decode("utf-8", "replace") if name else ""


def _digest(payload: bytes) -> str:
    import hashlib  # takes a while, and the child that looks ahead needs none

    return hashlib.md5(payload, usedforsecurity=False).hexdigest()


def _notes(trace: OpenTrace) -> "Notes":
    from shapelog.reading.record_positions import Notes  # the page alone lists records

    return Notes(trace.data, labels.NAMES, _decode)


def _decode(text: bytes) -> dict[str, Any] | None:
    """A header's JSON object; None if it is none. The slow decoder takes what the fast one refuses: NaN and lone surrogates."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        import json  # before the child that looks ahead is made, every import delays it

        try:
            value = json.loads(text.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None

"""One pass over a trace: every record is located, decoded if the model uses it, and accounted for. Payloads are read when asked for."""

import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from shapelog.errors import DATA_LOSS, INFO, Problem
from shapelog.reading.kinds import DECODED, DECODED_ARTIFACTS, DECODED_DUMPS, ENVELOPE_KEYS, KINDS
from shapelog.reading.ledger import Ledger
from shapelog.reading.open_trace import FileBytes, OpenTrace
from shapelog.reading.record_positions import RecordPositions
from shapelog.reading.scanner import ANNOUNCED, ANNOUNCEMENT_SIZE, LONGEST, Record, RecordLocation, Span, decode, locate, name_in, scan

_AUTOMATIC_DYNAMIC = b'\t{\n\t"name": "automatic_dynamic"'
_NEWLINE = b"\n"
# What is left of a record that was cut off before its JSON.
_CUT_OFF = re.compile(rb"[A-Z](?:\d{0,3}|\d{4}(?: (?:[\d:.]*|[\d:.]+ +(?:\d{0,18}|\d{1,18} [^\]\n]*(?:\] ?)?)))?)")
# Names of bytecode artifacts hold the name of the function.
_BYTECODE = re.compile(r".*_(ORIGINAL|MODIFIED)_BYTECODE$")
_TIME = re.compile(rb"\n?[A-Z](\d{4} \d\d:\d\d:\d\d(?:\.\d{1,6})?) ")
# How much is read at a time to count its lines.
_STEP = 1 << 20
# How far from the end the time of the last record is looked for.
_TAIL = 1 << 20
# How long a first line may be whose end is looked at.
_HEAD = 1 << 16


class Reader:
    """The records of one open trace, and the payloads that are asked for afterwards."""

    def __init__(self, trace: OpenTrace, strict: bool = False, with_positions: bool = False) -> None:
        """``strict`` decodes every header and verifies every checksum; ``with_positions`` keeps in mind where each record lies."""
        self.trace = trace
        self.data = trace.data
        self.strict = strict
        self.positions = RecordPositions(trace.data) if with_positions else None
        self.ledger = Ledger(trace.name, trace.size)
        # The string table: names of files by number, "" where two processes gave the same number to different ones.
        self.file_names: dict[int, str] = {}
        self._verified: set[str | int] = set()
        self._mismatched: set[int] = set()
        self._undecoded: set[int] = set()
        self._first_headers: dict[int, dict[str, Any]] = {}
        # A file that a checkout or an editor of Windows wrote; checksums are those of the text that PyTorch had.
        self._has_crlf = self.data[:_HEAD].partition(_NEWLINE)[0].endswith(b"\r")

    def records(self) -> Iterator[Record]:
        """Every readable record in file order. All others are accounted for in the ledger."""
        found = self._records()
        return self.positions.noting(found) if self.positions is not None else found

    def _records(self) -> Iterator[Record]:
        for place in scan(self.data, self.trace.size):
            if place.json_start < 0:
                self._lose_lines(place.start, place.stop)
            elif (record := self._record(place)) is not None:
                yield record

    def _record(self, place: RecordLocation) -> Record | None:
        """Count one record, and decode its header where the model uses it or where its first line does not look whole."""
        start, stop, json_start, json_end, _, process, kind_text, name_text = place
        kind = kind_text.decode("ascii")
        is_named = kind in ("artifact", "graph_dump")
        name = name_text.decode("utf-8", "replace") if is_named else ""
        is_used = self._is_used(place, kind, name)
        header = None
        if is_used or self.strict or not self._looks_whole(place, kind, name):
            header = self._header_of(place, kind)
            if header is None:
                return None
            kind = kind if kind in KINDS else next((key for key in header if key not in ENVELOPE_KEYS), "")
            if not kind:
                self._lose(place, "bad-json", "the JSON of this record (of unknown kind) cannot be read")
                return None
            if kind == "artifact" and not name:
                name = name_in(header[kind])
            is_used = is_used or self._is_used(place, kind, name)
        self.ledger.records[kind] += 1
        self.ledger.sizes[kind] += stop - start
        if not is_used:
            self._count_unused(kind, name)
        record = Record(
            kind=kind,
            name=name,
            header=header if is_used else None,
            process=process,
            offset=start,
            stop=stop,
            json_start=json_start,
            json_end=json_end,
        )
        if header is not None:
            self._check_payload(record, header)
        return record

    def _is_used(self, place: RecordLocation, kind: str, name: str) -> bool:
        """Whether the model is built from this record; of events, one that reports an automatic dynamic source is."""
        if kind == "chromium_event":
            begin = place.json_end + 1
            return self.data[begin : begin + len(_AUTOMATIC_DYNAMIC)] == _AUTOMATIC_DYNAMIC
        if kind == "artifact":
            return name in DECODED_ARTIFACTS
        if kind == "graph_dump":
            return name.startswith(DECODED_DUMPS)
        return KINDS.get(kind) == DECODED

    def _looks_whole(self, place: RecordLocation, kind: str, name: str) -> bool:
        """Whether the first line ends as PyTorch ends it, with the announcement of a payload where there is one."""
        # The last record may be cut off, and of one of an unknown kind, or without a name, only the JSON shows what it is.
        if place.stop == self.trace.size or kind not in KINDS or (kind == "artifact" and not name):
            return False
        tail = place.json[-ANNOUNCEMENT_SIZE:]
        return tail.endswith(b"}") and tail.startswith(ANNOUNCED) == (place.json_end + 1 < place.stop)

    def _header_of(self, place: RecordLocation, kind: str) -> dict[str, Any] | None:
        """The JSON object of a record; None, and a problem, where there is none."""
        kind = kind if kind in KINDS else "of unknown kind"
        size = place.json_end - place.json_start
        header = decode(place.json) if size <= LONGEST else None
        if size > LONGEST:
            text = f"the header of this record ({kind}) has {size:,} bytes; the maximum is {LONGEST:,}"
            self._lose(place, "bad-size", text)
        elif header is None and place.stop == self.trace.size and self.data[place.stop - 1 : place.stop] != _NEWLINE:
            self._lose(place, "cut-off", f"the last record ({kind}) is cut off")
        elif header is None:
            self._lose(place, "bad-json", f"the JSON of this record ({kind}) cannot be read")
        return header

    def _lose(self, place: RecordLocation, code: str, message: str) -> None:
        self.ledger.lose(place.start, code, message, size=place.stop - place.start)

    def _lose_lines(self, start: int, stop: int) -> None:
        lines = self._line_count(start, stop)
        if stop == self.trace.size and stop - start <= _STEP and _CUT_OFF.fullmatch(self.data[start:stop]):
            self.ledger.lose(start, "cut-off", "the last record is cut off", size=stop - start, records=lines)
            return
        if not start and self.data[:stop] == BOM_UTF8:
            self.ledger.lose(start, "bad-prefix", "a byte order mark before the first record", size=stop, severity=INFO)
            return
        first = self.data[start : min(stop, start + 60)].split(b"\n", 1)[0].decode("utf-8", "replace")
        severity = DATA_LOSS if lines > 1 or first.strip() else INFO
        self.ledger.lose(start, "bad-prefix", f"not a trace record: {first!r}", size=stop - start, records=lines, severity=severity)

    def _line_count(self, start: int, stop: int) -> int:
        """How many lines lie there; one that begins with a TAB counts with the line before it."""
        lines = 1
        for at in range(start, stop - 1, _STEP):
            text = self.data[at : min(stop - 1, at + _STEP) + 1]
            lines += text.count(b"\n", 0, -1) - text.count(b"\n\t")
        return lines

    def _count_unused(self, kind: str, name: str) -> None:
        if kind == "artifact":
            bytecode = _BYTECODE.match(name)
            self.ledger.unused[f"artifact {f'*_{bytecode[1]}_BYTECODE' if bytecode else name}"] += 1
        else:
            self.ledger.unused[kind] += 1
            if kind not in KINDS:
                self.ledger.unknown[kind] += 1

    def _check_payload(self, record: Record, header: dict[str, Any]) -> None:
        """Report a payload that is missing, not announced, cut off, or in strict mode another than announced."""
        digest, offset, kind = header.get("has_payload"), record.offset, record.kind
        if record.json_end + 1 >= record.stop:
            if digest:
                self.ledger.add(offset, "missing-payload", f"the payload of this record ({kind}) is missing", severity=DATA_LOSS)
            return
        if not isinstance(digest, str) or not digest:
            self.ledger.add(offset, "unannounced-payload", f"the record ({kind}) has a payload, but its header does not declare one")
            return
        span = Span(record.json_end + 1, record.stop, digest)
        is_last = record.stop == self.trace.size
        has_newline = self.data[record.stop - 1 : record.stop] == _NEWLINE
        if is_last and not has_newline and not self._is_whole(span):
            self.ledger.add(offset, "cut-off", f"the file ends inside the payload of this record ({kind})", severity=DATA_LOSS)
            self._mismatched.add(span.start)
        elif self.strict or (is_last and has_newline):  # a file that was cut off at the end of a line shows it in the checksum alone
            self.payload_text(span, offset)

    def _is_whole(self, span: Span) -> bool:
        """Whether the payload has its checksum; one that is too long to be read is taken for whole."""
        return span.end - span.start > LONGEST or _md5(self.payload_bytes(span)) == span.digest

    def all_positions(self) -> RecordPositions:
        """Where all readable records lie; a reader that did not keep that reads the whole file once more."""
        if self.positions is None:
            self.positions = RecordPositions(self.data)
            again = Reader(self.trace, self.strict)
            for _ in self.positions.noting(again.records()):
                pass
        return self.positions

    def header(self, offset: int) -> dict[str, Any]:
        """The JSON object of the record that starts at ``offset``, decoded again; empty, and a problem, if it cannot be."""
        place = locate(self.data, offset)
        text = self.json_text(place.json_start, place.json_end) if place is not None else b""
        found = decode(text)
        if found is None and text and offset not in self._undecoded:
            self._undecoded.add(offset)
            self.ledger.add(offset, "bad-json", "the JSON of this record cannot be fully read", severity=DATA_LOSS)
        return found or {}

    def name_file(self, number: int, name: str) -> None:
        """Note an entry of the string table."""
        known = self.file_names.setdefault(number, name)
        self.file_names[number] = name if known == name else ""

    def first_header(self, kind: str, name: str, before: int) -> dict[str, Any]:
        """The header of the file's first record of a kind and name; empty where that does not come before an offset."""
        offset = self.all_positions().first(kind, name)
        if not 0 <= offset < before:
            return {}
        if offset not in self._first_headers:
            self._first_headers[offset] = self.header(offset)
        return self._first_headers[offset]

    def json_text(self, start: int, stop: int) -> bytes:
        """The JSON text that lies there; empty if it is too long."""
        return self.data[start:stop] if stop - start <= LONGEST else b""

    def payload_bytes(self, span: Span) -> bytes:
        """The payload as PyTorch had it: without the TAB of each line and the last newline; empty if it is too long."""
        if span.end - span.start > LONGEST:
            return b""
        text = self.data[span.start : span.end]
        if self._has_crlf:
            text = text.replace(b"\r\n", _NEWLINE)
        text = text.removesuffix(_NEWLINE)
        return b"\n".join(text[1:].split(b"\n\t"))  # half the time of replace()

    def payload_text(self, span: Span, offset: int = -1) -> str:
        """The payload as text. Its checksum is verified; one that does not match is used all the same, and reported.

        One that is too long is reported as well, and empty. ``offset`` is that of its record, where problems are reported.
        """
        offset = max(offset, 0) or span.start
        size = span.end - span.start
        if size > LONGEST:
            if span.start not in self._mismatched:
                self._mismatched.add(span.start)
                text = f"this payload has {size:,} bytes; the maximum is {LONGEST:,}"
                self.ledger.add(offset, "oversized-payload", text, severity=DATA_LOSS)
            return ""
        payload = self.payload_bytes(span)
        checked = span.start if self.strict else span.digest  # one of several that state the same checksum may be damaged
        if checked not in self._verified:
            self.ledger.payloads_verified += 1
            if _md5(payload) == span.digest:
                self._verified.add(checked)
            elif span.digest and span.start not in self._mismatched:
                self._mismatched.add(span.start)
                self.ledger.add(offset, "checksum-mismatch", "the payload does not match its checksum")
        return payload.decode("utf-8", "replace")

    def time_at(self, offset: int) -> str:
        """When the record that starts at ``offset`` was written, as ``1120 08:27:33.313000``; "" where that cannot be read."""
        found = _TIME.match(self.data[offset : offset + 64])
        return found[1].decode("ascii") if found else ""

    def clock_at(self, offset: int) -> float | None:
        """The same in seconds since the beginning of a leap year; None where it cannot be read."""
        text = self.time_at(offset)
        try:
            found = datetime.strptime(f"2000{text}", "%Y%m%d %H:%M:%S.%f" if "." in text else "%Y%m%d %H:%M:%S")
        except ValueError:
            return None
        return (found - datetime(2000, 1, 1)).total_seconds()

    def last_time(self) -> str:
        """When the last record was written, likewise; "" where it is longer than 1 MiB."""
        is_cut = self.trace.size > _TAIL
        tail = self.data[max(0, self.trace.size - _TAIL) :]
        end = len(tail)
        while end > 0:
            at = max(tail.rfind(b"\n", 0, end - 1), -1 if is_cut else 0)
            if at < 0:
                return ""
            found = _TIME.match(tail, at)
            if found:
                return found[1].decode("ascii")
            end = at
        return ""

    def problems(self) -> list[Problem]:
        """What was found, with line numbers: newlines are counted only when there is something to place."""
        found = sorted(self.ledger.found)
        lines = self._lines([offset for offset, *_ in found])
        placed = [
            Problem(code=code, message=text, file=self.trace.name, line=lines[offset], count=count, severity=severity)
            for offset, code, text, count, severity in found
        ]
        if self.ledger.dropped_problems:
            text = f"{self.ledger.dropped_problems} more problems like these"
            placed.append(Problem("more-problems", text, self.trace.name, count=self.ledger.dropped_problems))
        if isinstance(self.data, FileBytes) and self.data.is_shorter:
            text = "the file was truncated while it was being read; the rest is lost"
            placed.append(Problem("cut-off", text, self.trace.name, severity=DATA_LOSS))
        return self.trace.problems + placed

    def _lines(self, offsets: list[int]) -> dict[int, int]:
        """The number of the line at each offset, counted from 1; offsets in ascending order."""
        lines: dict[int, int] = {}
        at, line = 0, 1
        for offset in offsets:
            while at < offset:
                step = min(offset, at + _STEP)
                line += self.data[at:step].count(b"\n")
                at = step
            lines[offset] = line
        return lines


def _md5(payload: bytes) -> str:
    return hashlib.md5(payload, usedforsecurity=False).hexdigest()

"""Inputs for the fuzzer: recorded and pasted text logs, as terminals, launchers, web pages and people change them."""

import gzip
import json
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from unittest.mock import patch

from mutations import NASTY_TEXT, ROOT
from promises import command, demand, watched
from stages import examine as examine_trace

from shapelog.reading.text_logs.lines import whole_lines
from shapelog.reading.text_logs.lines.signs import Signs
from shapelog.reading.text_logs.transcribe import transcribe

Lines = list[bytes]
_HEAD = re.compile(rb"^(?:\[rank\d+\]:)?[VDIWE]\d{4} \S+ +\d+ |^\[\d{4}-\d\d-\d\d [^\]]*\] ")
_PLACE = re.compile(rb"^[^\]]*\.py:\d+\] ")
_ID = re.compile(rb"\[\d+/\d+(?:_\d+)?\] ")
_ALL_BEFORE_THE_ARTIFACT = re.compile(rb"^.*?(?=\[__|torch\._dynamo)")
_TOKEN = re.compile(rb"\d+|\w+|[^\w\s]+")
_LAUNCHERS = (b"[rank1]:", b"[default0]:", b"0: ", b"2026-01-05 10:11:12,000 | INFO | ", b"(EngineCore pid=12) ", b"    ", b"\t", b"| ")
_COLORS = (b"\x1b[31m", b"\x1b[0m", b"\x1b[1;32m", b"\x1b[K", b"\x1b]8;;http://x\x07", b"\x1b[")
# Of a log so many lines in a row make one input.
_ROW = 120
# Seconds that reading may take: at first, and for each byte.
_FREE, _EACH = 0.5, 5e-6


def seeds() -> list[tuple[bytes, ...]]:
    """The lines of each text log in fixtures/."""
    found = []
    for path in sorted((ROOT / "fixtures" / "text_logs").rglob("*")):
        if path.suffix == ".gz" or path.parent.name == "pasted":
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found.append(tuple(data.splitlines(keepends=True)))
    return found


class TextLogs:
    """Changed text logs, through all that a user can do with a trace."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.seeds = seeds()

    def input(self, chance: random.Random) -> bytes:
        lines = self._row(chance)
        for _ in range(chance.choice((0, 1, 1, 2, 2, 3, 4))):
            if lines:
                chance.choice(_CHANGES)(self, lines, chance)
        data = b"".join(lines)
        if chance.random() < 0.2:
            data = _changed_bytes(data, chance)
        if chance.random() < 0.3:
            start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
            data = data[start:end] if chance.random() < 0.5 else data[:end]
        return data

    def _row(self, chance: random.Random) -> Lines:
        lines = chance.choice(self.seeds)
        start = chance.randrange(max(1, len(lines) - _ROW)) if chance.random() < 0.7 else 0
        return list(lines[start : start + _ROW])

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        """The trace that is made of it is one without fault, the same in whatever pieces the log comes; then it is examined as a trace."""
        began = time.process_time()
        trace, is_empty = transcribed([data])
        demand(time.process_time() - began < _FREE + _EACH * len(data), "reading a text log took long")
        if everything or chosen % 20 == 0:
            counts["in pieces"] += 1
            size = 1 + chosen % 60
            with patch.object(whole_lines, "LONGEST_PASTE", 0):
                whole, _ = transcribed([data])
                pieces, _ = transcribed(data[start : start + size] for start in range(0, len(data), size))
                with patch.object(Signs, "line_from", lambda self, place: place):
                    unskipped, _ = transcribed([data])
            demand(pieces == whole, "the pieces in which a log is read make a difference")
            demand(unskipped == whole, "a line that was skipped makes a difference")
        if is_empty:
            counts["holds nothing of the compiler"] += 1
        else:
            demand(bool(trace), "a log that holds messages gives no record")
            examine_trace(trace, counts, everything, must_be_whole=True)
        if everything or chosen % 100 == 0:
            self._as_a_file(data, counts, chosen)

    def _as_a_file(self, data: bytes, counts: Counter[str], chosen: int) -> None:
        counts["a file for the command line"] += 1
        path = self.work / "run.txt"
        path.write_bytes(data)
        name = ("report", "suggest-dynamic", "check", "compare", "explain")[chosen // 100 % 5]
        more = {"compare": [str(path)], "explain": ["0/1"]}.get(name, [])
        with watched(self.work):
            command(name, str(path), *more)
        path.unlink()

    def shuffled(self, lines: Lines, chance: random.Random) -> None:
        chance.shuffle(lines)

    def interleaved(self, lines: Lines, chance: random.Random) -> None:
        """With the lines of another log, or of the same one as another rank would write it."""
        other = self._row(chance) if chance.random() < 0.5 else [b"[rank7]:" + line for line in lines]
        merged: Lines = []
        while lines or other:
            source = chance.choice([found for found in (lines, other) if found])
            count = chance.choice((1, 1, 3, 20))
            merged += source[:count]
            del source[:count]
        lines[:] = merged

    def lost_and_doubled(self, lines: Lines, chance: random.Random) -> None:
        lines[:] = [line for line in lines for _ in range(chance.choice((0, 1, 1, 1, 1, 2)))]

    def again(self, lines: Lines, chance: random.Random) -> None:
        lines *= 2

    def glued(self, lines: Lines, chance: random.Random) -> None:
        """Without the end of some lines, as two processes write to one terminal."""
        rate = chance.choice((0.02, 0.3, 1))
        lines[:] = [line.rstrip(b"\r\n") if chance.random() < rate else line for line in lines]

    def wrapped(self, lines: Lines, chance: random.Random) -> None:
        width = chance.choice((20, 60, 80, 81, 120))
        indent = chance.choice((b"", b"", b"    "))
        pieces = (line[start : start + width] for line in lines for start in range(0, len(line), width))
        lines[:] = [piece if piece.endswith(b"\n") else piece + b"\n" + indent for piece in pieces]

    def without_heads(self, lines: Lines, chance: random.Random) -> None:
        pattern = chance.choice((_HEAD, _PLACE, _ID, _ALL_BEFORE_THE_ARTIFACT))
        rate = chance.choice((0.1, 0.5, 1))
        lines[:] = [pattern.sub(b"", line, count=1) if chance.random() < rate else line for line in lines]

    def launched(self, lines: Lines, chance: random.Random) -> None:
        prefix = chance.choice(_LAUNCHERS)
        lines[:] = [prefix + line for line in lines]

    def colored(self, lines: Lines, chance: random.Random) -> None:
        for at in range(len(lines)):
            line, place = lines[at], chance.randrange(len(lines[at]) + 1)
            lines[at] = line[:place] + chance.choice(_COLORS) + line[place:]

    def of_windows(self, lines: Lines, chance: random.Random) -> None:
        lines[:] = [line.replace(b"/", b"\\").replace(b"\n", b"\r\n") for line in lines]

    def quoted(self, lines: Lines, chance: random.Random) -> None:
        mark = chance.choice((b"> ", b">", b"> > ", b">>> "))
        lines[:] = [mark + line for line in lines]

    def with_progress(self, lines: Lines, chance: random.Random) -> None:
        """A bar that draws itself anew in front of other output."""
        for at in range(0, len(lines), chance.choice((1, 7))):
            lines[at] = b"\r 12%|#2        | 12/100 [00:01<00:09]" * chance.choice((1, 3)) + b"\r" * chance.choice((0, 1)) + lines[at]

    def exported(self, lines: Lines, chance: random.Random) -> None:
        """As loggers and notebooks keep them: JSON as a whole, an object a line, or a table in CSV."""
        texts = [line.decode("utf-8", "replace") for line in lines]
        objects = [{"message": text, "time": at} for at, text in enumerate(texts)]
        output = {"output_type": "stream", "text": texts}
        whole = chance.choice((objects, {"events": objects}, {"body": "".join(texts)}, {"cells": [{"outputs": [output]}]}))
        rows = ('{},"{}"\n'.format(at, text.replace('"', '""')) for at, text in enumerate(texts))
        each = (f"{json.dumps(item)}\n" for item in objects)
        made = chance.choice((json.dumps(whole), json.dumps(whole, indent=1), "".join(each), "".join(rows)))
        lines[:] = made.encode().splitlines(keepends=True)

    def other_ids(self, lines: Lines, chance: random.Random) -> None:
        for at in range(len(lines)):
            if chance.random() < 0.3:
                number = chance.choice((b"[0/0] ", b"[0/1] ", b"[7/0_3] ", b"[!0/1/2] ", b"[0/999999999] ", b"[99999999999/1] ", b"[?/?] "))
                lines[at] = _ID.sub(number, lines[at], count=1)

    def other_words(self, lines: Lines, chance: random.Random) -> None:
        for _ in range(chance.choice((1, 5))):
            at = chance.randrange(len(lines))
            line = lines[at]
            token = _TOKEN.search(line, chance.randrange(len(line) + 1))
            if token:
                lines[at] = line[: token.start()] + chance.choice(NASTY_TEXT) + line[token.end() :]


def transcribed(chunks: Iterable[bytes]) -> tuple[bytes, bool]:
    """The trace that is made of a text log, and whether the log holds nothing of the compiler."""
    file, contents = transcribe(chunks)
    with file:
        file.seek(0)
        return file.read(), contents.is_empty


def _changed_bytes(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.choice((1, 5, 100))):
        if found:
            found[chance.randrange(len(found))] = chance.randrange(256)
    return bytes(found)


_CHANGES: tuple[Callable[[TextLogs, Lines, random.Random], None], ...] = (
    TextLogs.shuffled,
    TextLogs.interleaved,
    TextLogs.lost_and_doubled,
    TextLogs.again,
    TextLogs.glued,
    TextLogs.wrapped,
    TextLogs.without_heads,
    TextLogs.without_heads,
    TextLogs.launched,
    TextLogs.colored,
    TextLogs.of_windows,
    TextLogs.quoted,
    TextLogs.with_progress,
    TextLogs.exported,
    TextLogs.other_ids,
    TextLogs.other_words,
    TextLogs.other_words,
)

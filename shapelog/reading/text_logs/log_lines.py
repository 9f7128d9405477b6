"""Bytes of a text log → its lines, each with what the logging of PyTorch wrote in front of it.

Formats of a line (``torch/_logging/_internal.py``)::

    [rank0]:V0228 12:04:24.190000 2990033 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] text         from torch 2.2 on
    [2023-11-06 14:54:54,691] [0/1] torch._dynamo.guards.__recompiles: [DEBUG] text                       torch 2.0 and 2.1

Launchers, viewers and people put more in front (ranks, times, quotes) and cut pieces off; what is left of such a prefix is enough.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# Heads of messages that may still go on, when several processes write at once.
_MOST_HEADS = 1 << 10
# What is read of one line; a longer one is cut there.
_LONGEST_LINE = 1 << 16
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b]{0,999}(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>A-Z])")
_QUOTE = re.compile(r"(?:> ?){1,9}")
_ID = r"\[(?P<{0}>(?:!\d{{1,9}}/?)?(?:\d{{1,9}}/\d{{1,9}})?(?:_\d{{1,9}})?)\]"
_HEAD = re.compile(
    r"(?P<lead>.{0,300}?)(?:"
    r"\b[VDIWEC](?P<time>\d{4} \d\d:\d\d:\d\d(?:\.\d{1,9})?) +(?P<process>\d{1,18}) (?P<file>[^\]]{1,400}?:\d{1,9})\]"
    r"|(?<![^\s|])(?P<file_end>[\w./\\-]{0,400}\.py:\d{1,9})\](?= \[| \S+ \w| +(?:torch|function|last|To|eval|create|set|_update))"
    r"|\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[,.\d]{0,9}\](?: "
    + _ID.format("id_before")
    + r")? (?P<logger>torch[\w.]{1,200}): \[[A-Z]+\]"
    r"|(?P<logger_named>torch[\w.]{1,200}\.__\w{1,40})(?:[ :\]|-]{1,4}\[?(?:DEBUG|INFO|WARNING|ERROR)\]?)?(?::| -| \||\])"
    r"|(?:" + _ID.format("id_in_front") + r" )?\b(?P<logger_alone>torch\.[\w.]{1,200}): \[[A-Z]+\]"
    r"|(?=" + _ID.format("id_only") + r" \[__\w{1,40}\])"
    r"|(?<!\S)(?="
    + _ID.format("id_lone")
    + r" (?:torch\._dynamo hit| {2,3}function: | {2,3}last reason: |To (?:log|diagnose)|Graph break))"
    r"|(?=\[__(?:recompiles|guards|graph_breaks|graph_code|perf_hints|cudagraphs|trace|dynamic)\w{0,20}\])"
    r")(?: ?" + _ID.format("id") + r")?(?: ?\[__(?P<artifact>\w{1,40})\])?"
)
# What there is in front of every line of PyTorch's logging, one or another.
_MARKS = (".py:", "[__", ": [", ".__")
_JOINED = re.compile(
    r"(?=\b[VDIWEC]\d{4} \d\d:\d\d:\d\d[.\d]* +\d+ )|(?=\[[-\d]{10} [\d:,]{8,15}\] )"
    r"|(?<=\S)(?=Recompiling function )|(?=triggered by the following guard)"
    r"|(?<=[\s:])(?=- (?:!\d+/)?\d+/\d+: )|(?<=: )(?=- (?:tensor '|L\['))"
)
_LONE_ID = re.compile(r"[\s#>*|-]{0,40}\[\d{1,9}/\d{1,9}(?:_\d{1,9})?\] ")
_RANK = re.compile(r"(?i)\brank[ =:_]?(\d{1,6})\b|\[default(\d{1,6})\]|^\s*(\d{1,6}): ")
_ARTIFACT_OF_LOGGER = re.compile(r"\.__(\w{1,40})$")


class Head(NamedTuple):
    """What stands in front of a line: time (``0228 12:04:24.190000``), process, rank, line of PyTorch's source, compile id and artifact.

    What is not there is "", 0 or None. ``compile`` is as printed, without brackets: ``0/1_1``.
    """

    time: str = ""
    process: int = 0
    rank: int | None = None
    place: str = ""
    compile: str = ""
    artifact: str = ""


class LogLine(NamedTuple):
    """One line: its head (the same object for lines that were written at once, None where there is none), its text and its number."""

    head: Head | None
    text: str
    number: int


def log_lines(chunks: Iterable[bytes]) -> Iterator[LogLine]:
    """Every line of a log, decoded and without colors. Never raises; time is linear in the bytes."""
    number, key, head = 0, "", None
    known: dict[Head, Head] = {}
    for text in _lines(chunks):
        number += 1
        if key and text.startswith(key):
            yield LogLine(head, text[len(key) :].removeprefix(" "), number)
            continue
        for part in _parts(text):
            found = _head(part) if any(mark in part for mark in _MARKS) or _LONE_ID.match(part) else None
            if found is None:
                yield LogLine(None, part, number)
                continue
            other, key = found
            if len(known) > _MOST_HEADS:
                known.clear()
            head = known.setdefault(other, other)
            yield LogLine(head, part[len(key) :].removeprefix(" "), number)


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of a stream, without what is behind the first 64 KiB of a line, colors, and marks of quotes."""
    rest = b""
    for chunk in chunks:
        lines = chunk.split(b"\n")
        if len(lines) == 1:
            rest += chunk[: max(0, _LONGEST_LINE - len(rest))]
            continue
        lines[0] = rest + lines[0]
        rest = lines.pop()[:_LONGEST_LINE]
        yield from map(_plain, lines)
    if rest:
        yield _plain(rest)


def _parts(text: str) -> Iterable[str]:
    """A line as PyTorch wrote it: progress bars write over theirs, and pages and people join several to one."""
    if "\r" in text:
        return text.split("\r")
    if "Recompiling function " in text and "triggered by" in text:
        return filter(str.strip, _JOINED.split(text))
    return (text,)


def _plain(line: bytes) -> str:
    text = line[:_LONGEST_LINE].decode("utf-8", "replace")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if text[:1] in ">\r\ufeff" or text[-1:] == "\r":
        text = text.removeprefix("\ufeff").strip("\r")
        quote = _QUOTE.match(text)
        text = text[quote.end() :] if quote else text
    return text


def _head(text: str) -> tuple[Head, str] | None:
    """The head of a line and its characters; None for a line that PyTorch's logging did not write."""
    found = _HEAD.match(text)
    if found is None or not found.group(0).strip():
        return None
    part = found.groupdict()
    logger = part["logger"] or part["logger_alone"] or part["logger_named"] or ""
    artifact = _ARTIFACT_OF_LOGGER.search(logger)
    rank = _RANK.search(part["lead"]) if part["lead"] else None
    head = Head(
        time=part["time"] or _time(part["date"] or ""),
        process=int(part["process"] or 0),
        rank=int(next(filter(None, rank.groups()))) if rank else None,
        place=(part["file"] or part["file_end"] or logger).replace("\\", "/"),
        compile=part["id"] or part["id_lone"] or part["id_before"] or part["id_in_front"] or part["id_only"] or "",
        artifact=part["artifact"] or (artifact[1] if artifact else ""),
    )
    return head, text[: found.end()]


def _time(date: str) -> str:
    """``2023-11-06 14:54:54`` as later versions write it, ``1106 14:54:54``."""
    return date[5:7] + date[8:] if date else ""

"""Bytes of a text log → its lines, each with what the logging of PyTorch wrote in front of it.

Formats of a line (``torch/_logging/_internal.py``)::

    [rank0]:V0228 12:04:24.190000 2990033 torch/_dynamo/guards.py:2813] [0/1] [__recompiles] text         from torch 2.2 on
    [2023-11-06 14:54:54,691] [0/1] torch._dynamo.guards.__recompiles: [DEBUG] text                       torch 2.0 and 2.1
    [2023-07-19 04:14:12,420] torch.fx.experimental.symbolic_shapes: [INFO] 0.1: text                     what became torch 2.1
    DEBUG:torch._dynamo.guards.__recompiles:text                                                          under logging.basicConfig()

Launchers, viewers and people put more in front (ranks, times, quotes) and cut pieces off; what is left of such a prefix is enough.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from shapelog.reading.text_logs.lines.leads import ranks_in
from shapelog.reading.text_logs.lines.mentions import follows_words
from shapelog.reading.text_logs.lines.signs import Signs, has_sign
from shapelog.reading.text_logs.lines.surroundings import LONGEST_LINE, as_printed, is_as_printed, without_launcher
from shapelog.reading.text_logs.lines.whole_lines import whole_lines

# Heads of messages that may still go on, when several processes write at once.
_MOST_HEADS = 1 << 10
# How many bytes are read after a line with a sign; as long as a message goes on, twice as many each time.
_FEW, _MANY = 1 << 10, 1 << 18
_ID = r"\[(?P<{0}>(?:!\d{{1,9}}/?)?(?:\d{{1,9}}/\d{{1,9}})?(?:_\d{{1,9}})?)\]"
_HEAD = re.compile(
    r"(?P<lead>.{0,300}?)(?:"
    r"\b(?P<level>[VDIWEC])(?P<time>\d{4} \d\d:\d\d:\d\d(?:\.\d{1,9})?) +(?P<process>\d{1,18}) (?P<file>[^\]]{1,400}?:\d{1,9})\]"
    r"|(?<![^\s|])(?P<file_end>[\w./\\-]{0,400}\.py:\d{1,9})\](?= \[| \S+ \w| +(?:torch|function|last|To|eval|create|set|_update))"
    r"|\[(?P<date>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[,.\d]{0,9}\](?: "
    + _ID.format("id_before")
    + r")? (?P<logger>torch[\w.]{1,200}): \[(?:[A-Z]+\]|[A-Z]{0,8}$)(?: (?P<id_of_symbols>\d{1,9}\.\d{1,9}):(?= ))?"
    r"|(?P<logger_named>torch[\w.]{1,200}\.__\w{1,40})(?:[ :\]|-]{1,4}\[?(?:DEBUG|INFO|WARNING|ERROR)\]?)?(?::| -| \||\])"
    r"|(?:" + _ID.format("id_in_front") + r" )?\b(?P<logger_alone>torch(?:dynamo|inductor)?\.[\w.]{1,200}): \[[A-Z]+\]"
    r"|\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL):(?P<logger_basic>torch(?:dynamo|inductor)?\.[\w.]{1,200}):"
    r"|(?=" + _ID.format("id_only") + r" \[__\w{1,40}\])"
    r"|(?<!\S)(?="
    + _ID.format("id_lone")
    + r" (?:torch\._dynamo hit| {2,3}function: | ?function: '| {0,3}last reason: |To (?:log|diagnose)"
    r"|Graph break"
    r"|(?:create_symbol|set_replacement) \w|eval .*\[guard added\]))"
    r"|(?P<bare>)(?=\[__(?:recompiles|guards|graph_breaks|graph_code|perf_hints|cudagraphs|trace|dynamic)\w{0,20}\])"
    r")(?: ?" + _ID.format("id") + r")?(?: ?\[__(?P<artifact>\w{1,40})\])?"
)
_IDS = "id", "id_lone", "id_before", "id_in_front", "id_only", "id_of_symbols"
# Lines with the same head, as they are written; and where such a line begins.
_USUAL_RUN = re.compile(
    r"((?:\[rank(?P<rank>\d{1,6})\]: ?)?(?P<level>[VDIWEC])(?P<time>\d{4} \d\d:\d\d:\d\d(?:\.\d{1,9})?) +(?P<process>\d{1,18}) "
    r"(?P<file>[^\]\n]{1,400}?\.py:\d{1,9})\](?: ?" + _ID.format("id") + r")?(?: ?\[__(?P<artifact>\w{1,40})\])?)"
    r"[^\n]*\n(?:\1(?! ?\[)[^\n]*\n)*"
)
_USUAL_LINE = re.compile(r"\n(?:\[rank\d{1,6}\]: ?)?[VDIWEC]\d{4} \d\d:\d\d:\d\d")
_MORE_OF_HEAD = re.compile(r" ?\[")
_WHOLE_MESSAGE = re.compile(
    r"(?:Recompiling function |Detected recompile when )[^\n]*triggered by|triggered by[^\n]*Recompiling function "
    r"|dynamo hit config\.[^\n]*\] \[[^\n]*last reason: "
    r"|dynamo hit config\.\w{1,60} \(\d{1,9}\)\s+function: '[^\n]*(?:last reason|reasons): "
    r"|\bGraph [Bb]reak(?: \([^()\n]*\))? in user code at [^\n]*?:\d{1,9}\s*(?:Graph Break )?Reason: "
)
_JOINED = re.compile(
    r"(?=\[rank\d{1,6}\]: ?[VDIWEC]\d{4} \d\d:\d\d:)|(?<!\]:)(?<!\]: )(?=\b[VDIWEC]\d{4} \d\d:\d\d:\d\d[.\d]* +\d+ )"
    r"|(?=\[[-\d]{10} [\d:,]{8,15}\] )"
    r"|(?<=[^\d\s] )(?=(?:\.\.\./|site-packages/)?torch/_dynamo/\w{1,40}\.py:\d{1,9}\] \[)"
    r"|(?<=\d\))\s+(?=function: ')|(?<=\d\))\s+(?=(?:last reason|reasons): )|(?<=[^\]\s])\s+(?=[Tt]o (?:log all|diagnose) recompilation)"
    r"|(?<=['\"]\])\s+(?=to diagnose recompilation)|(?<=[^\]\s])\s+(?=torch[\w.]{1,60}: \[WARNING\] )"
    r"|(?<=\S)\s+(?=Graph [Bb]reak(?: \([^()\n]*\))? in user code at )"
    r"|(?<=\S)(?=Recompiling function )|(?=triggered by the following guard)"
    r"|(?<=[\s:])(?=- (?:!\d+/)?\d+/\d+: )|(?<=: )(?=- (?:tensor '|L\['))"
)
_IN_WHOLE = ("triggered by", "last reason", " reasons: ", "reak Reason: ")
# The sign of a quote or the process in front of the next line, or the beginning of its head where the text ends.
_OF_NEXT = re.compile(
    r"(?<=reason: )(?P<reason>.*?)\s`{3}.*"
    r"|(?:\s(?:>|[VDIWEC]\d{4}(?: [\d:.]{1,15})?|\([A-Za-z][\w.:-]{0,60} [^()]{0,60}\bpid=\d{1,9}[^()]{0,60}\)))+\s*$"
)
_RANK = re.compile(r"(?i)\brank[ =:_]?(\d{1,6})\b|\[default(\d{1,6})\]|^\s*(\d{1,6}): ")
_LEVEL = re.compile(r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL)\b")
_ARTIFACT_OF_LOGGER = re.compile(r"\.__(\w{1,40})$")


class Head(NamedTuple):
    """What is in front of a line: time (``0228 12:04:24.190000``), process, rank, line of PyTorch's source, compile id and artifact.

    What is not there is "", 0 or None. ``compile`` is as printed, without brackets: ``0/1_1``; ``level`` is its letter, as ``W``.
    """

    time: str = ""
    process: int = 0
    rank: int | None = None
    place: str = ""
    compile: str = ""
    artifact: str = ""
    level: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether it has a process, a compile and a millisecond, in which no other message has the same words."""
        return bool(self.process and self.compile) and "." in self.time


class LogLine(NamedTuple):
    """One line: its head (the same object for lines that were written at once, None where there is none), its text and its number."""

    head: Head | None
    text: str
    number: int


class LineRun(NamedTuple):
    """Lines in a row with the same head (one object for equal heads), or without one, and the number of the first.

    ``raw`` are lines without a head as they stand in the file, ``ranks`` those that were in front of them, () where none was.
    """

    head: Head | None
    lines: list[str]
    number: int
    raw: Sequence[str] = ()
    ranks: Sequence[int | None] = ()


def log_lines(chunks: Iterable[bytes]) -> Iterator[LogLine]:
    """Every line of a log, decoded and without colors. Never raises; time is linear in the bytes."""
    for head, lines, number, *_ in log_runs(chunks):
        for at, text in enumerate(lines):
            yield LogLine(head, text, number + at)


def log_runs(chunks: Iterable[bytes], may_skip: Callable[[], bool] = lambda: False) -> Iterator[LineRun]:
    """The same in runs of lines, which are found at once where they are as PyTorch prints them.

    Where ``may_skip()``, lines without a sign of PyTorch are left out; an empty run takes their place.
    """
    heads, number = _Heads(), 1
    for piece, lead, ranks in whole_lines(chunks):
        signs = Signs(piece)
        place, size = 0, _FEW
        while place < len(piece):
            begin = signs.line_from(place) if may_skip() else place
            if begin > place:
                number += piece.count(b"\n", place, begin)
                yield LineRun(None, [], number)
                place, size = begin, _FEW
            elif place < len(piece):
                end = (piece.find(b"\n", min(place + size, len(piece) - 1)) + 1) or len(piece)
                found = lead.sub(b"", piece[place:end]) if lead else piece[place:end]
                own, first = (ranks_in(piece[place:end], lead), number) if lead else (ranks, 1)
                for head, lines, raw, count in _runs(found, heads):
                    yield LineRun(head, lines, number, raw, own[number - first : number - first + len(lines)])
                    number += count
                place, size = end, min(2 * size, _MANY)


def _runs(lines: bytes, heads: "_Heads") -> Iterator["_Found"]:
    text = (lines.replace(b"\r\n", b"\n") if b"\r" in lines else lines).decode("utf-8", "replace")
    return _usual_runs(text, heads) if is_as_printed(text) else _other_runs(text[:-1].split("\n"), heads)


class _Heads:
    """The heads that were read, and the last one with what is written of it in front of a line."""

    def __init__(self) -> None:
        self.key = ""
        self.last: Head | None = None
        self._usual: dict[str, Head] = {}
        self._known: dict[Head, Head] = {}

    def of_run(self, found: re.Match[str]) -> Head:
        """The head of a run that ``_USUAL_RUN`` found."""
        head = self._usual.get(found[1])
        if head is None:
            rank, time, process, place, compile = found.group("rank", "time", "process", "file", "id")
            head = Head(
                time=time,
                process=int(process),
                rank=int(rank) if rank else None,
                place=place.replace("\\", "/"),
                compile=compile or "",
                artifact=found["artifact"] or "",
                level=found["level"],
            )
            head = self._usual[found[1]] = self._one(head)
        self.key, self.last = found[1], head
        return head

    def of_line(self, text: str, raw: str) -> tuple[Head | None, str]:
        """The head of a line, and the rest of it."""
        if not self.key or not text.startswith(self.key) or _MORE_OF_HEAD.match(text, len(self.key)):
            found = _head(text) if has_sign(raw) else None
            if found is None:
                return None, text
            self.key, self.last = found[1], self._one(found[0])
        return self.last, text[len(self.key) :].removeprefix(" ")

    def _one(self, head: Head) -> Head:
        """The same object for equal heads: several processes may write in turns."""
        if len(self._known) > _MOST_HEADS:
            self._known.clear()
            self._usual.clear()
        return self._known.setdefault(head, head)


# Of a run: its head, its lines, those as they stand in the file where there is no head, and how many lines of the log they are.
_Found = tuple[Head | None, list[str], list[str], int]


def _usual_runs(text: str, heads: _Heads) -> Iterator[_Found]:
    """The runs as PyTorch prints them, and what is between them. There are neither colors nor quotes."""
    place, size = 0, len(text)
    while place < size:
        found = _USUAL_RUN.match(text, place)
        if found is None:
            usual = _USUAL_LINE.search(text, place)
            end = usual.start() + 1 if usual else size
            yield from _other_runs(text[place : end - 1].split("\n"), heads)
        else:
            end, run, key = found.end(), found[0], found[1]
            if "orch" not in key or _is_joined(run) or (len(run) > LONGEST_LINE and max(map(len, run.split("\n"))) > LONGEST_LINE):
                yield from _other_runs(run[:-1].split("\n"), heads)
            else:
                head = heads.of_run(found)
                lines = run[len(key) : -1].replace(f"\n{key}", "\n").replace("\n ", "\n").removeprefix(" ").split("\n")
                yield head, lines, [], len(lines)
        place = end


def _other_runs(lines: Iterable[str], heads: _Heads) -> Iterator[_Found]:
    """Runs among any lines. One line that is several has each of them in a run of its own."""
    head: Head | None = None
    run: list[str] = []
    origins: list[str] = []
    for raw in lines:
        *first, last = _parts(as_printed(raw))
        for part in first:
            if run:
                yield head, run, origins, len(run)
                run, origins = [], []
            other, text = heads.of_line(part, raw)
            yield other, [text], [raw], 0
        other, text = heads.of_line(last, raw)
        if run and other is not head:
            yield head, run, origins, len(run)
            run, origins = [], []
        head = other
        run.append(text)
        origins.append(raw)
    if run:
        yield head, run, origins, len(run)


def _parts(text: str) -> list[str]:
    """A line as PyTorch wrote it: progress bars write over theirs, and pages and people join several to one."""
    if "\r" in text:
        return text.split("\r")
    if _is_joined(text):
        first, *parts = [_OF_NEXT.sub(r"\g<reason>", part) for part in _JOINED.split(text) if part.strip()]
        is_lead = parts and not without_launcher(first).strip()
        return [first + parts[0], *parts[1:]] if is_lead else [first, *parts]
    return [text]


def rank_in(text: str) -> int | None:
    """The rank in what is in front of a line."""
    found = _RANK.search(text) if text else None
    return int(next(filter(None, found.groups()))) if found else None


def _is_joined(text: str) -> bool:
    """Whether one of these lines is a whole message, which PyTorch writes on several."""
    return any(map(text.__contains__, _IN_WHOLE)) and _WHOLE_MESSAGE.search(text) is not None


def _head(text: str) -> tuple[Head, str] | None:
    """The head of a line and its characters; None for a line that PyTorch's logging did not write."""
    found = _HEAD.match(text)
    if found is None or not found.group(0).strip():
        return None
    part = found.groupdict()
    if part["bare"] is not None and (follows_words(text, len(part["lead"])) or text[found.end() : found.end() + 1] in tuple("`'\"")):
        return None
    logger = part["logger"] or part["logger_alone"] or part["logger_basic"] or part["logger_named"] or ""
    artifact = _ARTIFACT_OF_LOGGER.search(logger)
    head = Head(
        time=part["time"] or _time(part["date"] or ""),
        process=int(part["process"] or 0),
        rank=rank_in(part["lead"]),
        place=(part["file"] or part["file_end"] or logger).replace("\\", "/"),
        compile=next(filter(None, (part[name] for name in _IDS)), "").replace(".", "/"),
        artifact=part["artifact"] or (artifact[1] if artifact else ""),
        level=part["level"] or (written[1][0] if (written := _LEVEL.search(found[0])) else ""),
    )
    return head, text[: found.end()]


def _time(date: str) -> str:
    """``2023-11-06 14:54:54`` as later versions write it, ``1106 14:54:54``."""
    return date[5:7] + date[8:] if date else ""

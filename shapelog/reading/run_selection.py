"""Which traces of a directory belong to one run: decided by their names, their ranks and the times of their first and last records."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from shapelog.errors import ShapelogError
from shapelog.reading.compression import DamagedError, decompress, is_compressed, read_head
from shapelog.reading.trace_files import FileEntry, collected_in, rank_of
from shapelog.text import plural

# Ranks wait for each other ten minutes at most, the default of torch.distributed; so do processes that one program starts.
_TIMEOUT = 600.0
# A forked child may start after the last compile of its parent. Another program has to import torch first, which takes longer.
_FORK_DELAY = 1.0
# Record times and file times may be given in different time zones.
_DAY_AND_ZONE = 26 * 3600
_MAX_LISTED_RUNS = 6
_TIME = re.compile(rb"[A-Z](\d{4} \d\d:\d\d:\d\d)(\.\d{1,6})")
# In a text log the rank, or what a launcher adds, is in front, and other lines may come before.
_TIMES = re.compile(rb"\n(?:\[\w{1,20}\]:? ?)?" + _TIME.pattern)
# The rank of a record follows its body, in the first line.
_RANK = re.compile(rb'(?m)^[A-Z]\d{4} [^\n]*\}, "rank": (\d{1,9})[,}]|^\[rank(\d{1,9})\]:[A-Z]\d{4} ')
# How much is read to find the time and the rank of a trace, in bytes.
_HEAD, _REMOTE_HEAD, _SEARCHED_FOR_RANK, _DECOMPRESSED_FOR_TIME = 256, 1 << 16, 1 << 20, 64 << 20
_TAILS = (1 << 16, 1 << 20, 1 << 24)
_CONNECTIONS = 16


@dataclass(frozen=True, slots=True)
class Member:
    """A trace of a run: its rank, None if neither its name nor its records have one, and when its first and last records were written.

    Times are seconds since the epoch by the clock of the machine that wrote them; records hold no year. A file whose records have no time
    (``is_dated`` False) has the time it was last modified.
    """

    entry: FileEntry
    rank: int | None
    begin: float
    end: float
    is_dated: bool = True


@dataclass(frozen=True, slots=True)
class Run:
    """The traces of one job, in the order in which they began."""

    members: tuple[Member, ...]

    @property
    def begin(self) -> float:
        return self.members[0].begin

    @property
    def began(self) -> str:
        """``11-20 08:27:33``, in local time."""
        return time.strftime("%m-%d %H:%M:%S", time.localtime(self.begin))

    @property
    def description(self) -> str:
        """When it began, the number of its files and its ranks."""
        ranks = sorted({member.rank for member in self.members if member.rank is not None})
        of_ranks = f" of ranks {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else ""
        return f"{self.began}, {plural(len(self.members), 'file')}{of_ranks}"


def group_runs(entries: Sequence[FileEntry], is_read: bool = False) -> list[Run]:
    """The runs, the one that began last first. A single entry is a run of its own: it has the time of its file, unless ``is_read``."""
    if len(entries) == 1 and not is_read:
        modified = entries[0].modified or 0.0
        return [Run((Member(entries[0], rank_of(entries[0].name), modified, modified),))]
    members = sorted(
        _date_undated(_read_members(entries)), key=lambda member: (member.begin, member.entry.modified or 0, member.entry.name)
    )
    collected: dict[str, list[Member]] = {}
    other: list[Member] = []
    for member in members:
        directory = collected_in(member.entry.name)
        (other if directory is None else collected.setdefault(directory, [])).append(member)
    ranked = _split([member for member in other if member.rank is not None], _ended_of_ranks)
    unranked = _split([member for member in other if member.rank is None], _ended_without_ranks)
    return sorted(
        (*(Run(tuple(found)) for found in collected.values()), *ranked, *unranked),
        key=lambda run: (run.begin, max(member.entry.modified or 0 for member in run.members)),
        reverse=True,
    )


def choose(runs: Sequence[Run], requested: str, where: str, option: str = "--run") -> Sequence[Run]:
    """The newest run; or the one with the requested number, 1 for the newest; or with a file whose name contains that text; or ``all``.

    Raises ShapelogError that lists the runs if none matches; ``option`` is the command-line option that it mentions, "" where it
    is another run that a comparison needs.
    """
    if requested in ("", "1"):
        return runs[:1]
    if requested == "all":
        return runs
    if re.fullmatch(r"\d{1,5}", requested):
        found = [run for number, run in enumerate(runs, 1) if number == int(requested)]
    else:
        found = [run for run in runs if any(requested in member.entry.name for member in run.members)][:1]
    if not found:
        known = "; ".join(f"{number}: {run.description}" for number, run in enumerate(runs[:_MAX_LISTED_RUNS], 1))
        more = f"; and {len(runs) - _MAX_LISTED_RUNS} older ones" if runs[_MAX_LISTED_RUNS:] else ""
        asked = f"{option} {requested}: " if option else ""
        if len(runs) == 1:
            number, compare = (", number 1", "") if option else ("", "; to compare it with another one: shapelog compare BEFORE AFTER")
            raise ShapelogError(f"{asked}{where} has only one run{number} ({runs[0].description}){compare}")
        raise ShapelogError(f"{asked}no such run in {where}; runs, newest first: {known}{more}")
    return found


def _split(members: Sequence[Member], ended: Callable[[list[Member], Member], int]) -> Iterator[Run]:
    """The runs of members in order of time; ``ended`` is how many of the present run had ended when another member began."""
    current: list[Member] = []
    for member in members:
        count = ended(current, member) if current else 0
        if count:
            yield Run(tuple(current[:count]))
            current = current[count:]
        current.append(member)
    if current:
        yield Run(tuple(current))


def _ended_of_ranks(current: list[Member], member: Member) -> int:
    """A process that starts again with the same rank begins another run, and so does one that starts long after the others have ended."""
    if member.begin > max(other.end for other in current) + _TIMEOUT:
        return len(current)
    same_rank = [other for other in current if other.rank == member.rank]
    starts_again = same_rank and all(other.end < member.begin for other in same_rank)
    return _last_pause(current, member.rank) if starts_again else 0


def _last_pause(members: Sequence[Member], rank: int | None) -> int:
    """How many of them had ended before the next began: those after it belong to the run in which ``rank`` started again."""
    latest, cut = members[0].end, len(members)
    for number, member in enumerate(members[1:], 1):
        if member.begin > latest:
            cut = number
        latest = max(latest, member.end)
    return len(members) if any(member.rank == rank for member in members[cut:]) else cut


def _ended_without_ranks(current: list[Member], member: Member) -> int:
    """Processes without a rank belong together if they began together and ran at the same time, as children of one program do."""
    is_late = member.begin > max(other.end for other in current) + _FORK_DELAY or member.begin > current[0].begin + _TIMEOUT
    return len(current) if is_late else 0


def _read_members(entries: Sequence[FileEntry]) -> list[Member]:
    if not any(entry.is_remote for entry in entries):
        return [_member(entry) for entry in entries]
    from concurrent.futures import ThreadPoolExecutor

    workers = ThreadPoolExecutor(_CONNECTIONS)
    try:
        return list(workers.map(_member, entries))
    finally:  # when it is interrupted, without waiting for answers
        workers.shutdown(wait=False, cancel_futures=True)


def _date_undated(members: Sequence[Member]) -> Iterator[Member]:
    """Place a file without a record, such as the output of a rank that wrote something else, next to the trace that was modified closest
    to it: the clock of the records may differ from the clock of the files.
    """
    dated = [member for member in members if member.is_dated and member.entry.modified is not None]
    for member in members:
        if member.is_dated or member.entry.modified is None or not dated:
            yield member
            continue
        modified = member.entry.modified
        nearest = min(dated, key=lambda other: abs((other.entry.modified or 0.0) - modified))
        then = nearest.end + modified - (nearest.entry.modified or 0.0)
        yield replace(member, begin=then, end=then)


def _member(entry: FileEntry) -> Member:
    """Reads both ends of a trace. One that cannot be read has only the time of its file; opening it reports the error."""
    modified = entry.modified if entry.modified is not None else time.time()
    rank = rank_of(entry.name)
    begin = end = None
    with suppress(OSError, DamagedError, ShapelogError):
        head = entry.read_range(0, _REMOTE_HEAD if entry.is_remote else _HEAD) if entry.read_range else read_head(entry.chunks(), _HEAD)
        if entry.is_remote and not is_compressed(head):
            searched = head
        elif entry.read_range and not is_compressed(head):
            end = _last_time(entry, modified)
            searched = _start(entry) if rank is None else b""
        else:
            searched, end = _decompressed_ends(entry, rank, modified)
            head = searched
        begin = _seconds(_TIME.match(head) or _TIMES.search(b"\n" + (searched or _start(entry))), modified)
        recorded = _RANK.search(searched) if rank is None else None
        rank = int(recorded[1] or recorded[2]) if recorded else rank
    is_dated = begin is not None
    begin = modified if begin is None else begin
    return Member(entry, rank, begin, max(begin, begin if end is None else end), is_dated)


def _start(entry: FileEntry) -> bytes:
    """What is searched for the first time in a text log, and for a rank."""
    return entry.read_range(0, _SEARCHED_FOR_RANK) if entry.read_range else b""


def _decompressed_ends(entry: FileEntry, rank: int | None, modified: float) -> tuple[bytes, float | None]:
    """The start of a compressed trace, and the time of its last record: only if it has no rank, and is small and local."""
    chunks = decompress(entry.chunks(), entry.name)
    head = next(chunks, b"")
    if rank is not None or entry.is_remote:
        return head, None
    last, size, tail = None, 0, b"\n"
    with suppress(DamagedError):
        for chunk in chain((head,), chunks):
            for match in _TIMES.finditer(tail[-64:] + chunk):
                last = match
            size, tail = size + len(chunk), chunk
            if size > _DECOMPRESSED_FOR_TIME:
                return head, None
    return head[:_SEARCHED_FOR_RANK], _seconds(last, modified)


def _last_time(entry: FileEntry, modified: float) -> float | None:
    """When the last record was written; its payload may be long."""
    assert entry.read_range
    for length in _TAILS:
        tail = entry.read_range(max(0, entry.size - length), entry.size)
        found = [*_TIMES.finditer(b"\n" + tail if length >= entry.size else tail)]
        if found or length >= entry.size:
            return _seconds(found[-1], modified) if found else None
    return None


def first_time(data: bytes, modified: float) -> float | None:
    """When the first record in ``data`` was written, in seconds since the epoch, by the clock of the machine that wrote it."""
    return _seconds(_TIME.match(data) or _TIMES.search(data), modified)


def _seconds(match: re.Match[bytes] | None, modified: float) -> float | None:
    """The time of a record, in the last year in which it can have been written before its file was last modified."""
    if match is None:
        return None
    year = time.localtime(modified).tm_year
    for candidate in (year + 1, year, year - 1, year - 4):  # the last for the 29th of February
        with suppress(ValueError, OverflowError):
            found = time.mktime(time.strptime(f"{candidate} {match[1].decode()}", "%Y %m%d %H:%M:%S")) + float(match[2])
            if found <= modified + _DAY_AND_ZONE:
                return found
    return None

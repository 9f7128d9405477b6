"""Which traces of a folder belong to one run: told from their names, their ranks and the times of their first and last records."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain

from shapelog.errors import ShapelogError
from shapelog.reading.compression import DamagedError, is_packed, unpacked
from shapelog.reading.trace_files import Item, collection_of, rank_of

# Ranks wait for each other ten minutes at most, the default of torch.distributed; so do processes that one program starts.
_WAIT = 600.0
# A forked child may begin after its parent has compiled for the last time. The next program has to import torch first.
_AT_ONCE = 1.0
# A clock and the times of files may be told in different time zones.
_DAY_AND_ZONE = 26 * 3600
_TIME = re.compile(rb"[A-Z](\d{4} \d\d:\d\d:\d\d)(\.\d{1,6})")
_TIMES = re.compile(rb"\n" + _TIME.pattern)
# The rank of a record stands behind its body, in the first line.
_RANK = re.compile(rb'(?m)^[A-Z]\d{4} [^\n]*\}, "rank": (\d{1,9})[,}]')
_FAR, _AT_A_TIME = 1 << 16, 16
_HEAD, _LOOKED_THROUGH, _UNPACKED_FOR_TIME = 256, 1 << 20, 64 << 20
_TAILS = (1 << 16, 1 << 20, 1 << 24)


@dataclass(frozen=True, slots=True)
class Member:
    """A trace of a run: its rank, None if neither its name nor its records tell, and when its first and last records were written.

    Times are seconds since the epoch by the clock of the machine that wrote them; records hold no year. A file whose records tell no
    time (``is_dated`` False) has the one it was written at.
    """

    item: Item
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
    def ranks(self) -> list[int]:
        return sorted({member.rank for member in self.members if member.rank is not None})

    @property
    def when(self) -> str:
        return time.strftime("%m-%d %H:%M:%S", time.localtime(self.begin))

    @property
    def words(self) -> str:
        """When it began, and of how many files it is."""
        ranks = self.ranks
        of = f" of ranks {ranks[0]} to {ranks[-1]}" if len(ranks) > 1 else ""
        return f"{self.when}, {len(self.members)} {'file' if len(self.members) == 1 else 'files'}{of}"


def runs_of(items: Sequence[Item]) -> list[Run]:
    """Newest first: the one that began last. One item is a run without a look at it."""
    if len(items) == 1:
        written = items[0].written or 0.0
        return [Run((Member(items[0], rank_of(items[0].name), written, written),))]
    members = sorted(_dated(_members(items)), key=lambda member: (member.begin, member.item.written or 0, member.item.name))
    gathered: dict[str, list[Member]] = {}
    single: list[Member] = []
    for member in members:
        folder = collection_of(member.item.name)
        (single if folder is None else gathered.setdefault(folder, [])).append(member)
    ranked = _by_rank([member for member in single if member.rank is not None])
    others = _by_time([member for member in single if member.rank is None])
    return sorted(
        (*(Run(tuple(found)) for found in gathered.values()), *ranked, *others),
        key=lambda run: (run.begin, max(item.item.written or 0 for item in run.members)),
        reverse=True,
    )


def chosen(runs: Sequence[Run], asked: str, where: str, option: str = "--run") -> Sequence[Run]:
    """The newest of these runs; the one with that number, 1 for the newest; with a file whose name holds that text; or ``all``.

    Raises ShapelogError when there is none such, with those there are; ``option`` is what asked for it.
    """
    if asked in ("", "1"):
        return runs[:1]
    if asked == "all":
        return runs
    if re.fullmatch(r"\d{1,5}", asked):
        found = [run for number, run in enumerate(runs, 1) if number == int(asked)]
    else:
        found = [run for run in runs if any(asked in member.item.name for member in run.members)][:1]
    if not found:
        known = "; ".join(f"{number}: {run.words}" for number, run in enumerate(runs[:6], 1))
        more = f"; and {len(runs) - 6} older ones" if runs[6:] else ""
        raise ShapelogError(f"{option} {asked}: no such run in {where}; there are, newest first: {known}{more}")
    return found


def _by_rank(members: Sequence[Member]) -> Iterator[Run]:
    """A process that starts again under its rank is another run, and so is one that begins long after the others have ended."""
    current: list[Member] = []
    for member in members:
        same = [other for other in current if other.rank == member.rank]
        if current and member.begin > max(other.end for other in current) + _WAIT:
            yield Run(tuple(current))
            current = []
        elif same and all(other.end < member.begin for other in same):
            cut = _last_pause(current, member.rank)
            yield Run(tuple(current[:cut]))
            current = current[cut:]
        current.append(member)
    if current:
        yield Run(tuple(current))


def _last_pause(members: Sequence[Member], rank: int | None) -> int:
    """How many of them had ended before the next began: those after it belong to the run in which ``rank`` started again."""
    latest, cut = members[0].end, len(members)
    for number, member in enumerate(members[1:], 1):
        if member.begin > latest:
            cut = number
        latest = max(latest, member.end)
    return len(members) if any(member.rank == rank for member in members[cut:]) else cut


def _by_time(members: Sequence[Member]) -> Iterator[Run]:
    """Processes without a rank belong together when they began together and ran at the same time, as children of one program do."""
    current: list[Member] = []
    for member in members:
        begun = current[0].begin if current else 0
        if current and (member.begin > max(other.end for other in current) + _AT_ONCE or member.begin > begun + _WAIT):
            yield Run(tuple(current))
            current = []
        current.append(member)
    if current:
        yield Run(tuple(current))


def _members(items: Sequence[Item]) -> list[Member]:
    """Those far away are looked at together."""
    if not any(item.is_far for item in items):
        return [_member(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_A_TIME) as workers:
        return list(workers.map(_member, items))


def _dated(members: Sequence[Member]) -> Iterator[Member]:
    """A file without a record, as a rank that wrote something else, is held against what was written at the same time, whose own clock
    may be another than that of the files.
    """
    known = [member for member in members if member.is_dated and member.item.written is not None]
    for member in members:
        if member.is_dated or member.item.written is None or not known:
            yield member
            continue
        written = member.item.written
        near = min(known, key=lambda other: abs((other.item.written or 0.0) - written))
        then = near.end + written - (near.item.written or 0.0)
        yield replace(member, begin=then, end=then)


def _member(item: Item) -> Member:
    """What the ends of a trace tell. One that cannot be read has only the time of its file; reading it will say why."""
    written = item.written if item.written is not None else time.time()
    rank = rank_of(item.name)
    begin = end = None
    with suppress(OSError, DamagedError, ShapelogError):
        head = item.part(0, _FAR if item.is_far else _HEAD) if item.part else _start(item)
        if item.is_far and not is_packed(head):
            looked_through = head
        elif item.part and not is_packed(head):
            end = _end(item, written)
            looked_through = item.part(0, _LOOKED_THROUGH) if rank is None else b""
        else:
            looked_through, end = _unpacked_ends(item, rank, written)
            head = looked_through
        begin = _clock(_TIME.match(head), written)
        stated = _RANK.search(looked_through) if rank is None else None
        rank = int(stated[1]) if stated else rank
    is_dated = begin is not None
    begin = written if begin is None else begin
    return Member(item, rank, begin, max(begin, begin if end is None else end), is_dated)


def _start(item: Item) -> bytes:
    head = b""
    for chunk in item.chunks():
        head += chunk
        if len(head) >= _HEAD:
            break
    return head


def _unpacked_ends(item: Item, rank: int | None, written: float) -> tuple[bytes, float | None]:
    """The start of what has to be unpacked, and the time of its last record: only where there is no rank to go by, and it is small."""
    chunks = unpacked(item.chunks(), item.name)
    head = b"".join((next(chunks, b""),))
    if rank is not None or item.is_far:
        return head, None
    last, size, tail = None, 0, b"\n"
    with suppress(DamagedError):
        for chunk in chain((head,), chunks):
            for match in _TIMES.finditer(tail[-32:] + chunk):
                last = match
            size, tail = size + len(chunk), chunk
            if size > _UNPACKED_FOR_TIME:
                return head, None
    return head[:_LOOKED_THROUGH], _clock(last, written)


def _end(item: Item, written: float) -> float | None:
    """When the last record was written; the payload behind it may be long."""
    assert item.part
    for length in _TAILS:
        tail = item.part(max(0, item.size - length), item.size)
        found = [*_TIMES.finditer(b"\n" + tail if length >= item.size else tail)]
        if found or length >= item.size:
            return _clock(found[-1], written) if found else None
    return None


def _clock(match: re.Match[bytes] | None, written: float) -> float | None:
    """The time that a record states, in the last year in which it can have been written before its file was."""
    if match is None:
        return None
    year = time.localtime(written).tm_year
    for candidate in (year + 1, year, year - 1, year - 4):  # the last for the 29th of February
        with suppress(ValueError, OverflowError):
            told = time.mktime(time.strptime(f"{candidate} {match[1].decode()}", "%Y %m%d %H:%M:%S")) + float(match[2])
            if told <= written + _DAY_AND_ZONE:
                return told
    return None

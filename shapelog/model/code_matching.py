"""Which frames of two traces are the same code, though lines shifted, the checkout moved, or compile ids started again."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.alignment import align_lines, align_paths
from shapelog.model.compile import resumed_by
from shapelog.model.frame import Callers, Frame
from shapelog.model.trace import Rank, Trace
from shapelog.reading.payloads.source_names import is_notebook_cell

_INSTALLATION = re.compile(r"^.*(?=[/\\](?:site|dist)-packages[/\\])")


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """One piece of code in one process: its frames of all generations, in order of first compile.

    ``title`` is the first that names the class, where one does. Code of a library is distinguished by the class that it works for or, where
    that is not known, by the line of the user that called it.
    """

    frames: tuple[Frame, ...]
    title: str

    @property
    def first(self) -> Frame:
        return self.frames[0]

    @property
    def has_bare_title(self) -> bool:
        return self.title == self.first.name or not self.title

    @property
    def resumes(self) -> tuple[str, int] | None:
        return resumed_by(self.first.name)

    @property
    def position(self) -> int:
        """What distinguishes codes of one name: the line, for a library's code that of its caller."""
        called = self.first.called_at if self.first.is_library else None
        return called.line if called else self.first.line


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """One code before and after, None where a trace does not have it. ``owner`` is the code, there in both traces, that a new or gone
    one belongs to: the function that it resumes, or the compiled one that calls it.
    """

    before: Code | None
    after: Code | None
    owner: "Pair | None" = None


def match(before: Trace, after: Trace) -> tuple[Pair, ...]:
    """Every code of both traces, once: those of AFTER in their order, then those that are gone."""
    same = _same_files({frame.file for frame in before.frames}, {frame.file for frame in after.frames})
    pairs = [pair for one, other in _processes(before, after) for pair in _matched(codes_of(one), codes_of(other), same)]
    return tuple(sorted(pairs, key=lambda pair: pair.after is None))


def match_codes(before: list[Code], after: list[Code]) -> list[Pair]:
    """Every code of two lists, once, whatever process they were in."""
    return _matched(before, after, _same_files({code.first.file for code in before}, {code.first.file for code in after}))


# The number of a rank, and how many before it have that number.
_Number = tuple[int | None, int]


def _processes(before: Trace, after: Trace) -> Iterator[tuple[tuple[Rank, ...], tuple[Rank, ...]]]:
    """Ranks by number; processes without one in their order, and such a process with a rank where nothing else is left."""
    ones, others = _numbered(before), _numbered(after)
    for key in [key for key in ones if key in others]:
        yield (ones.pop(key),), (others.pop(key),)
    for one, other in zip(_nameless(ones), sorted(set(others).difference(_nameless(others))), strict=False):
        yield (ones.pop(one),), (others.pop(other),)
    for one, other in zip(sorted(set(ones).difference(_nameless(ones))), _nameless(others), strict=False):
        yield (ones.pop(one),), (others.pop(other),)
    yield from (((rank,), ()) for rank in ones.values())
    yield from (((), (rank,)) for rank in others.values())


def _numbered(trace: Trace) -> dict[_Number, Rank]:
    seen: Counter[int | None] = Counter()
    found: dict[_Number, Rank] = {}
    for rank in trace.ranks:
        found[rank.number, seen[rank.number]] = rank
        seen[rank.number] += 1
    return found


def _nameless(numbers: Iterable[_Number]) -> list[_Number]:
    return [number for number in numbers if number[0] is None]


def codes_of(ranks: Iterable[Rank]) -> list[Code]:
    """The codes of some processes, each with its frames in all of them, in order of first compile."""
    grouped: dict[tuple[str, int, str, str], list[Frame]] = {}
    titles: dict[tuple[str, int, str, str], str] = {}
    for frame in (frame for rank in ranks for frame in rank.frames):
        title, called = frame.title, frame.called_at if frame.is_library else None
        user = title if title != frame.name else f"{called.file}:{called.line}" if called else ""
        key = (file_of(frame.file), frame.line, frame.name, user if frame.is_library else "")
        grouped.setdefault(key, []).append(frame)
        if titles.get(key, frame.name) == frame.name:
            titles[key] = title
    return [Code(tuple(frames), titles[key]) for key, frames in grouped.items()]


def file_of(path: str) -> str:
    """A path without what differs in each process. A notebook gives each cell a file of its own."""
    if is_notebook_cell(path):
        return "<notebook>"
    if path.startswith("<eval_with_key>"):  # which is followed by a number
        return "<eval_with_key>"
    return without_installation(path)


def without_installation(path: str) -> str:
    """A path from ``/site-packages`` on: each machine, and perhaps each rank, keeps its packages somewhere else."""
    return _INSTALLATION.sub("", path)


def _same_files(before: set[str], after: set[str]) -> dict[str, str]:
    """Each file of AFTER that is not in BEFORE → the one there of the same name whose path has the longest common end."""
    ones, others = ({file_of(path) for path in paths} for paths in (before, after))
    return align_paths(ones - others, others - ones)


def _matched(before: list[Code], after: list[Code], same: dict[str, str]) -> list[Pair]:
    """Functions by file and name, then what resumes them by the function and the lines in it."""
    pairs: list[Pair] = []
    buckets: dict[tuple[str, str], tuple[list[Code], list[Code]]] = {}
    for side, codes in enumerate((before, after)):
        for code in codes:
            if not code.resumes:
                file = file_of(code.first.file)
                buckets.setdefault((same.get(file, file), code.first.name), ([], []))[side].append(code)
    for ones, others in buckets.values():
        pairs.extend(_pairs(ones, others, _by_title(ones, others)))
    pairs.extend(_resumed(before, after, pairs, same))
    return list(_owned(pairs))


def _pairs(ones: list[Code], others: list[Code], found: list[tuple[Code, Code]]) -> Iterator[Pair]:
    """What was found, and each code that is in none of it alone."""
    taken = {code for pair in found for code in pair}
    yield from (Pair(one, other) for one, other in found)
    yield from (Pair(one, None) for one in ones if one not in taken)
    yield from (Pair(None, other) for other in others if other not in taken)


def _by_title(ones: list[Code], others: list[Code]) -> list[tuple[Code, Code]]:
    """Codes of one name in one file: those of the same title first, then renamed ones, then those whose class a trace does not name."""
    found: list[tuple[Code, Code]] = []
    titles = grouped(others, lambda code: code.title)
    for title, own in grouped(ones, lambda code: code.title).items():
        found += _aligned(own, titles.get(title, []))
    ones, others = _left(ones, others, found)
    found += _in_place(ones, others)
    ones, others = _left(ones, others, found)
    found += _aligned([code for code in ones if code.has_bare_title], others)
    ones, others = _left(ones, others, found)
    return found + _aligned(ones, [code for code in others if code.has_bare_title])


def _left(ones: list[Code], others: list[Code], found: list[tuple[Code, Code]]) -> tuple[list[Code], list[Code]]:
    """The codes of both sides that are in no pair."""
    taken = {code for pair in found for code in pair}
    return [code for code in ones if code not in taken], [code for code in others if code not in taken]


def _in_place(ones: list[Code], others: list[Code]) -> Iterator[tuple[Code, Code]]:
    """Codes that begin at the same line, so that one class was given another name. Lines do not distinguish those of a library."""
    by_line = {code.first.line: code for code in others if not code.first.is_library}
    for code in ones:
        if not code.first.is_library and code.first.line in by_line:
            yield code, by_line.pop(code.first.line)


def _aligned(ones: list[Code], others: list[Code], position: Callable[[Code], int] = lambda code: code.position) -> list[tuple[Code, Code]]:
    """Codes by their positions; those with the same one by the lines at which they begin."""
    ones, others = (sorted(codes, key=lambda code: code.first.line) for codes in (ones, others))
    found = align_lines([position(code) for code in ones], [position(code) for code in others])
    return [(ones[one], others[other]) for one, other in sorted(found.items())]


def _resumed(before: list[Code], after: list[Code], functions: list[Pair], same: dict[str, str]) -> Iterator[Pair]:
    """Resume functions of one function are aligned by the lines in their names, counted from its first one, which an edit above it does
    not shift.
    """
    buckets: dict[tuple[object, ...], tuple[list[Code], list[Code]]] = {}
    places: dict[Code, int] = {}
    for side, codes in enumerate((before, after)):
        known = _by_name(functions, side)
        for code in codes:
            resumed = code.resumes
            if resumed:
                file = file_of(code.first.file)
                owner = _enclosing(known, code.first.file, *resumed)
                places[code] = resumed[1] - (owner[1].first.line if owner else 0)
                key = (owner[0],) if owner else (same.get(file, file), resumed[0])
                buckets.setdefault(key, ([], []))[side].append(code)
    for ones, others in buckets.values():
        yield from _pairs(ones, others, _aligned(ones, others, places.__getitem__))


# (file, function) → the codes of that name in one run by their lines.
_Known = dict[tuple[str, str], list[tuple[int, tuple[Pair, Code]]]]


def _by_name(pairs: list[Pair], side: int) -> _Known:
    known: dict[tuple[str, str], dict[int, tuple[Pair, Code]]] = {}
    for pair in pairs:
        code = (pair.before, pair.after)[side]
        if code:
            known.setdefault((code.first.file, code.first.name), {}).setdefault(code.first.line, (pair, code))
    return {key: sorted(codes.items(), key=itemgetter(0)) for key, codes in known.items()}


def _enclosing(known: _Known, file: str, name: str, line: int) -> tuple[Pair, Code] | None:
    """The function that a place in code lies in: of that name in that file, and begun last before it."""
    codes = known.get((file, name), [])
    begun = bisect_right(codes, line, key=itemgetter(0))
    return codes[begun - 1][1] if begun else None


def _owned(pairs: list[Pair]) -> Iterator[Pair]:
    """The pairs, new and gone codes with the matched one that they belong to."""
    matched = [pair for pair in pairs if pair.before and pair.after]
    known = _by_name(matched, 0), _by_name(matched, 1)
    owners = _owners(pairs, 0), _owners(pairs, 1)
    for pair in pairs:
        code = pair.after or pair.before
        if code is None or (pair.before and pair.after):
            yield pair
            continue
        places = [(code.first.file, *code.resumes)] if code.resumes else []
        stack = code.first.compiles[0].stack.frames
        places += [(place.file, *(resumed_by(place.name) or (place.name, place.line))) for place in reversed(stack)]
        found = (_enclosing(known[pair.before is None], *place) for place in places)
        owner = next((item[0] for item in found if item), None)
        yield Pair(pair.before, pair.after, owner or owners[pair.before is None].of(code))


class _Owners(NamedTuple):
    """The frames of one run, each with the pair of its code, and who called them."""

    pairs: dict[Frame, Pair]
    callers: Callers

    def of(self, code: Code) -> Pair | None:
        """The code, there in both runs, that this one was compiled for in this run since it was at the recompile limit."""
        caller = self.callers.refused(code.first)
        pair = self.pairs[caller] if caller else None
        return pair if pair and pair.before and pair.after else None


def _owners(pairs: list[Pair], side: int) -> _Owners:
    codes = [(pair, (pair.before, pair.after)[side]) for pair in pairs]
    owners = {frame: pair for pair, own in codes if own for frame in own.frames}
    return _Owners(owners, Callers(owners))

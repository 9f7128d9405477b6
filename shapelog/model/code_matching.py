"""Which frames of two traces are the same code, though lines shifted, the checkout moved, or compile ids started again."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from shapelog.model.trace import Frame, Rank, Trace, resumed_by
from shapelog.reading.payloads.source_names import is_notebook_cell


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


def _processes(before: Trace, after: Trace) -> Iterator[tuple[tuple[Rank, ...], tuple[Rank, ...]]]:
    """Ranks by number; processes without one in their order, and such a process with a rank where nothing else is left."""
    ones, others = _numbered(before), _numbered(after)
    for key in [key for key in ones if key in others]:
        yield (ones.pop(key),), (others.pop(key),)
    for one in [key for key in ones if key[0] is None]:
        if others:
            yield (ones.pop(one),), (others.pop(min(others)),)
    for other in [key for key in others if key[0] is None]:
        if ones:
            yield (ones.pop(min(ones)),), (others.pop(other),)
    yield from (((rank,), ()) for rank in ones.values())
    yield from (((), (rank,)) for rank in others.values())


def _numbered(trace: Trace) -> dict[tuple[int | None, int], Rank]:
    found: dict[tuple[int | None, int], Rank] = {}
    for rank in trace.ranks:
        found[rank.number, sum(number == rank.number for number, _ in found)] = rank
    return found


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
    return "<eval_with_key>" if path.startswith("<eval_with_key>") else path  # which is followed by a number


def _same_files(before: set[str], after: set[str]) -> dict[str, str]:
    """Each file of AFTER that is not in BEFORE → the one there of the same name whose path has the longest common end."""
    left = {file_of(path) for path in before} - {file_of(path) for path in after}
    moved = {file_of(path) for path in after} - {file_of(path) for path in before}
    common = [(-_common_end(one, other), one, other) for one in left for other in moved if _common_end(one, other)]
    found: dict[str, str] = {}
    for _, one, other in sorted(common):
        if one in left and other not in found:
            left.discard(one)
            found[other] = one
    return found


def _common_end(one: str, other: str) -> int:
    parts = [re.split(r"[\\/]", path)[::-1] for path in (one, other)]
    same = [first == second for first, second in zip(*parts, strict=False)]
    return same.index(False) if False in same else len(same)


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
    """Codes of one name in one file: those of the same title first, then those whose class a trace does not name."""
    found: list[tuple[Code, Code]] = []
    for title in dict.fromkeys(code.title for code in ones):
        first, second = ([code for code in codes if code.title == title] for codes in (ones, others))
        found += _aligned(first, second, lambda code: code.position)
    first, second = ([code for code in codes if all(code not in pair for pair in found)] for codes in (ones, others))
    return found + _aligned(first, second, lambda code: code.position, _may_be_same)


def _may_be_same(one: Code, other: Code) -> bool:
    """Whether two codes of one file and name may be the same although their titles differ: a renamed class, or one that is not named."""
    if one.has_bare_title or other.has_bare_title:
        return True
    return one.first.line == other.first.line and not one.first.is_library


def _aligned(
    ones: list[Code], others: list[Code], position: Callable[[Code], int], may_be: Callable[[Code, Code], bool] = lambda one, other: True
) -> list[tuple[Code, Code]]:
    """Codes at the same place, then as many as are left on both sides in their order, else the nearest lines first."""
    places = [[position(code) for code in side] for side in (ones, others)]
    near = sorted(
        (abs(place - places[1][other]), one, other)
        for one, place in enumerate(places[0])
        for other in range(len(others))
        if may_be(ones[one], others[other])
    )
    exact = _greedy(item for item in near if not item[0])
    left, right = set(range(len(ones))) - set(exact), set(range(len(others))) - set(exact.values())
    in_order = list(zip(sorted(left, key=places[0].__getitem__), sorted(right, key=places[1].__getitem__), strict=False))
    if len(left) == len(right) and all(may_be(ones[one], others[other]) for one, other in in_order):
        found = exact | dict(in_order)
    else:
        found = exact | _greedy(item for item in near if item[1] in left and item[2] in right)
    return [(ones[one], others[other]) for one, other in sorted(found.items())]


def _greedy(candidates: Iterable[tuple[int, int, int]]) -> dict[int, int]:
    """The best candidates first, each index of either side once."""
    found: dict[int, int] = {}
    taken: set[int] = set()
    for _, one, other in candidates:
        if one not in found and other not in taken:
            found[one] = other
            taken.add(other)
    return found


def _resumed(before: list[Code], after: list[Code], functions: list[Pair], same: dict[str, str]) -> Iterator[Pair]:
    """Resume functions of one function are aligned by their lines counted from its first one, which an edit above it does not shift."""
    buckets: dict[tuple[object, ...], tuple[list[Code], list[Code]]] = {}
    starts: dict[Code, int] = {}
    for side, codes in enumerate((before, after)):
        known = _by_name(functions, side)
        for code in codes:
            resumed = code.resumes
            if resumed:
                file = file_of(code.first.file)
                owner = _enclosing(known, code.first.file, *resumed)
                starts[code] = owner[1].first.line if owner else 0
                key = (owner[0],) if owner else (same.get(file, file), resumed[0])
                buckets.setdefault(key, ([], []))[side].append(code)
    for ones, others in buckets.values():
        yield from _pairs(ones, others, _aligned(ones, others, lambda code: code.first.line - starts[code]))


_Known = dict[tuple[str, str], list[tuple[Pair, Code]]]


def _by_name(pairs: list[Pair], side: int) -> _Known:
    """(file, function) → the codes of that name in one run."""
    known: _Known = {}
    for pair in pairs:
        code = (pair.before, pair.after)[side]
        if code:
            known.setdefault((code.first.file, code.first.name), []).append((pair, code))
    return known


def _enclosing(known: _Known, file: str, name: str, line: int) -> tuple[Pair, Code] | None:
    """The function that a place in code lies in: of that name in that file, and begun last before it."""
    begun = [item for item in known.get((file, name), ()) if item[1].first.line <= line]
    return max(begun, key=lambda item: item[1].first.line, default=None)


def _owned(pairs: list[Pair]) -> Iterator[Pair]:
    """The pairs, new and gone codes with the matched one that they belong to."""
    matched = [pair for pair in pairs if pair.before and pair.after]
    known = _by_name(matched, 0), _by_name(matched, 1)
    for pair in pairs:
        code = pair.after or pair.before
        if code is None or (pair.before and pair.after):
            yield pair
            continue
        places = [(code.first.file, *code.resumes)] if code.resumes else []
        stack = code.first.compiles[0].stack.frames
        places += [(place.file, *(resumed_by(place.name) or (place.name, place.line))) for place in reversed(stack)]
        found = (_enclosing(known[pair.before is None], *place) for place in places)
        yield Pair(pair.before, pair.after, next((item[0] for item in found if item), None))

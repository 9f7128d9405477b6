"""Which graph breaks came or went from one run to another."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import GraphBreak, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.records import StackFrame
from shapelog.report.alerts.interruption_alerts import line_of_user
from shapelog.report.results import Location
from shapelog.text import file_name, without_addresses


@dataclass(frozen=True, slots=True)
class BreakChange:
    """A graph break that one of two runs has. ``place`` is the user's line, None where the trace has none."""

    is_new: bool
    message: CompilerMessage
    place: StackFrame | None

    @property
    def location(self) -> Location | None:
        return Location(self.place.file, self.place.line) if self.place else None

    @property
    def words(self) -> str:
        """What PyTorch met, with the number that its site gives it: ``Call to print (GB0059)``."""
        return f"{self.message.title} ({self.message.number})" if self.message.number else self.message.title


def breaks_of(frames: Iterable[Frame]) -> tuple[GraphBreak, ...]:
    """Where code breaks and why, each once; what a failed compile met on its way is the failure itself."""
    found: dict[tuple[str, str], GraphBreak] = {}
    for compile in (compile for frame in frames for compile in frame.compiles if compile.outcome is not Outcome.FAILED):
        for item in compile.breaks:
            where = f"{item.place.file}:{item.place.line}" if item.place else ""
            found.setdefault((where, without_addresses(item.reason)), item)
    return tuple(found.values())


class _Found(NamedTuple):
    """One break, its frame, and the number of its pair of codes."""

    code: int
    frame: Frame
    item: GraphBreak

    @property
    def file(self) -> str:
        return file_name(self.item.place.file) if self.item.place else ""

    @property
    def line(self) -> str:
        """The line itself, "" where the trace does not have it. Its number is that of another one once the file is edited."""
        return self.item.place.code.strip() if self.item.place else ""

    @property
    def reason(self) -> str:
        return without_addresses(self.item.reason)


# What makes two breaks the same one, None where it does not apply. Another version of torch may word the reason in another way, and code
# that follows a mended break is part of another graph.
_Same = tuple[object, ...] | None
_Key = Callable[[_Found], _Same]
_SAME: tuple[_Key, ...] = (
    lambda found: (found.code, found.file, found.line, found.reason) if found.line else None,
    lambda found: (found.code, found.file, found.line) if found.line else None,
    lambda found: None if found.line else (found.code, found.file, found.reason),
    lambda found: (found.frame.rank, found.file, found.line, found.reason) if found.line else None,
)


def break_changes(pairs: Sequence[tuple[tuple[Frame, ...], ...]]) -> list[tuple[BreakChange, ...]]:
    """For the frames of each code, before and after, what breaks in one run alone, the new ones first."""
    was = [_Found(number, before[0], item) for number, (before, _) in enumerate(pairs) for item in breaks_of(before)]
    now = [_Found(number, after[0], item) for number, (_, after) in enumerate(pairs) for item in breaks_of(after)]
    for key in _SAME:
        was, now = _unpaired(was, now, key)
    changes: list[list[BreakChange]] = [[] for _ in pairs]
    for is_new, left in ((True, now), (False, was)):
        for found in left:
            changes[found.code].append(BreakChange(is_new, found.item.message, line_of_user(found.item, found.frame)))
    return [tuple(own) for own in changes]


def _unpaired(was: list[_Found], now: list[_Found], key: _Key) -> tuple[list[_Found], list[_Found]]:
    """What is left of both when those with the same key are taken for the same break, in their order."""
    ones, others = grouped(was, key), grouped(now, key)
    pairs: dict[_Same, int] = {one: min(len(found), len(others.get(one, ()))) for one, found in ones.items() if one is not None}
    return _left(ones, pairs), _left(others, pairs)


def _left(groups: Mapping[_Same, list[_Found]], pairs: Mapping[_Same, int]) -> list[_Found]:
    return [item for same, found in groups.items() for item in found[pairs.get(same, 0) :]]

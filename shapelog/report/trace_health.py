"""What the trace is, how it was configured, and what of it could not be used."""

from typing import NamedTuple

from shapelog.errors import Problem
from shapelog.report.report import Report
from shapelog.text import plural

# The most files that are listed one by one with the same problem, and that are named where more have it.
_MAX_SEPARATE, _MAX_NAMED = 4, 3


class ProblemGroup(NamedTuple):
    """Problems of one file in the same words, in order of lines; ``others`` are further files with the same."""

    members: tuple[Problem, ...]
    others: tuple[str, ...] = ()

    @property
    def elsewhere(self) -> str:
        """``and the same in 28 more files: a.log, b.log, …``; "" where there are none."""
        if not self.others:
            return ""
        names = ", ".join(self.others[:_MAX_NAMED]) + (", …" if len(self.others) > _MAX_NAMED else "")
        return f"and the same in {plural(len(self.others), 'more file')}: {names}"


class Health(NamedTuple):
    """Counts over all files, in records, bytes and payloads. ``unknown`` lists kinds that no version known so far writes, "" without any.

    ``problems`` are together where they are the same in one file, or in many.
    """

    records: int
    size: int
    unreadable: int
    verified: int
    config: tuple[tuple[str, str], ...]
    unknown: str
    problems: tuple[ProblemGroup, ...]


def health_of(report: Report) -> Health:
    unknown: dict[str, int] = {}
    for book in report.accounts:
        for name, count in book.unknown.items():
            unknown[name] = unknown.get(name, 0) + count
    config = report.trace.config
    return Health(
        records=sum(sum(book.records.values()) for book in report.accounts),
        size=sum(book.size for book in report.accounts),
        unreadable=sum(book.unreadable_bytes for book in report.accounts),
        verified=sum(book.payloads_verified for book in report.accounts),
        config=tuple((name, str(value)) for name, value in config._asdict().items() if value not in (None, "")),
        unknown=", ".join(f"{count} {name}" for name, count in sorted(unknown.items())),
        problems=_problems(report),
    )


def _problems(report: Report) -> tuple[ProblemGroup, ...]:
    by_message: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in report.problems:
        by_message.setdefault((problem.code, problem.file, problem.message), []).append(problem)
    groups = [ProblemGroup(tuple(members)) for members in by_message.values()]
    everywhere: dict[tuple[str, str, int], list[ProblemGroup]] = {}
    for item in groups:
        everywhere.setdefault((item.members[0].code, item.members[0].message, len(item.members)), []).append(item)
    return tuple(joined for items in everywhere.values() for joined in (items if len(items) <= _MAX_SEPARATE else [_joined(items)]))


def _joined(items: list[ProblemGroup]) -> ProblemGroup:
    return ProblemGroup(items[0].members, tuple(item.members[0].file for item in items[1:]))

"""What the trace is, how it was configured, and what of it could not be used."""

from typing import NamedTuple

from shapelog.errors import Problem
from shapelog.report.report import Report
from shapelog.text import plural

# So many files have a problem each to themselves, and so many are named where more have the same.
_APART, _FILES = 4, 3


class Told(NamedTuple):
    """Problems of one file in the same words, in order of lines; ``others`` are further files of which the same is to be said."""

    members: tuple[Problem, ...]
    others: tuple[str, ...] = ()

    @property
    def elsewhere(self) -> str:
        """``and the same in 28 more files: a.log, b.log, …``; "" where there are none."""
        if not self.others:
            return ""
        names = ", ".join(self.others[:_FILES]) + (", …" if len(self.others) > _FILES else "")
        return f"and the same in {plural(len(self.others), 'more file')}: {names}"


class Health(NamedTuple):
    """Counts over all files, in records, bytes and payloads. ``unknown`` lists kinds that no version known so far writes, "" without any.

    ``problems`` are told together where they say the same of one file, or of many.
    """

    records: int
    size: int
    unreadable: int
    verified: int
    config: tuple[tuple[str, str], ...]
    unknown: str
    problems: tuple[Told, ...]


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


def _problems(report: Report) -> tuple[Told, ...]:
    alike: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in report.problems:
        alike.setdefault((problem.code, problem.file, problem.message), []).append(problem)
    told = [Told(tuple(members)) for members in alike.values()]
    everywhere: dict[tuple[str, str, int], list[Told]] = {}
    for item in told:
        everywhere.setdefault((item.members[0].code, item.members[0].message, len(item.members)), []).append(item)
    return tuple(joined for items in everywhere.values() for joined in (items if len(items) <= _APART else [_joined(items)]))


def _joined(items: list[Told]) -> Told:
    return Told(items[0].members, tuple(item.members[0].file for item in items[1:]))

"""What the trace is, how it was configured, and what of it could not be used."""

from typing import NamedTuple

from shapelog.errors import INFO, Problem
from shapelog.grouping import grouped
from shapelog.report.report import Report
from shapelog.text import plural

# The most files that are listed one by one with the same problem, and that are named where more have it.
_MAX_SEPARATE, _MAX_NAMED = 4, 3
# Nothing is lost, but something was not looked at.
_PASSED_OVER = frozenset(("many-entries", "named-twice", "nested-archive"))


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

    @property
    def is_whole(self) -> bool:
        """Whether everything was read, known and looked at; what is merely worth knowing does not count."""
        shown = (group.members[0] for group in self.problems)
        return not (self.unreadable or self.unknown or any(item.severity != INFO or item.code in _PASSED_OVER for item in shown))


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
    in_file = grouped(report.problems, lambda problem: (problem.code, problem.file, problem.message)).values()
    everywhere = grouped(in_file, lambda members: (members[0].code, members[0].message, len(members))).values()
    found: list[ProblemGroup] = []
    for files in everywhere:
        if len(files) <= _MAX_SEPARATE:
            found += [ProblemGroup(tuple(members)) for members in files]
        else:
            found.append(ProblemGroup(tuple(files[0]), tuple(members[0].file for members in files[1:])))
    return tuple(found)

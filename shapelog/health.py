"""What the trace is, how it was configured, and what of it could not be used."""

from dataclasses import dataclass, fields

from shapelog.errors import Problem
from shapelog.report import Report


@dataclass(frozen=True, slots=True)
class Health:
    """Counts over all files, in records, bytes and payloads. ``unknown`` lists kinds that no version known so far writes, "" without any.

    ``problems`` are told together where they say the same of one file.
    """

    records: int
    size: int
    unreadable: int
    verified: int
    config: tuple[tuple[str, str], ...]
    unknown: str
    problems: tuple[tuple[Problem, ...], ...]


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
        config=tuple((item.name, str(value)) for item in fields(config) if (value := getattr(config, item.name)) not in (None, "")),
        unknown=", ".join(f"{count} {name}" for name, count in sorted(unknown.items())),
        problems=_problems(report),
    )


def _problems(report: Report) -> tuple[tuple[Problem, ...], ...]:
    alike: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in report.problems:
        alike.setdefault((problem.code, problem.file, problem.message), []).append(problem)
    return tuple(map(tuple, alike.values()))

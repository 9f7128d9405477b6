"""What the trace is, how it was configured, and what of it could not be used."""

from dataclasses import dataclass, fields

from shapelog.errors import Problem
from shapelog.report import Report
from shapelog.rules import RULES, Rule, problem_rule

_LINES = 12


@dataclass(frozen=True, slots=True)
class Health:
    """Counts over all files, in records, bytes and payloads. ``problems`` holds (first of its kind, rule, how many, further lines)."""

    records: int
    size: int
    unreadable: int
    verified: int
    config: tuple[tuple[str, str], ...]
    unknown: str
    unknown_rule: Rule
    problems: tuple[tuple[Problem, Rule, int, str], ...]


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
        unknown_rule=RULES["SL904"],
        problems=_problems(report),
    )


def _problems(report: Report) -> tuple[tuple[Problem, Rule, int, str], ...]:
    """Those that say the same of one file are told once."""
    alike: dict[tuple[str, str, str], list[Problem]] = {}
    for problem in report.problems:
        alike.setdefault((problem.code, problem.file, problem.message), []).append(problem)
    found = []
    for members in alike.values():
        further = [str(problem.line) for problem in members[1:] if problem.line]
        lines = ", ".join(further[:_LINES]) + (", …" if len(further) > _LINES else "")
        found.append((members[0], problem_rule(members[0].code), len(members), lines))
    return tuple(found)

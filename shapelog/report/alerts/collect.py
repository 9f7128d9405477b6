"""Everything in a report that a CI system may show, as alerts: ``collect_alerts(report, repository)`` → Alerts."""

from collections.abc import Iterable
from dataclasses import replace

from shapelog.model.code_matching import Code, codes_of, file_of
from shapelog.report.alerts.alert import Alert, Alerts
from shapelog.report.alerts.alerted_code import AlertedCode
from shapelog.report.alerts.finding_alerts import finding_alerts
from shapelog.report.alerts.interruption_alerts import interruption_alerts
from shapelog.report.alerts.recompile_alerts import recompile_alerts
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.report.results import Finding
from shapelog.rules import Level
from shapelog.text import file_name


def collect_alerts(report: Report, repository: Repository) -> Alerts:
    """Everything in a report that a CI system may show, placed in the repository."""
    codes = codes_of(report.trace.ranks)
    found = Alerts(
        report=report,
        repository=repository,
        codes=tuple(codes),
        alerts=(),
        processes={frame: number for number, rank in enumerate(report.trace.ranks) for frame in rank.frames},
        identities=_identities(codes, repository),
    )
    by_frame = {frame: code for code in codes for frame in code.frames}
    findings: dict[Code, list[Finding]] = {}
    for item in report.findings:
        if item.frame is not None:
            findings.setdefault(by_frame[item.frame], []).append(item)
    collected: list[Alert] = []
    for code in codes:
        alerted = AlertedCode(found, code, found.compiles(code))
        collected += recompile_alerts(alerted)
        collected += finding_alerts(alerted, findings.get(code, []))
        collected += interruption_alerts(alerted)
    order = list(Level)
    collected.sort(key=lambda item: (order.index(item.level), -item.seconds, -item.count, item.occurrences[0].compile.order))
    return replace(found, alerts=tuple(collected))


def _identities(codes: Iterable[Code], repository: Repository) -> dict[Code, tuple[str, ...]]:
    """(file, name, caller, number) of each code. Codes of one name in one file are numbered by their lines."""
    by_name: dict[tuple[str, ...], list[Code]] = {}
    for code in codes:
        source_line = repository.source_line(code.first.file, code.first.line)
        called = code.first.called_at if code.first.is_library else None
        # What lies outside of the repository, such as a library, is somewhere else on each machine.
        is_own = source_line and source_line.is_inside and not code.first.is_library
        file = source_line.file if source_line and is_own else file_name(file_of(code.first.file))
        resumed = code.resumes
        name = f"{resumed[0]} resumed" if resumed else code.title
        by_name.setdefault((file, name, called.name if called else ""), []).append(code)
    return {
        code: (*key, str(number))
        for key, same in by_name.items()
        for number, code in enumerate(sorted(same, key=lambda code: (code.first.file, code.position)))
    }

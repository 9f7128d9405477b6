"""Findings about ``torch.export`` as alerts, so that a check counts them like those about compiled code."""

from collections.abc import Iterator

from shapelog.model.code_matching import Code
from shapelog.model.exports import Export
from shapelog.model.ids import CompileId
from shapelog.model.trace import Compile, Frame, Outcome
from shapelog.report.alerts import Alert, Alerts, Occurrence, digest, stable_text
from shapelog.report.results import Finding
from shapelog.rules import Level, Remedy, Section
from shapelog.text import file_name

_NAME = "torch.export"


def export_alerts(found: Alerts) -> Iterator[Alert]:
    """One for each finding about an export, errors first. Its code is the call of ``torch.export``; no budget and no baseline has it."""
    exports = found.report.trace.exports
    findings = [item for item in found.report.findings if item.rule.section is Section.EXPORTS]
    for item in sorted(findings, key=lambda item: list(Level).index(item.rule.level)):
        own = next((export for export in exports if item.sentence.startswith(f"{export.title} ")), None)
        yield _alert(found, item, own)


def _alert(found: Alerts, item: Finding, export: Export | None) -> Alert:
    call = export.call if export else None
    file, line = (item.place.file, item.place.line) if item.place else (call.file, call.line) if call else ("", 0)
    source_line = found.repository.source_line(file, line)
    rank, process = (export.rank, export.process) if export else (None, 0)
    title = export.title if export else _NAME
    seconds = (export.metrics.seconds or 0.0) if export else 0.0
    outcome = Outcome.FAILED if item.rule.level is Level.ERROR else Outcome.COMPILED
    compile = Compile(CompileId(-1, 0), "", rank, process, order=0, outcome=outcome)
    frame = Frame(-1, rank, process, 1, _NAME, call.file if call else file, call.line if call else line, (compile,))
    kinds = frozenset(filter(None, (item.rule.alert_kind,)))
    own_file = source_line.file if source_line and source_line.is_inside else file_name(file)
    return Alert(
        rule=item.rule,
        codes=(item.rule.code,),
        level=item.rule.level,
        code=Code((frame,), title),
        axes=(),
        sentence=item.sentence,
        facts=(),
        remedy=Remedy(item.rule, item.remedy),
        source_line=source_line,
        snippet=item.code,
        related=(),
        occurrences=(Occurrence(frame, compile, () if rank is None else (rank,), 0, seconds, kinds),),
        fingerprint=digest(own_file, item.rule.code, stable_text(item.code)),
        messages=(item.message,) if item.message else (),
        exceptions=item.exceptions,
        notes=item.notes,
    )

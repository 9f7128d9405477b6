"""Findings about ``torch.export`` as alerts, so that a check and its baseline count them like those about compiled code."""

from dataclasses import replace

from shapelog.model.code_matching import Code
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.ids import CompileId
from shapelog.model.trace import Trace
from shapelog.report.alerts.alert import Alert, Alerts, Occurrence, digest, stable_text
from shapelog.report.results import Finding
from shapelog.rules import Level, Remedy, Section
from shapelog.text import file_name

_NAME = "torch.export"


def with_exports(found: Alerts) -> Alerts:
    """The same with an alert for each finding about an export, errors first.

    The code of all of them is the first call of ``torch.export``. It has no cache entry, so no budget counts it.
    """
    findings = [item for item in found.report.findings if item.rule.section is Section.EXPORTS]
    if not findings:
        return found
    code = _code(found.report.trace)
    findings.sort(key=lambda item: list(Level).index(item.rule.level))
    return replace(
        found,
        codes=(*found.codes, code),
        alerts=(*found.alerts, *(_alert(found, item, code) for item in findings)),
        processes={**found.processes, code.first: 0},
    )


def _code(trace: Trace) -> Code:
    call = next((export.call for export in trace.exports if export.call), None)
    compile = Compile(CompileId(-1, 0), "", None, 0, order=0)
    frame = Frame(
        number=-1,
        rank=None,
        process=0,
        generation=1,
        name=_NAME,
        file=call.file if call else "",
        line=call.line if call else 0,
        compiles=(compile,),
    )
    return Code((frame,), _NAME)


def _alert(found: Alerts, item: Finding, code: Code) -> Alert:
    place = found.repository.source_line(item.place.file, item.place.line) if item.place else None
    file = place.file if place and place.is_inside else file_name(item.place.file) if item.place else ""
    kinds = frozenset(filter(None, (item.rule.alert_kind,)))
    line = item.code or item.sentence
    return Alert(
        rule=item.rule,
        codes=(item.rule.code,),
        level=item.rule.level,
        code=code,
        axes=(line,),
        titles=(code.title,),
        sentence=item.sentence,
        facts=(),
        remedy=Remedy(item.rule, item.remedy),
        source_line=place,
        snippet=item.code,
        related=(),
        occurrences=(Occurrence(frame=code.first, compile=code.first.compiles[0], ranks=(), process=0, seconds=0.0, kinds=kinds),),
        fingerprint=digest(_NAME, file, item.rule.code, stable_text(line)),
        messages=(item.message,) if item.message else (),
        exceptions=item.exceptions,
        notes=item.notes,
    )

"""The calls of ``torch.export`` in one process, while its records come in.

An export writes the same records as a compile, so each is built by a ``CompileBuilder``. Most stand outside of compile ids, with the
stack of the call that wrote them. Those of a strict export (torch 2.10 and later), and of any from 2.15 on, have an id, but no start.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shapelog.model.compile_builder import CompileBuilder
from shapelog.model.exports import Export
from shapelog.model.ids import CompileId
from shapelog.model.payloads import Payloads
from shapelog.reading.export_records import PARSERS, Assumed, Began, MismatchedKernel, MissingKernel, SymbolicExpression, Undecided
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import GuardAdded, Specialization, StackFrame, Symbol
from shapelog.reading.scanner import Record

_EXPORT = re.compile(r"(?:^|[/\\])torch[/\\]export[/\\]")
# Kinds that are written by exports alone, or next to it.
_OWN_KINDS = frozenset((*PARSERS, "exported_program"))
# Kinds with which an export can begin.
_OPENING_KINDS = frozenset(("describe_source", "create_symbol", "create_unbacked_symbol"))
# An id that no compile has.
_NO_ID = CompileId(-1, 0, None, 1)


@dataclass(slots=True, eq=False)
class _OpenExport:
    """An export of which records still come. ``describer`` numbers the tensors of one export."""

    built: CompileBuilder
    call: StackFrame | None = None
    is_draft: bool = False
    describer: int | None = None

    @property
    def is_over(self) -> bool:
        return self.built.program_span is not None or self.built.partial_span is not None or self.built.finished

    @property
    def has_evidence(self) -> bool:
        """Whether anything shows that this is an export, not a compile whose start is missing."""
        return self.call is not None or self.built.program_span is not None or any(kind in self.built.parsed for kind in _EVIDENCE)


_EVIDENCE = (Began, Assumed, MissingKernel, MismatchedKernel)


@dataclass(slots=True, eq=False)
class ExportsBuilder:
    """The exports of one process in order; the last one is open."""

    opened: list[_OpenExport] = field(default_factory=list)

    def has_ended(self, compile: CompileBuilder, body: Mapping[str, Any]) -> bool:
        """Whether a ``describe_source`` with the id of this export belongs to the next one, whose tensors are numbered anew."""
        own = next((export for export in self.opened if export.built is compile), None)
        return own is not None and own.describer is not None and own.describer != body.get("describer_id")

    def owner_of(self, record: Record, header: Mapping[str, Any], strings: Mapping[int, str]) -> CompileBuilder | None:
        """What builds the export that a record without a compile id belongs to; None where it belongs to none."""
        call, is_draft = _call(header.get("stack"), strings)
        if call is None and record.kind not in _OWN_KINDS and not (record.kind == "guard_added" and self.opened):
            return None
        describer = header["describe_source"].get("describer_id") if record.kind == "describe_source" else None
        if not self.opened or self._begins(self.opened[-1], record, call, describer):
            self.opened.append(_OpenExport(CompileBuilder(_NO_ID, 0, len(self.opened), record.offset)))
        export = self.opened[-1]
        export.call = export.call or call
        export.is_draft = export.is_draft or is_draft
        export.describer = describer if export.describer is None else export.describer
        return export.built

    def _begins(self, export: _OpenExport, record: Record, call: StackFrame | None, describer: object) -> bool:
        """Whether a record belongs to another export than the one that is open."""
        if record.kind == "export":
            return bool(export.built.parsed or export.built.inputs)
        if call and export.call and call != export.call:
            return True
        if describer is not None and export.describer is not None and describer != export.describer:
            return True
        if record.kind == "exported_program" and record.payload and export.built.program_span:
            return record.payload.digest != export.built.program_span.digest
        return export.is_over and record.kind in _OPENING_KINDS

    def notice(self, compile: CompileBuilder, record: Record, header: Mapping[str, Any], strings: Mapping[int, str]) -> None:
        """A record of a compile that has no start: perhaps an export with an id."""
        export = self.opened[-1] if self.opened else None
        if export is None or export.built is not compile:
            if compile.id.autograd is not None or compile.finished or record.kind not in _OPENING_KINDS:
                return
            has_begun = export is not None and not export.built.inputs and Began in export.built.parsed
            if has_begun and export is not None:
                compile.parsed[Began] = export.built.parsed[Began]
                export.built = compile
            else:
                export = _OpenExport(compile)
                self.opened.append(export)
        if export is None:
            return
        body = header[record.kind]
        if record.kind == "describe_source" and export.describer is None:
            export.describer = body.get("describer_id")
        if export.call is None:
            export.call, export.is_draft = _call(body.get("stack") if isinstance(body, dict) else None, strings)

    def __contains__(self, compile: CompileBuilder) -> bool:
        return any(export.built is compile and export.has_evidence for export in self.opened)

    def exports(self, rank: int | None, payloads: Payloads) -> tuple[Export, ...]:
        """The exports, once all records were taken."""
        shown = [export for export in self.opened if export.has_evidence]
        return tuple(_export(export, str(number), rank, payloads) for number, export in enumerate(shown, 1))


def _export(opened: _OpenExport, label: str, rank: int | None, payloads: Payloads) -> Export:
    built = opened.built
    parsed = built.parsed
    fake_kernels = (Assumed, MissingKernel, MismatchedKernel)
    compile = built.compile(rank, payloads)
    return Export(
        label=label,
        rank=compile.rank,
        process=compile.process,
        call=opened.call,
        is_draft=opened.is_draft or (Began not in parsed and any(kind in parsed for kind in fake_kernels)),
        is_detailed=Began in parsed,
        read_payload=payloads.text,
        inputs=compile.inputs,
        symbols=tuple({item.name: item for item in parsed.get(Symbol, ())}.values()),
        specializations=tuple(parsed.get(Specialization, ())),
        guards=_guards(parsed.get(GuardAdded, [])),
        assumptions=tuple({(item.expression, item.result): item for item in parsed.get(Assumed, ())}.values()),
        undecided=tuple(parsed.get(Undecided, ())),
        missing_kernels=tuple(dict.fromkeys(parsed.get(MissingKernel, ()))),
        mismatched_kernels=tuple(dict.fromkeys(parsed.get(MismatchedKernel, ()))),
        expressions={item.number: item for item in parsed.get(SymbolicExpression, ())},
        metrics=compile.metrics,
        program_span=built.program_span,
        partial_span=built.partial_span,
    )


def _guards(found: list[GuardAdded]) -> tuple[GuardAdded, ...]:
    """Each expression once, with its line where one of its records has it; without those that PyTorch did not keep."""
    by_text: dict[str, GuardAdded] = {}
    dropped = {item.expression for item in found if "suppressed" in item.prefix}
    dropped -= {item.expression for item in found if item.prefix and "suppressed" not in item.prefix}
    for item in found:
        if item.expression not in dropped and (item.expression not in by_text or item.prefix):
            by_text[item.expression] = item
    return tuple(by_text.values())


def _call(stack: object, strings: Mapping[int, str]) -> tuple[StackFrame | None, bool]:
    """The user's line that called ``torch.export``, and whether it called ``draft_export``; None where the stack passes through neither."""
    caller = None
    for frame in stack if isinstance(stack, list) else ():
        if not isinstance(frame, dict):
            continue
        file = frame.get("filename")
        name = strings.get(file, "") if isinstance(file, int) else str(file or "")
        if _EXPORT.search(name):
            return caller or StackFrame(name, 0, ""), frame.get("name") == "draft_export"
        if not is_library(name):
            line = frame.get("line")
            caller = StackFrame(name, line if type(line) is int else 0, str(frame.get("name") or ""), str(frame.get("loc") or ""))
    return None, False

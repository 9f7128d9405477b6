"""A call of ``torch.export`` → its row."""

from shapelog.model.exports import Export
from shapelog.report.analyses.exports import findings_of
from shapelog.rules import Level
from shapelog.tables.compile_rows import rank_number
from shapelog.tables.schema import ExportRow


def export_row(job: str, export: Export) -> ExportRow:
    """``job`` is the name of the job."""
    found = findings_of(export)
    errors = [item for item in found if item.rule.level is Level.ERROR]
    return ExportRow(
        job=job,
        rank=rank_number(export.rank),
        process=export.process or None,
        export=export.label,
        is_draft=export.is_draft,
        result=export.result.value,
        inputs=len(export.inputs),
        symbols=len(export.symbols),
        ranges="\n".join(f"{symbol}: {accepted}" for symbol, accepted in export.final_ranges.items()) or None,
        assumptions=len(export.assumptions),
        missing_kernels=len(export.missing_kernels),
        mismatched_kernels=len({item.op for item in export.mismatched_kernels}),
        failures=len(errors),
        codes=" ".join(dict.fromkeys(item.rule.code for item in found)),
        error=errors[0].sentence if errors else None,
        remedy=errors[0].remedy if errors else None,
        called_file=export.call.file if export.call else None,
        called_line=export.call.line if export.call else None,
    )

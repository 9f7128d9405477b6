"""The exports of a run in a terminal: what came of each, what stopped it or was assumed, and the ranges of its symbols."""

from shapelog.model.exports import ExportResult
from shapelog.report.details.expression_tree import asked_expressions, lines_of_tree
from shapelog.report.report import Report
from shapelog.report.results import Finding
from shapelog.reporters.terminal.diagnostic import code_place, explanation, note
from shapelog.reporters.terminal.text_page import LEVEL_COLORS, TextPage
from shapelog.rules import Section
from shapelog.text import file_name, plural

# Hints of PyTorch's, unless all is asked for.
_HINTS = 1
# The most that an expression is indented.
_DEEPEST = 24


def export_tables(page: TextPage, report: Report) -> tuple[str, ...]:
    """The tables that say more than the diagnostics above them."""
    has_findings = any(item.rule.section is Section.EXPORTS for item in report.findings)
    if page.verbose or not (has_findings or report.trace.compiles):
        return ("exports", "export_symbols")
    return ("exports",) if len(report.trace.exports) > 1 and not report.trace.compiles else ()


def export_findings(page: TextPage, report: Report) -> None:
    """What stopped exports, or was assumed in them; the worst first. What to type is with the next steps."""
    found = [item for item in report.findings if item.rule.section is Section.EXPORTS]
    for item in page.listed(sorted(found, key=lambda item: list(LEVEL_COLORS).index(item.rule.level)), "diagnostic", 0):
        page.blank()
        _finding(page, item)


def _finding(page: TextPage, item: Finding) -> None:
    page.diagnostic(item.rule.level, item.rule, item.sentence)
    code_place(page, str(item.place) if item.place else "", item.code)
    if item.message:
        explanation(page, item.message)
    for text in item.notes:
        note(page, text)
    note(page, item.remedy, "help")
    hints = item.message.hints if item.message else ()
    for hint in hints if page.verbose else hints[:_HINTS]:
        note(page, hint, "help")


def export_expressions(page: TextPage, report: Report) -> None:
    """With ``--verbose``: how each export came to the expressions that it had to decide, down to its symbols."""
    for export in report.trace.exports if page.verbose else ():
        asked = asked_expressions(export)
        if asked:
            page.blank()
            page.line((f"Where the conditions of {export.title} come from", "bold"))
        for item in asked:
            page.line(item.expression, (f"  {item.answer}", "dim"), indent=2)
            for depth, node in lines_of_tree(item.root):
                place = f"  {file_name(node.line.file)}:{node.line.line}  {node.line.code.strip()}" if node.line else ""
                made = f"{node.text}  " if depth else ""  # the expression itself is in the line above
                page.line(made, (f"{node.operation}{place}", "dim"), indent=min(4 + depth, _DEEPEST))


def exports_summary(page: TextPage, report: Report) -> None:
    """How many exports there were, and what came of them."""
    exports = report.trace.exports
    if not exports:
        return
    results = {result: sum(export.result is result for export in exports) for result in ExportResult}
    words = ", ".join(f"{count} {_WORDS[result]}" for result, count in results.items() if count)
    is_all = not any((report.summary.compiles, report.summary.limit_hits, report.summary.failures))
    page.blank()
    page.line((f"{'Summary' if is_all else 'Exports'}: {plural(len(exports), 'export')}", "bold"), f", {words}")
    if results[ExportResult.UNKNOWN] and "exports" not in export_tables(page, report):
        page.line("whether an export succeeded is recorded with TORCH_DTRACE instead of TORCH_TRACE", indent=2)
    assumptions = sum(len(export.assumptions) for export in exports)
    if assumptions:
        page.line(
            f"{plural(assumptions, 'assumption')} from the example inputs: torch.export.export fails until they are resolved", indent=2
        )


_WORDS = {
    ExportResult.EXPORTED: "succeeded",
    ExportResult.FAILED: "failed",
    ExportResult.UNKNOWN: "without a recorded result",
}

"""The exports of a run, as JSON data."""

from typing import Any

from shapelog.model.exports import Export, user_line
from shapelog.reading.payloads.exported_programs import Range
from shapelog.reading.records import Stack
from shapelog.report.details.expression_tree import AskedExpression, ExpressionNode, asked_expressions
from shapelog.reporters.json.parts import line_data


def export_data(export: Export) -> dict[str, Any]:
    fixed = {item.symbol: item.value for item in export.specializations}
    return {
        "export": export.label,
        "rank": export.rank,
        "process": export.process or None,
        "result": export.result.value,
        "draft": export.is_draft,
        "detailed": export.is_detailed,
        "called_at": line_data(export.call),
        "error": export.failure.title if export.failure else None,
        "inputs": [
            {"source": item.source, "size": list(item.size), "stride": list(item.stride), "dtype": item.dtype} for item in export.inputs
        ],
        "symbols": [
            {
                "symbol": item.name,
                "source": item.source or None,
                "example": item.hint or None,
                "declared": _range_data(export.declared_range(item)) if item.source else None,
                "accepted": _range_data(export.final_ranges.get(item.name)),
                "fixed_to": fixed.get(item.name),
                "made_at": _place(item.user_stack),
            }
            for item in export.symbols
        ],
        "conditions": [{"expression": item.expression, "asked_at": _place(item.user_stack, item.stack)} for item in export.guards],
        "assumptions": [
            {"expression": item.expression, "result": item.result, "made_at": _place(item.user_stack)} for item in export.assumptions
        ],
        "undecided": [{"expression": item.expression, "asked_at": _place(item.stack)} for item in export.undecided],
        "expressions": [_expression_data(item) for item in asked_expressions(export)],
        "missing_fake_kernels": [item.op for item in export.missing_kernels],
        "mismatched_fake_kernels": [{"operator": item.op, "reason": item.reason} for item in export.mismatched_kernels],
    }


def _expression_data(asked: AskedExpression) -> dict[str, Any]:
    return {
        "expression": asked.expression,
        "answer": asked.answer,
        "asked_at": line_data(asked.line),
        "variables": dict(asked.values),
        "made_by": _node_data(asked.root),
    }


def _node_data(node: ExpressionNode) -> dict[str, Any]:
    return {
        "expression": node.text,
        "operation": node.operation,
        "line": line_data(node.line),
        "operands": [_node_data(operand) for operand in node.operands],
    }


def _range_data(found: Range | None) -> dict[str, int | None] | None:
    return {"least": found.least, "most": found.most} if found else None


def _place(*stacks: Stack) -> str | None:
    """The user's line of the first of these stacks that has one."""
    return line_data(next((line for line in (user_line(stack.frames) for stack in stacks) if line), None))

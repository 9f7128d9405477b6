"""How an export came to the expressions that it had to decide: the operations behind each, down to its symbols, with the user's lines."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from shapelog.model.exports import Export, user_line
from shapelog.reading.records import Stack, StackFrame, Symbol
from shapelog.report.details.export_conditions import source_name

# A tree beyond this is cut off: operations in a loop are made of each other.
_DEEPEST = 60


class ExpressionNode(NamedTuple):
    """An expression, or a symbol where a branch ends. ``operation`` made it, ``-u0`` with ``neg(u0)``; of a symbol it is what that is in
    the code, as far as it is recorded. ``line`` is the user's, None where no record has it.
    """

    text: str
    operation: str
    line: StackFrame | None
    operands: tuple["ExpressionNode", ...] = ()


class AskedExpression(NamedTuple):
    """An expression that an export had to decide: ``answer`` is what it took it for. ``values`` are local variables of the line that asked,
    as (name, value).
    """

    expression: str
    answer: str
    line: StackFrame | None
    values: tuple[tuple[str, str], ...]
    root: ExpressionNode


def asked_expressions(export: Export) -> tuple[AskedExpression, ...]:
    """Those of which the trace has the operations, which takes ``TORCH_DTRACE``: each once, what was assumed and what failed first."""
    found: dict[str, AskedExpression] = {}
    for expression, answer, stacks, node, values in _asked(export):
        root = expression_tree(export, node) if expression not in found else None
        if root is not None:
            line = next((line for stack in stacks if (line := user_line(stack.frames))), None)
            found[expression] = AskedExpression(expression, answer, line, values, root)
    return tuple(found.values())


def _asked(export: Export) -> Iterator[tuple[str, str, tuple[Stack, ...], int, tuple[tuple[str, str], ...]]]:
    for assumed in export.assumptions:
        yield assumed.expression, f"assumed to be {assumed.result}", (assumed.user_stack, assumed.stack), assumed.node, assumed.values
    for undecided in export.undecided:
        yield undecided.expression, "not decided", (undecided.stack,), undecided.node, ()
    for guard in export.guards:
        yield guard.expression, "a condition of the program", (guard.user_stack, guard.stack), guard.node, guard.values


def expression_tree(export: Export, number: int) -> ExpressionNode | None:
    """The operations behind the expression of this number, each expression once; None where no record has it."""
    symbols = {item.name: item for item in export.symbols}
    return _node(export, symbols, number, set(), 0)


def _node(export: Export, symbols: Mapping[str, Symbol], number: int, seen: set[int], depth: int) -> ExpressionNode | None:
    made = export.expressions.get(number)
    if made is None or number in seen or depth > _DEEPEST:
        return None
    seen.add(number)
    operands = [node for part in made.made_of if (node := _node(export, symbols, part, seen, depth + 1))]
    operands += [_leaf(symbols[name]) for name in dict.fromkeys(made.arguments) if name in symbols]
    operation = f"{made.method}({', '.join(made.arguments)})"
    return ExpressionNode(made.text, operation, user_line(made.user_stack.frames), tuple(operands))


def _leaf(symbol: Symbol) -> ExpressionNode:
    line = None if symbol.source else user_line(symbol.user_stack.frames)
    return ExpressionNode(symbol.name, source_name(symbol.source.display_name) if symbol.source else "from data", line)


def lines_of_tree(node: ExpressionNode, depth: int = 0) -> Iterator[tuple[int, ExpressionNode]]:
    """Each node with its depth, one behind the expression that is made of it."""
    yield depth, node
    for operand in node.operands:
        yield from lines_of_tree(operand, depth + 1)

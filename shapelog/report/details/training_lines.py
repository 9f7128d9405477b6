"""Lines at which Dynamo stops only in training mode, such as those of LayerDrop, by their source file on this disk."""

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.source_names import is_dynamo
from shapelog.reading.python_files import is_readable, python_file
from shapelog.reading.records import StackFrame

IN_TRAINING_ALONE = (
    "This happens only in training mode: call eval() on the model where it is not trained; where it is, set training = False on the module "
    "with this line alone, unless that module needs it (for LayerDrop or dropout of its own)."
)
_FLAG = "training"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def with_training_hint(message: CompilerMessage) -> CompilerMessage:
    """A message with this hint first where it fits the line at which Dynamo stopped; another one as it is."""
    line = next((line for line in reversed(message.stack) if not is_dynamo(line.file)), None)
    is_known = line is not None and line.code and _runs_in_training(line)
    return message._replace(hints=(IN_TRAINING_ALONE, *message.hints)) if is_known else message


def _runs_in_training(line: StackFrame) -> bool:
    file = _file(line.file)
    if file is None or not 0 < line.line <= len(file.lines) or line.code.strip() not in file.lines[line.line - 1]:
        return False  # it is another file now
    around = [node for node in file.blocks if _has(node, line.line)]
    function = max((node for node in around if isinstance(node, _FUNCTIONS)), key=lambda node: node.lineno, default=None)
    first = function.lineno if function else 0
    branches = [node for node in around if isinstance(node, ast.If) and node.lineno > first]
    return any(_asks_for_training(node.test) and any(_has(part, line.line) for part in node.body) for node in branches) or any(
        _asks_for_training(value) for node in branches if node.lineno == line.line for value in _values(node.test, function)
    )


class _Blocks(NamedTuple):
    lines: tuple[str, ...]
    blocks: tuple[ast.If | ast.FunctionDef | ast.AsyncFunctionDef, ...]


@lru_cache(maxsize=32)
def _file(path: str) -> _Blocks | None:
    file = python_file(path) if is_readable(path) else None
    return _Blocks(file.lines, tuple(node for node in ast.walk(file.tree) if isinstance(node, (ast.If, *_FUNCTIONS)))) if file else None


def _has(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _asks_for_training(test: ast.expr) -> bool:
    """``self.training``, alone or as one of several conditions that all have to hold."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return any(isinstance(part, ast.Attribute) and part.attr == _FLAG for part in parts)


def _values(test: ast.expr, function: ast.AST | None) -> Iterator[ast.expr]:
    """What a function assigns to the variables that a condition asks for, and the condition itself."""
    yield test
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    for node in ast.walk(function) if function else ():
        if isinstance(node, ast.Assign) and any(isinstance(target, ast.Name) and target.id in names for target in node.targets):
            yield node.value

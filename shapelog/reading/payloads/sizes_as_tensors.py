"""Sizes that a captured graph makes a tensor of, and takes out of it again: ``torch.div(512, 256)``, and then ``x.view(4, div, 256)``.

While such a size is a number, the value of the tensor is known. Once it is symbolic, Dynamo stops there with "Data dependent operator"
(measured with torch 2.13), as the value of a tensor can be any.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.reading.payloads.python_code import syntax_tree

# A tensor of integers without dims, and what computes it from numbers alone; most graphs have no such line.
_MADE = re.compile(r'^(?P<name>\w+): "[iu]\d{1,2}\[\][^"]*" = (?P<call>torch\.\w+\(-?\d[^"]*\))(?:;  |$)')
_COMPUTED = re.compile(r'^(?P<name>\w+): "[iu]\d{1,2}\[\][^"]*" = (?P<from>\w+) (?:[-+*%]|//) \d+(?:;  |$)')
_TAKES_SIZES = re.compile(
    r"view|reshape|expand|repeat|tile|unflatten|narrow|as_strided|arange|(?:new_)?(?:zeros|ones|empty|full|rand|randn)"
)


class SizeAsTensor(NamedTuple):
    """The numbers that a call makes a tensor of, and that call."""

    numbers: tuple[int, ...]
    call: str


def sizes_as_tensors(statements: Iterable[str]) -> Iterator[SizeAsTensor]:
    """The calls whose result is later a size, in the order of the statements of a graph."""
    made: dict[str, SizeAsTensor] = {}
    found: dict[SizeAsTensor, None] = {}
    for statement in statements:
        if (call := _MADE.match(statement)) and (numbers := _numbers(call["call"])):
            made[call["name"]] = SizeAsTensor(numbers, call["call"])
        elif made and (computed := _COMPUTED.match(statement)) and computed["from"] in made:
            made[computed["name"]] = made[computed["from"]]
        elif made:
            found |= dict.fromkeys(made[name] for name in _sizes_in(statement) if name in made)
    yield from found


def _numbers(call: str) -> tuple[int, ...]:
    """The arguments of a call that has nothing but ints and keywords, else ()."""
    tree = syntax_tree(call, "eval")
    node = tree.body if isinstance(tree, ast.Expression) else None
    arguments = node.args if isinstance(node, ast.Call) else []
    values = [item.value for item in arguments if isinstance(item, ast.Constant) and type(item.value) is int]
    return tuple(values) if len(values) == len(arguments) else ()


def _sizes_in(statement: str) -> Iterator[str]:
    """The names among the arguments of calls that take sizes."""
    tree = syntax_tree(statement, "exec")
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)) if tree is not None else ():
        if isinstance(call.func, ast.Attribute) and _TAKES_SIZES.fullmatch(call.func.attr):
            yield from (node.id for argument in call.args for node in ast.walk(argument) if isinstance(node, ast.Name))

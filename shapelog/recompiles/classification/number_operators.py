"""What the operators of a graph do with a Python float: some take a tensor in its place; at others, a tensor would break the graph.

Measured with torch 2.13, by passing each operator a tensor. Code of ``torch.nn.functional`` that graphs name is not traced further.
"""

import math
import re
from typing import NamedTuple

from shapelog.reading.payloads.guards.expressions import split_items
from shapelog.recompiles.facts.compile_facts import CompileFacts

_STATEMENT = re.compile(r'^\w+(?:: "[^"]*")? = ([\w.]+)\((.*)\)$')
_MADE_NUMBER = re.compile(r'^(\w+): "Sym\([^"]*\)" = (.*)$')
_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{0,40})?(?:e[+-]?\d{1,9})?$")
_OF_NUMBERS = re.compile(r"torch\.(?:nn\.functional|functional|_C\._nn|_C\._linalg)\.\w+$")
# Written in Python, of operators that take tensors.
_COMPOSED = frozenset(("gumbel_softmax", "normalize"))
_FILLING = frozenset(("arange", "exponential_", "fill_diagonal_", "full_like", "new_full", "normal_"))
_MEASURING = frozenset(("dist", "histc", "norm", "renorm"))
_ACTIVATIONS = frozenset(("celu", "hardshrink", "rrelu", "threshold"))
_NUMBERS_ALONE = _FILLING | _MEASURING | _ACTIVATIONS | {"_foreach_lerp"}
_KEYWORDS_OF_NUMBERS = frozenset(("alpha", "beta", "correction", "eps", "ord", "p"))
_TENSORS_AS_WELL = frozenset(("bernoulli_", "float_power", "nanquantile", "normal", "quantile"))
# These take two tensors or two numbers; a number from which ``normal`` draws tensors of a size, too.
_BOUNDED = frozenset(("clamp", "clip"))


class _Use(NamedTuple):
    """An operator that gets a float, the keyword that it is passed by ("" for none), and whether other arguments are numbers, too."""

    operator: str
    keyword: str
    has_other_numbers: bool

    @property
    def name(self) -> str:
        return self.operator.rpartition(".")[2]


def break_with_tensor(number: str, known: CompileFacts, before: str = "", other: CompileFacts | None = None) -> bool:
    """Whether a graph passes a float, as it is written there, to an operator at which a tensor would break the graph.

    Where the float is a constant, ``other`` is a graph that has the value ``before`` at the same place, or both have a multiple or a sum
    there that the code computes from it.
    """
    return any(map(_takes_number_alone, _uses(number, known, before, other)))


def take_tensor(number: str, known: CompileFacts, before: str, other: CompileFacts) -> bool:
    """Whether a float whose exact value an operator needs may be a tensor there."""
    found = _uses(number, known, before, other)
    return bool(found) and all(use.name in _TENSORS_AS_WELL and not (use.name == "normal" and use.has_other_numbers) for use in found)


def _takes_number_alone(use: _Use) -> bool:
    by_keyword = use.keyword in _KEYWORDS_OF_NUMBERS and not use.name.endswith("_")
    by_name = use.name in _NUMBERS_ALONE or _OF_NUMBERS.match(use.operator) is not None
    is_bound = use.name in _BOUNDED and use.has_other_numbers
    is_factor = use.name == "addcmul" and use.keyword == "value"
    return use.name not in _COMPOSED and (by_keyword or by_name or is_bound or is_factor)


def _uses(number: str, known: CompileFacts, before: str, other: CompileFacts | None) -> set[_Use]:
    uses = _uses_in(number, known)
    if other is not None:
        uses &= _uses_in(before, other)
    passed_on = {use for name in _computed_in(number, known) for use in _uses_in(name, known)}
    return uses | passed_on or (_uses_of_computed(number, known, before, other) if other else set())


def _computed_in(number: str, known: CompileFacts) -> list[str]:
    """The numbers that a graph itself computes from a float: ``mul: "Sym(0.5)" = 2.0 * 0.25``."""
    found: list[str] = []
    for statement in known.compile.graph.statements if known.compile.graph and number else ():
        made = _MADE_NUMBER.match(statement)
        if made and not {number, *found}.isdisjoint(re.split(r"[,\s=()\[\]]+", made[2].partition(";  ")[0])):
            found.append(made[1])
    return found


def _uses_of_computed(number: str, known: CompileFacts, before: str, other: CompileFacts) -> set[_Use]:
    """The same of what two graphs compute from two values: numbers with the same ratio or difference at the same place."""
    if not (_NUMBER.match(number) and _NUMBER.match(before)):
        return set()
    statements = [facts.compile.graph.statements if facts.compile.graph else () for facts in (known, other)]
    found = set()
    for one, two in zip(*statements, strict=False) if len(statements[0]) == len(statements[1]) else ():
        calls = [_STATEMENT.match(text.partition(";  ")[0]) for text in (one, two)] if one != two else []
        own, others = ([item.rpartition(" = ")[::2] for item in split_items(call[2])] if call else [] for call in calls or (None, None))
        for at, (keyword, value) in enumerate(own if len(own) == len(others) else ()):
            if calls[0] and _is_computed(value, number, others[at][1], before):
                numbers = (text for place, (_, text) in enumerate(own) if place != at)
                found.add(_Use(calls[0][1], keyword, any(map(_NUMBER.match, numbers))))
    return found


def _is_computed(value: str, number: str, other: str, before: str) -> bool:
    if value == other or not (_NUMBER.match(value) and _NUMBER.match(other)):
        return False
    result, argument, old_result, old = map(float, (value, number, other, before))
    return math.isclose(result * old, old_result * argument, rel_tol=1e-9) or math.isclose(
        result - old_result, argument - old, rel_tol=1e-9
    )


def _uses_in(number: str, known: CompileFacts) -> set[_Use]:
    found = set()
    for statement in known.compile.graph.statements if known.compile.graph and number else ():
        call = _STATEMENT.match(statement.partition(";  ")[0]) if number in statement else None
        arguments = [argument.rpartition(" = ")[::2] for argument in split_items(call[2])] if call else []
        for at, (keyword, value) in enumerate(arguments):
            if call and value == number:
                others = (text for place, (_, text) in enumerate(arguments) if place != at)
                found.add(_Use(call[1], keyword, any(map(_NUMBER.match, others))))
    return found

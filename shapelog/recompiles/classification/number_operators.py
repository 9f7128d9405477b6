"""What the operators of a graph do with a Python float: some take a tensor in its place; at others, a tensor would break the graph.

Measured with torch 2.13, by passing each operator a tensor. Code of ``torch.nn.functional`` that graphs name is not traced further.
"""

import re
from typing import NamedTuple

from shapelog.reading.payloads.guards.expressions import split_items
from shapelog.recompiles.facts.compile_facts import CompileFacts

_STATEMENT = re.compile(r'^\w+(?:: "[^"]*")? = ([\w.]+)\((.*)\)$')
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

    Where the float is a constant, ``other`` is a graph that has the value ``before`` at the same place.
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
    return uses & _uses_in(before, other) if uses and other else uses


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

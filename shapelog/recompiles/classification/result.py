"""What every classifier returns, and the words that several of them use."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from shapelog.reading.payloads.guards.comments import UserLine, place_of, places_of
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source, display_text, is_library
from shapelog.reading.records import StackFrame
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.int_usage import is_tested, spelled, tensor_made_of
from shapelog.rules import Verdict
from shapelog.text import cut, enumerated

TRACED = "accept one graph for calls that are traced, as by torch.export, and one for others"
MARK_FORWARD = "mark the sizes that vary in the inputs of the forward pass, or pass dynamic=True to torch.compile"
FORWARD_TYPES = "pass the same types and dtypes to every forward pass, from which these inputs come, or accept one graph for each"
# A gradient that one call has and another one has not.
GRADIENT = ".grad"
CLEARED = "clear the gradients before each call, zero_grad(set_to_none=True), or accept one graph with gradients and one without"
# What else code may branch on.
_BRANCHED_ON = frozenset((Kind.VALUE, Kind.TYPE, Kind.GLOBAL_STATE, Kind.REQUIRES_GRAD, Kind.DTYPE, Kind.RANK, Kind.LENGTH, Kind.ID))
# Shorter than that of an int64, and not that of Inductor's 32-bit indices, which hardly any size exceeds, and which 0/1 may have as well.
UPPER_BOUND = re.compile(r" <= (?!2147483647$)\d{1,15}$")
# ``torch.sym_float(n)`` is ``float(n)`` of a symbol.
_SYMBOLIC = re.compile(r"\btorch\._?sym_")
# Characters of a guard in a sentence: sizes that were divided have very long ones.
_LONGEST_GUARD = 120
_LONGEST_CALL = 60
# A layer may get one weight of another shape; several are those of another layer or model.
_SEVERAL_PARAMETERS = 2
# A condition on a multiple of a size or int.
_PRODUCT = re.compile(r"\((?P<factor>[1-9]\d{0,8})\*(?P<of>(?:[^()]|\(\)){1,200})\) (?P<operator>[=!<>]=|[<>]) (?P<number>\d{1,18})")

_COMPARED = re.compile(r"(?P<left>.*) (?P<compared>(?:[=!<>]=|[<>]) -?\d{1,18})", re.S)
_SIZE = re.compile(r"[\w.\[\]']{1,200}\.(?:size|stride)\(\)\[\d{1,3}\]")


class Classification(NamedTuple):
    """The rules that a violation falls under, the main one first, and what happened.

    ``size_related`` and ``verdict`` are None, and ``remedy`` is "", for what the main rule states.
    """

    codes: tuple[str, ...]
    sentence: str
    size_related: bool | None = None
    verdict: Verdict | None = None
    remedy: str = ""


Classifier = Callable[[Violation, str, CompileFacts, CompileFacts], Classification]
"""Takes a violation, the name of what changed, and what is known of the entry and of the call."""


def short_type(text: str) -> str:
    """``<class 'a.B'>``, ``<enum 'B'>`` or ``a.B`` → ``B``."""
    quoted = re.fullmatch(r"<\w+ '(.*)'>", text)
    return (quoted[1] if quoted else text).rsplit(".", 1)[-1]


def line_of(item: Violation) -> UserLine | None:
    """The line of code that a guard is for, None where it is not recorded."""
    return (item.reason.place if item.reason else None) or place_of(item.comment)


def code_of(item: Violation) -> str:
    """The code of that line, "" where it is not recorded."""
    place = line_of(item)
    return place.code if place else ""


def have_other_graphs(entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether the graphs of both are recorded and not similar."""
    graph, other = entry.compile.graph, call.compile.graph
    return bool(graph and other and graph.key != other.key)


def compute_the_same(entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether both graphs are recorded and have the same operations of the same lines on the same inputs, with the same numbers, up to the
    end of the code.
    """
    one, other = entry.compile.graph, call.compile.graph
    if not (one and other and any(one.operation_comments)) or entry.compile.breaks or call.compile.breaks:
        return False
    is_same = (one.key, one.numbers, one.placeholders) == (other.key, other.numbers, other.placeholders)
    return is_same and one.operation_comments == other.operation_comments and entry.compile.changed_objects == call.compile.changed_objects


def are_of_two_models(entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether several parameters of the same names have other shapes: the code runs for another module."""
    before = {item.source: item.size for item in entry.compile.inputs if item.is_parameter}
    after = ((item.source, item.size) for item in call.compile.inputs if item.is_parameter)
    return sum(before.get(source, size) != size for source, size in after) >= _SEVERAL_PARAMETERS


def compute_with_other_numbers(entry: CompileFacts, call: CompileFacts, *, on_same_tensors: bool = True) -> bool:
    """Whether both have the same operations, on the same tensors, with other numbers, and no guarded value differs, keys of dicts apart."""
    graph, other = entry.compile.graph, call.compile.graph
    if not (graph and other) or graph.numbers == other.numbers or graph.key != other.key:
        return False
    if on_same_tensors and graph.placeholders != other.placeholders:
        return False
    values = ((key, value) for key, value in entry.facts.items() if key[1].kind is Kind.VALUE and key[0].dict_of_key is None)
    return all(call.facts.get(key, value) == value for key, value in values)


def run_other_lines(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether each of two graphs has operations of lines of its own function that the other one has not, and no other value or type that
    both guard differs: the code branches on what changed, though no guard names the line.
    """
    graphs = entry.compile.graph, call.compile.graph
    name = entry.compile.metrics.code_name
    own, other = ({line.line for line in graph.user_lines if line.name == name} if graph else set[int]() for graph in graphs)
    if not (own - other and other - own):
        return False
    guarded = ((key, fact) for key, fact in entry.facts.items() if key[1].kind in _BRANCHED_ON and key != item.key)
    return all(call.facts.get(key, fact) == fact for key, fact in guarded)


def takes_another_way(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether a line branches on what changed, and the graphs differ."""
    return have_other_graphs(entry, call) and is_tested(code_of(item), spelled(item.source))


def line_that_failed(shape: ShapeGuard, values: Sequence[float]) -> UserLine | None:
    """The line of a guard that these values do not meet; of a range with a line for each end, that of the end which they are beyond."""
    upper = UPPER_BOUND.search(shape.expression)
    is_above = bool(upper and values and values[0] > int(upper[0].removeprefix(" <= ")))
    lines = places_of(shape.comment) or (place_of(shape.comment),)
    return lines[-1] if is_above else lines[0]


def computes_something_else(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether the code branches on what changed, as its graphs show: by lines that only one of them runs, or by other numbers on the same
    lines, ``x + len({a, b})`` for two tensors that are one.
    """
    return run_other_lines(item, entry, call) or compute_with_other_numbers(entry, call)


def made_outside(source: Source, lines: Iterable[StackFrame | UserLine | None]) -> str:
    """What to do about a number or a list that a line of the user's makes a tensor of, which may be made before; "" where none does."""
    own = (line for line in lines if line and not is_library(line.file))
    made = next(filter(None, (tensor_made_of(line.code, source) for line in own)), "")
    return f"make {cut(made, _LONGEST_CALL)} outside the compiled code, and pass the tensor" if made else ""


def shown_guard(expression: str) -> str:
    """A guard as a sentence has it: in the user's words, and of a very long one what it is about and the number that it compares."""
    shown = _SYMBOLIC.sub("", display_text(expression)).replace("(-1)*", "-")
    product = _PRODUCT.fullmatch(shown)
    if product and int(product["number"]) % int(product["factor"]) == 0:  # ``(3*n) != 144`` is ``n != 48``
        shown = f"{product['of']} {product['operator']} {int(product['number']) // int(product['factor'])}"
    long = _COMPARED.fullmatch(shown) if len(shown) > _LONGEST_GUARD else None
    names = list(dict.fromkeys(_SIZE.findall(long["left"]))) if long else []
    if long and names and "(" in long["left"]:
        shown = f"an expression of {enumerated(names)} {long['compared']}"
    return cut(shown, _LONGEST_GUARD)


def is_in_state(source: Source, entry: CompileFacts) -> bool:
    """Whether something is the ``state`` of an optimizer of PyTorch's, or in it."""
    owner, has_state, _ = source.partition(".state")
    return bool(has_state) and entry.types.get(Source(owner), "").startswith("torch.optim.")

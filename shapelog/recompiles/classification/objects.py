"""Other objects, by their identity, their end and their attributes."""

import re

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import LENGTH, TENSOR, VALUE, Kind
from shapelog.reading.payloads.source_names import Source, is_library
from shapelog.recompiles.classification.functions import EACH_FUNCTION, for_functions, other_function
from shapelog.recompiles.classification.library_calls import is_passed_by_library
from shapelog.recompiles.classification.other_types import GRAPH_MODULE, ONE_GRAPH_MODULE, SAME_CLASS, object_type, of_wrapper
from shapelog.recompiles.classification.result import (
    Classification,
    Classifier,
    code_of,
    compute_with_other_numbers,
    computes_something_else,
    have_other_graphs,
    is_in_state,
    short_type,
    takes_another_way,
)
from shapelog.recompiles.classification.shown_objects import ENUM, MEMBER
from shapelog.recompiles.evidence.object_types import kind_seen
from shapelog.recompiles.evidence.violation import THE_CLASS, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.facts.gathered import COMPILED_FUNCTION
from shapelog.recompiles.passed_functions import other_library_function
from shapelog.rules import Verdict
from shapelog.text import with_article

# The last two are of NumPy: ``numpy.amin``, ``numpy.add``.
_LIBRARY_FUNCTIONS = frozenset(("function", "builtin_function_or_method", "_ArrayFunctionDispatcher", "ufunc"))
_COMPILE_FIRST = "replace the function by its compiled version before the first call, or accept one more graph"
_INT_AS_WELL = "set all attributes in __init__, and mark the int {} as dynamic: its value changed as well"
_VALUE_AS_WELL = "set all attributes in __init__, and accept one graph for each value of {}: its value changed as well"
_SAME_TENSORS = "set this attribute on every tensor that is passed, or on none"
_EACH_FLAG = "accept one graph for each case: the code behaves differently depending on this attribute"
_SET_ITSELF = "accept one more graph: the compiled code itself set the attribute, in an earlier call"
_PERHAPS_A_CONSTANT = "pass the same value in every call: by its address it may be None, True or False; otherwise accept one graph for each"
_HIGHEST_OF_PYTHON = 1 << 28
_UNKNOWN_OBJECT = "create the object once, outside the call, and reuse it; if it is a class or an enum member, accept one graph for each"
_OF_FORWARD = (
    "create the model and its optimizer once, and reuse them, or accept one graph for each: a backward pass takes the objects of its "
    "forward pass"
)
_OWN_OBJECT = (
    "create the object once and reuse it; where each instance of the class has its own, each needs its own graph: "
    "raise the recompile limit above the number of instances"
)
_ITSELF = "create the object once and reuse it; several objects need one graph each: raise the recompile limit above the number of objects"
_TYPE_OF = re.compile(r"type\((.+)\)")
_CLASS_FOR_LIBRARY = "accept one graph for each class: library code calls this function with several"
_NEW_CLASS = "{} is a new class {}, not the one this was compiled for"
# The type of a class: ``type``, ``torch.autograd.function.FunctionMeta``, ``abc.ABCMeta``.
_METACLASS = re.compile(r"(?:^|\.|')(?:\w*Meta|type)'?>?$")
_OPERATORS = frozenset({"OpOverload", "OpOverloadPacket"})
_REGISTER_ONCE = "register the operator once, before the first compiled call: each registration makes a new object"
_CLASS_IN_LIBRARY = "accept one graph for each class that this library code is called with"
_SAME_TENSOR = "copy_() new values into the same tensor, or leave out guard=True where mark_static_address asks for this guard"
# Freezing makes parameters and buffers constants of the graph (``torch/_inductor/freezing.py``).
_FREEZES = '"freezing": true'
_FROZEN = "turn torch._inductor.config.freezing off where weights or buffers change, or accept one graph for each set of them"
_SAME_STATE = "copy_() new values into the same tensors of the state: the optimizer makes its step depend on which tensors they are"
# Dynamo marks the parameters and the state of an optimizer (``torch/_dynamo/variables/optimizer.py``).
_IN_OPTIMIZER, _ONE_OPTIMIZER = re.compile(r"[/\\]torch[/\\]optim[/\\]"), "create the optimizer once: another one has other tensors"
_OTHER_PARTS = "accept one graph for each of these objects: what they hold differs, and so do their graphs"
_OTHER_CONTENT = "accept one graph for each object: the code computes with numbers that differ between them"
_WITHOUT_ID = "leave id() of it out of the compiled code, or accept one graph for each {}"
# Before torch 2.8 a bool is guarded by its id, and CPython has True and False next to each other, 32 bytes apart.
_BOOL_DISTANCE = 32
_OPERATOR = re.compile(r"<OpOverload\(op='([\w.]+)'")


def lifetime(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """What an entry belongs to is gone: an object, or a class that a function or torch.fx makes in each call."""
    of_object = _TYPE_OF.fullmatch(item.source)
    kind = str(kind_seen(entry, Source(of_object[1]) if of_object else item.source))
    is_class = of_object is not None or kind.startswith(THE_CLASS)
    own = SAME_CLASS if is_class and "<locals>" in kind else ""
    remedy = ONE_GRAPH_MODULE if kind.removeprefix(THE_CLASS).startswith(GRAPH_MODULE) else own
    shown = "" if of_object or is_class else _kind_of_object(str(entry.types.get(item.source, "")))
    sentence = f"{name}{shown} was garbage-collected, which discards the code compiled for it"
    if not remedy and _holds_other_parts(item.source, entry, call):
        return Classification(("SL319",), sentence, verdict=Verdict.JUSTIFIED, remedy=_OTHER_PARTS)
    return Classification(("SL319",), sentence, remedy=remedy)


def _holds_other_parts(source: Source, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether two objects hold lists or dicts of other lengths, as optimizers of two models do, and their graphs differ."""
    graph, other = entry.compile.graph, call.compile.graph
    if not graph or not other or graph.key == other.key:
        return False
    inside = tuple(f"{source}{mark}" for mark in ".[")
    held = ((key, fact) for key, fact in entry.facts.items() if key[1] == LENGTH and key[0].startswith(inside))
    return any(call.facts.get(key, fact) != fact for key, fact in held)


def _kind_of_object(class_name: str) -> str:
    """`` (an Adam)``; "" where the class is not known."""
    return f" ({with_article(short_type(class_name))})" if class_name and not class_name.isdigit() else ""


def has_attribute(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """An attribute that the code asks for with ``hasattr``."""
    now = "no longer has" if str(item.expected) == "True" else "now has"
    sentence = f"{name} {now} the attribute {item.prop.name}"
    if now == "now has" and item.source in entry.compile.changed_objects and item.source not in call.compile.changed_objects:
        return Classification(("SL320",), sentence, verdict=Verdict.JUSTIFIED, remedy=_SET_ITSELF)
    is_tensor = any((item.source, TENSOR) in known.facts for known in (entry, call))
    is_other = (is_tensor and have_other_graphs(entry, call)) or computes_something_else(item, entry, call)
    is_asked = _branches_on_attribute(item) and (call.compile.graph is None or is_other)
    if is_asked or (_is_flag(item) and takes_another_way(item, entry, call)):
        return Classification(("SL320",), sentence, verdict=Verdict.JUSTIFIED, remedy=_EACH_FLAG)
    of_class = entry.guarded((Source(f"dict(type({item.source}).__dict__)['{item.prop.name}']"), VALUE))
    own = call.guarded((Source(f"{item.source}.{item.prop.name}"), VALUE))
    if of_class is not None and own is not None and of_class != own:
        attribute = f"{name}.{item.prop.name}"
        remedy = (_INT_AS_WELL if integer(str(own)) is not None else _VALUE_AS_WELL).format(attribute)
        return Classification(("SL320",), f"{sentence}: {own} in place of {of_class}, which its class has", remedy=remedy)
    return Classification(("SL320",), sentence, remedy=_SAME_TENSORS if is_tensor else "")


def _asks_for_id(item: Violation, name: str) -> bool:
    return re.search(rf"(?<![\w.])id\({re.escape(name)}\)", code_of(item)) is not None


def _branches_on_attribute(item: Violation) -> bool:
    """Whether a line branches on an attribute being there, ``if hasattr(obj, "z"):``."""
    asked = rf"""\b(?:if|elif|while)\b.*\bhasattr\([^'"]+['"]{re.escape(item.prop.name)}['"]\)"""
    return re.search(asked, code_of(item)) is not None


def _is_flag(item: Violation) -> bool:
    """Whether a line asks for the value that an attribute has, or else a default: were it there from the start, its value would change."""
    return re.search(rf"""\bgetattr\([^'"]+['"]{re.escape(item.prop.name)}['"],""", code_of(item)) is not None


def identity(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    return of_wrapper(_identity(item, name, entry, call), item, entry, call)


def _identity(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    expected = str(item.expected)
    if item.source.endswith("__code__") or "code" in expected.split("'")[-2:]:
        function = name.removesuffix(".__code__")
        if item.actual == COMPILED_FUNCTION:
            sentence = f"{function} was replaced by the result of torch.compile after this was compiled"
            return Classification(("SL309",), sentence, remedy=_COMPILE_FIRST)
        return other_function(item.source, function, code_of(item), entry, call)
    if short_type(expected) in _LIBRARY_FUNCTIONS:
        return Classification(("SL311",), other_library_function(name, entry, call), remedy=for_functions(item.source))
    if operator := _OPERATOR.search(expected):
        return Classification(("SL311",), f"{name} is a different operator than {operator[1]}", remedy=EACH_FUNCTION)
    if short_type(expected) in _OPERATORS and not item.source.startswith("G["):  # torch.ops has one object for each
        return Classification(("SL311",), f"{name} is a different operator", remedy=EACH_FUNCTION)
    if expected.startswith(THE_CLASS):
        return _class(item, name, entry, call)
    if _METACLASS.search(str(item.actual)) and short_type(expected) == name.rpartition(".")[2]:  # written as an instance of itself
        return Classification(("SL308",), _NEW_CLASS.format(name, short_type(expected)), remedy=SAME_CLASS)
    if ENUM.search(expected):
        return Classification(("SL311",), f"{name} is a different member of the enum {short_type(expected)}")
    if member := MEMBER.fullmatch(expected):
        return Classification(("SL311",), f"{name} is a different member of the enum {member[1]}")
    class_name = short_type(expected)
    if re.search(rf"(?<!\w)(?:is|is not|==|!=) (?:\w+\.)*{re.escape(class_name)}\.[A-Za-z]\w*(?!\w|\(|\.)", code_of(item)):
        return Classification(("SL311",), f"{name} is a different object than before, and the code compares it with those of {class_name}")
    before_id, after_id = integer(expected), integer(str(item.actual))
    if before_id is not None and after_id is not None and abs(before_id - after_id) == _BOOL_DISTANCE:
        return Classification(("SL311",), f"{name} changed between True and False")
    return _object(item, name, entry, call)


def _class(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    expected = str(item.expected)
    before = short_type(expected.removeprefix(THE_CLASS))
    if not str(item.actual).startswith(THE_CLASS):
        by_library = _CLASS_FOR_LIBRARY if is_passed_by_library(item, entry, call) else ""
        remedy = SAME_CLASS if "<locals>" in expected else by_library  # each call of the function around it makes one
        return Classification(("SL311",), f"{name} was the class {before} and has changed", remedy=remedy)
    after = short_type(str(item.actual).removeprefix(THE_CLASS))
    if before == after:
        return Classification(("SL308",), _NEW_CLASS.format(name, before), remedy=SAME_CLASS)
    in_library = _CLASS_IN_LIBRARY if is_library(call.code_file) else ""
    remedy = _CLASS_FOR_LIBRARY if is_passed_by_library(item, entry, call) else in_library
    without_id = _WITHOUT_ID.format("class") if _asks_for_id(item, name) else ""
    return Classification(("SL311",), f"{name} changed from the class {before} to {after}", remedy=remedy or without_id)


def _of_other_tensor(item: Violation, entry: CompileFacts, call: CompileFacts) -> str:
    """What to do about a tensor that is guarded by its identity. Under freezing, values that are written into it later are not seen."""
    if any(_FREEZES in str(known.compile.metric_fields.get("inductor_config", "")) for known in (entry, call)):
        return _FROZEN
    if _IN_OPTIMIZER.search(call.code_file):
        return _ONE_OPTIMIZER
    return _SAME_STATE if is_in_state(item.source, entry) else _SAME_TENSOR


def _object(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another object of any kind."""
    expected = str(item.expected)
    class_name = short_type(expected)
    kind = _kind_of_object(expected)
    remedy = _OWN_OBJECT if _is_of_instance(item.source) else _ITSELF if name == "self" else "" if kind else _UNKNOWN_OBJECT
    if kind and item.source.startswith("G[") and class_name in _OPERATORS:  # found by its name, which stayed
        remedy = _REGISTER_ONCE
    elif call.is_of_captured_graph:
        remedy = _OF_FORWARD
    elif expected == "torch.Tensor":
        remedy = _of_other_tensor(item, entry, call)
    elif _asks_for_id(item, name):
        remedy = _WITHOUT_ID.format("object")
    elif remedy == _UNKNOWN_OBJECT and _may_be_a_constant(item):
        remedy = _PERHAPS_A_CONSTANT
    sentence = f"{name}{kind} is a different object from the one this was compiled for"
    if not remedy and compute_with_other_numbers(entry, call):  # such as a numpy.finfo of another dtype
        return Classification(("SL308",), sentence, verdict=Verdict.JUSTIFIED, remedy=_OTHER_CONTENT)
    if remedy in ("", _ITSELF, _OWN_OBJECT) and _holds_other_parts(item.source, entry, call):
        return Classification(("SL308",), sentence, verdict=Verdict.JUSTIFIED, remedy=_OTHER_PARTS)
    return Classification(("SL308",), sentence, remedy=remedy)


def _may_be_a_constant(item: Violation) -> bool:
    """Whether all that is known of an object is an address at which Python has its own, such as None and True, where it is not built to be
    loaded anywhere: what a program makes is far above these.
    """
    number = integer(str(item.expected))
    return number is not None and number < _HIGHEST_OF_PYTHON and integer(str(item.actual)) is None


def _is_of_instance(source: Source) -> bool:
    """Whether an object is held by the instance whose method is compiled."""
    return source.display_name.startswith("self.")


# Old versions of torch compare the versions of a module's dicts; later ones check what the code reads.
_KEEP_MODULE = (
    "set nothing on the module between calls, not even by train() or eval(), or update PyTorch: later versions check only what the "
    "code reads"
)


def attributes(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    if item.reason and item.reason.family == "module":
        sentence = f"{name} was modified: an attribute, a parameter or a hook was set, as train() and eval() do"
        return Classification(("SL320",), sentence, remedy=_KEEP_MODULE)
    owner, _, attribute = item.source.rpartition(".")
    inner = _missing_attributes(item.source, entry, call)
    if len(inner) == 1:
        return Classification(("SL320",), f"{name} no longer has the attribute {inner[0]}")
    if not attribute.isidentifier() or item.source in call.types:
        return Classification(("SL320",), f"{name} no longer has an attribute that it had before")
    if call.tree is None:
        return Classification(("SL320",), f"{name}, or an attribute of it, no longer exists")
    return Classification(("SL320",), f"{Source(owner).display_name} no longer has the attribute {attribute}")


def _missing_attributes(source: Source, entry: CompileFacts, call: CompileFacts) -> list[str]:
    """What the entry reads of an object, and a call with that object does not have.

    From torch 2.13 on, the text of an attribute that the code reads names the attribute, and that of one which it asks for with
    ``hasattr`` its object alone.
    """
    if source not in call.types and (call.tree is not None or "." in source):
        return []
    inner = (part for known in entry.types if known.startswith(f"{source}.") and (part := known[len(source) + 1 :]).isidentifier())
    return [part for part in inner if f"{source}.{part}" not in call.types]


CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.HAS_ATTRIBUTE: has_attribute,
    Kind.ATTRIBUTES: attributes,
    Kind.ID: identity,
    Kind.LIFETIME: lifetime,
    Kind.TYPE: object_type,
}

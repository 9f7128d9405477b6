"""Objects, classes, functions and attributes that changed."""

import re
from collections.abc import Callable
from typing import NamedTuple

from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.properties import LENGTH, TENSOR, VALUE, Kind, is_address
from shapelog.reading.payloads.source_names import Source, is_library, is_test_runner
from shapelog.reading.records import StackFrame
from shapelog.recompiles.classification.result import (
    FORWARD_TYPES,
    TRACED,
    Classification,
    Classifier,
    code_of,
    compute_with_other_numbers,
    have_other_graphs,
    short_type,
    takes_another_way,
)
from shapelog.recompiles.evidence.object_types import kind_seen
from shapelog.recompiles.evidence.violation import THE_CLASS, Described, Known, Violation, was_traced
from shapelog.recompiles.facts import COMPILED_FUNCTION, CompileFacts
from shapelog.recompiles.passed_functions import functions_in, functions_that_broke, operator_of, other_library_function
from shapelog.rules import Verdict
from shapelog.text import with_article

# The last two are of NumPy: ``numpy.amin``, ``numpy.add``.
_LIBRARY_FUNCTIONS = frozenset(("function", "builtin_function_or_method", "_ArrayFunctionDispatcher", "ufunc"))
KINDS_OF_FUNCTIONS = {
    "function": "a Python function",
    "builtin_function_or_method": "a built-in function",
    "method": "a method",
    "functools.partial": "a functools.partial",
}
_CLASS = re.compile(r"<class '([\w.]+)'>")  # as reasons have it
_ENUM = re.compile(r"<(?:enum|flag) '")
# As torch 2.10 writes a member: ``<Mode.A: 1>``.
_MEMBER = re.compile(r"<([A-Za-z_]\w*)\.[A-Za-z_][\w.|]*: .+>", re.S)
# A class deep in a package, whose path hides its name.
_IN_PACKAGE = re.compile(r"(?:[a-z_]\w*\.){3,}([A-Z]\w*)")
_EACH_FUNCTION = "pass fewer functions, or accept one graph for each"
# What functions that are written in different places, and their sizes, differ in.
_OF_FUNCTIONS = frozenset((Kind.ID, Kind.CLOSURE))
# Where library code passes all its arguments on to it, as what a decorator makes does.
_FUNCTION_IN_LIBRARY = "accept one graph for each function that this library code calls"
_FIRST_OF_ALL = Source("L['args'][0]")  # of all arguments of a method, the object
_DECORATED = "accept one graph for each function that this code is put around, and raise the recompile limit above their number"
_ALL_ARGUMENTS, _ONE_OF_ALL = Source("L['args']"), re.compile(r"L\['args'\]\[\d+\]")
_ONE_FUNCTION = (
    "define the function once and pass that in every call, or accept one graph for each: "
    "functions written in different places never share one"
)
_SET_FUNCTION_ONCE = "set the function once, before the first compiled call, or accept one graph for each"
_COMPILE_FIRST = "replace the function by its compiled version before the first call, or accept one more graph"
_SAME_TENSORS = "set this attribute on every tensor that is passed, or on none"
_EACH_FLAG = "accept one graph for each case: the code behaves differently depending on this attribute"
_SET_ITSELF = "accept one more graph: the compiled code itself set the attribute, in an earlier call"
SAME_CLASS = "define the class at module level"
_UNKNOWN_OBJECT = "create the object once, outside the call, and reuse it; if it is a class or an enum member, accept one graph for each"
_OWN_OBJECT = (
    "create the object once and reuse it; where each instance of the class has its own, each needs its own graph: "
    "raise the recompile limit above the number of instances"
)
_ITSELF = "create the object once and reuse it; several objects need one graph each: raise the recompile limit above the number of objects"
# Where torch.nn.utils.parametrize makes a class for each module (``_inject_new_class``).
_PARAMETRIZED = "torch.nn.utils.parametrize."
_OWN_CLASS = (
    "each parametrized module has a class of its own and needs its own graph: raise the recompile limit above their number; for inference, "
    "torch.nn.utils.parametrize.remove_parametrizations makes them plain modules"
)
# What AOTAutograd and make_fx trace with.
_TRACING_TENSOR = "FunctionalTensor"
# torch.fx makes a class for each module of a graph (``GraphModule.__new__``).
_GRAPH_MODULE = "torch.fx.graph_module.GraphModule.__new__.<locals>."
ONE_GRAPH_MODULE = "create the GraphModule once and reuse it: torch.fx makes a class for each, which needs its own graph"
_TYPE_OF = re.compile(r"type\((.+)\)")
_MODULE_OF_SELF = re.compile(r"L\['self'\](?:\._modules\['[^']+'\])+")
_REFERRED_TO = "keep the object alive as long as the compiled function is in use, or accept one graph for calls without it"
_OTHER_MODULES = "layers that hold modules of different classes need separate graphs; replace a module before the first compiled call"
_SHARED_METHOD = (
    "classes that share this method need one graph each: raise the recompile limit above the number of classes, or compile one class alone"
)
_EACH_CALLED_CLASS = (
    "the code calls this object, so each class needs its own graph: raise the recompile limit above the number of classes, or compile the "
    "objects in place of this function"
)
_EACH_USED_CLASS = (
    "the code computes with the parameters or buffers of this module, so each class needs its own graph: raise the recompile limit "
    "above the number of classes, or compile the modules in place of this function"
)
_SHARED_WRAPPER = (
    "functions and modules that share this wrapper of PyTorch need one graph each: raise the recompile limit above their number"
)
# What compiled autograd calls for the backward pass of a custom function (``call_backward`` in ``torch/_dynamo/external_utils.py``).
_BACKWARD = "L['backward_c_function']"
_FORWARD_CLASS, _TORCH_CLASS = "_forward_cls", "type=<class 'torch."
_FOR_LIBRARY = "accept one graph for each type: library code calls this function with several"
_CLASS_FOR_LIBRARY = "accept one graph for each class: library code calls this function with several"
_ONE_OF_ARGUMENTS = re.compile(r"L\['args'\]\[\d+\]|L\['kwargs'\]\['\w+'\]")  # of ``f(*args, **kwargs)``
_ITEM_OF_ARGUMENT = re.compile(r"L\['\w+'\]\[\d+\]")
_OPERATORS = frozenset({"OpOverload", "OpOverloadPacket"})
_REGISTER_ONCE = "register the operator once, before the first compiled call: each registration makes a new object"
_CLASS_IN_LIBRARY = "accept one graph for each class that this library code is called with"
_FOR_BACKWARD = (
    "each torch.autograd.Function whose backward pass breaks the graph needs one of its own: raise the recompile limit above their number"
)
# How compiled autograd passes the ints of a graph that may vary (``unwrap_maybe_dynamic_int`` in ``torch/_dynamo/external_utils.py``).
_WRAPPED_INT = frozenset((str(Described.TENSOR), "int"))
_EACH_WRAPPED = "accept one graph for each: compiled autograd passes an int as it is, or as the size of an empty tensor"
# What compiled autograd passes to a backward pass as its context (``torch/_dynamo/external_utils.py``).
_FAKE_CONTEXT = ".FakeBackwardCFunction"
_EACH_CONTEXT = "accept one graph for each: compiled autograd and autograd itself pass a backward pass contexts of different types"
_SAME_TENSOR = "copy_() new values into the same tensor, or leave out guard=True where mark_static_address asks for this guard"
# Dynamo marks the parameters and the state of an optimizer (``torch/_dynamo/variables/optimizer.py``).
_IN_OPTIMIZER, _ONE_OPTIMIZER = re.compile(r"[/\\]torch[/\\]optim[/\\]"), "create the optimizer once: another one has other tensors"
_OTHER_CONTENT = "accept one graph for each object: the code computes with numbers that differ between them"
_WITHOUT_ID = "leave id() of it out of the compiled code, or accept one graph for each object"
# Before torch 2.8 a bool is guarded by its id, and CPython has True and False next to each other, 32 bytes apart.
_BOOL_DISTANCE = 32
_OPERATOR = re.compile(r"<OpOverload\(op='([\w.]+)'")


def lifetime(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """What an entry belongs to is gone: an object, or a class that a function or torch.fx makes in each call."""
    of_object = _TYPE_OF.fullmatch(item.source)
    kind = str(kind_seen(entry, Source(of_object[1]) if of_object else item.source))
    is_class = of_object is not None or kind.startswith(THE_CLASS)
    own = SAME_CLASS if is_class and "<locals>" in kind else ""
    remedy = ONE_GRAPH_MODULE if kind.removeprefix(THE_CLASS).startswith(_GRAPH_MODULE) else own
    return Classification(("SL319",), f"{name} was garbage-collected, which discards the code compiled for it", remedy=remedy)


def has_attribute(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """An attribute that the code asks for with ``hasattr``."""
    now = "no longer has" if str(item.expected) == "True" else "now has"
    is_tensor = any((item.source, TENSOR) in known.facts for known in (entry, call))
    if now == "now has" and item.source in entry.compile.changed_objects and item.source not in call.compile.changed_objects:
        return Classification(("SL320",), f"{name} {now} the attribute {item.prop.name}", verdict=Verdict.JUSTIFIED, remedy=_SET_ITSELF)
    if _is_flag(item) and takes_another_way(item, entry, call):
        return Classification(("SL320",), f"{name} {now} the attribute {item.prop.name}", verdict=Verdict.JUSTIFIED, remedy=_EACH_FLAG)
    return Classification(("SL320",), f"{name} {now} the attribute {item.prop.name}", remedy=_SAME_TENSORS if is_tensor else "")


def _is_flag(item: Violation) -> bool:
    """Whether a line asks for the value that an attribute has, or else a default: were it there from the start, its value would change."""
    return re.search(rf"""\bgetattr\([^'"]+['"]{re.escape(item.prop.name)}['"],""", code_of(item)) is not None


def identity(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    return _of_wrapper(_identity(item, name, entry, call), item, entry, call)


def _of_wrapper(found: Classification, item: Violation, entry: CompileFacts, call: CompileFacts) -> Classification:
    """The same, where Dynamo's own wrapper calls another function or module."""
    if item.source.removesuffix(".__code__") != (entry.wrapped or call.wrapped):
        return found
    return found._replace(verdict=Verdict.JUSTIFIED, remedy=_SHARED_WRAPPER)


def _identity(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    expected = str(item.expected)
    if item.source.endswith("__code__") or "code" in expected.split("'")[-2:]:
        function = name.removesuffix(".__code__")
        if item.actual == COMPILED_FUNCTION:
            sentence = f"{function} was replaced by the result of torch.compile after this was compiled"
            return Classification(("SL309",), sentence, remedy=_COMPILE_FIRST)
        return _other_function(item.source, function, code_of(item), entry, call)
    if short_type(expected) in _LIBRARY_FUNCTIONS:
        return Classification(("SL311",), other_library_function(name, entry, call), remedy=_for_functions(item.source))
    if operator := _OPERATOR.search(expected):
        return Classification(("SL311",), f"{name} is a different operator than {operator[1]}", remedy=_EACH_FUNCTION)
    if short_type(expected) in _OPERATORS and not item.source.startswith("G["):  # torch.ops has one object for each
        return Classification(("SL311",), f"{name} is a different operator", remedy=_EACH_FUNCTION)
    if expected.startswith(THE_CLASS):
        before = short_type(expected.removeprefix(THE_CLASS))
        if not str(item.actual).startswith(THE_CLASS):
            by_library = _CLASS_FOR_LIBRARY if is_passed_by_library(item, entry, call) else ""
            remedy = SAME_CLASS if "<locals>" in expected else by_library  # each call of the function around it makes one
            return Classification(("SL311",), f"{name} was the class {before} and has changed", remedy=remedy)
        after = short_type(str(item.actual).removeprefix(THE_CLASS))
        if before == after:
            return Classification(("SL308",), f"{name} is a new class {before}, not the one this was compiled for", remedy=SAME_CLASS)
        in_library = _CLASS_IN_LIBRARY if is_library(call.compile.metrics.code_file) else ""
        remedy = _CLASS_FOR_LIBRARY if is_passed_by_library(item, entry, call) else in_library
        return Classification(("SL311",), f"{name} changed from the class {before} to {after}", remedy=remedy)
    if _ENUM.search(expected):
        return Classification(("SL311",), f"{name} is a different member of the enum {short_type(expected)}")
    if member := _MEMBER.fullmatch(expected):
        return Classification(("SL311",), f"{name} is a different member of the enum {member[1]}")
    class_name = short_type(expected)
    if re.search(rf"(?<!\w)(?:is|is not|==|!=) (?:\w+\.)*{re.escape(class_name)}\.[A-Za-z]\w*(?!\w|\(|\.)", code_of(item)):
        return Classification(("SL311",), f"{name} is a different object than before, and the code compares it with those of {class_name}")
    before_id, after_id = integer(expected), integer(str(item.actual))
    if before_id is not None and after_id is not None and abs(before_id - after_id) == _BOOL_DISTANCE:
        return Classification(("SL311",), f"{name} changed between True and False")
    kind = f" ({with_article(short_type(expected))})" if expected and not expected.isdigit() else ""
    remedy = _OWN_OBJECT if _is_of_instance(item.source) else _ITSELF if name == "self" else "" if kind else _UNKNOWN_OBJECT
    if kind and item.source.startswith("G[") and class_name in _OPERATORS:  # found by its name, which stayed
        remedy = _REGISTER_ONCE
    elif expected == "torch.Tensor":
        remedy = _ONE_OPTIMIZER if _IN_OPTIMIZER.search(call.compile.metrics.code_file) else _SAME_TENSOR
    elif re.search(rf"(?<![\w.])id\({re.escape(name)}\)", code_of(item)):
        remedy = _WITHOUT_ID
    sentence = f"{name}{kind} is a different object from the one this was compiled for"
    if not remedy and compute_with_other_numbers(entry, call):  # such as a numpy.finfo of another dtype
        return Classification(("SL308",), sentence, verdict=Verdict.JUSTIFIED, remedy=_OTHER_CONTENT)
    return Classification(("SL308",), sentence, remedy=remedy)


def _is_of_instance(source: Source) -> bool:
    """Whether an object is held by the instance whose method is compiled."""
    return source.display_name.startswith("self.")


def _for_functions(source: Source) -> str:
    """What to do about another function: one that is looked up in a module or a class is not passed."""
    return _SET_FUNCTION_ONCE if source.startswith(("G[", "type(")) else _EACH_FUNCTION


def _other_function(source: Source, name: str, code: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another code object: a function passed on purpose, where the graphs show other places in the user's code, else one made anew.

    ``code`` is the line of the guard.
    """
    was, now = (functions_in(known, has_methods=".__func__" in source) for known in (entry, call))
    before, after = was - now, now - was
    if not before and not after:
        before, after = functions_that_broke(name, entry, call)
    in_library = is_library(call.compile.metrics.code_file or entry.compile.metrics.code_file)  # of a refused call none is recorded
    passes_all = f"{name}(*args, **kwargs)" in code
    is_wrapped = in_library and passes_all
    takes_others = passes_all and _have_other_arguments(entry, call)
    if before and after:  # one that is made anew has the same code
        sentence = f"{name} changed to a function with different code"
        if len(before) == len(after) == 1 and all(function for function, _ in before | after):
            ((first, at),), ((second, there),) = before, after
            sentence = f"{name} changed from the function {first} ({at}) to {second} ({there})"
        remedy = _FUNCTION_IN_LIBRARY if is_wrapped else _for_functions(source)
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=remedy)
    if len(before | after) == 1 and entry.compile.graph and call.compile.graph:
        ((function, place),) = before | after
        known = f"the function {function} ({place})"
        other = operator_of(name, call, entry) if before else operator_of(name, entry, call)
        sentence = f"{name} changed {'from' if before else 'to'} {known}; the other one left no operation"
        if other:
            sentence = f"{name} changed from {known if before else other} to {other if before else known}"
        if not function:
            sentence = f"{name} changed to a function with different code"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=_for_functions(source))
    if have_other_graphs(entry, call) and _differ_in_functions_alone(entry, call):
        sentence = f"{name} changed to a function with different code"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=_for_functions(source))
    if names := _other_names(source, entry, call):
        sentence = f"{name} changed from the function {names[0]} to {names[1]}"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=_for_functions(source))
    sentence = f"{name} is a different function: its code object changed"
    if takes_others or (is_wrapped and call.tree is None):  # a refused call, which nothing shows to have a function that was made anew
        remedy = _FUNCTION_IN_LIBRARY if in_library else _DECORATED
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=remedy)
    return Classification(("SL309",), sentence, remedy=_ONE_FUNCTION)


def _other_names(source: Source, entry: CompileFacts, call: CompileFacts) -> tuple[str, str] | None:
    """The names that the code reads of two functions, where they are not the same: one that is made anew has its own again."""
    key = Source(f"{source.removesuffix('.__code__')}.__name__"), VALUE
    was, now = (str(known.facts.get(key, "")).strip("'\"") for known in (entry, call))
    return (was, now) if was and now and was != now else None


def _have_other_arguments(entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether what a function passes on with ``*args`` has another length or other types: another function takes others."""
    before, after = (_kinds_of_arguments(known) for known in (entry, call))
    return any(before[source] != after[source] for source in before.keys() & after.keys())


def _kinds_of_arguments(known: CompileFacts) -> dict[Source, object]:
    """The number of all arguments, and the types of those that have a guard."""
    found: dict[Source, object] = {source: kind for source, kind in known.types.items() if _ONE_OF_ALL.fullmatch(source)}
    for (source, prop), value in known.facts.items():
        if prop == LENGTH and source == _ALL_ARGUMENTS:
            found[source] = value
        elif prop == TENSOR and _ONE_OF_ALL.fullmatch(source):
            found[source] = TENSOR
    return found


def _differ_in_functions_alone(entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether nothing but identities and sizes is known to differ: what the graphs do not have in common is of the functions."""
    differ = (key[1] for key, value in entry.facts.items() if call.facts.get(key, value) != value)
    return all(prop.kind in _OF_FUNCTIONS or prop.is_of_dim for prop in differ)


def _another_callable(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A function where something of another type is passed otherwise: with one type for both, each would still need its own graph."""
    was, now = _callable(item.expected, entry, call), _callable(item.actual, call, entry)
    sentence = f"{name} changed from {was} to {now}" if now else f"{name} is no longer {was}"
    return Classification(("SL310",), sentence, verdict=Verdict.JUSTIFIED, remedy=_for_functions(item.source))


def _callable(known: Known, own: CompileFacts, other: CompileFacts) -> str:
    """What one of two calls has, with the name of a Python function where only its graph has code of one; "" where it is not recorded."""
    text = str(known)
    functions = functions_in(own) - functions_in(other) if text == "function" else set()
    if len(functions) == 1 and all(function for function, _ in functions):
        ((function, place),) = functions
        return f"the function {function} ({place})"
    is_named = isinstance(known, Described) or text.startswith(THE_CLASS)
    return KINDS_OF_FUNCTIONS.get(text) or (shown_object(text) if is_named else f"type {text}")


def shown_object(text: str) -> str:
    """``the class numpy.float32`` → ``the class float32``, ``function`` → ``a Python function``, ``<enum 'Mode'>`` → ``a member of the enum
    Mode``, ``lib.losses.arc_face.ArcFace`` → ``ArcFace``; anything else as it is.
    """
    if text.startswith(THE_CLASS):
        return THE_CLASS + short_type(text.removeprefix(THE_CLASS))
    if _ENUM.match(text):
        return f"a member of the enum {short_type(text)}"
    if member := _MEMBER.fullmatch(text):
        return f"a member of the enum {member[1]}"
    if in_package := _IN_PACKAGE.fullmatch(text):
        return in_package[1]
    return KINDS_OF_FUNCTIONS.get(text, text)


def object_type(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    return _of_wrapper(_object_type(item, name, entry, call), item, entry, call)


def _object_type(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another type, None, or a real tensor in place of a fake one."""
    before, after = str(item.expected), str(item.actual)
    if was_traced(item) is not None:
        how = "a fake tensor, as export traces with, and is now a real one" if was_traced(item) else "a real tensor, and is now a fake one"
        return Classification(("SL310",), f"{name} was {how}", verdict=Verdict.JUSTIFIED, remedy=TRACED)
    if before == after and not isinstance(item.expected, Described) and not is_address(item.prop, before):
        return _class_of_same_name(item, name, entry)
    if "None" not in (before, after) and after != "NoneType" and KINDS_OF_FUNCTIONS.keys() & {before, after}:
        return _another_callable(item, name, entry, call)
    if item.source.endswith("()") and not after and _is_weak_reference(item.source.removesuffix("()"), entry):
        sentence = f"the object that {name.removesuffix('()')} refers to is gone, or of another type"
        return Classification(("SL310",), sentence, remedy=_REFERRED_TO)
    sentence = f"{name} changed {_how_types_changed(item)}"
    if "None" in (before, after) or after == "NoneType":
        return Classification(("SL322",), sentence)
    change = _TypeChange(item=item, name=name, before=before, after=after, entry=entry, call=call)
    verdict, remedy = next(((verdict, remedy) for holds, verdict, remedy in _TYPE_CHANGES if holds(change)), (None, ""))
    return Classification(("SL310",), sentence, verdict=verdict, remedy=remedy)


def _class_of_same_name(item: Violation, name: str, entry: CompileFacts) -> Classification:
    kind = str(item.actual)
    sentence = f"{name} is an instance of a different class with the same name ({kind})"
    if kind.startswith(_PARAMETRIZED):
        return Classification(("SL310",), sentence, verdict=Verdict.JUSTIFIED, remedy=_OWN_CLASS)
    if item.source == _BACKWARD and _is_made_by_torch(entry):
        return Classification(("SL310",), sentence, verdict=Verdict.JUSTIFIED, remedy=_FOR_BACKWARD)
    return Classification(("SL310",), sentence, remedy=ONE_GRAPH_MODULE if kind.startswith(_GRAPH_MODULE) else SAME_CLASS)


def _how_types_changed(item: Violation) -> str:
    """``from type app.Mean to None``, or what is recorded of that."""
    before, after = str(item.expected), str(item.actual)
    if is_address(item.prop, before):
        return "type (only the addresses of the types were recorded)"
    before = written[1] if (written := _CLASS.fullmatch(before)) else before
    now = "None" if after == "NoneType" else shown_object(after) if after else "another type"
    if before and before != after:
        is_named = item.expected is Described.TENSOR or before == "None" or before != shown_object(before) or before.startswith(THE_CLASS)
        return f"from {shown_object(before) if is_named else f'type {before}'} to {now}"
    is_recorded = bool(after) and item.actual is not Described.OTHER_OBJECT
    return f"type (now {now})" if is_recorded else "type (the new type is not recorded)"


class _TypeChange(NamedTuple):
    """Another type of what ``name`` is; ``after`` is "" where the new one is not recorded."""

    item: Violation
    name: str
    before: str
    after: str
    entry: CompileFacts
    call: CompileFacts


def _is_self(change: _TypeChange) -> bool:
    """Whether it is the object whose method this is, or for which a wrapper of a library was called: ``self, *_ = args``."""
    if change.name == "self":
        return True
    is_first = change.item.source == _FIRST_OF_ALL and is_library(change.call.compile.metrics.code_file)
    return is_first and re.search(r"\bself\b", code_of(change.item)) is not None


def _is_of_backward(change: _TypeChange) -> bool:
    return change.entry.compile.metrics.code_name == "call_backward" and change.item.source == _BACKWARD


def _is_wrapped_int(change: _TypeChange) -> bool:
    is_pair = {change.before, change.after} == _WRAPPED_INT
    return is_pair and change.call.is_in_backward and is_library(change.call.compile.metrics.code_file)


def _is_tensor_of_captured_graph(change: _TypeChange) -> bool:
    return Described.TENSOR in (change.item.expected, change.item.actual) and change.call.is_of_captured_graph


def _is_for_tracing(change: _TypeChange) -> bool:
    return _TRACING_TENSOR in (short_type(change.before), short_type(change.after))


def _is_context(change: _TypeChange) -> bool:
    return any(text.endswith(_FAKE_CONTEXT) for text in (change.before, change.after))


def _was_parametrized(change: _TypeChange) -> bool:
    """Then the call has another class, whatever it has."""
    return not change.after and change.before.startswith(_PARAMETRIZED)


def _was_graph_module(change: _TypeChange) -> bool:
    return not change.after and change.before.startswith(_GRAPH_MODULE)


def _was_made_in_function(change: _TypeChange) -> bool:
    """Each call of that function makes another class."""
    return not change.after and "<locals>" in change.before


def _is_of_library(change: _TypeChange) -> bool:
    return is_passed_by_library(change.item, change.entry, change.call)


def _is_called(change: _TypeChange) -> bool:
    """Whether the line of the guard calls the object, which runs the code of its class. Types without a module are built in."""
    comment = change.item.comment or (change.item.reason.comment if change.item.reason else "")
    has_call = re.search(rf"(?<![\w.]){re.escape(change.name)}\(", comment) is not None
    return has_call and "." in change.before and "." in change.after


def _has_used_parts(change: _TypeChange) -> bool:
    """Whether both graphs take parameters or buffers of the module, or of one inside it."""
    inputs = (known.compile.inputs for known in (change.entry, change.call))
    return all(any(item.source.is_registered and item.source.is_below(change.item.source) for item in taken) for taken in inputs)


def _is_module_of_self(change: _TypeChange) -> bool:
    return _MODULE_OF_SELF.fullmatch(change.item.source) is not None


# What to do about another type, the first that holds; None and "" for what the rule states.
_TYPE_CHANGES: tuple[tuple[Callable[[_TypeChange], bool], Verdict | None, str], ...] = (
    (_is_self, Verdict.JUSTIFIED, _SHARED_METHOD),
    (_is_of_backward, Verdict.JUSTIFIED, _FOR_BACKWARD),
    (_is_wrapped_int, Verdict.JUSTIFIED, _EACH_WRAPPED),
    (_is_tensor_of_captured_graph, None, FORWARD_TYPES),
    (_is_for_tracing, Verdict.JUSTIFIED, TRACED),
    (_is_context, Verdict.JUSTIFIED, _EACH_CONTEXT),
    (_was_parametrized, Verdict.JUSTIFIED, _OWN_CLASS),
    (_was_graph_module, None, ONE_GRAPH_MODULE),
    (_was_made_in_function, None, SAME_CLASS),
    (_is_of_library, Verdict.JUSTIFIED, _FOR_LIBRARY),
    (_is_called, Verdict.JUSTIFIED, _EACH_CALLED_CLASS),
    (_has_used_parts, Verdict.JUSTIFIED, _EACH_USED_CLASS),
    (_is_module_of_self, Verdict.JUSTIFIED, _OTHER_MODULES),
)


def _is_made_by_torch(entry: CompileFacts) -> bool:
    """Whether the function of a backward pass is of a class that PyTorch makes itself, one for each custom function in a graph
    (``AutogradFunctionApply`` in torch/_functorch/autograd_function.py).
    """
    guards = entry.tree.by_key.items() if entry.tree else ()
    of_class = (guard.text for (source, prop), guard in guards if prop.kind is Kind.ID and _FORWARD_CLASS in source and _BACKWARD in source)
    return any(_TORCH_CLASS in text for text in of_class)


def _is_weak_reference(source: str, known: CompileFacts) -> bool:
    return known.types.get(Source(source), "").startswith("weakref.")


def is_passed_by_library(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether an object is the argument of a function of a library that code of a library calls, which the user passes nothing to.

    Where the innermost calls are not recorded, a line of the user without arguments, ``optimizer.step()``, has not passed it either, nor
    the items of a list.
    """
    known = _with_callers(entry, call)
    callers = _callers(known)
    if not callers or is_test_runner(callers[-1].file):  # the stack may lack the test, which is the innermost call
        return False
    items = _ITEM_OF_ARGUMENT if _passes_nothing(callers) else _ONE_OF_ARGUMENTS
    is_passed = item.source.is_argument or items.fullmatch(item.source) is not None
    is_argument = is_passed and Described.TENSOR not in (item.expected, item.actual)
    return is_argument and is_library(known.compile.metrics.code_file) and (is_library(callers[-1].file) or callers[-1].passes_nothing)


def is_made_by_library(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether, in addition, the line of the user that leads to the call passes nothing, as ``optimizer.step()`` does not."""
    return _passes_nothing(_callers(_with_callers(entry, call))) and is_passed_by_library(item, entry, call)


def _passes_nothing(callers: list[StackFrame]) -> bool:
    own = [frame for frame in callers if not is_library(frame.file)]
    return bool(own) and own[-1].passes_nothing


def _with_callers(entry: CompileFacts, call: CompileFacts) -> CompileFacts:
    """The call, or the entry where the call was refused, of which no callers are recorded."""
    return call if call.compile.stack.frames or call.compile.recorded_callers else entry


def _callers(known: CompileFacts) -> list[StackFrame]:
    """The stack above the code, the outermost first, without lines that pass arguments on, as what torch.compile returned does."""
    recorded = known.compile.recorded_callers or known.compile.stack.frames[:-1]
    return [frame for frame in recorded if not frame.passes_on]


def attributes(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    if item.reason and item.reason.family == "module":
        return Classification(("SL320",), f"{name} was modified: an attribute, a parameter or a hook was set, as train() and eval() do")
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

"""Objects of another type than the one that code was compiled for."""

import re
from collections.abc import Callable
from typing import NamedTuple

from shapelog.reading.payloads.properties import Kind, is_address
from shapelog.reading.payloads.source_names import Source, is_library
from shapelog.recompiles.classification.floats import LEARNING_RATE
from shapelog.recompiles.classification.functions import another_callable
from shapelog.recompiles.classification.library_calls import is_passed_by_library
from shapelog.recompiles.classification.result import (
    CLEARED,
    FORWARD_TYPES,
    GRADIENT,
    TRACED,
    Classification,
    code_of,
    have_other_graphs,
    short_type,
)
from shapelog.recompiles.classification.shown_objects import KINDS_OF_FUNCTIONS, shown_object
from shapelog.recompiles.evidence.violation import THE_CLASS, Described, Violation, was_traced
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.rules import Verdict

_ONE_RATE = "keep the learning rate a tensor, and set it with fill_(): group['lr'].fill_(value)"
SAME_CLASS = "define the class at module level"
# torch.fx makes a class for each module of a graph (``GraphModule.__new__``).
GRAPH_MODULE = "torch.fx.graph_module.GraphModule.__new__.<locals>."
ONE_GRAPH_MODULE = "create the GraphModule once and reuse it: torch.fx makes a class for each, which needs its own graph"
_SHARED_WRAPPER = (
    "functions and modules that share this wrapper of PyTorch need one graph each: raise the recompile limit above their number"
)
_FORWARD_CLASS, _TORCH_CLASS = "_forward_cls", "type=<class 'torch."
_CLASS = re.compile(r"<class '([\w.]+)'>")  # as reasons have it
_FIRST_OF_ALL = Source("L['args'][0]")  # of all arguments of a method, the object
# Where torch.nn.utils.parametrize makes a class for each module (``_inject_new_class``).
_PARAMETRIZED = "torch.nn.utils.parametrize."
_OWN_CLASS = (
    "each parametrized module has a class of its own and needs its own graph: raise the recompile limit above their number; for inference, "
    "torch.nn.utils.parametrize.remove_parametrizations makes them plain modules"
)
_NUMPY_DTYPE = re.compile(r"numpy\.dtypes\.\w+DType")
# What AOTAutograd and make_fx trace with.
_TRACING_TENSOR = "FunctionalTensor"
_MODULE_OF_SELF = re.compile(r"L\['\w+'\](?:\._modules\['[^']+'\])+")
_REFERRED_TO = "keep the object alive as long as the compiled function is in use, or accept one graph for calls without it"
_OTHER_MODULES = "layers that hold modules of different classes need separate graphs; replace a module before the first compiled call"
_SHARED_METHOD = (
    "classes that share this method need one graph each: raise the recompile limit above the number of classes, or compile one class alone"
)
_EACH_CALLED_CLASS = (
    "the code calls this object, so each class needs its own graph: raise the recompile limit above the number of classes, or compile the "
    "objects in place of this function"
)
_EACH_CLASS_WITH_METHOD = (
    "the code calls a method of this object, so each class needs its own graph: raise the recompile limit above the number of classes, "
    "or compile one function per class"
)
# Classes of data, whose methods are operators.
_OF_DATA = re.compile(r"torch\.(?:nn\.(?:parameter\.)?)?\w+$|(?:numpy|collections|builtins)\.")
_EACH_USED_CLASS = (
    "the code computes with the parameters or buffers of this module, so each class needs its own graph: raise the recompile limit "
    "above the number of classes, or compile the modules in place of this function"
)
_ONE_VALUE, _SEVERAL_VALUES = frozenset(("int", "float", "bool", "str")), frozenset(("tuple", "list", "dict", "set"))
_EACH_TYPE = "accept one graph for each type: the code computes something else for several values than for one"
# What compiled autograd calls for the backward pass of a custom function (``call_backward`` in ``torch/_dynamo/external_utils.py``).
_BACKWARD = "L['backward_c_function']"
_FOR_LIBRARY = "accept one graph for each type: library code calls this function with several"
_FOR_BACKWARD = (
    "each torch.autograd.Function whose backward pass breaks the graph needs one of its own: raise the recompile limit above their number"
)
# How compiled autograd passes the ints of a graph that may vary (``unwrap_maybe_dynamic_int`` in ``torch/_dynamo/external_utils.py``).
_WRAPPED_INT = frozenset((str(Described.TENSOR), "int"))
_EACH_WRAPPED = "accept one graph for each: compiled autograd passes an int as it is, or as the size of an empty tensor"
# What compiled autograd passes to a backward pass as its context (``torch/_dynamo/external_utils.py``).
_FAKE_CONTEXT = ".FakeBackwardCFunction"
_EACH_CONTEXT = "accept one graph for each: compiled autograd and autograd itself pass a backward pass contexts of different types"


def of_wrapper(found: Classification, item: Violation, entry: CompileFacts, call: CompileFacts) -> Classification:
    """The same, where Dynamo's own wrapper calls another function or module."""
    if item.source.removesuffix(".__code__") != (entry.wrapped or call.wrapped):
        return found
    return found._replace(verdict=Verdict.JUSTIFIED, remedy=_SHARED_WRAPPER)


def object_type(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    return of_wrapper(_object_type(item, name, entry, call), item, entry, call)


def _object_type(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another type, None, or a real tensor in place of a fake one."""
    before, after = str(item.expected), str(item.actual)
    if was_traced(item) is not None:
        how = "a fake tensor, as export traces with, and is now a real one" if was_traced(item) else "a real tensor, and is now a fake one"
        return Classification(("SL310",), f"{name} was {how}", verdict=Verdict.JUSTIFIED, remedy=TRACED)
    if before == after and not isinstance(item.expected, Described) and not is_address(item.prop, before):
        return _class_of_same_name(item, name, entry)
    if "None" not in (before, after) and after != "NoneType" and KINDS_OF_FUNCTIONS.keys() & {before, after}:
        return another_callable(item, name, entry, call)
    if item.source.endswith("()") and not after and _is_weak_reference(item.source.removesuffix("()"), entry):
        sentence = f"the object that {name.removesuffix('()')} refers to is gone, or of another type"
        return Classification(("SL310",), sentence, remedy=_REFERRED_TO)
    sentence = f"{name} changed {_how_types_changed(item)}"
    if "None" in (before, after) or after == "NoneType":
        return Classification(("SL322",), sentence, remedy=CLEARED if item.source.endswith(GRADIENT) else "")
    if _NUMPY_DTYPE.fullmatch(before) and _NUMPY_DTYPE.fullmatch(after):  # each has a class of its own
        names = (type_name.rpartition(".")[2].removesuffix("DType").lower() for type_name in (before, after))
        return Classification(("SL311",), f"{name} changed from the NumPy dtype {' to '.join(names)}")
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
    return Classification(("SL310",), sentence, remedy=ONE_GRAPH_MODULE if kind.startswith(GRAPH_MODULE) else SAME_CLASS)


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
    is_first = change.item.source == _FIRST_OF_ALL and is_library(change.call.code_file)
    return is_first and re.search(r"\bself\b", code_of(change.item)) is not None


def _is_of_backward(change: _TypeChange) -> bool:
    return change.entry.compile.metrics.code_name == "call_backward" and change.item.source == _BACKWARD


def _is_wrapped_int(change: _TypeChange) -> bool:
    is_pair = {change.before, change.after} == _WRAPPED_INT
    return is_pair and change.call.is_in_backward and is_library(change.call.code_file)


def _is_tensor_of_captured_graph(change: _TypeChange) -> bool:
    return Described.TENSOR in (change.item.expected, change.item.actual) and change.call.is_of_captured_graph


def _is_rate(change: _TypeChange) -> bool:
    """A learning rate that was a tensor, or became one. Schedulers fill a tensor (``_update_param_group_val`` of torch.optim)."""
    return LEARNING_RATE.search(change.item.source) is not None and Described.TENSOR in (change.item.expected, change.item.actual)


def _is_for_tracing(change: _TypeChange) -> bool:
    return _TRACING_TENSOR in (short_type(change.before), short_type(change.after))


def _is_context(change: _TypeChange) -> bool:
    return any(text.endswith(_FAKE_CONTEXT) for text in (change.before, change.after))


def _was_parametrized(change: _TypeChange) -> bool:
    """Then the call has another class, whatever it has."""
    return not change.after and change.before.startswith(_PARAMETRIZED)


def _was_graph_module(change: _TypeChange) -> bool:
    return not change.after and change.before.startswith(GRAPH_MODULE)


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


def _has_method_called(change: _TypeChange) -> bool:
    """Whether the line of the guard calls a method of the object, of which each class may have its own."""
    has_call = re.search(rf"(?<![\w.]){re.escape(change.name)}\.\w+\(", code_of(change.item)) is not None
    return has_call and all("." in text and not _OF_DATA.match(text) for text in (change.before, change.after))


def _has_used_parts(change: _TypeChange) -> bool:
    """Whether both graphs take parameters or buffers of the module, or of one inside it."""
    inputs = (known.compile.inputs for known in (change.entry, change.call))
    return all(any(item.source.is_registered and item.source.is_below(change.item.source) for item in taken) for taken in inputs)


def _is_module_of_self(change: _TypeChange) -> bool:
    return _MODULE_OF_SELF.fullmatch(change.item.source) is not None


def _is_one_or_several(change: _TypeChange) -> bool:
    """One value in place of a list or dict of values, or the reverse, where the graphs differ: ``argnums=0``, and ``argnums=(0, 1)``."""
    kinds = {change.before, change.after}
    return bool(kinds & _ONE_VALUE and kinds & _SEVERAL_VALUES) and have_other_graphs(change.entry, change.call)


# What to do about another type, the first that holds; None and "" for what the rule states.
_TYPE_CHANGES: tuple[tuple[Callable[[_TypeChange], bool], Verdict | None, str], ...] = (
    (_is_self, Verdict.JUSTIFIED, _SHARED_METHOD),
    (_is_of_backward, Verdict.JUSTIFIED, _FOR_BACKWARD),
    (_is_wrapped_int, Verdict.JUSTIFIED, _EACH_WRAPPED),
    (_is_tensor_of_captured_graph, None, FORWARD_TYPES),
    (_is_rate, None, _ONE_RATE),
    (_is_for_tracing, Verdict.JUSTIFIED, TRACED),
    (_is_context, Verdict.JUSTIFIED, _EACH_CONTEXT),
    (_was_parametrized, Verdict.JUSTIFIED, _OWN_CLASS),
    (_was_graph_module, None, ONE_GRAPH_MODULE),
    (_was_made_in_function, None, SAME_CLASS),
    (_is_of_library, Verdict.JUSTIFIED, _FOR_LIBRARY),
    (_is_called, Verdict.JUSTIFIED, _EACH_CALLED_CLASS),
    (_has_used_parts, Verdict.JUSTIFIED, _EACH_USED_CLASS),
    (_is_module_of_self, Verdict.JUSTIFIED, _OTHER_MODULES),
    (_has_method_called, Verdict.JUSTIFIED, _EACH_CLASS_WITH_METHOD),
    (_is_one_or_several, Verdict.JUSTIFIED, _EACH_TYPE),
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

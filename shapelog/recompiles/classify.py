"""Violation → rule codes and one sentence in English for a person who has never heard of dispatch keys."""

import re
from collections.abc import Callable
from typing import NamedTuple

from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import ShapeGuard, place_of
from shapelog.reading.payloads.properties import AUTOCAST_CACHE, AUTOCAST_ENABLED, DUAL_LEVEL, LENGTH, MARKED_BY, TENSOR, Kind, is_address
from shapelog.reading.payloads.recompile_reasons import backend_named
from shapelog.reading.payloads.source_names import Source, display_text, is_library
from shapelog.reading.records import Specialization
from shapelog.recompiles.facts import COMPILED_FUNCTION, CompileFacts, pin_of
from shapelog.recompiles.global_state import autocast_pair, changed_fields, describe_change, is_of_cache, set_once
from shapelog.recompiles.passed_functions import functions_in, other_library_function
from shapelog.recompiles.strides import is_free, layout, same_order
from shapelog.recompiles.tied_sizes import tied_to
from shapelog.recompiles.violations import THE_CLASS, Described, Known, Violation, constant_type, was_traced
from shapelog.rules import Verdict
from shapelog.text import cut, enumerated, some

_LAYOUT_OR_SLICE = "a slice of a different width, or a different memory layout"
_COPY_OR_LAYOUT = (
    "copy a slice with clone(memory_format=torch.contiguous_format): contiguous() leaves one with a size of 1 as it is; "
    "otherwise use one memory format"
)
_SLICE, _LAYOUT = "a slice of a different width", "a different memory layout (transposed, channels last, or a view)"
_ZERO_ONE = "0/1 specialization"
_SHOWN_CODE = 60
_SCALARS = frozenset(("bool", "int", "float", "complex", "str", "bytes"))
_COUNTER = "itertools.count"
_LIBRARY_FUNCTIONS = frozenset(("function", "builtin_function_or_method"))
_KINDS_OF_FUNCTIONS = {
    "function": "a Python function",
    "builtin_function_or_method": "a built-in function",
    "method": "a method",
    "functools.partial": "a functools.partial",
}
_CELL = re.compile(r"(?P<function>.+)\.__closure__\[\d+\]\.cell_contents(?:\.__code__)?")
_NAMED_IN_HINT = re.compile(r'\(HINT: guard on "(\w+)"')
_ENUM = re.compile(r"<(?:enum|flag) '")
_PLAIN = "pass a plain {}: PyTorch treats an instance of a subclass as a constant"
_ONE_ORDER = "insert the keys in the same order every time"
_EACH_FUNCTION = "pass fewer functions, or accept one graph for each"
_SET_FUNCTION_ONCE = "set the function once, before the first compiled call, or accept one graph for each"
_COMPILE_FIRST = "replace the function by its compiled version before the first call, or accept one more graph"
_SAME_OBJECTS = "pass objects that are always distinct or always the same, or accept one graph for each case"
_OFFSETS = "._offsets"  # of a nested tensor, which shares them with others of the same shape
_SAME_OFFSETS = "make the nested tensors with one offsets tensor in every call, or accept one graph for each case"
_ONE_CALL = "compile the code once, with one set of options, or accept one graph for each"
_SAME_TENSORS = "set this attribute on every tensor that is passed, or on none"
_SETS, _SAME_MEMBERS = frozenset(("set", "frozenset")), "accept one graph for each case, or always pass a set with the same members"
_TRACED_OPERATOR = "accept it: PyTorch compiles this operator itself for every call that is traced, as by torch.export"
_TRACED = "accept one graph for calls that are traced, as by torch.export, and one for others"
_SAME_CLASS = "define the class at module level"
_FIXED_PARAMETER = "keep requires_grad of this parameter fixed: set it once, before the first compiled call"
_NOT_WARMED_UP = (
    "make the dimension unbacked with torch._dynamo.decorators.mark_unbacked, or accept the extra graph "
    "(PyTorch always specializes on 0 and 1)"
)
_OWN_SYMBOLS = "set torch.fx.experimental._config.use_duck_shape = False"
_FROM_START = "clone() the slice or view before the call, or accept the extra graph (PyTorch always specializes on 0 and 1)"
_EQUAL_OR_NOT = "accept one graph for equal sizes and one for different ones, or make them equal in every call"
_UNKNOWN_OBJECT = "create the object once, outside the call, and reuse it; if it is a class or an enum member, accept one graph for each"
_OWN_OBJECT = (
    "create the object once and reuse it; where each instance of the class has its own, each needs its own graph: "
    "raise the recompile limit above their number"
)
_ITSELF = "create the object once and reuse it; several objects need a graph each: raise the recompile limit above their number"
_SHARED_METHOD = (
    "classes that share this method need a graph each: raise the recompile limit above their number, or compile one class alone"
)
_SAME_TENSOR = "copy_() new values into the same tensor, or leave out guard=True where mark_static_address asks for this guard"
_WITHOUT_ID = "leave id() of it out of the compiled code, or accept one graph for each object"
_FLOAT_OF_OPERATOR = "accept one graph per value, or let the operator {operator} take it as a tensor"
_CUSTOM_OPERATOR = re.compile(r"\btorch\.ops\.((?!aten\b|prims\b|higher_order\b)\w+)\.(\w+)[\w.]*\((.*)\)")
_FLOAT_BRANCH = "replace the branch on this float by torch.where on a tensor, or accept one graph per branch"
_LEARNING_RATE = re.compile(r"\.param_groups\[\d+\]\['lr'\]$")
_TENSOR_RATE = "pass the optimizer a tensor as its learning rate, lr=torch.tensor(value)"
_PINNED_FLOAT = "rewrite the line that needs the exact value, or accept one graph per value"
_WIDER_RANGE = "widen the range that mark_dynamic is given (min=, max=), or leave it out"
# Where in PyTorch a guard comes from, ``(_dynamo/variables/builder.py:4960 in <lambda>)``, and the file in which sizes become symbolic.
_ORIGIN, _MAKES_SYMBOLS = re.compile(r"\((\S+):\d+ in [^()]+\)"), "_dynamo/variables/builder.py"
_IN_BRANCH = " in evaluate_expr)"  # where Dynamo decides which way a branch goes
_BOUNDS = re.compile(r"(?:\d+ <= )?[^<>=]+(?: <= \d+)?")
# Characters of a guard in a sentence: sizes that were divided have very long ones.
_LONGEST_GUARD = 120
_VMAP, _FAKE_TENSORS = "torch/_functorch/vmap.py", "torch/_subclasses/fake_tensor.py"
_WHOLE_TRANSFORM = "compile the transformed function as a whole, torch.compile(torch.func.vmap(f)), or accept one graph for each transform"
_TRANSFORM = re.compile(r"\('(\w+)', \d+(?:, ([^()]*))?\)")
_CLASS_DICT, _MODULE_PART = (
    re.compile(r"dict\((?P<owner>.*)\.__dict__\)"),
    re.compile(r"(?P<owner>.*)\._(?P<part>module|parameter|buffer)s"),
)
_DEFAULTS, _SAME_DEFAULTS = ".__defaults__", "set the defaults of the function once, before the first call"
_HOOKS, _SAME_HOOKS = re.compile(r"\._([a-z_]*hook)s$"), "register the hooks before the first call, and keep them"
_SAME_METADATA = "use the same metadata in every call, or accept one graph for each"
_INNER, _SAME_INNER = ".__tensor_flatten__()[0]", "give it the same tensors in every call, or accept one graph for each set"
# Before torch 2.8 a bool is guarded by its id, and CPython has True and False next to each other, 32 bytes apart.
_BOOL_DISTANCE = 32
_OVERLAPPING = re.compile(r"check_overlapping\(overlapping=\[(?P<together>.+)\], non_overlapping=\[(?P<apart>.*)\]\)")
_OPERATOR = re.compile(r"<OpOverload\(op='([\w.]+)'")


_CHANGED_SIZES = re.compile(r"(\d+) changed tensor shapes? \(total of (\d+)\)")
_NODE_OF_SIZE, _NEW_NODE = (
    re.compile(r"idx \d+ of (?:torch::autograd::)?([\w:]+)"),
    re.compile(r"node: (?:torch::autograd::)?(\S+) \(NodeCall (\d+)\)"),
)
_MOST_NODES = 3
_MARK_FORWARD = "mark the sizes that vary in the inputs of the forward pass, or pass dynamic=True to torch.compile"


class Classification(NamedTuple):
    """The rules that a violation falls under, the main one first, and what happened.

    ``size_related`` and ``verdict`` are None, and ``remedy`` is "", for what the main rule states.
    """

    codes: tuple[str, ...]
    sentence: str
    size_related: bool | None = None
    verdict: Verdict | None = None
    remedy: str = ""


def classify(item: Violation, source: Source, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Which rules a violation falls under. ``source`` is what to name in the sentence: the dict, where the violation is about a key."""
    if source != item.source and not item.prop.is_of_dim and item.prop.kind is not Kind.SHAPE_GUARD:
        return _keys(item._replace(source=source), source.display_name, entry, call)
    classifier = _CLASSIFIERS.get(item.prop.kind)
    name = _closure_variable(item, source) or source.display_name or "an object"  # whose name was cut off in a text
    if classifier is not None:
        return classifier(item, name, entry, call)
    if item.prop.kind in _SIMPLE:
        code, words = _SIMPLE[item.prop.kind]
        before, after = str(item.expected), str(item.actual)
        if not (before or after):  # older versions name what changed alone
            words = words.replace(" from {before} to {after}", "")
        sentence = words.format(name=name, before=before or "one value", after=after or "another")
        is_frozen = item.prop.kind is Kind.REQUIRES_GRAD and _is_parameter(item, entry, call)
        return Classification((code,), sentence, remedy=_FIXED_PARAMETER if is_frozen else "")
    if not item.source:
        return _global_state(item, entry, call)
    text = item.reason.text if item.reason else f"{source.display_name} {item.prop}"
    return Classification(("SL399",), f"PyTorch reports a guard that shapelog does not know: {text}")


def _closure_variable(item: Violation, source: Source) -> str:
    """``k in the closure of inner`` for ``inner.__closure__[0].cell_contents``, where PyTorch's hint has the name; "" for anything else."""
    cell = _CELL.fullmatch(source)
    variable = _NAMED_IN_HINT.search(f"{item.comment} {item.reason.text if item.reason else ''}") if cell else None
    return f"{variable[1]} in the closure of {display_text(cell['function'])}" if cell and variable else ""


_SIMPLE = {
    Kind.RANK: ("SL107", "the number of dimensions of {name} changed from {before} to {after}"),
    Kind.DTYPE: ("SL301", "the dtype of {name} changed from {before} to {after}"),
    Kind.REQUIRES_GRAD: ("SL302", "requires_grad of {name} changed from {before} to {after}"),
    Kind.DEVICE: ("SL304", "the device of {name} changed from {before} to {after}"),
    Kind.CLOSURE: ("SL309", "{name} is a different function: its closure or its defaults changed"),
    Kind.LIFETIME: ("SL319", "{name} was garbage-collected, which discards the code compiled for it"),
    Kind.NAN: ("SL312", "the float {name} changed between NaN and a number"),
    Kind.PRESENT: ("SL320", "{name} no longer exists"),
}
_BACKEND = re.compile(r"^(?:CPU|CUDA|HIP|XLA|MPS|IPU|XPU|HPU|VE|Lazy|MTIA|MAIA|PrivateUse\d|Meta)$")
_TRANSFORMED = "inside a torch.func transform such as vmap"
_KEY_KINDS = (
    (("Conjugate", "Negative", "ZeroTensor"), "a lazily conjugated or negated view", ""),
    (("FuncTorchBatched", "FuncTorchGradWrapper", "BatchedNestedTensor"), _TRANSFORMED, _WHOLE_TRANSFORM),
    (("Functionalize",), "functionalized, as by torch.func.functionalize", ""),
    (("FuncTorchDynamicLayerBackMode", "FuncTorchDynamicLayerFrontMode"), _TRANSFORMED, _WHOLE_TRANSFORM),
    (("Python", "PythonTLSSnapshot"), "a tensor subclass, or used under a dispatch mode", ""),
)


def _global_state(item: Violation, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A setting; where it is the cache of autocast alone, and autocast is off, one of the two calls was traced."""
    is_on = any("True" in str(known.facts.get((Source(), AUTOCAST_ENABLED))) for known in (entry, call))
    if not is_of_cache(item) or is_on:
        return Classification(*describe_change(item), remedy=set_once(changed_fields(item)))
    values = autocast_pair(item) if item.prop == AUTOCAST_CACHE else None
    change = f"changed from {values[0]} to {values[1]}" if values else "changed"
    sentence = f"the cache of autocast alone {change}: torch.export and make_fx turn it off while they trace a call"
    return Classification(("SL307",), sentence, verdict=Verdict.JUSTIFIED, remedy=_TRACED)


def _keys(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Other keys of a dict, or the same ones in another order."""
    before, after = (known.keys_by_dict.get(item.source, []) for known in (entry, call))
    if before != after and sorted(before) == sorted(after):
        return Classification(("SL314",), f"the keys of the dict {name} are in a different order", remedy=_ONE_ORDER)
    return Classification(("SL314",), f"the keys of the dict {name} changed")


def _dispatch_keys(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """What kind of tensor it is, by the dispatch keys that only one side has."""
    old, new = (set(re.findall(r"\w+", str(text).removeprefix("DispatchKeySet"))) for text in (item.expected, item.actual))
    differing = old ^ new
    was_on, is_on = (sorted(key for key in keys if _BACKEND.match(key)) for keys in (old, new))
    if any(key.startswith(("Sparse", "Nested", "Quantized", "Mkldnn")) for key in differing):
        return Classification(("SL303",), f"the layout of {name} changed (sparse, nested or quantized)")
    if new and was_on != is_on:
        return Classification(("SL304",), f"the device type of {name} changed from {'/'.join(was_on) or '?'} to {'/'.join(is_on) or '?'}")
    if any(key.startswith("Autocast") for key in differing):
        switched = "on" if any(key.startswith("Autocast") for key in new) else "off"
        return Classification(("SL306",), f"autocast was turned {switched} after this was compiled")
    if differing == {"PythonDispatcher"}:
        now = "is no longer" if "PythonDispatcher" in old else "is now"
        sentence = f"{name} {now} traced with symbolic sizes, as by torch.export or make_fx"
        return Classification(("SL303",), sentence, verdict=Verdict.JUSTIFIED, remedy=_TRACED)
    for keys, words, remedy in _KEY_KINDS:
        if not differing.isdisjoint(keys):
            now = "is no longer" if new.isdisjoint(keys) else "is now"
            return Classification(("SL303",), f"{name} {now} {words}", remedy=remedy)
    if "ADInplaceOrView" in differing and not (entry.is_in_operator or call.is_in_operator):
        now = "is no longer" if "ADInplaceOrView" in new else "is now"
        return Classification(("SL303",), f"{name} {now} a tensor created in inference mode; such tensors are not tracked by autograd")
    if any(key.startswith("Autograd") for key in differing):
        is_tracked = any(key.startswith("Autograd") for key in new)
        if not (entry if is_tracked else call).is_in_operator:  # outside of inference mode too, its tensors lack autograd's keys
            now = "is no longer" if is_tracked else "is now"
            return Classification(("SL303",), f"{name} {now} a tensor created in inference mode, which autograd does not track")
        now = "with autograd again" if is_tracked else "below autograd, as in the kernel of a custom operator"
        return Classification(("SL303",), f"{name} is now used {now}")
    listed = ", ".join(sorted(differing)) or "the trace does not record how it differs"
    return Classification(("SL303",), f"{name} is a different kind of tensor than before: {listed}")


_WITHOUT_REASON = (
    "PyTorch gave no reason, as it does where torch.compile was called with another backend, under another dispatch mode, "
    "or from another thread"
)


def _unknown(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    if item.reason and not item.reason.code:
        return Classification(("SL399",), _WITHOUT_REASON)
    if item.reason and item.reason.family == "other":
        return Classification(("SL399",), f"PyTorch reports a guard that shapelog does not know: {item.reason.text}")
    return Classification(("SL399",), "PyTorch could not determine which guard failed: the state changed during the check")


def _view(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    tensor = item.source.display_name or "a tensor"
    return Classification(("SL303",), f"{tensor} was a view of another tensor when this was compiled, and no longer is one")


def _metadata(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """What a tensor subclass or an opaque object compares by itself; no trace holds the values."""
    known = _short_type(entry.types.get(item.source, ""))
    family, code = (item.reason.family, item.reason.code) if item.reason else ("", "")
    if family == "own_guard":
        return Classification(("SL320",), f"{name}{f' (a {known})' if known else ''} is in a different state, as its own guard_fn reports")
    if code.startswith("__dtensor"):
        sentence = f"the DTensor {name} has a different mesh, placement, shape or dtype"
    else:
        sentence = f"the metadata of {name} changed: what {known or 'its class'}.__tensor_flatten__ returns in addition to its tensors"
    return Classification(("SL303",), sentence, remedy=_SAME_METADATA)


def _backward_sizes(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Sizes that compiled autograd found changed, which it numbers through the whole backward pass, or (before torch 2.6) for each node."""
    code = item.reason.code if item.reason else ""
    counted = _CHANGED_SIZES.search(code)
    nodes = dict.fromkeys(_NODE_OF_SIZE.findall(code))
    what = f"{counted[1]} of the {counted[2]} sizes" if counted else f"sizes of {some(list(nodes), _MOST_NODES)}" if nodes else "sizes"
    return Classification(
        ("SL101",), f"{what} in the backward pass changed, so compiled autograd captured it again", True, Verdict.CODE, _MARK_FORWARD
    )


def _autograd_graph(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    node = _NEW_NODE.search(item.reason.code) if item.reason else None
    where = f": node {node[2]}, {node[1]}, is new" if node else ""
    return Classification(("SL324",), f"the backward pass has another autograd graph{where}")


def _inner_tensors(item: Violation, name: str) -> Classification:
    """``x.__tensor_flatten__()[0]``: the attributes that hold the tensors of which a tensor subclass consists."""
    owner, after = name.removesuffix(_INNER), f", now {item.actual}" if item.actual else ""
    sentence = f"the tensor subclass {owner} consists of different tensors: {item.expected}{after}"
    return Classification(("SL303",), sentence, remedy=_SAME_INNER)


def _aliasing(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    for group, now in (
        (item.actual, "were different {}s, and {}are now the same one"),
        (item.expected, "were the same {}, and {}now differ"),
    ):
        *others, last = str(group).split(" is ")
        if others and others[0].endswith("._base"):
            view = display_text(others[0].removesuffix("._base"))
            return Classification(("SL317",), f"{view} was a view of {display_text(last)}, and no longer is")
        if others:
            is_named_tensor = bool(item.reason and item.reason.family == "duplicate")
            is_tensor = is_named_tensor or any((Source(name), TENSOR) in known.facts for name in (*others, last) for known in (entry, call))
            happened = now.format("tensor" if is_tensor else "object", "some of them " if len(others) > 1 else "")
            words = f"{', '.join(map(display_text, others))} and {display_text(last)} {happened}"
            remedy = _SAME_OFFSETS if last.endswith(_OFFSETS) else "" if is_tensor else _SAME_OBJECTS
            return Classification(("SL317",), words, remedy=remedy)
    overlapping = _OVERLAPPING.search(item.reason.code) if item.reason else None
    if overlapping and overlapping["apart"]:
        together, apart = (enumerated(display_text(text).split(", ")) for text in overlapping.group("together", "apart"))
        sentence = f"{together} overlapped in memory when this was compiled, and {apart} did not; that has changed"
        return Classification(("SL317",), sentence)
    return Classification(("SL317",), "the set of inputs that are the same tensor (or overlap in memory) changed")


def _backend(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """What differs in two calls of torch.compile, by what PyTorch wrote about them (torch 2.13 and later)."""
    before, after = backend_named(str(item.expected)), backend_named(str(item.actual))
    unused = "so the earlier cache entries do not apply"
    if call.is_operator:
        sentence = f"PyTorch compiled this operator with a backend object of its own, as in every call that is traced, {unused}"
        return Classification(("SL318",), sentence, verdict=Verdict.JUSTIFIED, remedy=_TRACED_OPERATOR)
    if before.compiler and before.compiler == after.compiler:
        if before.options != after.options:
            sentence = f"torch.compile was called for the same code with {after.options} instead of {before.options}, {unused}"
            return Classification(("SL318",), sentence, remedy=_ONE_CALL)
        if before.is_inductor:
            sentence = f"torch.compile was called for the same code with a different mode=, options= or dynamic=, {unused}"
            return Classification(("SL318",), sentence, remedy=_ONE_CALL)
        sentence = f"torch.compile was called for the same code with a new backend object ({after.compiler}), {unused}"
        return Classification(("SL318",), sentence)
    which = f" ({after.compiler} instead of {before.compiler})" if before.compiler and after.compiler else " object"
    return Classification(("SL318",), f"torch.compile was called for the same code with a different backend{which}, {unused}")


def _inference_mode(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    sentence = "compiled outside inference mode, called inside it" if item.actual else "compiled in inference mode, called outside it"
    return Classification(("SL303",), sentence, remedy="warm up in the mode used in production: inference mode needs its own graphs")


def _size(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    dim, values = item.prop.dim, (item.expected, item.actual)
    codes = ["SL101"]
    is_known = item.actual is not Described.UNKNOWN
    sentence = f"dim {dim} of {name} changed" + (f" from {item.expected} to {item.actual}" if is_known else "")
    if _is_parameter(item, entry, call) and not {0, 1}.intersection(values):
        codes.append("SL106")
        sentence += "; it is a parameter, and parameters are static by default"
    elif 0 in values or 1 in values:
        codes.append("SL104")
        sentence += "; PyTorch always specializes on sizes 0 and 1"
    codes_of_pin, words = _pinned(item, f"{item.source}.size()[{dim}]", entry, call)
    is_zero_one = "SL104" in codes and not codes_of_pin
    if is_zero_one:
        words = ""  # what a size of 0 or 1 is tied to makes no difference
    remedy = _MARK_FORWARD if call.compile.id.autograd is not None else ""  # the user does not pass its inputs
    if is_zero_one and item.actual in (0, 1):  # the first call had another size
        remedy = _NOT_WARMED_UP
    tensor = call.input(item.source)
    if "SL103" in codes_of_pin and tensor and tensor.layout != "torch.strided":  # a mark of one size of a nested tensor does not help
        return Classification((*codes, *codes_of_pin), sentence + words, True, Verdict.CODE, _OWN_SYMBOLS)
    return Classification((*codes, *codes_of_pin), sentence + words, True, remedy=remedy)


def _is_parameter(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    tensor = call.input(item.source) or entry.input(item.source)
    is_known = bool(tensor and tensor.is_parameter) or bool(item.reason and item.reason.is_parameter)
    return is_known or "._parameters[" in item.source


def _pinned(item: Violation, source: str, entry: CompileFacts, call: CompileFacts) -> tuple[tuple[str, ...], str]:
    """(more codes, end of the sentence) where a symbol was pinned, by a line of code or by something static that varies too."""
    known = entry if source in entry.specializations_by_source else call
    specialization = known.specializations_by_source.get(source)
    if specialization is None:
        return (), ""
    if partner := _pinned_with(source, entry, call):
        line = _by_whom(specialization)
        shared = f"{partner} had the same size when this was compiled, so PyTorch used one symbol for both"
        return ("SL103",), f"; {shared}, and {line} needs the exact value of that one"
    values = integer(str(item.expected)), integer(str(item.actual))
    partners = tied_to(item.key, values, pin_of(source, specialization), known, entry, call)
    if partners:
        which = "which is static: mark both" if len(partners) == 1 else "which are static: mark all of them"
        return (), f"; the code ties it to {' and '.join(partners)}, {which}"
    return (_specializer(specialization),), f"; {_by_whom(specialization)} needs the exact value"


def _pinned_with(source: str, entry: CompileFacts, call: CompileFacts) -> str:
    """The size whose value the code needs, where another one had its symbol by duck sizing; "" where the code needs that one's own.

    In this call, where the two differ, each has a symbol, and the code pinned the other one alone.
    """
    if source not in entry.specializations_by_source or source in call.specializations_by_source or source not in call.symbolic:
        return ""
    others = (Source(other) for other in entry.specializations_by_source[source].sources if other in call.specializations_by_source)
    parts = (part for other in others if (part := other.tensor_part))
    return next((f"dim {part.dim} of {part.tensor.display_name}" for part in parts), "")


def _specializer(item: Specialization) -> str:
    """The rule that fits who pinned it: the code of the user, or a library."""
    frames = item.user_stack.frames
    return "SL202" if not frames or is_library(frames[-1].file) or _is_pinned_by_vmap(item) else "SL201"


def _is_pinned_by_vmap(item: Specialization) -> bool:
    """Whether vmap pinned it, whose rules for many operators need sizes as numbers: below vmap, while an operator ran on fake tensors."""
    return any(frame.file.endswith(_VMAP) for frame in item.user_stack.frames) and any(
        frame.file.endswith(_FAKE_TENSORS) for frame in item.stack.frames
    )


def _by_whom(item: Specialization) -> str:
    """The line that pinned it: the innermost one of the user, with the library that it called where that did it."""
    frames = item.user_stack.frames
    if not frames:
        return "the framework"
    own = next((frame for frame in reversed(frames) if not is_library(frame.file)), frames[-1])
    where = f"{own.file.rsplit('/', 1)[-1]}:{own.line}"
    code = own.code.strip().split("  #")[0]
    line = f"{where} ({code[:_SHOWN_CODE]}{'…' if len(code) > _SHOWN_CODE else ''})" if code else where
    if own is frames[-1] and _is_pinned_by_vmap(item):
        return f"vmap, for the operator at {line},"
    library = "/".join(frames[-1].file.rsplit("/", 2)[-2:])
    return line if own is frames[-1] else f"{library}:{frames[-1].line}, called at {line},"


def _stride(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    dim = item.prop.dim
    is_slice = is_free(item.source, dim, entry) and item.actual not in (0, 1) and same_order(item.source, entry, call)
    changed = f"the stride of {name} in dim {dim} changed from {item.expected} to {item.actual}"
    if layout(entry, item.source) is None and layout(call, item.source) is None:
        return Classification(("SL105",), f"{changed}: {_LAYOUT_OR_SLICE}", remedy=_COPY_OR_LAYOUT)
    return Classification(("SL105",), f"{changed}: {_SLICE if is_slice else _LAYOUT}", is_slice)


def _operator_with(number: str, known: CompileFacts) -> str:
    """The operator of a program's own, ``lab::smooth``, that takes a number as it is in a graph; "" where none does."""
    statements = known.compile.graph.statements if known.compile.graph else ()
    found = (call for statement in statements if "torch.ops." in statement for call in _CUSTOM_OPERATOR.findall(statement))
    return next((f"{space}::{name}" for space, name, arguments in found if number in re.split(r"[,\s=()\[\]]+", arguments)), "")


def _shape_guard(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    assert item.shape is not None
    shape, expression, names = item.shape, item.shape.expression, item.shape.parsed.names
    text, part = shown_guard(expression), item.source.tensor_part
    seen = f" (now {display_text(str(item.actual))})" if item.actual else ""
    if shape.is_duck_shape:
        what = "a size and a storage offset" if ".storage_offset()" in expression else "two sizes"
        sentence = f"{what} were equal when this was compiled, so PyTorch used one symbol for both: {text}{seen}"
        return Classification(("SL103",), sentence, True)
    values = [call.numbers[name] for name in names if name in call.numbers] if item.actual else []
    if _is_of_float(names, entry):
        if _is_constant_of_float(shape):
            floats = " and ".join(Source(name).display_name for name in names)
            what = "its value" if expression.startswith(f"{names[0]} ==") else "what is computed from it"
            kept = f"PyTorch could not make the float {floats} a tensor, and took {what} as a constant"
            return Classification(("SL312",), f"{kept}: the cache entry is only for {text}{seen}", False)
        return Classification(
            ("SL312",), f"the code branches on a float: the cache entry is only for {text}{seen}", False, Verdict.JUSTIFIED, _FLOAT_BRANCH
        )
    if part and ("._offsets.size()[0]" in expression) and "._values.size()[1]" in expression:
        sentence = f"a nested tensor had as many rows as columns when this was compiled, so PyTorch used one symbol for both: {text}{seen}"
        return Classification(("SL103",), sentence, True, Verdict.CODE, _OWN_SYMBOLS)
    if part and ".stride()[" in expression:
        source = call.described(part.tensor)
        is_slice = same_order(source, entry, call)
        tied = f"the strides of {part.tensor.display_name} no longer follow from its sizes ({text}){seen}"
        return Classification(("SL105",), f"{tied}: {_SLICE if is_slice else _LAYOUT}", is_slice)
    sizes = [name for name in names if Source(name).tensor_part]
    # torch 2.4 gives no comment, but these two forms are what its 0/1 specialization writes; a size of 1 that broadcasts fails an equality.
    is_zero_one = _ZERO_ONE in shape.comment or re.fullmatch(r"2 <= [^<>=]+|Ne\([^()]+, [01]\)", expression)
    is_equality = len(sizes) == 2 and re.fullmatch(r"[^<>=!%*/+]+ == [^<>=!%*/+]+", expression)
    if is_equality and any(entry.numbers.get(name) in (0, 1) for name in sizes):  # symbolic all the same: unbacked
        return Classification(("SL204",), f"the code requires two unbacked sizes to be equal: {text}{seen}", True, remedy=_EQUAL_OR_NOT)
    if (is_zero_one or is_equality) and any(value in (0, 1) for value in values or ((0,) if is_zero_one else ())):
        is_offset = bool(names) and all(name.endswith(".storage_offset()") for name in names)
        what = "a storage offset" if is_offset else "a size" if sizes or not values else "an int"
        sentence = f"PyTorch always specializes on {what} of 0 or 1: the cache entry requires {text}{seen}"
        return Classification(("SL104",), sentence, True, remedy=_FROM_START if is_offset else "")
    if part and len(names) == 1 and _is_range_of_mark(shape):
        sentence = f"dim {part.prop.dim} of {part.tensor.display_name} is marked dynamic with a limited range: {text}{seen}"
        return Classification(("SL321",), sentence, True, Verdict.CODE, _WIDER_RANGE)
    if re.fullmatch(r"[^=<>!%*/+()]+(?:\(\)\[\d+\]|\.item\(\))? == -?\d+", expression):
        if part is None:
            return Classification(("SL102", "SL201"), f"the code specialized on an int: the cache entry requires {text}{seen}", True)
        return Classification(("SL201",), f"the code specialized on a size: the cache entry requires {text}{seen}", True)
    what = "an int" if names and not sizes else "a size"
    return Classification(("SL204",), f"the code branches on {what}: the cache entry is only for {text}{seen}", True)


def _is_range_of_mark(shape: ShapeGuard) -> bool:
    """Whether bounds of a size come with its symbol, as those of ``mark_dynamic(min=, max=)`` do, and not from a line of code."""
    origins = _ORIGIN.findall(shape.comment)
    return bool(origins and _BOUNDS.fullmatch(shape.expression)) and all(origin.endswith(_MAKES_SYMBOLS) for origin in origins)


def shown_guard(expression: str) -> str:
    """A guard as a sentence has it: in the user's words, and without the middle of a very long one."""
    return cut(display_text(expression), _LONGEST_GUARD)


def _is_constant_of_float(shape: ShapeGuard) -> bool:
    """Whether a guard over floats is from the pass that makes tensors of them, which took an expression as a constant, and no branch."""
    return shape.parsed.is_equation and bool(shape.comment) and place_of(shape.comment) is None


def _is_of_float(names: tuple[str, ...], entry: CompileFacts) -> bool:
    """Whether a guard is over a Python float that became symbolic."""
    floats = entry.symbolic_floats
    return bool(names) and all(Source(name).unwrapped.canonical in floats or entry.types.get(Source(name)) == "float" for name in names)


def _marking(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    tensor, function = name or "a tensor", MARKED_BY.get(item.prop.name, "")
    if function and str(item.expected) == "False":
        return Classification(("SL321",), f"{tensor} is marked by {function}, and was not when this was compiled")
    how = f"({function or 'mark_dynamic, maybe_mark_dynamic or mark_static'}) than when this was compiled"
    return Classification(("SL321",), f"{tensor} is marked differently {how}")


def _transforms(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Inside of which transforms of torch.func, or whether inside of forward-mode AD, the code was compiled and is called."""
    if item.prop == DUAL_LEVEL:
        is_inside = str(item.expected) == "-1"
        where = ("outside", "inside") if is_inside else ("inside", "outside")
        sentence = f"the code was compiled {where[0]} of forward-mode AD (dual_level) and is now called {where[1]} of it"
        return Classification(("SL307",), sentence, remedy=_WHOLE_TRANSFORM)
    states = str(item.expected), str(item.actual)
    before, after = (_nested_transforms(state) for state in states)
    if item.actual is Described.UNKNOWN:
        return Classification(("SL307",), f"the code was compiled {before} and is now called elsewhere", remedy=_WHOLE_TRANSFORM)
    if before == after:
        before, after = (_nested_transforms(state, with_options=True) for state in states)
    return Classification(("SL307",), f"the code was compiled {before} and is now called {after}", remedy=_WHOLE_TRANSFORM)


def _nested_transforms(state: str, with_options: bool = False) -> str:
    """``[('Vmap', 1, 'error'), ('Grad', 2, True)]``, the outermost first → ``inside of grad inside of vmap``.

    ``with_options`` adds what each is called with: ``vmap(randomness='error')``, and for others whether gradients were enabled before it.
    """
    found = []
    for name, option in _TRANSFORM.findall(state):
        keyword = "randomness=" if name == "Vmap" else "grad_mode="
        found.append(f"inside of {name.lower()}{f'({keyword}{option})' if with_options and option else ''}")
    return " ".join(reversed(found)) or "outside of transforms such as vmap"


def _has(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    was_there, key = str(item.expected) == "True", item.prop.name.strip("'")
    owner = _CLASS_DICT.fullmatch(item.source) or _MODULE_PART.fullmatch(item.source)
    if owner:  # an attribute of a class, a submodule, a parameter or a buffer
        what = "the attribute" if owner.re is _CLASS_DICT else f"the {owner['part']}"
        now = "no longer has" if was_there else "now has"
        return Classification(("SL320",), f"{display_text(owner['owner'])} {now} {what} {key}")
    sentence = f"{name} {'no longer' if was_there else 'now'} contains {item.prop.name}"
    if _SETS.intersection((entry.types.get(item.source), call.types.get(item.source))):
        return Classification(("SL314",), sentence, verdict=Verdict.JUSTIFIED, remedy=_SAME_MEMBERS)
    return Classification(("SL314",), sentence)


def _has_attribute(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    now = "no longer has" if str(item.expected) == "True" else "now has"
    is_tensor = any((item.source, TENSOR) in known.facts for known in (entry, call))
    return Classification(("SL320",), f"{name} {now} the attribute {item.prop.name}", remedy=_SAME_TENSORS if is_tensor else "")


def _range(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    before, after = str(item.expected), str(item.actual)
    how = f" from range{before} to range{after}" if before and after else f" (was range{before})" if before else ""
    return Classification(("SL313",), f"the range {name} changed{how}")


def _length(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    before, after = str(item.expected), str(item.actual)
    had = f"and now has {after or ('some' if before == '0' else 'a different number')}"
    before = "no" if before == "0" else before
    tree = entry.tree
    kind = entry.types.get(item.source, "")
    if tree and not kind and (item.source, LENGTH) not in tree.facts and item.reason is None:
        kind = "dict"  # inferred from its guarded keys
    guard = tree.by_key.get((item.source, LENGTH)) if tree else None
    is_dict = "dict" in kind.lower() or (guard is not None and guard.kind == "DICT_LENGTH")
    plural = "" if before == "1" else "s"
    hooks = _HOOKS.search(item.source)
    if hooks:
        what = f"{hooks[1].replace('_', ' ').strip()}{plural}"
        sentence = f"{display_text(item.source[: hooks.start()])} had {before} {what} {had}"
        return Classification(("SL320",), sentence, remedy=_SAME_HOOKS)
    if item.source.endswith(_DEFAULTS):
        function = display_text(item.source.removesuffix(_DEFAULTS))
        return Classification(("SL313",), f"{function} had {before} default{plural} {had}", remedy=_SAME_DEFAULTS)
    part = _MODULE_PART.fullmatch(item.source)
    if part:
        return Classification(("SL313",), f"{display_text(part['owner'])} had {before} {part['part']}{plural} {had}")
    if is_dict or (item.reason is not None and "!=" in item.reason.code):
        return Classification(("SL314",), f"the dict {name} had {before} key{plural} {had}")
    return Classification(("SL313",), f"{name} had {before} item{plural} {had}")


def _identity(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    expected = str(item.expected)
    if item.source.endswith("__code__") or "code" in expected.split("'")[-2:]:
        function = name.removesuffix(".__code__")
        if item.actual == COMPILED_FUNCTION:
            sentence = f"{function} was replaced by what torch.compile made of a function, after this was compiled"
            return Classification(("SL309",), sentence, remedy=_COMPILE_FIRST)
        return _other_function(item.source, function, entry, call)
    if _short_type(expected) in _LIBRARY_FUNCTIONS:
        return Classification(("SL311",), other_library_function(name, entry, call), remedy=_for_functions(item.source))
    if operator := _OPERATOR.search(expected):
        return Classification(("SL311",), f"{name} is another operator than {operator[1]}", remedy=_EACH_FUNCTION)
    if expected.startswith(THE_CLASS):
        before, after = _short_type(expected.removeprefix(THE_CLASS)), _short_type(str(item.actual).removeprefix(THE_CLASS))
        if before == after:
            return Classification(("SL308",), f"{name} is a new class {before}, not the one this was compiled for", remedy=_SAME_CLASS)
        return Classification(("SL311",), f"{name} changed from the class {before} to {after}")
    if _ENUM.search(expected):
        return Classification(("SL311",), f"{name} is a different member of the enum {_short_type(expected)}")
    before_id, after_id = integer(expected), integer(str(item.actual))
    if before_id is not None and after_id is not None and abs(before_id - after_id) == _BOOL_DISTANCE:
        return Classification(("SL311",), f"{name} changed between True and False")
    kind = f" (a {_short_type(expected)})" if expected and not expected.isdigit() else ""
    remedy = _OWN_OBJECT if _is_of_instance(item.source) else _ITSELF if name == "self" else "" if kind else _UNKNOWN_OBJECT
    if expected == "torch.Tensor":
        remedy = _SAME_TENSOR
    elif re.search(rf"(?<![\w.])id\({re.escape(name)}\)", _code_of(item)):
        remedy = _WITHOUT_ID
    return Classification(("SL308",), f"{name}{kind} is a different object from the one this was compiled for", remedy=remedy)


def _is_of_instance(source: Source) -> bool:
    """Whether an object is held by the instance whose method is compiled."""
    return source.display_name.startswith("self.")


def _for_functions(source: Source) -> str:
    """What to do about another function: one that is looked up in a module or a class is not passed."""
    return _SET_FUNCTION_ONCE if source.startswith(("G[", "type(")) else _EACH_FUNCTION


def _other_function(source: Source, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another code object: a function passed on purpose, where the graphs show other places in the user's code, else one made anew."""
    before, after = functions_in(entry) - functions_in(call), functions_in(call) - functions_in(entry)
    if before and after:  # one that is made anew has the same code
        sentence = f"{name} changed to a function with different code"
        if len(before) == len(after) == 1:
            (was,), (now,) = before, after
            sentence = f"{name} changed from the function {was[0]} ({was[1]}) to {now[0]} ({now[1]})"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=_for_functions(source))
    if len(before | after) == 1 and entry.compile.graph and call.compile.graph:  # the other one left no operation
        ((function, place),) = before | after
        sentence = f"{name} changed {'from' if before else 'to'} the function {function} ({place}); the other one left no operation"
        return Classification(("SL309",), sentence, verdict=Verdict.JUSTIFIED, remedy=_for_functions(source))
    return Classification(("SL309",), f"{name} is a different function: its code object changed")


def _another_callable(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A function where something of another type is passed otherwise: with one type for both, each would still need its own graph."""
    was, now = _callable(item.expected, entry, call), _callable(item.actual, call, entry)
    sentence = f"{name} changed from {was} to {now or 'something that is no Python function'}"
    return Classification(("SL310",), sentence, verdict=Verdict.JUSTIFIED, remedy=_for_functions(item.source))


def _callable(known: Known, own: CompileFacts, other: CompileFacts) -> str:
    """What one of two calls has, with the name of a Python function where only its graph has code of one; "" where it is not recorded."""
    text = str(known)
    functions = functions_in(own) - functions_in(other) if text == "function" else set()
    if len(functions) == 1:
        ((function, place),) = functions
        return f"the function {function} ({place})"
    is_named = isinstance(known, Described) or text.startswith(THE_CLASS)
    return _KINDS_OF_FUNCTIONS.get(text) or (_shown_object(text) if is_named else f"type {text}")


def _short_type(text: str) -> str:
    """``<class 'a.B'>``, ``<enum 'B'>`` or ``a.B`` → ``B``."""
    quoted = re.fullmatch(r"<\w+ '(.*)'>", text)
    return (quoted[1] if quoted else text).rsplit(".", 1)[-1]


def _shown_object(text: str) -> str:
    """``the class numpy.float32`` → ``the class float32``, ``function`` → ``a Python function``; anything else as it is."""
    if text.startswith(THE_CLASS):
        return THE_CLASS + _short_type(text.removeprefix(THE_CLASS))
    return _KINDS_OF_FUNCTIONS.get(text, text)


def _type(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    before, after = str(item.expected), str(item.actual)
    if was_traced(item) is not None:
        how = "a fake tensor, as export traces with, and is now a real one" if was_traced(item) else "a real tensor, and is now a fake one"
        return Classification(("SL310",), f"{name} was {how}", verdict=Verdict.JUSTIFIED, remedy=_TRACED)
    if before == after and not isinstance(item.expected, Described) and not is_address(item.prop, before):
        return Classification(("SL310",), f"{name} is an instance of a different class with the same name ({after})", remedy=_SAME_CLASS)
    if "None" not in (before, after) and after != "NoneType" and _KINDS_OF_FUNCTIONS.keys() & {before, after}:
        return _another_callable(item, name, entry, call)
    now = "None" if after == "NoneType" else _shown_object(after) if after else "another type"
    is_named = item.expected is Described.TENSOR or before == "None" or before.startswith(THE_CLASS) or before in _KINDS_OF_FUNCTIONS
    named = _shown_object(before) if is_named else f"type {before}"
    is_recorded = bool(after) and item.actual is not Described.OTHER_OBJECT
    how = (
        "type (only the addresses of the types were recorded)"
        if is_address(item.prop, before)
        else f"from {named} to {now}"
        if before and before != after
        else f"type (now {now})"
        if is_recorded
        else "type (the new type is not recorded)"
    )
    code = "SL322" if "None" in (before, after) or after == "NoneType" else "SL310"
    if name == "self" and code == "SL310":
        return Classification((code,), f"{name} changed {how}", verdict=Verdict.JUSTIFIED, remedy=_SHARED_METHOD)
    return Classification((code,), f"{name} changed {how}")


def _value(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    before, after = str(item.expected), str(item.actual)
    now = after or "another value"
    if item.expected is Described.OBJECT:  # guarded by its id, in a version that does not write types: most often None
        return Classification(("SL322",), f"{name} was None or an object guarded by its identity, and is now {now}")
    if before == "not None":
        return Classification(("SL322",), f"{name} was not None and is now None")
    if "None" in (before, after) and before != after:
        return Classification(("SL322",), f"{name} changed from {_shown_object(before)} to {_shown_object(now)}")
    if item.source.endswith(_INNER):
        return _inner_tensors(item, name)
    if entry.types.get(item.source) == _COUNTER:
        how = f"from {_COUNTER}{before} to {_COUNTER}{after}" if after else f"(was {_COUNTER}{before})"
        return Classification(("SL311",), f"{name} changed {how}")
    if item.source.endswith(".training"):
        return Classification(("SL316",), f"{name} changed from {before} to {now}")
    if not before and not after:
        return Classification(("SL311",), f"{name} changed (its values are not recorded)")
    kind, kind_now = constant_type(before), constant_type(after)
    if after and kind_now != kind and (kind in _SCALARS or (kind and kind_now in _SCALARS)):
        return Classification(("SL310",), f"{name} changed from the {kind} {before} to {_shown_object(now)}")
    if kind == "int":
        changed = f"changed from {before} to {after}" if after else f"was {before} and has changed"
        return _int(item, f"the int {name} {changed}", entry, call)
    is_nan = is_compared_with_tensor(before)
    if is_nan or kind == "float":
        operator = _operator_with(before, entry)
        was = "NaN or another value" if is_nan else before
        sentence = f"the float {name} changed from {was} to {after}" if after else f"the float {name} was {was} and has changed"
        if operator and operator == _operator_with(now, call):
            return Classification(("SL312",), sentence, remedy=_FLOAT_OF_OPERATOR.format(operator=operator))
        return _float(item, sentence, entry, call)
    return Classification(("SL311",), f"{name} changed from {before} to {after}" if after else f"{name} was {before} and has changed")


def _attributes(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
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


def _plain_value(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """The value of an instance of a subclass of int and the like, which is never symbolic."""
    changed = f"changed from {item.expected} to {item.actual}" if item.actual else f"was {item.expected} and has changed"
    of_type = _short_type(entry.types.get(item.source, "")) or "subclass of a built-in type"
    sentence = f"{name}, a {of_type}, {changed}"
    kind = constant_type(str(item.expected))
    return Classification(("SL311",), sentence, remedy=_PLAIN.format(kind) if kind in ("int", "float") else "")


def _int(item: Violation, sentence: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    if _is_module_attribute(item.source, entry, call) or (item.reason and "nn.Module" in item.reason.text):
        return Classification(("SL315",), f"{sentence}; ints on an nn.Module are static by default", True)
    codes, words = _pinned(item, item.source, entry, call)
    return Classification(("SL102", *codes), sentence + words, True)


def _float(item: Violation, sentence: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """PyTorch makes a float dynamic that varies. It pins one that goes to an operator which takes it as a number, and no tensor either."""
    pin = (call if item.source in call.specializations_by_source else entry).specializations_by_source.get(item.source)
    if pin is not None and not pin.user_stack.frames:  # after the code was traced: the backend takes no floats
        sentence += "; PyTorch could not make it a tensor, and took its value as a constant"
        is_rounded = _is_rounded(item)
        return Classification(
            ("SL312",), sentence, False, Verdict.JUSTIFIED if is_rounded else None, remedy=_PINNED_FLOAT if is_rounded else ""
        )
    if pin is not None:
        return Classification(("SL312",), f"{sentence}; {_by_whom(pin)} needs the exact value", False, Verdict.JUSTIFIED, _PINNED_FLOAT)
    branch = _branch_on_float(item.source, call)
    if branch is None:
        return Classification(("SL312",), sentence, remedy=_TENSOR_RATE if _LEARNING_RATE.search(item.source) else "")
    verdict = Verdict.JUSTIFIED if branch.parsed.holds(entry.numbers) is False else None
    sentence += f"; the code branches on it ({shown_guard(branch.expression)})"
    return Classification(("SL312",), sentence, False, verdict, _FLOAT_BRANCH)


def _is_rounded(item: Violation) -> bool:
    """Whether the line that uses a float makes an int of it, which a tensor in its place would not be for Python."""
    rounded = rf"(?<!\w)(?:int|round|floor|ceil|trunc)\({re.escape(item.source.display_name)}\s*[,)]"
    return re.search(rounded, _code_of(item)) is not None


def _code_of(item: Violation) -> str:
    """The line of code that a guard is for, "" where it is not recorded."""
    place = (item.reason.place if item.reason else None) or place_of(item.comment)
    return place.code if place else ""


def _branch_on_float(source: Source, call: CompileFacts) -> ShapeGuard | None:
    """The guard that a branch on a float leaves, None without one. Operations such as ``t**0.5`` leave guards on their range, too."""
    name, shapes = source.canonical, call.tree.shapes if call.tree else ()
    found = (shape for shape in shapes if shape.parsed.names == (name,) and not shape.parsed.is_equation)
    return next((shape for shape in found if _IN_BRANCH in shape.comment), None)


def is_compared_with_tensor(expected: str) -> bool:
    """Whether a float was NaN when it was compiled: then it is compared with the tensor made of it."""
    return "___as_tensor(" in expected


def _is_module_attribute(source: Source, entry: CompileFacts, call: CompileFacts) -> bool:
    owner, dot, _ = source.rpartition(".")
    if owner in ("L['self']", "self") and "forward" in (entry.compile.metrics.code_name, call.compile.metrics.code_name):
        return True
    if owner.endswith("']") and "._modules[" in owner:
        return True
    return bool(dot) and entry.tree is not None and owner in entry.tree.modules


_CLASSIFIERS: dict[Kind, Callable[[Violation, str, CompileFacts, CompileFacts], Classification]] = {
    Kind.SIZE: _size,
    Kind.STRIDE: _stride,
    Kind.SHAPE_GUARD: _shape_guard,
    Kind.DISPATCH_KEYS: _dispatch_keys,
    Kind.VIEW: _view,
    Kind.MARKING: _marking,
    Kind.FUNCTORCH_STATE: _transforms,
    Kind.METADATA: _metadata,
    Kind.UNKNOWN: _unknown,
    Kind.ALIASING: _aliasing,
    Kind.BACKWARD_SIZES: _backward_sizes,
    Kind.AUTOGRAD_GRAPH: _autograd_graph,
    Kind.BACKEND: _backend,
    Kind.INFERENCE_MODE: _inference_mode,
    Kind.HAS: _has,
    Kind.HAS_ATTRIBUTE: _has_attribute,
    Kind.ATTRIBUTES: _attributes,
    Kind.LENGTH: _length,
    Kind.RANGE: _range,
    Kind.ID: _identity,
    Kind.TYPE: _type,
    Kind.KEYS: _keys,
    Kind.VALUE: _value,
    Kind.PLAIN_VALUE: _plain_value,
}

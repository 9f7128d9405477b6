"""Tensors that changed in anything but their sizes: dispatch keys, views, metadata, aliasing, marks."""

import re

from shapelog.reading.payloads.properties import MARKED_BY, TENSOR, Kind
from shapelog.reading.payloads.source_names import Source, display_text
from shapelog.reading.records import calling_line
from shapelog.recompiles.classification.result import (
    TRACED,
    Classification,
    Classifier,
    code_of,
    computes_something_else,
    short_type,
    shown_guard,
)
from shapelog.recompiles.classification.state import WHOLE_TRANSFORM
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.rules import Verdict
from shapelog.text import enumerated, file_name, with_article

_SAME_OBJECTS = "pass objects that are always distinct or always the same, or accept one graph for each case"
_BOTH_BRANCHES = "accept one graph per branch: a clone() of the tensor has the same sizes, and so takes the same branch"
_AS_KEYS = "look up what belongs to the tensor before the call, and pass that: a dict with tensors as keys needs a graph for each of them"
_SAME_PARAMETERS = "pass parameters that are always distinct or always the same, or accept one graph for each case"
_EACH_IDENTITY = "accept one graph for each case: what the code computes depends on which of these are the same object"
_OFFSETS = "._offsets"  # of a nested tensor, which shares them with others of the same shape
_SAME_OFFSETS = "make the nested tensors with one offsets tensor in every call, or accept one graph for each case"
_BOTH_LEVELS = "accept two graphs, or wrap what is called below autograd in torch.compiler.disable"
_NO_VIEW_IN_BACKWARD = (
    "clone() the view in the forward pass if it comes from there; gradients that autograd makes as views, and others, need a graph each"
)
COPY_OF_VIEW = "clone() the view before the call, or accept one graph for each kind of view"
_NO_VIEW = "pass a copy of {}, made with clone(), in the calls in which it is a view"
_NO_VIEWS = "pass copies of {}, made with clone(), in the calls in which these are views"
_SAME_METADATA = "use the same metadata in every call, or accept one graph for each"
INNER, _SAME_INNER = ".__tensor_flatten__()[0]", "give it the same tensors in every call, or accept one graph for each set"
_OVERLAPPING = re.compile(r"check_overlapping\(overlapping=\[(?P<together>.+)\], non_overlapping=\[(?P<apart>.*)\]\)")
_SAME_OVERLAP = "pass views that overlap in the same way in every call, or clone() those that are only read, and always the same ones"
_BACKEND = re.compile(r"^(?:CPU|CUDA|HIP|XLA|MPS|IPU|XPU|HPU|VE|Lazy|MTIA|MAIA|PrivateUse\d|Meta)$")
_RESOLVED = "call {} on it before the call, which makes such a view an ordinary tensor"
_BOTH_RESOLVED = _RESOLVED.format("resolve_conj() and resolve_neg()")
_TRANSFORMED = "inside a torch.func transform such as vmap"
_BUFFER = re.compile(r"_buffers(?:'\])?\['")
_COPY_INTO_BUFFER = "copy new values into the buffer with copy_(): what is assigned to it in inference mode is another kind of tensor"
_KEY_KINDS = (
    (("Conjugate",), "a lazily conjugated view", _RESOLVED.format("resolve_conj()")),
    (("Negative",), "a lazily negated view", _RESOLVED.format("resolve_neg()")),
    (("ZeroTensor",), "a tensor of zeros that has no memory", ""),
    (("FuncTorchBatched", "BatchedNestedTensor", "Batched", "VmapMode"), _TRANSFORMED, WHOLE_TRANSFORM),
    (("FuncTorchGradWrapper",), _TRANSFORMED.replace("vmap", "grad"), WHOLE_TRANSFORM.replace("vmap", "grad")),
    (("Functionalize",), "functionalized, as by torch.func.functionalize", ""),
    (("FuncTorchDynamicLayerBackMode", "FuncTorchDynamicLayerFrontMode"), _TRANSFORMED, WHOLE_TRANSFORM),
    (("Python", "PythonTLSSnapshot"), "a tensor subclass, or used under a dispatch mode", ""),
)
# What is offloaded is a parameter or a buffer.
_LOAD_FIRST = "move the module to its device before the first call: weights that are offloaded between calls need a graph for each device"


def dispatch_keys(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """What kind of tensor it is, by the dispatch keys that only one side has."""
    old, new = (set(re.findall(r"\w+", str(text).removeprefix("DispatchKeySet"))) for text in (item.expected, item.actual))
    differing = old ^ new
    was_on, is_on = (sorted(key for key in keys if _BACKEND.match(key)) for keys in (old, new))
    if any(key.startswith(("Sparse", "Nested", "Quantized", "Mkldnn")) for key in differing):
        return Classification(("SL303",), f"the layout of {name} changed (sparse, nested or quantized)")
    if was_on and is_on and was_on != is_on:  # under a transform a tensor has none
        sentence = f"the device type of {name} changed from {'/'.join(was_on)} to {'/'.join(is_on)}"
        return Classification(("SL304",), sentence, remedy=_LOAD_FIRST if item.source.is_registered else "")
    if any(key.startswith("Autocast") for key in differing):
        switched = "on" if any(key.startswith("Autocast") for key in new) else "off"
        return Classification(("SL306",), f"autocast was turned {switched} after this was compiled")
    if differing == {"PythonDispatcher"}:
        now = "is no longer" if "PythonDispatcher" in old else "is now"
        sentence = f"{name} {now} traced with symbolic sizes, as by torch.export or make_fx"
        return Classification(("SL303",), sentence, verdict=Verdict.JUSTIFIED, remedy=TRACED)
    kinds = [(not new.isdisjoint(keys), words, remedy) for keys, words, remedy in _KEY_KINDS if not differing.isdisjoint(keys)]
    if kinds:
        was, now = (next((words for is_new, words, _ in kinds if is_new is wanted), "") for wanted in (False, True))
        changed = f"is now {now}, and no longer {was}" if was and now and was != now else f"is now {now}" if now else f"is no longer {was}"
        is_both = differing >= {"Conjugate", "Negative"}
        return Classification(("SL303",), f"{name} {changed}", remedy=_BOTH_RESOLVED if is_both else kinds[0][2])
    if "ADInplaceOrView" in differing and not (entry.is_in_operator or call.is_in_operator):
        now = "is no longer" if "ADInplaceOrView" in new else "is now"
        remedy = _COPY_INTO_BUFFER if "ADInplaceOrView" not in new and _BUFFER.search(item.source) else ""
        words = f"{name} {now} a tensor created in inference mode; such tensors are not tracked by autograd"
        return Classification(("SL303",), words, remedy=remedy)
    if any(key.startswith("Autograd") for key in differing):
        is_tracked = any(key.startswith("Autograd") for key in new)
        if not (entry if is_tracked else call).is_in_operator:  # outside of inference mode too, its tensors lack autograd's keys
            now = "is no longer" if is_tracked else "is now"
            return Classification(("SL303",), f"{name} {now} a tensor created in inference mode, which autograd does not track")
        now = "with autograd again" if is_tracked else "below autograd, as in the kernel of a custom operator or in __torch_dispatch__"
        return Classification(("SL303",), f"{name} is now used {now}", verdict=Verdict.JUSTIFIED, remedy=_BOTH_LEVELS)
    listed = ", ".join(sorted(differing)) or "the trace does not record how it differs"
    return Classification(("SL303",), f"{name} is a different kind of tensor than before: {listed}")


def view(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    tensor = item.source.display_name or "a tensor"
    if item.reason and item.reason.family == "fewer_dims":
        return Classification(
            ("SL105",), f"{tensor} is a view of a tensor with fewer dims than when this was compiled", remedy=COPY_OF_VIEW
        )
    views = (known.source for known in entry.compile.inputs if known.is_view)
    others = [source.display_name for source in views if source != item.source and (now := call.input(source)) and not now.is_view]
    sentence = f"{tensor} was a view of another tensor when this was compiled, and no longer is one"
    if call.is_in_backward:
        return Classification(("SL303",), sentence, remedy=_NO_VIEW_IN_BACKWARD)
    line = calling_line(entry.compile.recorded_callers)
    where = f", as at {file_name(line.file)}:{line.line}" if line else ""
    all_views = [tensor, *dict.fromkeys(others)]
    remedy = _NO_VIEWS.format(enumerated(all_views)) if all_views[1:] else _NO_VIEW.format(tensor)
    return Classification(("SL303",), sentence, remedy=remedy + where)


def metadata(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """What a tensor subclass or an opaque object compares by itself; no trace holds the values."""
    known = short_type(entry.types.get(item.source, ""))
    family, code = (item.reason.family, item.reason.code) if item.reason else ("", "")
    if family == "own_guard":
        return Classification(
            ("SL320",), f"{name}{f' ({with_article(known)})' if known else ''} is in a different state, as its own guard_fn reports"
        )
    if code.startswith("__dtensor"):
        sentence = f"the DTensor {name.removesuffix('._spec')} has a different mesh, placement or dtype"
    else:
        sentence = f"the metadata of {name} changed: what {known or 'its class'}.__tensor_flatten__ returns in addition to its tensors"
    return Classification(("SL303",), sentence, remedy=_SAME_METADATA)


def inner_tensors(item: Violation, name: str) -> Classification:
    """``x.__tensor_flatten__()[0]``: the attributes that hold the tensors of which a tensor subclass consists."""
    owner, after = name.removesuffix(INNER), f", now {item.actual}" if item.actual else ""
    sentence = f"the tensor subclass {owner} consists of different tensors: {item.expected}{after}"
    return Classification(("SL303",), sentence, remedy=_SAME_INNER)


def aliasing(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
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
            branch = _branch_on_both(others[0], last, entry, call) if group is item.expected else ""
            if branch:
                return Classification(("SL317", "SL204"), f"{words}; the code branches on their sizes ({branch})", remedy=_BOTH_BRANCHES)
            names = [*map(Source, (*others, last))]
            if _are_compared(names, code_of(item)) or computes_something_else(item, entry, call):
                return Classification(("SL317",), words, verdict=Verdict.JUSTIFIED, remedy=_EACH_IDENTITY)
            return Classification(("SL317",), words, remedy=_remedy_of_alias(names, is_tensor, entry, call))
    overlapping = _OVERLAPPING.search(item.reason.code) if item.reason else None
    if overlapping and overlapping["apart"]:
        together, apart = (enumerated(display_text(text).split(", ")) for text in overlapping.group("together", "apart"))
        sentence = f"{together} overlapped in memory when this was compiled, and {apart} did not; that has changed"
        return Classification(("SL317",), sentence, remedy=_SAME_OVERLAP)
    return Classification(("SL317",), "the set of inputs that are the same tensor (or overlap in memory) changed")


def _branch_on_both(first: str, second: str, entry: CompileFacts, call: CompileFacts) -> str:
    """A guard over the sizes of two distinct inputs that one tensor in place of both does not satisfy, and no copy of it would; else ""."""
    names = [Source(name).canonical for name in (first, second)]
    numbers = dict(entry.numbers)
    for known, other in (names, names[::-1]):
        numbers |= {
            f"{other}{name.removeprefix(known)}": size for name, size in entry.numbers.items() if name.startswith(f"{known}.size()[")
        }
    for shape in call.tree.shapes if call.tree else ():
        tensors = {name.partition(".size()[")[0] for name in shape.parsed.names}
        if tensors.issuperset(names) and shape.parsed.holds(numbers) is False:
            return shown_guard(shape.expression)
    return ""


def _remedy_of_alias(names: list[Source], is_tensor: bool, entry: CompileFacts, call: CompileFacts) -> str:
    """What to do about values that are one object in some calls; "" where a copy of a tensor does no harm."""
    if any(name.endswith(_OFFSETS) for name in names):
        return _SAME_OFFSETS
    if any(name.dict_of_key for name in names):
        return _AS_KEYS
    tensors = (tensor for name in names for known in (entry, call) if (tensor := known.input(name)))
    if any(tensor.is_parameter for tensor in tensors):  # what changes a copy does not change the parameter
        return _SAME_PARAMETERS
    return "" if is_tensor else _SAME_OBJECTS


def _are_compared(names: list[Source], line: str) -> bool:
    """Whether a line asks if tensors are one object, as a set of them does, so that a copy changes the result."""
    shown = [re.escape(name.display_name) for name in names]
    together = "|".join(rf"(?<![\w.]){one} is (?:not )?{other}(?![\w.])" for one in shown for other in shown if one != other)
    sets = (re.split(r",\s*", found) for found in re.findall(r"\{([^{}:]+,[^{}:]+)\}", line))
    in_set = any({name.display_name for name in names} <= {item.strip() for item in items} for items in sets)
    return in_set or re.search(together, line) is not None


def marking(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    tensor, function = name or "a tensor", MARKED_BY.get(item.prop.name, "")
    if function and str(item.expected) == "False":
        return Classification(("SL321",), f"{tensor} is now marked by {function}, but was not when this was compiled")
    before, now = (_dims(str(value)) for value in (item.expected, item.actual))
    if function and before and now and before != now:
        return Classification(("SL321",), f"{function} marks {now} of {tensor}, and marked {before} when this was compiled")
    how = f"({function or 'mark_dynamic, maybe_mark_dynamic or mark_static'}) than when this was compiled"
    return Classification(("SL321",), f"{tensor} is marked differently {how}")


def _dims(marked: str) -> str:
    """``{0, 1}`` → ``dims 0 and 1``; "" for anything else."""
    dims = sorted(re.findall(r"\d+", marked), key=int) if re.fullmatch(r"\{[\d, ]+\}", marked) else []
    return f"dim{'s' if dims[1:] else ''} {enumerated(dims)}" if dims else ""


CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.DISPATCH_KEYS: dispatch_keys,
    Kind.VIEW: view,
    Kind.MARKING: marking,
    Kind.METADATA: metadata,
    Kind.ALIASING: aliasing,
}

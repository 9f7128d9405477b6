"""State outside of the inputs: global settings, modes, transforms, backends, compiled autograd."""

import re

from shapelog.reading.payloads.properties import AUTOCAST_CACHE, AUTOCAST_ENABLED, DUAL_LEVEL, Kind
from shapelog.reading.payloads.recompile_reasons import backend_named
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.classification.result import MARK_FORWARD, TRACED, Classification, Classifier
from shapelog.recompiles.evidence.violation import Described, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.global_state import (
    autocast_pair,
    changed_fields,
    describe_change,
    is_of_autocast_dtype,
    is_of_cache,
    set_once,
)
from shapelog.rules import Verdict
from shapelog.text import some

_ONE_BACKEND = "use one backend for this code in every torch.compile call, and one force_backend where torch.compiler.set_stance names one"
_ONE_CALL = "compile the code once, with one set of options, or accept one graph for each"
_OTHER_SURROUNDINGS = "torch.compile is called with another backend, under another dispatch mode, or from another thread"
_NO_GUARD_FAILED = f"no guard failed, which happens when {_OTHER_SURROUNDINGS}"
WITHOUT_REASON = f"PyTorch gave no reason, which happens when {_OTHER_SURROUNDINGS}"
SAME_SURROUNDINGS = (
    "run every call with the same backend and in the same thread, under the same dispatch modes (DebugMode, FakeTensorMode, ...)"
)
_ONE_GRAD_MODE = "always call it in the same grad mode, for example under torch.no_grad(): none of its inputs requires a gradient"
_ONE_GRAD_MODE_AND_AUTOCAST = "run every call in the same grad mode and under the same autocast, or accept one graph for each combination"
_ONE_AUTOCAST_DTYPE = "use autocast with the same dtype in every call, or accept one graph for each dtype"
_ONE_CREATE_GRAPH = (
    "pass the same create_graph to every call of backward() and torch.autograd.grad(), as it sets the grad mode of the backward pass, "
    "or accept one graph for each"
)
# Old versions do not name what changed.
_ANY_STATE_CHANGED = "grad mode, autocast or another global setting changed after this was compiled; which one is not named"
_ONE_STATE = "run every call in the same grad mode and under the same autocast; set all else once, before the first compiled call"
_ONE_INFERENCE_MODE = "use the same mode in all calls without gradients, including warm-up calls: inference mode needs its own graphs"
_TRACED_OPERATOR = "accept it: PyTorch compiles this operator itself for every call that is traced, as by torch.export"
WHOLE_TRANSFORM = "compile the transformed function as a whole, torch.compile(torch.func.vmap(f)), or accept one graph for each transform"
_TRANSFORM = re.compile(r"\('(\w+)', \d+(?:, ([^()]*))?\)")
_CHANGED_SIZES = re.compile(r"(\d{1,18}) changed tensor shapes? \(total of (\d{1,18})\)")
_NODE_OF_SIZE, _NEW_NODE = (
    re.compile(r"idx \d+ of (?:torch::autograd::)?([\w:]+)"),
    re.compile(r"node: (?:torch::autograd::)?(\S+) \(NodeCall (\d{1,18})\)"),
)
_MOST_NODES = 3


def global_state(item: Violation, entry: CompileFacts, call: CompileFacts) -> Classification:
    """A setting; where it is the cache of autocast alone, and autocast is off, one of the two calls was traced."""
    is_on = any("True" in str(known.facts.get((Source(), AUTOCAST_ENABLED))) for known in (entry, call))
    if not is_of_cache(item) or is_on:
        fields = changed_fields(item)
        if not any(fields):
            return Classification(("SL307",), _ANY_STATE_CHANGED, remedy=_ONE_STATE)
        of_dtype = _ONE_AUTOCAST_DTYPE if is_of_autocast_dtype(item) else ""
        is_of_both = "grad_mode" in fields and any(name.startswith("autocast") for name in fields)
        of_several = _ONE_GRAD_MODE_AND_AUTOCAST if is_of_both else of_dtype or set_once(fields)
        remedy = _of_grad_mode(entry, call) if fields == ("grad_mode",) else of_several
        return Classification(*describe_change(item), remedy=remedy)
    values = autocast_pair(item) if item.prop == AUTOCAST_CACHE else None
    change = f"changed from {values[0]} to {values[1]}" if values else "changed"
    sentence = f"the cache of autocast alone {change}: torch.export and make_fx turn it off while they trace a call"
    return Classification(("SL307",), sentence, verdict=Verdict.JUSTIFIED, remedy=TRACED)


def _of_grad_mode(entry: CompileFacts, call: CompileFacts) -> str:
    """What to do about another grad mode: in a backward pass, which compiled autograd runs, it follows from how that was called."""
    if entry.is_in_backward and call.is_in_backward:
        return _ONE_CREATE_GRAPH
    return _ONE_GRAD_MODE if _is_without_gradient(entry) and _is_without_gradient(call) else ""


def _is_without_gradient(known: CompileFacts) -> bool:
    """Whether a call has tensors, of which none requires a gradient."""
    return bool(known.compile.inputs) and not any(tensor.requires_grad for tensor in known.compile.inputs)


def backward_sizes(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Sizes that compiled autograd found changed, which it numbers through the whole backward pass, or (before torch 2.6) for each node."""
    code = item.reason.code if item.reason else ""
    counted = _CHANGED_SIZES.search(code)
    nodes = dict.fromkeys(_NODE_OF_SIZE.findall(code))
    what = f"{counted[1]} of the {counted[2]} sizes" if counted else f"sizes of {some(list(nodes), _MOST_NODES)}" if nodes else "sizes"
    return Classification(
        ("SL101",), f"{what} in the backward pass changed, so compiled autograd captured it again", True, Verdict.CODE, MARK_FORWARD
    )


def autograd_graph(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Compiled autograd captured another backward pass."""
    node = _NEW_NODE.search(item.reason.code) if item.reason else None
    where = f": node {node[2]}, {node[1]}, is new" if node else ""
    return Classification(("SL324",), f"the backward pass has another autograd graph{where}")


def backend(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
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
    if item.reason and not item.reason.code:
        return Classification(("SL318",), _NO_GUARD_FAILED, remedy=SAME_SURROUNDINGS)
    which = f" ({after.compiler} instead of {before.compiler})" if before.compiler and after.compiler else " object"
    sentence = f"the same code is compiled with a different backend{which}, {unused}"
    return Classification(("SL318",), sentence, remedy=_ONE_BACKEND if which != " object" else "")


def inference_mode(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Compiled in inference mode and called outside of it, or the other way round."""
    sentence = "compiled outside inference mode, called inside it" if item.actual else "compiled in inference mode, called outside it"
    return Classification(("SL303",), sentence, remedy=_ONE_INFERENCE_MODE)


def transforms(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Inside of which transforms of torch.func, or whether inside of forward-mode AD, the code was compiled and is called."""
    if item.prop == DUAL_LEVEL:
        is_inside = str(item.expected) == "-1"
        where = ("outside", "inside") if is_inside else ("inside", "outside")
        sentence = f"the code was compiled {where[0]} of forward-mode AD (dual_level) and is now called {where[1]} of it"
        return Classification(("SL307",), sentence, remedy=WHOLE_TRANSFORM)
    states = str(item.expected), str(item.actual)
    before, after = (_nested_transforms(state) for state in states)
    if item.actual is Described.UNKNOWN:
        inside = "inside of one" if states[0] == "[]" else "inside of other transforms"
        now = inside if states[0] == "[]" or _is_in_transform(call) else "elsewhere, or with other options"
        return Classification(("SL307",), f"the code was compiled {before} and is now called {now}", remedy=WHOLE_TRANSFORM)
    if before == after:
        before, after = (_nested_transforms(state, with_options=True) for state in states)
    return Classification(("SL307",), f"the code was compiled {before} and is now called {after}", remedy=WHOLE_TRANSFORM)


def _is_in_transform(call: CompileFacts) -> bool:
    """Whether a call without guards has a tensor that a transform wraps, by what PyTorch named of an entry made outside of transforms."""
    keys = (reason.actual for reason in call.compile.reasons if reason.prop.kind is Kind.DISPATCH_KEYS)
    return any("FuncTorch" in text for text in keys)


def _nested_transforms(state: str, with_options: bool = False) -> str:
    """``[('Vmap', 1, 'error'), ('Grad', 2, True)]``, the outermost first → ``inside of grad inside of vmap``.

    ``with_options`` adds what each is called with: ``vmap(randomness='error')``, and for others whether gradients were enabled before it.
    """
    found = []
    for name, option in _TRANSFORM.findall(state):
        keyword = "randomness=" if name == "Vmap" else "grad_mode="
        found.append(f"inside of {name.lower()}{f'({keyword}{option})' if with_options and option else ''}")
    return " ".join(reversed(found)) or "outside of transforms such as vmap"


CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.FUNCTORCH_STATE: transforms,
    Kind.BACKWARD_SIZES: backward_sizes,
    Kind.AUTOGRAD_GRAPH: autograd_graph,
    Kind.BACKEND: backend,
    Kind.INFERENCE_MODE: inference_mode,
}

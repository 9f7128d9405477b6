"""Violation → rule codes and one sentence in English for a person who has never heard of dispatch keys."""

import re

from shapelog.model.compile import resumed_by
from shapelog.reading.payloads.properties import GRAD_MODE, Kind
from shapelog.reading.payloads.source_names import Source, display_text
from shapelog.recompiles.classification import containers, objects, shape_guards, sizes, state, tensors, values
from shapelog.recompiles.classification.result import (
    FORWARD_TYPES,
    Classification,
    Classifier,
    code_of,
    compute_with_other_numbers,
    computes_something_else,
    have_other_graphs,
    line_of,
    made_outside,
    run_other_lines,
)
from shapelog.recompiles.classification.sizes import is_parameter
from shapelog.recompiles.evidence.violation import Described, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.int_usage import branches_on_type, is_branch, spelled
from shapelog.rules import RULES, Verdict

_CELL = re.compile(r"(?P<function>.+)\.__closure__\[\d+\]\.cell_contents(?:\.__code__)?")
# Of a comprehension or a generator expression, which has no name for it.
_ITERABLE = "L['.0']"
_NAMED_IN_HINT = re.compile(r'\(HINT: guard on "(\w+)"')
_FIXED_PARAMETER = (
    "set requires_grad of this parameter once, before the first compiled call; "
    "a frozen copy of a model and a trained one need separate graphs"
)
_WITH_GRADIENTS = "accept two graphs: in some calls gradients flow back through this tensor, and detach() would stop them"
_OR_ONE_GRAPH = "; where nothing else differs, calling requires_grad_() on it in the other calls lets them share a graph"
# An operation that changes its tensor, which a leaf that requires a gradient does not allow.
_IN_PLACE = re.compile(r"\.\w+[a-z0-9]_\(")
_WITHOUT_GRADIENTS = (
    "grad mode is off in these calls, so that no gradient flows back through this tensor: detach() it before the call, "
    "or compute it with grad mode off, too"
)
_ASKS_FOR_GRADIENTS = re.compile(r"\b(?:if|elif|while|assert)\b.*\.requires_grad\b")
_EACH_BRANCH = "accept two graphs: the code takes another path for a tensor that requires a gradient"
_TENSORS = frozenset((Described.TENSOR.value, "torch.Tensor"))
_STEADY_STATE = (
    "call the code once before several threads do, each of which may compile it otherwise; keep other threads from changing what it reads, "
    "and attributes from returning something else each time they are read"
)
_OF_PYTORCH = "update PyTorch, or wrap the function in torch.compiler.disable"
# What a guard is about, without what it checks.
_SOURCE_ALONE = re.compile(r"[A-Za-z_][\w.]*(?:\[['\"][^'\"]*['\"]\][\w.]*)+")
_WHOLE_REASON = "add the rest of the reason, or record it: TORCH_LOGS=recompiles"
_SAME_FOR_GUARD = "keep what this guard checks the same in all calls, or accept one graph for each case"
# What the inputs of a backward pass have from the forward pass; nobody passes them.
_OF_FORWARD = {
    Kind.DTYPE: FORWARD_TYPES,
    Kind.RANK: "accept one graph per number: what a backward pass takes has the number of dimensions of the forward pass",
}
# What the same code returns with and without autocast, which a text does not name.
_OF_AUTOCAST = ({"float16", "float32"}, {"bfloat16", "float32"})
_ONE_DTYPE = (
    "warm up with the dtype used in production, and cast the tensor to one dtype before the call: under autocast, operators return "
    "different dtypes"
)
_OTHER_TYPE, _OTHER_CONSTANT = "SL310", "SL311"
_OF_VALUES = (_OTHER_TYPE, _OTHER_CONSTANT)
_EACH_TYPE = "accept one graph for each type, on which the code branches; if the branch only converts the value, always pass the same type"
# Where one sentence is enough, with the names of what changed.
_SIMPLE = {
    Kind.RANK: ("SL107", "the number of dimensions of {name} changed from {before} to {after}"),
    Kind.DTYPE: ("SL301", "the dtype of {name} changed from {before} to {after}"),
    Kind.REQUIRES_GRAD: ("SL302", "requires_grad of {name} changed from {before} to {after}"),
    Kind.DEVICE: ("SL304", "the device of {name} changed from {before} to {after}"),
    Kind.CLOSURE: ("SL309", "{name} is a different function: its closure or its defaults changed"),
    Kind.PRESENT: ("SL320", "{name} no longer exists"),
}


def classify(item: Violation, source: Source, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Which rules a violation falls under. ``source`` is what to name in the sentence: the dict, where the violation is about a key."""
    if source != item.source and not item.prop.is_of_dim and item.prop.kind is not Kind.SHAPE_GUARD:
        return containers.keys(item._replace(source=source), source.display_name, entry, call)
    classifier = _CLASSIFIERS.get(item.prop.kind)
    name = _closure_variable(item, source) or source.display_name or "an object"  # whose name was cut off in a text
    code_name = call.compile.metrics.code_name or entry.compile.metrics.code_name  # of a refused call none is recorded
    if source.is_left_by_break and (resumed := resumed_by(code_name)):
        name += f" (from line {resumed[1]})"
    elif source.is_unnamed and not source.is_left_by_break:
        name += " (from a function that the code calls)"
    if _ITERABLE in source:
        name += " (what this code iterates over)" if source == _ITERABLE else " (of what this code iterates over)"
    if classifier is not None:
        found = _of_branch_on_type(_of_a_tensor(classifier(item, name, entry, call), item), item, entry, call)
        is_left = source.is_on_stack and not source.is_attribute and item.prop.kind is Kind.VALUE
        return _of_break(found, item, entry, call) if is_left else found
    if item.prop.kind in _SIMPLE:
        code, words = _SIMPLE[item.prop.kind]
        before, after = str(item.expected), str(item.actual)
        if not (before or after):  # older versions name what changed alone
            words = words.replace(" from {before} to {after}", "")
        sentence = words.format(name=name, before=before or "one value", after=after or "another")
        remedy = _OF_FORWARD.get(item.prop.kind, "") if call.takes_what_autograd_passes else ""
        if not remedy and {before, after} in _OF_AUTOCAST and entry.tree is None:
            remedy = _ONE_DTYPE
        found = Classification((code,), sentence, remedy=remedy)
        return _of_gradients(found, item, entry, call) if item.prop.kind is Kind.REQUIRES_GRAD else found
    if not item.source:
        return state.global_state(item, entry, call)
    return _unknown_guard(item.reason.text if item.reason else f"{source.display_name} {item.prop}")


def _of_a_tensor(found: Classification, item: Violation) -> Classification:
    """The same of a value that a line makes a tensor of, as far as nothing else is known: be it another value or another type, a tensor
    that is made before the call is a tensor in each call.
    """
    if found.codes[0] not in _OF_VALUES or found.verdict or found.remedy:
        return found
    outside = made_outside(item.source, (line_of(item),))
    return found._replace(verdict=Verdict.CODE, remedy=outside) if outside else found


def _of_branch_on_type(found: Classification, item: Violation, entry: CompileFacts, call: CompileFacts) -> Classification:
    """The same of another type that a line branches on, as far as nothing else is known."""
    if found.codes[0] != _OTHER_TYPE or found.verdict or found.remedy:
        return found
    if not branches_on_type(code_of(item), spelled(item.source)):
        is_on_type = str(item.expected) in _TENSORS or str(item.actual) in _TENSORS
        return found._replace(verdict=Verdict.JUSTIFIED, remedy=_EACH_TYPE) if is_on_type and run_other_lines(item, entry, call) else found
    is_other = have_other_graphs(entry, call) or computes_something_else(item, entry, call)
    return found._replace(verdict=Verdict.JUSTIFIED, remedy=_EACH_TYPE) if is_other else found


def _of_gradients(found: Classification, item: Violation, entry: CompileFacts, call: CompileFacts) -> Classification:
    """The same of a tensor that requires grad in some calls only, with what to do by where it comes from. A text does not have that."""
    if run_other_lines(item, entry, call) or (_ASKS_FOR_GRADIENTS.search(code_of(item)) and compute_with_other_numbers(entry, call)):
        return found._replace(verdict=Verdict.JUSTIFIED, remedy=_EACH_BRANCH)
    if is_parameter(item, entry, call):
        return found._replace(remedy=_FIXED_PARAMETER)
    tensors = [compile.input(item.source) for compile in (entry, call)]
    if any(tensor and tensor.has_history for tensor in tensors):
        if _has_grad_mode_off(entry) and _has_grad_mode_off(call):
            return found._replace(remedy=_WITHOUT_GRADIENTS)
        changes = any(_IN_PLACE.search(line) for line in entry.compile.graph.statements) if entry.compile.graph else False
        return found._replace(verdict=Verdict.JUSTIFIED, remedy=_WITH_GRADIENTS + ("" if changes else _OR_ONE_GRAPH))
    return found


def _has_grad_mode_off(known: CompileFacts) -> bool:
    """Whether a call was made with grad mode off, which its code did not turn on again for a gradient of its own."""
    guards = known.compile.guards
    return guards is not None and guards.facts.get((Source(), GRAD_MODE)) is False and not known.compile.backward


def _of_break(found: Classification, item: Violation, entry: CompileFacts, call: CompileFacts) -> Classification:
    """The same of a value that only a graph break makes an input: without the break, it is no longer one. An int can be marked.

    Where it is the condition of a branch and the graphs differ, True and False need one each, with or without the break.
    """
    is_condition = str(item.expected) in ("True", "False") and is_branch(code_of(item))
    if RULES[found.codes[0]].markable or (is_condition and have_other_graphs(entry, call)):
        return found
    return found._replace(verdict=Verdict.CODE, remedy="")


def _closure_variable(item: Violation, source: Source) -> str:
    """``k in the closure of inner`` for ``inner.__closure__[0].cell_contents``, where PyTorch's hint has the name; "" for anything else."""
    cell = _CELL.fullmatch(source)
    variable = _NAMED_IN_HINT.search(f"{item.comment} {item.reason.text if item.reason else ''}") if cell else None
    return f"{variable[1]} in the closure of {display_text(cell['function'])}" if cell and variable else ""


def _unknown(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    if item.reason and not item.reason.code:
        return Classification(("SL399",), state.WITHOUT_REASON, remedy=state.SAME_SURROUNDINGS)
    if item.reason and item.reason.family == "other":
        return _unknown_guard(item.reason.text)
    if item.reason and item.reason.family == "guard_error":
        return Classification(("SL399",), f"PyTorch wrote a guard that no call passes: {item.reason.code}", remedy=_OF_PYTORCH)
    sentence = "PyTorch could not determine which guard failed: the state changed during the check"
    return Classification(("SL399",), sentence, remedy=_STEADY_STATE)


def _unknown_guard(text: str) -> Classification:
    if _SOURCE_ALONE.fullmatch(text):
        return Classification(("SL399",), f"the reason is cut off behind {text}", remedy=_WHOLE_REASON)
    return Classification(("SL399",), f"PyTorch reports a guard that shapelog does not know: {text}", remedy=_SAME_FOR_GUARD)


_CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.UNKNOWN: _unknown,
    **containers.CLASSIFIERS,
    **objects.CLASSIFIERS,
    **shape_guards.CLASSIFIERS,
    **sizes.CLASSIFIERS,
    **state.CLASSIFIERS,
    **tensors.CLASSIFIERS,
    **values.CLASSIFIERS,
}

"""Sizes and strides that changed."""

import re

from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.classification.pins import pinned, remedy_of_library_pin, rewriting_of_pin
from shapelog.recompiles.classification.result import MARK_FORWARD, Classification, Classifier
from shapelog.recompiles.evidence.violation import FROM_NUMPY, Described, Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.strides import is_free, layout, same_order
from shapelog.rules import Verdict

_LAYOUT_OR_SLICE = "a slice of a different width, or a different memory layout"
_COPY_OR_LAYOUT = (
    "copy a slice with clone(memory_format=torch.contiguous_format), since contiguous() does not copy one with a size of 1; "
    "otherwise use one memory format"
)
# contiguous() returns one with a size of 1 as it is
COPY_ROW = "copy the slice or view before the call, with clone(memory_format=torch.contiguous_format)"
COPY_OF_ROW = f"{COPY_ROW}, or use one memory format"
_LAYOUT_OF_PARAMETER = "convert the model to one memory format before the first call: model.to(memory_format=...)"
# Torch 2.4 and older compare the size and the stride of each dim in turn: the sizes of later dims, which make the stride, come after it.
_CHECKED_IN_TURN, _OF_2_0 = " strides mismatch at index ", re.compile(r"tensor '(?!L\[)")
_MARK_OR_LAYOUT = "mark the later dim whose size varies as dynamic; where none does, use one memory format"
_SIZE_OR_LAYOUT = "a later dim has another size, or else the tensor another memory layout"
_SIZE_IF_STATIC = "a slice of a different width, a different memory layout, or, with dynamic=False, another size of a later dim"
_COPY_OR_MARK = (
    "leave out dynamic=False where it is set, or mark the later dim whose size varies as dynamic; where none does, copy the slice with "
    "clone(memory_format=torch.contiguous_format)"
)
_ALLOW_DYNAMIC = "pass dynamic=True to torch.compile, or use torch 2.1 or newer, which makes a size dynamic when it changes"
# How layers of torch.nn name their parameters.
_WEIGHTS = ".weight", ".bias"
SLICE, LAYOUT = "a slice of a different width", "a different memory layout (transposed, channels last, or a view)"
# What to do about a stride of 0, which only expand() and broadcasting make.
EXPANDED_IN_BACKWARD = (
    "copy what expand() returns with contiguous() in the forward pass; "
    "gradients that autograd expands, as that of sum(), and others need a graph each"
)
EXPANDED = "copy what expand() returns with contiguous(), or expand it in the compiled code"
ACCEPT = "accept the extra graph (PyTorch always specializes on 0 and 1)"
_WARM_UP = "if only the warm-up has a size of 0 or 1, warm up with 2 or more"
# PyTorch cannot decide a branch on an unbacked size, as an operator may have one: the graph breaks there, or the compilation fails.
OR_UNBACKED = "; torch._dynamo.decorators.mark_unbacked avoids that graph, but only where no code branches on the size"
# Of a value that was on the stack where a graph break ended the code before.
NO_BREAK = "remove the graph break that makes this value an input"
_ALL_DYNAMIC = "pass dynamic=True to torch.compile: this size of a tensor that is nested or sparse cannot be marked"
_PART_OF_ONE = f"pad, or make parts of another size, so that none has a size of 0 or 1; or {ACCEPT}"
_OWN_GRAPH = "accept one graph for each: PyTorch always specializes on sizes 0 and 1"
OWN_SYMBOLS = "set torch.fx.experimental._config.use_duck_shape = False"


def size(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    """Another size of a dimension that was static, and who needs it exactly where somebody does."""
    dim, values = item.prop.dim, (item.expected, item.actual)
    codes = ["SL101"]
    before, after = (
        f" {word} {value}" if value is not Described.UNKNOWN else "" for word, value in zip(("from", "to"), values, strict=True)
    )
    sentence = f"dim {dim} of {name} changed{before if after else ''}{after}"
    if is_parameter(item, entry, call) and not {0, 1}.intersection(values):
        codes.append("SL106")
        sentence += "; it is a parameter (of another module, or a new one), and parameters are static by default"
    elif 0 in values or 1 in values:
        codes.append("SL104")
        sentence += "; PyTorch always specializes on sizes 0 and 1"
    codes_of_pin, words = pinned(item, f"{item.source}.size()[{dim}]", entry, call)
    is_zero_one = "SL104" in codes and not codes_of_pin
    if is_zero_one:
        words = ""  # what a size of 0 or 1 is tied to makes no difference
    remedy = MARK_FORWARD if call.takes_what_autograd_passes else ""  # the user does not pass its inputs
    if is_zero_one and (remedy or is_parameter(item, entry, call)):
        remedy = _OWN_GRAPH
    elif is_zero_one and (item.actual in (0, 1) or item.source.is_unnamed):  # the first call had another size
        remedy = unbacked(item.source)
    elif is_zero_one and item.source.startswith(FROM_NUMPY):
        remedy = f"{_WARM_UP}; otherwise {unbacked(item.source)}"
    elif "SL201" in codes_of_pin and (instead := rewriting_of_pin(f"{item.source}.size()[{dim}]", entry, call)):
        return Classification((*codes, *codes_of_pin), sentence + words, True, Verdict.CODE, instead)
    elif "SL104" in codes_of_pin:
        remedy = _PART_OF_ONE
    elif "SL202" in codes_of_pin:
        remedy = remedy_of_library_pin(f"{item.source}.size()[{dim}]", entry, call) or remedy
    tensor = call.input(item.source)
    if "SL103" in codes_of_pin and tensor and tensor.layout != "torch.strided":  # a mark of one size of a nested tensor does not help
        return Classification((*codes, *codes_of_pin), sentence + words, True, Verdict.CODE, OWN_SYMBOLS)
    if tensor and not codes_of_pin and not is_zero_one and tensor.layout not in ("torch.strided", *(("torch.jagged",) if dim == 0 else ())):
        return Classification(tuple(codes), sentence + words, True, Verdict.CODE, _ALL_DYNAMIC)
    return Classification((*codes, *codes_of_pin), sentence + words, True, remedy=remedy)


def unbacked(source: Source) -> str:
    """How a tensor may have a size of 0 or 1 and keep its graph. Only tensors that have a name take a mark, NumPy arrays do not."""
    if source.is_unnamed:
        return f"{ACCEPT}, or {NO_BREAK}"
    return f"{ACCEPT}{OR_UNBACKED}" + (" (convert the array with torch.from_numpy)" if source.startswith(FROM_NUMPY) else "")


def is_parameter(item: Violation, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether a tensor is a parameter, by its description, PyTorch's reason or its source."""
    tensor = call.input(item.source) or entry.input(item.source)
    is_known = bool(tensor and tensor.is_parameter) or bool(item.reason and item.reason.is_parameter)
    return is_known or "._parameters[" in item.source


def stride(item: Violation, name: str, entry: CompileFacts, call: CompileFacts) -> Classification:
    dim = item.prop.dim
    of_parameter = _LAYOUT_OF_PARAMETER if is_parameter(item, entry, call) or item.source.endswith(_WEIGHTS) else ""
    is_slice = is_free(item.source, dim, entry) and item.actual not in (0, 1) and same_order(item.source, entry, call)
    changed = f"the stride of {name} in dim {dim} changed from {item.expected} to {item.actual}"
    if layout(entry, item.source) is None and layout(call, item.source) is None:
        if 0 in (item.expected, item.actual):
            when = "was expanded when this was compiled and is not now" if item.expected == 0 else "is expanded now and was not before"
            words = f"dim {dim} of {name} {when}: stride {item.expected}, now {item.actual}"
            return Classification(("SL105",), words, False, Verdict.CODE, EXPANDED)
        is_checked_in_turn = bool(item.reason and _CHECKED_IN_TURN in item.reason.code)
        if is_checked_in_turn and 1 not in (item.expected, item.actual):
            remedy = _ALLOW_DYNAMIC if item.reason and _OF_2_0.match(item.reason.code) else _MARK_OR_LAYOUT
            return Classification(("SL105",), f"{changed}: {_SIZE_OR_LAYOUT}", verdict=Verdict.CODE, remedy=remedy)
        # PyTorch compares all sizes first (``TensorCheck::check_verbose`` in ``guards.cpp``): none of them changed.
        if 1 in (item.expected, item.actual) and not is_checked_in_turn:  # that of the innermost dim, which stays static
            return Classification(("SL105",), f"{changed}: {LAYOUT}", False, Verdict.CODE, of_parameter or _COPY_OR_LAYOUT)
        if call.compile.metrics.assumes_entries and not of_parameter and 1 not in (item.expected, item.actual):
            return Classification(("SL105",), f"{changed}: {_SIZE_IF_STATIC}", verdict=Verdict.CODE, remedy=_COPY_OR_MARK)
        words = LAYOUT if of_parameter else _LAYOUT_OR_SLICE
        return Classification(("SL105",), f"{changed}: {words}", verdict=Verdict.CODE, remedy=of_parameter or _COPY_OR_LAYOUT)
    return Classification(("SL105",), f"{changed}: {SLICE if is_slice else LAYOUT}", is_slice, remedy="" if is_slice else of_parameter)


CLASSIFIERS: dict[Kind, Classifier] = {
    Kind.SIZE: size,
    Kind.STRIDE: stride,
}

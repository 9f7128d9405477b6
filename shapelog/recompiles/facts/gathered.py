"""Compile → its facts: from guards, described tensors, symbols and events, in that order of trust."""

from collections.abc import Mapping, Sequence
from weakref import ref

from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.expressions import Value, integer, number
from shapelog.reading.payloads.guards.leaves import DYNAMIC, Fact, Key
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.properties import (
    DISPATCH_KEYS,
    DTYPE,
    GRAD_MODE,
    ID,
    INFERENCE_MODE,
    RANK,
    REQUIRES_GRAD,
    TENSOR,
    VALUE,
    Kind,
    Property,
    size,
    stride,
)
from shapelog.reading.payloads.source_names import Source, with_locals
from shapelog.reading.records import Input
from shapelog.recompiles.facts.compile_facts import CompileFacts, Pin
from shapelog.recompiles.facts.facts_in_reasons import facts_in_reasons

_WRAPPED_CODE = "._torchdynamo_inline.__code__"
COMPILED_FUNCTION = "what torch.compile returned"


def facts_of(compile: Compile, pins: Mapping[Pin, Sequence[ref[CompileFacts]]]) -> CompileFacts:
    """What is known of a compile by itself; ``pins`` are those of all compiles."""
    tree = compile.guards
    facts = {key: value for key, value in tree.facts.items() if value != DYNAMIC} if tree else {}
    numbers: dict[str, Value] = {}
    for item in compile.inputs:
        _add_tensor(item, facts, numbers)
    for pair in tree.same if tree else ():  # of inputs that are one tensor, the first alone is described
        kind = next((facts[source, TENSOR] for source in pair if (source, TENSOR) in facts), None)
        if kind is not None:
            facts.update(((source, TENSOR), kind) for source in pair)
    facts.update(_compiled_functions(facts))
    if tree is None and not compile.inputs:
        facts.update(facts_in_reasons(compile))
    _add_symbols(compile, facts, numbers)
    # torch 2.4 describes no parameters, but static guards hold their sizes
    numbers = {**numbers_in(facts, with_dims=not compile.inputs), **numbers}
    if tree and not compile.inputs:
        _add_equal_sizes(compile, tree, facts, numbers)
    if tree and any(item.is_view for item in compile.inputs):
        _add_sizes_of_bases(compile, tree, facts, numbers)
    found = CompileFacts(compile, facts, numbers, pins)
    if tree and (mode := _inference_mode(tree)) is not None and not (mode and found.is_in_operator):
        facts[Source(), INFERENCE_MODE] = mode
    return found


def _add_tensor(item: Input, facts: dict[Key, Fact], numbers: dict[str, Value]) -> None:
    source = item.source
    facts.setdefault((source, TENSOR), "Parameter" if item.is_parameter else "Tensor")
    facts[source, RANK] = len(item.size)
    facts[source, DTYPE] = item.dtype
    facts[source, REQUIRES_GRAD] = item.requires_grad
    numbers[f"{source.canonical}.storage_offset()"] = item.storage_offset
    numbers.update({f"{source.canonical}._base.size()[{dim}]": value for dim, value in enumerate(item.base_size or ()) if value >= 0})
    for of_dim, values in ((size, item.size), (stride, item.stride)):
        for dim, value in enumerate(values):
            if value < 0:  # a symbol of what traces this code, whose value is not recorded
                continue
            prop = of_dim(dim)
            facts[source, prop] = value
            numbers[f"{source.canonical}.{prop.kind.value}()[{dim}]"] = value


def _add_symbols(compile: Compile, facts: dict[Key, Fact], numbers: dict[str, Value]) -> None:
    """What symbols, and events about what became dynamic, hold beyond the guards and the described tensors."""
    for symbol in compile.symbols:
        source, value = symbol.source.unwrapped, number(symbol.hint)
        part = source.tensor_part
        if source and symbol.hint and part is None:
            facts.setdefault((source, VALUE), symbol.hint)
            if value is not None:
                numbers.setdefault(source.canonical, value)
        elif part and (part.is_size or _is_undescribed_stride(part.prop, compile)) and isinstance(value, int):
            # of a tensor that is not described, in text logs
            facts.setdefault((part.tensor, part.prop), value)
            numbers.setdefault(source.canonical, value)
    for event in compile.automatic_dynamic:
        if event.dim == "scalar" and integer(event.new) is not None:
            facts.setdefault((event.source, VALUE), event.new)


def numbers_in(facts: Mapping[Key, Fact], with_dims: bool) -> dict[str, Value]:
    """The ints and floats among the facts of a call, and its sizes and strides, by their spelling in guard expressions."""
    found: dict[str, Value] = {}
    for (source, prop), fact in facts.items():
        value = number(fact) if prop.kind is Kind.VALUE and isinstance(fact, str) else None
        if value is not None:
            found.setdefault(source.canonical, value)
        elif with_dims and prop.is_of_dim and isinstance(fact, int):
            found.setdefault(f"{source.canonical}.{prop.kind.value}()[{prop.dim}]", fact)
    return found


def _add_equal_sizes(compile: Compile, tree: GuardTree, facts: dict[Key, Fact], numbers: dict[str, Value]) -> None:
    """The sizes in a text log that the entry of the call requires to be equal to one that PyTorch names as changed."""
    named = ((with_locals(reason.source), reason.prop, integer(reason.actual)) for reason in compile.reasons)
    changed = {f"{source.canonical}.size()[{prop.dim}]": now for source, prop, now in named if prop.kind is Kind.SIZE and now is not None}
    for first, _, second in (shape.expression.partition(" == ") for shape in tree.shapes) if changed else ():
        for name, other in ((first, second), (second, first)):
            part = Source(other).tensor_part
            if name in changed and part and part.is_size and other not in changed:
                facts.setdefault((part.tensor, part.prop), changed[name])
                numbers.setdefault(other, changed[name])


def _add_sizes_of_bases(compile: Compile, tree: GuardTree, facts: dict[Key, Fact], numbers: dict[str, Value]) -> None:
    """The sizes of inputs that are described as the bases of views alone, where the entry of the call requires them to equal known ones."""
    described = {item.source for item in compile.inputs}
    for first, _, second in (shape.expression.partition(" == ") for shape in tree.shapes):
        for name, other in ((first, second), (second, first)):
            part, value = Source(name).tensor_part, numbers.get(Source(other).canonical)
            if part and part.is_size and isinstance(value, int) and part.tensor not in described and (part.tensor, TENSOR) in facts:
                facts.setdefault((part.tensor, part.prop), value)
                numbers.setdefault(Source(name).canonical, value)


def _is_undescribed_stride(prop: Property, compile: Compile) -> bool:
    return prop.kind is Kind.STRIDE and not compile.inputs


def _compiled_functions(facts: Mapping[Key, Fact]) -> dict[Key, Fact]:
    """The code of functions that are what ``torch.compile`` returned: Dynamo looks through it, and guards the code of what it wraps."""
    codes = (source.removesuffix(_WRAPPED_CODE) for source, prop in facts if prop == ID and source.endswith(_WRAPPED_CODE))
    return {(Source(f"{function}.__code__"), ID): COMPILED_FUNCTION for function in codes}


def _inference_mode(tree: GuardTree) -> bool | None:
    """Whether a call was made in ``torch.inference_mode``, by the dispatch keys of its tensors; None where they leave that open.

    There, autograd's keys are excluded, and tensors that are made there have no ADInplaceOrView either; outside of it these have it, but
    not autograd's. Autograd's keys are also missing in the kernel of a custom operator. Grad mode, off in inference mode, shows either
    (recorded since torch 2.13).
    """
    keys = [str(value) for (_, prop), value in tree.facts.items() if prop == DISPATCH_KEYS]
    if not keys or any("Autograd" in text for text in keys):
        return False if keys else None
    grad_mode = tree.facts.get((Source(), GRAD_MODE))
    if grad_mode is True:
        return False
    is_plain = any("ADInplaceOrView" in text for text in keys)
    return True if grad_mode is False or (grad_mode is None and is_plain) else None

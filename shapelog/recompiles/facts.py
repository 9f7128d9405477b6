"""Compile → what is known of it: what it was called with, and what its cache entry checks.

A fact is *property of a source = value*. Facts come from guards, described tensors, symbols and events, in that order of trust.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple
from weakref import ref

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, function_of
from shapelog.model.frame import Frame
from shapelog.reading.payloads.graphs import made_sizes
from shapelog.reading.payloads.guard_expressions import Value, integer, number
from shapelog.reading.payloads.guards import DYNAMIC, Fact, GuardTree, Key, type_name
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
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import Source, with_locals, without_locals
from shapelog.reading.records import Input, Specialization, Symbol
from shapelog.recompiles.constant_arguments import Pinned, pinned_numbers

_LOOK = attrgetter("source", "size", "stride", "storage_offset", "dtype", "requires_grad")
_HINT = attrgetter("source", "hint")
_SOURCES = attrgetter("sources")
_OPERATORS, _DISPATCH = "torch/_ops.py", "__torch_dispatch__"
# The function of Dynamo that calls, as ``fn``, what it does not enter by itself: functions and modules of torch, say (``wrap_inline``).
_WRAPPER, _WRAPPED = ("torch/_dynamo/external_utils.py", "inner"), "L['fn']"
# What only a tensor has.
_OF_TENSORS = frozenset((Kind.SIZE, Kind.STRIDE, Kind.RANK, Kind.DTYPE, Kind.DEVICE, Kind.REQUIRES_GRAD, Kind.DISPATCH_KEYS))
# Operators that take functions, such as torch.cond: outside of compiled code PyTorch compiles them itself.
_OF_FUNCTIONS = re.compile(r"[/\\]torch[/\\]_higher_order_ops[/\\]")
_WRAPPED_CODE = "._torchdynamo_inline.__code__"
# Compiles in which the same line pinned the same size that are compared.
_MOST_PINNED = 40
# Refused calls of a frame of which more is worked out than their reasons state.
_MOST_REFUSED = 40
COMPILED_FUNCTION = "what torch.compile returned"


class Pin(NamedTuple):
    """A size or int, as PyTorch names it, and the line of code that made a number of it."""

    source: str
    file: str
    line: int


def pin_of(source: str, item: Specialization) -> Pin:
    """The innermost line is the one; "" and 0 where none is recorded."""
    line = item.user_stack.frames[-1] if item.user_stack.frames else None
    return Pin(source, line.file if line else "", line.line if line else 0)


class StaticValue(NamedTuple):
    """A size or int that is static in a compile, with its values in two calls."""

    key: Key
    name: str
    before: int
    after: int


@dataclass(frozen=True, eq=False)
class CompileFacts:
    """What is known of the call that led to a compile, and of the entry that the compile made.

    ``numbers`` holds sizes, strides, offsets, ints and floats by their spelling in guard expressions, ``types`` the Python type of each
    source where it is written. Compiles with the same facts share one of these; ``compile`` is the first of them. ``pins`` are those of
    other compiles by what was pinned in them, without keeping them; ``static_values`` is what ``tied_sizes`` found last for this call, by
    the compile that pinned something and the entry, ``new_tensors`` the tensors that the entry last asked about was not called with.
    """

    compile: Compile
    facts: Mapping[Key, Fact]
    numbers: Mapping[str, Value]
    pins: "Mapping[Pin, Sequence[ref[CompileFacts]]]" = field(default_factory=dict)
    static_values: "dict[tuple[CompileFacts, CompileFacts], tuple[StaticValue, ...]]" = field(default_factory=dict)
    new_tensors: "dict[CompileFacts, tuple[Input, ...]]" = field(default_factory=dict)

    @cached_property
    def tree(self) -> GuardTree | None:
        """What the entry checks; None where no guards are recorded."""
        return self.compile.guards

    @cached_property
    def types(self) -> Mapping[Source, str]:
        return self.tree.types if self.tree else _types_in_reasons(self.compile)

    @property
    def has_symbols(self) -> bool:
        """Whether its version records symbols or reasons. Where it does not, an int that is guarded by its type alone has become
        symbolic, which happens only when it changed.
        """
        return bool(self.compile.symbols) or self.compile.has_reasons_record

    @property
    def is_in_backward(self) -> bool:
        """Whether it was called in a backward pass that compiled autograd runs."""
        return self.compile.id.autograd is not None

    @property
    def is_of_captured_graph(self) -> bool:
        """Whether its code is the graph of a backward pass that compiled autograd made, to which the user passes nothing."""
        return self.is_in_backward and self.compile.metrics.code_file.startswith("<eval_with_key>")

    def number(self, key: Key) -> int | None:
        """A size or int of the call, None where that is not known."""
        source, prop = key
        if prop.kind is not Kind.SIZE or self.compile.is_refused:  # whose tensors are not described
            return integer(str(self.facts.get(key, "")))
        tensor = self.input(source)
        size = tensor.size[prop.dim] if tensor and prop.dim < len(tensor.size) else -1
        return size if size >= 0 else None

    def pinned_alike(self, pin: Pin) -> "list[CompileFacts]":
        """What is known of the compiles in which the same line pinned the same, this one among them."""
        return [known for held in self.pins.get(pin, ()) if (known := held()) is not None]

    def guarded(self, key: Key) -> Fact | None:
        """The value that the entry requires, None where it does not check this."""
        return self.tree.facts.get(key) if self.tree else None

    def input(self, source: str) -> Input | None:
        """The described tensor of a source."""
        return self._inputs.get(source)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The file of its code, then those of its stack, the outermost first."""
        return self.compile.metrics.code_file, *[frame.file for frame in self.compile.stack.frames]

    @cached_property
    def is_in_operator(self) -> bool:
        """Whether it was called below autograd, where its dispatch keys are excluded: from an operator's kernel or a tensor subclass."""
        callers = (*self.compile.stack.frames, *self.compile.recorded_callers)
        return any(frame.file.endswith(_OPERATORS) or function_of(frame.name) == _DISPATCH for frame in callers)

    @cached_property
    def is_operator(self) -> bool:
        """Whether it is code that PyTorch compiles by itself: an operator that takes functions, called outside of compiled code."""
        return bool(_OF_FUNCTIONS.search(self.compile.metrics.code_file))

    @cached_property
    def wrapped(self) -> str:
        """What it was compiled for, if its code is Dynamo's own wrapper, which all functions and modules share that it is put around; ""
        for any other code.
        """
        file, name = _WRAPPER
        metrics = self.compile.metrics
        return _WRAPPED if metrics.code_name == name and metrics.code_file.replace("\\", "/").endswith(file) else ""

    @cached_property
    def specializations_by_source(self) -> dict[str, Specialization]:
        return {source: item for item in reversed(self.compile.specializations) for source in item.sources}

    @cached_property
    def symbolic_floats(self) -> frozenset[str]:
        """The Python floats that became symbolic, as guard expressions spell them."""
        return frozenset([symbol.source.unwrapped.canonical for symbol in self.compile.symbols if symbol.name.startswith("zf")])

    @cached_property
    def symbols_by_source(self) -> dict[str, Symbol]:
        return {symbol.source: symbol for symbol in reversed(self.compile.symbols)}

    @cached_property
    def _inputs(self) -> dict[str, Input]:
        return {item.source: item for item in reversed(self.compile.inputs)}

    @cached_property
    def inputs_by_canonical(self) -> dict[str, list[Input]]:
        """Its tensors by their sources as guard expressions spell them."""
        return grouped(self.compile.inputs, lambda item: item.source.canonical)

    def tensors_not_in(self, entry: "CompileFacts") -> tuple[Input, ...]:
        """Its tensors that another compile was not called with; () where that one's are not described."""
        if entry not in self.new_tensors:
            self.new_tensors.clear()
            inputs = self.compile.inputs if entry.compile.inputs else ()
            self.new_tensors[entry] = tuple([item for item in inputs if entry.input(item.source) is None])
        return self.new_tensors[entry]

    def described(self, source: Source) -> Source:
        """The source of a tensor as PyTorch writes it, for one spelled as guards are parsed."""
        found = self.inputs_by_canonical.get(source.canonical)
        return found[0].source if found else source

    @cached_property
    def sources(self) -> frozenset[Source]:
        """Everything of which something is known."""
        return frozenset([source for source, _ in self.facts])

    @cached_property
    def tensors(self) -> frozenset[Source]:
        """The sources of its tensors. A float that became symbolic is described as a tensor, but is not one."""
        return frozenset([item.source for item in self.compile.inputs if not item.source.startswith("___as_tensor(")])

    @cached_property
    def quoted_lines(self) -> Mapping[int, str]:
        """The lines of the frame's own function that its guards and its graph quote, by number."""
        compile, name = self.compile, self.compile.metrics.code_name
        places = self.tree.places.values() if self.tree else ()
        found = {place.line: place.code for place in places if place and place.code and place.name == name}
        found.update((line.line, line.code) for line in (compile.graph.user_lines if compile.graph else ()) if line.name == name)
        return found

    @cached_property
    def keys_by_dict(self) -> Mapping[Source, list[str]]:
        """The keys of each dict as far as they are guarded, by their place: the value, or at least the type."""
        known = {key: name for key, name in self.types.items() if key.dict_of_key is not None}  # of a tensor, its id alone is guarded
        known |= {
            key: str(fact)
            for kind in (Kind.TYPE, Kind.VALUE)  # a value counts more
            for (key, prop), fact in self.facts.items()
            if prop.kind is kind and key.dict_of_key is not None
        }
        of_dicts = [(owner, key, text) for key, text in known.items() if (owner := key.dict_of_key)]
        found = grouped(sorted(of_dicts, key=lambda item: _place_of_key(item[1])), lambda item: item[0])
        return {owner: [text for _, _, text in items] for owner, items in found.items()}

    @cached_property
    def lines_of_use(self) -> Mapping[Key, int]:
        """The line on which the frame's own function first uses what each guard checks, as far as the guards tell."""
        tree, name = self.tree, self.compile.metrics.code_name
        if tree is None:
            return {}
        return {key: place.line for key, guard in tree.by_key.items() if (place := tree.places[guard.comment]) and place.name == name}

    @cached_property
    def symbolic(self) -> frozenset[Source]:
        """The sizes and ints that have a symbol, each as the symbol's source is written and without what wraps it."""
        if self.compile.has_guards_alone and self.tree is not None:
            return frozenset([Source(name) for shape in self.tree.shapes for name in shape.parsed.names])
        return frozenset([source for symbol in self.compile.symbols for source in (symbol.source, symbol.source.unwrapped)])

    @cached_property
    def pinned_numbers(self) -> Pinned:
        """The constants in its graph that operators need as such."""
        return tuple(pinned_numbers(self.compile.graph.statements)) if self.compile.graph else ()

    @cached_property
    def made_sizes(self) -> tuple[tuple[str, ...], ...]:
        """The sizes of the tensors that its graph computes."""
        return tuple(made_sizes(self.compile.graph)) if self.compile.graph else ()

    @cached_property
    def guarded_by_short_name(self) -> dict[str, Source]:
        """Its sources by the name that torch 2.7 and later give them in reasons: ``x`` for ``L['x']``."""
        found: dict[str, Source] = {}
        guards, shapes = (self.tree.guards, self.tree.shapes) if self.tree else ((), ())
        of_shapes = (Source(name) for shape in shapes for name in shape.parsed.names)  # of an int in a tensor there is no other guard
        for source in (*(guard.source for guard in guards), *self.types, *(item.source for item in self.compile.inputs), *of_shapes):
            found.setdefault(without_locals(source), source)
        return found


def _place_of_key(source: Source) -> int:
    """3 for ``list(dict.keys(L['d']))[3]``."""
    return integer(source.rpartition("[")[2].rstrip("]")) or 0


@dataclass(slots=True, eq=False, repr=False)
class FactTable:
    """The facts of each compile of a trace; found once for all compiles with the same payloads, tensors and symbols."""

    _by_compile: dict[Compile, CompileFacts] = field(default_factory=dict)
    _by_payload: dict[tuple[object, ...], CompileFacts] = field(default_factory=dict)
    _by_compiles: dict[tuple[CompileFacts, ...], dict[Key, list[Fact]]] = field(default_factory=dict)
    _by_frame: dict[Frame, dict[Key, list[Fact]]] = field(default_factory=dict)
    _pins: dict[Pin, list[ref[CompileFacts]]] = field(default_factory=dict)

    def of(self, compile: Compile) -> CompileFacts:
        found = self._by_compile.get(compile)
        if found is None:
            key = _payload_key(compile)
            found = self._by_payload.get(key)
            if found is None:
                found = self._by_payload[key] = _facts_of(compile, self._pins)
            self._by_compile[compile] = found
        return found

    def note(self, frame: Frame) -> None:
        """Note what the compiles of a frame show about each other: to be called before what is known of one of them is used."""
        self._complete_refused(frame)
        self._add_required(frame)
        self._note_pins(frame)

    def _complete_refused(self, frame: Frame) -> None:
        """Add to refused calls what the entries require whose sizes alone did not fit, and sizes that equal one of those in their reasons,
        as they do in the compiles of the frame. Of many such calls, the first count.
        """
        refused = [compile for compile in frame.compiles if compile.is_refused and not compile.inputs][:_MOST_REFUSED]
        equal = _equal_sizes(frame) if refused else {}
        entries = {compile.label.partition("#")[0]: compile for compile in frame.entries if compile.guards_span} if refused else {}
        for compile in refused:
            known = self.of(compile)
            met = {key: fact for reason in compile.reasons for key, fact in _met_before(reason, entries.get(reason.entry))}
            sizes = {other: fact for key, fact in known.facts.items() for other in equal.get(key, ()) if other not in known.facts}
            if met or sizes:
                tensors: dict[Key, Fact] = {(source, TENSOR): "Tensor" for source, _ in sizes}
                facts = {**met, **tensors, **sizes, **known.facts}
                numbers = {**_numbers_in(met, with_dims=True), **known.numbers}
                self._by_compile[compile] = replace(known, facts=facts, numbers=numbers, static_values={}, new_tensors={})

    def _add_required(self, frame: Frame) -> None:
        """Add the constants that later reasons name of an entry whose guards are not recorded: its own call came with them."""
        bare = {compile.label.partition("#")[0]: compile for compile in frame.compiles if not (compile.guards_span or compile.inputs)}
        required: dict[Compile, dict[Key, Fact]] = {}
        for reason in (reason for compile in frame.compiles for reason in compile.reasons) if bare else ():
            entry = bare.get(reason.entry)
            is_constant = reason.expected not in ("", "not None") and not reason.expected.startswith("___as_tensor(")  # any float but NaN
            if entry and reason.prop == VALUE and reason.source and is_constant:
                required.setdefault(entry, {})[with_locals(reason.source), VALUE] = reason.expected
        for entry, more in required.items():
            known = self.of(entry)
            self._by_compile[entry] = replace(known, facts={**more, **known.facts}, static_values={}, new_tensors={})

    def _note_pins(self, frame: Frame) -> None:
        """Note in which compiles a line pinned something; of many, the first count."""
        for compile in frame.compiles:
            known = ref(self.of(compile))
            for pin in {pin_of(source, item) for item in compile.specializations for source in item.sources}:
                held = self._pins.setdefault(pin, [])
                if len(held) < _MOST_PINNED and known not in held:
                    held.append(known)

    def keys(self, frame: Frame) -> Iterable[Key]:
        """The properties that are known of any compile of a frame."""
        return self._values(frame).keys()

    def values(self, frame: Frame, key: Key) -> Sequence[Fact]:
        """The values that one property had in the compiles of a frame, where they are known; one that stays the same once."""
        return self._values(frame).get(key, ())

    def _values(self, frame: Frame) -> dict[Key, list[Fact]]:
        found = self._by_frame.get(frame)
        if found is None:
            known = tuple(map(self.of, frame.compiles))
            if known not in self._by_compiles:  # another rank may have the same
                self._by_compiles[known] = _values_of(known)
            found = self._by_frame[frame] = self._by_compiles[known]
        return found


def _met_before(reason: Reason, entry: Compile | None) -> Iterator[tuple[Key, Fact]]:
    """What a call has that failed a guard over sizes alone: everything else that the entry requires.

    These guards are checked last (``epilogue_lambda_guards`` in ``torch/csrc/dynamo/guards.cpp``).
    """
    tree = entry.guards if entry and reason.family == "shape" else None
    if tree and any(reason.code in (shape.expression, without_locals(shape.expression)) for shape in tree.shapes):
        yield from ((key, fact) for key, fact in tree.facts.items() if fact != DYNAMIC)


def _equal_sizes(frame: Frame) -> dict[Key, list[Key]]:
    """Sizes that vary and are known in every compile of a frame, each with the others that vary as it does wherever they are known.

    Of many compiles, the first count.
    """
    described = [compile for compile in frame.compiles if compile.inputs][:_MOST_PINNED]
    columns: dict[Key, dict[int, int]] = {}
    for at, compile in enumerate(described):
        for tensor in compile.inputs:
            for dim, value in enumerate(tensor.size):
                columns.setdefault((tensor.source, size(dim)), {})[at] = value
    varying = {key: column for key, column in columns.items() if len(set(column.values())) > 1}
    same_values = grouped(varying, lambda key: tuple(varying[key].items()))
    places = dict.fromkeys(tuple(column) for column in varying.values())
    found = {}
    for values, keys in same_values.items():
        if len(values) == len(described):
            known = dict(values)
            partners = [other for where in places for other in same_values.get(tuple([(at, known[at]) for at in where]), ())]
            if len(partners) > 1:
                found.update(dict.fromkeys(keys, partners))
    return found


def _values_of(compiles: Iterable[CompileFacts]) -> dict[Key, list[Fact]]:
    found: dict[Key, list[Fact]] = {}
    for item in compiles:
        for key, fact in item.facts.items():
            values = found.setdefault(key, [])
            if not values or values[-1] != fact:
                values.append(fact)
    return found


def _payload_key(compile: Compile) -> tuple[object, ...]:
    """The same for compiles of which the same is known."""
    looks = hash(tuple(map(_LOOK, compile.inputs))), hash(tuple(map(_HINT, compile.symbols)))
    named = () if compile.inputs else tuple([(reason.source, reason.prop, reason.actual) for reason in compile.reasons])
    if compile.guards_span:
        return compile.guards_span.digest or compile, *looks, named
    rest = (
        compile.metrics.code_name,
        compile.has_reasons_record,
        compile.inputs,
        compile.automatic_dynamic,
        *map(_SOURCES, compile.specializations),
        named,
    )
    return hash(rest), *looks


def _facts_of(compile: Compile, pins: Mapping[Pin, Sequence[ref[CompileFacts]]]) -> CompileFacts:
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
        facts.update(_facts_in_reasons(compile))
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
    # torch 2.4 describes no parameters, but static guards hold their sizes
    numbers = {**_numbers_in(facts, with_dims=not compile.inputs), **numbers}
    if tree and not compile.inputs:
        _add_equal_sizes(compile, tree, facts, numbers)
    if tree and any(item.is_view for item in compile.inputs):
        _add_sizes_of_bases(compile, tree, facts, numbers)
    found = CompileFacts(compile, facts, numbers, pins)
    if tree and (mode := inference_mode(tree)) is not None and not (mode and found.is_in_operator):
        facts[Source(), INFERENCE_MODE] = mode
    return found


def _numbers_in(facts: Mapping[Key, Fact], with_dims: bool) -> dict[str, Value]:
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


def _facts_in_reasons(compile: Compile) -> Iterator[tuple[Key, Fact]]:
    """What reasons state of the call itself. A call that was refused, or failed early, leaves nothing else."""
    for reason in compile.reasons:
        source, kind = with_locals(reason.source), reason.prop.kind
        if source and kind in _OF_TENSORS:
            yield (source, TENSOR), "Tensor"
            value = integer(reason.actual)
            if value is not None and kind in (Kind.SIZE, Kind.RANK):
                yield (source, reason.prop), value
    for source, name in _types_in_reasons(compile).items():
        if name == "NoneType":
            yield (source, VALUE), "None"


def _types_in_reasons(compile: Compile) -> dict[Source, str]:
    """The types of what was passed in place of tensors."""
    found = (reason for reason in compile.reasons if reason.family == "tensor_type" and reason.actual)
    return {with_locals(reason.source): type_name(reason.actual) for reason in found}


def _compiled_functions(facts: Mapping[Key, Fact]) -> dict[Key, Fact]:
    """The code of functions that are what ``torch.compile`` returned: Dynamo looks through it, and guards the code of what it wraps."""
    codes = (source.removesuffix(_WRAPPED_CODE) for source, prop in facts if prop == ID and source.endswith(_WRAPPED_CODE))
    return {(Source(f"{function}.__code__"), ID): COMPILED_FUNCTION for function in codes}


def inference_mode(tree: GuardTree) -> bool | None:
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


def _add_tensor(item: Input, facts: dict[Key, Fact], numbers: dict[str, Value]) -> None:
    source = item.source
    facts.setdefault((source, TENSOR), "Parameter" if item.is_parameter else "Tensor")
    facts[source, RANK] = len(item.size)
    facts[source, DTYPE] = item.dtype
    facts[source, REQUIRES_GRAD] = item.requires_grad
    numbers[f"{source.canonical}.storage_offset()"] = item.storage_offset
    for of_dim, values in ((size, item.size), (stride, item.stride)):
        for dim, value in enumerate(values):
            if value < 0:  # a symbol of what traces this code, whose value is not recorded
                continue
            prop = of_dim(dim)
            facts[source, prop] = value
            numbers[f"{source.canonical}.{prop.kind.value}()[{dim}]"] = value

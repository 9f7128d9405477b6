"""Compile → what is known of it: what it was called with, and what its cache entry checks.

A fact is *property of a source = value*.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple
from weakref import ref

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, function_of
from shapelog.reading.payloads.graphs import made_sizes
from shapelog.reading.payloads.guards.expressions import Value, integer
from shapelog.reading.payloads.guards.leaves import Fact, Key
from shapelog.reading.payloads.guards.tree import GuardTree
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.sizes_as_tensors import SizeAsTensor, sizes_as_tensors
from shapelog.reading.payloads.source_names import Source, is_dynamo, is_torch, without_locals
from shapelog.reading.records import Input, Specialization, Symbol
from shapelog.recompiles.constant_arguments import Pinned, pinned_numbers
from shapelog.recompiles.facts.facts_in_reasons import types_in_reasons

_OPERATORS, _DISPATCH = "torch/_ops.py", "__torch_dispatch__"
# The function of Dynamo that calls, as ``fn``, what it does not enter by itself: functions and modules of torch, say (``wrap_inline``).
_WRAPPER, _WRAPPED = ("torch/_dynamo/external_utils.py", "inner"), "L['fn']"
# Operators that take functions, such as torch.cond: outside of compiled code PyTorch compiles them itself.
_OF_FUNCTIONS = re.compile(r"[/\\]torch[/\\]_higher_order_ops[/\\]")


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
        return self.tree.types if self.tree else types_in_reasons(self.compile)

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
        return self.is_in_backward and self.code_file.startswith("<eval_with_key>")

    @property
    def takes_what_autograd_passes(self) -> bool:
        """Whether it is the graph of a backward pass, or what PyTorch calls in one, as for a custom function."""
        return self.is_of_captured_graph or (self.is_in_backward and is_torch(self.code_file))

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
    def code_file(self) -> str:
        """The file of its code, which without metrics is the innermost of its stack; "" for a refused call that has neither."""
        frames = () if self.compile.metrics.code_file else self.compile.stack.frames[-1:]
        return next((frame.file for frame in frames if not is_dynamo(frame.file)), self.compile.metrics.code_file)

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
        return bool(_OF_FUNCTIONS.search(self.code_file))

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
    def sizes_as_tensors(self) -> tuple[SizeAsTensor, ...]:
        """The calls in its graph that make a tensor of numbers, which is then a size."""
        return tuple(sizes_as_tensors(self.compile.graph.statements)) if self.compile.graph else ()

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

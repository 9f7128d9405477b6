"""The facts of each compile of a trace, with what the compiles of a frame show about each other."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from weakref import ref

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.guards.leaves import DYNAMIC, Fact, Key
from shapelog.reading.payloads.properties import TENSOR, VALUE, size
from shapelog.reading.payloads.recompile_reasons import Reason
from shapelog.reading.payloads.source_names import with_locals, without_locals
from shapelog.recompiles.facts.compile_facts import CompileFacts, Pin, pin_of
from shapelog.recompiles.facts.gathered import facts_of, numbers_in

_LOOK = attrgetter("source", "size", "stride", "storage_offset", "dtype", "requires_grad")
_HINT = attrgetter("source", "hint")
_SOURCES = attrgetter("sources")
# Compiles in which the same line pinned the same size that are compared.
_MOST_PINNED = 40
# Refused calls of a frame of which more is worked out than their reasons state.
_MOST_REFUSED = 40


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
                found = self._by_payload[key] = facts_of(compile, self._pins)
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
                numbers = {**numbers_in(met, with_dims=True), **known.numbers}
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
    named: tuple[object, ...] = () if compile.inputs else tuple([(reason.source, reason.prop, reason.actual) for reason in compile.reasons])
    if not compile.inputs and not compile.has_reasons_record:
        named = (compile.id.compile,)  # without these, what is new against the entry before shows what changed
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

"""Which marks it takes for an earlier entry to serve a later call."""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import NamedTuple

from shapelog.advice.dynamism.equal_sizes import equal_sizes
from shapelog.advice.dynamism.propagation import DynamismPropagation
from shapelog.advice.marks import Mark, mark_at
from shapelog.grouping import connected, grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.guards.expressions import canonical, integer
from shapelog.reading.payloads.guards.leaves import DYNAMIC, Key
from shapelog.reading.payloads.guards.tree import ShapeGuard
from shapelog.reading.payloads.properties import VALUE, Kind, size
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import Cause, EntryDifference
from shapelog.recompiles.explain import Explanations
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.strides import is_free_stride

# The size of a dimension in which the rows of a nested tensor differ.
_NESTED_INT = re.compile(r"j\d+")
_OFFSET, _BASE, _OF_VIEW = ".storage_offset()", "._base.", "._base"
_REQUIRED = frozenset((Kind.SIZE, Kind.STRIDE, Kind.VALUE, Kind.RANK, Kind.LENGTH, Kind.DTYPE, Kind.REQUIRES_GRAD, Kind.TYPE))
# Of more dims that were equal, a route has no choice which to mark.
_MOST_PAIRED = 16
# Fewer entries do not show that calls with other values take the same branches.
_LEAST_ENTRIES = 2

MarkChoice = frozenset[Mark]
"""Marks of which one is enough."""


_INDEX = re.compile(r"\[\d+\]")


class Route(NamedTuple):
    """An earlier entry that would serve a call once one mark of each choice is set; ``is_proven`` if a dynamic version's guards hold
    for both.

    ``is_elsewhere``: the entry of a capture of compiled autograd is in the function whose backward pass it is, and gone with that one's
    forward graph. One that the trace does not hold is elsewhere, too.

    ``lost`` are sources that vary and that the call's own compile had symbolic where the entry has not, each with what keeps it so.
    ``doubts`` is what may separate the two as well without being in the trace, each with the marks that settle it. ``kept`` are sizes of
    tensors that the function is taken to have kept. ``shows_one_input``: reasons are all that is known of the call, and name a size.
    """

    entry: Compile
    required_marks: tuple[MarkChoice, ...]
    is_proven: bool
    lost: tuple[tuple[Source, MarkChoice], ...] = ()
    is_elsewhere: bool = False
    doubts: tuple[MarkChoice, ...] = ()
    kept: tuple[Mark, ...] = ()
    shows_one_input: bool = False

    def may_be_replaced(self, chosen: frozenset[Mark]) -> bool:
        """Whether the entry does not serve the call if code outside puts another tensor in place of what the function keeps."""
        return not chosen.issuperset(self.kept)

    def is_doubtful(self, chosen: frozenset[Mark]) -> bool:
        """Whether the entry may not serve the call after all, were these marked."""
        return self.shows_one_input or any(choice.isdisjoint(chosen) for choice in self.doubts)

    def narrows(self, chosen: frozenset[Mark]) -> tuple[Source, ...]:
        """The sources that would be static in place of symbolic, were these marked."""
        return tuple(source for source, choice in self.lost if choice.isdisjoint(chosen))


@dataclass(frozen=True, slots=True)
class Router:
    """Finds the routes of a trace."""

    explained: Explanations
    propagation: DynamismPropagation
    _varying: dict[tuple[Frame, Key], bool] = field(default_factory=dict)
    _varying_among_alike: dict[tuple[Frame, Key, frozenset[Source]], bool] = field(default_factory=dict)
    _first_sizes: dict[tuple[Frame, Source, int], Mapping[tuple[int, tuple[int, ...]], int]] = field(default_factory=dict)
    _tensors: dict[Compile, frozenset[Source]] = field(default_factory=dict)
    _keys_that_vary: dict[Frame, tuple[Key, ...]] = field(default_factory=dict)
    _of_base: dict[Frame, dict[str, list[Mark]]] = field(default_factory=dict)
    _with_views: dict[Frame, dict[str, list[Mark]]] = field(default_factory=dict)
    _together: dict[tuple[Frame, Key, Key], bool] = field(default_factory=dict)
    _equal: dict[Compile, dict[Mark, frozenset[Mark]]] = field(default_factory=dict)

    def route(self, frame: Frame, difference: EntryDifference, compile: Compile) -> Route | None:
        """How the entry of a difference would serve this call, None if no mark makes it do so."""
        is_proven = self.explained.reuse.proof(frame, difference, compile)
        if is_proven is None:
            return None
        choices: dict[MarkChoice, None] = {}
        entry, call = self.explained.facts.of(difference.entry), self.explained.facts.of(compile)
        unlike = {Kind.DUCK_SHAPE if cause.prop.kind is Kind.DUCK_SHAPE else place: cause for place, cause in enumerate(difference.causes)}
        left = [
            cause for cause in unlike.values() if difference.entry is frame.compiles[0] or not self._becomes_dynamic(cause, frame, entry)
        ]
        for cause in left or unlike.values():  # what once was equal requires the same marks, however often that shows
            found = self._choices(cause, frame, entry, call)
            if not found:
                return None
            partners = _partners(cause, difference, entry) if difference.entry is frame.compiles[0] else frozenset()
            choices.update(dict.fromkeys(choice | partners for choice in found))
        is_outside = difference.entry.order < 0
        sizes = dict.fromkeys(Mark(cause.source, cause.prop.dim) for cause in left if cause.prop.kind is Kind.SIZE)
        # the function may get another tensor than it is taken to get: a mark on that tensor settles it
        doubts = tuple(frozenset((mark,)) for mark in sizes if self.propagation.is_guessed(frame, mark.source, mark.dim))
        kept = tuple(mark for mark in sizes if self.propagation.is_kept(frame, mark.source, mark.dim))
        return Route(
            entry=difference.entry,
            required_marks=tuple(choices),
            is_proven=is_proven,
            lost=self.lost(frame, entry, compile),
            is_elsewhere=is_outside,
            doubts=doubts,
            kept=kept,
            shows_one_input=bool(sizes) and _shows_one_input(compile),
        )

    def _becomes_dynamic(self, cause: Cause, frame: Frame, entry: CompileFacts) -> bool:
        """Whether a size has a symbol in the entry without a mark, because an earlier compile of this function had another one, or a tensor
        of another rank, whose sizes PyTorch all makes symbolic. Without a mark, the two are compiled in any case.

        It was pinned all the same, by what it is tied to: where that is marked, automatic dynamic shapes are enough.
        """
        if cause.prop.kind is not Kind.SIZE:
            return False
        source, dim, tensor = cause.source, cause.prop.dim, entry.input(cause.source)
        now = (len(tensor.size), tensor.size[dim : dim + 1]) if tensor else (0, ())
        earlier = self._first_sizes_of(frame, source, dim)
        is_other = any(order < entry.compile.order and size != now for size, order in earlier.items())
        is_marked = tensor is not None and dim in tensor.marked_dynamic
        return is_other and not is_marked and f"{source}.size()[{dim}]" in entry.symbolic

    def _first_sizes_of(self, frame: Frame, source: Source, dim: int) -> Mapping[tuple[int, tuple[int, ...]], int]:
        """The first two sizes of a dim that a frame was compiled for, each with the rank of the tensor, and when that was."""
        key = frame, source, dim
        if key not in self._first_sizes:
            found: dict[tuple[int, tuple[int, ...]], int] = {}
            for entry in frame.entries:
                for item in entry.inputs if len(found) < 2 else ():
                    if item.source == source:
                        found.setdefault((len(item.size), item.size[dim : dim + 1]), entry.order)
            self._first_sizes[key] = found
        return self._first_sizes[key]

    def _choices(self, cause: Cause, frame: Frame, entry: CompileFacts, call: CompileFacts) -> tuple[MarkChoice, ...]:
        """The marks that a cause requires; () where no mark acts on it."""
        if cause.prop.kind is Kind.DUCK_SHAPE:
            return _unequal_pairs(entry, call)
        if cause.prop.kind is Kind.SIZE:
            dim, tensor = cause.prop.dim, call.input(cause.source)
            if tensor and tensor.layout == "torch.jagged" and dim == 0:  # its offsets are one longer
                return frozenset((Mark(cause.source, 0),)), frozenset((Mark(Source(f"{cause.source}._offsets"), 0),))
            if tensor and tensor.layout != "torch.strided":
                return ()  # sizes of other nested and of sparse tensors cannot be marked
            own, origins = Mark(cause.source, dim), self.propagation.origins(frame, cause.source, dim)
            tied = _symbolic_by_itself(own, entry, call) if entry.compile is frame.compiles[0] else ()
            partners = (other for other in self.propagation.partners(frame, cause.source, dim) if other not in (own, *origins))
            base = self._sizes_of_base(frame).get(f"{cause.source.canonical}.size()[{dim}]", ())
            others = [mark for mark in origins if mark.source != cause.source]
            views = [frozenset((view, *others)) for view in self._views_of(frame).get(f"{cause.source.canonical}.size()[{dim}]", ())]
            if views and tensor is None:
                return tuple(views)
            return (
                frozenset((own, *origins, *tied)),
                *(frozenset((own, other)) for other in partners),
                *(frozenset((other,)) for other in base),
                *views,
            )
        if cause.codes[0] == "SL105":
            # any symbolic size makes the strides that follow from none symbolic too
            part = cause.source.tensor_part
            source = call.described(part.tensor if part else cause.source)
            tensor = call.input(source)
            marks = [Mark(source, dim) for dim, size in enumerate(tensor.size) if size > 1] if tensor else []
            behind = (origin for mark in marks for origin in self.propagation.origins(frame, source, mark.dim))
            return (frozenset((*marks, *behind)),) if marks else ()
        return (frozenset((_mark_of(cause.source, call),)),)

    def _sizes_of_base(self, frame: Frame) -> dict[str, list[Mark]]:
        """The sizes that have to be marked with one of a view of a tensor subclass: those of its base, and of the tensors in that.

        They have symbols of their own and stay static unless they are marked, while the base of a plain tensor follows its view, and that
        of a nested tensor what it consists of.
        """
        if frame not in self._of_base:
            found: dict[str, dict[Mark, None]] = {}
            for compile in frame.entries:
                nested = {
                    symbol.source.canonical.partition("._base")[0] for symbol in compile.symbols if _NESTED_INT.fullmatch(symbol.hint)
                }
                named = {
                    place: mark_at(symbol.source)
                    for symbol in compile.symbols
                    if symbol.source.tensor_part and (place := symbol.source.canonical).partition("._base")[0] not in nested
                }
                if any(_BASE in name.partition(".size()")[0] for name in named):
                    for group in _equal_sizes(compile, named):
                        bases = dict.fromkeys(named[name] for name in group if "._base" in name)
                        for name in group:
                            found.setdefault(name, {}).update(bases)
            self._of_base[frame] = {name: list(marks) for name, marks in found.items()}
        return self._of_base[frame]

    def _views_of(self, frame: Frame) -> Mapping[str, list[Mark]]:
        """The sizes of bases that have to be marked with one of a tensor that comes with views of it.

        Each such base is that tensor by another name. Where the tensor comes first, the base of a smaller view follows it. One that comes
        after its view is described as the base alone: no other mark acts on it, and an equation of a dynamic entry shows that it is that.
        """
        if frame not in self._with_views:
            found: dict[str, dict[Mark, None]] = {}
            for compile in frame.entries:
                described = {item.source: item for item in compile.inputs}
                for view, base in compile.bases.items():
                    for dim in range(len(described[base].size) if described[base].size == described[view].size else 0):
                        found.setdefault(f"{base.canonical}.size()[{dim}]", {})[Mark(Source(f"{view}{_OF_VIEW}"), dim)] = None
                equal = _equal_sizes(compile) if any(item.is_view for item in compile.inputs) else []
                for group in equal:
                    sizes = [part for name in group if (part := Source(name).tensor_part) and part.tensor not in described]
                    for part in (part for part in sizes if part.tensor.endswith(_OF_VIEW)):
                        for other in (other for other in sizes if not other.tensor.endswith(_OF_VIEW) and other.dim == part.dim):
                            found.setdefault(f"{other.tensor.canonical}.size()[{part.dim}]", {})[Mark(part.tensor, part.dim)] = None
            self._with_views[frame] = {name: list(marks) for name, marks in found.items()}
        return self._with_views[frame]

    def lost(self, frame: Frame, entry: CompileFacts, compile: Compile) -> tuple[tuple[Source, MarkChoice], ...]:
        """What varies in this frame, is symbolic in the compile that would go, and static in the entry that would take its place.

        Later calls may have hit the compile for other values of it, and then compile again: such calls left no record. What the code needs
        equal to a size that varies, varies with it. No mark makes a float symbolic; once it changes, PyTorch does.
        """
        own = entry.symbolic | self.explained.facts.of(compile).symbolic_floats
        pinned = {source for special in compile.specializations for source in special.sources}
        found: dict[Source, MarkChoice] = {}
        for symbol in compile.symbols:
            source = symbol.source.unwrapped
            part = source.tensor_part
            if not source or source in own or symbol.source in pinned or (part is not None and not part.is_size):
                continue
            key = (part.tensor, part.prop) if part else (source, VALUE)
            static = entry.guarded(key)
            if static is None or static == DYNAMIC or self._has_one_value(compile, symbol.source):
                continue
            varies = self._varies(frame, key) and self._varies_among_alike(frame, key, compile)
            if varies or self._varies_with_another(frame, key, compile):
                origins = self.propagation.origins(frame, part.tensor, part.dim) if part else ()
                found[source] = frozenset((mark_at(source), *origins))
        return tuple(found.items())

    def _has_one_value(self, compile: Compile, source: Source) -> bool:
        """Whether the guards of a compile hold for one value of something symbolic alone: no later call had another one."""
        known, name = self.explained.facts.of(compile), source.canonical
        value = known.numbers.get(name)
        shapes = known.tree.shapes_of_one.get(name, ()) if known.tree and isinstance(value, int) else ()
        return any(isinstance(value, int) and shape.parsed.holds_for_one(name, value) for shape in shapes)

    def _varies_with_another(self, frame: Frame, key: Key, compile: Compile) -> bool:
        """Whether the code needs a size equal to one that has several values among the compiles of a frame."""
        if key[1].kind is not Kind.SIZE:
            return False
        if compile not in self._equal:
            self._equal[compile] = equal_sizes(compile, by_code=True)
        source, prop = key
        equal = ((mark.source, size(mark.dim)) for mark in self._equal[compile].get(Mark(source, prop.dim), ()))
        return any(self._varies(frame, key) and self._varies_among_alike(frame, key, compile) for key in equal)

    def doubts(self, frame: Frame, entry: Compile, differences: Sequence[EntryDifference]) -> tuple[MarkChoice, ...]:
        """What may separate a call that was refused from an entry besides the one failed guard that its record has for each entry.

        Where the frame has no two entries, nothing shows that the code takes the same branches with another value. Else it is what varies
        in this frame, what the entry requires a value of, and what the call is not known to have that value of.
        """
        known = self.explained.facts.of(entry)
        named = {(cause.source, cause.prop): cause.after for item in differences for cause in item.causes}
        settled = {(cause.source, cause.prop) for item in differences if item.entry is entry for cause in item.causes}
        pinned = {Source(name).canonical for shape in (known.tree.shapes if known.tree else ()) if (name := _pinned_by(shape))}
        found: dict[MarkChoice, None] = {} if len(frame.entries) >= _LEAST_ENTRIES else {frozenset(): None}
        open_sources = {source for (source, _), after in named.items() if source and not after} - {source for source, _ in settled}
        if known.tree and any(source in open_sources for source, _ in known.tree.facts):
            found[frozenset()] = None  # another entry was for something else, and what came is not known
        for key in self._varying_keys(frame):
            source, prop = key
            fact = known.guarded(key)
            is_pinned = prop.kind is Kind.VALUE and source.canonical in pinned
            if key in settled or not (is_pinned or fact not in (None, DYNAMIC)) or named.get(key) == str(fact):
                continue
            found[frozenset() if is_pinned else frozenset(self._settling(frame, known, key))] = None
        return tuple(found)

    def following(self, frame: Frame, difference: EntryDifference, differences: Sequence[EntryDifference]) -> tuple[MarkChoice, ...]:
        """The marks of ints and sizes in which a call that was refused is taken to differ from an entry, besides what its record names.

        In the compiles of the frame they change whenever that int, or that size, does, as the settings of several layers and the lengths of
        keys and values do. Other items of the same list are marked with them, which calls for more layers have.
        """
        known = self.explained.facts.of(difference.entry)
        named = {(cause.source, cause.prop) for item in differences for cause in item.causes}
        failed = [
            (cause.source, cause.prop) for cause in difference.causes if cause.is_size or (cause.prop.kind is Kind.VALUE and cause.is_int)
        ]
        still_open = (key for key in self._varying_keys(frame) if failed and key not in named and _is_number(known, key))
        alike = ((key, other) for key in still_open for other in failed if key[1].kind is other[1].kind)
        found = list(dict.fromkeys(key for key, other in alike if self._change_together(frame, key, other)))
        items = {(_any_item(source), prop) for source, prop in (*failed, *found) if prop.kind is Kind.SIZE and _any_item(source) != source}
        found += [key for key in self._varying_keys(frame) if (_any_item(key[0]), key[1]) in items and key not in (*failed, *found)]
        return tuple(frozenset(self._settling(frame, known, key)) for key in found)

    def _change_together(self, frame: Frame, one: Key, other: Key) -> bool:
        """Whether two numbers had several values in the compiles of a frame, each value of one with a single value of the other."""
        if (frame, one, other) not in self._together:
            numbers = [(known.number(one), known.number(other)) for known in map(self.explained.facts.of, frame.entries)]
            pairs = {pair for pair in numbers if None not in pair}
            self._together[frame, one, other] = len(pairs) > 1 and all(len(set(side)) == len(pairs) for side in zip(*pairs, strict=True))
        return self._together[frame, one, other]

    def _settling(self, frame: Frame, known: CompileFacts, key: Key) -> Iterator[Mark]:
        """The marks with which an entry requires no value of this; a stride follows from any marked size of its tensor."""
        source, prop = key
        tensor = known.input(source)
        if prop.kind is Kind.SIZE:
            yield Mark(source, prop.dim)
            yield from self.propagation.origins(frame, source, prop.dim)
        elif prop.kind is Kind.STRIDE:
            yield from (Mark(source, dim) for dim in range(len(tensor.size) if tensor else 0))
        elif integer(str(known.guarded(key))) is not None:
            yield Mark(source)

    def _varying_keys(self, frame: Frame) -> tuple[Key, ...]:
        """What a guard may require a value of, and what has several in this frame."""
        if frame not in self._keys_that_vary:
            keys = self.explained.facts.keys(frame)
            self._keys_that_vary[frame] = tuple(key for key in keys if key[1].kind in _REQUIRED and self._varies(frame, key))
        return self._keys_that_vary[frame]

    def _varies_among_alike(self, frame: Frame, key: Key, compile: Compile) -> bool:
        """The same among those that take the same tensors: layers of an encoder may have one length, and those of its decoder, which take
        what it returned as well, another.
        """
        among = frame, key, self._tensors_of(compile)
        if among not in self._varying_among_alike:
            alike = (entry for entry in frame.entries if self._tensors_of(entry) == among[2])
            known = [facts.facts for entry in alike if key in (facts := self.explained.facts.of(entry)).facts]
            self._varying_among_alike[among] = len({str(facts[key]) for facts in known}) > 1
        return self._varying_among_alike[among]

    def _tensors_of(self, compile: Compile) -> frozenset[Source]:
        if compile not in self._tensors:
            self._tensors[compile] = frozenset(item.source for item in compile.inputs)
        return self._tensors[compile]

    def _varies(self, frame: Frame, key: Key) -> bool:
        """Whether a property has several values among the compiles of a frame."""
        if (frame, key) not in self._varying:
            self._varying[frame, key] = len(set(map(str, self.explained.facts.values(frame, key)))) > 1
        return self._varying[frame, key]


def _any_item(source: Source) -> str:
    """A source with ``[*]`` in place of the index of an item."""
    return _INDEX.sub("[*]", source)


def _is_number(known: CompileFacts, key: Key) -> bool:
    """Whether an entry requires the value of an int or a size."""
    return key[1].kind in (Kind.VALUE, Kind.SIZE) and integer(str(known.guarded(key))) is not None


def _shows_one_input(compile: Compile) -> bool:
    """Whether reasons are all that is known of a call: PyTorch names the first input that differs, and others may have the same size."""
    return not (compile.is_refused or compile.inputs or compile.guards_span or compile.graph_span)


def _partners(cause: Cause, difference: EntryDifference, entry: CompileFacts) -> MarkChoice:
    """Marks on what is static and pins a size that is symbolic without a mark, as the sizes that compiled autograd captures are."""
    symbolic = entry.symbolic
    if cause.prop.kind is not Kind.SIZE or f"{cause.source}.size()[{cause.prop.dim}]" not in symbolic:
        return frozenset()
    return frozenset(
        Mark(other.source, other.prop.dim)
        for other in difference.causes
        if other.prop.kind is Kind.SIZE
        and (other.before, other.after) == (cause.before, cause.after)
        and f"{other.source}.size()[{other.prop.dim}]" not in symbolic
    )


def _equal_sizes(compile: Compile, among: Container[str] | None = None) -> list[list[str]]:
    """The sizes that the guards of an entry require to be equal, together; only those ``among`` some, where these are given."""
    shapes = compile.guards.shapes if compile.guards else ()
    equal = (shape.parsed.names for shape in shapes if shape.parsed.is_equation)
    return connected([[name for name in names if among is None or name in among] for names in equal])


def _symbolic_by_itself(mark: Mark, entry: CompileFacts, call: CompileFacts) -> Iterator[Mark]:
    """What a size is tied to that had a symbol in the entry without being marked, as the output of compiled code has.

    That symbol was pinned, since the other size was static: a mark on the other one is enough.
    """
    name = f"{mark.source.canonical}.size()[{mark.dim}]"
    is_pinned = name in map(canonical, entry.specializations_by_source)
    for shape in call.tree.shapes if call.tree and is_pinned else ():
        others = [other for other in shape.parsed.names if other != name]
        part = Source(others[0]).tensor_part if len(others) == 1 and shape.parsed.is_equation and name in shape.parsed.names else None
        if part is not None and part.is_size:
            yield mark_at(Source(others[0]))


def _unequal_pairs(entry: CompileFacts, call: CompileFacts) -> tuple[MarkChoice, ...]:
    """Of every two dims that the entry took for equal and that differ in this call, one must be marked: marked dims share no symbol.

    Of many dims that are all but the most with one size. The storage offset and the base of a view cannot be marked, its sizes can. Where
    neither of two can, and the call has no number for one of them, nothing shows that they differ.
    """
    choices: dict[MarkChoice, None] = {}
    shapes = entry.tree.shapes if entry.tree else ()
    equal = ([name for name in shape.parsed.names if _shares_symbol(name)] for shape in shapes if shape.is_duck_shape)
    for members in connected(equal):
        by_size = grouped(sorted(members), call.numbers.get)
        marks = [[None if _cannot_be_marked(name, entry) else _mark_of(Source(name), call) for name in names] for names in by_size.values()]
        if len(members) > _MOST_PAIRED:
            marks.remove(max(marks, key=len))
            pairs: Iterable[tuple[Mark | None, ...]] = ((mark,) for same in marks for mark in same)
        else:
            unknown = marks[list(by_size).index(None)] if None in by_size else None
            pairs = (
                pair
                for ones, others in combinations(marks, 2)
                for pair in product(ones, others)
                if any(pair) or (ones is not unknown and others is not unknown)
            )
        choices.update((frozenset(mark for mark in pair if mark), None) for pair in pairs)
    return tuple(choices) if all(choices) else ()


def _pinned_by(shape: ShapeGuard) -> str:
    """The one name of which a guard requires a value, as in ``stage == 1``; "" for any other."""
    names = shape.parsed.names
    return names[0] if len(names) == 1 and shape.parsed.is_equation else ""


def _cannot_be_marked(name: str, entry: CompileFacts) -> bool:
    return name.endswith(_OFFSET) or _BASE in name or is_free_stride(name, entry)


def _shares_symbol(name: str) -> bool:
    """Whether a name in a guard is of a kind that shares the symbol of an equal number: a size, a stride or a storage offset."""
    return name.endswith(_OFFSET) or Source(name).tensor_part is not None


def _mark_of(source: Source, call: CompileFacts) -> Mark:
    mark = mark_at(source)
    return mark if mark.is_int else Mark(call.described(mark.source), mark.dim)

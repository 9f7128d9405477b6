"""Violations → causes: what really separates a call from an entry, with its rules, what merely follows from it, and the user's line."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from shapelog.display import in_notebook
from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.comments import UserLine, place_of, places_of
from shapelog.reading.payloads.guards.expressions import canonical
from shapelog.reading.payloads.properties import MARKED_BY, Kind, Property, is_address
from shapelog.reading.payloads.recompile_reasons import NamedBackend, Reason, backend_named
from shapelog.reading.payloads.source_names import Source, display_text, is_library
from shapelog.reading.records import StackFrame
from shapelog.recompiles.classification.floats import is_compared_with_tensor
from shapelog.recompiles.classification.result import computes_something_else
from shapelog.recompiles.classification.sizes import COPY_OF_ROW, EXPANDED, EXPANDED_IN_BACKWARD
from shapelog.recompiles.classification.tensors import COPY_OF_VIEW
from shapelog.recompiles.classify import classify
from shapelog.recompiles.consequences.separate import separate
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.global_state import autocast_pair, changed_fields, state_value
from shapelog.recompiles.strides import Layout, dims_of_bases, layout
from shapelog.recompiles.violations import violations
from shapelog.rules import RULES, Rule, Verdict
from shapelog.text import plural, start_of

_KEYS, _LAYOUT, _DUCK_SHAPE, _RANK = (Property(kind) for kind in (Kind.KEYS, Kind.STRIDE, Kind.DUCK_SHAPE, Kind.RANK))
_HAS = frozenset((Kind.HAS, Kind.HAS_ATTRIBUTE))
_ANY_KEY = Kind.KEYS.value
_SHAPE_GUARD = Property(Kind.SHAPE_GUARD)
# How an axis names a property: as an attribute of the source, as a function of it, or after it.
_ATTRIBUTES = frozenset((Kind.SIZE, Kind.STRIDE, Kind.DTYPE, Kind.REQUIRES_GRAD, Kind.RANK, Kind.DEVICE))
_FUNCTIONS = frozenset((Kind.LENGTH, Kind.TYPE, Kind.ID))
_IN_WORDS = {
    Kind.STRIDE: "the memory layout of {}",
    Kind.RANK: "the number of dimensions of {}",
    Kind.DTYPE: "the dtype of {}",
    Kind.REQUIRES_GRAD: "requires_grad of {}",
    Kind.DEVICE: "the device of {}",
    Kind.TYPE: "the type of {}",
    Kind.LENGTH: "the length of {}",
    Kind.KEYS: "the keys of {}",
    Kind.HAS: "the contents of {}",
    Kind.HAS_ATTRIBUTE: "the attributes of {}",
    Kind.ATTRIBUTES: "the attributes of {}",
    Kind.MARKING: "the marks of {}",
    Kind.DISPATCH_KEYS: "the dispatch keys of {}",
    Kind.CLOSURE: "the closure of {}",
    Kind.ID: "{}",
    Kind.NAN: "{}",
    Kind.VALUE: "{}",
}
_PLAIN = frozenset((Kind.SIZE, Kind.RANK, Kind.DTYPE, Kind.REQUIRES_GRAD, Kind.DEVICE, Kind.TYPE, Kind.LENGTH, Kind.VALUE))
_NAMED_IN_TITLES = frozenset((Kind.KEYS, Kind.ID, Kind.NAN, Kind.VALUE))
_CLOSURE_VARIABLE = re.compile(r"(.*)\.__closure__\[\d+\]\.cell_contents")
_PINNED = frozenset(("SL201", "SL202"))
# An int that can be symbolic changed, of a module or not.
INT_RULES = frozenset(("SL102", "SL315"))

_EACH_LAYOUT = (
    "accept one graph for each layout: this call takes another path through the code, for example where it calls x.is_contiguous()"
)
_OF_SELECTED = "accept one graph for each selected part: its parameters require gradients, and those of the others do not"
_NONE_OR_VALUE, _CONSTANT = "SL322", "SL311"
_LAST_ATTRIBUTE = re.compile(r".*\.(\w+)", re.S)
_OF_ARGUMENT = re.compile(r"L\['\w+'\](?=[.\[])")


class Cause(NamedTuple):
    """Why an entry did not match: the property that changed, from what to what, and the rules that it falls under.

    ``codes`` begins with the main rule; more follow where they explain why marking will not remove it all. ``axis`` is the property as
    its user would write it, ``x.size[0]``. ``before`` and ``after`` are "" where the trace does not hold them. ``own_verdict`` and
    ``own_remedy`` replace those of the rule where more is known.
    """

    codes: tuple[str, ...]
    source: Source
    prop: Property
    axis: str
    before: str
    after: str
    size_related: bool
    sentence: str
    place: UserLine | None
    named_by_pytorch: bool
    own_verdict: Verdict | None = None
    own_remedy: str = ""

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def subject(self) -> str:
        """What changed, as a sentence names it: ``dim 0 of x``, ``the dtype of x``, ``k``."""
        name, part = self.source.display_name, self.source.tensor_part
        if self.prop.kind is Kind.SHAPE_GUARD and part and part.is_size:
            return f"dim {part.dim} of {part.tensor.display_name}"
        if self.prop.kind is Kind.SIZE:
            return f"dim {self.prop.dim} of {name}"
        words = _IN_WORDS.get(self.prop.kind, "") if self.prop.dim < 0 and name else ""
        return words.format(_in_words(name)) if words else self.axis

    @property
    def short_subject(self) -> str:
        """The same as a title names it, where sizes and types are written as code: ``x.size[0]``, ``type(x)``, ``keys of d``."""
        return self.subject.removeprefix("the ") if self.prop.kind in _NAMED_IN_TITLES else self.axis

    @property
    def has_plain_values(self) -> bool:
        """Whether both values are known, and are those of ``subject``: no guard, and no address."""
        is_address_of = is_address(self.prop, self.before) or is_address(self.prop, self.after)
        return self.prop.kind in _PLAIN and bool(self.before and self.after) and not is_address_of

    @property
    def rule(self) -> Rule:
        return RULES[self.codes[0]]

    @property
    def verdict(self) -> Verdict:
        """That of a recompile with this cause alone."""
        return self.own_verdict or self.rule.verdict

    @property
    def needs_own_graph(self) -> bool:
        """Whether more is known than its rule states, and that the call needs a graph of its own, whatever else changed."""
        return self.own_verdict is Verdict.JUSTIFIED

    @property
    def remedy_rule(self) -> Rule:
        """The rule whose remedy holds. The last code of a size states why marking it alone is not enough."""
        return RULES[self.codes[-1]] if self.size_related else self.rule

    @property
    def number_of_changes(self) -> int:
        """Of global state, how many settings changed: a reason may name several."""
        return len(self.axis.split(", ")) if self.prop.kind is Kind.GLOBAL_STATE and not self.prop.name else 1

    @property
    def attribute_change(self) -> tuple[str, str, str]:
        """The name of the attribute that changed, without its object and an index, and from what to what."""
        name = _LAST_ATTRIBUTE.match(self.source)
        return name[1] if name else self.source, self.before, self.after

    @property
    def is_int(self) -> bool:
        """Whether what changed is an int that can be symbolic."""
        return self.codes[0] in INT_RULES

    @property
    def is_size(self) -> bool:
        """Whether what changed is a size, or a stride that marking a size makes symbolic; an int is not one."""
        if self.is_int or not self.size_related:
            return False
        if self.prop.kind is Kind.SHAPE_GUARD:
            return self.source.tensor_part is not None
        return self.prop.is_of_dim or self.prop.kind is Kind.DUCK_SHAPE


_CONVERTED = frozenset((Kind.DTYPE, Kind.DEVICE, Kind.REQUIRES_GRAD))


class EntryDifference(NamedTuple):
    """The causes that separate a call from one earlier entry, and the axes that changed only because of them."""

    entry: Compile
    causes: tuple[Cause, ...]
    consequences: tuple[str, ...]

    @property
    def non_size_causes(self) -> int:
        """How many causes are not sizes; an int that could be symbolic is not one either. Another dtype, device or requires_grad of
        several tensors is one, and so are several parts of one argument that were None, as those of a cache that a call fills, and
        attributes of one name that several modules have and that changed alike.
        """
        others = [cause for cause in self.causes if not cause.is_size]
        once = {(cause.prop, cause.before, cause.after) for cause in others if cause.prop.kind in _CONVERTED}
        filled = [_OF_ARGUMENT.match(cause.source) for cause in others if cause.rule.code == _NONE_OR_VALUE and cause.before == "None"]
        own = [part[0] for part in filled if part]
        alike = [cause.attribute_change for cause in others if cause.rule.code == _CONSTANT and cause.source.is_attribute]
        counted = [cause.number_of_changes for cause in others if cause.prop.kind not in _CONVERTED]
        return sum(counted) + len(once) - (len(own) - len(set(own))) - (len(alike) - len(set(alike)))


@dataclass(slots=True, eq=False, repr=False)
class Differences:
    """What separates the calls of a trace from its entries; worked out once for all pairs of which the same is known."""

    table: FactTable = field(default_factory=FactTable)
    _by_facts: dict[tuple[object, ...], tuple[tuple[Cause, ...], tuple[str, ...]]] = field(default_factory=dict)
    _call: Compile | None = None
    _reasons: dict[str, list[Reason]] = field(default_factory=dict)

    def between(self, entry: Compile, compile: Compile) -> EntryDifference:
        """What keeps the call of ``compile`` from using ``entry``. No cause at all means that the trace does not hold it."""
        reasons = self._reasons_about(entry, compile)
        one, other = self.table.of(entry), self.table.of(compile)
        of_others = compile.reasons if other.tree is None and one.tree else ()
        key = (one, other, *[reason.text for reason in reasons], len(reasons), *[reason.text for reason in of_others])
        if key not in self._by_facts:
            self._by_facts[key] = difference(one, other, reasons, of_others)
        return EntryDifference(entry, *self._by_facts[key])

    def _reasons_about(self, entry: Compile, compile: Compile) -> tuple[Reason, ...]:
        """PyTorch's reasons for one entry. A reason names no generation; those of a compile are all of its own."""
        if compile is not self._call:  # one call is compared with all entries before the next comes
            self._call, self._reasons = compile, grouped(compile.reasons, lambda reason: reason.entry)
        label = entry.label if entry.id.generation == 1 else entry.label.partition("#")[0]
        return tuple(self._reasons.get(label, ()))


def difference(
    entry: CompileFacts, call: CompileFacts, reasons: tuple[Reason, ...] = (), of_others: tuple[Reason, ...] = ()
) -> tuple[tuple[Cause, ...], tuple[str, ...]]:
    """(causes, axes that follow from them) of the violations of an entry by a call."""
    own, following = separate(violations(entry, call, reasons, of_others), entry, call)
    causes: dict[tuple[str, str], Cause] = {}
    for item in own:
        owner = item.source.dict_of_key
        if owner and (owner, _ANY_KEY) in causes and not item.prop.is_of_dim and item.shape is None:
            continue  # all keys of a dict are one cause
        cause = _cause(item, entry, call)
        is_value = cause.prop.kind is Kind.VALUE and cause.codes[0] != "SL102"
        if not (is_value and (cause.source, _ANY_KEY) in causes):  # a set that lost or gained a member is another set
            tensor = cause.source.tensor_part if item.shape and cause.codes[0] == "SL105" else None  # one for all of its strides
            causes.setdefault((tensor.tensor if tensor else cause.source, _part(item, cause)), cause)
    own_causes = _selection_first(_first_pinned_first(list(_one_for_each_dict(causes.values())), entry, call))
    axes = {cause.axis for cause in own_causes}  # two guards on one int are one change
    return own_causes, tuple(axis for item in following if (axis := _axis(item.violation.source, item.violation.prop)) and axis not in axes)


def _first_pinned_first(causes: list[Cause], entry: CompileFacts, call: CompileFacts) -> tuple[Cause, ...]:
    """The same causes, those that a line pinned in the order in which that happened: what is tied to a number is pinned after it."""
    places = [place for place, cause in enumerate(causes) if _PINNED.intersection(cause.codes)]
    if len(places) > 1:
        when: dict[str, int] = {}
        for item in (*entry.compile.specializations, *call.compile.specializations):
            for source in item.sources:
                when.setdefault(source.canonical, len(when))
        pinned = sorted((causes[place] for place in places), key=lambda cause: when.get(_symbolic_source(cause), len(when)))
        for place, cause in zip(places, pinned, strict=True):
            causes[place] = cause
    return tuple(causes)


def _selection_first(causes: tuple[Cause, ...]) -> tuple[Cause, ...]:
    """The same causes, a string that selects a part of a model before the requires_grad of the parameters that have it on their path: with
    adapters of peft, those of the selected one require gradients.
    """
    strings = {
        f"[{value}]" for cause in causes if cause.prop.kind is Kind.VALUE for value in (cause.before, cause.after) if value[:1] == "'"
    }
    of_parts = [cause for cause in causes if cause.prop.kind is Kind.REQUIRES_GRAD and any(name in cause.source for name in strings)]
    if not of_parts:
        return causes
    return (*(cause for cause in causes if cause not in of_parts), *(cause._replace(own_remedy=_OF_SELECTED) for cause in of_parts))


def _symbolic_source(cause: Cause) -> str:
    """What a record of a specialization calls what varied."""
    source = f"{cause.source}.size()[{cause.prop.dim}]" if cause.prop.kind is Kind.SIZE else cause.source
    return Source(source).canonical


def _in_words(name: str) -> str:
    """A variable of a closure has no name in the trace, and the code of a function is known by that of the function."""
    name = name.removesuffix(".__code__")
    cell = _CLOSURE_VARIABLE.fullmatch(name)
    return f"a closure variable of {cell[1]}" if cell else name


def _part(item: Violation, cause: Cause) -> str:
    """The same for violations of one source that are one cause: several guards on a size fail together, and so do keys of a dict
    and the ways in which a tensor can be marked.
    """
    if cause.codes[0] in ("SL102", "SL312"):
        return Kind.VALUE.value  # its constant, or a guard on its symbol
    if item.shape and cause.prop != _LAYOUT:
        return cause.codes[0]
    if cause.prop.kind is Kind.MARKING:
        return Kind.MARKING.value
    return _ANY_KEY if cause.prop.kind in _HAS else str(cause.prop)


def _one_for_each_dict(causes: Collection[Cause]) -> Iterator[Cause]:
    """One cause for a dict, however many of its keys differ and though its length does too."""
    dicts = {cause.source for cause in causes if cause.codes[0] == "SL314"}
    shown: set[Source] = set()
    for cause in causes:
        if cause.source in dicts and (cause.codes[0] in ("SL313", "SL314") or cause.prop.kind is Kind.VALUE):
            if cause.source in shown:
                continue
            shown.add(cause.source)
        yield cause


def _axis(source: Source, prop: Property) -> str:
    """``x.size[0]``, ``mode``, ``type(self)``, ``grad_mode``."""
    name = source.display_name
    if prop.kind is Kind.SHAPE_GUARD:
        return str(source.tensor_part or name)
    if not name or prop.kind is Kind.VALUE:
        return name or str(prop)
    if prop.kind is Kind.MARKING:
        return f"{name} {MARKED_BY.get(prop.name, 'marks')}"
    if prop.kind in _FUNCTIONS:
        return f"{prop}({name})"
    return f"{name}.{prop}" if prop.kind in _ATTRIBUTES else f"{name} {prop}"


def _of_key(item: Violation) -> tuple[str, str]:
    """A key that one of the calls has, in both: ``with 'mask'``, ``without 'mask'``."""
    having = f"with {item.prop.name}", f"without {item.prop.name}"
    return having if str(item.expected) == "True" else (having[1], having[0])


def _cause(item: Violation, entry: CompileFacts, call: CompileFacts) -> Cause:
    owner = item.source.dict_of_key
    source = item.source if owner is None else owner
    found = classify(item, source, entry, call)
    codes, stated = found.codes, found.size_related
    prop = _KEYS if codes[0] == "SL314" and (owner or item.prop.kind in _HAS) else item.prop
    before, after = _of_key(item) if prop is _KEYS and item.prop.kind in _HAS else _shown(item)
    cause = Cause(
        codes=codes,
        source=source,
        prop=prop,
        axis=_axis(source, prop),
        before=before,
        after=after,
        size_related=RULES[codes[0]].size_related if stated is None else stated,
        sentence=found.sentence,
        place=(_line_that_pinned(item, entry, call) if "SL201" in codes else None) or _place(item, call),
        named_by_pytorch=item.reason is not None,
        own_verdict=found.verdict,
        own_remedy=found.remedy,
    )
    if (of_base := _base_cause(cause, item, entry, call)) is not None:
        return of_base
    if codes[0] == "SL105" and not stated and item.prop.kind is not Kind.VIEW:
        of_layout = _layout_cause(cause, item, entry, call)
        is_asked = computes_something_else(item, entry, call)
        return of_layout._replace(own_verdict=Verdict.JUSTIFIED, own_remedy=_EACH_LAYOUT) if is_asked else of_layout
    if codes[0] == "SL103" and item.shape:
        return _duck_shape_cause(cause, item.shape.parsed.names, call)
    if item.prop.kind is Kind.GLOBAL_STATE and not item.prop.name:  # before torch 2.13 only the names of what changed are recorded
        return cause._replace(axis=", ".join(changed_fields(item)), before="", after="", size_related=bool(stated), named_by_pytorch=True)
    return cause


# contiguous() returns such a tensor as it is.
_COPY = "pass a copy with the usual strides, .clone(memory_format=torch.contiguous_format), or make the tensor the same way every time"
_COPY_OF_SLICE = "copy the slice with contiguous() before the call, or accept one graph for slices and one for whole tensors"
_LAYOUT_OF_FORWARD = (
    "use one memory format in the forward pass, or accept one graph for each: "
    "what a backward pass takes has the layouts of the forward pass"
)
_OF_BASE = "._base."


def _is_sliced(before: Layout | None, after: Layout | None) -> bool:
    """Whether the strides of a tensor followed from its sizes, and are now larger, in the same order: those of a part of a larger one."""
    if not (before and after) or before.order != after.order:
        return False
    return all(map(before.is_packed, before.order)) and not all(map(after.is_packed, after.order))


def _layout_cause(cause: Cause, item: Violation, entry: CompileFacts, call: CompileFacts) -> Cause:
    """Another order of dims shows in several strides, and in guards that relate them: one cause for the tensor."""
    part = cause.source.tensor_part if item.shape else None
    source = part.tensor if part else cause.source
    layouts = layout(entry, source), layout(call, source)
    if not any(layouts) and cause.before and cause.after and cause.prop.kind is Kind.STRIDE:  # one stride is all that is known
        return cause
    if layouts[0] and layouts[1] and len(layouts[0].sizes) != len(layouts[1].sizes):
        return _rank_cause(cause, source, len(layouts[0].sizes), len(layouts[1].sizes))
    known = ("", "") if item.shape else (cause.before, cause.after)  # a guard, and the sizes in it, are no strides
    before, after = (str(found.strides) if found else text for found, text in zip(layouts, known, strict=True))
    name = source.display_name
    strides = f": strides {before}, now {after}" if before and after else ""
    if not all(layouts) and cause.before and cause.after and cause.prop.kind is Kind.STRIDE:  # of a refused call, the reason names one
        before, after = cause.before, cause.after
        strides = f": stride {before} in dim {cause.prop.dim}, now {after}"
    is_same = layouts[0] is not None and layouts[1] is not None and layouts[0].is_in_memory_as(layouts[1])
    sentence = f"the memory layout of {name} changed (transposed, channels last, or a view){strides}"
    has_row = any(found is not None and 1 in found.sizes for found in layouts)  # a mark on it does not help
    own_remedy = COPY_OF_ROW if has_row else ""
    expanded = [found is not None and found.is_expanded for found in layouts]
    if expanded[0] != expanded[1]:
        when = "was expanded when this was compiled and is not now" if expanded[0] else "is an expanded tensor now and was not before"
        sentence = f"{name} {when}{strides}"
        if call.is_in_backward:
            own_remedy = EXPANDED_IN_BACKWARD
        elif all(found is None or found.is_expanded or found.order == sorted(found.order) for found in layouts):
            own_remedy = EXPANDED  # what is copied has the strides of the other
    elif _is_sliced(*layouts) and not is_same:
        own_remedy = own_remedy or _COPY_OF_SLICE
        sentence = f"{name} is now a slice of a larger tensor{strides}"
    elif is_same:
        own_remedy = _COPY
        sentence = f"only the stride of a dimension of size 1 of {name} changed, which PyTorch guards anyway{strides}"
        if layouts[1] and 0 in layouts[1].sizes:
            sentence = f"only the strides of {name} changed, which PyTorch guards although it has no elements{strides}"
    if expanded[0] == expanded[1] and call.takes_what_autograd_passes:
        own_remedy = _LAYOUT_OF_FORWARD
    return cause._replace(
        source=source,
        prop=_LAYOUT,
        axis=f"{name}.stride",
        before=before,
        after=after,
        sentence=sentence,
        own_remedy=own_remedy,
    )


def _rank_cause(cause: Cause, source: Source, before: int, after: int) -> Cause:
    """The cause where a tensor that is guarded by its identity has another number of dims: guards on its strides alone show it."""
    name = source.display_name
    return cause._replace(
        codes=("SL107",),
        source=source,
        prop=_RANK,
        axis=f"{name}.rank",
        before=str(before),
        after=str(after),
        size_related=False,
        sentence=f"the number of dimensions of {name} changed from {before} to {after}",
        own_verdict=None,
        own_remedy="",
    )


def _base_cause(cause: Cause, item: Violation, entry: CompileFacts, call: CompileFacts) -> Cause | None:
    """The cause where a view is of a tensor with another number of dims, whichever guard on that tensor fails; None of all else."""
    names = item.shape.parsed.names if item.shape else ()
    of_bases = (view for view, base, _ in (name.partition(_OF_BASE) for name in names) if base)
    view = Source(next(of_bases, item.source if item.prop.kind is Kind.VIEW else ""))
    dims = dims_of_bases(view, entry, call)
    if dims is None:
        return None
    name, before, after = view.display_name, *(plural(count, "dim") for count in dims)
    return cause._replace(
        codes=("SL105",),
        source=view,
        prop=_LAYOUT,
        axis=f"{name}._base",
        before=before,
        after=after,
        size_related=False,
        sentence=f"{name} was a view of a tensor with {before} when this was compiled, and is one of {dims[1]} now",
        own_verdict=None,
        own_remedy=COPY_OF_VIEW,
    )


def _duck_shape_cause(cause: Cause, names: tuple[str, ...], call: CompileFacts) -> Cause:
    sizes = [source for source in map(Source, names) if source.tensor_part]
    known = [str(call.numbers.get(source, "?")) for source in sizes]
    after = " and ".join(known) if any(number != "?" for number in known) else "different"
    axis = " and ".join(_axis(source, _SHAPE_GUARD) for source in sizes)
    return cause._replace(prop=_DUCK_SHAPE, axis=axis, before="equal", after=after)


_NAMES = re.compile(r"[^\W\d]\w*")
_RANGE = re.compile(r"^-?\d{1,18} <= (?P<size>\S+) <= (?P<upper>-?\d{1,18})$")


def _place(item: Violation, call: CompileFacts) -> UserLine | None:
    """The user's line: from the reason's stack, else from that of the symbol that the size became, else as the guard's comment has it,
    which may be a line of a library.
    """
    found = _line_of_bound(item, call) or (item.reason.place if item.reason else None) or place_of(item.comment)
    symbol = call.symbols_by_source.get(_source_of_symbol(item)) if item.source else None  # those from data have no source
    if found is not None and not is_library(found.file):
        known = chain(call.files, (frame.file for frame in symbol.user_stack.frames) if symbol else ())
        found = found._replace(file=_whole_path(found.file, known))
        if not is_library(found.file):
            return _naming_line(found, item.source, symbol.user_stack.frames if symbol else ())
    for frame in reversed(symbol.user_stack.frames if symbol else ()):
        if not is_library(frame.file):
            return UserLine(frame.file, frame.line, frame.name, frame.code)
    return found


def _source_of_symbol(item: Violation) -> str:
    return f"{item.source}.size()[{item.prop.dim}]" if item.prop.kind is Kind.SIZE else item.source


def _line_that_pinned(item: Violation, entry: CompileFacts, call: CompileFacts) -> UserLine | None:
    """The line of the user's that needs the exact value, which uses it later than the one where it got its symbol."""
    pins = (known.specializations_by_source.get(_source_of_symbol(item)) for known in (entry, call))
    frames = next((pin.user_stack.frames for pin in pins if pin and pin.user_stack.frames), ())
    line = frames[-1] if frames else None
    return UserLine(line.file, line.line, line.name, line.code) if line and line.code and not is_library(line.file) else None


def _naming_line(found: UserLine, source: Source, stack: Sequence[StackFrame]) -> UserLine:
    """The line itself, or where it is in a function that gets the value under another name, the innermost calling line that names it."""
    if not stack or (stack[-1].line, stack[-1].name) != (found.line, found.name):
        return found
    last = next(reversed(_NAMES.findall(source.display_name)), "")  # `cache` of `self.layers[0].cache[3]`
    naming = (frame for frame in reversed(stack) if start_of(last, frame.code) >= 0 and not is_library(frame.file))
    frame = next(naming, None)
    return UserLine(frame.file, frame.line, frame.name, frame.code) if frame else found


def _line_of_bound(item: Violation, call: CompileFacts) -> UserLine | None:
    """The line that asked for the bound of a range that a call is outside of, where the guard's comment has one for each bound."""
    bounds = _RANGE.match(item.shape.expression) if item.shape else None
    comment = item.reason.comment if item.reason else item.comment
    if bounds is None or (item.reason and item.reason.place != place_of(comment)):
        return None
    lines = places_of(comment)
    value = call.numbers.get(canonical(bounds["size"]))
    if not lines or value is None:
        return lines[-1] if lines else None
    return lines[-1] if value > int(bounds["upper"]) else lines[0]


def _whole_path(file: str, known: Iterable[str]) -> str:
    """The path that PyTorch shortened in a guard's comment, often within a name: ``ome/me/train.py`` for ``/home/me/train.py``."""
    if file.startswith(("/", "<")) or file[1:3] in (":/", ":\\"):
        return file
    end = file if "/" in file else f"/{file}"  # a name alone is whole
    return next((path for path in known if path.endswith(end)), file)


def _shown_backends(before: NamedBackend, after: NamedBackend) -> tuple[str, str]:
    """Only what differs; "" for two objects whose texts are the same."""
    if before == after:
        return "", ""
    if before.compiler == after.compiler:
        return before.options, after.options
    return (before.compiler, after.compiler) if before.options == after.options else (str(before), str(after))


def _shown(item: Violation) -> tuple[str, str]:
    """Before and after, as people would write them."""
    before, after = str(item.expected), str(item.actual)
    if item.shape:
        return display_text(before), display_text(after)
    if is_compared_with_tensor(before):
        return "NaN or another value", after
    if item.prop.kind is Kind.AUTOCAST:
        return autocast_pair(item) or (before, after)
    if item.prop.kind is Kind.BACKEND:
        return _shown_backends(backend_named(before), backend_named(after))
    if item.prop.kind is Kind.INFERENCE_MODE:
        return ("off", "on") if item.actual else ("on", "off")
    if item.is_global_state:
        return state_value(item.prop, before), state_value(item.prop, after)
    return before, after

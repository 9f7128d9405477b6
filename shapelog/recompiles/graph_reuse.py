"""Whether the graph of an earlier entry would serve a later call, once all that separates the two is marked dynamic.

The graphs must be similar, every cause that separates the two must be one that marks act on, and where the trace has dynamic versions
of that graph, the guards of one of them must hold for both calls.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import DYNAMIC, Key, ShapeGuard
from shapelog.reading.payloads.properties import Kind, Property
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.branches import index_of, other_path
from shapelog.recompiles.causes import Differences, EntryDifference
from shapelog.recompiles.classification.pins import by_whom
from shapelog.recompiles.constant_arguments import pinned_by
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.int_usage import QuotedCode, Use
from shapelog.recompiles.strides import broken_tie
from shapelog.recompiles.tied_sizes import met_by_equal_sizes
from shapelog.rules import any_blocks_marking

# A size of 0 or 1 in what a failed guard compares: "q.size()[0] = 1, k.size()[0] = 14", "10 and 1".
_SMALL = re.compile(r"(?:^|= |and )[01](?:,|$| and)")
# ``super().step`` is ``type(self).__mro__[1].step``; an attribute of a base class is ``dict(type(self).__mro__[1].__dict__)['step']``.
_OF_SUPER = re.compile(r"\.__mro__\[\d+\]\.(?!__dict__\b)")
# The dynamic entries that are tried for one graph.
_MOST_DYNAMIC = 32
_FIRST_SYMBOLIC = 2  # 0 and 1 are constants
# The first entry is static in any case, and the second where another size varied.
_LATE = 2
# Of fewer entries, one may have the size of the first call, and the other one a symbol for it.
_SEVERAL = 3
_BOOLS, _ZERO_ONE = {"True", "False"}, "SL104"
_STATIC_MARKS = Property(Kind.MARKING, name="_dynamo_static_indices")


def similar(one: Compile, other: Compile) -> bool:
    """Whether two compiles have similar graphs, or may have, where a log is cut; one without operations is similar to no other."""
    if one.metrics.lost_graph or other.metrics.lost_graph:
        return True
    if one.graph_span is None or other.graph_span is None:
        return False
    if one.graph_span.digest and one.graph_span.digest == other.graph_span.digest:
        return has_operations(one)
    first, second = one.graph, other.graph
    return bool(first and second and first.key and first.key == second.key)


def has_operations(compile: Compile) -> bool:
    return compile.graph is not None and bool(compile.graph.key)


def marks_act(difference: EntryDifference) -> bool:
    """Whether marking removes everything that separates a call from an entry."""
    for cause in difference.causes:
        if not cause.size_related or not cause.rule.markable or any_blocks_marking(cause.codes) or cause.own_verdict:
            return False
        # a size of 0 or 1 has a graph of its own, marked or not
        if cause.is_size and (_SMALL.search(cause.after) or _SMALL.search(cause.before)):
            return False
    return bool(difference.causes) and not statically_marked_dim(difference) and not found_by_super(difference)


def found_by_super(difference: EntryDifference) -> str:
    """An int among the causes that the code reads through ``super()``, which Dynamo takes as a constant, marked or not; "" without one."""
    return next((cause.axis for cause in difference.causes if cause.is_int and _OF_SUPER.search(cause.source)), "")


def statically_marked_dim(difference: EntryDifference) -> str:
    """A dim among the causes on which the program calls mark_static, "" without one. That beats the list; torch 2.13 guards on it."""
    sizes = [cause for cause in difference.causes if cause.prop.kind is Kind.SIZE]
    tree = difference.entry.guards if sizes else None
    for cause in sizes if tree else ():
        marked = tree.facts.get((cause.source, _STATIC_MARKS)) if tree else None
        if isinstance(marked, str) and str(cause.prop.dim) in re.findall(r"\d+", marked):
            return cause.axis
    return ""


def complete_refused(difference: EntryDifference, others: Sequence[EntryDifference]) -> EntryDifference | None:
    """What separates a call that was refused from an entry: such a call has left reasons alone, one failed guard for each entry.

    What failed in another entry fails in this one as well where it holds the same value; a bool that is not False is True. Where it holds
    another value, the call's own is not known, and no mark acts on it (a float that is another at each call, say), None: nothing shows
    that the entry could be used. The same holds for an int or size of which another entry needs the exact value. Guards on an object
    hold if one on something in it failed: they are checked before (``GuardManager.check_nopybind`` in ``torch/csrc/dynamo/guards.cpp``).
    """
    tree = difference.entry.guards
    failed = [cause.source for cause in difference.causes if cause.named_by_pytorch]
    causes = {(cause.source, cause.prop): cause for cause in difference.causes}
    for cause in (cause for other in others for cause in other.causes):
        key = cause.source, cause.prop
        fact = tree.facts.get(key) if tree else None
        if fact is None or fact == DYNAMIC or key in causes or (cause.after and str(fact) == cause.after):
            continue
        if any(source.is_below(cause.source) for source in failed) or (not cause.after and {str(fact), cause.before} == _BOOLS):
            continue
        if str(fact) == cause.before:
            causes[key] = cause
        elif (not cause.size_related or not cause.rule.markable) and _values_left(key, others) != {str(fact)}:
            return None
    named = ((cause, set(cause.codes) - {_ZERO_ONE}) for other in others for cause in other.causes)
    pinned = {(cause.source, cause.prop) for cause, codes in named if any_blocks_marking(codes)}
    if not pinned.isdisjoint(causes):
        return None
    return EntryDifference(difference.entry, tuple(causes.values()), difference.consequences)


def _values_left(key: Key, differences: Sequence[EntryDifference]) -> set[str]:
    """The values that entries require of something, without those that a call is known not to have; none where a value is that of one
    entry alone, so that there may be more of them.
    """
    facts = (item.entry.guards.facts.get(key) for item in differences if item.entry.guards)
    values = Counter(str(fact) for fact in facts if fact is not None)
    failed = {cause.before for item in differences for cause in item.causes if (cause.source, cause.prop) == key}
    return values.keys() - failed if min(values.values(), default=1) > 1 else set()


@dataclass(slots=True, eq=False, repr=False)
class GraphReuse:
    """Answers for one trace, worked out once for each pair of an entry and a call."""

    differences: Differences
    _proofs: dict[tuple[Compile, Compile], bool | None] = field(default_factory=dict)
    _dynamic: dict[Frame, dict[str, list[Compile]]] = field(default_factory=dict)
    _quoted: dict[Frame, QuotedCode] = field(default_factory=dict)
    _symbolic: dict[Frame, frozenset[Source]] = field(default_factory=dict)
    _pinning: dict[tuple[Frame, Source], str] = field(default_factory=dict)
    _always_pinning: dict[Frame, dict[Source, str]] = field(default_factory=dict)
    _fixed: dict[Frame, dict[tuple[str, Property], str]] = field(default_factory=dict)

    def serves(self, frame: Frame, difference: EntryDifference, compile: Compile) -> bool:
        """Whether the graph of an entry would serve this call, were all its causes marked dynamic."""
        return self.proof(frame, difference, compile) is not None

    def proof(self, frame: Frame, difference: EntryDifference, compile: Compile) -> bool | None:
        """True where a dynamic entry of the frame shows that one graph serves both calls, False where the trace has none that could.

        None where none of those does, or marks do not act on what separates the two.
        """
        if not marks_act(difference) or self.fixed_size(frame, difference):
            return None
        if compile.is_refused:  # which has left no graph
            return False
        key = difference.entry, compile
        if key not in self._proofs:
            self._proofs[key] = self._proof(frame, difference, compile)
        return self._proofs[key]

    def fixed_size(self, frame: Frame, difference: EntryDifference) -> tuple[str, str] | None:
        """A size among the causes that does not become dynamic, and an entry that shows it; None without one.

        That is one that was compiled because this size varied, and that later calls find static in it, as PyTorch's reasons have it. In
        traces the guards and symbols show more.
        """
        if frame not in self._fixed:
            has_guards = any(item.guards_span for item in frame.compiles)
            self._fixed[frame] = {} if has_guards else _static_again(frame)
        known = self._fixed[frame]
        keys = ((cause.axis, (cause.source.display_name, cause.prop)) for cause in difference.causes if known)
        return next(((axis, known[key]) for axis, key in keys if key in known), None)

    def guards_hold(self, entry: Compile, call: Compile) -> bool:
        """Whether the guards of an entry over sizes hold for another call of its frame."""
        return guards_hold(self.differences.table.of(entry), self.differences.table.of(call))

    def pinning_line(self, frame: Frame, difference: EntryDifference) -> str:
        """The name of an int among the causes, and the line of code that needs its value whenever it is symbolic; "" without one."""
        for cause in difference.causes:
            if cause.is_int and (line := self._line_that_pins(frame, cause.source)):
                return f"{line} needs the exact value of {cause.axis}"
        return ""

    def _line_that_pins(self, frame: Frame, source: Source) -> str:
        key = frame, source
        if key not in self._pinning:
            if frame not in self._quoted:
                self._quoted[frame] = QuotedCode(frame)
            code = self._quoted[frame]
            use = Use.UNSEEN if source in self._symbolic_sources(frame) else code.use_of(source)
            is_pinned = use is Use.PINS or (use is Use.FAILS and code.range_with(source))
            by_code = (code.line_with(source, use) or "the code") if is_pinned else ""
            self._pinning[key] = by_code or self._lines_that_always_pin(frame).get(source, "")
        return self._pinning[key]

    def _symbolic_sources(self, frame: Frame) -> frozenset[Source]:
        """Those that have a symbol in any entry."""
        if frame not in self._symbolic:
            self._symbolic[frame] = frozenset().union(*(self.differences.table.of(entry).symbolic for entry in frame.entries))
        return self._symbolic[frame]

    def _lines_that_always_pin(self, frame: Frame) -> dict[Source, str]:
        """By int, the line that pinned it in each entry that has a symbol for it, at other values; 0 and 1 alone do not show that.

        For a second int that this line pins, one value is enough.
        """
        if frame not in self._always_pinning:
            known = [self.differences.table.of(entry) for entry in frame.entries]
            symbolic = Counter(source for one in known for source in one.symbolic)
            pins = grouped(
                ((source, pin) for one in known for source, pin in one.specializations_by_source.items() if source in one.symbolic),
                lambda item: Source(item[0]),
            )
            values = {source: {pin.value for _, pin in found} for source, found in pins.items() if len(found) == symbolic[source]}
            lines = {source: by_whom(pins[source][0][1]) for source in values}
            sure = {source for source, found in values.items() if len(found) > 1 and not found <= {"0", "1"}}
            known_lines = {lines[source] for source in sure}  # what pins one int at each value does so with the next, too
            self._always_pinning[frame] = {source: line for source, line in lines.items() if source in sure or line in known_lines}
        return self._always_pinning[frame]

    def broken_guard(self, frame: Frame, difference: EntryDifference, compile: Compile) -> tuple[Compile, str] | None:
        """A dynamic entry with the graph of two calls, and a guard of it over sizes that does not hold for both; None without one."""
        table = self.differences.table
        calls = table.of(compile), table.of(difference.entry)
        dynamic = self._dynamic_entries(frame, compile)
        for entry in [item for item in dynamic if _is_dynamic_in(table.of(item), difference)] or dynamic:
            tree = entry.guards
            for shape in tree.shapes if tree else ():
                is_ours = not (shape.is_duck_shape or _is_over_offset(shape.expression))
                if is_ours and not _pins_float(shape, calls[0]) and any(shape.parsed.holds(call.numbers) is False for call in calls):
                    return entry, shape.expression
        return None

    def _proof(self, frame: Frame, difference: EntryDifference, compile: Compile) -> bool | None:
        entry, table = difference.entry, self.differences.table
        known, call = table.of(entry), table.of(compile)
        is_tied = broken_stride_tie(difference, table, compile) or tied_stride(difference, table, compile)
        if is_tied or moved_to_start(difference, table, compile) or index_of(difference, known, call):
            return None
        if broken_base_tie(difference, table, compile):
            return None
        # A compile that is dynamic itself may have another graph than the static entry, such as ``x[i]`` for ``x[3]``. If its guards
        # hold for the entry's call, that call makes the same graph once it is marked. A graph that broke only here broke because of that.
        breaks_anew = len(compile.breaks) > len(entry.breaks)
        if compile.is_dynamic and call.tensors == known.tensors and not breaks_anew and self._accepts(compile, entry):
            return True
        if not (similar(entry, compile) or not (has_operations(entry) or has_operations(compile))):
            return None
        if _registered(entry) != _registered(compile):  # graphs of one form, through other layers
            return None
        dynamic = self._dynamic_entries(frame, compile)
        wide = [item for item in dynamic if _is_dynamic_in(table.of(item), difference)]
        is_apart = pinning_operator(difference, compile, table) or has_size_one(difference, compile, table)
        if not wide and (is_apart or other_path(difference, known, call)):
            return None
        if self.pinning_line(frame, difference):
            return None
        if not dynamic:
            return False
        marked = tuple((cause.source, cause.prop) for cause in difference.causes if cause.is_int or cause.prop.kind is Kind.SIZE)
        tried = [table.of(item) for item in wide or dynamic]
        if not wide and any(_fails_alone(item, (call, known), marked) for item in tried):
            return None
        if _is_dynamic_in(call, difference) and _fails_alone(call, (known,), marked):  # entries for other inputs may be wider
            return None
        if any(all(guards_hold(item, one, marked) for one in (call, known)) for item in tried):
            return bool(wide)
        # where all dynamic entries are on another path than the two calls, only a guard on what separates these counts against them
        elsewhere = [_beyond(item, known, call) for item in tried]
        if not all(elsewhere):
            return None
        held = any(
            all(guards_hold(item, one, marked, beyond) for one in (call, known)) for item, beyond in zip(tried, elsewhere, strict=True)
        )
        return False if held else None

    def _accepts(self, entry: Compile, call: Compile) -> bool:
        """Whether nothing but an offset keeps a call from using an entry."""
        return all(_is_over_offset(str(cause.prop)) for cause in self.differences.between(entry, call).causes)

    def _dynamic_entries(self, frame: Frame, compile: Compile) -> list[Compile]:
        """The dynamic entries of a frame that have a graph similar to this one; of many only the first.

        All dynamic ones where no graphs are recorded, as in a text log with guards alone.
        """
        if frame not in self._dynamic:
            are_bare = all(entry.graph_span is None for entry in frame.entries)
            entries = (entry for entry in frame.entries if entry.is_dynamic and (are_bare or has_operations(entry)))
            self._dynamic[frame] = grouped(entries, lambda entry: entry.graph.key if entry.graph else "")
        found = self._dynamic[frame].get(compile.graph.key if compile.graph else "", [])
        return found[:_MOST_DYNAMIC]


def _registered(compile: Compile) -> frozenset[Source]:
    """The parameters and buffers that a graph takes."""
    return frozenset(item.source for item in compile.inputs if item.source.is_registered)


def _static_again(frame: Frame) -> dict[tuple[str, Property], str]:
    """The sizes for which an entry was compiled that requires one value of them all the same, each with the id of such an entry.

    Of several entries that require other values of a size, all but the first were compiled because it varied. Where all that is known is
    the reason at the recompile limit, that holds for an entry that came after two others or more.
    """
    made: dict[tuple[str, Property], set[str]] = {}
    required: dict[tuple[str, Property], set[str]] = {}
    is_alone = is_known_by_limit(frame)
    for compile in frame.compiles:
        values: dict[tuple[str, Property], list[tuple[int, str, int]]] = {}
        for reason in compile.reasons:
            key, value = (reason.source.display_name, reason.prop), integer(reason.expected)
            if reason.prop.kind is Kind.SIZE and not reason.is_parameter and value is not None and value >= _FIRST_SYMBOLIC:
                made.setdefault(key, set()).add(compile.label.partition("#")[0])
                required.setdefault(key, set()).add(reason.entry)
                number = integer(reason.entry.rpartition("/")[2])
                values.setdefault(key, []).append((-1 if number is None else number, reason.entry, value))
                if is_alone and len(compile.reasons) == 1 and values[key][0][0] >= _LATE:
                    made[key].add(reason.entry)
        for key, entries in values.items():
            _, _, first = min(entries)
            made[key].update(entry for number, entry, value in entries if number >= 0 and value != first)
    found = ((key, sorted(made[key] & entries)) for key, entries in required.items())
    return {key: both[0] for key, both in found if both}


def is_known_by_limit(frame: Frame) -> bool:
    """Whether a text has of a function that it hit the recompile limit, with the entries that its reason names, and no compile."""
    return not frame.entries and any(
        compile.outcome is Outcome.LIMIT and compile.reasons and not compile.metrics.assumes_entries for compile in frame.compiles
    )


def is_of_oldest_alone(compile: Compile) -> bool:
    """Whether the reason at the recompile limit is about the first of several entries. Automatic dynamic shapes make what changed symbolic
    in the later ones, which were not reused for other reasons.
    """
    numbers = {reason.entry.rpartition("/")[2].partition("#")[0] for reason in compile.reasons}
    return compile.outcome is Outcome.LIMIT and compile.id.compile >= _SEVERAL and numbers == {"0"}


def broken_stride_tie(difference: EntryDifference, table: FactTable, compile: Compile) -> str:
    """A tensor whose strides would be tied to its marked sizes, or are to its symbolic ones, and are not in this call, "" without one."""
    entry, call = table.of(difference.entry), table.of(compile)
    found = (source for source, dims in _symbolic_dims(difference).items() if broken_tie(source, dims, entry, call) is not None)
    return next((source.display_name for source in found), "")


def branch_of_call(difference: EntryDifference, table: FactTable, compile: Compile) -> str:
    """A guard of the graph of this call that the other call does not meet, over nothing but what varied: with marks, each of the two takes
    its own branch. "" without one, and where the graphs have one form.
    """
    entry, call = table.of(difference.entry), table.of(compile)
    varied = {_in_guards(item.source, item.prop) for item in difference.causes}
    shapes = call.tree.shapes if call.tree and not similar(difference.entry, compile) else ()
    own = (shape for shape in shapes if not shape.is_duck_shape and shape.parsed.names and varied.issuperset(shape.parsed.names))
    failed = (shape for shape in own if shape.parsed.holds(entry.numbers) is False)
    return next((shape.expression for shape in failed if all(entry.numbers.get(name) not in (0, 1) for name in shape.parsed.names)), "")


def tied_stride(difference: EntryDifference, table: FactTable, compile: Compile) -> str:
    """A tensor whose strides follow from its sizes in this call, where the entry is for those that do not, "" without one.

    Such an entry requires that they differ (``x.stride()[0] != x.size()[1]``), as code does that asks whether a tensor is contiguous.
    """
    entry, call = table.of(difference.entry), table.of(compile)
    failed = (
        shape
        for shape in (entry.tree.shapes if entry.tree and any(cause.codes[0] == "SL105" for cause in difference.causes) else ())
        if shape.parsed.is_inequality and shape.parsed.holds(call.numbers) is False
    )
    parts = (
        part for shape in failed for name in shape.parsed.names if (part := Source(name).tensor_part) and part.prop.kind is Kind.STRIDE
    )
    return next((part.tensor.display_name for part in parts), "")


def broken_base_tie(difference: EntryDifference, table: FactTable, compile: Compile) -> tuple[str, str] | None:
    """A view, and the input that it is a view of in the entry and not in this call; None without one.

    PyTorch requires that the base of the view has the marked or symbolic sizes of that tensor (``q._base.size()[0] == docs.size()[0]``).
    """
    marked = _symbolic_dims(difference) if difference.entry.bases else {}
    call = table.of(compile)
    for view, base in difference.entry.bases.items():
        one, whole = call.input(view), call.input(base)
        if base not in marked or one is None or whole is None or (one.is_view and one.base_size is None):
            continue
        sizes = one.base_size or ()
        if any(dim < len(whole.size) and sizes[dim : dim + 1] != whole.size[dim : dim + 1] for dim in marked[base]):
            return view.display_name, base.display_name
    return None


def _symbolic_dims(difference: EntryDifference) -> dict[Source, set[int]]:
    """The dims of tensors that changed which would be marked, or are symbolic in the entry."""
    found: dict[Source, set[int]] = {}
    for cause in difference.causes:
        part = cause.source.tensor_part
        if cause.prop.kind is Kind.SIZE:
            found.setdefault(cause.source, set()).add(cause.prop.dim)
        elif cause.codes[0] == "SL105" and part is not None:
            found.setdefault(part.tensor, set())
    for symbol in difference.entry.symbols if found else ():
        part = symbol.source.tensor_part
        if part is not None and part.is_size and part.tensor in found:
            found[part.tensor].add(part.dim)
    return found


def moved_to_start(difference: EntryDifference, table: FactTable, compile: Compile) -> str:
    """A tensor that is a part of a larger one in the entry, and begins where its storage does in this call, "" without one.

    The offset of a marked tensor is symbolic if it is 2 or more; 0 and 1 have a graph of their own.
    """
    entry, call = table.of(difference.entry), table.of(compile)
    for cause in difference.causes if compile.inputs else ():
        part = cause.source.tensor_part
        source = part.tensor if part else cause.source
        before, after = entry.input(source), call.input(source)
        if cause.is_size and before and after and after.storage_offset < _FIRST_SYMBOLIC <= before.storage_offset:
            return source.display_name
    return ""


def pinning_operator(difference: EntryDifference, compile: Compile, table: FactTable) -> str:
    """The operator of two static graphs that takes what varied as a number, which no mark makes symbolic; "" where none does.

    In graphs of one form, whatever number of an operator changes was computed from what varied, such as ``x.shape[1] + 1``.
    """
    before, after = table.of(difference.entry).pinned_numbers, table.of(compile).pinned_numbers
    for cause in difference.causes if before and after else ():
        old, new = integer(cause.before), integer(cause.after)
        operator = pinned_by(before, after, old, new) if old is not None and new is not None else ""
        if operator:
            return operator
    if before == after or [name for name, _ in before] != [name for name, _ in after] or not similar(difference.entry, compile):
        return ""
    return next(name for (name, number), (_, changed) in zip(before, after, strict=True) if number != changed)


def has_size_one(difference: EntryDifference, compile: Compile, table: FactTable) -> bool:
    """Whether a size of what two graphs of one form compute is 1 in one of them alone, as of ``x[:k]`` for a k of 1.

    Operations on it ask whether it is 1: so did 15 of 16 that were tried with torch 2.13.
    """
    before, after = table.of(difference.entry).made_sizes, table.of(compile).made_sizes
    if before == after or len(before) != len(after) or not similar(difference.entry, compile):
        return False
    pairs = (pair for one, other in zip(before, after, strict=True) if len(one) == len(other) for pair in zip(one, other, strict=True))
    return any(one != other and "1" in (one, other) for one, other in pairs)


def _is_dynamic_in(entry: CompileFacts, difference: EntryDifference) -> bool:
    """Whether an entry is dynamic in all that separates two calls: guards of one that is not are over constants that would not be there.

    An entry for calls without this input, as with a keyword that they leave out, shows nothing about it.
    """
    tree = entry.tree
    keys = [(cause.source, cause.prop) for cause in difference.causes if cause.prop.kind is Kind.SIZE or cause.is_int]
    if tree is None or any(source not in entry.sources and source not in entry.symbolic for source, _ in keys):
        return False
    return all(tree.facts.get(key, DYNAMIC) == DYNAMIC for key in keys)


def _fails_alone(entry: CompileFacts, calls: Iterable[CompileFacts], marked: tuple[Key, ...]) -> bool:
    """Whether an entry that is dynamic in a part of what separates two calls has a guard over nothing else that fails for one of them.

    Such as ``k != 1``, which no constant of the entry takes part in.
    """
    names = {_in_guards(source, prop) for source, prop in marked}
    names &= entry.symbolic
    shapes = entry.tree.shapes if entry.tree and names else ()
    others = frozenset(shape.expression for shape in shapes if not shape.parsed.names or not names.issuperset(shape.parsed.names))
    return len(others) < len(shapes) and not all(guards_hold(entry, call, marked, others) for call in calls)


def _in_guards(source: Source, prop: Property) -> str:
    """How guard expressions name a size or an int."""
    return f"{source.canonical}.size()[{prop.dim}]" if prop.kind is Kind.SIZE else source.canonical


def guards_hold(entry: CompileFacts, call: CompileFacts, marked: tuple[Key, ...] = (), without: frozenset[str] = frozenset()) -> bool:
    """Replay the shape guards of a dynamic entry on the sizes of another call; what cannot be evaluated counts as held.

    ``marked`` are sizes and ints that are to be symbolic. One that was a constant in the entry is a number in guards that it took part
    in, such as ``9 <= x.size()[0]`` for ``x[:k]``: there the call's own value takes its place. An offset may be a constant in one entry
    only. Guards of ``without`` do not count.
    """
    constants: list[_Constant] | None = None
    by_equal_sizes: frozenset[str] | None = None
    for shape in entry.tree.shapes if entry.tree else ():
        if shape.is_duck_shape or _is_over_offset(shape.expression) or shape.parsed.holds(call.numbers) is not False:
            continue
        if shape.expression in without or _pins_float(shape, call):
            continue
        by_equal_sizes = met_by_equal_sizes(entry, call) if by_equal_sizes is None else by_equal_sizes
        if shape.expression in by_equal_sizes:
            continue
        constants = _constants(entry, call, marked) if constants is None else constants
        changes = {item.before: item.after for item in constants if item.name not in shape.parsed.names}
        if not changes or shape.parsed.with_constants(changes).holds(call.numbers) is False:
            return False
    return True


def _pins_float(shape: ShapeGuard, call: CompileFacts) -> bool:
    """Whether a guard fixes a float to one value, which a mark of something else does not change."""
    return shape.parsed.is_equation and any(isinstance(call.numbers.get(name), float) for name in shape.parsed.names)


class _Constant(NamedTuple):
    """A number in guards, what it would be in another call, and the size or int that it represents, as guards name that."""

    name: str
    before: int
    after: int


def _beyond(entry: CompileFacts, one: CompileFacts, other: CompileFacts) -> frozenset[str]:
    """The shape guards of a dynamic entry that fail for both of two calls, over sizes that are the same in both.

    ``2 <= x.size()[1]`` where it is 1 in both: what else differs between them can be symbolic on their side of it, too.
    """
    numbers = one.numbers, other.numbers
    return frozenset(
        shape.expression
        for shape in (entry.tree.shapes if entry.tree else ())
        if all(shape.parsed.holds(known) is False for known in numbers)
        and all(numbers[0].get(name) == numbers[1].get(name) for name in shape.parsed.names)
    )


def _is_over_offset(guard: str) -> bool:
    """Whether a guard is over where a tensor begins in its storage, on which nothing else depends."""
    return ".storage_offset()" in guard


def _constants(entry: CompileFacts, call: CompileFacts, marked: tuple[Key, ...]) -> list[_Constant]:
    """The numbers that represent these sizes and ints in guards of the entry; of the same number, the last counts.

    An int may be off by one there, in divisions. What is symbolic in the entry is no number there, unless it was pinned.
    """
    found: list[_Constant] = []
    symbolic = entry.symbolic - entry.specializations_by_source.keys()
    for source, prop in sorted(marked, key=lambda key: key[1].kind is not Kind.SIZE):
        is_size = prop.kind is Kind.SIZE
        part = f".size()[{prop.dim}]" if is_size else ""
        before, after = (known.number((source, prop)) for known in (entry, call))
        if before is not None and after is not None and f"{source}{part}" not in symbolic:
            offsets = (0,) if is_size else (-1, 1, 0)
            found += [_Constant(f"{source.canonical}{part}", before + offset, after + offset) for offset in offsets]
    return found

"""Whether the graph of an earlier entry would serve a later call, once all that separates the two is marked dynamic.

The graphs must be similar, every cause that separates the two must be one that marks act on, and where the trace has dynamic versions
of that graph, the guards of one of them must hold for both calls.
"""

from dataclasses import dataclass, field

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.properties import Kind, Property
from shapelog.recompiles.branches import index_of, other_path
from shapelog.recompiles.causes import Differences, EntryDifference
from shapelog.recompiles.reuse.held_guards import beyond, fails_alone, guards_hold, is_dynamic_in, is_over_offset, pins_float
from shapelog.recompiles.reuse.obstacles import (
    broken_base_tie,
    broken_stride_tie,
    has_size_one,
    marks_act,
    moved_to_start,
    pinning_operator,
    tied_stride,
    would_share_symbol,
)
from shapelog.recompiles.reuse.pinned_ints import PinnedInts
from shapelog.recompiles.reuse.refused_calls import static_again
from shapelog.recompiles.reuse.similar import has_operations, registered, similar

# The dynamic entries that are tried for one graph.
_MOST_DYNAMIC = 32
_BASE_SIZE = "._base.size()["


@dataclass(slots=True, eq=False, repr=False)
class GraphReuse:
    """Answers for one trace, worked out once for each pair of an entry and a call."""

    differences: Differences
    pinned_ints: PinnedInts = field(init=False)
    _proofs: dict[tuple[Compile, Compile], bool | None] = field(default_factory=dict)
    _dynamic: dict[Frame, dict[str, list[Compile]]] = field(default_factory=dict)
    _fixed: dict[Frame, dict[tuple[str, Property], str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pinned_ints = PinnedInts(self.differences.table)

    def serves(self, frame: Frame, difference: EntryDifference, compile: Compile) -> bool:
        """Whether the graph of an entry would serve this call, were all its causes marked dynamic."""
        return self.proof(frame, difference, compile) is not None

    def proof(self, frame: Frame, difference: EntryDifference, compile: Compile) -> bool | None:
        """True where a dynamic entry of the frame shows that one graph serves both calls, False where the trace has none that could.

        None where none of those does, or marks do not act on what separates the two.
        """
        if not marks_act(difference) or self.fixed_number(frame, difference):
            return None
        if compile.is_refused:  # which has left no graph
            return False
        key = difference.entry, compile
        if key not in self._proofs:
            self._proofs[key] = self._proof(frame, difference, compile)
        return self._proofs[key]

    def fixed_number(self, frame: Frame, difference: EntryDifference) -> tuple[str, str] | None:
        """A size or an int argument among the causes that does not become dynamic, and an entry that shows it; None without one.

        That is one that was compiled because this number varied, and that later calls find static in it, as PyTorch's reasons have it. In
        traces the guards and symbols show more.
        """
        if frame not in self._fixed:
            has_guards = any(item.guards_span for item in frame.compiles)
            self._fixed[frame] = {} if has_guards else static_again(frame)
        known = self._fixed[frame]
        keys = ((cause.axis, (cause.source.display_name, cause.prop)) for cause in difference.causes if known)
        return next(((axis, known[key]) for axis, key in keys if key in known), None)

    def guards_hold(self, entry: Compile, call: Compile) -> bool:
        """Whether the guards of an entry over sizes hold for another call of its frame."""
        return guards_hold(self.differences.table.of(entry), self.differences.table.of(call))

    def broken_guard(self, frame: Frame, difference: EntryDifference, compile: Compile) -> tuple[Compile, str] | None:
        """A dynamic entry with the graph of two calls, and a guard of it over sizes that does not hold for both; None without one."""
        table = self.differences.table
        calls = table.of(compile), table.of(difference.entry)
        dynamic = self._dynamic_entries(frame, compile)
        for entry in [item for item in dynamic if is_dynamic_in(table.of(item), difference)] or dynamic:
            tree = entry.guards
            for shape in tree.shapes if tree else ():
                is_ours = shape.is_of_code and not is_over_offset(shape.expression)
                if is_ours and not pins_float(shape, calls[0]) and any(shape.parsed.holds(call.numbers) is False for call in calls):
                    return entry, shape.expression
        return None

    def _proof(self, frame: Frame, difference: EntryDifference, compile: Compile) -> bool | None:
        entry, table = difference.entry, self.differences.table
        known, call = table.of(entry), table.of(compile)
        is_tied = broken_stride_tie(difference, table, compile) or tied_stride(difference, table, compile)
        if is_tied or moved_to_start(difference, table, compile) or index_of(difference, known, call):
            return None
        if broken_base_tie(difference, table, compile) or would_share_symbol(difference, table, compile):
            return None
        # A compile that is dynamic itself may have another graph than the static entry, such as ``x[i]`` for ``x[3]``. If its guards
        # hold for the entry's call, that call makes the same graph once it is marked. A graph that broke only here broke because of that.
        if self._violates_guard_on_base(frame, difference, compile):
            return None
        breaks_anew = len(compile.breaks) > len(entry.breaks)
        if compile.is_dynamic and call.tensors == known.tensors and not breaks_anew and self._accepts(compile, entry):
            return True
        if not (similar(entry, compile) or not (has_operations(entry) or has_operations(compile))):
            return None
        if registered(entry) != registered(compile):  # graphs of one form, through other layers
            return None
        dynamic = self._dynamic_entries(frame, compile)
        wide = [item for item in dynamic if is_dynamic_in(table.of(item), difference)]
        is_apart = pinning_operator(difference, compile, table) or has_size_one(difference, compile, table)
        if not wide and (is_apart or other_path(difference, known, call)):
            return None
        if self.pinned_ints.pinning_line(frame, difference):
            return None
        return self._shown_by(wide or dynamic, bool(wide), difference, compile) if dynamic else False

    def _violates_guard_on_base(self, frame: Frame, difference: EntryDifference, compile: Compile) -> bool:
        """Whether a dynamic entry refuses the base of a view of this call, and not that of the entry: ``2 <= x._base.size()[0]``.

        A view that is marked makes the sizes of its base symbolic, too, with such guards, also where no operation uses the base.
        """
        call, known = (self.differences.table.of(item) for item in (compile, difference.entry))
        return any(
            shape.is_of_code and shape.parsed.holds(call.numbers) is False and shape.parsed.holds(known.numbers) is True
            for entry in self._dynamic_entries(frame, compile)
            for shape in (entry.guards.shapes if entry.guards else ())
            if shape.parsed.names and all(_BASE_SIZE in name for name in shape.parsed.names)
        )

    def _shown_by(self, dynamic: list[Compile], are_wide: bool, difference: EntryDifference, compile: Compile) -> bool | None:
        """Like ``proof``, from the guards of dynamic entries. ``are_wide``: they are dynamic in all that separates the two calls."""
        table = self.differences.table
        known, call = table.of(difference.entry), table.of(compile)
        marked = tuple((cause.source, cause.prop) for cause in difference.causes if cause.is_int or cause.prop.kind is Kind.SIZE)
        tried = [table.of(item) for item in dynamic]
        if not are_wide and any(fails_alone(item, (call, known), marked) for item in tried):
            return None
        if is_dynamic_in(call, difference) and fails_alone(call, (known,), marked):  # entries for other inputs may be wider
            return None
        if any(all(guards_hold(item, one, marked) for one in (call, known)) for item in tried):
            return are_wide
        # where all dynamic entries are on another path than the two calls, only a guard on what separates these counts against them
        elsewhere = [beyond(item, known, call) for item in tried]
        if not all(elsewhere):
            return None
        held = any(
            all(guards_hold(item, one, marked, without) for one in (call, known)) for item, without in zip(tried, elsewhere, strict=True)
        )
        return False if held else None

    def _accepts(self, entry: Compile, call: Compile) -> bool:
        """Whether nothing but an offset keeps a call from using an entry."""
        return all(is_over_offset(str(cause.prop)) for cause in self.differences.between(entry, call).causes)

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

"""What keeps a call and an earlier one from one graph although all that separates them is about sizes."""

import re
from itertools import pairwise

from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import FIRST_SYMBOLIC, Kind, Property
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import EntryDifference
from shapelog.recompiles.constant_arguments import pinned_by
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.reuse.held_guards import in_guards
from shapelog.recompiles.reuse.similar import similar
from shapelog.recompiles.strides import broken_tie, is_free
from shapelog.rules import any_blocks_marking

# A size of 0 or 1 in what a failed guard compares: "q.size()[0] = 1, k.size()[0] = 14", "10 and 1".
_SMALL = re.compile(r"(?:^|= |and )[01](?:,|$| and)")
# ``super().step`` is ``type(self).__mro__[1].step``; an attribute of a base class is ``dict(type(self).__mro__[1].__dict__)['step']``.
_OF_SUPER = re.compile(r"\.__mro__\[\d+\]\.(?!__dict__\b)")
_STATIC_MARKS = Property(Kind.MARKING, name="_dynamo_static_indices")


def marks_act(difference: EntryDifference) -> bool:
    """Whether marking removes everything that separates a call from an entry."""
    for cause in difference.causes:
        if not cause.size_related or not cause.rule.markable or any_blocks_marking(cause.codes) or cause.own_verdict:
            return False
        # a size of 0 or 1 has a graph of its own, marked or not
        if cause.is_size and (_SMALL.search(cause.after) or _SMALL.search(cause.before)):
            return False
    is_static = statically_marked_dim(difference) or static_by_setting(difference)
    return bool(difference.causes) and not is_static and not found_by_super(difference)


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


def static_by_setting(difference: EntryDifference) -> str:
    """An input among the causes that ``torch.compiler.config.static_sources`` lists, which beats the list of dynamic sources (torch 2.15);
    "" without one.
    """
    listed = difference.entry.metrics.static_sources
    return next((cause.source.display_name for cause in difference.causes if cause.source in listed), "")


def broken_stride_tie(difference: EntryDifference, table: FactTable, compile: Compile) -> str:
    """A tensor whose strides would be tied to its marked sizes, or are to its symbolic ones, and are not in this call, "" without one."""
    entry, call = table.of(difference.entry), table.of(compile)
    found = (source for source, dims in _symbolic_dims(difference).items() if broken_tie(source, dims, entry, call) is not None)
    return next((source.display_name for source in found), "")


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
        if cause.is_size and before and after and after.storage_offset < FIRST_SYMBOLIC <= before.storage_offset:
            return source.display_name
    return ""


def would_share_symbol(difference: EntryDifference, table: FactTable, compile: Compile) -> tuple[str, str] | None:
    """Two strides or storage offsets that were equal in the entry, would share a symbol once their tensors are marked, and differ in this
    call; None without such a pair.

    Those of 2 or more that do not follow from sizes have symbols, one for each number; marked sizes share none. A tensor that has symbols
    in the entry is left out, as the guards of that show what they share.
    """
    entry, call = table.of(difference.entry), table.of(compile)
    symbolic = {part.tensor for symbol in difference.entry.symbols if (part := symbol.source.tensor_part)}
    by_value: dict[object, list[str]] = {}
    for source in _symbolic_dims(difference).keys() - symbolic:
        tensor = entry.input(source)
        dims = [dim for dim in range(len(tensor.stride)) if is_free(source, dim, entry)] if tensor else []
        for name in (f"{source.canonical}.storage_offset()", *(f"{source.canonical}.stride()[{dim}]" for dim in dims)):
            value = entry.numbers.get(name)
            if isinstance(value, int) and value >= FIRST_SYMBOLIC and name in call.numbers:
                by_value.setdefault(value, []).append(name)
    pairs = (pair for names in by_value.values() for pair in pairwise(sorted(names)))
    return next((pair for pair in pairs if call.numbers[pair[0]] != call.numbers[pair[1]]), None)


def branch_of_call(difference: EntryDifference, table: FactTable, compile: Compile) -> str:
    """A guard of the graph of this call that the other call does not meet, over nothing but what varied: with marks, each of the two takes
    its own branch. "" without one, and where the graphs have one form.
    """
    entry, call = table.of(difference.entry), table.of(compile)
    varied = {in_guards(item.source, item.prop) for item in difference.causes}
    shapes = call.tree.shapes if call.tree and not similar(difference.entry, compile) else ()
    own = (shape for shape in shapes if shape.is_of_code and shape.parsed.names and varied.issuperset(shape.parsed.names))
    failed = (shape for shape in own if shape.parsed.holds(entry.numbers) is False)
    return next((shape.expression for shape in failed if all(entry.numbers.get(name) not in (0, 1) for name in shape.parsed.names)), "")


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

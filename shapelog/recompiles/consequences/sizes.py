"""What follows where a size, a rank or the length of a container is another one."""

import re
from math import prod

from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.properties import VALUE, Kind, size
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.consequences.changes import Changes
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts
from shapelog.recompiles.strides import follows_from_sizes, layout, same_order

_MOST_MULTIPLIED = 16


def rank_changed(item: Violation, changes: Changes) -> bool:
    """A size or stride, or a guard over one, of a tensor with another number of dims."""
    if item.shape is None:
        return item.prop.is_of_dim and item.source.canonical in changes.rank_changed
    return any(re.split(r"\.(?:size|stride)\(\)\[", name)[0] in changes.rank_changed for name in item.shape.parsed.names)


def strides_follow_resized_tensor(item: Violation, changes: Changes) -> bool:
    """A guard that relates the strides of a tensor to its sizes, or to an int that is one of them, and failed because a size or stride
    that is static changed.
    """
    names = item.shape.parsed.names if item.shape else ()
    tensors = {name.split(".stride()[")[0] for name in names if ".stride()[" in name} & changes.resized
    if not tensors or all(".stride()[" in name for name in names):
        return False
    found = [tensor.source for name in tensors for tensor in changes.call.inputs_by_canonical.get(name, ())]
    return all(same_order(source, changes.entry, changes.call) for source in found)


def stride_of_one_in_a_resized_tensor(item: Violation, changes: Changes) -> bool:
    """A guard such as ``2 <= x.stride()[0]`` of a slice, where the call has a tensor whose stride is 1 as its inner sizes are."""
    part = item.source.tensor_part if item.shape and set(item.shape.parsed.names) == {item.source.canonical} else None
    if part is None or part.prop.kind is not Kind.STRIDE or part.tensor.canonical not in changes.resized:
        return False
    known = [layout(changes.call, tensor.source) for tensor in changes.call.inputs_by_canonical.get(part.tensor.canonical, ())]
    return any(found and part.prop.dim < len(found.strides) - 1 and found.is_packed(part.prop.dim) for found in known)


def stride_follows_size(item: Violation, changes: Changes) -> bool:
    return item.prop.kind is Kind.STRIDE and follows_from_sizes(item.source, item.prop.dim, changes.entry, changes.call)


def offsets_of_other_rows(item: Violation, changes: Changes) -> bool:
    """The offsets of a nested tensor, of which there is one more than rows."""
    owner = Source(item.source.removesuffix("._offsets"))
    if owner == item.source or item.prop.kind is not Kind.SIZE:
        return False
    rows = [known.number((owner, size(0))) for known in (changes.entry, changes.call)]
    offsets = [integer(str(value)) for value in (item.expected, item.actual)]
    return all(count is not None and number == count + 1 for count, number in zip(rows, offsets, strict=True))


def stride_of_a_single_element(item: Violation, changes: Changes) -> bool:
    """The stride of a dim whose size became 0 or 1, or was: there it means nothing."""
    if item.prop.kind is not Kind.STRIDE:
        return False
    before, after = layout(changes.entry, item.source), layout(changes.call, item.source)
    if before is None or after is None or max(item.prop.dim, 0) >= min(len(before.sizes), len(after.sizes)):
        return False
    sizes = before.sizes[item.prop.dim], after.sizes[item.prop.dim]
    return sizes[0] != sizes[1] and min(sizes) <= 1


def in_container_of_other_length(item: Violation, changes: Changes) -> bool:
    """A guard over an item of a container whose length changed belongs to the path for that length; a line that needs the exact value of
    an item does so for any length.
    """
    names = item.shape.parsed.names if item.shape else ()
    if item.shape and item.shape.parsed.is_equation and len(names) == 1 and item.source in changes.entry.specializations_by_source:
        return False
    if len(names) == 1 and _is_small_item_of_dict(Source(names[0]), changes):
        return False
    return any(any(changes.length_changed.of(Source(name))) for name in names)


def _is_small_item_of_dict(name: Source, changes: Changes) -> bool:
    """Whether a size that a guard is over is that of a tensor under a key, there in both calls, and 0 or 1 in this one."""
    part = name.tensor_part
    if part is None or not part.is_size or not part.tensor.endswith("']"):
        return False
    sizes = [known.number((part.tensor, part.prop)) for known in (changes.entry, changes.call)]
    return None not in sizes and sizes[1] in (0, 1)


def product_of_other_items(item: Violation, changes: Changes) -> bool:
    """A pinned size that is the product of the ints of a container, of which the length changed: ``x.view(*size)`` pins it at theirs."""
    name = f"{item.source}.size()[{item.prop.dim}]"
    if item.prop.kind is not Kind.SIZE or not any(name in known.specializations_by_source for known in (changes.entry, changes.call)):
        return False
    sizes = integer(str(item.expected)), integer(str(item.actual))
    return any(
        sizes == (_product(other.source, other.expected, changes.entry), _product(other.source, other.actual, changes.call))
        for other in changes.of(Kind.LENGTH)
    )


def _product(container: Source, length: object, known: CompileFacts) -> int | None:
    """That of the ints in a container, None where not all are known."""
    number = integer(str(length))
    if number is None or not 0 < number <= _MOST_MULTIPLIED:
        return None
    items = [known.number((Source(f"{container}[{place}]"), VALUE)) for place in range(number)]
    return None if None in items else prod(item for item in items if item is not None)


def length_of_another_value(item: Violation, changes: Changes) -> bool:
    """Texts, tuples and the like that are compared as a whole have another length with another value."""
    return item.prop.kind is Kind.LENGTH and item.source in changes.whole

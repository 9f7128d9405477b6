"""Sizes and strides of one tensor in two calls: what follows from what."""

from collections.abc import Collection
from typing import NamedTuple

from shapelog.reading.payloads.properties import RANK, Kind, size, stride
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.facts.compile_facts import CompileFacts


class Layout(NamedTuple):
    """Sizes and strides of a tensor in elements, one each for every dim."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def order(self) -> list[int]:
        """The dims in the order in which they lie in memory, without those of size 0 and 1, whose strides mean nothing."""
        dims = [dim for dim, size in enumerate(self.sizes) if size > 1]
        return sorted(dims, key=lambda dim: (-self.strides[dim], dim))

    @property
    def is_expanded(self) -> bool:
        """Whether elements repeat along a dim, as ``expand`` and broadcasting make them."""
        return any(size > 1 and stride == 0 for size, stride in zip(self.sizes, self.strides, strict=True))

    def is_in_memory_as(self, other: "Layout") -> bool:
        """Whether the elements are in the same places in memory, so that at most strides of dims of size 0 and 1 differ."""
        dims = [dim for dim, size in enumerate(self.sizes) if size > 1]
        return self.sizes == other.sizes and all(self.strides[dim] == other.strides[dim] for dim in dims)

    @property
    def extents(self) -> list[int]:
        """The size of each dim times its stride; PyTorch counts a size of 0 as 1 here."""
        return [(size or 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True)]

    def is_product(self, dim: int, inner: int) -> bool:
        """Whether the stride of a dim is the size times the stride of another one."""
        return inner != dim and self.strides[dim] == (self.sizes[inner] or 1) * self.strides[inner]

    def is_packed(self, dim: int) -> bool:
        """Whether the stride of a dim is what the dims inside of it take, those of size 0 and 1 left out."""
        inner = [size * stride for size, stride in zip(self.sizes, self.strides, strict=True) if size > 1 and stride < self.strides[dim]]
        return self.strides[dim] == max(inner, default=1)


def layout(known: CompileFacts, source: Source) -> Layout | None:
    """The layout of a tensor, from its description or from what is static in the guards."""
    tensor = known.input(source)
    if tensor is not None:
        return Layout(tensor.size, tensor.stride) if len(tensor.size) == len(tensor.stride) else None
    rank = known.facts.get((source, RANK))
    if not isinstance(rank, int):
        return None
    sizes, strides = ([known.facts.get((source, of_dim(dim))) for dim in range(rank)] for of_dim in (size, stride))
    if any(not isinstance(value, int) for value in (*sizes, *strides)):
        return None
    return Layout(tuple(int(value) for value in sizes if value is not None), tuple(int(value) for value in strides if value is not None))


def follows_from_sizes(source: Source, dim: int, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether a stride changed only because a size or an inner stride did: it is the product of the two in both calls."""
    before, after = layout(entry, source), layout(call, source)
    if before is None or after is None or len(before.sizes) != len(after.sizes) or dim >= len(before.strides):
        return False
    if before.sizes == after.sizes:
        return any(
            before.is_product(dim, inner) and after.is_product(dim, inner) and before.strides[inner] != after.strides[inner]
            for inner in range(len(before.sizes))
            if inner > dim or before.sizes[inner] > 1  # of two dims of size 1, only one follows from the other
        )
    is_packed = before.is_packed(dim) and after.is_packed(dim) and same_order(source, entry, call)
    return is_packed or any(
        before.is_product(dim, inner)
        and after.is_product(dim, inner)
        and (before.sizes[inner], before.strides[inner]) != (after.sizes[inner], after.strides[inner])
        for inner in range(len(before.sizes))
    )


def same_order(source: Source, entry: CompileFacts, call: CompileFacts) -> bool:
    """Whether the dims lie in the same order in memory: then a symbolic size makes the stride symbolic too."""
    before, after = layout(entry, source), layout(call, source)
    if before is None or after is None or len(before.strides) != len(after.strides):
        return False
    common = set(before.order).intersection(after.order)
    return [dim for dim in before.order if dim in common] == [dim for dim in after.order if dim in common]


def broken_tie(source: Source, marked: Collection[int], entry: CompileFacts, call: CompileFacts) -> int | None:
    """A dim whose stride would be tied to a marked size in a graph made for one call, and does not follow from it in the other.

    The stride of a dim outside of a marked one is its size times its stride, as in every contiguous tensor; in a slice or crop of a
    larger tensor it is not. None where the graph serves both.
    """
    before, after = layout(entry, source), layout(call, source)
    if before is None or after is None or len(before.sizes) != len(after.sizes):
        return None
    symbolic = set(marked)
    for dim in sorted(range(len(before.strides)), key=lambda dim: before.strides[dim]):
        inner = next((inner for inner in symbolic if before.is_product(dim, inner)), None)
        if inner is None:
            continue
        if not after.is_product(dim, inner):
            return dim
        symbolic.add(dim)  # its stride is symbolic now, and so is what lies outside of it
    return None


def is_free(source: Source, dim: int, entry: CompileFacts) -> bool:
    """Whether a symbolic size would leave this stride free: one of 0 or 1 is a constant, and one that is the product of an inner
    size and stride is tied to them. Of two dims of size 1 with one stride, the outer one is tied to the inner one.
    """
    found = layout(entry, source)
    if found is None or dim >= len(found.strides):
        return False
    own = found.strides[dim]
    inner = [extent for other, extent in enumerate(found.extents) if other > dim or (other < dim and found.strides[other] != own)]
    return own not in (0, 1, *inner)


def is_free_stride(name: str, entry: CompileFacts) -> bool:
    """Whether a name in a guard, ``L['x'].stride()[0]``, is that of a stride that no mark ties to a size."""
    part = Source(name).tensor_part
    return part is not None and part.prop.kind is Kind.STRIDE and is_free(part.tensor, part.dim, entry)


def dims_of_bases(view: Source, entry: CompileFacts, call: CompileFacts) -> tuple[int, int] | None:
    """How many dims what a tensor is a view of has in either call; None if as many, or if that is not recorded."""
    before, after = (found.base_size if (found := known.input(view)) else None for known in (entry, call))
    if before is None or after is None or len(before) == len(after):
        return None
    return len(before), len(after)

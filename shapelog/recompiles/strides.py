"""Sizes and strides of one tensor in two calls: what follows from what."""

from shapelog.model.trace import Compile
from shapelog.reading.records import Input
from shapelog.recompiles.violations import Comparer, Violation


def described(compile: Compile, source: str) -> Input | None:
    return next((item for item in compile.inputs if item.source == source), None)


def layout(compile: Compile, source: str, comparer: Comparer) -> tuple[list[int], list[int]] | None:
    """(sizes, strides) of a tensor, one each for every dim, from its description or from what is static in the guards."""
    tensor = described(compile, source)
    if tensor is not None:
        return (list(tensor.size), list(tensor.stride)) if len(tensor.size) == len(tensor.stride) else None
    seen = comparer.observe(compile).facts
    rank = seen.get((source, "rank"))
    if not isinstance(rank, int):
        return None
    sizes, strides = ([seen.get((source, f"{name}[{dim}]")) for dim in range(rank)] for name in ("size", "stride"))
    if any(not isinstance(value, int) for value in (*sizes, *strides)):
        return None
    return [int(value) for value in sizes if value is not None], [int(value) for value in strides if value is not None]


def follows_from_sizes(item: Violation, entry: Compile, compile: Compile, comparer: Comparer) -> bool:
    """Whether the stride is the product of the same inner sizes in both calls, so that it changed only because a size did."""
    before, after = layout(entry, item.source, comparer), layout(compile, item.source, comparer)
    if before is None or after is None or len(before[0]) != len(after[0]):
        return False
    dim = int(item.prop[7:-1])
    if dim >= len(before[1]):
        return False
    sizes_differ = before[0] != after[0]
    return sizes_differ and any(
        inner != dim
        and before[1][dim] == before[0][inner] * before[1][inner]
        and after[1][dim] == after[0][inner] * after[1][inner]
        and (before[0][inner] != after[0][inner] or before[1][inner] != after[1][inner])
        for inner in range(len(before[0]))
    )


def same_order(entry: Compile, compile: Compile, source: str, comparer: Comparer) -> bool:
    """Whether the dims lie in the same order in memory: then a symbolic size makes the stride symbolic too."""
    before, after = layout(entry, source, comparer), layout(compile, source, comparer)
    if before is None or after is None or len(before[1]) != len(after[1]):
        return False
    return _order(before) == _order(after)


def is_free(entry: Compile, source: str, dim: int, comparer: Comparer) -> bool:
    """Whether a symbolic size would leave this stride free: one of 0 or 1 is a constant, and one that is the product of an inner
    size and stride is tied to them.
    """
    found = layout(entry, source, comparer)
    if found is None:
        return False
    sizes, strides = found
    if dim >= len(strides):
        return False
    tied = any(inner != dim and strides[dim] == sizes[inner] * strides[inner] for inner in range(len(sizes)))
    return strides[dim] not in (0, 1) and not tied


def _order(layout: tuple[list[int], list[int]]) -> list[int]:
    sizes, strides = layout
    return sorted((dim for dim in range(len(sizes)) if sizes[dim] > 1), key=lambda dim: (-strides[dim], dim))

"""Bases of views, such as that of ``states[k]``: a graph made later guards a base in part, where a list names its view alone.

PyTorch does not guard a base that is static. In the next graph of the function, what changed of the base since is symbolic, and so are the
strides that follow from it: these are guarded, with the sizes that are still static as numbers.
"""

from collections.abc import Iterator, Mapping, Sequence

from shapelog.advice.marks import Mark
from shapelog.advice.routes import Route
from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source


def with_bases(routes: Mapping[Compile, tuple[Route, ...]]) -> dict[Compile, tuple[Route, ...]]:
    """The routes of a frame's calls, those of a compile with the sizes of bases that are lost with it.

    They are lost where a graph made later, which no mark removes, would be for some sizes of the base alone.
    """
    compiles = list(routes)
    stay = [number for number, compile in enumerate(compiles) if not routes[compile]]
    last = stay[-1] if stay else 0
    found = dict(routes)
    for number, compile in enumerate(compiles[:last]):
        if routes[compile] and (views := _views_with_bases(compile)):
            later = [compiles[place] for place in stay if place > number]
            found[compile] = tuple(_with_bases(route, compile, views, later) for route in routes[compile])
    return found


def _with_bases(route: Route, compile: Compile, views: Mapping[Source, set[int]], later: Sequence[Compile]) -> Route:
    marks = [mark for view, dims in views.items() for mark in _lost(view, dims, (route.entry, compile), later)]
    return route._replace(lost=(*route.lost, *((mark.place, frozenset((mark,))) for mark in marks))) if marks else route


def _views_with_bases(compile: Compile) -> dict[Source, set[int]]:
    """The views that a compile was made for, with the dims of their bases that it had symbolic."""
    found: dict[Source, set[int]] = {}
    for symbol in compile.symbols:
        part = symbol.source.tensor_part
        if part is not None and part.is_size and (view := part.tensor.view_of_base):
            found.setdefault(view, set()).add(part.dim)
    return found


def _lost(view: Source, symbolic: set[int], pair: tuple[Compile, Compile], later: Sequence[Compile]) -> Iterator[Mark]:
    """The inner sizes of a base that one of two compiles has symbolic, where a later one would have only some of them so.

    The outermost size is in no stride. Where a size is 0 or 1, a symbolic base needs a graph of its own.
    """
    bases = [base for compile in pair for base in _bases(view, compile)]
    for other in later:
        for base in _bases(view, other):
            every = [*bases, base]
            if len(every) != len(pair) + 1 or len({len(sizes) for sizes in every}) != 1 or min(map(min, every), default=0) <= 1:
                continue
            changed = _inner_changes([bases[0], base])
            varying = _inner_changes(every) & symbolic
            if changed and varying - changed:
                yield from (Mark(Source(f"{view}._base"), dim) for dim in sorted(varying))
                return


def _bases(view: Source, compile: Compile) -> Iterator[tuple[int, ...]]:
    return (item.base_size for item in compile.inputs if item.source == view and item.is_part and item.base_size)


def _inner_changes(bases: Sequence[tuple[int, ...]]) -> set[int]:
    """The dims that differ among bases and from which strides follow."""
    return {dim for dim in range(1, len(bases[0])) if len({base[dim] for base in bases}) > 1}

"""The way of each operation: node of the captured graph, nodes after autograd, lines of generated code, kernel, the user's lines."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from shapelog.model.record_index import IndexedRecord
from shapelog.reading.payloads.provenance import (
    MAPPINGS,
    STACKS,
    Mappings,
    kernels_by_line,
    node_of,
    parse_mappings,
    parse_stacks,
    places_in,
)
from shapelog.reading.records import StackFrame

# Names of the graph before and after autograd and Inductor's passes, in the order of preference; kinds and artifacts.
_BEFORE = ("before_pre_grad_graph", "inductor_pre_grad_graph", "after_pre_grad_graph")
_AFTER = ("inductor_post_grad_graph", "after_post_grad_graph")
_CODE = ("inductor_output_code", "inductor_aot_wrapper_code")
# Panes with more lines are left out: the table of kernels holds the same links.
_LONGEST = 3000


class PaneLine(NamedTuple):
    """A line of text. ``own`` is what it is, ``linked`` what it is linked with: tokens that are unique in a provenance."""

    text: str
    own: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()


class Pane(NamedTuple):
    """A graph or the generated code, line by line."""

    title: str
    lines: tuple[PaneLine, ...]


class KernelRow(NamedTuple):
    """A kernel with the nodes that it computes and the user's lines that they come from."""

    kernel: str
    after: tuple[str, ...]
    before: tuple[str, ...]
    places: tuple[StackFrame, ...]


class Provenance(NamedTuple):
    """What Inductor tracked for one graph. ``panes`` are () where they would be too long."""

    kernels: tuple[KernelRow, ...]
    panes: tuple[Pane, ...]


def provenances(records: Iterable[IndexedRecord]) -> tuple[Provenance, ...]:
    """Those of one compile, one for each graph that was compiled, from its records in order. What cannot be read is left out.

    Ahead-of-time compilation has no compile ids: its records are those outside of any.
    """
    found: list[Provenance] = []
    latest: dict[str, IndexedRecord] = {}
    for record in records:
        name = record.name if record.kind in ("artifact", "graph_dump") else record.kind
        latest[name] = record
        if name == MAPPINGS:
            try:
                found.append(_provenance(parse_mappings(record.text), latest))
            except ValueError:
                continue
        elif name == STACKS and found:
            try:
                places = parse_stacks(record.text)
            except ValueError:
                continue
            rows = [row._replace(places=places.get(row.kernel, row.places)) for row in found[-1].kernels]
            found[-1] = found[-1]._replace(kernels=tuple(rows))
    return tuple(found)


def _provenance(mappings: Mappings, latest: dict[str, IndexedRecord]) -> Provenance:
    origins: dict[str, list[str]] = {}
    for before, after in mappings.became.items():
        for node in after:
            origins.setdefault(node, []).append(before)
    texts = [_text(names, latest) for names in (_BEFORE, _AFTER, _CODE)]
    lines = places_in(texts[1])  # those of older versions, which do not record the lines of a kernel
    rows = tuple(
        KernelRow(
            kernel,
            after=nodes,
            before=tuple(dict.fromkeys(item for node in nodes for item in origins.get(node, ()))),
            places=tuple(dict.fromkeys(lines[node] for node in nodes if node in lines)),
        )
        for kernel, nodes in mappings.kernels.items()
    )
    if not all(texts) or sum(text.count("\n") for text in texts) > _LONGEST:
        return Provenance(rows, ())
    return Provenance(rows, _panes(mappings, rows, texts))


def _text(names: Sequence[str], latest: dict[str, IndexedRecord]) -> str:
    record = next((latest[name] for name in names if name in latest), None)
    return record.text if record else ""


def _panes(mappings: Mappings, rows: tuple[KernelRow, ...], texts: Sequence[str]) -> tuple[Pane, ...]:
    before_of, after_of = {}, {}
    for row in rows:
        before_of[row.kernel], after_of[row.kernel] = row.before, row.after
    in_kernels: dict[str, list[str]] = {}
    came_from: dict[str, list[str]] = {}
    for kernel, nodes in mappings.kernels.items():
        for node in nodes:
            in_kernels.setdefault(node, []).append(kernel)
    for before, nodes in mappings.became.items():
        for node in nodes:
            came_from.setdefault(node, []).append(before)
    numbers = {kernel: f"k{number}" for number, kernel in enumerate(mappings.kernels)}

    def of_before(node: str) -> tuple[str, ...]:
        after = mappings.became.get(node, ())
        return _unique([f"a-{item}" for item in after] + [numbers[kernel] for item in after for kernel in in_kernels.get(item, ())])

    def of_after(node: str) -> tuple[str, ...]:
        return _unique([f"b-{item}" for item in came_from.get(node, ())] + [numbers[kernel] for kernel in in_kernels.get(node, ())])

    first = tuple(
        PaneLine(line, (f"b-{node}",), of_before(node)) if (node := node_of(line)) in mappings.became else PaneLine(line)
        for line in _lines(texts[0])
    )
    second = tuple(
        PaneLine(line, (f"a-{node}",), of_after(node)) if (node := node_of(line)) and of_after(node) else PaneLine(line)
        for line in _lines(texts[1])
    )
    by_line = kernels_by_line(texts[2], tuple(mappings.kernels))
    third = []
    for number, line in enumerate(_lines(texts[2])):
        kernels = by_line.get(number, ())
        linked = [f"a-{node}" for kernel in kernels for node in after_of[kernel]] + [
            f"b-{node}" for kernel in kernels for node in before_of[kernel]
        ]
        third.append(PaneLine(line, tuple(numbers[kernel] for kernel in kernels), _unique(linked)))
    return Pane("Graph", first), Pane("After autograd and passes", second), Pane("Generated code", tuple(third))


def _lines(text: str) -> list[str]:
    return text.splitlines()


def _unique(tokens: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tokens))

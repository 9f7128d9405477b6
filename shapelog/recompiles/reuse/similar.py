"""Whether the graphs of two compiles have one form."""

from shapelog.model.compile import Compile
from shapelog.reading.payloads.source_names import Source


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


def runs_other_operations(one: Compile, other: Compile | None) -> bool:
    """Whether the graphs of both are known and their operations differ."""
    return other is not None and has_operations(one) and has_operations(other) and not similar(one, other)


def has_operations(compile: Compile) -> bool:
    return compile.graph is not None and bool(compile.graph.key)


def registered(compile: Compile) -> frozenset[Source]:
    """The parameters and buffers that a graph takes."""
    return frozenset(item.source for item in compile.inputs if item.source.is_registered)

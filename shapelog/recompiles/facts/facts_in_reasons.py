"""What recompile reasons state of the call itself, where nothing else is recorded of it."""

from collections.abc import Iterator

from shapelog.model.compile import Compile
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.guards.leaves import Fact, Key, type_name
from shapelog.reading.payloads.properties import TENSOR, VALUE, Kind
from shapelog.reading.payloads.source_names import Source, with_locals

# What only a tensor has.
_OF_TENSORS = frozenset((Kind.SIZE, Kind.STRIDE, Kind.RANK, Kind.DTYPE, Kind.DEVICE, Kind.REQUIRES_GRAD, Kind.DISPATCH_KEYS))


def facts_in_reasons(compile: Compile) -> Iterator[tuple[Key, Fact]]:
    """What reasons state of the call itself. A call that was refused, or failed early, leaves nothing else."""
    for reason in compile.reasons:
        source, kind = with_locals(reason.source), reason.prop.kind
        if source and kind in _OF_TENSORS:
            yield (source, TENSOR), "Tensor"
            value = integer(reason.actual)
            if value is not None and kind in (Kind.SIZE, Kind.RANK):
                yield (source, reason.prop), value
    for source, name in types_in_reasons(compile).items():
        if name == "NoneType":
            yield (source, VALUE), "None"


def types_in_reasons(compile: Compile) -> dict[Source, str]:
    """The types of what was passed in place of tensors."""
    found = (reason for reason in compile.reasons if reason.family == "tensor_type" and reason.actual)
    return {with_locals(reason.source): type_name(reason.actual) for reason in found}

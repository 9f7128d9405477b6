"""What the inputs of two compiles show where the guards were not recorded."""

from collections.abc import Iterator

from shapelog.reading.payloads.properties import DTYPE, RANK, REQUIRES_GRAD, size, stride
from shapelog.recompiles.evidence.violation import Violation
from shapelog.recompiles.facts.compile_facts import CompileFacts


def against_inputs(entry: CompileFacts, call: CompileFacts) -> Iterator[Violation]:
    """Without the guards of the entry: what differs between the described tensors, where the entry has no symbol for it."""
    symbolic = {symbol.source for symbol in entry.compile.symbols}
    for now in call.compile.inputs:
        was = entry.input(now.source)
        if was is None:
            continue
        if len(was.size) != len(now.size):
            yield Violation(now.source, RANK, len(was.size), len(now.size))
            continue
        if was.dtype != now.dtype:
            yield Violation(now.source, DTYPE, was.dtype, now.dtype)
        if was.requires_grad != now.requires_grad:
            yield Violation(now.source, REQUIRES_GRAD, was.requires_grad, now.requires_grad)
        for of_dim, before, after in ((size, was.size, now.size), (stride, was.stride, now.stride)):
            for dim, (one, other) in enumerate(zip(before, after, strict=False)):
                prop = of_dim(dim)
                if one != other and f"{now.source}.{prop.kind.value}()[{dim}]" not in symbolic:
                    yield Violation(now.source, prop, one, other)

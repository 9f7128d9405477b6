"""What Dynamo made dynamic in a compile because it had changed."""

from shapelog.model.trace import Compile, Frame
from shapelog.reading.records import AutomaticDynamic


def newly_dynamic(frame: Frame, compile: Compile) -> tuple[AutomaticDynamic, ...]:
    """The events of a compile, but those about what was dynamic from the start, by a mark or by ``dynamic=True``.

    Dynamo records a change of these, too.
    """
    symbolic = {
        symbol.source
        for earlier in frame.compiles
        if earlier.id.generation == compile.id.generation and earlier.order < compile.order
        for symbol in earlier.symbols
    }
    return tuple(event for event in compile.automatic_dynamic if _symbolic_source(event) not in symbolic)


def _symbolic_source(event: AutomaticDynamic) -> str:
    """What the symbol of a size or an int is created for."""
    return f"{event.source}.size()[{event.dim}]" if event.dim.isdigit() else event.source

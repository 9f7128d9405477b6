"""What Dynamo made dynamic in a compile because it had changed."""

import re
from dataclasses import dataclass, field
from itertools import takewhile

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import Source
from shapelog.reading.records import AutomaticDynamic

_RANGE = re.compile(r"\[(\d{1,18}), (\d{1,18})\]")


@dataclass(slots=True)
class EarlierSymbols:
    """The sources that had symbols in the compiles of a frame so far, and those of their ranges that have an upper end."""

    sources: set[Source] = field(default_factory=set)
    ranges: dict[Source, tuple[int, int]] = field(default_factory=dict)

    def add(self, compile: Compile) -> None:
        for symbol in compile.symbols:
            self.sources.add(symbol.source)
            if found := _RANGE.fullmatch(symbol.range):
                self.ranges[symbol.source] = int(found[1]), int(found[2])

    def newly_dynamic(self, compile: Compile) -> tuple[AutomaticDynamic, ...]:
        """The events of the next compile, but those about what was dynamic from the start, by a mark or by ``dynamic=True``.

        Dynamo records a change of these, too, and of what ``static_sources`` then keeps static.
        """
        kept = compile.metrics.static_sources
        return tuple(
            event for event in compile.automatic_dynamic if _symbolic_source(event) not in self.sources and event.source not in kept
        )


def newly_dynamic(frame: Frame, compile: Compile) -> tuple[AutomaticDynamic, ...]:
    """What became dynamic in one compile, and was not from the start."""
    earlier = EarlierSymbols()
    for item in takewhile(lambda item: item is not compile, frame.compiles):
        earlier.add(item)
    return earlier.newly_dynamic(compile)


def _symbolic_source(event: AutomaticDynamic) -> Source:
    """What the symbol of a size or an int is created for."""
    return Source(f"{event.source}.size()[{event.dim}]") if event.dim.isdigit() else event.source

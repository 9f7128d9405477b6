"""Ints whose value the code needs whenever they are symbolic: such an int gets no symbol that lasts, marked or not."""

from collections import Counter
from dataclasses import dataclass, field

from shapelog.grouping import grouped
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import EntryDifference
from shapelog.recompiles.classification.pins import by_whom
from shapelog.recompiles.facts.fact_table import FactTable
from shapelog.recompiles.int_usage import QuotedCode, Use


@dataclass(slots=True, eq=False, repr=False)
class PinnedInts:
    """Answers for one trace, worked out once for each frame and source."""

    table: FactTable
    _lines: dict[tuple[Frame, Source], str] = field(default_factory=dict)
    _quoted: dict[Frame, QuotedCode] = field(default_factory=dict)
    _symbolic: dict[Frame, frozenset[Source]] = field(default_factory=dict)
    _always_pinning: dict[Frame, dict[Source, str]] = field(default_factory=dict)

    def pinning_line(self, frame: Frame, difference: EntryDifference) -> str:
        """The name of an int among the causes, and the line of code that needs its value whenever it is symbolic; "" without one."""
        for cause in difference.causes:
            if cause.is_int and (line := self._line_that_pins(frame, cause.source)):
                return f"{line} needs the exact value of {cause.axis}"
        return ""

    def _line_that_pins(self, frame: Frame, source: Source) -> str:
        key = frame, source
        if key not in self._lines:
            if frame not in self._quoted:
                self._quoted[frame] = QuotedCode(frame)
            code = self._quoted[frame]
            use = Use.UNSEEN if source in self._symbolic_sources(frame) else code.use_of(source)
            is_pinned = use is Use.PINS or (use is Use.FAILS and code.range_with(source))
            by_code = (code.line_with(source, use) or "the code") if is_pinned else ""
            by_code = by_code or (code.dim_picked_by(source) if use is Use.FAILS else "")
            self._lines[key] = by_code or self._lines_that_always_pin(frame).get(source, "")
        return self._lines[key]

    def _symbolic_sources(self, frame: Frame) -> frozenset[Source]:
        """Those that have a symbol in any entry."""
        if frame not in self._symbolic:
            self._symbolic[frame] = frozenset().union(*(self.table.of(entry).symbolic for entry in frame.entries))
        return self._symbolic[frame]

    def _lines_that_always_pin(self, frame: Frame) -> dict[Source, str]:
        """By int, the line that pinned it in each entry that has a symbol for it, at other values; 0 and 1 alone do not show that.

        For a second int that this line pins, one value is enough.
        """
        if frame not in self._always_pinning:
            known = [self.table.of(entry) for entry in frame.entries]
            symbolic = Counter(source for one in known for source in one.symbolic)
            pins = grouped(
                ((source, pin) for one in known for source, pin in one.specializations_by_source.items() if source in one.symbolic),
                lambda item: Source(item[0]),
            )
            values = {source: {pin.value for _, pin in found} for source, found in pins.items() if len(found) == symbolic[source]}
            lines = {source: by_whom(pins[source][0][1]) for source in values}
            sure = {source for source, found in values.items() if len(found) > 1 and not found <= {"0", "1"}}
            known_lines = {lines[source] for source in sure}  # what pins one int at each value does so with the next, too
            self._always_pinning[frame] = {source: line for source, line in lines.items() if source in sure or line in known_lines}
        return self._always_pinning[frame]

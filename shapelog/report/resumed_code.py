"""The code with which functions go on after a graph break."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from shapelog.grouping import grouped
from shapelog.model.code_matching import Code
from shapelog.model.compile import Compile
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.records import StackFrame
from shapelog.report.alerts import Alert, Alerts


@dataclass(frozen=True)
class ResumedCode:
    """That of one run. It is named after the line that the break interrupted."""

    found: Alerts

    @cached_property
    def _by_line(self) -> Mapping[tuple[str, int], Sequence[Code]]:
        resuming = [(code.first.file, resumes[1], code) for code in self.found.codes if (resumes := code.resumes)]
        return {line: [code for *_, code in items] for line, items in grouped(resuming, lambda item: item[:2]).items()}

    @cached_property
    def _broken_at(self) -> Mapping[tuple[Compile, CompilerMessage], Sequence[StackFrame]]:
        """The lines at which a compile broke with a message."""
        broke = [(compile, item) for compile in self.found.report.trace.compiles for item in compile.breaks]
        by_message = grouped(broke, lambda item: (item[0], item[1].message))
        return {key: [item.place for _, item in items if item.place] for key, items in by_message.items()}

    def after(self, alerts: Iterable[Alert]) -> Iterator[Code]:
        """The code that goes on after the graph breaks of these alerts, each once."""
        listed = list(alerts)
        stacks = (message.stack for alert in listed for message in alert.messages)
        lines = dict.fromkeys((line.file, line.line) for stack in stacks for line in stack)
        for alert in listed:
            for occurrence, message in product(alert.occurrences, alert.messages):
                lines |= dict.fromkeys((place.file, place.line) for place in self._broken_at.get((occurrence.compile, message), ()))
        return (code for line in lines for code in self._by_line.get(line, ()))

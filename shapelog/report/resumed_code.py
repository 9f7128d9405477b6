"""The code that a graph break makes frames of their own: what goes on after it, and what a function calls that ran in eager mode for it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product

from shapelog.grouping import grouped
from shapelog.model.code_matching import Code
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame, Function
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.records import StackFrame
from shapelog.report.alerts.alert import Alert, Alerts
from shapelog.rules import AlertKind

# The compiles of a frame that are asked who called it.
_MOST_COMPILES = 8
_Line = tuple[str, int]
_Runner = Function | tuple[int | None, int, tuple[StackFrame, ...]]


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

    @cached_property
    def _failed_at(self) -> Mapping[_Line, Sequence[Alert]]:
        """The failures at each line."""
        failed = [(line, alert) for alert in self.found.alerts if AlertKind.FAILURE in alert.kinds for line in innermost(alert)]
        return {line: [alert for _, alert in items] for line, items in grouped(failed, lambda item: item[0]).items()}

    @cached_property
    def _by_function(self) -> Mapping[Function, Sequence[Code]]:
        return grouped(self.found.codes, lambda code: code.first.function)

    @cached_property
    def _run_by(self) -> Mapping[_Runner, Sequence[Code]]:
        """The code that each function called each time that its callers are recorded; without such records, what was called further inside
        than each stack. From torch 2.10 on, stacks lack the last two calls.
        """
        called = ((runner, code) for code in self.found.codes for runner in _runners(code.first))
        return {runner: [code for _, code in items] for runner, items in grouped(called, lambda item: item[0]).items()}

    def within(self, alerts: Sequence[Alert]) -> Iterator[Code]:
        """The code that is compiled by itself because of such graph breaks, and is part of a graph without them, each once.

        That is what lies between the code that broke and the line where it did, and what a function calls that failed at that line and
        ran in eager mode.
        """
        lines = dict.fromkeys(line for alert in alerts for line in innermost(alert))
        failed = [alert for line in lines for alert in self._failed_at.get(line, ())]
        frames = dict.fromkeys(item.frame for alert in failed for item in alert.occurrences)
        runners: list[_Runner] = [frame.function for frame in frames]
        runners += [(frame.rank, frame.process, _above(compile)) for frame in frames for compile in frame.compiles[:_MOST_COMPILES]]
        found = chain(self._between(alerts), chain.from_iterable(self._run_by.get(runner, ()) for runner in runners))
        return (code for code in dict.fromkeys(found) if code.first not in frames)

    def _between(self, alerts: Iterable[Alert]) -> Iterator[Code]:
        """The functions that the code which broke was to inline when it did: each runs up to the break as code of its own."""
        for alert in alerts:
            for function, message in product(dict.fromkeys(item.frame.function for item in alert.occurrences), alert.messages):
                rank, process, *own = function
                broke = [at for at, line in enumerate(message.stack) if [line.file, line.name] == own]
                if broke:
                    for line in message.stack[broke[-1] + 1 :]:
                        yield from self._by_function.get((rank, process, line.file, line.name), ())
                else:
                    yield from self._below(alert.occurrences[0].compile, message)

    def _below(self, broken: Compile, message: CompilerMessage) -> Iterator[Code]:
        """The same where the stack lacks the line of the code that broke: what lies below its callers and was compiled after it."""
        callers = {(line.file, line.line) for line in _above(broken)}
        last = max((at for at, line in enumerate(message.stack) if (line.file, line.line) in callers), default=len(message.stack))
        for line in message.stack[last + 1 :]:
            found = self._by_function.get((broken.rank, broken.process, line.file, line.name), ())
            yield from (code for code in found if code.first.compiles[0].order > broken.order)


def innermost(alert: Alert) -> tuple[_Line, ...]:
    """The lines at which Dynamo met what an alert is about, which may be in a library; else the line that it is shown at."""
    found = dict.fromkeys((message.stack[-1].file, message.stack[-1].line) for message in alert.messages if message.stack)
    shown = alert.source_line
    return tuple(found) or (((shown.file, shown.line),) if shown else ())


def _above(compile: Compile) -> tuple[StackFrame, ...]:
    """The calls that lead to it, as far as the stack of its start has them."""
    return compile.stack.frames[:-1]


def _runners(frame: Frame) -> Iterator[_Runner]:
    """The functions, or the stacks, that a frame was called by."""
    recorded = [compile.recorded_callers for compile in frame.compiles[:_MOST_COMPILES] if compile.recorded_callers]
    if recorded:
        names = set.intersection(*({(item.file, item.name) for item in stack} for stack in recorded))
        yield from ((frame.rank, frame.process, *name) for name in sorted(names))
        return
    above = _above(frame.compiles[0])
    yield from ((frame.rank, frame.process, above[:end]) for end in range(1, len(above)))

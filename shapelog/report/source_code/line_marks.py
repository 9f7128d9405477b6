"""What happened at each line of the user's code: compilations, calls that led to them, causes, graph breaks, specializations, failures."""

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, GraphBreak, Outcome, resumed_by
from shapelog.model.frame import Frame
from shapelog.reading.payloads.source_names import is_library
from shapelog.reading.records import Specialization, Stack
from shapelog.recompiles.causes import Cause
from shapelog.report.report import FrameReport, Report
from shapelog.report.source_code.quoted_lines import FileLine, QuotedLines
from shapelog.report.weighted import AboutCompiles, WeightedCompile
from shapelog.rules import Verdict

# What a guard on a size has in place of a value: ``x.size()[0] = 1``.
_SINGLE_VALUE = re.compile(r"[^,=<>]+ = (\d{1,18})")


class MarkKind(Enum):
    """What happened at a line, worst first."""

    FAILED = "failed here"
    REFUSED = "recompile limit reached"
    BROKE = "graph break"
    RECOMPILED = "recompiled"
    SPECIALIZED = "specialized here"
    COMPILED = "compiled"
    RESUMED = "resumed here"
    CALLED = "called here"


class Changed(NamedTuple):
    """A property of the arguments, and the values that it had, in order."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineMark(AboutCompiles):
    """One thing that happened at a line.

    ``title`` is what is compiled or called, or what PyTorch met; ``changed`` what varied or was specialized. ``compiled`` are the
    compilations that it is about, ``verdict`` is that of most of their seconds, None where none of them is a recompilation;
    ``rule`` is the code of the rule, "" for none.
    """

    kind: MarkKind
    title: str
    changed: tuple[Changed, ...] = ()
    verdict: Verdict | None = None
    rule: str = ""

    @property
    def verdicts(self) -> tuple[tuple[Verdict, int], ...]:
        """How many of its recompilations came to each verdict."""
        found: Counter[Verdict] = Counter()
        for item in self.compiled:
            if item.recompile:
                found[item.recompile.verdict] += item.weight
        return tuple(found.most_common())


class _Event(NamedTuple):
    """One compilation for which something happened at a line; those with the same ``key`` there become one mark."""

    place: FileLine
    kind: MarkKind
    title: str
    key: Hashable
    compiled: WeightedCompile
    changed: tuple[Changed, ...] = ()
    verdict: Verdict | None = None
    rule: str = ""


def line_marks(report: Report, lines: QuotedLines) -> dict[FileLine, tuple[LineMark, ...]]:
    """The marks of each line, worst first, then those that took longest."""
    events = [event for item in report.frames for event in _events(item, lines)]
    order = list(MarkKind)
    found: dict[FileLine, tuple[LineMark, ...]] = {}
    for place, members in grouped(events, lambda event: event.place).items():
        marks = _joined([_mark(same) for same in grouped(members, lambda event: (event.kind, event.key)).values()])
        found[place] = tuple(sorted(marks, key=lambda mark: (order.index(mark.kind), -mark.seconds)))
    return found


def _joined(marks: list[LineMark]) -> Iterator[LineMark]:
    """Properties that changed together in the same recompilations are one mark."""
    yield from (mark for mark in marks if mark.kind is not MarkKind.RECOMPILED)
    recompiled = (mark for mark in marks if mark.kind is MarkKind.RECOMPILED)
    # By compile, which is compared as an object: the hash of its recompile would be that of all its causes.
    for same in grouped(recompiled, lambda mark: (mark.rule, tuple(item.compile for item in mark.compiled))).values():
        yield replace(same[0], changed=tuple(item for mark in same for item in mark.changed))


def _mark(events: list[_Event]) -> LineMark:
    first = events[0]
    values: dict[str, dict[str, None]] = {}
    before: tuple[Changed, ...] = ()
    for event in events:
        if event.changed is before:  # as for all compilations of a frame
            continue
        before = event.changed
        for item in event.changed:
            values.setdefault(item.name, {}).update(dict.fromkeys(item.values))
    compiled = tuple({event.compiled.compile: event.compiled for event in events}.values())
    return LineMark(
        kind=first.kind,
        title=first.title,
        compiled=compiled,
        changed=tuple(Changed(name, tuple(own)) for name, own in values.items()),
        verdict=first.verdict or _main_verdict(compiled),
        rule=first.rule,
    )


def _main_verdict(compiled: Iterable[WeightedCompile]) -> Verdict | None:
    """The verdict on which most seconds were spent."""
    spent: dict[Verdict, float] = {}
    for item in compiled:
        if item.recompile:
            spent[item.recompile.verdict] = spent.get(item.recompile.verdict, 0.0) + item.seconds
    return max(spent, key=lambda verdict: spent[verdict], default=None)


def _events(item: FrameReport, lines: QuotedLines) -> Iterator[_Event]:
    frame = item.frame
    varied = tuple(Changed(axis.name, axis.values) for axis in item.axes)
    for compiled in item.compiles:
        yield from _own(frame, varied, compiled)
        yield from _caused(frame, compiled, lines)
        for found in compiled.compile.breaks:
            yield from _broke(found, compiled)
        for pinned in compiled.compile.specializations:
            yield from _specialized(pinned, compiled)
        yield from _ended(frame, compiled)


def _own(frame: Frame, changed: tuple[Changed, ...], compiled: WeightedCompile) -> Iterator[_Event]:
    """Where the code begins, and where it is called."""
    resumed = resumed_by(frame.name)
    kind = MarkKind.RESUMED if resumed else MarkKind.COMPILED
    yield _Event(
        place=FileLine(frame.file, resumed[1] if resumed else frame.line),
        kind=kind,
        title=frame.title,
        key=frame.name,
        compiled=compiled,
        changed=changed,
    )
    called = None if resumed and not frame.is_library else frame.caller(compiled.compile)  # the rest of a function of the user's is there
    # The stack of a text log may name another line of the code itself.
    if called and (called.file, called.name) != (frame.file, frame.name):
        # The code of a library is not the user's, so that the call is what there is to change.
        place = FileLine(called.file, called.line)
        yield _Event(
            place=place,
            kind=MarkKind.CALLED,
            title=frame.title,
            key=frame.title,
            compiled=compiled,
            changed=changed if frame.is_library else (),
        )


def _caused(frame: Frame, compiled: WeightedCompile, lines: QuotedLines) -> Iterator[_Event]:
    """The lines that asked for what did not hold any more."""
    recompile = compiled.recompile
    for cause in recompile.causes if recompile else ():
        if cause.place:
            place = lines.place_of(cause.place, frame.file)
            yield _Event(
                place=place,
                kind=MarkKind.RECOMPILED,
                title=cause.axis,
                key=cause.axis,
                compiled=compiled,
                changed=(Changed(cause.axis, _values(cause)),),
                rule=cause.remedy_rule.code,
            )


def _values(cause: Cause) -> tuple[str, ...]:
    """What the property was, and what it became; a size of 0 or 1, not the guard ``2 <= x.size()[0]`` that did not hold."""
    if "SL104" in cause.codes and (single := _SINGLE_VALUE.fullmatch(cause.after)):
        return (single[1],)
    return tuple(filter(None, (cause.before, cause.after)))


def _broke(found: GraphBreak, compiled: WeightedCompile) -> Iterator[_Event]:
    if found.place:
        yield _Event(FileLine(found.place.file, found.place.line), MarkKind.BROKE, found.reason, found.reason, compiled)


def _specialized(pinned: Specialization, compiled: WeightedCompile) -> Iterator[_Event]:
    line = _own_line(pinned.user_stack)
    if line:
        name = ", ".join(str(source.tensor_part or source.display_name) for source in pinned.sources) or pinned.symbol
        yield _Event(
            place=line,
            kind=MarkKind.SPECIALIZED,
            title=name,
            key=name,
            compiled=compiled,
            changed=(Changed(name, (pinned.value,)),),
            rule="SL201",
        )


def _own_line(stack: Stack) -> FileLine | None:
    """The innermost line of a stack that belongs to no library."""
    return next((FileLine(line.file, line.line) for line in reversed(stack.frames) if not is_library(line.file)), None)


def _ended(frame: Frame, compiled: WeightedCompile) -> Iterator[_Event]:
    """Where a compilation failed, or was refused."""
    compile = compiled.compile
    if compile.outcome is Outcome.LIMIT:
        place = FileLine(frame.file, frame.line)
        yield _Event(place, MarkKind.REFUSED, frame.title, "", compiled, verdict=Verdict.LIMIT, rule="SL401")
    elif compile.outcome is Outcome.FAILED:
        title = compile.failure.title
        yield _Event(_failed_at(frame, compile), MarkKind.FAILED, title, title, compiled, verdict=Verdict.FAILED, rule="SL403")


def _failed_at(frame: Frame, compile: Compile) -> FileLine:
    own = [line for line in compile.failure.stack if not is_library(line.file)]
    metrics = compile.metrics
    if metrics.fail_file and not is_library(metrics.fail_file):
        return FileLine(metrics.fail_file, metrics.fail_line)
    return FileLine(own[-1].file, own[-1].line) if own else FileLine(frame.file, frame.line)

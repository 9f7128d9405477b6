"""Every line of code that a trace quotes: of stacks, graphs, guards, reasons, graph breaks and failures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from shapelog.model.compile import COMPREHENSIONS, Compile, function_of, resumed_by
from shapelog.reading.payloads.guards.comments import UserLine
from shapelog.reading.payloads.source_names import is_library, is_torch
from shapelog.reading.records import GuardAdded, Stack, StackFrame
from shapelog.report.report import Report
from shapelog.text import file_name

# Stacks that are read: each is decoded from its record, which takes a tenth of a millisecond. Frames that cost most come first.
_MAX_STACKS = 3000
# Names of code inside a function, which belongs to the function around it.
_INNER = COMPREHENSIONS | {"<lambda>"}


class FileLine(NamedTuple):
    """A 1-based line of a file, which is named as the trace has it."""

    file: str
    line: int


class Quote(NamedTuple):
    """A line as the trace has it: the function that it is in, "" where only its code is known, and its code without indentation."""

    name: str
    code: str


@dataclass(slots=True)
class QuotedLines:
    """``by_file`` has the quotes of each file by their line. ``conflicting`` are files of which a line is quoted in two ways."""

    by_file: dict[str, dict[int, Quote]] = field(default_factory=dict)
    conflicting: set[str] = field(default_factory=set)
    _by_name: dict[str, list[str]] = field(default_factory=dict)

    def add(self, place: StackFrame | UserLine) -> None:
        """Add a line whose file is named in full."""
        if not is_shown(place.file) or place.line < 1:
            return
        name = function_of(place.name)
        known = self.by_file.setdefault(place.file, {})
        before = known.get(place.line)
        code = place.code.strip()
        if before is None:
            known[place.line] = Quote(name, code)
            return
        if before.code and code and not _is_same(before.code, code):
            self.conflicting.add(place.file)
        better = before.name if before.name and before.name not in _INNER else name
        known[place.line] = Quote(better, max(before.code, code, key=len))

    def place_of(self, short: UserLine, near: str) -> FileLine:
        """A line of a guard or a reason, whose file PyTorch shortens to its last parts: ``near`` is the file that it most likely is.

        A name that fits no file that is known, or several, is left as it is.
        """
        if not self._by_name:
            for file in self.by_file:
                self._by_name.setdefault(file_name(file), []).append(file)
        same_name = self._by_name.get(file_name(short.file), [])
        ends = [file for file in same_name if file.replace("\\", "/").endswith(f"/{short.file}")]
        found = near if near in (ends or same_name) else (ends or same_name or [short.file])[0]
        return FileLine(found, short.line)


def quoted_lines(report: Report) -> QuotedLines:
    """All of them; of stacks those of the frames that cost most."""
    found = QuotedLines()
    compiles = [compile for item in report.frames for compile in item.frame.compiles]
    for frame in report.trace.frames:
        resumed = resumed_by(frame.name)
        found.add(StackFrame(frame.file, resumed[1] if resumed else frame.line, frame.name))
    graphs = dict.fromkeys(compile.graph for compile in compiles)
    whole = chain((line for graph in graphs if graph for line in graph.user_lines), chain.from_iterable(map(_lines, compiles)))
    own = (line for stack in islice(_stacks(compiles), _MAX_STACKS) for line in stack.frames)
    # Of the stacks of libraries only what was compiled is of interest.
    for line in dict.fromkeys(chain(whole, (line for line in dict.fromkeys(own) if not is_library(line.file)))):
        found.add(line)
    trees = {compile.guards: compile.metrics.code_file for compile in compiles if compile.guards}
    short = ((line, near) for tree, near in trees.items() for line in tree.places.values() if line)
    reasons = ((reason.place, compile.metrics.code_file) for compile in compiles for reason in compile.reasons if reason.place)
    for line, near in dict.fromkeys(chain(short, reasons)):
        place = found.place_of(line, near)
        if place.file != line.file:
            found.add(line._replace(file=place.file))
    for line in (cause.place for item in report.recompiles for cause in item.causes if cause.place):
        if found.place_of(line, "").file == line.file and not is_library(line.file):
            found.add(line)
    return found


def _lines(compile: Compile) -> Iterator[StackFrame | UserLine]:
    for item in compile.breaks:
        yield from (item.place,) if item.place else ()
        yield from item.message.stack
    if compile.error or compile.metrics.fail_reason:
        yield from compile.failure.stack
        yield StackFrame(compile.metrics.fail_file, compile.metrics.fail_line, "")
        yield from (line for raised in compile.exceptions for line in raised.stack if not is_library(line.file))


def _stacks(compiles: Iterable[Compile]) -> Iterator[Stack]:
    """Those that show most about the user's code first."""
    listed = list(compiles)
    yield from (compile.stack for compile in listed)
    yield from (item.user_stack for compile in listed for item in compile.specializations)
    yield from chain.from_iterable(
        (item.user_stack for item in (*compile.symbols, *compile.other_records.get(GuardAdded, ()))) for compile in listed
    )


def is_inner(name: str) -> bool:
    """Whether code of this name, a lambda or a comprehension, is shown as part of the function around it."""
    return name in _INNER


def is_shown(file: str) -> bool:
    """Whether a file is the user's or that of a package other than PyTorch; generated code is neither."""
    if not file or (file.startswith("<") and not file.startswith("<ipython-input-")):
        return False
    return not is_torch(file)


def _is_same(one: str, other: str) -> bool:
    """Whether two quotes can be of one line: a guard leaves out the comment at its end."""
    short, long = sorted((one, other), key=len)
    return short == long or long.partition("  #")[0].rstrip() == short


def changed_line(lines: Sequence[str], quotes: Mapping[int, str]) -> int | None:
    """The number of a line that a file lacks, or that is not as the trace quotes it; None where all are. "" may be any line."""
    return next((number for number, quote in quotes.items() if not _is_line(lines, number, quote)), None)


def _is_line(lines: Sequence[str], number: int, quote: str) -> bool:
    return number <= len(lines) and (not quote or _is_same(lines[number - 1].strip(), quote))

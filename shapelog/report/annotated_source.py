"""The user's code, function by function, with what happened at each line."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.reading.payloads.source_names import is_library
from shapelog.report.alerts.alert import Alerts
from shapelog.report.source_code.files_on_disk import DiskFile, DiskState, disk_file
from shapelog.report.source_code.line_marks import LineMark, MarkKind, line_marks
from shapelog.report.source_code.quoted_lines import Quote, QuotedLines, is_inner, quoted_lines
from shapelog.report.weighted import AboutCompiles

# What Python calls code outside of any function.
TOP_LEVEL = "<module>"
# Functions that are shown, those that cost most first, and their lines together.
_MAX_FUNCTIONS, _MAX_LINES = 160, 3000
# A longer function is shown around its marks alone, with this number of lines before and after each.
_MAX_WHOLE, _AROUND = 90, 4
# Files that are read from this disk.
_MAX_FILES = 40
_OWN = (MarkKind.COMPILED, MarkKind.RESUMED)

_Marks = Mapping[int, tuple[LineMark, ...]]


class CodeRow(NamedTuple):
    """A line of code. ``code`` is None where it is not known; ``skipped`` is the number of lines between the row before and this one."""

    number: int
    code: str | None
    marks: tuple[LineMark, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class CodeFunction(AboutCompiles):
    """A function, or the code outside of any (``TOP_LEVEL``), with the rows to show of it.

    ``compiled`` are the compilations of its own code, of all its parts around graph breaks. Where it was only inlined into others, they
    are those to which something happened in its lines; where it only calls compiled code, there are none.
    """

    title: str
    rows: tuple[CodeRow, ...]

    @property
    def first(self) -> int:
        return self.rows[0].number

    @property
    def marks(self) -> tuple[LineMark, ...]:
        return tuple(mark for row in self.rows for mark in row.marks)


class CodeFile(NamedTuple):
    """A file with its functions in their order. In ``quiet`` ones, which only files of the user have, nothing happened: they were inlined
    into others, or only called them.
    """

    file: str
    disk: DiskFile
    is_library: bool
    functions: tuple[CodeFunction, ...]
    quiet: tuple[CodeFunction, ...]

    @property
    def cost(self) -> tuple[float, float]:
        """(avoidable seconds, all seconds)"""
        return math.fsum(item.avoidable for item in self.functions), math.fsum(item.seconds for item in self.functions)


class AnnotatedSource(NamedTuple):
    """The files, those of the user first, then by cost. ``left_out`` is the number of functions that are not shown, ``last_compile`` when
    the last compile began, in seconds since the epoch (0 where the trace has no times).
    """

    files: tuple[CodeFile, ...]
    left_out: int
    last_compile: float = 0.0


def annotated_source(found: Alerts, with_code: bool = True) -> AnnotatedSource:
    """The source of a run; without ``with_code`` nothing is read from the disk, and no row has code."""
    lines = quoted_lines(found.report)
    marked = line_marks(found.report, lines)
    marks: dict[str, dict[int, tuple[LineMark, ...]]] = {}
    for place, own in marked.items():
        if place.line > 0 and place.file in lines.by_file:
            marks.setdefault(place.file, {})[place.line] = own
    files: list[CodeFile] = []
    for name in [*marks, *(file for file in lines.by_file if file not in marks and not is_library(file))]:
        is_read = with_code and len(files) < _MAX_FILES
        disk = _disk_file(found, lines, name) if is_read else DiskFile(DiskState.ELSEWHERE)
        files.append(_code_file(_File(name, disk, lines.by_file[name], marks.get(name, {}), with_code)))
    started = (compile.metrics.start_time or 0.0 for compile in found.report.trace.compiles)
    return _bounded(files)._replace(last_compile=max(started, default=0.0))


def _disk_file(found: Alerts, lines: QuotedLines, file: str) -> DiskFile:
    disk = disk_file(file, lines.by_file[file], found.repository)
    is_changed = file in lines.conflicting and disk.state is DiskState.UNCHANGED  # while the program ran
    return DiskFile(DiskState.CHANGED, disk.path) if is_changed else disk


class _File(NamedTuple):
    """All that is known of a file."""

    name: str
    disk: DiskFile
    quotes: Mapping[int, Quote]
    marks: _Marks
    with_code: bool

    @property
    def known(self) -> list[int]:
        """The lines that the trace names."""
        return sorted({*self.quotes, *self.marks})

    @property
    def is_whole(self) -> bool:
        return self.disk.state is DiskState.UNCHANGED

    def code(self, line: int) -> str | None:
        """A line with its indentation where the file is here, without where the trace quotes it; None where neither has it."""
        if not self.with_code:
            return None
        if self.is_whole:
            return self.disk.lines[line - 1]
        return self.quotes[line].code or None if line in self.quotes else None


def _code_file(file: _File) -> CodeFile:
    parts = _parts_on_disk(file) if file.is_whole else _parts_of_quotes(file)
    functions = sorted(
        (_function(file, title, lines) for title, lines in parts if lines), key=lambda item: (item.title == TOP_LEVEL, item.first)
    )
    return CodeFile(
        file=file.name,
        disk=file.disk,
        is_library=is_library(file.name),
        functions=tuple(item for item in functions if item.marks),
        quiet=() if is_library(file.name) else tuple(item for item in functions if not item.marks),
    )


def _parts_on_disk(file: _File) -> Iterator[tuple[str, list[int]]]:
    """(title, lines to show) of each function that the trace names a line of."""
    for extent, known in grouped(file.known, file.disk.function_at).items():
        if extent is None:
            around = {line for known_line in known for line in range(known_line - _AROUND, known_line + _AROUND + 1)}
            outside = [line for line in sorted(around) if 0 < line <= len(file.disk.lines) and not file.disk.function_at(line)]
            yield TOP_LEVEL, _without_blank_ends(file.disk.lines, outside)
            continue
        every = range(extent.first, extent.last + 1)
        near = {line for mark in known if mark in file.marks for line in range(mark - _AROUND, mark + _AROUND + 1)}
        yield extent.name, list(every) if len(every) <= _MAX_WHOLE else [line for line in every if line in near or line in known[:1]]


def _without_blank_ends(code: Sequence[str], lines: list[int]) -> list[int]:
    written = [line for line in lines if code[line - 1].strip()]
    return [line for line in lines if written and written[0] <= line <= written[-1]]


def _parts_of_quotes(file: _File) -> Iterator[tuple[str, list[int]]]:
    """The same of quotes alone: a function ends where a line of another one is quoted, or where the code of a second frame begins."""
    begins = {frame.line for own in file.marks.values() for mark in own if mark.kind is MarkKind.COMPILED for frame in mark.frames}
    runs: list[tuple[str, list[int]]] = []
    top: list[int] = []
    for line in file.known:
        name = file.quotes[line].name if line in file.quotes else ""
        if name == TOP_LEVEL:
            top.append(line)
        elif runs and (not name or is_inner(name) or (runs[-1][0] == name and not (line in begins and begins.intersection(runs[-1][1])))):
            runs[-1][1].append(line)
        else:
            runs.append((name, [line]))
    yield from runs
    yield TOP_LEVEL, top


def _function(file: _File, title: str, lines: list[int]) -> CodeFunction:
    first = min(lines)
    rows = tuple(_rows(file, [line for line in lines if line == first or line in file.marks or file.code(line) is not None]))
    marks = [mark for row in rows for mark in row.marks]
    own = [mark for mark in marks if mark.kind in _OWN] or [mark for mark in marks if mark.kind is not MarkKind.CALLED]
    named = title if file.is_whole or title == TOP_LEVEL else next((mark.title for mark in own if mark.kind is MarkKind.COMPILED), title)
    compiled = tuple({item.compile: item for mark in own for item in mark.compiled}.values())
    return CodeFunction(title=named, rows=rows, compiled=compiled)


def _rows(file: _File, lines: Iterable[int]) -> Iterator[CodeRow]:
    before = 0
    for line in lines:
        yield CodeRow(line, file.code(line), file.marks.get(line, ()), line - before - 1 if before else 0)
        before = line


def _bounded(files: list[CodeFile]) -> AnnotatedSource:
    """The functions that fit, those of the user and the most expensive ones first."""
    listed = [(file, item) for file in files for item in (*file.functions, *file.quiet)]
    listed.sort(key=lambda pair: (pair[0].is_library, not pair[1].marks, -pair[1].avoidable, -pair[1].seconds))
    kept: set[tuple[str, int]] = set()
    room = _MAX_LINES
    for file, item in listed[:_MAX_FUNCTIONS]:
        room -= len(item.rows)
        if room < 0 and kept:
            break
        kept.add((file.file, item.first))
    shown = []
    for file in files:
        functions, quiet = (tuple(item for item in part if (file.file, item.first) in kept) for part in (file.functions, file.quiet))
        if functions or quiet:
            shown.append(file._replace(functions=functions, quiet=quiet))
    shown.sort(key=lambda file: (file.is_library, *(-part for part in file.cost)))
    return AnnotatedSource(tuple(shown), len(listed) - len(kept))

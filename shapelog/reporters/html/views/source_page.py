"""The user's code with its marks as the page shows it: names for links, colors, and compilations as small squares."""

import math
from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple

from markupsafe import Markup

from shapelog.grouping import grouped
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.report.annotated_source import TOP_LEVEL, AnnotatedSource, CodeFile, CodeFunction, CodeRow
from shapelog.report.repository_paths import Repository, SourceLine
from shapelog.report.source_code.files_on_disk import DiskState
from shapelog.report.source_code.line_marks import LineMark, MarkKind
from shapelog.report.source_code.quoted_lines import FileLine
from shapelog.report.weighted import WeightedCompile
from shapelog.reporters.html.anchors import Anchors
from shapelog.reporters.html.chart_text import Part, counted, kind_of, spent, times, totals
from shapelog.reporters.html.highlight import Highlighter
from shapelog.text import file_name

# Compilations of one mark, and the lines that cost most.
_MAX_SQUARES, _MAX_HOT = 16, 5
# The kind, and so the color, of a mark that is not about recompilations.
_KINDS = {MarkKind.FAILED: "failed", MarkKind.REFUSED: "limit", MarkKind.BROKE: "code", MarkKind.SPECIALIZED: "unexplained"}
# Of several marks of a line the first of these gives it its color.
_WORST = ("failed", "limit", "marking", "code", "unexplained", "justified", "skipped", "first")


class Square(NamedTuple):
    """A compilation that a mark leads to."""

    anchor: str
    label: str
    kind: str
    seconds: float


class MarkView(NamedTuple):
    """A mark in its color, with the first compilations that it is about; ``more`` are left out."""

    mark: LineMark
    kind: str
    squares: tuple[Square, ...]
    more: int
    parts: tuple[Part, ...]

    @property
    def counted(self) -> str:
        return counted(self.parts)

    def times(self, verb: str) -> str:
        return times(verb, self.parts)


class RowView(NamedTuple):
    """A line. ``anchor`` and ``kind`` are "" without marks; ``code`` is None where it is not known."""

    row: CodeRow
    anchor: str
    code: Markup | None
    kind: str
    marks: tuple[MarkView, ...]


class FunctionView(NamedTuple):
    """A function. ``frames`` have their anchors with their labels, those that are the same on several ranks once."""

    function: CodeFunction
    anchor: str
    title: str
    frames: dict[str, str]
    kind: str
    parts: tuple[Part, ...]
    rows: tuple[RowView, ...]

    @property
    def counted(self) -> str:
        return counted(self.parts)


class FileView(NamedTuple):
    """A file. ``note`` is on where its lines come from."""

    file: CodeFile
    note: str
    functions: tuple[FunctionView, ...]
    quiet: tuple[FunctionView, ...]


class HotLine(NamedTuple):
    """A line that cost much: its file, function and the marks of what it cost, with the seconds that need not be: ``avoidable`` ones, and
    those of compilations that failed.
    """

    file: CodeFile
    function: FunctionView
    row: RowView
    marks: tuple[MarkView, ...]
    avoidable: float
    failed: float

    @property
    def cost(self) -> str:
        """``16.9 s avoidable``, ``0.30 s failed``; "" where it took next to nothing."""
        parts = ((self.avoidable, "avoidable"), (self.failed, "failed"))
        return ", ".join(f"{spent(value)} {word}" for value, word in parts if spent(value))


class SourcePage(NamedTuple):
    """The view of the source. ``of_frame`` and ``of_place`` lead there from other parts of the page; ``on_disk`` has the paths of files
    that are on this disk, by their names in the trace and in the repository.
    """

    files: tuple[FileView, ...]
    hot: tuple[HotLine, ...]
    left_out: int
    of_frame: dict[Frame, str]
    of_place: dict[FileLine, str]
    on_disk: dict[str, str]

    @property
    def functions(self) -> tuple[FunctionView, ...]:
        """Those of the user in which something happened, most expensive first."""
        own = [item for file in self.files if not file.file.is_library for item in file.functions]
        return tuple(sorted(own, key=lambda item: (-item.function.avoidable, -item.function.seconds)))

    @property
    def labels(self) -> dict[str, str]:
        """The titles of these functions by their anchors; with the file, and if need be the line, where several have the same."""
        files = {item.anchor: file.file.file for file in self.files for item in file.functions}
        found: dict[str, str] = {}
        for same in grouped(self.functions, lambda item: item.title).values():
            for own in grouped(same, lambda item: files[item.anchor]).values():
                for item in own:
                    name, line = file_name(files[item.anchor]), f":{item.function.first}" if len(own) > 1 else ""
                    found[item.anchor] = f"{item.title} · {name}{line}" if len(same) > 1 else item.title
        return found

    @property
    def libraries(self) -> tuple[FileView, ...]:
        return tuple(item for item in self.files if item.file.is_library)

    def at(self, line: SourceLine | None) -> str:
        """The anchor of a line; "" where it is not shown."""
        return self.of_place.get(FileLine(line.file, line.line), "") if line else ""


def source_page(source: AnnotatedSource, repository: Repository, anchors: Anchors, with_source: bool) -> SourcePage:
    builder = _Builder(anchors, Highlighter(), with_source, source.last_compile, count(1))
    files = tuple(builder.file(item) for item in source.files)
    of_frame: dict[Frame, str] = {}
    of_place: dict[FileLine, str] = {}
    on_disk: dict[str, str] = {}
    for file in files:
        if path := file.file.disk.path:
            found = repository.source_line(file.file.file, 1)
            on_disk.update(dict.fromkeys((file.file.file, *([found.file] if found else [])), path))
        for view in (*file.functions, *file.quiet):
            own = (mark for mark in view.function.marks if mark.kind in (MarkKind.COMPILED, MarkKind.RESUMED))
            of_frame.update((frame, view.anchor) for mark in own for frame in mark.frames)
            for row in view.rows:
                if row.anchor:  # by the name in the trace, and by that in the repository
                    line = repository.source_line(file.file.file, row.row.number)
                    of_place[FileLine(file.file.file, row.row.number)] = row.anchor
                    of_place.update({FileLine(line.file, line.line): row.anchor} if line else {})
    return SourcePage(files=files, hot=tuple(_hot(files)), left_out=source.left_out, of_frame=of_frame, of_place=of_place, on_disk=on_disk)


class _Builder(NamedTuple):
    """Makes the views; ``numbers`` are for the names of functions, since a name from a trace cannot be one."""

    anchors: Anchors
    highlighter: Highlighter
    with_source: bool
    last_compile: float
    numbers: Iterator[int]

    def file(self, item: CodeFile) -> FileView:
        return FileView(
            file=item,
            note=_note(item, self.last_compile) if self.with_source else "",
            functions=tuple(self.function(item, function) for function in item.functions),
            quiet=tuple(self.function(item, function) for function in item.quiet),
        )

    def function(self, file: CodeFile, item: CodeFunction) -> FunctionView:
        anchor = f"source-{next(self.numbers)}"
        codes = self._codes(file, item)
        rows = tuple(self._row(anchor, row, codes.get(row.number)) for row in item.rows)
        return FunctionView(
            function=item,
            anchor=anchor,
            title="top level" if item.title == TOP_LEVEL else item.title or "unknown function",
            frames={self.anchors[frame]: frame.shown_label for frame in item.frames},
            kind=_worst(row.kind for row in rows),
            parts=_parts(item.compiled),
            rows=rows,
        )

    def _codes(self, file: CodeFile, item: CodeFunction) -> dict[int, Markup]:
        """The lines in colors. Those of a file are colored together: a string may span several."""
        if file.disk.state is not DiskState.UNCHANGED:
            return {row.number: self.highlighter.line(row.code) for row in item.rows if row.code is not None}
        first, last = item.rows[0].number, item.rows[-1].number
        return dict(enumerate(self.highlighter.lines(file.disk.lines[first - 1 : last]), start=first))

    def _row(self, anchor: str, row: CodeRow, code: Markup | None) -> RowView:
        marks = tuple(map(self._mark, row.marks))
        return RowView(row, f"{anchor}-{row.number}" if marks else "", code, _worst(mark.kind for mark in marks), marks)

    def _mark(self, mark: LineMark) -> MarkView:
        verdict = mark.verdict.name.lower() if mark.verdict else "first"
        found: dict[str, Square] = {}
        for item in mark.compiled:
            square = self._square(item.compile, kind_of(item.compile, item.recompile), item.seconds)
            found.setdefault(square.anchor, square)
        squares = tuple(found.values())
        more = max(0, len(squares) - _MAX_SQUARES)
        return MarkView(mark, _KINDS.get(mark.kind, verdict), squares[:_MAX_SQUARES], more, _parts(mark.compiled))

    def _square(self, compile: Compile, kind: str, seconds: float) -> Square:
        return Square(self.anchors[compile], compile.reference, kind, seconds)


def _parts(compiled: Iterable[WeightedCompile]) -> tuple[Part, ...]:
    return totals((kind_of(item.compile, item.recompile), item.weight, item.seconds) for item in compiled)


def _worst(kinds: Iterable[str]) -> str:
    found = set(kinds)
    return next((kind for kind in _WORST if kind in found), "")


def _note(file: CodeFile, last_compile: float) -> str:
    if file.disk.state is DiskState.UNCHANGED:
        saved_later = ", though it was saved after the run" if 0.0 < last_compile < file.disk.saved else ""
        return f"read from this disk, where every line is as the trace quotes it{saved_later}"
    where = "the file on this disk has changed since" if file.disk.state is DiskState.CHANGED else "the file is not on this disk"
    return f"only the lines that the trace quotes: {where}"


def _hot(files: Iterable[FileView]) -> list[HotLine]:
    """The lines at which most seconds were spent that need not be; of code in libraries the lines that call it.

    A line all of whose compilations are those of lines above it adds nothing.
    """
    found = [
        _hot_line(file.file, function, row, marks)
        for file in files
        if not file.file.is_library
        for function in file.functions
        for row in function.rows
        if (marks := tuple(mark for mark in row.marks if _is_hot(mark.mark)))
    ]
    found.sort(key=lambda item: (-item.avoidable - item.failed, -sum(mark.mark.times for mark in item.marks)))
    listed: list[HotLine] = []
    above: set[Compile] = set()
    for line in found:
        compiled = {item.compile for mark in line.marks for item in mark.mark.compiled}
        if not compiled <= above:
            listed.append(line)
            above |= compiled
    return listed[:_MAX_HOT]


def _hot_line(file: CodeFile, function: FunctionView, row: RowView, marks: tuple[MarkView, ...]) -> HotLine:
    """Several marks of a line may be about the same compilations, of which each is counted once."""
    every = {item.compile: item for mark in marks for item in mark.mark.compiled}.values()
    avoidable = math.fsum(item.seconds for item in every if item.is_avoidable)
    failed = math.fsum(item.seconds for item in every if item.compile.outcome is Outcome.FAILED)
    return HotLine(file=file, function=function, row=row, marks=marks, avoidable=avoidable, failed=failed)


def _is_hot(mark: LineMark) -> bool:
    is_cause = mark.kind is MarkKind.RECOMPILED or (mark.kind is MarkKind.CALLED and bool(mark.changed))
    return mark.kind is MarkKind.FAILED or (is_cause and any(item.is_avoidable for item in mark.compiled))

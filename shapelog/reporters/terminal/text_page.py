"""What every result is drawn with in a terminal: text that cannot harm a terminal, a console of the right width, aligned rows."""

import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import TextIO, TypeVar

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.style import Style
from rich.text import Text

from shapelog.report.frame_changes import Effect
from shapelog.report.results import Cell, Column, Headline
from shapelog.reporters import Options
from shapelog.rule_docs import link
from shapelog.rules import Level, Remedy, Rule, Verdict
from shapelog.text import UNSAFE, one_line, plural, seconds_in_column, shorten, some, whole_times

_T = TypeVar("_T")
# A column of text that is narrower gets lines of its own.
READABLE = 44
_NARROWEST = 40
# Fewer columns of a line of code are not readable.
_LEAST_CODE = 30
# ``0/1#2``, the id of a compile that PyTorch calls 0/1 for the second time.
_RESTARTED = re.compile(r"(?<![\w/])(\d+/\d+|frame \d+)#(\d{1,18})")
COLORS = {
    Verdict.MARKING: "green",
    Verdict.CODE: "yellow",
    Verdict.JUSTIFIED: "blue",
    Verdict.UNEXPLAINED: "magenta",
    Verdict.FAILED: "red",
    Verdict.LIMIT: "red",
    Verdict.SKIPPED: "dim",
    Verdict.UNFINISHED: "dim",
}
# What is copied is not folded, so that a terminal makes a link of an address and an entry of the list of dynamic sources stays whole.
_COPIED = re.compile(r"https?://|[LG]\\?\[")
_WORD = re.compile(r"\s*\S+\s*")
# Of a word that no line has room for: addresses, and what ends with a comma.
_PIECE = re.compile(r"https?://\S+\s*|(?:(?!https?://)[^,])+,*\s*|,+\s*")
CONFIDENCE_COLORS = {"high": "green", "medium": "yellow", "low": "red"}
# A longer line to copy is not put on the screen: suggest-dynamic --format shell prints it.
LONGEST_COPIED = 2000
EFFECT_COLORS = {Effect.BETTER: "green", Effect.WORSE: "red", Effect.MIXED: "yellow", Effect.SAME: "dim"}
LEVEL_COLORS = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTE: "blue"}


def _harmless(text: Text) -> Text:
    """The last guard before the terminal: a text that was not made ``one_line`` loses its styles, not its reader's terminal."""
    return Text(one_line(text.plain), style=text.style) if UNSAFE.search(text.plain) or "\n" in text.plain else text


def console(stream: TextIO, is_terminal: bool, color: bool, width: int | None = None) -> Console:
    """What draws on a stream of which only the text is ours."""
    return Console(
        file=stream,
        width=width,
        force_terminal=is_terminal,
        color_system=("truecolor" if os.environ.get("COLORTERM") in ("truecolor", "24bit") else "256") if color else None,
        no_color=not color,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )


class TextPage:
    """Lines for one console. ``everything`` is the option that shows lists whole, however long."""

    def __init__(self, options: Options, everything: str = "--limit 0") -> None:
        self.limit, self.verbose, self.everything = options.limit, options.verbose, everything
        color = options.color if options.color is not None else options.is_terminal and "NO_COLOR" not in os.environ
        self.has_links = color and options.is_terminal
        self.buffer = io.StringIO()
        self.console = console(self.buffer, color, color, options.width or _width(options.is_terminal))
        self.width = self.console.width

    def line(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        """One line; a part with a style is (text, style). Lines that are too long are folded behind their indent."""
        text = Text()
        for part in parts:
            text.append(*((one_line(part[0]), part[1]) if isinstance(part, tuple) else (one_line(part),)))
        self.text(text, indent)

    def text(self, text: Text, indent: int = 0, hanging: int = 2) -> None:
        text = _harmless(text)
        room = max(20, self.width - indent)
        if cell_len(text.plain) <= room:
            self._put(text, indent)
            return
        for number, line in enumerate(text.divide(_folds(text.plain, room, max(20, room - hanging)))):
            line.rstrip()
            self._put(line, indent + hanging if number else indent)

    def remedy(self, remedy: Remedy, indent: int, codes: Sequence[str]) -> None:
        """What to do, behind the code of the rule that it comes from, unless that is the only one of the ``codes`` above it."""
        rule = "" if [*codes] == [remedy.rule.code] else f"{remedy.rule.code}: "
        self.line("→ ", (rule, "dim"), remedy.text, indent=indent)

    def diagnostic(self, level: Level, rule: Rule, sentence: str) -> None:
        """``warning[SL101]: sentence``. In a terminal with colors the code links to the text on its rule, as in ruff and Cargo."""
        style = f"bold {LEVEL_COLORS[level]}"
        self.line((f"{level.value}[{rule.code}]", f"{style} link {link(rule)}" if self.has_links else style), (f": {sentence}", "bold"))

    def raw(self, line: str | Text, indent: int = 0, style: str = "") -> None:
        """A line to be copied: never folded, however long."""
        self._put(_harmless(line) if isinstance(line, Text) else Text(one_line(line), style=style), indent)

    def _put(self, text: Text, indent: int) -> None:
        plain = text.plain
        if plain.isspace() or not plain:
            self.buffer.write("\n")
        elif self.console.color_system is None and "\t" not in plain and not plain.endswith(" "):
            self.buffer.write(f"{' ' * indent}{plain}\n")  # what the console would make of it, in a tenth of the time
        else:
            self.console.print(Text(" " * indent) + text, soft_wrap=True, overflow="ignore", no_wrap=True)

    def blank(self) -> None:
        self.buffer.write("\n")

    def heading(self, title: str, note: str = "") -> None:
        self.blank()
        text = Text(one_line(title), style=Style(bold=True))
        if note:
            text.append(f"  {one_line(note)}", style=Style(dim=True, bold=False))
        self.text(text)

    def listed(self, items: Sequence[_T], noun: str = "", indent: int = 2, most: int = 0) -> Iterator[_T]:
        """As many of them as a list shows; below what the caller draws of these, how many it leaves out.

        ``most`` is how many entries of several lines a list shows, unless it shows all.
        """
        shown = first(items, min(self.limit, most) if most else self.limit)
        yield from shown
        self.more(len(items) - len(shown), noun, indent)

    def more(self, left: int, noun: str, indent: int) -> None:
        """How many entries a list leaves out, if any."""
        if left:
            words = plural(left, f"more {noun}") if noun else f"{left} more"
            self.line((f"… {words}, shown with {self.everything}", "dim"), indent=indent)

    def few(self, names: Sequence[str], between: str = ", ") -> str:
        """In one line, as many of them as a list shows, and how many more there are."""
        return some(names, self.limit or len(names), between)

    def headline(self, found: Headline, style: str) -> None:
        """Its subject in this style, the rest in bold."""
        rest = f" {found.rest}" if found.rest else ""
        self.line((f"{found.subject}:" if rest else found.subject, style), (rest, "bold"))

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell | Text]], indent: int = 2, noun: str = "") -> None:
        """Aligned columns; where they do not fit, wide columns are shortened, the widest first. A ``noun`` limits the rows as in a list."""
        shown = first(rows, self.limit) if noun else rows
        cells = [[_cell(value) for value in row] for row in shown]
        heads = [column.heading for column in columns]
        whole = [max([cell_len(head), *(cell_len(row[i].plain) for row in cells)]) for i, head in enumerate(heads)]
        widths = self._fitted(whole, columns, indent)
        beside = list(range(len(columns)))
        readable = [width if column.is_sentence else min(width, READABLE) for width, column in zip(whole, columns, strict=True)]
        while narrow := [i for i, width in zip(beside, widths, strict=True) if columns[i].is_wide and width < readable[i]]:
            beside.remove(narrow[0])  # too narrow to be read: this column gets lines of its own
            widths = self._fitted([whole[i] for i in beside], [columns[i] for i in beside], indent)
        if len(beside) < len(columns):  # so do all that would be shortened
            beside = [i for i, width in zip(beside, widths, strict=True) if not columns[i].is_wide or width >= whole[i]]
            widths = self._fitted([whole[i] for i in beside], [columns[i] for i in beside], indent)
        shown_beside = [columns[i] for i in beside]
        below = [(i, Text(f"{heads[i]}: " if heads[i] else "", style="dim")) for i in range(len(columns)) if i not in beside]
        if any(heads[i] for i in beside):
            self._row([Text(heads[i], style="dim") for i in beside], widths, shown_beside, indent)
        for row in cells:
            self._row([row[i] for i in beside], widths, shown_beside, indent)
            for i, name in below:
                if row[i].plain:
                    self.text(name + row[i], indent + 2)
        self.more(len(rows) - len(shown), noun, indent)

    def _fitted(self, whole: Sequence[int], columns: Sequence[Column], indent: int) -> list[int]:
        widths = list(whole)
        room = self.width - indent - 2 * (len(widths) - 1)
        for numbers, floor in (([i for i, column in enumerate(columns) if column.is_wide], 12), (range(len(columns)), 8)):
            while sum(widths) > room and numbers:
                widest = max(numbers, key=lambda index: widths[index])
                least = max(floor, cell_len(columns[widest].heading))
                if widths[widest] <= least:
                    break
                widths[widest] = max(least, widths[widest] - (sum(widths) - room))
        return widths

    def _row(self, row: Sequence[Text], widths: Sequence[int], columns: Sequence[Column], indent: int) -> None:
        line = Text()
        for cell, width, column in zip(row, widths, columns, strict=True):
            if cell_len(cell.plain) > width:
                cell = Text(shorten(cell.plain, width), style=cell.style)
            pad = " " * (width - cell_len(cell.plain))
            line.append(pad if column.is_number else "").append_text(cell).append("  " if column.is_number else f"{pad}  ")
        line.rstrip()
        self._put(line, indent if line.plain else 0)

    def explain_restarted_ids(self, is_text: bool = False) -> None:
        """What ``#2`` in an id means, where one was shown: PyTorch's own logs do not have it. A text may have lines of several runs."""
        found = _RESTARTED.search(self.buffer.getvalue())
        if found:
            why = "in lines of another run, or after torch._dynamo.reset()" if is_text else "as after torch._dynamo.reset()"
            words = f"compile ids restarted ({why}), so PyTorch's own logs show {found[1]} for {found[0]}"
            self.blank()
            self.line((f"#{found[2]}: {words}", "dim"))

    def code(self, place: str, code: str, room: int) -> str:
        """A place and the code there; without the code where too little of that would be left."""
        is_readable = room >= _LEAST_CODE or cell_len(one_line(code)) <= room
        return f"{place}  {shorten(code, room)}" if code and is_readable else place

    @property
    def lines(self) -> int:
        return self.buffer.getvalue().count("\n")

    def bytes(self) -> bytes:
        return self.buffer.getvalue().encode("utf-8", "replace")


def _folds(plain: str, room: int, later: int) -> Iterator[int]:
    """Where a text that has ``room`` in its first line, and less in ``later`` ones, is folded: between words, in a longer one after a
    comma, and where it has none anywhere, unless it is to be copied.
    """
    used = 0
    for start, piece in _pieces(plain, later):
        width = cell_len(piece.rstrip())
        if used and used + width > room:
            yield start
            used, room = 0, later
        if width <= room or _COPIED.match(piece):
            used += cell_len(piece)
            continue
        *parts, last = chop_cells(piece.rstrip(), later)
        for part in parts:
            start += len(part)
            yield start
        used, room = cell_len(last) + len(piece) - len(piece.rstrip()), later


def _pieces(plain: str, width: int) -> Iterator[tuple[int, str]]:
    for word in _WORD.finditer(whole_times(plain, "_")):
        pieces = _PIECE.finditer(plain, *word.span()) if cell_len(word[0].rstrip()) > width else [word]
        yield from ((piece.start(), plain[piece.start() : piece.end()]) for piece in pieces)


def first(items: Sequence[_T], limit: int) -> Sequence[_T]:
    """At most ``limit`` of them; all with 0."""
    return items[:limit] if limit else items


def _cell(value: Cell | Text) -> Text:
    """Nothing for None; a float is a time in seconds."""
    if isinstance(value, Text):
        return _harmless(value)
    return Text("" if value is None else seconds_in_column(value) if isinstance(value, float) else one_line(value))


def _width(is_terminal: bool) -> int:
    """The width that COLUMNS gives, else that of the terminal, or 100 for text that goes elsewhere."""
    text = os.environ.get("COLUMNS", "")
    if text.isascii() and text.isdecimal() and len(text) < 6 and int(text):
        return min(max(_NARROWEST, int(text)), 1000)
    try:
        return max(_NARROWEST, os.get_terminal_size(1).columns) if is_terminal else 100
    except OSError:
        return 80

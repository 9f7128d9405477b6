"""What every result is drawn with in a terminal: text that cannot harm a terminal, a console of the right width, aligned rows."""

import io
import os
from collections.abc import Iterable, Sequence
from typing import TextIO, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.text import Text

from shapelog.report.results import Headline
from shapelog.reporters import Options
from shapelog.rules import Level, Verdict
from shapelog.text import UNSAFE, one_line, plural, shorten

_T = TypeVar("_T")
_READABLE = 44
_NARROWEST = 40
COLORS = {
    Verdict.MARKING: "green",
    Verdict.CODE: "yellow",
    Verdict.JUSTIFIED: "blue",
    Verdict.UNEXPLAINED: "magenta",
    Verdict.FAILED: "red",
    Verdict.LIMIT: "red",
    Verdict.SKIPPED: "dim",
}
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
    """Lines for one console, kept as rich texts until the end."""

    def __init__(self, options: Options) -> None:
        color = options.color if options.color is not None else options.is_terminal and "NO_COLOR" not in os.environ
        width = options.width or (None if options.is_terminal else _environment_width() or 100)
        self.buffer = io.StringIO()
        self.console = console(self.buffer, color, color, width or _terminal_width())
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
        first = text.wrap(self.console, room)[0]
        rest = text[len(first.plain) :]
        first.rstrip()
        self._put(first, indent)
        for line in rest[len(rest.plain) - len(rest.plain.lstrip()) :].wrap(self.console, max(20, room - hanging)):
            line.rstrip()
            self._put(line, indent + hanging)

    def raw(self, line: str | Text, indent: int = 0, style: str = "") -> None:
        """A line to be copied: never folded, however long."""
        self._put(_harmless(line) if isinstance(line, Text) else Text(one_line(line), style=style), indent)

    def _put(self, text: Text, indent: int) -> None:
        plain = text.plain
        if self.console.color_system is None and "\t" not in plain and not plain.endswith(" "):
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

    def more(self, left: int, noun: str, indent: int = 2) -> None:
        """How many entries of a list ``--limit`` leaves out, if any."""
        if left:
            self.line((f"… {plural(left, f'more {noun}')}, shown with --limit 0", "dim"), indent=indent)

    def headline(self, found: Headline, style: str) -> None:
        """Its subject in this style, the rest in bold."""
        rest = f" {found.rest}" if found.rest else ""
        self.line((f"{found.subject}:" if rest else found.subject, style), (rest, "bold"))

    def table(
        self, header: Sequence[str], rows: Iterable[Sequence[str | Text]], numbers: Sequence[bool], wide: Sequence[bool], indent: int = 2
    ) -> None:
        """Aligned columns; where they do not fit, wide columns are shortened, the widest first."""
        cells = [[_harmless(cell) if isinstance(cell, Text) else Text(one_line(cell)) for cell in row] for row in rows]
        widths = [max([cell_len(title), *(cell_len(row[index].plain) for row in cells)]) for index, title in enumerate(header)]
        whole = list(widths)
        self._fit(widths, [cell_len(title) for title in header], wide, indent)
        below = next((i for i, is_wide in enumerate(wide) if is_wide and widths[i] < min(whole[i], _READABLE)), None)
        if below is not None:  # too narrow to be read: this column gets lines of its own
            widths = [width for i, width in enumerate(whole) if i != below]
            numbers = [is_number for i, is_number in enumerate(numbers) if i != below]
            self._fit(widths, [cell_len(title) for i, title in enumerate(header) if i != below], (), indent)
        if any(header):
            self._row([Text(title, style="dim") for i, title in enumerate(header) if i != below], widths, numbers, indent)
        for row in cells:
            self._row([cell for i, cell in enumerate(row) if i != below], widths, numbers, indent)
            if below is not None:
                self.text(row[below], indent + 2)

    def _fit(self, widths: list[int], least: list[int], wide: Sequence[bool], indent: int) -> None:
        room = self.width - indent - 2 * (len(widths) - 1)
        for columns, floor in (([i for i, is_wide in enumerate(wide) if is_wide], 12), (list(range(len(widths))), 8)):
            while sum(widths) > room and columns:
                widest = max(columns, key=lambda index: widths[index])
                if widths[widest] <= max(floor, least[widest]):
                    break
                widths[widest] = max(floor, least[widest], widths[widest] - (sum(widths) - room))

    def _row(self, row: Sequence[Text], widths: Sequence[int], numbers: Sequence[bool], indent: int) -> None:
        line = Text()
        for index, cell in enumerate(row):
            width = widths[index]
            if cell_len(cell.plain) > width:
                cell = Text(shorten(cell.plain, width), style=cell.style)
            pad = " " * (width - cell_len(cell.plain))
            line.append(pad if numbers[index] else "")
            line.append_text(cell)
            if index < len(row) - 1:
                line.append(("" if numbers[index] else pad) + "  ")
        line.rstrip()
        self._put(line, indent if line.plain else 0)

    def bytes(self) -> bytes:
        return self.buffer.getvalue().encode("utf-8", "replace")


def first(items: Sequence[_T], limit: int) -> Sequence[_T]:
    """At most ``limit`` of them; all with 0."""
    return items[:limit] if limit else items


def _environment_width() -> int:
    """The width that COLUMNS gives, 0 if it gives none."""
    text = os.environ.get("COLUMNS", "")
    return min(max(_NARROWEST, int(text)), 1000) if text.isascii() and text.isdecimal() and len(text) < 6 and int(text) else 0


def _terminal_width() -> int:
    try:
        return _environment_width() or max(_NARROWEST, os.get_terminal_size(1).columns)
    except OSError:
        return 80

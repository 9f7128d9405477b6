"""What a cache entry requires of a call, in a terminal."""

from rich.cells import cell_len

from shapelog.model.compile import Compile
from shapelog.report.details.requirements import requirements_of
from shapelog.reporters.terminal.text_page import READABLE, TextPage, first


def requirements(page: TextPage, compile: Compile, title: str) -> None:
    """Each guard with the line that it comes from; nothing where they are not recorded."""
    needed = requirements_of(compile)
    if needed is None:
        return
    page.heading(title, "a call reuses this compilation only if all of these hold")
    shown = first(needed.each, page.limit)
    widths = [cell_len(item.text) for item in shown if item.place]
    column = max((width for width in widths if width <= READABLE), default=0)
    for item in shown:
        if item.place is None:
            page.line(item.text, indent=2)
        elif cell_len(item.text) > column:
            page.line(item.text, indent=2)
            page.line((page.code(str(item.place), item.place.code, page.width - cell_len(str(item.place)) - 6), "dim"), indent=4)
        else:
            room = page.width - column - cell_len(str(item.place)) - 6
            page.line(f"{item.text:<{column}}  ", (page.code(str(item.place), item.place.code, room), "dim"), indent=2)
    page.more(len(needed.each) - len(shown), "guard", 2)
    if needed.rest:
        page.line((f"also {', '.join(needed.rest)}", "dim"), indent=2)

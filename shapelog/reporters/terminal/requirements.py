"""What a cache entry requires of a call, in a terminal."""

from shapelog.model.compile import Compile
from shapelog.report.details.requirements import requirements_of
from shapelog.report.results import Column
from shapelog.reporters.terminal.text_page import TextPage

_COLUMNS = (Column("", is_wide=True), Column("", is_wide=True))


def requirements(page: TextPage, compile: Compile, title: str) -> None:
    """Each guard with the line that it comes from; nothing where they are not recorded."""
    needed = requirements_of(compile)
    if needed is None:
        return
    page.heading(title, "a call reuses this compilation if all of them hold")
    rows = [(item.text, f"{item.place}  {item.place.code}".rstrip() if item.place else "") for item in needed.each]
    page.table(_COLUMNS, rows, noun="guard")
    if needed.rest:
        page.line((f"also {', '.join(needed.rest)}", "dim"), indent=2)

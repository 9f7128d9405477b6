"""Which graphs did AOTInductor compile, and from which lines of the user's?"""

from collections.abc import Iterator

from shapelog.model.exports import user_line
from shapelog.recompiles.explain import Explanations
from shapelog.report.results import Column, Finding, Table
from shapelog.text import file_name

_TRACKED = "the page (-o report.html) shows for each kernel the lines that it comes from, if the program ran with INDUCTOR_PROVENANCE=1"


def analyze(explained: Explanations) -> Iterator[Finding | Table]:
    lines = [user_line(stack.frames) for stack in explained.trace.compiled_ahead]
    if lines:
        rows = tuple(
            (number, f"{file_name(line.file)}:{line.line}" if line else "not recorded", line.code.strip() if line else "")
            for number, line in enumerate(lines, 1)
        )
        columns = (Column("graph", True), Column("compiled at"), Column("call", is_wide=True))
        yield Table("ahead_of_time", "Graphs compiled ahead of time", columns, rows, _TRACKED)

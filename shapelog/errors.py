"""The error and the problems that shapelog reports to its user."""

import re
from dataclasses import dataclass

_LINE_END = re.compile("[\n-\r\x1c-\x1e\x85\u2028\u2029]")


class ShapelogError(Exception):
    """An input or a request that shapelog cannot handle; its text is one line for the person at the terminal.

    ``exit_code`` is the exit code of the command line.
    """

    exit_code = 2

    def __init__(self, text: str) -> None:
        super().__init__(_LINE_END.sub(_escaped, text))  # names of files, members and settings may have line ends


def _escaped(line_end: re.Match[str]) -> str:
    code = ord(line_end[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class NoWorkersError(Exception):
    """This process cannot start others to work for it; its text is the reason."""


# How much the report suffers from a problem, least first.
INFO, DEGRADED, DATA_LOSS = "info", "degraded", "data loss"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a trace that could not be used as it is.

    ``line`` is 1-based, 0 for a problem of the file as a whole; ``count`` is how many lines or records it covers.
    """

    code: str
    message: str
    file: str
    line: int = 0
    count: int = 1
    severity: str = DEGRADED

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

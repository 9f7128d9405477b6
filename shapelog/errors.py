"""What shapelog tells people when something is wrong."""

from dataclasses import dataclass


class ShapelogError(Exception):
    """An input or a request that cannot be served; its text is one line for the person at the terminal.

    ``exit_code`` is what the command line ends with.
    """

    exit_code = 2


# How much a problem takes away from the report, least first.
INFO, DEGRADED, DATA_LOSS = "info", "degraded", "data loss"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a trace that could not be used as it stands.

    ``line`` is 1-based, 0 when the problem belongs to the file as a whole; ``count`` is how many lines or records it covers.
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

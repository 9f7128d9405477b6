"""The functions and lines of code that a log names."""

from typing import NamedTuple


class LoggedCode(NamedTuple):
    """A function as a log names it: its name, file and first line; "" and 0 where the log leaves them out."""

    name: str = ""
    file: str = ""
    line: int = 0


UNKNOWN_CODE = LoggedCode()


class LoggedLine(NamedTuple):
    """A line of the user's code: file (often shortened), line, function, and the line itself where it is written."""

    file: str
    line: int
    name: str
    code: str = ""

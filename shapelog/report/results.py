"""The shapes that analyses answer in: findings of a rule, and tables."""

import re
from typing import NamedTuple

from shapelog.display import in_notebook
from shapelog.model.frame import Frame
from shapelog.reading.payloads.compiler_messages import CompilerMessage
from shapelog.reading.payloads.python_tracebacks import RaisedException
from shapelog.rules import Rule
from shapelog.text import file_name


class Location(NamedTuple):
    """A line of code, with its file as the trace has it; 0 where the number is not known."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def short(self) -> str:
        """Without the directories of the file."""
        return file_name(str(self))


def location_of(frame: Frame | None) -> Location | None:
    """Where the code of a frame begins; None without a frame, or where its file is not known."""
    return Location(frame.file, frame.line) if frame and frame.file else None


class Headline(NamedTuple):
    """The answer in one sentence: ``Check passed``, and what follows the colon, "" where nothing does."""

    subject: str
    rest: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: {self.rest}" if self.rest else self.subject


class Finding(NamedTuple):
    """A rule that fired: one sentence, the frame, compile and place it is about, and named details. All plain text.

    ``compile`` is a label, "" for a finding about a frame as a whole. Only what is about a frame becomes an alert. ``message`` is
    what PyTorch wrote about it, ``exceptions`` the chain of those that were raised. ``code`` is the line at ``place`` where a trace has
    it, ``notes`` are further facts, ``text`` is what to type; ``reason`` is the part of the sentence that differs from call to call.
    """

    rule: Rule
    sentence: str
    compile: str = ""
    place: Location | None = None
    details: tuple[tuple[str, str], ...] = ()
    frame: Frame | None = None
    message: CompilerMessage | None = None
    exceptions: tuple[RaisedException, ...] = ()
    own_remedy: str = ""
    code: str = ""
    notes: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    reason: str = ""

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

    @property
    def remedy(self) -> str:
        """What to do: what the rule recommends, or ``own_remedy`` where more is known."""
        return self.own_remedy or self.rule.remedy


_HEADING_WORDS = (
    (re.compile("pinned to"), "fixed to"),
    (re.compile(r"\b(re)?compile(s?)\b"), r"\1compilation\2"),
)


class Column(NamedTuple):
    """A table's column; numbers are aligned to the right, and one column may take what width is left.

    What ``is_sentence`` is never shortened: in a narrow terminal it moves below its row.
    """

    name: str
    is_number: bool = False
    is_wide: bool = False
    is_sentence: bool = False

    @property
    def heading(self) -> str:
        """The name in the words of sentences; programs that read JSON know the column by its name."""
        heading = self.name
        for pattern, word in _HEADING_WORDS:
            heading = pattern.sub(word, heading)
        return heading


Cell = str | int | float | None


class Table(NamedTuple):
    """Rows of one kind, most important first. Floats are seconds."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def _repr_html_(self) -> str:
        return in_notebook("object", self)

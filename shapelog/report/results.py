"""The shapes that analyses answer in: findings of a rule, and tables."""

from typing import NamedTuple

from shapelog.model.trace import Frame
from shapelog.rules import Rule


class Finding(NamedTuple):
    """A rule that fired: one sentence, the frame, compile and place it is about, and named details. All plain text."""

    rule: Rule
    sentence: str
    compile: str = ""
    place: str = ""
    details: tuple[tuple[str, str], ...] = ()
    frame: Frame | None = None


class Column(NamedTuple):
    """A table's column; numbers are aligned to the right, and one column may take what width is left."""

    name: str
    is_number: bool = False
    is_wide: bool = False


Cell = str | int | float | None


class Table(NamedTuple):
    """Rows of one kind, most important first. Floats are seconds."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

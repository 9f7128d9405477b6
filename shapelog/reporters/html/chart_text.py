"""What the charts have in common: the words for each kind of compile, and numbers and texts as they stand in SVG."""

from shapelog.rules import Verdict
from shapelog.text import file_name

# How each kind of compile is told, in the order of the legend.
WORDS = {
    "first": "first compile",
    "marking": Verdict.MARKING.value,
    "code": Verdict.CODE.value,
    "justified": Verdict.JUSTIFIED.value,
    "unexplained": Verdict.UNEXPLAINED.value,
    "limit": Verdict.LIMIT.value,
    "failed": Verdict.FAILED.value,
    "skipped": Verdict.SKIPPED.value,
}

_LONGEST_FILE = 80


def percent(value: float) -> str:
    """``12.5%``, to two decimals: a seventh of a pixel on a wide screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def clipped(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def place(file: str, line: int) -> str:
    """``model.py:12``; "" where the trace does not tell."""
    shown = clipped(file_name(file), _LONGEST_FILE)
    return f"{shown}:{line}" if shown and line else shown

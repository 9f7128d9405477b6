"""What the charts have in common: a label for each kind of compile, and numbers and texts as SVG needs them."""

from shapelog.rules import Verdict
from shapelog.text import file_name

# The label of each kind of compile, in the order of the legend.
KIND_LABELS = {
    "first": "first compile",
    "marking": Verdict.MARKING.value,
    "code": Verdict.CODE.value,
    "justified": Verdict.JUSTIFIED.value,
    "unexplained": Verdict.UNEXPLAINED.value,
    "limit": Verdict.LIMIT.value,
    "failed": Verdict.FAILED.value,
    "skipped": Verdict.SKIPPED.value,
}

_MAX_FILE_NAME = 80


def percent(value: float) -> str:
    """``12.5%``, to two decimals: a seventh of a pixel on a wide screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def clipped(text: str, longest: int) -> str:
    """``text`` without its end where it has more than ``longest`` characters."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def file_and_line(file: str, line: int) -> str:
    """``model.py:12``; "" if the trace does not record it."""
    shown = clipped(file_name(file), _MAX_FILE_NAME)
    return f"{shown}:{line}" if shown and line else shown

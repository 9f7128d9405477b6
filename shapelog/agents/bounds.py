"""Keeps answers short: every text is cut, every list has its most important entries, and a whole answer has at most ``MOST`` characters."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from itertools import islice
from typing import Any, TypeVar

from shapelog.errors import ShapelogError
from shapelog.reporters.json_bytes import pretty
from shapelog.text import cut, visible

# Characters of an answer as JSON: what an agent reads at once, about 3,000 tokens.
MOST = 12_000
# The longest texts: a sentence or a line of code, and text to paste, which is left out as a whole where it is longer.
SENTENCE, PASTED = 300, 2_000
# How many entries the lists of an answer get, tried in this order.
_LENGTHS = (8, 5, 3, 2, 1)

_Answer = TypeVar("_Answer")
_Item = TypeVar("_Item")


def fitting(build: Callable[[int], _Answer]) -> _Answer:
    """The answer with the longest lists that fits; ``build`` takes how many entries a list may have. An answer is a dataclass.

    Raises ShapelogError where none fits.
    """
    for most in _LENGTHS:
        answer = build(most)
        if size(answer) <= MOST:
            return answer
    raise ShapelogError(f"the answer is longer than {MOST} characters; use the command line, whose output can be read in parts")


def size(answer: Any) -> int:
    """Characters of an answer as JSON, indented, as it is sent."""
    return len(pretty(asdict(answer)).decode())


def short(text: str, most: int = SENTENCE) -> str:
    """One line of visible characters, without its middle where it is longer."""
    return cut(visible(text), most)


def first(items: Iterable[_Item], most: int) -> list[_Item]:
    return list(islice(items, most))


def pasted(lines: Iterable[str], instead: str) -> list[str]:
    """Lines to paste, whole or not at all: half of a list would be another list. ``instead`` is the command that prints them."""
    whole = list(lines)
    return whole if sum(map(len, whole)) <= PASTED else [f"# too long for this answer; it is printed by: {instead}"]

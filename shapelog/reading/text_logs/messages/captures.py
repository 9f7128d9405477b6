"""What compiled autograd writes when it captures a backward pass: which node is new, or which sizes changed.

The wording is that of ``torch/csrc/dynamo/python_compiled_autograd.cpp``, torch 2.4 to 2.13.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from shapelog.reading.text_logs.messages.logged_code import LoggedCode

# The graph that compiled autograd makes has no function of the user's.
BACKWARD_PASS = LoggedCode("backward pass")
_MISS = re.compile(
    r"(?:!(?P<number>\d{1,9}): )?(?P<text>Cache miss due to "
    r"(?:(?P<node>new autograd node: .*)|(?P<sizes>\d{1,9} changed tensor shapes?.*)|dynamic shapes: collected size (?P<size>idx \d.*)))"
)
# The root has no earlier nodes to compare with when nothing was captured yet.
_FIRST = re.compile(r"GraphRoot \(NodeCall 0\).*previous key sizes=\[\]")
# Characters of a list of sizes, which may have thousands.
_LONGEST = 2_000


class CacheMiss(NamedTuple):
    """One capture. ``number`` is that of compiled autograd, "" where the text has none; ``is_first``: nothing had been captured before."""

    reason: str
    number: str = ""
    is_first: bool = False


def cache_misses(lines: Iterable[str]) -> Iterator[CacheMiss]:
    """The captures in lines that came together. Torch 2.5 and older write a line for each size that changed."""
    sizes: list[str] = []
    for line in lines:
        found = _MISS.search(line)
        if found is None:
            continue
        if found["size"]:
            sizes.append(found["size"].strip())
            continue
        yield from _of_sizes(sizes)
        sizes = []
        yield CacheMiss(_shortened(found["text"].rstrip(" \"',`")), found["number"] or "", _FIRST.search(found["node"] or "") is not None)
    yield from _of_sizes(sizes)


def _of_sizes(sizes: list[str]) -> Iterator[CacheMiss]:
    if sizes:
        yield CacheMiss(_shortened(f"Cache miss due to dynamic shapes: collected size {', '.join(sizes)}"))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: text.rfind(",", 0, _LONGEST)]

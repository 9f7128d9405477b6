"""The names that links within the page use: ``#frame-2``, ``#compile-2-3``."""

import re

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace

_RANK_PREFIX = re.compile(r"^(?:rank|process)-\d+-")
_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")

Anchors = dict[Frame | Compile, str]


def anchors_of(trace: Trace) -> Anchors:
    """A name for each frame and compile: ``2/3#2`` is ``compile-2-3-2``. Those of a rank begin with ``rank-1-`` where there are several
    processes; names that would be the same (other generations, graphs of compiled autograd) are numbered.
    """
    anchors: Anchors = {}
    taken: set[str] = set()
    for rank in trace.ranks:
        owner = f"rank-{rank.number}-" if rank.number is not None else f"process-{rank.process}-"
        for frame in rank.frames:
            things: tuple[Frame | Compile, ...] = (frame, *frame.compiles)
            for thing in things:
                what = "frame" if thing is frame else "compile"
                name = f"{owner if len(trace.ranks) > 1 else ''}{what}-{_SEPARATORS.sub('-', thing.label).strip('-') or 'none'}"
                free, number = name, 2
                while free in taken:
                    free, number = f"{name}-again-{number}", number + 1
                taken.add(free)
                anchors[thing] = free
    return anchors


def share(anchors: Anchors, first: Frame, other: Frame) -> None:
    """Give the identical frame of another rank the names of the first, on whose page it is."""
    anchors[other] = anchors[first]
    for shown, same in zip(first.compiles, other.compiles, strict=True):
        anchors[same] = anchors[shown]


def aliases_of(anchors: Anchors) -> dict[str, str]:
    """``frame-2`` → ``rank-0-frame-2``: names without their rank lead to the first that has them."""
    found: dict[str, str] = {}
    for name in anchors.values():
        plain = _RANK_PREFIX.sub("", name)
        if plain != name:
            found.setdefault(plain, name)
    return found

"""The names that links within the page use: ``#frame-2``, ``#compile-2-3``."""

import re
from dataclasses import dataclass, field

from shapelog.model.trace import Compile, Frame, Outcome, Trace
from shapelog.recompiles.explain import Explanations, Recompile
from shapelog.rules import Verdict

_OWNER = re.compile(r"^(?:rank|process)-\d+-")
_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")

# How the page colors a compile; "first" is one that nothing was held against.
KINDS = {
    Verdict.MARKING: "marking",
    Verdict.CODE: "code",
    Verdict.JUSTIFIED: "justified",
    Verdict.UNEXPLAINED: "unexplained",
    Verdict.FAILED: "failed",
    Verdict.LIMIT: "limit",
    Verdict.SKIPPED: "skipped",
}


@dataclass(slots=True)
class Anchors:
    """One name for each frame and compile of a trace; those of a rank begin with ``rank-1-`` where there are several processes."""

    names: dict[int, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def frame(self, frame: Frame) -> str:
        return self.names[id(frame)]

    def compile(self, compile: Compile) -> str:
        return self.names[id(compile)]

    def share(self, first: Frame, other: Frame) -> None:
        """Give another rank's frame that was the same the names of the first, where it is told."""
        self.names[id(other)] = self.names[id(first)]
        for own, alike in zip(first.compiles, other.compiles, strict=True):
            self.names[id(alike)] = self.names[id(own)]

    def find(self, compile: Compile) -> str:
        """That of a compile which the trace may not hold; "" if it does not."""
        return self.names.get(id(compile), "")

    @property
    def aliases(self) -> dict[str, str]:
        """``frame-2`` → ``rank-0-frame-2``: names without their rank lead to the first that has them."""
        found: dict[str, str] = {}
        for name in self.names.values():
            plain = _OWNER.sub("", name)
            if plain != name:
                found.setdefault(plain, name)
        return found

    def add(self, thing: Frame | Compile, name: str) -> None:
        """Names that would be the same (other generations, graphs of compiled autograd) are numbered."""
        free, number = name, 2
        while free in self.taken:
            free, number = f"{name}-again-{number}", number + 1
        self.taken.add(free)
        self.names[id(thing)] = free


def anchors_of(trace: Trace) -> Anchors:
    """The anchors of every frame and compile; ``2/3#2`` is ``compile-2-3-2``."""
    anchors = Anchors()
    several = len(trace.ranks) > 1
    for rank in trace.ranks:
        owner = f"rank-{rank.number}-" if rank.number is not None else f"process-{rank.process}-"
        for frame in rank.frames:
            anchors.add(frame, f"{owner if several else ''}frame-{_worded(frame.label)}")
            for compile in frame.compiles:
                anchors.add(compile, f"{owner if several else ''}compile-{_worded(compile.label)}")
    return anchors


def _worded(label: str) -> str:
    return _SEPARATORS.sub("-", label).strip("-") or "none"


def kind_of(compile: Compile, recompile: Recompile | None) -> str:
    """One of ``KINDS``, or ``first``."""
    if recompile is not None:
        return KINDS[recompile.verdict]
    if compile.outcome in (Outcome.FAILED, Outcome.UNFINISHED):
        return "failed"
    return {Outcome.LIMIT: "limit", Outcome.SKIPPED: "skipped"}.get(compile.outcome, "first")


def recompiles_by_compile(explained: Explanations) -> dict[int, Recompile]:
    """``id(compile)`` → its recompile, for those that were not their frame's first."""
    return {id(item.compile): item for item in explained.recompiles}

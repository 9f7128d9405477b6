"""What the charts have in common: the kinds of compiles, which have colors, and texts that are not too long."""

import math
from collections.abc import Hashable, Iterable

from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.recompiles.recompile import Recompile
from shapelog.rules import Verdict
from shapelog.text import LEAST_SECONDS, beginning, file_name, how_often, plural, seconds

_VERDICTS = (
    Verdict.MARKING,
    Verdict.CODE,
    Verdict.JUSTIFIED,
    Verdict.UNEXPLAINED,
    Verdict.LIMIT,
    Verdict.FAILED,
    Verdict.SKIPPED,
    Verdict.UNFINISHED,
)
# The label of each kind of compile, in the order of the legend.
KIND_LABELS = (
    {"first": "first compilation"}
    | {verdict.name.lower(): verdict.value for verdict in _VERDICTS}
    | {"limit": "refused (limit reached)", "unfinished": "did not finish", "unknown": "outcome not recorded"}
)
_KINDS = {Outcome.FAILED: "failed", Outcome.LIMIT: "limit", Outcome.SKIPPED: "skipped"}
# What left no code is counted apart from compilations, in these words.
_APART = {
    "limit": "refused",
    "failed": "failed",
    "skipped": "without code",
    "unfinished": "unfinished",
    "unknown": "without a recorded outcome",
}
_MAX_FILE_NAME = 80

# Kind of compile, how many, and their seconds.
Part = tuple[str, int, float]


def kind_of(compile: Compile, recompile: Recompile | None) -> str:
    """One of ``KIND_LABELS``; "first" is a compile that went well and is no recompile.

    PyTorch records no start of what compiled autograd captures, and no end either.
    """
    if compile.outcome is Outcome.UNFINISHED:
        return "unfinished" if compile.stack.header else "unknown"
    return recompile.verdict.name.lower() if recompile else _KINDS.get(compile.outcome, "first")


def totals(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The sums of the kinds that occur, in the order of the legend."""
    found: dict[str, list[Part]] = {kind: [] for kind in KIND_LABELS}
    for part in parts:
        found[part[0]].append(part)
    return tuple((kind, sum(part[1] for part in own), math.fsum(part[2] for part in own)) for kind, own in found.items() if own)


def same_function(frame: Frame) -> Hashable:
    """The same for frames of one function, which was compiled anew or on several ranks; the trace may not record its file."""
    return (frame.title, frame.file, frame.line) if frame.file else frame


def counted(parts: Iterable[Part], noun: str = "compilation") -> str:
    """``8 compilations + 1 refused``; without a noun ``8 + 1 refused``."""
    made, apart = counted_apart(parts)
    first = (plural(made, noun) if noun else str(made)) if made or not apart else ""
    return " + ".join(filter(None, (first, *(f"{count} {word}" for word, count in apart))))


def times(verb: str, parts: Iterable[Part]) -> str:
    """``compiled once``, ``recompiled 7 times + 1 refused``."""
    made, apart = counted_apart(parts)
    others = [f"{count} {word}" for word, count in apart]
    if not made:
        return f"no compilation succeeded: {', '.join(others)}"
    return " + ".join((f"{verb} {how_often(made)}", *others))


def counted_apart(parts: Iterable[Part]) -> tuple[int, list[tuple[str, int]]]:
    """(how many compilations left code, ("refused", how many were refused) and the like)"""
    found = totals(parts)
    made = sum(count for kind, count, _ in found if kind not in _APART)
    return made, [(_APART[kind], count) for kind, count, _ in found if kind in _APART]


def spent(value: float | None) -> str:
    """A time, "" for one that two decimals do not show: it took next to nothing, or was not measured."""
    return seconds(value) if value and value >= LEAST_SECONDS else ""


def file_and_line(file: str, line: int) -> str:
    """``model.py:12``; "" if the trace does not record it."""
    shown = beginning(file_name(file), _MAX_FILE_NAME)
    return f"{shown}:{line}" if shown and line else shown

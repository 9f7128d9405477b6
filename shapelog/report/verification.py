"""Did it help? The prediction of the advice compared with a second run that followed it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from signal import Signals

from shapelog.advice.advise import Advice
from shapelog.advice.compile_seconds import RUN_TO_RUN
from shapelog.advice.marks import split_list
from shapelog.advice.paste_formats import VARIABLE
from shapelog.report.compare import Comparison, FrameChange, compare
from shapelog.report.frame_changes import Loss
from shapelog.report.report import Report
from shapelog.text import names_of, seconds, some


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How the command ended: what a shell makes of its exit, and its seconds on the wall."""

    returncode: int
    seconds: float


@dataclass(frozen=True, slots=True)
class FrameProof:
    """One frame: compiles and limit hits before, as predicted, and as measured; ``predicted`` is None for one that was not there before.

    The prediction may be a range of ``more``, and ``at_most`` is what holds in any case: the range reaches that far where the measured
    number needs it.
    """

    change: FrameChange
    before: int
    predicted: int | None
    more: int
    at_most: int
    measured: int

    @property
    def is_exact(self) -> bool:
        return self.predicted is not None and self.predicted <= self.measured <= self.at_most


@dataclass(frozen=True, slots=True)
class Verification:
    """Two runs of a command, the second with the suggestion. ``helped`` is False where compiles did not fall, or fell at a price.

    ``faults`` are what went wrong, in words; ``notes`` what is different from the prediction.
    """

    advice: Advice
    comparison: Comparison
    first: CommandResult
    second: CommandResult
    frames: tuple[FrameProof, ...]
    faults: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def measured(self) -> int:
        """Compiles and limit hits of the second run."""
        return self.comparison.now.compiles + (self.comparison.now.limit_hits or 0)

    @property
    def more(self) -> int:
        """The range of the prediction, as for a frame."""
        after = self.advice.after
        return _more(after.total, after.spread, after.at_most, self.measured)

    @property
    def slower(self) -> str:
        """``the command took 21.5 s, then 22.4 s``; "" where the second run took less time than the first."""
        first, second = seconds(self.first.seconds), seconds(self.second.seconds)
        return f"the command took {first}, then {second}" if self.second.seconds >= self.first.seconds else ""

    @property
    def saved_no_time(self) -> bool:
        """Whether neither the command nor its compilations took less time."""
        least = self.advice.before.seconds.least
        return bool(self.slower) and self.comparison.now.seconds >= least

    @property
    def outcome(self) -> tuple[str, str]:
        """Whether it helped, in words, and what qualifies that; ``helped`` alone does not ask for time."""
        if not self.helped:
            return "It did not help", ""
        before, now = self.advice.before.seconds.least, self.comparison.now.seconds
        if self.saved_no_time and now > RUN_TO_RUN * before:
            return "Fewer compilations", ", but they took more time"
        return "It helped", ", but no time was saved" if self.saved_no_time else ""

    @property
    def next_advice(self) -> Advice | None:
        """What the second run shows to mark in addition, as in calls that left no record in the first; None where that saves nothing."""
        found = self.comparison.after.advice
        is_more = found is not None and found.env not in ("", self.advice.env) and found.after.compiles < found.before.compiles
        return found if is_more else None

    @property
    def helped(self) -> bool:
        return not self.faults and self.measured < self.advice.before.total

    @property
    def is_exact(self) -> bool:
        """Whether the second run did what was predicted, in every frame."""
        after = self.advice.after
        return after.total <= self.measured <= after.at_most and all(item.is_exact for item in self.frames)

    @property
    def seconds_hold(self) -> bool:
        """Whether the seconds of compiling in the second run lie inside the predicted range."""
        return self.advice.after.seconds.holds(self.comparison.now.seconds)

    @property
    def timing(self) -> str:
        """``12.4 s became 7.90 s, inside the estimate of 5.10-8.40 s``."""
        where = "inside" if self.seconds_hold else "outside"
        before, after = self.advice.before.seconds, self.advice.after.seconds
        return f"{before} became {seconds(self.comparison.now.seconds)}, {where} the estimate of {after}"


def verify(before: Report, after: Report, advice: Advice, first: CommandResult, second: CommandResult) -> Verification:
    """Compare a second run, which had the advice's list set, with the first and with the prediction."""
    comparison = compare(before, after)
    proofs = tuple(_proof(change, advice) for change in comparison.frames)
    unreached = _unreached(comparison) if second.returncode != first.returncode else []
    return Verification(
        advice=advice,
        comparison=comparison,
        first=first,
        second=second,
        frames=proofs,
        faults=tuple(_faults(comparison, advice, first, second, unreached)),
        notes=tuple(_notes(comparison, advice, proofs, unreached)),
    )


def _proof(change: FrameChange, advice: Advice) -> FrameProof:
    own = frozenset(change.before.frames if change.before else ())
    known = [item for item in advice.forecasts if item.frame in own]
    measured = change.now.compiles + (change.now.limit_hits or 0)
    predicted, at_most = sum(item.after.total for item in known), sum(item.after.at_most for item in known)
    return FrameProof(
        change=change,
        before=sum(item.before.total for item in known),
        predicted=predicted if own else None,
        more=_more(predicted, sum(item.after.spread for item in known), at_most, measured),
        at_most=at_most,
        measured=measured,
    )


def _more(predicted: int, spread: int, at_most: int, measured: int) -> int:
    """How many more than predicted there may be: what is expected, or what holds in any case where it is only that which came true."""
    return at_most - predicted if predicted + spread < measured <= at_most else spread


def _faults(
    comparison: Comparison, advice: Advice, first: CommandResult, second: CommandResult, unreached: Collection[FrameChange]
) -> Iterator[str]:
    if second.returncode != first.returncode:
        yield f"the command exited with {_exit(second.returncode)} instead of {first.returncode}"
    for item in _lost(comparison):
        if item in unreached:
            continue
        lost = f"more graph breaks in {item.title}" if item.is_only_broken else f"{item.title} lost compiled code"
        yield f"{lost}: {item.verdict}"
    measured = comparison.now.compiles + (comparison.now.limit_hits or 0)
    if measured >= advice.before.total:
        noun = "compilations and limit hits" if comparison.now.limit_hits or advice.before.limit_hits else "compilations"
        yield f"{measured} {noun}, no fewer than the {advice.before.total} before{_hidden_by_limit(comparison)}"


def _hidden_by_limit(comparison: Comparison) -> str:
    """The end of a sentence for functions at the recompile limit in both runs: each has as many entries as the limit allows then."""
    full = [item.title for item in comparison.frames if item.was.limit_hits and item.now.limit_hits]
    setting = comparison.after.trace.version.limit_setting()
    return f", as {names_of(full)} reached the recompile limit in both runs: raise {setting} in both to see what is saved" if full else ""


def _exit(code: int) -> str:
    """``1``, ``137 (SIGKILL)``: an exit code, with the signal that it means in a shell."""
    names = {128 + number: number.name for number in Signals}
    return f"{code} ({names[code]})" if code in names else str(code)


def _unreached(comparison: Comparison) -> list[FrameChange]:
    """The frames of the first run that a second run which ended early may not have reached, or not have finished compiling."""
    return [item for item in comparison.lost_graphs if item.kind == "gone" or item.is_unfinished]


def _lost(comparison: Comparison) -> Iterator[FrameChange]:
    """The frames that lost compiled code. One that is gone is part of what calls it, where graph breaks went with it, and no other code
    runs in more pieces or eagerly: both runs are of one command, which makes the same calls.
    """
    found = comparison.lost_graphs
    if all(change.is_new for item in comparison.frames for change in item.breaks):
        return iter(found)
    new = (item for item in comparison.frames if item.is_fresh)
    is_worse = any(item.kind == "matched" for item in found) or any({*item.losses} - {Loss.COMPILES} for item in new)
    return (item for item in found if is_worse or item.kind == "matched")


def _notes(comparison: Comparison, advice: Advice, proofs: tuple[FrameProof, ...], unreached: Collection[FrameChange]) -> Iterator[str]:
    if unreached:
        yield f"not compiled before the command ended: {names_of([item.title for item in unreached])}"
    for item in proofs:
        if item.change in unreached:
            continue
        if item.predicted is not None and not item.is_exact:
            yield f"{item.change.title}: {item.predicted} predicted, {item.measured} measured{_why(item)}"
        elif item.predicted is None and item.measured:
            yield f"{item.change.title}: not in the first run"
    read = comparison.after.trace.config.dynamic_sources
    if read and not set(advice.entries) <= set(split_list(read)):
        yield f"the second run read a different list: the program itself sets {VARIABLE} or torch.compiler.config.dynamic_sources"


def _why(item: FrameProof) -> str:
    stay = dict.fromkeys(f"{cause.axis or 'something'} ({cause.remedy.rule.name})" for cause in item.change.causes if cause.after)
    return f"; still recompiling because of {some(list(stay))}" if stay else ""

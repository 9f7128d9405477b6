"""A trace and text logs of the same run: what the trace leaves out is taken from the logs.

Torch 2.4 and 2.5 write some recompile reasons, and every hit of the recompile limit, into their log alone; messages about CUDA graphs are
in no trace. All else is in the trace, with times.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.trace import Rank, Trace
from shapelog.text import plural, some

_MOST_NAMED = 3


@dataclass(slots=True)
class _Taken:
    """How much was taken from logs."""

    reasons: int = 0
    limits: int = 0
    messages: int = 0

    @property
    def words(self) -> str:
        parts = {
            f"the reasons of {plural(self.reasons, 'recompilation')}": self.reasons,
            f"{plural(self.limits, 'call')} refused at the recompile limit": self.limits,
            plural(self.messages, "Inductor message"): self.messages,
        }
        found = [words for words, number in parts.items() if number]
        return ", ".join(found[:-1]) + (" and " if found[:-1] else "") + found[-1] if found else ""


def supplemented(trace: Trace, logs: Sequence[Trace]) -> Trace:
    """The trace with what only the logs hold, and a note on each; a log of another run adds nothing.

    A log is of the same run if most of the functions that both name under one id are the same.
    """
    notes = list(trace.notes)
    ranks = trace.ranks
    useless: list[str] = []
    for log in logs:
        taken = _Taken()
        ranks = tuple(_with_rank(rank, _rank_of(rank, log, len(ranks)), taken, not trace.shows_limit_hits) for rank in ranks)
        if taken.words:
            notes.append(f"{log.name}: a text log of the same run; {taken.words} taken from it")
        else:
            useless.append(log.name)
    if useless:
        what = "a text log" if len(useless) == 1 else "text logs"
        notes.append(f"{some(useless, _MOST_NAMED)} left out: {what}, and the trace ({trace.name}) holds more")
    return replace(trace, ranks=ranks, notes=tuple(notes))


def _rank_of(rank: Rank, log: Trace, of_how_many: int) -> Rank | None:
    """What a log holds about a rank: the process with its number, or the only one of both."""
    same = [item for item in log.ranks if item.number == rank.number and rank.number is not None]
    if not same and of_how_many == 1 and len(log.ranks) == 1:
        same = list(log.ranks)
    return same[0] if len(same) == 1 and _are_of_one_run(rank, same[0]) else None


def _are_of_one_run(rank: Rank, logged: Rank) -> bool:
    named = {_key(frame): frame.name for frame in rank.frames if frame.name}
    same = [named[_key(frame)] == frame.name for frame in logged.frames if frame.name and _key(frame) in named]
    return sum(same) * 2 > len(same)


def _key(frame: Frame) -> tuple[int, int, int | None]:
    return frame.number, frame.generation, frame.compiles[0].id.autograd


def _with_rank(rank: Rank, logged: Rank | None, taken: _Taken, with_refused: bool) -> Rank:
    if logged is None:
        return rank
    by_key = {_key(frame): frame for frame in logged.frames}
    order = max((compile.order for frame in rank.frames for compile in frame.compiles), default=-1)
    frames = []
    for frame in rank.frames:
        other = by_key.get(_key(frame))
        if other is not None and (not other.name or other.name == frame.name):
            compiles = tuple(_with_compiles(frame, other, order, taken, with_refused))
            order += len(compiles) - len(frame.compiles)
            frame = replace(frame, compiles=compiles)
        frames.append(frame)
    taken.messages += len(logged.inductor_messages)
    return replace(rank, frames=tuple(frames), inductor_messages=(*rank.inductor_messages, *logged.inductor_messages))


def _with_compiles(frame: Frame, logged: Frame, order: int, taken: _Taken, with_refused: bool) -> Iterator[Compile]:
    """The compiles of a frame, and those that the log alone has because they were refused. ``order`` is that of the last of the rank."""
    known = {compile.label: compile for compile in logged.compiles}
    for compile in frame.compiles:
        other = known.get(compile.label)
        yield _with_log(compile, other, taken) if other is not None else compile
    for other in _refused(frame.compiles, logged.compiles) if with_refused else ():
        order += 1
        taken.limits += 1
        yield replace(other, process=frame.process, rank=frame.rank, order=order)


def _with_log(compile: Compile, logged: Compile, taken: _Taken) -> Compile:
    if logged.reasons and not compile.reasons:
        taken.reasons += 1
        compile = replace(compile, reasons=logged.reasons, has_reasons_record=True)
    if logged.inductor_messages:
        taken.messages += len(logged.inductor_messages)
        compile = replace(compile, inductor_messages=(*compile.inductor_messages, *logged.inductor_messages))
    return compile


def _refused(compiles: Iterable[Compile], logged: Iterable[Compile]) -> Iterator[Compile]:
    labels = {compile.label for compile in compiles}
    return (compile for compile in logged if compile.outcome is Outcome.LIMIT and compile.label not in labels)

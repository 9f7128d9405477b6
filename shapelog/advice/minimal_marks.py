"""Which marks to put on the list: all that would help, less those that could do harm, less those that earn nothing."""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from shapelog.advice.int_usage import Use, is_seen_whole, lines_of, spelled, use_by, use_in
from shapelog.advice.mark_dynamic_code import is_registered
from shapelog.advice.marks import Mark
from shapelog.advice.replay import Marks, Replay
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Compile, Frame, Outcome
from shapelog.reading.payloads.guard_expressions import integer
from shapelog.reading.payloads.guards import GuardTree, place_of
from shapelog.reading.payloads.source_names import display_name, unwrap
from shapelog.recompiles.explain import Study


class LeftOut(NamedTuple):
    """A mark that would save compiles and is not on the list, and why. ``frame`` is where it would do harm."""

    mark: Mark
    frame: Frame
    reason: str
    remedy: str


class Choice(NamedTuple):
    """A minimal list: each unit of ``marks`` (one dim, or from torch 2.8 to 2.12 one source) earns at least one compile."""

    marks: Marks
    left_out: tuple[LeftOut, ...]


def choose(studied: Study, played: Replay, version: TorchVersion) -> Choice:
    """The minimal list for this version. Before 2.8 it holds what ``mark_dynamic`` can mark: tensors that are no parameters."""
    wanted = {mark for plan in played.plans for mark in plan.marks}
    left_out: list[LeftOut] = []
    frames = studied.trace.frames if any(not mark.is_int for mark in wanted) else ()
    firsts = [(frame, tree) for frame in frames if (tree := frame.compiles[0].guards)]
    for mark in sorted(wanted):
        harm = _harm(mark, studied, played) if mark.is_int else _harm_of_size(mark, firsts, played)
        if harm is not None:
            left_out.append(harm)
            wanted.discard(mark)
    if not version.reads_sources:
        wanted = {mark for mark in wanted if not mark.is_int and not _is_parameter(mark, studied)}
    chosen = _minimal(frozenset(wanted), played, version)
    every = frozenset(wanted.union(item.mark for item in left_out))  # a mark may help only together with others
    earned = [item for item in left_out if played.earns([item.mark], every) > 0]
    return Choice(chosen, tuple(earned))


def _minimal(wanted: Marks, played: Replay, version: TorchVersion) -> Marks:
    """Drop one unit after the other that earns nothing, the least useful first."""
    uses = Counter(mark for plan in played.plans for call in plan.calls for way in call.routes for need in way.needs for mark in need)
    units: dict[object, set[Mark]] = {}
    for mark in wanted:
        units.setdefault(mark.source if version.reads_sources and not version.reads_dims else mark, set()).add(mark)
    chosen = wanted
    order = sorted(units.values(), key=lambda unit: (max(uses[mark] for mark in unit), [(-mark.dim, mark.source) for mark in sorted(unit)]))
    for unit in [*order, *([mark] for mark in sorted(wanted, reverse=True))]:  # of a source that stays, the dims that earn nothing go
        if chosen.issuperset(unit) and played.earns(unit, chosen) == 0:
            chosen -= frozenset(unit)
    return chosen


def _is_parameter(mark: Mark, studied: Study) -> bool:
    """Whether ``mark_dynamic`` does not act on it."""
    return is_registered(mark.source) or any(
        item.source == mark.source and item.is_parameter
        for plan in studied.trace.frames
        for compile in plan.compiles[:1]
        for item in compile.inputs
    )


def _harm(mark: Mark, studied: Study, played: Replay) -> LeftOut | None:
    """Why an int had better not be listed: code that formats it loses its graph, code that needs its value gains nothing."""
    helped = [plan.frame for plan in played.by_mark.get(mark, ())]
    name = display_name(mark.source)
    for frame in studied.trace.frames:
        if not _is_int_of(frame, mark.source):
            continue
        failed = _failed_symbolic(frame, mark.source)
        if failed is not None:
            reason = f"compile {failed.label} of {frame.title} failed once {name} was symbolic, and the code ran eagerly"
            return LeftOut(mark, frame, reason, f"pass {name} as a tensor, or keep it out of strings and hashes")
        if _was_symbolic(frame, mark.source):
            continue
        use = use_by(frame, mark.source)
        if use >= Use.FORMATS:
            does = f"formats {name} into a string" if use is Use.FORMATS else f"does with {name} what no symbolic int can"
            reason = f"{frame.title} {does}{_line(frame, mark.source, use)}: its graph would be lost or broken in two"
            return LeftOut(mark, frame, reason, _rename(name, frame, helped, "build the string" if use is Use.FORMATS else "do that"))
        if frame in helped:
            if use is Use.PINS:
                reason = (
                    f"{frame.title} needs the exact value of {name}{_line(frame, mark.source, use)}, so a mark would be specialized at once"
                )
                return LeftOut(mark, frame, reason, "accept one graph for each value, or move it out of the compiled code")
        elif use is Use.HANDS_ON or not is_seen_whole(frame):
            reason = f"{frame.title} has an int of the same name that never varied, and the trace does not show all that it does with it"
            return LeftOut(mark, frame, reason, _rename(name, frame, helped))
    return None


def _harm_of_size(mark: Mark, firsts: list[tuple[Frame, GuardTree]], played: Replay) -> LeftOut | None:
    """Why a dim had better not be listed: other code that has a tensor of this name puts its sizes into a string.

    ``firsts`` are frames with what the first compile of each checks.
    """
    helped = [plan.frame for plan in played.by_mark.get(mark, ())]
    name, size = spelled(mark.source), (mark.source, f"size[{mark.dim}]")
    for frame, tree in firsts:
        guard = tree.by_key.get(size)
        place = place_of(guard.comment) if guard and (".shape" in guard.comment or ".size(" in guard.comment) else None
        if place is None or any(frame is item for item in helped):
            continue
        is_named = f"{name}.shape" in place.code or f"{name}.size(" in place.code
        if is_named and use_in(place.code, "") >= Use.FORMATS:
            where = f"{frame.file.rsplit('/', 1)[-1]}:{place.line} ({place.code.strip()[:60]})"
            reason = f"{frame.title} puts sizes of its own {name} into a string at {where}: its graph would be lost or broken in two"
            return LeftOut(mark, frame, reason, _rename(name, frame, helped))
    return None


def _rename(name: str, frame: Frame, helped: list[Frame], what: str = "") -> str:
    if frame in helped:
        return f"{what} outside of the compiled code, or pass {name} as a tensor"
    others = ", ".join(dict.fromkeys(item.title for item in helped))
    return f"the list goes by name in every frame: rename {name} in {others}, or pass it there as a tensor"


def _line(frame: Frame, source: str, use: Use) -> str:
    name = spelled(source)
    for line, code in sorted(lines_of(frame).items()):
        if use_in(code, name) is use:
            return f" at {frame.file.rsplit('/', 1)[-1]}:{line} ({code.strip()[:60]})"
    return ""


def _is_int_of(frame: Frame, source: str) -> bool:
    return any(_guarded_ints(compile, source) for compile in frame.compiles)


def _guarded_ints(compile: Compile, source: str) -> bool:
    tree = compile.guards
    fact = tree.facts.get((source, "value")) if tree else None
    return (isinstance(fact, str) and integer(fact) is not None) or any(unwrap(symbol.source) == source for symbol in compile.symbols)


def _symbolic(frame: Frame, source: str) -> Iterator[Compile]:
    return (compile for compile in frame.compiles if any(unwrap(symbol.source) == source for symbol in compile.symbols))


def _was_symbolic(frame: Frame, source: str) -> bool:
    return any(compile.outcome is Outcome.COMPILED for compile in _symbolic(frame, source))


def _failed_symbolic(frame: Frame, source: str) -> Compile | None:
    return next((compile for compile in _symbolic(frame, source) if compile.outcome is Outcome.FAILED), None)

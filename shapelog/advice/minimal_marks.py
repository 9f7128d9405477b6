"""Which marks to put on the list: all that would help, without those that could do harm, and without those that save no compile."""

from collections import Counter
from typing import NamedTuple

from shapelog.advice.frames_by_source import FramesBySource
from shapelog.advice.int_usage import Use, is_seen_whole, lines_of, spelled, use_by, use_in
from shapelog.advice.marks import Mark
from shapelog.advice.replay import Marks, Replay
from shapelog.model.ids import TorchVersion
from shapelog.model.trace import Compile, Frame, Outcome
from shapelog.reading.payloads.guards import place_of
from shapelog.reading.payloads.properties import size
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.explain import Explanations
from shapelog.text import one_line


class HarmfulMark(NamedTuple):
    """A mark that would save compiles and is not on the list, and why. ``frame`` is where it would do harm."""

    mark: Mark
    frame: Frame
    reason: str
    remedy: str


class MarkSelection(NamedTuple):
    """A minimal list: each unit of ``marks`` (one dim, or from torch 2.8 to 2.12 one source) saves at least one compile."""

    marks: Marks
    left_out: tuple[HarmfulMark, ...]


def select_marks(explained: Explanations, replayed: Replay, version: TorchVersion) -> MarkSelection:
    """The minimal list for this version. Before 2.8 it holds what ``mark_dynamic`` can mark: tensors that are no parameters."""
    wanted = {mark for plan in replayed.plans for mark in plan.marks}
    left_out: list[HarmfulMark] = []
    places = FramesBySource(explained.trace)
    for mark in sorted(wanted):
        harm = _breaks_once_symbolic(mark, places)
        harm = harm or (_harm(mark, places, replayed) if mark.is_int else _harm_of_size(mark, places, replayed))
        if harm is not None:
            left_out.append(harm)
            wanted.discard(mark)
    if not version.reads_sources:
        wanted = {mark for mark in wanted if not mark.is_int and not _is_parameter(mark, explained)}
    chosen = _minimal(frozenset(wanted), replayed, version)
    every = frozenset(wanted.union(item.mark for item in left_out))  # a mark may help only together with others
    saving = [item for item in left_out if replayed.compiles_lost_without([item.mark], every) > 0]
    return MarkSelection(chosen, tuple(saving))


def _minimal(wanted: Marks, replayed: Replay, version: TorchVersion) -> Marks:
    """Drop one unit after the other that saves nothing, the least useful first."""
    routes = [route for plan in replayed.plans for call in plan.calls for route in call.routes]
    uses = Counter(mark for route in routes for choice in route.required_marks for mark in choice)
    units: dict[object, set[Mark]] = {}
    for mark in wanted:
        units.setdefault(mark.source if version.reads_sources and not version.reads_dims else mark, set()).add(mark)
    chosen = wanted
    order = sorted(units.values(), key=lambda unit: (max(uses[mark] for mark in unit), [(-mark.dim, mark.source) for mark in sorted(unit)]))
    for unit in [*order, *([mark] for mark in sorted(wanted, reverse=True))]:  # of a source that remains, the dims that save nothing go
        if chosen.issuperset(unit) and replayed.compiles_lost_without(unit, chosen) == 0:
            chosen -= frozenset(unit)
    return chosen


def _is_parameter(mark: Mark, explained: Explanations) -> bool:
    """Whether ``mark_dynamic`` does not act on it."""
    return mark.source.is_registered or any(
        item.source == mark.source and item.is_parameter
        for plan in explained.trace.frames
        for compile in plan.compiles[:1]
        for item in compile.inputs
    )


def _breaks_once_symbolic(mark: Mark, places: FramesBySource) -> HarmfulMark | None:
    """The frame whose graph breaks somewhere only where this size or int is symbolic: the mark would break it for every call."""
    for frame in places.broken_with_symbol(mark):
        made = [compile for compile in frame.compiles if compile.outcome in (Outcome.COMPILED, Outcome.FAILED)]
        symbolic = [compile for compile in made if _has_symbol(compile, mark)]
        if not symbolic or len(symbolic) == len(made):
            continue
        known = {item.reason for compile in made if compile not in symbolic for item in compile.breaks}
        new = [{item.reason for item in compile.breaks} - known for compile in symbolic]
        if all(new):
            broken = symbolic[0]
            name = mark.source.display_name if mark.is_int else f"{mark.source.display_name}.size[{mark.dim}]"
            found = next(item for item in broken.breaks if item.reason not in known)
            where = f" at {found.place.file.rsplit('/', 1)[-1]}:{found.place.line}" if found.place else ""
            reason = (
                f"the graph of {frame.title} breaks{where} once {name} is symbolic ({one_line(found.reason)[:80]}), as in {broken.label}"
            )
            return HarmfulMark(mark, frame, reason, "change that line so that it works with a symbolic value, then mark")
    return None


def _has_symbol(compile: Compile, mark: Mark) -> bool:
    part = f"{mark.source}.size()[{mark.dim}]"
    return any(symbol.source == part if not mark.is_int else symbol.source.unwrapped == mark.source for symbol in compile.symbols)


def _harm(mark: Mark, places: FramesBySource, replayed: Replay) -> HarmfulMark | None:
    """Why an int had better not be listed: code that formats it loses its graph, code that needs its value gains nothing."""
    helped = [plan.frame for plan in replayed.by_mark.get(mark, ())]
    name = mark.source.display_name
    for frame in places.with_int(mark.source):
        failed = _symbolic(frame, mark.source, Outcome.FAILED)
        if failed is not None:
            reason = f"compile {failed.label} of {frame.title} failed once {name} was symbolic, and the code ran eagerly"
            return HarmfulMark(mark, frame, reason, f"pass {name} as a tensor, or keep it out of strings and hashes")
        if _symbolic(frame, mark.source, Outcome.COMPILED):
            continue
        use = use_by(frame, mark.source)
        if use >= Use.FORMATS:
            does = f"formats {name} into a string" if use is Use.FORMATS else f"does with {name} what no symbolic int can"
            reason = f"{frame.title} {does}{_line(frame, mark.source, use)}: its graph would be lost or broken in two"
            return HarmfulMark(mark, frame, reason, _rename(name, frame, helped, "build the string" if use is Use.FORMATS else "do that"))
        if frame in helped:
            if use is Use.PINS:
                reason = (
                    f"{frame.title} needs the exact value of {name}{_line(frame, mark.source, use)}, so a mark would be specialized at once"
                )
                return HarmfulMark(mark, frame, reason, "accept one graph for each value, or move it out of the compiled code")
        elif use is Use.HANDS_ON or not is_seen_whole(frame):
            reason = f"{frame.title} has an int of the same name that never varied, and the trace does not show all that it does with it"
            return HarmfulMark(mark, frame, reason, _rename(name, frame, helped))
    return None


def _harm_of_size(mark: Mark, places: FramesBySource, replayed: Replay) -> HarmfulMark | None:
    """Why a dim had better not be listed: other code that has a tensor of this name puts its sizes into a string."""
    helped = [plan.frame for plan in replayed.by_mark.get(mark, ())]
    name = spelled(mark.source)
    for frame, guard in places.with_guarded_size((mark.source, size(mark.dim))):
        place = place_of(guard.comment) if ".shape" in guard.comment or ".size(" in guard.comment else None
        if place is None or any(frame is item for item in helped):
            continue
        is_named = f"{name}.shape" in place.code or f"{name}.size(" in place.code
        if is_named and use_in(place.code, "") >= Use.FORMATS:
            where = f"{frame.file.rsplit('/', 1)[-1]}:{place.line} ({place.code.strip()[:60]})"
            reason = f"{frame.title} puts sizes of its own {name} into a string at {where}: its graph would be lost or broken in two"
            return HarmfulMark(mark, frame, reason, _rename(name, frame, helped))
    return None


def _rename(name: str, frame: Frame, helped: list[Frame], what: str = "") -> str:
    if frame in helped:
        return f"{what} outside of the compiled code, or pass {name} as a tensor"
    others = ", ".join(dict.fromkeys(item.title for item in helped))
    return f"the list goes by name in every frame: rename {name} in {others}, or pass it there as a tensor"


def _line(frame: Frame, source: Source, use: Use) -> str:
    name = spelled(source)
    for line, code in sorted(lines_of(frame).items()):
        if use_in(code, name) is use:
            return f" at {frame.file.rsplit('/', 1)[-1]}:{line} ({code.strip()[:60]})"
    return ""


def _is_symbolic(compile: Compile, source: Source) -> bool:
    return any(symbol.source.unwrapped == source for symbol in compile.symbols)


def _symbolic(frame: Frame, source: Source, outcome: Outcome) -> Compile | None:
    """The first compile with this outcome in which the int was symbolic."""
    return next((compile for compile in frame.compiles if compile.outcome is outcome and _is_symbolic(compile, source)), None)

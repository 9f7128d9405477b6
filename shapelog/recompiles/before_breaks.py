"""Values that changed in several parts of a function that has graph breaks: one part may show more than another what can be done."""

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import resumed_by
from shapelog.model.frame import Frame, Function
from shapelog.reading.payloads.properties import Kind
from shapelog.reading.payloads.source_names import Source
from shapelog.recompiles.causes import Cause
from shapelog.recompiles.evidence.violation import THE_CLASS
from shapelog.recompiles.recompile import Recompile
from shapelog.rules import Verdict

_Change = tuple[Function, Kind, str, str]  # of a function, a property, and its values
CHANGED_BEFORE = "changed in the code before the graph break, too"
_OTHER_TYPE, _OTHER_FUNCTION, _OTHER_DTYPE = "SL310", "SL309", "SL301"
_SELF = Source("L['self']")
# A function of a library, or of the program, that is passed; and what it may return another one of.
_FUNCTIONS, _OF_RESULTS = ("SL311", _OTHER_FUNCTION), (_OTHER_TYPE, _OTHER_DTYPE)
# How a dtype or a class is written that is passed itself.
_MADE_WITH = {Kind.VALUE: ("torch.", Kind.DTYPE), Kind.ID: (THE_CLASS, Kind.TYPE)}
# Of recompiles of a function for the same change, how many are looked at.
_MOST_CHANGES = 8


class _Changed(NamedTuple):
    """A change for which code of a function with graph breaks was compiled again: the order of that compile, and the line from which the
    code goes on, 0 for the function itself.
    """

    order: int
    line: int
    item: Recompile
    cause: Cause


def with_changes_before_breaks(by_frame: Mapping[Frame, tuple[Recompile, ...]]) -> dict[Frame, tuple[Recompile, ...]]:
    """The same recompiles; a change of a value that resumed code took over has the verdict and the remedy of the same change of an input
    before the graph break, where the call was compiled again for that, too. Without the break all of it would have been.
    """
    resumed = {frame.function for frame in by_frame if resumed_by(frame.name)}
    items = (item for frame, found in by_frame.items() if frame.function in resumed for item in found if item.verdict.is_beyond_marks)
    named = [
        (_change(item, cause), _Changed(item.compile.order, _line_of(item.frame), item, cause))
        for item in sorted(items, key=lambda item: item.compile.order)
        for cause in reversed(item.causes)  # the last one is looked at first
        if not cause.source.is_unnamed
    ]
    changes = {change: [known for _, known in same] for change, same in grouped(named, lambda each: each[0]).items()}
    passed = (known for _, known in named if known.cause.codes[0] in _FUNCTIONS and known.cause.place)
    functions = grouped(passed, lambda known: known.item.frame.function)
    return {
        frame: tuple(_of_resumed_code(frame, found, changes, functions.get(frame.function, ()))) if resumed_by(frame.name) else found
        for frame, found in by_frame.items()
    }


def _change(item: Recompile, cause: Cause) -> _Change:
    """Another dtype or class that is passed is the same change as that of what is made with it."""
    prefix, kind = _MADE_WITH.get(cause.prop.kind, ("", cause.prop.kind))
    if not (cause.before.startswith(prefix) and cause.after.startswith(prefix)):
        return item.frame.function, cause.prop.kind, cause.before, cause.after
    return item.frame.function, kind, cause.before.removeprefix(prefix), cause.after.removeprefix(prefix)


def _line_of(frame: Frame) -> int:
    resumed = resumed_by(frame.name)
    return resumed[1] if resumed else 0


def _of_resumed_code(
    frame: Frame, recompiles: Iterable[Recompile], changes: Mapping[_Change, Sequence[_Changed]], functions: Sequence[_Changed]
) -> Iterator[Recompile]:
    """The recompiles of one frame; ``functions`` are those that its code was passed other ones of."""
    previous = dict(zip(frame.compiles[1:], frame.compiles, strict=False))
    for item in recompiles:
        if not item.verdict.is_beyond_marks or item.compile not in previous:
            yield item
            continue
        since = previous[item.compile].order  # what was compiled before that was so in an earlier call
        causes = tuple(_as_before_break(item, cause, since, changes.get(_change(item, cause), ()), functions) for cause in item.causes)
        needs_graph = bool(causes) and all(cause.needs_own_graph for cause in causes)
        yield item._replace(causes=causes, verdict=Verdict.JUSTIFIED if needs_graph else item.verdict)


def _as_before_break(item: Recompile, cause: Cause, since: int, changes: Sequence[_Changed], functions: Sequence[_Changed]) -> Cause:
    if not (cause.before and cause.after) or cause.needs_own_graph:
        return cause
    same = (
        known
        for known in _in_same_call(item, since, changes)
        if cause.source.is_unnamed or _is_made_with(item, cause, known) or _is_same_function(cause, known)
    )
    returned = (known for known in _in_same_call(item, since, functions) if _is_returned_by(cause, known))
    before = next(chain(same, returned), None)
    if before is None:
        return cause
    label, origin = before.item.compile.shown_label, before.cause
    where = f"{CHANGED_BEFORE} ({label})" if label else CHANGED_BEFORE
    is_needed = not cause.size_related and (origin.needs_own_graph or before.item.verdict is Verdict.JUSTIFIED)
    return cause._replace(
        own_verdict=Verdict.JUSTIFIED if is_needed else cause.own_verdict,
        own_remedy=f"{origin.subject} {where}: {origin.own_remedy or origin.remedy_rule.remedy}",
    )


def _in_same_call(item: Recompile, since: int, changes: Sequence[_Changed]) -> Iterator[_Changed]:
    """The changes before the graph break in the call of a recompile, the latest first."""
    end = bisect(changes, item.compile.order, key=attrgetter("order"))
    latest = reversed(changes[max(end - _MOST_CHANGES, 0) : end])
    return (known for known in latest if known.order > since and known.line < _line_of(item.frame))


def _is_returned_by(cause: Cause, changed: _Changed) -> bool:
    """Whether a variable of resumed code is what a function returned that the call passed to the code before the break."""
    function = changed.cause.source.removesuffix(".__code__")
    name, place = Source(function).display_name, changed.cause.place
    line = rf"{re.escape(cause.source.display_name)} = (?:\w+\.)*{re.escape(name)}\("
    return cause.codes[0] in _OF_RESULTS and place is not None and re.match(line, place.code.strip()) is not None


def _is_made_with(item: Recompile, cause: Cause, changed: _Changed) -> bool:
    """Whether a variable of resumed code has the dtype that was passed to the code before the break, which has no such input itself, while
    the resumed code does not take that dtype.
    """
    is_of_passed = cause.prop.kind is Kind.DTYPE and changed.cause.prop.kind is Kind.VALUE
    is_input = any(other.source == cause.source for other in changed.item.causes)
    return is_of_passed and not is_input and all(other.source != changed.cause.source for other in item.causes)


def _is_same_function(cause: Cause, changed: _Changed) -> bool:
    """Whether a function that the call passed to the code before the break, and that needs a graph of its own there, is passed on."""
    return changed.cause.needs_own_graph and cause.codes[0] == _OTHER_FUNCTION and changed.cause.source == cause.source


def with_changes_in_other_parts(by_frame: Mapping[Frame, tuple[Recompile, ...]]) -> dict[Frame, tuple[Recompile, ...]]:
    """The same recompiles; an object of another class needs a graph for each where another part of the function, before or after a graph
    break, shows that: it calls the object, or computes with its parameters. So does another function in a call that was refused, of which
    nothing is recorded, where another call was made with another one.
    """
    changes = ((item, cause) for found in by_frame.values() for item in found for cause in item.causes if cause.needs_own_graph)
    needed = {_in_function(*change): change[1] for change in changes if change[1].codes[0] in (_OTHER_TYPE, _OTHER_FUNCTION)}
    return {frame: tuple([_as_in_other_part(item, needed) for item in found]) for frame, found in by_frame.items()}


def _in_function(item: Recompile, cause: Cause) -> tuple[Function, Source, str, str]:
    values = (cause.before, cause.after) if cause.codes[0] == _OTHER_TYPE else ("", "")
    return item.frame.function, cause.source, *values


def _of_another_part(item: Recompile, cause: Cause, needed: Mapping[tuple[Function, Source, str, str], Cause]) -> Cause | None:
    """The cause that shows that the call needs a graph of its own: for what a graph break left on the stack, one for an object with a name
    that changed in the same way.
    """
    if cause.codes[0] == _OTHER_FUNCTION and item.compile.is_refused and not cause.needs_own_graph:
        return needed.get(_in_function(item, cause))
    if cause.codes[0] not in (_OTHER_TYPE, _OTHER_DTYPE) or cause.own_remedy:
        return None
    if not cause.source.is_unnamed:
        return needed.get(_in_function(item, cause)) if cause.codes[0] == _OTHER_TYPE else None
    named = (other for other in item.causes if other.codes[0] == _OTHER_TYPE and other.needs_own_graph)
    return next((other for other in named if _returned(item, cause, other)), None)


def _as_of(other: Cause, cause: Cause) -> str:
    return other.own_remedy if other.codes[0] == cause.codes[0] else f"{other.subject} changed, too: {other.own_remedy}"


def _returned(item: Recompile, cause: Cause, other: Cause) -> bool:
    """Whether what a graph break left on the stack is that object, or what the code of its class returned: where it is the object whose
    method this is, or the line of the break calls it or a method of it.
    """
    if other.source == _SELF or (other.before, other.after) == (cause.before, cause.after):
        return True
    if other.place is None or other.place.line != _line_of(item.frame):
        return False
    return re.search(rf"(?<![\w.]){re.escape(other.source.display_name)}(?:\.\w+)?\(", other.place.code) is not None


def _as_in_other_part(item: Recompile, needed: Mapping[tuple[Function, Source, str, str], Cause]) -> Recompile:
    known = [_of_another_part(item, cause, needed) for cause in item.causes]
    if not any(known):
        return item
    causes = tuple(
        cause._replace(own_verdict=other.own_verdict, own_remedy=_as_of(other, cause)) if other else cause
        for cause, other in zip(item.causes, known, strict=True)
    )
    return item._replace(causes=causes, verdict=Verdict.JUSTIFIED if item.verdict is Verdict.CODE else item.verdict)

"""Where the ranks of a job first differ and why, and the sizes that differ across ranks in one and the same compile."""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from shapelog.distributed.agreement import RankClass, lacks_cause
from shapelog.model.compile import Outcome
from shapelog.model.rank_summary import CodeName, Step
from shapelog.reading.payloads.guards.expressions import integer
from shapelog.reading.payloads.source_names import Source
from shapelog.text import rank_list

# The values and compiles named in a sentence.
_MAX_NAMED = 6
_Steps = tuple[Step, ...]
# The source of a tensor and the number of a dim, or the name of an int and -1.
_Dim = tuple[str, int]


class RanksSide(NamedTuple):
    """What some ranks did where ranks first differ. ``label`` and ``title`` are "" for those that compiled nothing more."""

    ranks: tuple[int, ...]
    label: str
    title: str
    words: str


class Divergence(NamedTuple):
    """The first compile in which ranks differ: how many they have in common before it, and what each group did."""

    position: int
    sides: tuple[RanksSide, ...]

    @property
    def sentence(self) -> str:
        return "; ".join(f"{rank_list(side.ranks)} {side.words}" for side in self.sides)


class CrossSize(NamedTuple):
    """A size that differs across ranks in the same compile of the same code: (value, ranks). ``is_dynamic`` on every rank.

    ``recompiled`` are the ranks that recompiled because of it.
    """

    label: str
    title: str
    axis: str
    values: tuple[tuple[str, tuple[int, ...]], ...]
    is_dynamic: bool
    recompiled: tuple[int, ...]

    def words(self, between: str = "; ") -> str:
        """``12 on rank 0; 16 on ranks 1-3``; of many values how many they are, and between which."""
        if len(self.values) <= _MAX_NAMED:
            return between.join(f"{value} on {rank_list(ranks)}" for value, ranks in self.values)
        numbers = sorted((number, ranks) for value, ranks in self.values if (number := integer(value)) is not None)
        if len(numbers) < len(self.values):
            return f"one of {len(self.values):,} values"
        (low, lowest), (high, highest) = numbers[0], numbers[-1]
        return f"one of {len(numbers):,} values from {low} ({rank_list(lowest)}) to {high} ({rank_list(highest)})"

    @property
    def sentence(self) -> str:
        return f"{self.axis} of {self.title} at {self.label} is {self.words(', ')}"


def _same(step: Step, has_causes: bool) -> Hashable:
    """What two steps have in common if they are the same compile; sizes may differ. Causes are compared where all have them."""
    changes = tuple((item.code, item.axis) for item in step.changes) if has_causes else ()
    return step.label, step.code, step.outcome, step.is_dynamic, step.graph, changes


def divergence(classes: list[RankClass]) -> Divergence | None:
    longest = max(len(item.steps) for item in classes)
    for position in range(longest):
        sides: dict[Hashable, list[RankClass]] = {}
        steps = [item.steps[position] if position < len(item.steps) else None for item in classes]
        has_causes = not any(step and lacks_cause(step) for step in steps)
        for item, step in zip(classes, steps, strict=True):
            sides.setdefault(_same(step, has_causes) if step else None, []).append(item)
        if len(sides) > 1:
            return Divergence(position, tuple(_sides(list(sides.values()), position)))
    return None


def _sides(groups: list[list[RankClass]], position: int) -> Iterator[RanksSide]:
    """First the side that recompiled, since its cause is known; then those of more ranks."""
    sides: list[tuple[list[int], _Steps, Step | None]] = []
    for members in groups:
        steps = members[0].steps
        numbers = sorted(number for item in members for number in item.numbers)
        sides.append((numbers, steps, steps[position] if position < len(steps) else None))
    sides.sort(key=lambda side: (not (side[2] and side[2].changes), side[2] is None, -len(side[0])))
    main = sides[0][1][position]
    for index, (numbers, steps, step) in enumerate(sides):
        words = _did(step, main if index else None) if step else _ended(steps)
        if index and (step is None or step.key != main.key):
            words = f"{_instead(steps, main, position)}: {'they' if len(numbers) > 1 else 'it'} {words}"
        yield RanksSide(tuple(numbers), step.label if step else "", step.title if step else "", words)


_OUTCOMES = {
    Outcome.FAILED.value: ", which failed",
    Outcome.LIMIT.value: ", which the recompile limit refused",
    Outcome.SKIPPED.value: ", which produced no code",
    Outcome.UNFINISHED.value: ", which did not finish",
}


def _did(step: Step, main: Step | None) -> str:
    """What a step was; against ``main``, where that is the same compile, what is different about it."""
    outcome = _OUTCOMES.get(step.outcome, "")
    if main and (main.label, main.key, main.outcome, _axes(main)) == (step.label, step.key, step.outcome, _axes(step)):
        kinds = ("a static", "a dynamic")
        return f"got {kinds[step.is_dynamic] if step.is_dynamic != main.is_dynamic else 'a different'} graph there"
    if step.changes:
        more = f" (and {len(step.changes) - 1} more)" if len(step.changes) > 1 else ""
        return f"recompiled {step.title} at {step.reference} because {step.changes[0].sentence}{more}{outcome}"
    if lacks_cause(step):
        return f"recompiled {step.title} at {step.reference}{outcome}"
    again = "again" if step.number else "for the first time"
    return f"compiled {step.title} {again} at {step.reference}{outcome}"


def _axes(step: Step) -> tuple[str, ...]:
    return tuple(item.axis for item in step.changes)


def _ended(steps: _Steps) -> str:
    if not steps:
        return "compiled nothing"
    last = steps[-1]
    unfinished = ", which did not finish" if last.outcome == Outcome.UNFINISHED.value else ""
    return f"compiled nothing after {last.reference} ({last.title}){unfinished}"


def _instead(steps: _Steps, main: Step, position: int) -> str:
    """Whether ranks did the same as ``main`` at another time, or why not at all, as far as the trace shows."""
    for index, step in enumerate(steps):
        if step.key == main.key:
            return f"did so {'earlier' if index < position else 'later'}, as compilation {index + 1} ({step.reference})"
    own = [step for step in steps if step.code == main.code]
    if not own:
        return "never compiled it"
    size = _size_of(own[-1], main.changes[0].axis) if main.changes else ""
    if len(own) == 1:
        known = f"its cache entry ({own[0].reference}{f', where {size}' if size else ''})"
    else:
        known = f"its cache entries ({' '.join(step.reference for step in own[-_MAX_NAMED:])}{f'; in the last, {size}' if size else ''})"
    return f"did not, since {known} matched later calls, if any"


def _size_of(step: Step, axis: str) -> str:
    for item in step.inputs:
        for dim, size in enumerate(item.size):
            if f"{item.source.display_name}.size[{dim}]" == axis:
                return f"{axis} is {'dynamic' if dim in item.dynamic else size}"
    return ""


def cross_sizes(classes: list[RankClass]) -> Iterator[CrossSize]:
    """Dims of inputs that ranks saw other sizes of in the same compile, each axis once."""
    seen: dict[tuple[CodeName, str], set[int]] = {}
    by_key: dict[tuple[CodeName, int], list[tuple[Step, tuple[int, ...]]]] = {}
    for item in classes:
        for step in item.steps:
            by_key.setdefault(step.key, []).append((step, item.numbers))
            for change in step.changes:
                if change.size_related:
                    seen.setdefault((step.code, change.axis), set()).update(item.numbers)
    reported: set[tuple[CodeName, str]] = set()
    for (code, _), members in by_key.items():
        values: dict[_Dim, dict[str, list[int]]] = {}
        static: set[_Dim] = set()
        for step, numbers in members if len(members) > 1 else ():
            for dim, value, is_dynamic in _dims(step):
                values.setdefault(dim, {}).setdefault(value, []).extend(numbers)
                static.update(() if is_dynamic else (dim,))
        for dim, found in values.items():
            axis = _axis_of(dim) if len(found) > 1 else ""
            if axis and (code, axis) not in reported:
                reported.add((code, axis))
                listed = tuple((value, tuple(sorted(numbers))) for value, numbers in sorted(found.items(), key=lambda pair: min(pair[1])))
                step = members[0][0]
                yield CrossSize(
                    label=step.label,
                    title=step.title,
                    axis=axis,
                    values=listed,
                    is_dynamic=dim not in static,
                    recompiled=tuple(sorted(seen.get((code, axis), ()))),
                )


def _dims(step: Step) -> Iterator[tuple[_Dim, str, bool]]:
    """(dim, value, whether it is symbolic) of the dims of inputs, and of ints that changed."""
    for item in step.inputs:
        for dim, size in enumerate(item.size):
            yield (item.source, dim), str(size), dim in item.dynamic
    for change in step.changes:
        if change.code == "SL102" and change.after:
            yield (change.axis, -1), change.after, False


def _axis_of(dim: _Dim) -> str:
    source, number = dim
    return f"{Source(source).display_name}.size[{number}]" if number >= 0 else source

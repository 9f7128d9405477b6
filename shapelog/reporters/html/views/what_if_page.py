"""What if: the suggestions to tick, the frames that they change, and what the script of the page shows for any part of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shapelog.advice.advise import LONG_LIST, Advice
from shapelog.advice.alike_suggestions import alike
from shapelog.advice.compile_seconds import Seconds
from shapelog.advice.paste_formats import OR_IN_CODE, VARIABLE, marked_lines
from shapelog.advice.replay import Cost, total_cost
from shapelog.advice.what_if import Condition, FrameOutcomes, WhatIf, what_if
from shapelog.grouping import grouped
from shapelog.model.frame import Frame
from shapelog.reporters.html.anchors import Anchors
from shapelog.reporters.html.chart_text import file_and_line
from shapelog.text import names_of, one_line, plural

# Suggestions with a box of their own, frames with a row of their own.
_MAX_TICKS = 60
_MAX_ROWS = 12

# A cost for the script: compiles, limit hits, up to how many more, seconds from and to (None without an upper end).
_Figures = tuple[int, int, int, float, float | None]


class Choice(NamedTuple):
    """A box to tick: a suggestion, several that are alike or (``is_bundle``) chosen only together, or all that have no box of their own.
    ``anchor`` leads to the details of the first, "" where there are none.

    ``effect`` is how many compiles and limit hits come back without it, where all others are chosen.
    """

    id: str
    anchor: str
    name: str
    what: str
    places: tuple[int, ...]
    effect: str
    is_bundle: bool = False


class CombinedCost(NamedTuple):
    """What frames with the same conditions cost together, by the conditions that hold."""

    conditions: tuple[Condition, ...]
    costs: dict[frozenset[int], Cost]


class FrameCosts(NamedTuple):
    """A frame, or in the last row all others; ``outcomes`` are places in the list of outcomes. The costs are without and with all
    suggestions.
    """

    anchor: str
    title: str
    place: str
    outcomes: tuple[int, ...]
    before: Cost
    after: Cost


class WhatIfView(NamedTuple):
    """All of it. ``others`` is what no suggestion changes."""

    ticks: tuple[Choice, ...]
    rows: tuple[FrameCosts, ...]
    outcomes: tuple[CombinedCost, ...]
    others: Cost
    advice: Advice

    @property
    def has_bundles(self) -> bool:
        """Whether suggestions are ticked together that are not alike."""
        return any(tick.is_bundle for tick in self.ticks)

    @property
    def seconds(self) -> Seconds:
        """What this run would have taken with all suggestions."""
        return self.advice.replayed.cost_in_this_run(mark for item in self.advice.suggestions for mark in item.marks).seconds

    @property
    def data(self) -> dict[str, object]:
        """For the script, as ``templates/assets/what_if.js`` reads it."""
        suggestions = self.advice.suggestions
        return {
            "ticks": [list(tick.places) for tick in self.ticks],
            "rows": [list(row.outcomes) for row in self.rows],
            "outcomes": [
                [outcome.conditions, {_key(held): _figures(cost) for held, cost in outcome.costs.items()}] for outcome in self.outcomes
            ],
            "others": _figures(self.others),
            "variable": VARIABLE,
            "or_in_code": OR_IN_CODE,
            "already": [_with_literal(entry) for entry in self.advice.set_already],
            "entries": [[_with_literals(entry, self.advice.folded) for entry in item.visible_entries] for item in suggestions],
            "long_list": LONG_LIST,
            "code": [[marked_lines(item, is_comment) for is_comment in (True, False)] if item.python else [] for item in suggestions],
        }


def what_if_view(advice: Advice | None, anchors: Anchors) -> WhatIfView | None:
    """None where there is nothing to tick."""
    if advice is None or not advice.suggestions:
        return None
    found = what_if(advice.replayed, advice.suggestions)
    every = frozenset(range(len(advice.suggestions)))
    rows, outcomes = _rows(found, anchors)
    return WhatIfView(tuple(_ticks(advice, found, every)), rows, outcomes, found.others, advice)


def _ticks(advice: Advice, found: WhatIf, every: frozenset[int]) -> Iterable[Choice]:
    boxes = _boxes(advice, found.bundles)
    single = len(boxes) if len(boxes) <= _MAX_TICKS else _MAX_TICKS - 1
    for name, places in boxes[:single]:
        first, *others = (advice.suggestions[place] for place in places)
        what = f"dim{'s' if len(first.dims) > 1 else ''} {', '.join(map(str, first.dims))}" if first.dims else "int"
        is_bundle = bool(others) and name == first.name
        if is_bundle:
            what = f"{what}, together with {names_of([item.id for item in others])}"
        elif others:
            what = f"{what} of {plural(len(places), 'input')}"
        yield Choice(
            id=first.id,
            anchor=first.id.lower(),
            name=one_line(name),
            what=what,
            places=places,
            effect=_effect(found, every, places),
            is_bundle=is_bundle,
        )
    if rest := tuple(place for _, places in boxes[single:] for place in places):
        yield Choice(
            id="rest",
            anchor="",
            name=plural(len(rest), "more suggestion"),
            what="",
            places=rest,
            effect=_effect(found, every, rest),
        )


def _boxes(advice: Advice, bundles: Iterable[Condition]) -> list[tuple[str, Condition]]:
    """(name, places of the suggestions) of each box, those that are alike together."""
    bundle_of = {place: bundle for bundle in bundles for place in bundle}
    place_of = {item.id: place for place, item in enumerate(advice.suggestions)}
    boxes: dict[Condition, str] = {}
    for kind in alike(advice.suggestions):
        places = tuple(place_of[item.id] for item in kind.members)
        if all(len(bundle_of[place]) == 1 for place in places):
            boxes[places] = kind.name
        else:
            boxes |= {bundle_of[place]: advice.suggestions[bundle_of[place][0]].name for place in places}
    return [(name, places) for places, name in boxes.items()]


def _effect(found: WhatIf, every: frozenset[int], places: Iterable[int]) -> str:
    """``saves 7 and avoids 1 refused call``, ``saves up to 8`` where calls after a limit hit may come on top."""
    without, with_all = found.cost(every.difference(places)), found.cost(every)
    compiles, refused = without.compiles - with_all.compiles, without.limit_hits - with_all.limit_hits
    if compiles + refused <= 0:
        return "no effect alone"
    # Where more would be refused than now, what is saved is their difference.
    is_sure = all(frame.cost(every.difference(places)).spread == frame.cost(every).spread for frame in found.frames)
    saved = compiles + min(0, refused)
    parts = [f"saves {'' if is_sure else 'up to '}{saved}"] if saved else []
    return " and ".join([*parts, *([f"avoids {plural(refused, 'refused call')}"] if refused > 0 else [])])


def number_of(cost: Cost) -> str:
    """``8 + 1 refused``, ``1–3`` where a prediction is a range."""
    return _number(cost.compiles, cost.limit_hits, cost.spread)


def _number(compiles: int, refused: int, more: int = 0) -> str:
    made = f"{compiles}–{compiles + more}" if more else str(compiles)
    return " + ".join(([made] if compiles or more or not refused else []) + ([f"{refused} refused"] if refused else []))


def _rows(found: WhatIf, anchors: Anchors) -> tuple[tuple[FrameCosts, ...], tuple[CombinedCost, ...]]:
    """Frames of the same code share a row where the same suggestions act on them: it was compiled anew, or on several ranks. The rest is
    one row, whose frames with the same conditions are added up.
    """
    joined = [
        (members, _outcome(members)) for members in grouped(found.frames, lambda item: (_code(item, anchors), item.conditions)).values()
    ]
    joined.sort(key=lambda pair: _saved_seconds(pair[1]), reverse=True)
    single = len(joined) if len(joined) <= _MAX_ROWS else _MAX_ROWS - 1
    rows: list[FrameCosts] = []
    outcomes: list[CombinedCost] = []
    for members, outcome in joined[:single]:
        row = _row(members, len(outcomes), [outcome], anchors[members[0].frame], members[0].frame)
        number = len({anchors[member.frame] for member in members})
        rows.append(row._replace(title=f"{row.title} ({number} frames)") if number > 1 else row)
        outcomes.append(outcome)
    if rest := [member for members, _ in joined[single:] for member in members]:
        added = [_outcome(members) for members in grouped(rest, lambda item: item.conditions).values()]
        number = len({anchors[member.frame] for member in rest})
        rows.append(_row(rest, len(outcomes), added)._replace(title=plural(number, "more frame")))
        outcomes += added
    return tuple(rows), tuple(outcomes)


def _code(item: FrameOutcomes, anchors: Anchors) -> tuple[str, str, int] | str:
    """The same for frames of one function; the name of the frame where the trace does not record its file."""
    frame = item.frame
    return (frame.title, frame.file, frame.line) if frame.file else anchors[frame]


def _outcome(members: Sequence[FrameOutcomes]) -> CombinedCost:
    """What these frames with the same conditions cost together."""
    first = members[0]
    return CombinedCost(first.conditions, {held: total_cost([member.costs[held] for member in members]) for held in first.costs})


def _row(
    members: Sequence[FrameOutcomes], first: int, outcomes: Sequence[CombinedCost], anchor: str = "", frame: Frame | None = None
) -> FrameCosts:
    return FrameCosts(
        anchor=anchor,
        title=one_line(frame.title) if frame else "",
        place=file_and_line(frame.file, frame.line) if frame else "",
        outcomes=tuple(range(first, first + len(outcomes))),
        before=total_cost([outcome.costs[frozenset()] for outcome in outcomes]),
        after=total_cost([outcome.costs[frozenset(range(len(outcome.conditions)))] for outcome in outcomes]),
    )


def _saved_seconds(outcome: CombinedCost) -> tuple[float, int]:
    before, after = outcome.costs[frozenset()], outcome.costs[frozenset(range(len(outcome.conditions)))]
    return before.seconds.least - after.seconds.least, before.total - after.total


def _key(held: frozenset[int]) -> str:
    """``0,2``: the conditions that hold, in their order."""
    return ",".join(map(str, sorted(held)))


def _figures(cost: Cost) -> _Figures:
    """Times to the microsecond."""
    most = cost.seconds.most
    return cost.compiles, cost.limit_hits, cost.spread, round(cost.seconds.least, 6), None if most is None else round(most, 6)


def _with_literals(entry: str, folded: Mapping[str, str]) -> tuple[str, ...]:
    """An entry, and the expression for it and others where there is one, each also as a literal of Python."""
    return (*_with_literal(entry), *(_with_literal(folded[entry]) if entry in folded else ()))


def _with_literal(entry: str) -> tuple[str, str]:
    """An entry of the list, and as a literal of Python."""
    return entry, repr(entry)

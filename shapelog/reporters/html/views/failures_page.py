"""Failures, recompile limits, graph breaks and restarts as cards: what PyTorch met, what it cost, where, and what helps."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.payloads.python_tracebacks import RaisedException
from shapelog.reading.payloads.source_names import is_library
from shapelog.report.alerts.alert import Alert
from shapelog.report.details.uncompiled_calls import Eager, fates
from shapelog.report.interruptions import Interruption, InterruptionKind
from shapelog.report.source_code.line_marks import MarkKind
from shapelog.report.steps.step import NextStep
from shapelog.reporters.html.anchors import Anchors
from shapelog.reporters.html.views.source_page import SourcePage
from shapelog.rules import Rule
from shapelog.text import LEAST_SECONDS, plural, seconds, taking

# The color of each kind, its heading, and what it means for the program.
_COLORS = {
    InterruptionKind.FAILURE: "failed",
    InterruptionKind.UNFINISHED: "unfinished",
    InterruptionKind.LIMIT: "limit",
    InterruptionKind.SKIPPED: "failed",
    InterruptionKind.BREAK: "code",
    InterruptionKind.RESTART: "skipped",
}
_TITLES = {
    InterruptionKind.FAILURE: "Failures",
    InterruptionKind.UNFINISHED: "Compilations that did not finish",
    InterruptionKind.LIMIT: "Recompile limit",
    InterruptionKind.SKIPPED: "Functions left to eager mode",
    InterruptionKind.BREAK: "Graph breaks",
    InterruptionKind.RESTART: "Restarts",
}
_MEANINGS = {
    InterruptionKind.FAILURE: "Code that failed to compile runs in eager mode on every call, or raises.",
    InterruptionKind.UNFINISHED: "The process ended while it compiled, or it gave up: nothing is known to be wrong with the code.",
    InterruptionKind.LIMIT: "PyTorch stops compiling code that was recompiled too often; calls that miss the cache run in eager mode.",
    InterruptionKind.SKIPPED: "After a call that ran no tensor operation, PyTorch skips the function: every later call runs in eager mode.",
    InterruptionKind.BREAK: "The line runs in eager mode, and the code before and after it is compiled in separate graphs.",
    InterruptionKind.RESTART: "Dynamo began again with tracing a function, for a reason that is no graph break.",
}
_KIND_OF_MARK = {
    MarkKind.FAILED: InterruptionKind.FAILURE,
    MarkKind.REFUSED: InterruptionKind.LIMIT,
    MarkKind.BROKE: InterruptionKind.BREAK,
}
_NAMES = {kind: kind.value for kind in InterruptionKind} | {InterruptionKind.LIMIT: "refused compilation"}
_EAGER = {
    Eager.ALL: "the code runs in eager mode from then on",
    Eager.OR_RAISED: "the code runs in eager mode, or the call raised an error",
    Eager.RESUMED: "the code after the graph break runs in eager mode",
    Eager.LIMIT: "later calls that miss the cache run in eager mode",
}


class CardPlace(NamedTuple):
    """One piece of code in which it happened, with the line; ``source`` leads to that line in the source, "" where it is not shown."""

    alert: Alert
    frame: Frame
    source: str
    compiles: tuple[Compile, ...]

    def looks_like(self, other: "CardPlace") -> bool:
        """Whether the same line would be shown for both, with the same facts."""
        mine, theirs = self.alert, other.alert
        return (mine.source_line, mine.snippet, mine.notes) == (theirs.source_line, theirs.snippet, theirs.notes)


class Card(NamedTuple):
    """The same thing at all its places. ``costs`` are a few words each; ``raised`` are exceptions that add to the title."""

    anchor: str
    kind: str
    item: Interruption
    costs: tuple[str, ...]
    raised: tuple[RaisedException, ...]
    places: tuple[CardPlace, ...]


class CardGroup(NamedTuple):
    """The cards of one kind."""

    title: str
    meaning: str
    anchor: str
    cards: tuple[Card, ...]

    @property
    def times(self) -> int:
        """How often it happened, as the overview counts."""
        return sum(card.item.times for card in self.cards)


class FailuresPage(NamedTuple):
    """The view, without groups where everything was compiled in one piece. ``by_line`` leads from lines of the source to cards,
    ``by_label`` from rules and ids of compiles.
    """

    groups: tuple[CardGroup, ...]
    lead: str
    by_line: dict[tuple[str, InterruptionKind], str]
    by_label: dict[tuple[Rule, str], str]

    @property
    def number(self) -> int:
        """How many different things there are to look at."""
        return sum(len(group.cards) for group in self.groups)

    def card_at(self, line: str, kind: MarkKind) -> str:
        """The card about a mark at a line of the source, by the line's anchor; "" without one."""
        return self.by_line.get((line, _KIND_OF_MARK[kind]), "") if kind in _KIND_OF_MARK else ""

    def card_of(self, step: NextStep) -> str:
        """The first card about what a step is against; "" without one."""
        return next((self.by_label[key] for key in product(step.rules, step.labels) if key in self.by_label), "")

    @property
    def anchors(self) -> frozenset[str]:
        """Where the cards of each kind begin."""
        return frozenset(group.anchor for group in self.groups)

    @property
    def of_compiles(self) -> dict[Compile, str]:
        """The first card about each compilation."""
        cards = [card for group in self.groups for card in group.cards]
        return {compile: card.anchor for card in reversed(cards) for compile in card.item.compiles}


def failures_page(found: Iterable[Interruption], source: SourcePage, anchors: Anchors, breaks: int) -> FailuresPage:
    """``breaks`` is how many graph breaks there were: those that a compilation failed at have no card of their own."""
    cards: dict[InterruptionKind, list[Card]] = {}
    for number, item in enumerate(found, start=1):
        cards.setdefault(item.kind, []).append(_card(item, f"interruption-{number}", source, anchors))
    groups = tuple(CardGroup(_TITLES[kind], _MEANINGS[kind], f"{kind.name.lower()}-cards", tuple(own)) for kind, own in cards.items())
    by_line = {
        (place.source, card.item.kind): card.anchor for own in cards.values() for card in own for place in card.places if place.source
    }
    about = [(card, alert) for own in cards.values() for card in own for alert in card.item.alerts]
    by_label = {(card.item.rule, label): card.anchor for card, alert in reversed(about) for label in alert.labels}
    return FailuresPage(groups, _lead(groups, breaks), by_line, by_label)


def _lead(groups: tuple[CardGroup, ...], breaks: int) -> str:
    times = {group.cards[0].item.kind: group.times for group in groups}
    places = {group.cards[0].item.kind: sum(len(card.places) for card in group.cards) for group in groups}
    more = breaks - times.get(InterruptionKind.BREAK, 0)
    counts = []
    for kind, number in times.items():
        where = f" in {plural(places[kind], 'place')}" if kind is InterruptionKind.BREAK and places[kind] < number else ""
        counts.append(f"{plural(number, _NAMES[kind])}{where}")
    which = "was a graph break" if more == 1 else "were graph breaks"
    return ", ".join(counts) + (f"; {more} of the failures {which}" if more > 0 else "")


def _card(item: Interruption, anchor: str, source: SourcePage, anchors: Anchors) -> Card:
    places: dict[tuple[str, str], CardPlace] = {}
    for alert in item.alerts:
        frame = alert.occurrences[0].frame
        met = item.refused or alert.occurrences
        compiles = {anchors[one.compile]: one.compile for one in met}
        known = (anchors[frame], str(alert.source_line))
        places.setdefault(known, CardPlace(alert, frame, source.at(alert.source_line), tuple(compiles.values())))
    return Card(
        anchor=anchor,
        kind=_COLORS[item.kind],
        item=item,
        costs=tuple(_costs(item)),
        raised=tuple(_raised(item)),
        places=tuple(places.values()),
    )


def _raised(item: Interruption) -> Iterator[RaisedException]:
    """The exceptions with more to their message than the title has, which is left out, or with a line of the user, after which the stack
    is cut.
    """
    for raised in item.exceptions:
        own = tuple(line for line in raised.stack if not is_library(line.file))
        message = "" if raised.message in item.title else raised.message.removeprefix(item.title).strip()
        if message or own:
            yield raised._replace(message=message, stack=own)


def _costs(item: Interruption) -> Iterator[str]:
    number, spent = item.times, item.seconds
    if item.kind is InterruptionKind.UNFINISHED:
        yield f"{plural(number, 'compilation')} did not finish"
    elif item.kind is InterruptionKind.FAILURE:
        yield f"{plural(number, 'compilation')} failed{f' after {seconds(spent)}' if spent >= LEAST_SECONDS else ''}"
        raised, eager = fates((one.frame, one.compile, one.times) for alert in item.alerts for one in alert.occurrences)
        yield from [f"{plural(raised, 'call')} raised an error"] if raised else []
        yield from (_EAGER[what] for what in eager)
    elif item.kind is InterruptionKind.LIMIT:
        yield f"{plural(number, 'compilation')} refused"
        yield f"{'the call' if number == 1 else 'each call'} raised an error" if item.raised else _EAGER[Eager.LIMIT]
    elif item.kind is InterruptionKind.SKIPPED:
        yield _EAGER[Eager.ALL]
    elif item.kind is InterruptionKind.BREAK:
        yield f"{plural(number, 'compilation')} broke here"
        if spent >= LEAST_SECONDS:
            yield f"{seconds(spent)} of tracing repeated"
        if item.resumed:
            yield f"{plural(item.resumed_times, 'more compilation')} for the code after it{taking(item.resumed_seconds)}"
    else:
        yield f"{plural(number, 'compilation')} restarted"
        if spent >= LEAST_SECONDS:
            yield f"{seconds(spent)} of tracing repeated"

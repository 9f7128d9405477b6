"""What compile caches did for each compilation, and why an entry was missing: what in its key no earlier key had."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.model.trace import Compile, Frame, Trace
from shapelog.reading.payloads.cache_keys import BYPASS, HIT, MISS, NOT_SAVED, CacheEvent, KeyDifference, key_differences, parse_cache_event
from shapelog.text import cut, plural

# With how many earlier keys of its process, and of its own function, a key is compared.
_NEAREST, _OF_FUNCTION = 8, 8
_MOST_DIFFERENCES, _LONGEST_VALUE = 3, 60
_GRAPH, _STATIC = "gm", "fx_kwargs[static_input_idxs]"
_INPUT = re.compile(r"^example_inputs\[(\d+)\]$")


class CacheUse(NamedTuple):
    """One use of a cache. ``earlier`` is the compilation with the most similar key, None without one; ``is_of_other_run`` is set where
    that is in the trace that this one is compared with. ``differences`` are what the keys do not share.
    """

    frame: Frame
    compile: Compile
    event: CacheEvent
    earlier: Compile | None = None
    is_of_other_run: bool = False
    differences: tuple[KeyDifference, ...] = ()

    @property
    def why(self) -> str:
        """Why there was no entry, in one sentence; "" for a hit, and where the trace does not show it."""
        if self.event.result in (BYPASS, NOT_SAVED):
            return self.event.reason
        if self.event.result == HIT or not self.event.key:
            return ""
        if self.earlier is None:
            return "the first key" if self.event.components else "a new key; its components are not recorded"
        where = f"{self.earlier.label} of the first run" if self.is_of_other_run else self.earlier.label
        if not self.differences:
            return f"same key as {where}, whose entry was not found"
        return f"unlike {where}: {self.differing}"

    @property
    def has_same_graph(self) -> bool:
        """Whether the keys differ in settings or versions alone."""
        return not any(item.name in (_GRAPH, _STATIC) or item.name.startswith("example_inputs") for item in self.differences)

    @property
    def differing(self) -> str:
        """What the keys do not share, in words; of much the beginning."""
        listed = [_words(item) for item in _most_telling(self.differences)]
        more = len(listed) - _MOST_DIFFERENCES
        return "; ".join(listed[:_MOST_DIFFERENCES]) + (f"; and {plural(more, 'more component')}" if more > 0 else "")


UsesByCompile = Mapping[Compile, tuple[CacheUse, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A key that was looked up before."""

    compile: Compile
    event: CacheEvent
    components: frozenset[str]


@dataclass(slots=True)
class _Keys:
    """Keys that were seen, by cache: the last ones, and the last ones of each function."""

    last: defaultdict[str, deque[_Known]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=_NEAREST)))
    of_function: defaultdict[tuple[str, str], deque[_Known]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_OF_FUNCTION))
    )

    def add(self, title: str, known: _Known) -> None:
        self.last[known.event.cache].append(known)
        self.of_function[known.event.cache, title].append(known)

    def copy(self) -> "_Keys":
        """Other lists of the same keys."""
        found = _Keys()
        found.last.update((name, deque(keys, maxlen=_NEAREST)) for name, keys in self.last.items())
        found.of_function.update((name, deque(keys, maxlen=_OF_FUNCTION)) for name, keys in self.of_function.items())
        return found

    def nearest(self, title: str, event: CacheEvent, components: frozenset[str]) -> _Known | None:
        """The key that shares most with this one; of several the last, that of the same function before others."""
        known = dict.fromkeys((*reversed(self.of_function[event.cache, title]), *reversed(self.last[event.cache])))
        same = next((item for item in known if item.event.key == event.key), None)
        if same is not None or not components:
            return same
        return min((item for item in known if item.components), key=lambda item: len(components ^ item.components), default=None)


def cache_uses(trace: Trace, before: Trace | None = None) -> tuple[CacheUse, ...]:
    """Every use of a compile cache in the order of its process. ``before`` is a trace whose keys come before those of this one."""
    texts: dict[str, str] = {}
    known = _Keys()
    if before is not None:
        for use in _uses(before, _Keys(), texts, {}):
            if use.event.key:
                known.add(use.frame.title, _Known(use.compile, use.event, frozenset(use.event.components)))
    others = {item.compile: True for keys in known.of_function.values() for item in keys}
    return tuple(_uses(trace, known, texts, others))


def uses_by_compile(trace: Trace) -> UsesByCompile:
    """The same by compilation, for those that used a cache."""
    found: dict[Compile, tuple[CacheUse, ...]] = {}
    for use in cache_uses(trace):
        found[use.compile] = (*found.get(use.compile, ()), use)
    return found


def _uses(trace: Trace, before: _Keys, texts: dict[str, str], others: Mapping[Compile, bool]) -> Iterator[CacheUse]:
    """``texts`` has each component once, as most keys share most of theirs; ``others`` are the compilations of ``before``."""
    for rank in trace.ranks:
        known = before.copy()
        records = [
            (offset, name, span, frame, compile)
            for frame in rank.frames
            for compile in frame.compiles
            for name, offset, span in compile.cache_records
        ]
        for _, name, span, frame, compile in sorted(records, key=lambda item: item[0]):
            assert compile.payloads is not None
            event = parse_cache_event(name, compile.payloads.text(span))
            event = event._replace(components=tuple(texts.setdefault(text, text) for text in event.components))
            components = frozenset(event.components)
            nearest = known.nearest(frame.title, event, components) if event.result == MISS and event.key else None
            yield CacheUse(
                frame=frame,
                compile=compile,
                event=event,
                earlier=nearest.compile if nearest else None,
                is_of_other_run=bool(nearest and nearest.compile in others),
                differences=key_differences(nearest.event.components, event.components) if nearest else (),
            )
            if event.key:
                known.add(frame.title, _Known(compile, event, components))


def _most_telling(differences: tuple[KeyDifference, ...]) -> list[KeyDifference]:
    """Settings first, then inputs, then the graph, whose text follows from these, as the numbers of static inputs do."""
    return sorted(differences, key=lambda item: (item.name == _STATIC, item.name == _GRAPH, item.name.startswith("example_inputs")))


def _words(item: KeyDifference) -> str:
    if item.name == _GRAPH:
        return "another graph"
    name = _INPUT.sub(r"input \1", item.name)
    if item.before is None or item.after is None:
        value = item.after if item.before is None else item.before
        return f"{name} ({_short(value or '')}) {'is new' if item.before is None else 'is gone'}"
    if item.before == item.after:
        return f"{name} (same text, other contents)"
    return f"{name}: {_short(item.before)} → {_short(item.after)}"


def _short(value: str) -> str:
    return cut(" ".join(value.split()), _LONGEST_VALUE) or "empty"

"""What compile caches did for each compilation, and why an entry was missing: what in its key no earlier key had."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from shapelog.grouping import grouped
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.model.trace import Trace
from shapelog.reading.payloads.cache_keys import (
    AOT_AUTOGRAD,
    BYPASS,
    HIT,
    MISS,
    NOT_SAVED,
    CacheEvent,
    KeyDifference,
    key_differences,
    parse_cache_event,
)
from shapelog.text import cut, plural

# With how many earlier keys of its process, and of its own function, a key is compared.
_NEAREST, _OF_FUNCTION = 8, 8
_MOST_DIFFERENCES, _LONGEST_VALUE = 3, 60
_GRAPH, _STATIC = "gm", "fx_kwargs[static_input_idxs]"
_INPUT = re.compile(r"^example_inputs\[(\d{1,18})\]$")


class CacheUse(NamedTuple):
    """One use of a cache. ``earlier`` is the compilation with the most similar key, None without one; ``is_of_other_run`` is set where
    that is in the trace that this one is compared with. ``differences`` are what the keys do not share. The components of the key itself
    are not kept: each has the text of a graph.
    """

    frame: Frame
    compile: Compile
    event: CacheEvent
    earlier: Compile | None = None
    is_of_other_run: bool = False
    differences: tuple[KeyDifference, ...] = ()
    has_components: bool = False

    @property
    def title(self) -> str:
        """The cache, and whether the lookup was that of a backward graph, which has a key of its own."""
        return f"{self.event.cache}, backward" if self.event.is_backward else self.event.cache

    @property
    def storage(self) -> str:
        """``local`` or ``remote``: where the entry of a hit was, "" for anything else, and where it is not recorded."""
        found = {item.is_remote for item in self.compile.metrics.cache_lookups if item.cache == self.event.cache and item.hits}
        return ("remote" if True in found else "local") if self.event.result == HIT and len(found) == 1 else ""

    @property
    def why(self) -> str:
        """Why there was no entry, in one sentence; "" for a hit, and where the trace does not show it."""
        if self.event.result in (BYPASS, NOT_SAVED):
            return self.event.reason
        if self.event.result == HIT or not self.event.key:
            return ""
        if self.earlier is None:
            return _first_key(self.event) if self.has_components else _without_components(self.event)
        where = f"{self.earlier.reference} of the first run" if self.is_of_other_run else self.earlier.reference
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


@dataclass(frozen=True, slots=True, eq=False)
class CacheUses:
    """Every use of a compile cache, rank by rank, each in the order of its process."""

    uses: tuple[CacheUse, ...] = ()
    by_compile: Mapping[Compile, tuple[CacheUse, ...]] = field(default_factory=dict)

    def of(self, compile: Compile) -> tuple[CacheUse, ...]:
        return self.by_compile.get(compile, ())


# Keys that can be compared with each other: the cache, and whether they are of backward graphs.
_Family = tuple[str, bool]


def _family(event: CacheEvent) -> _Family:
    return event.cache, event.is_backward


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A key that was looked up before."""

    compile: Compile
    family: _Family
    key: str
    components: tuple[str, ...]


@dataclass(slots=True)
class _Keys:
    """Keys that were seen, by family: the last ones, and the last ones of each function."""

    last: defaultdict[_Family, deque[_Known]] = field(default_factory=lambda: defaultdict(lambda: deque(maxlen=_NEAREST)))
    of_function: defaultdict[tuple[_Family, str], deque[_Known]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_OF_FUNCTION))
    )

    def add(self, title: str, known: _Known) -> None:
        self.last[known.family].append(known)
        self.of_function[known.family, title].append(known)

    def copy(self) -> "_Keys":
        """Other lists of the same keys."""
        found = _Keys()
        found.last.update((name, deque(keys, maxlen=_NEAREST)) for name, keys in self.last.items())
        found.of_function.update((name, deque(keys, maxlen=_OF_FUNCTION)) for name, keys in self.of_function.items())
        return found

    def nearest(self, title: str, event: CacheEvent) -> _Known | None:
        """The key that shares most with this one; of several the last, that of the same function before others."""
        family = _family(event)
        known = dict.fromkeys((*reversed(self.of_function[family, title]), *reversed(self.last[family])))
        same = next((item for item in known if item.key == event.key), None)
        components = frozenset(event.components)
        if same is not None or not components:
            return same
        return min(
            (item for item in known if item.components),
            key=lambda item: len(components.symmetric_difference(item.components)),
            default=None,
        )


def cache_uses(trace: Trace, before: Trace | None = None) -> CacheUses:
    """What the caches did for each compilation. ``before`` is a trace whose keys come before those of this one."""
    texts: dict[str, str] = {}
    known = _Keys()
    if before is not None:
        for use, components in _uses(before, _Keys(), texts, {}):
            if use.event.key:
                known.add(use.frame.title, _Known(use.compile, _family(use.event), use.event.key, components))
    others = {item.compile: True for keys in known.of_function.values() for item in keys}
    found = tuple([use for use, _ in _uses(trace, known, texts, others)])
    return CacheUses(found, {compile: tuple(uses) for compile, uses in grouped(found, lambda use: use.compile).items()})


def _uses(trace: Trace, before: _Keys, texts: dict[str, str], others: Mapping[Compile, bool]) -> Iterator[tuple[CacheUse, tuple[str, ...]]]:
    """Each use, and the components of its key. ``texts`` has each component once, as most keys share most of theirs; ``others`` are the
    compilations of ``before``.
    """
    events: dict[object, CacheEvent] = {}  # by checksum: equal payloads hold the same
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
            key = name, span.digest or (compile, span.start)
            if key not in events:
                event = parse_cache_event(name, compile.payloads.text(span))
                events[key] = event._replace(components=tuple([texts.setdefault(text, text) for text in event.components]))
            event = events[key]
            nearest = known.nearest(frame.title, event) if event.result == MISS and event.key else None
            use = CacheUse(
                frame=frame,
                compile=compile,
                event=event._replace(components=()),
                earlier=nearest.compile if nearest else None,
                is_of_other_run=bool(nearest and nearest.compile in others),
                differences=key_differences(nearest.components, event.components) if nearest else (),
                has_components=bool(event.components),
            )
            yield use, event.components
            if event.key:
                known.add(frame.title, _Known(compile, _family(event), event.key, event.components))


def _first_key(event: CacheEvent) -> str:
    return "the first key of a backward graph" if event.is_backward else "the first key"


def _without_components(event: CacheEvent) -> str:
    """Why nothing can be compared: this cache lists the components of its keys for its debug log."""
    if event.cache == AOT_AUTOGRAD:
        return "a new key; only under TORCH_LOGS=+aot does PyTorch record its components"
    return "a new key; its components are not recorded"


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

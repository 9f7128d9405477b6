"""The kinds of input of the fuzzer: what makes them, what is done with them, and how many of all inputs they are."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple, Protocol

from fuzz_archives import Archives
from fuzz_settings import Baselines, Settings
from fuzz_text import Texts
from fuzz_text_logs import TextLogs
from fuzz_watch import Sequences
from mutations import ROOT, Mutator, Records, made_seeds, make, recorded_seeds
from promises import workplace
from scaling import DIMENSIONS
from stages import examine


class Generator(Protocol):
    """Makes inputs, the same of the same ``chance``, and examines them."""

    def input(self, chance: random.Random) -> bytes: ...

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        """Raise whatever goes wrong, and count what was done: what ``chosen``, a checksum, selects, or ``everything``."""


class Kind(NamedTuple):
    """A kind of input. ``share`` is its weight among all inputs: what is quick to examine is made often."""

    name: str
    share: int
    input: Callable[[random.Random], bytes]
    examine: Callable[[bytes, Counter[str], int, bool], None]


class Traces:
    """Changed traces, made and recorded ones, through all that a user can do with a trace."""

    def __init__(self, corpus: str) -> None:
        self.made = made_seeds()
        self.recorded = recorded_seeds(ROOT / "fixtures") + (recorded_seeds(Path(corpus)) if corpus else [])

    def input(self, chance: random.Random) -> bytes:
        return Mutator(chance, self.made, self.recorded).input()

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        examine(data, counts, everything)


class Dimensions(Traces):
    """Small traces of one dimension or two that scaling.py makes large; half of them are changed."""

    def __init__(self) -> None:
        self.made = made_seeds()
        self.recorded = []
        self.names = sorted(DIMENSIONS)

    def input(self, chance: random.Random) -> bytes:
        records = tuple(
            record
            for name in chance.sample(self.names, chance.choice((1, 1, 2)))
            for record in _of_dimension(name, chance.choice((1, 2, 3, 4, 6, 9)))
        )
        return Mutator(chance, self.made, []).changed(records) if chance.random() < 0.5 else b"".join(records)


@cache
def _of_dimension(name: str, number: int) -> Records:
    return tuple(make.split_records(DIMENSIONS[name](number)))


_GENERATORS: dict[str, tuple[int, Callable[[Path, str], Generator]]] = {
    "traces": (4, lambda work, corpus: Traces(corpus)),
    "dimensions": (2, lambda work, corpus: Dimensions()),
    "text": (40, lambda work, corpus: Texts(work)),
    "text_logs": (4, lambda work, corpus: TextLogs(work)),
    "archives": (8, lambda work, corpus: Archives(work, made_seeds())),
    "settings": (30, lambda work, corpus: Settings(work)),
    "baselines": (30, lambda work, corpus: Baselines(work)),
    "watch": (1, lambda work, corpus: Sequences(work)),
}
KINDS = tuple(_GENERATORS)


@contextmanager
def kinds(names: tuple[str, ...] = KINDS, corpus: str = "") -> Iterator[list[Kind]]:
    """These kinds, with a place for their files; ``corpus`` is a folder of more traces to start from."""
    with workplace() as work:
        made = ((name, share, generator(work, corpus)) for name, (share, generator) in _GENERATORS.items() if name in names)
        yield [Kind(name, share, found.input, found.examine) for name, share, found in made]

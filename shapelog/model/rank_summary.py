"""One rank of a distributed job, small and plain: so it is sent from process to process, and held against the others.

Most of it are named tuples, which are pickled, hashed and compared faster than dataclasses.
"""

from dataclasses import dataclass
from typing import NamedTuple

from shapelog.reading.payloads.collectives import Parity
from shapelog.reading.payloads.source_names import Source


class CodeName(NamedTuple):
    """A piece of code, the same on every rank. ``told`` tells apart what works for other classes or callers in a library."""

    file: str
    line: int
    name: str
    told: str = ""


class Change(NamedTuple):
    """A cause of a recompile, in the words of the report; addresses are left out, since they differ in every process."""

    code: str
    axis: str
    before: str
    after: str
    size_related: bool
    sentence: str


class Tensor(NamedTuple):
    """A tensor that a compile was called with, parameters apart, and which of its dims were symbolic."""

    source: Source
    size: tuple[int, ...]
    dynamic: tuple[int, ...] = ()


class Step(NamedTuple):
    """One compile of a rank, without times: equal on two ranks that did the same.

    ``number`` counts the compiles of its code from 0 on. ``graph`` is the key of its graph, numbers not counted. ``collectives`` are those
    that Inductor scheduled, None where the trace does not tell; ``tensors`` is a digest of what its operations return, "" where that was
    not recorded; ``agreed`` says how often the ranks told each other their sizes.
    """

    label: str
    code: CodeName
    number: int
    outcome: str
    is_dynamic: bool
    graph: str
    inputs: tuple[Tensor, ...]
    changes: tuple[Change, ...]
    caches: tuple[tuple[str, int], ...]
    collectives: tuple[str, ...] | None
    tensors: str
    agreed: int
    verdict: str
    title: str

    @property
    def is_recompile(self) -> bool:
        return bool(self.changes) or self.number > 0

    @property
    def key(self) -> tuple[CodeName, int]:
        """What the same step has on every rank, though ids and order may differ."""
        return self.code, self.number


class Spent(NamedTuple):
    """The times of one step in seconds: of the compile, and as Inductor estimates one run of its graphs (None where not recorded)."""

    compile: float
    runtime: float | None = None


@dataclass(frozen=True, slots=True)
class Executed:
    """In which order graphs ran, by the labels of their compiles: the first ones, how many there were, and a digest of all."""

    first: tuple[str, ...]
    count: int
    digest: str


class RankSummary(NamedTuple):
    """One rank: every compile in order, its times beside it. ``ended`` is the time of the last record, as it stands in the file.

    ``executed`` is None where the order of graphs was not recorded. ``parity`` holds (label, difference of the code from the schedule) of
    the graphs whose generated code does not call what was scheduled. ``processes`` counts those that wrote under this rank.
    """

    number: int
    process: int
    torch_version: str
    steps: tuple[Step, ...]
    spent: tuple[Spent, ...]
    executed: Executed | None = None
    parity: tuple[tuple[str, Parity], ...] = ()
    ended: str = ""
    frames: int = 0
    processes: int = 1
    has_collectives_on: bool = False

    @property
    def seconds(self) -> float:
        return sum(item.compile for item in self.spent)

"""The summary of one rank of a distributed job, small enough to be sent between processes and compared with the others.

Named tuples are pickled, hashed and compared faster than dataclasses.
"""

from dataclasses import dataclass
from typing import NamedTuple

from shapelog.reading.payloads.collectives import Parity
from shapelog.reading.payloads.source_names import Source


class CodeName(NamedTuple):
    """A piece of code, the same on every rank. ``qualifier`` is the class or the caller of code in a library, "" for other code."""

    file: str
    line: int
    name: str
    qualifier: str = ""


class Change(NamedTuple):
    """A cause of a recompile, in the words of the report, without addresses: these differ in every process."""

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
    that Inductor scheduled, None if not recorded; ``tensors`` is a digest of what its operations return, "" if not recorded;
    ``size_exchanges`` counts how often the ranks sent each other their sizes. ``has_id`` is False in a text log without ids.
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
    size_exchanges: int
    verdict: str
    title: str
    has_id: bool = True

    @property
    def reference(self) -> str:
        """How a text refers to it, as ``Compile.reference`` does."""
        return self.label if self.has_id else f"no. {self.number + 1}"

    @property
    def is_recompile(self) -> bool:
        return bool(self.changes) or self.number > 0

    @property
    def key(self) -> tuple[CodeName, int]:
        """Identifies the same step on every rank, though compile ids and order may differ."""
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
    """One rank: every compile in order, with its times in ``spent``. ``ended`` is the time of the last record, as written in the file.

    ``executed`` is None where the order of graphs was not recorded. ``parity`` holds (label, difference of the code from the schedule) of
    the graphs whose generated code does not call what was scheduled. ``processes`` counts those that wrote a trace for this rank.
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

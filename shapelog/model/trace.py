"""Trace · Rank · Frame · Compile: what happened in one run, typed and immutable.

Payloads (guards, graphs) stay in the file until a question needs them, and each distinct one is parsed once.

What is compared by its values is a named tuple: a dataclass takes half a millisecond to make, a hundred of them a twelfth of a report.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from shapelog.display import in_notebook
from shapelog.errors import Problem
from shapelog.model.compile import Compile
from shapelog.model.frame import Frame, short_name
from shapelog.model.ids import TorchVersion, parse_version
from shapelog.model.payloads import CodeStateRecord, Payloads
from shapelog.model.vllm import VllmCompilation
from shapelog.reading.ledger import Ledger
from shapelog.reading.reader import Reader
from shapelog.reading.records import Config, Stack
from shapelog.reading.scanner import Span
from shapelog.reading.text_logs.contents import LogContents
from shapelog.text import plural

if TYPE_CHECKING:
    from shapelog.model.exports import Export
    from shapelog.model.rank_summary import RankSummary

# What a trace without a version is taken for, by the builder's guess.
UNKNOWN_VERSION = "of unknown version"
# The oldest version that is supported.
_OLDEST = TorchVersion(2, 4)


def _counted(frames: tuple[Frame, ...]) -> str:
    return f"{plural(len(frames), 'function')}, {plural(sum(len(frame.entries) for frame in frames), 'compilation')}"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rank:
    """One process: its rank in a distributed run (None outside of one), its process id, its frames in order of first compile.

    ``executed`` are the payloads with the order in which graphs ran, ``inductor_messages`` those of no compile (in text
    logs). ``last_time`` is that of the last record of its file, as it is
    there (``1120 08:27:33.313000``), "" where it cannot be read. ``exports`` are its calls of
    ``torch.export``, ``vllm`` what vLLM compiled in it, and ``compiled_ahead`` has the stack of each graph that
    AOTInductor compiled.
    """

    number: int | None
    process: int
    frames: tuple[Frame, ...]
    payloads: Payloads | None = field(default=None, repr=False)
    executed: tuple[Span, ...] = ()
    inductor_messages: tuple[str, ...] = ()
    last_time: str = ""
    exports: "tuple[Export, ...]" = ()
    vllm: tuple[VllmCompilation, ...] = ()
    compiled_ahead: tuple[Stack, ...] = ()

    def __repr__(self) -> str:
        return f"<Rank {'-' if self.number is None else self.number} (process {self.process}): {_counted(self.frames)}>"

    def _repr_html_(self) -> str:
        return in_notebook("object", self)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """What PGO read and wrote in one process, in that order of time; at least one record."""

    rank: int | None
    process: int
    records: tuple[CodeStateRecord, ...]

    @property
    def read(self) -> CodeStateRecord | None:
        """What was known at the start, from an earlier run; None in a cold one (what is read after a reset is its own)."""
        return self.records[0] if self.records[0].is_read else None

    @property
    def last(self) -> CodeStateRecord:
        """What was known at the end."""
        return self.records[-1]


class Summarized(NamedTuple):
    """A file of a large job that is known by the summary of its ranks alone, what became of its bytes, and what could not be used."""

    ranks: "tuple[RankSummary, ...]"
    account: Ledger
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Trace:
    """One run. ``torch_version`` is as written, or "" ; ``version_guess`` has in words what the records look like without one.

    ``ranks`` are read in full. Of a large job those are a few that represent all: ``representatives`` has for each of them the ranks that
    did the same, itself among them; ``total_seconds`` the seconds that all those spent on each compile, by rank and label; and
    ``summarized`` the files of the others. ``unread`` are ranks whose file could not be read at all.
    """

    name: str
    ranks: tuple[Rank, ...]
    torch_version: str
    version_guess: str
    config: Config
    notes: tuple[str, ...]
    readers: tuple[Reader, ...] = field(repr=False, compare=False)
    build_problems: tuple[Problem, ...] = ()
    summarized: tuple[Summarized, ...] = ()
    representatives: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    total_seconds: Mapping[tuple[int, str], float] = field(default_factory=dict)
    unread: tuple[int, ...] = ()

    def __repr__(self) -> str:
        version = self.torch_version or self.version_guess
        return f"<Trace {short_name(self.name)}: torch {short_name(version)}, {_counted(self.frames)}>"

    def _repr_html_(self) -> str:
        return in_notebook("trace", self)

    @property
    def rank_count(self) -> int:
        """How many ranks, or processes outside of a distributed run, in full or not."""
        return len(self._own) + sum(len(item.ranks) for item in self.summarized)

    @property
    def covered_ranks(self) -> int:
        """How many of them are read in full, or did the same as one that is."""
        return sum(self.rank_weight(number) for number, _ in self._own)

    @property
    def _own(self) -> frozenset[tuple[int | None, int]]:
        """Those that are read in full; several processes can have one rank."""
        return frozenset((rank.number, 0 if rank.number is not None else rank.process) for rank in self.ranks)

    def represented_ranks(self, rank: int | None) -> tuple[int, ...]:
        """The ranks that one which is read in full represents, itself among them; () outside of a distributed run."""
        return self.representatives.get(rank, (rank,)) if rank is not None else ()

    def rank_weight(self, rank: int | None) -> int:
        """How many ranks one represents, 1 outside of a distributed run."""
        return len(self.represented_ranks(rank)) or 1

    def seconds(self, compile: Compile) -> float:
        """What a compile took on all the ranks that its own represents."""
        return self.total_seconds.get((compile.rank, compile.label), compile.seconds) if compile.rank is not None else compile.seconds

    @property
    def frames(self) -> tuple[Frame, ...]:
        return tuple([frame for rank in self.ranks for frame in rank.frames])

    @property
    def version(self) -> TorchVersion:
        """Of PyTorch; without one in the trace the oldest that its records look like."""
        guess = None if self.version_guess.endswith("older") else parse_version(self.version_guess)
        return parse_version(self.torch_version) or max(guess or _OLDEST, _OLDEST)

    @property
    def is_text(self) -> bool:
        """Whether all of it comes from text logs, which have times only where they have metrics."""
        return bool(self.readers) and all(reader.trace.log is not None for reader in self.readers)

    @property
    def what_is_missing(self) -> tuple[str, ...]:
        """What text logs hold and leave out, and how to record that, a text for each; () for traces."""
        return tuple(dict.fromkeys(log.note for log in self.text_logs))

    @property
    def text_logs(self) -> tuple[LogContents, ...]:
        """What each text log holds; () for traces."""
        return tuple(reader.trace.log for reader in self.readers if reader.trace.log is not None)

    @property
    def breaks_alone(self) -> int:
        """How many graph breaks there are in texts that hold nothing else and name no compilation; else 0."""
        logs = self.text_logs if self.is_text else ()
        has_ids = any(compile.shown_label for frame in self.frames for compile in frame.compiles)
        return 0 if has_ids or not all(log.has_only_breaks for log in logs) else sum(log.break_count for log in logs)

    @property
    def shows_limit_hits(self) -> bool:
        """Whether it would show that the recompile limit was reached: torch 2.4 and 2.5 write that into their log alone."""
        return self.is_text or not self.version_guess.endswith("older")

    @property
    def supports_dynamic_sources(self) -> bool:
        """Whether this torch reads TORCH_COMPILE_DYNAMIC_SOURCES."""
        return self.version.reads_sources

    @property
    def code_states(self) -> tuple[Profile, ...]:
        """PGO's state in each process before and after, without those that neither read nor wrote a state."""
        found = []
        for rank in self.ranks:
            records = [record for frame in rank.frames for compile in frame.compiles for record in compile.code_states]
            if records:
                found.append(Profile(rank.number, rank.process, tuple(sorted(records, key=lambda record: record.span.start))))
        return tuple(found)

    @property
    def exports(self) -> "tuple[Export, ...]":
        """The calls of ``torch.export``, in order."""
        return tuple([export for rank in self.ranks for export in rank.exports])

    @property
    def vllm(self) -> tuple[VllmCompilation, ...]:
        """What vLLM compiled, in order; () for the trace of another program."""
        return tuple([compilation for rank in self.ranks for compilation in rank.vllm])

    @property
    def compiled_ahead(self) -> tuple[Stack, ...]:
        """The stack of each graph that AOTInductor compiled, in order."""
        return tuple([stack for rank in self.ranks for stack in rank.compiled_ahead])

    @property
    def outside_frames(self) -> str:
        """What was compiled outside of frames: ``2 exports``, ``1 ahead-of-time compilation``; "" where nothing was."""
        pieces = sum(len(item.pieces) for item in self.vllm)
        of_vllm = plural(pieces, "piecewise compilation") if pieces else plural(len(self.vllm), "model part") if self.vllm else ""
        exports = plural(len(self.exports), "export") if self.exports else ""
        ahead = plural(len(self.compiled_ahead), "ahead-of-time compilation") if self.compiled_ahead else ""
        return " and ".join(filter(None, (exports, ahead, f"{of_vllm} of vLLM" if of_vllm else "")))

    @property
    def why_no_frames(self) -> str:
        """Why nothing can have recompiled, "" where a frame was compiled."""
        if self.frames:
            return ""
        if self.outside_frames:
            return f"the trace has {self.outside_frames}, but no frame that could recompile"
        return "no compilation is in this log" if self.is_text else "nothing was compiled"

    @property
    def compiles(self) -> tuple[Compile, ...]:
        return tuple([compile for frame in self.frames for compile in frame.compiles])

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that could not be used, including what was found when payloads were read later."""
        read = tuple(problem for reader in self.readers for problem in reader.problems())
        return read + tuple(problem for item in self.summarized for problem in item.problems) + self.build_problems

    @property
    def accounts(self) -> tuple[Ledger, ...]:
        """What became of every byte and record of each file."""
        return (*(reader.ledger.account() for reader in self.readers), *(item.account for item in self.summarized))


def merged(traces: Sequence[Trace]) -> Trace:
    """Several traces as one, their ranks side by side; under the oldest of their torch versions, whose rules hold for all."""
    if len(traces) == 1:
        return traces[0]
    oldest = min(traces, key=lambda trace: trace.version)
    return replace(
        oldest,
        name=", ".join(trace.name for trace in traces),
        ranks=tuple(rank for trace in traces for rank in trace.ranks),
        notes=tuple(dict.fromkeys(note for trace in traces for note in trace.notes)),
        readers=tuple(reader for trace in traces for reader in trace.readers),
        build_problems=tuple(problem for trace in traces for problem in trace.build_problems),
        summarized=tuple(item for trace in traces for item in trace.summarized),
        representatives={rank: numbers for trace in traces for rank, numbers in trace.representatives.items()},
        total_seconds={key: spent for trace in traces for key, spent in trace.total_seconds.items()},
        unread=tuple(rank for trace in traces for rank in trace.unread),
    )

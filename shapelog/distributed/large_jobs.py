"""Many ranks → one trace: workers summarize each of them, and a few representative ranks are read in full here."""

import os
import pickle
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from shapelog.distributed.executor import Executor, LostTask, gather
from shapelog.distributed.summarize import summaries
from shapelog.errors import DATA_LOSS, Problem, ShapelogError
from shapelog.model.load import build, name_of, with_logs
from shapelog.model.rank_summary import RankSummary, Step, Tensor
from shapelog.model.trace import Summarized, Trace
from shapelog.reading.compression import DamagedError, quota_for
from shapelog.reading.inputs import MAX_RANKS_IN_FULL, InputOptions, Selection, select
from shapelog.reading.open_trace import open_selection, open_trace
from shapelog.reading.reader import Reader
from shapelog.reading.trace_files import WEB_TIMEOUT, ProgressCallback, TraceFile
from shapelog.recompiles.explain import explain_trace
from shapelog.text import plural_noun, rank_list

# Ranks of this many behaviours are read in full even if the first ones have every cause that the others have.
_MAX_BEHAVIOURS = 8
# Of the files that could not be read.
_MAX_NAMED_FILES = 6


@dataclass(frozen=True, slots=True)
class Task:
    """One file for a worker: its index among all, and a path or a URL that means the same there."""

    index: int
    address: str
    name: str
    rank: int
    size: int
    max_bytes: int | None
    is_strict: bool
    timeout: float = WEB_TIMEOUT


@dataclass(frozen=True, slots=True)
class PackedRank:
    """A summary to be sent between processes. Each step is pickled by itself, with a digest: most ranks have the same, unpickled once."""

    rest: RankSummary
    steps: tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of one file, and the summaries of the ranks in it."""

    file: Summarized
    ranks: tuple[PackedRank, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How the ranks of a job are read; without an executor, in this process. ``max_bytes`` and ``timeout`` are as in ``InputOptions``."""

    executor: Executor | None = None
    is_strict: bool = False
    debug: bool = False
    max_bytes: int | None = None
    timeout: float = WEB_TIMEOUT
    progress: ProgressCallback | None = None
    with_records: bool = False


def read_file(task: Task) -> FileResult | LostTask:
    """In a worker: read one file, explain its recompiles, and summarize its ranks. It is LostTask if it cannot be opened."""
    try:
        reader = Reader(open_trace(_file(task)), task.is_strict)
    except ShapelogError as error:
        return LostTask(str(error).removeprefix(f"{task.name}: "))
    try:
        trace = build(Selection((TraceFile(None, task.name, task.rank),)), [reader])
    except ShapelogError as error:  # not one record
        problem = Problem("foreign-file", str(error).removeprefix(f"{task.name}: "), task.name, severity=DATA_LOSS)
        return FileResult(Summarized((), reader.ledger.account(), (*reader.problems(), problem)))
    explanations = explain_trace(trace)
    ranks = summaries(explanations, 1)
    rest = tuple(rank._replace(steps=()) for rank in ranks)
    file = Summarized(rest, trace.accounts[0], (*trace.problems, *explanations.problems))
    return FileResult(file, tuple(PackedRank(short, tuple(map(_pack, rank.steps))) for short, rank in zip(rest, ranks, strict=True)))


def _file(task: Task) -> TraceFile:
    if "://" not in task.address:
        return TraceFile(Path(task.address), task.name, task.rank, None, quota_for(task.name, task.size, task.max_bytes))
    (file,) = select(task.address, InputOptions(max_bytes=task.max_bytes, timeout=task.timeout)).files
    return file._replace(name=task.name, rank=task.rank)


def _pack(step: Step) -> tuple[bytes, bytes]:
    text = pickle.dumps(step, pickle.HIGHEST_PROTOCOL)
    return blake2b(text, digest_size=16).digest(), text


class _StepPool:
    """Every distinct step of a job once, and every distinct tensor."""

    def __init__(self) -> None:
        self.by_digest: dict[bytes, Step] = {}
        self.steps: dict[Step, Step] = {}
        self.tensors: dict[Tensor, Tensor] = {}

    def unpack(self, packed: PackedRank) -> RankSummary:
        return packed.rest._replace(steps=tuple(self._step(digest, text) for digest, text in packed.steps))

    def _step(self, digest: bytes, text: bytes) -> Step:
        found = self.by_digest.get(digest)
        if found is None:
            step: Step = pickle.loads(text)
            step = step._replace(inputs=tuple(self.tensors.setdefault(item, item) for item in step.inputs))
            found = self.by_digest[digest] = self.steps.setdefault(step, step)
        return found


def load_large_job(selection: Selection, options: ReadOptions) -> Trace:
    """A large job. Of its ranks a few are read in full: together they show every behaviour, or at least every cause of any rank.

    Every file is first summarized by a worker; a file that cannot be read is a problem of the trace. Files without a rank in their name
    are read in full. Raises ShapelogError if no file can be read.
    """
    job = _LargeJob([file for file in selection.files if file.rank is not None], options)
    job.summarize()
    if not job.ranks and len(job.files) == len(selection.files):
        raise job.error()
    numbers = [rank.number for rank in job.ranks]
    members = _by_leader(choose_representatives(job.ranks), numbers)
    in_full = {job.file_indexes[leader] for leader in members}
    trace = _read_in_full(selection, job, in_full)
    represented = {numbers[leader]: tuple(sorted(numbers[place] for place in places)) for leader, places in members.items()}
    leader_numbers = {place: numbers[leader] for leader, places in members.items() for place in places}
    return replace(
        trace,
        name=name_of([file.name for file in selection.files]),
        notes=(*trace.notes, *job.notes, *_notes(job.ranks, represented, leader_numbers), *_unread_notes(job.files, job.refusals)),
        summarized=tuple(item for index, item in sorted(job.results.items()) if index not in in_full),
        representatives=represented,
        total_seconds=_total_seconds(job.ranks, leader_numbers),
        unread=(*trace.unread, *job.unread_ranks()),
    )


def _read_in_full(selection: Selection, job: "_LargeJob", indexes: set[int]) -> Trace:
    files = [file for index, file in enumerate(job.files) if index in indexes]
    files += [file for file in selection.files if file.rank is None]
    for index in indexes.intersection(job.unpacked):  # members of an archive are unpacked a second time
        quota = job.files[index].quota
        if quota is not None:
            quota.release(job.unpacked[index][0])
    unread = [
        Problem("unreadable-file", reason, job.files[index].name, severity=DATA_LOSS) for index, reason in sorted(job.refusals.items())
    ]
    kept, opened, logs = open_selection(Selection(tuple(files), selection.notes, (*selection.problems, *unread)))
    readers = [Reader(item, job.options.is_strict, job.options.with_records) for item in opened]
    return with_logs(build(kept, readers, job.options.debug), logs)


@dataclass(slots=True)
class _LargeJob:
    """The files of a job: by index the result of each, or why there is none; then all ranks, and the index of the file of each."""

    files: Sequence[TraceFile]
    options: ReadOptions
    results: dict[int, Summarized] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)
    ranks: list[RankSummary] = field(default_factory=list)
    file_indexes: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _steps: _StepPool = field(default_factory=_StepPool)
    # Of members of archives: the unpacked bytes, and what is damaged ("" if nothing is).
    unpacked: dict[int, tuple[int, str]] = field(default_factory=dict)

    def summarize(self) -> None:
        executor, progress = self.options.executor, self.options.progress
        sizes = [_size(file) for file in self.files]
        total, done = sum(sizes), 0
        with ExitStack() as stack:
            tasks = self._tasks(sizes, stack)
            here = ((task, read_file(task)) for task in tasks)
            results = gather(executor, read_file, tasks, note=self.notes.append) if executor else here
            stack.callback(results.close)
            for task, result in results:
                if self._is_in_archive(task.index):
                    os.unlink(task.address)
                self._add(task.index, result)
                done += sizes[task.index]
                if progress:
                    progress(f"{len(self.results) + len(self.refusals):,} of {len(self.files):,} ranks", done, total)
        if progress:
            progress("", done, -1)
        for index, item in sorted(self.results.items()):
            self.ranks += item.ranks
            self.file_indexes += [index] * len(item.ranks)

    def _add(self, index: int, result: FileResult | LostTask) -> None:
        if isinstance(result, LostTask):
            self.refusals[index] = result.reason
        else:
            damage = self.unpacked.get(index, (0, ""))[1]
            problems = (Problem("damaged-archive", damage, self.files[index].name, severity=DATA_LOSS),) if damage else ()
            ranks = tuple(map(self._steps.unpack, result.ranks))
            self.results[index] = result.file._replace(ranks=ranks, problems=(*problems, *result.file.problems))

    def error(self) -> ShapelogError:
        """Why not one file can be read."""
        foreign = {index: item.problems[-1].message for index, item in self.results.items() if item.problems}
        index, reason = min((self.refusals or foreign).items(), default=(0, "no rank in it"))
        others = f"; nor can the other {len(self.files) - 1} files be read" if self.files[1:] else ""
        return ShapelogError(f"{self.files[index].name}: {reason}{others}")

    def unread_ranks(self) -> Iterator[int]:
        read = set(self.file_indexes)
        return (file.rank for index, file in enumerate(self.files) if file.rank is not None and index not in read)

    def _is_in_archive(self, index: int) -> bool:
        """Only this process reads archives, apart from those behind a URL."""
        file = self.files[index]
        return file.path is None and not (file.entry and file.entry.url)

    def _tasks(self, sizes: Sequence[int], stack: ExitStack) -> Iterator[Task]:
        """Each file as a path or URL that a worker can open. Members of an archive are unpacked one by one, as tasks are taken."""
        folder = ""
        for index, file in enumerate(self.files):
            if self._is_in_archive(index):
                folder = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="shapelog-"))
                address = f"{folder}/{index}"
                try:
                    self.unpacked[index] = _unpack(file, address)
                except ShapelogError as error:
                    self.refusals[index] = str(error).removeprefix(f"{file.name}: ")
                    continue
            else:
                address = str(file.path.absolute()) if file.path else file.entry.url if file.entry else ""
            yield Task(
                index=index,
                address=address,
                name=file.name,
                rank=file.rank or 0,
                size=sizes[index],
                max_bytes=self.options.max_bytes,
                timeout=self.options.timeout,
                is_strict=self.options.is_strict,
            )


def _size(file: TraceFile) -> int:
    if file.entry:
        return max(0, file.entry.size)
    try:
        return file.path.stat().st_size if file.path else 0
    except OSError:  # it is gone, which is reported when it is read
        return 0


def _unpack(file: TraceFile, address: str) -> tuple[int, str]:
    assert file.entry
    quota = file.quota or quota_for(file.name, file.entry.size, None)
    size, damage = 0, ""
    with open(address, "wb") as plain:
        try:
            for chunk in file.entry.chunks():
                quota.reserve(len(chunk))
                size += plain.write(chunk)
        except DamagedError as error:
            damage = str(error)
        except OSError as error:
            raise ShapelogError(f"cannot unpack: {error.strerror}") from error
    return size, damage


def choose_representatives(ranks: Sequence[RankSummary]) -> list[list[int]]:
    """Indexes of ranks of the same behaviour (sizes and times may differ), the first of each to represent the others.

    Of many behaviours some are chosen: that of most ranks, the one with most compiles, and as many as needed to include every cause and
    outcome that any rank has in any code, MAX_RANKS_IN_FULL at most.
    """
    by_steps: dict[tuple[Step, ...], list[int]] = {}
    for place, rank in enumerate(ranks):
        by_steps.setdefault(rank.steps, []).append(place)
    by_behaviour: dict[tuple[object, ...], list[int]] = {}
    for steps, places in by_steps.items():
        by_behaviour.setdefault(tuple(map(behaviour_key, steps)), []).extend(places)
    left = sorted(map(sorted, by_behaviour.values()), key=lambda members: -len(members))
    facts = {members[0]: frozenset(fact for step in ranks[members[0]].steps for fact in _facts(step)) for members in left}
    chosen: list[list[int]] = []
    covered: set[object] = set()
    while left and len(chosen) < MAX_RANKS_IN_FULL:
        best = left[0]
        if len(chosen) == 1:
            best = max(left, key=lambda members: len(ranks[members[0]].steps))
        elif chosen:
            best = max(left, key=lambda members: (len(facts[members[0]] - covered), len(members)))
            if not facts[best[0]] - covered and len(chosen) >= _MAX_BEHAVIOURS:
                break
        left.remove(best)
        chosen.append(best)
        covered |= facts[best[0]]
    return chosen


def behaviour_key(step: Step) -> object:
    causes = tuple((item.code, item.axis) for item in step.changes)
    return step.label, step.code, step.outcome, step.is_dynamic, step.verdict, causes


def _facts(step: Step) -> Iterator[object]:
    yield step.code, step.outcome, step.is_dynamic
    for change in step.changes:
        yield step.code, change.code, change.axis, step.verdict


def _by_leader(groups: Sequence[list[int]], numbers: Sequence[int]) -> dict[int, list[int]]:
    """The groups by the member that represents each, no two of the same number; a group without a member of a free number is left out."""
    members: dict[int, list[int]] = {}
    taken: set[int] = set()  # where several runs are read as one, a number occurs more than once
    for group in groups:
        leader = next((place for place in group if numbers[place] not in taken), None)
        if leader is not None:
            taken.add(numbers[leader])
            members[leader] = group
    return members


def _total_seconds(ranks: Sequence[RankSummary], leader_numbers: dict[int, int]) -> dict[tuple[int, str], float]:
    """Seconds of each compile on all ranks of a group, by the number of the leader and the label of the compile."""
    found: dict[tuple[int, str], float] = {}
    for place, number in sorted(leader_numbers.items()):
        for step, spent in zip(ranks[place].steps, ranks[place].spent, strict=True):
            found[number, step.label] = found.get((number, step.label), 0.0) + spent.compile
    return found


def _notes(ranks: Sequence[RankSummary], represented: dict[int, tuple[int, ...]], leader_numbers: dict[int, int]) -> Iterator[str]:
    others = [rank for place, rank in enumerate(ranks) if place not in leader_numbers]
    note = f"{len(ranks):,} ranks are compared; the frames and recompilations of {rank_list(represented)} are shown in full"
    if len(represented) < len(ranks):
        rest = f"{len(leader_numbers) - len(represented):,}" if others else "each"
        note += f", and {rest} of the others compiled the same for the same reasons"
    yield note
    if others:
        shown = {fact for place in leader_numbers for step in ranks[place].steps for fact in _facts(step)}
        more = {fact for rank in others for step in rank.steps for fact in _facts(step)} - shown
        what = (
            f"{len(more)} of their causes and outcomes occur on none of the ranks shown"
            if more
            else "all their causes occur on a rank that is shown"
        )
        yield f"{len(others):,} {plural_noun(len(others), 'more rank')} compiled in another order, or more or less often; {what}"


def _unread_notes(files: Sequence[TraceFile], refusals: dict[int, str]) -> Iterator[str]:
    for index in sorted(refusals)[:_MAX_NAMED_FILES]:
        yield f"{files[index].name} is not read: {refusals[index]}"
    if len(refusals) > _MAX_NAMED_FILES:
        yield f"{len(refusals) - _MAX_NAMED_FILES} more files are not read; see the health of the trace"

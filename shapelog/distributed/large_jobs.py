"""Many ranks → one trace: workers read and sum up each of them, and those that stand for all are read in full here."""

import os
import pickle
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from shapelog.distributed.executor import Executor, Lost, gather
from shapelog.distributed.summarize import summaries
from shapelog.errors import DATA_LOSS, Problem, ShapelogError
from shapelog.model.load import build, name_of
from shapelog.model.rank_summary import RankSummary, Step, Tensor
from shapelog.model.trace import Summarized, Trace, account_of
from shapelog.reading.compression import DamagedError, quota_for
from shapelog.reading.inputs import MAX_RANKS_IN_FULL, InputOptions, Selection, select
from shapelog.reading.open_trace import open_all, open_trace
from shapelog.reading.reader import Reader
from shapelog.reading.trace_files import ProgressCallback, TraceFile
from shapelog.recompiles.explain import explain_trace
from shapelog.text import plural_noun, rank_list

# So many kinds of ranks are read in full even where the first of them have every cause that the others have.
_KINDS = 8
# So many files are named of those that could not be read.
_NAMED = 6


@dataclass(frozen=True, slots=True)
class Task:
    """One file for a worker: its place among all, and a path or a URL that means the same there. ``most`` as ``InputOptions.max_bytes``."""

    place: int
    address: str
    name: str
    rank: int
    size: int
    most: int | None
    is_strict: bool


@dataclass(frozen=True, slots=True)
class Packed:
    """A summary on its way between processes: each step apart behind a digest, so that what is known already is not unpacked again."""

    rest: RankSummary
    steps: tuple[tuple[bytes, bytes], ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """What a worker says of one file: of its ranks, or why there is nothing to say."""

    ranks: tuple[Packed, ...] = ()
    file: Summarized | None = None
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class How:
    """How the ranks of a job are read: ``tell`` hears of the progress, ``most`` is as ``InputOptions.max_bytes``.

    Without workers they are read here.
    """

    executor: Executor | None = None
    is_strict: bool = False
    debug: bool = False
    most: int | None = None
    tell: ProgressCallback | None = None
    with_records: bool = False


def sum_up(task: Task) -> Sum:
    """The work of a worker: read one file, explain its recompiles, and keep what others are held against."""
    try:
        reader = Reader(open_trace(_file(task)), task.is_strict)
    except ShapelogError as error:
        return Sum(refusal=str(error).removeprefix(f"{task.name}: "))
    try:
        trace = build(Selection((TraceFile(None, task.name, task.rank),)), [reader])
    except ShapelogError as error:  # not one record
        problem = Problem("foreign-file", str(error).removeprefix(f"{task.name}: "), task.name, severity=DATA_LOSS)
        return Sum(file=Summarized((), account_of(reader.ledger), (*reader.problems(), problem)))
    explained = explain_trace(trace)
    ranks = summaries(explained, 1)
    rest = tuple(rank._replace(steps=()) for rank in ranks)
    file = Summarized(rest, trace.accounts[0], (*trace.problems, *explained.problems))
    return Sum(tuple(Packed(one, tuple(map(_packed, rank.steps))) for one, rank in zip(rest, ranks, strict=True)), file)


def _file(task: Task) -> TraceFile:
    if "://" not in task.address:
        return TraceFile(Path(task.address), task.name, task.rank, None, quota_for(task.name, task.size, task.most))
    (file,) = select(task.address, InputOptions(max_bytes=task.most)).files
    return file._replace(name=task.name, rank=task.rank)


def _packed(step: Step) -> tuple[bytes, bytes]:
    text = pickle.dumps(step, pickle.HIGHEST_PROTOCOL)
    return blake2b(text, digest_size=16).digest(), text


class _Known:
    """Steps that came before: each distinct one is unpacked and kept once, and so is each tensor."""

    def __init__(self) -> None:
        self.by_digest: dict[bytes, Step] = {}
        self.steps: dict[Step, Step] = {}
        self.tensors: dict[Tensor, Tensor] = {}

    def unpacked(self, packed: Packed) -> RankSummary:
        return packed.rest._replace(steps=tuple(self._step(digest, text) for digest, text in packed.steps))

    def _step(self, digest: bytes, text: bytes) -> Step:
        found = self.by_digest.get(digest)
        if found is None:
            step: Step = pickle.loads(text)
            step = step._replace(inputs=tuple(self.tensors.setdefault(item, item) for item in step.inputs))
            found = self.by_digest[digest] = self.steps.setdefault(step, step)
        return found


def fold(selection: Selection, how: How) -> Trace:
    """A large job, of which a few ranks are read in full: those that show each kind of rank, and each cause that any rank has.

    Every file is read and summed up by a worker first; one that is lost on the way is a problem of the trace. Files without a rank in
    their name are read here. Raises ShapelogError when not one file can be read.
    """
    files = [file for file in selection.files if file.rank is not None]
    job = _Job(files, how)
    job.run()
    sums, refusals = job.sums, job.refusals
    ranks = [(index, rank) for index, item in sorted(sums.items()) for rank in item.ranks]
    if not ranks and len(files) == len(selection.files):
        foreign = {index: item.problems[-1].message for index, item in sums.items() if item.problems}
        index, reason = min((refusals or foreign).items(), default=(0, "no rank in it"))
        raise ShapelogError(f"{files[index].name}: {reason}" + (f"; nor can the other {len(files) - 1} files be read" if files[1:] else ""))
    groups = _told_apart(kinds_of([rank for _, rank in ranks]), [rank.number for _, rank in ranks])
    whole = {ranks[members[0]][0] for members in groups}
    chosen = [file for index, file in enumerate(files) if index in whole]
    chosen += [file for file in selection.files if file.rank is None]
    for index in whole:  # these are unpacked once more
        job.give_back(index)
    readers = [Reader(opened, how.is_strict, how.with_records) for opened in open_all(chosen)]
    problems = tuple(
        Problem("unreadable-file", reason, files[index].name, severity=DATA_LOSS) for index, reason in sorted(refusals.items())
    )
    trace = build(Selection(tuple(chosen), selection.notes, (*selection.problems, *problems)), readers, how.debug)
    told = {index for index, _ in ranks}
    alike = {ranks[members[0]][1].number: tuple(sorted(ranks[member][1].number for member in members)) for members in groups}
    standing = {member: ranks[members[0]][1].number for members in groups for member in members}
    summed = [rank for _, rank in ranks]
    return replace(
        trace,
        name=name_of([file.name for file in selection.files]),
        notes=(*trace.notes, *_notes(summed, alike, standing), *_lost_notes(files, refusals)),
        summarized=tuple(item for index, item in sorted(sums.items()) if index not in whole),
        representatives=alike,
        total_seconds=_together(summed, standing),
        unread=(*trace.unread, *(file.rank for index, file in enumerate(files) if file.rank is not None and index not in told)),
    )


@dataclass(slots=True)
class _Job:
    """Files while workers read them: by their places what is known of each, or why nothing is.

    ``unpacked`` holds of those in an archive how many bytes there were, and how they are damaged, "" for not at all.
    """

    files: Sequence[TraceFile]
    how: How
    sums: dict[int, Summarized] = field(default_factory=dict)
    refusals: dict[int, str] = field(default_factory=dict)
    known: _Known = field(default_factory=_Known)
    unpacked: dict[int, tuple[int, str]] = field(default_factory=dict)

    def run(self) -> None:
        sizes = [_size(file) for file in self.files]
        total, done = sum(sizes), 0
        tell = self.how.tell
        with ExitStack() as stack:
            tasks = self._tasks(sizes, stack)
            results = gather(self.how.executor, sum_up, tasks) if self.how.executor else ((task, sum_up(task)) for task in tasks)
            stack.callback(results.close)
            for task, result in results:
                if self._is_here(task.place):
                    os.unlink(task.address)
                self._take(task.place, result)
                done += sizes[task.place]
                if tell:
                    tell(f"{len(self.sums) + len(self.refusals):,} of {len(self.files):,} ranks", done, total)
        if tell:
            tell("", done, -1)

    def _take(self, index: int, result: Sum | Lost) -> None:
        if isinstance(result, Lost):
            self.refusals[index] = result.reason
        elif result.file is None:
            self.refusals[index] = result.refusal
        else:
            damage = self.unpacked.get(index, (0, ""))[1]
            lost = (Problem("damaged-archive", damage, self.files[index].name, severity=DATA_LOSS),) if damage else ()
            ranks = tuple(map(self.known.unpacked, result.ranks))
            self.sums[index] = result.file._replace(ranks=ranks, problems=(*lost, *result.file.problems))

    def give_back(self, index: int) -> None:
        """What was unpacked of a file lies on no disk any more."""
        quota = self.files[index].quota
        if quota is not None:
            quota.release(self.unpacked.get(index, (0, ""))[0])

    def _is_here(self, index: int) -> bool:
        """Whether it lies in an archive, which only this process reads."""
        file = self.files[index]
        return file.path is None and not (file.entry and file.entry.url)

    def _tasks(self, sizes: Sequence[int], stack: ExitStack) -> Iterator[Task]:
        """Each file as something that a worker can open. What lies in an archive is unpacked here, as much as is being worked on."""
        folder = ""
        for index, file in enumerate(self.files):
            if self._is_here(index):
                folder = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="shapelog-"))
                try:
                    address = f"{folder}/{index}"
                    self.unpacked[index] = _unpacked(file, address)
                except ShapelogError as error:
                    self.refusals[index] = str(error).removeprefix(f"{file.name}: ")
                    continue
            else:
                address = str(file.path.absolute()) if file.path else file.entry.url if file.entry else ""
            yield Task(index, address, file.name, file.rank or 0, sizes[index], self.how.most, self.how.is_strict)


def _size(file: TraceFile) -> int:
    if file.entry:
        return max(0, file.entry.size)
    try:
        return file.path.stat().st_size if file.path else 0
    except OSError:  # it is gone, as reading it is going to tell
        return 0


def _unpacked(file: TraceFile, address: str) -> tuple[int, str]:
    """A member of an archive as a file of its own: how many bytes, and how they are damaged, "" for not at all."""
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


def kinds_of(ranks: Sequence[RankSummary]) -> list[list[int]]:
    """Places of ranks that compiled the same for the same reasons (sizes and times apart), the first of each to stand for all.

    Of many kinds some are taken: the one of most ranks, one that compiled most often, and as many as it takes to have every cause and
    outcome that any rank has in any code, MAX_RANKS_IN_FULL at most.
    """
    numbers: dict[object, int] = {}
    by_step: dict[int, int] = {}
    for rank in ranks:
        for step in rank.steps:
            if id(step) not in by_step:
                by_step[id(step)] = numbers.setdefault(_deed(step), len(numbers))
    kinds: dict[tuple[int, ...], list[int]] = {}
    for place, rank in enumerate(ranks):
        kinds.setdefault(tuple(by_step[id(step)] for step in rank.steps), []).append(place)
    left = sorted(kinds.values(), key=lambda members: -len(members))
    facts = {members[0]: frozenset(fact for step in ranks[members[0]].steps for fact in _facts(step)) for members in left}
    chosen: list[list[int]] = []
    known: set[object] = set()
    while left and len(chosen) < MAX_RANKS_IN_FULL:
        best = left[0]
        if chosen:
            best = max(left, key=lambda members: (len(facts[members[0]] - known), len(members)))
            if len(chosen) == 1:
                best = max(left, key=lambda members: len(ranks[members[0]].steps))
            elif not facts[best[0]] - known and len(chosen) >= _KINDS:
                break
        left.remove(best)
        chosen.append(best)
        known |= facts[best[0]]
    return chosen


def _deed(step: Step) -> object:
    causes = tuple((item.code, item.axis) for item in step.changes)
    return step.label, step.code, step.outcome, step.is_dynamic, step.verdict, causes


def _facts(step: Step) -> Iterator[object]:
    yield step.code, step.outcome, step.is_dynamic
    for change in step.changes:
        yield step.code, change.code, change.axis, step.verdict


def _told_apart(groups: Sequence[list[int]], numbers: Sequence[int]) -> list[list[int]]:
    """The groups, each led by a member whose number leads no other: where several runs are read as one, ranks come again.

    One that has no such member is left out.
    """
    found: dict[int, list[int]] = {}
    for members in groups:
        first = next((member for member in members if numbers[member] not in found), None)
        if first is not None:
            found[numbers[first]] = [first, *(member for member in members if member != first)]
    return list(found.values())


def _together(ranks: Sequence[RankSummary], standing: dict[int, int]) -> dict[tuple[int, str], float]:
    """Seconds of each compile, by the rank that stands for those that made it (``standing`` by place), and its label."""
    found: dict[tuple[int, str], float] = {}
    for place, first in sorted(standing.items()):
        for step, spent in zip(ranks[place].steps, ranks[place].spent, strict=True):
            found[first, step.label] = found.get((first, step.label), 0.0) + spent.compile
    return found


def _notes(ranks: Sequence[RankSummary], alike: dict[int, tuple[int, ...]], standing: dict[int, int]) -> Iterator[str]:
    """Which ranks are told of in full, and what is true of the others."""
    others = [rank for place, rank in enumerate(ranks) if place not in standing]
    told = f"{len(ranks):,} ranks are compared; frames and recompiles are told of {rank_list(alike)} in full"
    if len(alike) < len(ranks):
        told += f", and {'each' if not others else f'{len(standing) - len(alike):,}'} of the others compiled the same for the same reasons"
    yield told
    if others:
        shown = {fact for place in standing for step in ranks[place].steps for fact in _facts(step)}
        more = {fact for rank in others for step in rank.steps for fact in _facts(step)} - shown
        what = f"{len(more)} of their causes and outcomes are on none of those" if more else "every cause of theirs is on one of those, too"
        yield f"{len(others):,} {plural_noun(len(others), 'more rank')} compiled in yet another order or number; {what}"


def _lost_notes(files: Sequence[TraceFile], refusals: dict[int, str]) -> Iterator[str]:
    for index in sorted(refusals)[:_NAMED]:
        yield f"{files[index].name} is not read: {refusals[index]}"
    if len(refusals) > _NAMED:
        yield f"{len(refusals) - _NAMED} more files are not read, as its health tells"

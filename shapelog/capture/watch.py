"""Follows traces while they are written: which files to read again and when, which compiles are new, and when the job has ended."""

import gc
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote

from shapelog.capture.trace_writers import is_running, writes
from shapelog.errors import ShapelogError
from shapelog.model.compile import Compile, Outcome
from shapelog.model.frame import Frame
from shapelog.model.load import build
from shapelog.model.trace import Rank, Trace, merged
from shapelog.reading.inputs import InputOptions, Selection, select
from shapelog.reading.open_trace import open_trace
from shapelog.reading.reader import Reader
from shapelog.reading.trace_files import TraceFile, is_text_name, is_url, tlparse_logs, torchrun_logs, trace_names
from shapelog.recompiles.recompile import Recompile
from shapelog.report.report import Report, analyze

# Seconds between two checks of the files.
_CHECK_INTERVAL = 0.5
# Seconds between two readings: at least this, and at least this many times as long as the last one took.
_READ_INTERVAL, _READ_FACTOR = 1.0, 2.0
# Seconds without a record after which a job is over: if all its processes run elsewhere; if some ran here and have ended, or its
# directory is gone.
IDLE, _IDLE_ELSEWHERE = 600.0, 60.0
# Pages and JSON, which no record is appended to.
_NO_OUTPUT = (b"<", b"{", b"[{")

# Name, size and time of each file that may be a trace.
State = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class WatchEvent:
    """A compile that has ended. ``when`` is when it began, by the clock of the machine that wrote it: ``1120 08:27:33.313000``, or "".

    One that ``is_whole`` has all that will be written of it.
    """

    when: str
    frame: Frame
    compile: Compile
    recompile: Recompile | None
    is_whole: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The state of a watch at one moment. ``report`` is None until there is a record; ``waiting`` may then be the reason.

    ``watched`` and ``silent`` are seconds: since the watch began, and since something was written last, None if nothing was.
    ``events`` are in order of time; ``fresh`` are those that no earlier snapshot had. ``unread`` are messages on files that cannot be
    read. ``running`` and ``known`` count the processes that wrote: those that run here (None if none ever did), and all. ``ended`` is the
    reason why the watch is over, "" while it is not.
    """

    where: str
    report: Report | None
    waiting: str
    watched: float
    silent: float | None
    events: tuple[WatchEvent, ...]
    fresh: tuple[WatchEvent, ...]
    unfinished: tuple[WatchEvent, ...]
    unread: tuple[str, ...]
    running: int | None
    known: int
    size: int
    ended: str


@dataclass(frozen=True, slots=True)
class _Read:
    """A file as it was when it was last read; ``trace`` is None if it could not be, and ``problem`` the reason."""

    size: int
    written: int
    trace: Trace | None
    problem: str = ""


@dataclass(slots=True)
class Watch:
    """Follows a directory or a file, until ``idle`` seconds without a record (None: as fits the job) or until the job has ended.

    Raises ShapelogError, also later, if it is not a trace or cannot be read.
    """

    where: str
    idle: float | None = None
    debug: bool = False
    options: InputOptions = field(default_factory=InputOptions)
    _checked: State = ()
    _state: State = ()
    _files: dict[Path, _Read] = field(default_factory=dict)
    _report: Report | None = None
    _waiting: str = ""
    _events: tuple[WatchEvent, ...] = ()
    _unfinished: tuple[WatchEvent, ...] = ()
    _reported: set[tuple[int | None, int, str]] = field(default_factory=set)
    _writers: set[int] = field(default_factory=set)
    _alive: int = 0
    _next: float = 0.0
    _grown: float | None = None
    _gone: float | None = None

    def __post_init__(self) -> None:
        if self.where in ("", "-") or is_url(self.where):
            name = self.where or '""'
            raise ShapelogError(f"{name}: only a directory or file on this machine can be watched")

    def snapshots(self) -> Iterator[Snapshot]:
        """One at each check of the files, about two a second, until the job has ended."""
        began = self._next = time.monotonic()
        while True:
            self._alive = sum(map(is_running, self._writers))  # before the files: a process that has ended has written everything
            self._follow()
            self._find_writers()
            now = time.monotonic()
            silent = None if self._grown is None else max(0.0, now - self._grown)
            ended = self._why_over(now - began, silent)
            yield self._snapshot(now - began, silent, ended)
            if ended:
                return
            time.sleep(_CHECK_INTERVAL)

    def _find_writers(self) -> None:
        """Processes count as running from when they have a file open until they end."""
        for path, file in self._files.items():
            for rank in file.trace.ranks if file.trace else ():
                if rank.process not in self._writers and writes(rank.process, path):
                    self._writers.add(rank.process)
                    self._alive += 1

    def _follow(self) -> None:
        """Read the files that have changed, if it is time for that."""
        state = _state_of(Path(self.where))
        started = time.monotonic()
        if self._report is not None and not state:
            self._wait_for_another(started)
            return
        self._gone = None
        if state != self._checked and any(size for _, size, _ in state):
            age = max(0.0, time.time() - max(written for _, _, written in state) / 1e9)
            self._grown = started - (age if self._grown is None else 0.0)
        self._checked = state
        if state == self._state or (started < self._next and not self._is_over):
            return
        self._state = state
        self._read()
        gc.collect()  # traces have reference cycles, and keep their files open until then
        ended = time.monotonic()
        self._next = ended + max(_READ_INTERVAL, _READ_FACTOR * (ended - started))

    def _wait_for_another(self, now: float) -> None:
        """After the directory was deleted: a job that starts again makes it anew. Raises ShapelogError if that takes long."""
        if self._gone is None:
            self._gone, self._checked, self._state = now, (), ()
            self._files, self._events, self._unfinished = {}, (), ()
            self._reported.clear()
            self._writers.clear()
        if now - self._gone >= (_IDLE_ELSEWHERE if self.idle is None else self.idle):
            raise ShapelogError(f"{self.where}: it no longer exists")

    @property
    def _is_over(self) -> bool:
        return bool(self._writers) and not self._alive

    def _read(self) -> None:
        try:
            selection = select(self.where, self.options)
        except ShapelogError as error:
            if not os.path.isdir(self.where) and os.path.exists(self.where) and os.path.getsize(self.where):
                raise
            is_something = any(size or name.endswith("/") for name, size, _ in self._state)
            self._waiting = str(error) if is_something else ""
            return
        if any(file.path is None for file in selection.files):
            raise ShapelogError(f"{self.where}: an archive cannot be watched; run shapelog report {quote(str(self.where))} instead")
        self._update_files(selection)
        traces = [file.trace for file in self._files.values() if file.trace]
        if not traces:
            self._waiting = next((file.problem for file in self._files.values() if file.size), "")
            return
        self._report = report = analyze(merged(traces), self.debug)
        _ = report.advice  # computed here, so that its time counts as time of reading
        events = sorted(_events(report), key=lambda event: event.when)
        self._events = tuple(event for event in events if event.compile.outcome is not Outcome.UNFINISHED)
        self._unfinished = tuple(event for event in events if event.compile.outcome is Outcome.UNFINISHED)

    def _update_files(self, selection: Selection) -> None:
        before = self._files
        self._files = {}
        for file in selection.files:
            path = file.path
            assert path is not None
            with suppress(FileNotFoundError):  # it was there a moment ago
                state, known = path.stat(), before.get(path)
                if known is None or (known.size, known.written) != (state.st_size, state.st_mtime_ns):
                    if known and state.st_size < known.size:
                        self._reported.clear()  # written anew
                    known = self._read_file(file, state)
                self._files[path] = known
        if before and not before.keys() & self._files.keys():  # another run has begun
            self._reported.clear()
            self._writers.clear()

    def _read_file(self, file: TraceFile, state: os.stat_result) -> _Read:
        """Raises ShapelogError if the watched file itself is not a trace."""
        size, written = state.st_size, state.st_mtime_ns
        try:
            return _Read(size, written, build(Selection((file,)), [Reader(open_trace(file))], self.debug))
        except ShapelogError as error:
            if not os.path.isdir(self.where) and not _may_begin(file.path):
                raise
            return _Read(size, written, None, str(error))

    def _why_over(self, watched: float, silent: float | None) -> str:
        """Why the watch is over, "" if it is not. It is not while there is something to read."""
        quiet = watched if silent is None else min(watched, silent)
        if self._checked != self._state:
            return ""
        if self.idle is not None and quiet >= self.idle:
            return f"no new records for {self.idle:g} s"
        processes = self._processes
        if self._is_over and (processes <= self._writers or quiet >= _IDLE_ELSEWHERE):
            return "the process that wrote it has ended" if len(processes) == 1 else "the processes that wrote it have ended"
        if self.idle is None and processes and not self._writers and quiet >= IDLE:
            return f"no new records for {IDLE:g} s, and no process that wrote them is running on this machine"
        return ""

    @property
    def _processes(self) -> set[int]:
        return {rank.process for file in self._files.values() if file.trace for rank in file.trace.ranks}

    def _snapshot(self, watched: float, silent: float | None, ended: str) -> Snapshot:
        fresh = []
        for event in (*self._events, *(self._unfinished if ended else ())):
            key = (event.frame.rank, event.frame.process, event.compile.label)
            if key not in self._reported and (ended or event.is_whole):
                self._reported.add(key)
                fresh.append(event)
        return Snapshot(
            where=self.where,
            report=self._report,
            waiting=self._waiting if self._report is None else "",
            watched=watched,
            silent=silent,
            events=self._events,
            fresh=tuple(fresh),
            unfinished=self._unfinished,
            unread=tuple(file.problem for file in self._files.values() if file.problem),
            running=self._alive if self._writers else None,
            known=len(self._processes),
            size=sum(file.size for file in self._files.values()),
            ended=ended,
        )


def _is_whole(rank: Rank, frame: Frame, compile: Compile) -> bool:
    """Whether its last record is written: the metrics, with the seconds it took, follow a moment after the guards.

    A text log has none of them: there, guards are the last, where they are logged at all.
    """
    log = rank.payloads.reader.trace.log if rank.payloads else None
    if compile.outcome is not Outcome.COMPILED:
        return True
    if log is not None:
        return compile is not frame.compiles[-1] or compile.guards_span is not None or not log.messages["guards"]
    return compile.metrics.seconds is not None


def _events(report: Report) -> Iterator[WatchEvent]:
    recompiles = {item.compile: item for item in report.recompiles}
    for rank in report.trace.ranks:
        for frame in rank.frames:
            for compile in frame.compiles:
                when = rank.payloads.reader.time_at(compile.offset) if rank.payloads else ""
                yield WatchEvent(when, frame, compile, recompiles.get(compile), _is_whole(rank, frame, compile))


def _state_of(where: Path) -> State:
    """The trace files, or the directories in a directory without traces, since those may have some; () if it does not exist yet."""
    try:
        found = where.stat()
        if stat.S_ISREG(found.st_mode):
            return ((where.name, found.st_size, found.st_mtime_ns),)
        if not stat.S_ISDIR(found.st_mode):
            raise ShapelogError(f"{where}: not a file or directory")
        with os.scandir(where) as scanned:
            entries = list(scanned)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ShapelogError(f"{where}: cannot read: {error.strerror}") from error
    inner: list[os.DirEntry[str]] = []
    files: list[os.DirEntry[str]] = []
    for entry in entries:
        with suppress(OSError):  # a loop of links
            if entry.is_file():
                files.append(entry)
            elif entry.is_dir():
                inner.append(entry)
    traces = set(trace_names(entry.name for entry in files))
    if traces:
        return tuple(_states(entry for entry in files if entry.name in traces))
    texts = _states(entry for entry in files if is_text_name(entry.name))
    logs = (*texts, *_states_of_ranks(where, (entry.name for entry in inner)))
    return logs or tuple((f"{name}/", 0, written) for name, _, written in _states(inner))


def _states_of_ranks(where: Path, inner: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Those of the logs in directories of ranks, which may become the run that a report takes."""
    for name in (*tlparse_logs(inner), *torchrun_logs(where)):
        with suppress(OSError):
            state = (where / name).stat()
            yield name, state.st_size, state.st_mtime_ns


def _states(entries: Iterable[os.DirEntry[str]]) -> Iterator[tuple[str, int, int]]:
    for entry in sorted(entries, key=lambda entry: entry.name):
        with suppress(OSError):  # it is gone, or a loop of links
            state = entry.stat()  # of traces alone: a directory may have thousands of other files
            yield entry.name, state.st_size, state.st_mtime_ns


def _may_begin(path: Path | None) -> bool:
    """Whether a file without a record may get one: its first is being written, or it is the output of a program that goes on."""
    with suppress(OSError):
        if path is not None:
            with path.open("rb") as file:
                head = file.read(1 << 16)
            return b"\0" not in head and not head.lstrip().startswith(_NO_OUTPUT)
    return False

"""Inputs for the fuzzer that are what happens to files while ``shapelog watch`` follows them, and a clock that nobody waits for."""

import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from fake_machine import Machine
from make import compile, every_kind, int_values, split_records, tensor, trace
from mutations import NASTY_TEXT
from payload_text import size_mismatch
from promises import Flaw, demand, plain, refusal, watched
from rich.cells import cell_len

import shapelog
from shapelog.capture.watch import Snapshot, Watch
from shapelog.errors import ShapelogError
from shapelog.reporters.terminal.watch import Screen, lines

_FILES = tuple(f"dedicated_log_torch_trace_{name}.log" for name in ("aaaaaaaa", "rank_0_bbbbbbbb", "rank_1_cccccccc"))
_OTHERS = ("notes.txt", "dedicated_log_torch_trace_aaaaaaaa.log.gz", "raw.log", "rank_0")
_ACTIONS = (
    *("append",) * 6,
    *("part", "part", "rotate", "truncate", "shorten", "delete", "recreate", "rename", "replace", "garbage", "other", "link", "fill"),
    *("remove", "restore", "start", "end", "touch", "lock", "older", "inner"),
)
_IDLE = 5.0
# Checks of the files after the last action, until it is over: three times what the patience of a watch can take.
_CHECKS = 40
_PROCESSES = (4242, 77)
# Columns and lines.
_SCREEN = (60, 12)


def _logs() -> list[list[bytes]]:
    """The records of small jobs that follow each other."""
    first = compile("0/0", tensor(8, 16))
    again = compile("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)])
    jobs = (trace(first, again), trace(int_values(1, 2, 3)), every_kind(), trace(compile("0/0", tensor(2, 2), process=77), process=77))
    return [split_records(job) for job in jobs]


class Sequences:
    """Actions, one a line: its name, a file, a number. Any other line is ignored."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.logs = _logs()

    def input(self, chance: random.Random) -> bytes:
        actions = []
        for _ in range(chance.choice((2, 4, 6, 10))):
            action = "append" if not actions and chance.random() < 0.7 else chance.choice(_ACTIONS)
            actions.append(
                f"{action} {chance.randrange(len(_FILES))} {chance.choice((0, 1, 1, 2, 3, 5, 9, 40))} {chance.choice((0, 1, 1, 4, 200))}"
            )
        return "\n".join(actions).encode()

    def examine(self, data: bytes, counts: Counter[str], chosen: int, everything: bool) -> None:
        """Follow the files of a directory, or one of them, through all of it; then what it has is what a report has."""
        counts["followed"] += 1
        job = self.work / "job"
        job.mkdir()
        try:
            with watched(self.work, "job".__eq__):
                machine = Machine()
                with machine.followed():
                    _Followed(job, job / _FILES[0] if chosen % 4 == 0 else job, machine, self.logs).go(data.decode("ascii", "replace"))
        finally:
            _remove(job)


class _Followed:
    """A watch, the files that it follows, and what was seen of them."""

    def __init__(self, job: Path, where: Path, machine: Machine, logs: list[list[bytes]]) -> None:
        self.job, self.where, self.machine = job, where, machine
        self.logs = logs
        self.written: Counter[str] = Counter()
        self.screen = Screen()
        self.snapshots = Watch(str(where), _IDLE, debug=True).snapshots()

    def go(self, text: str) -> None:
        try:
            for line in text.splitlines():
                name, _, rest = line.partition(" ")
                numbers = [int(word) for word in rest.split() if word.isdecimal() and len(word) < 4]
                if name in _DOES and len(numbers) == 3:
                    with suppress(OSError):
                        _DOES[name](self, self.job / _FILES[numbers[0] % len(_FILES)], numbers[1])
                    for _ in range(min(numbers[2], 4)):
                        if self._look(next(self.snapshots)):
                            return
                    self.machine.now += numbers[2]
            self._until_it_ends()
        except ShapelogError as error:
            refusal(error)
        finally:
            self.snapshots.close()  # type: ignore[attr-defined]

    def _look(self, snapshot: Snapshot) -> str:
        screen = [line.plain for line in self.screen.lines(snapshot, *_SCREEN)]
        for line in (*lines(snapshot), *screen):
            plain(line)
        fits = len(screen) <= _SCREEN[1] and all(cell_len(line) <= _SCREEN[0] for line in screen)
        demand(fits, "the screen is larger than its terminal")
        known = {event.compile for event in (*snapshot.events, *snapshot.unfinished)}
        demand({event.compile for event in snapshot.fresh} <= known, "what is new is not there")
        demand(len(known) == len(snapshot.events) + len(snapshot.unfinished), "an event is there twice")
        demand(snapshot.report is None or all(account.balances for account in snapshot.report.accounts), "an account does not balance")
        return snapshot.ended

    def _until_it_ends(self) -> None:
        for _ in range(_CHECKS):
            snapshot = next(self.snapshots)
            if self._look(snapshot):
                self._is_what_a_report_has(snapshot)
                return
        raise Flaw("it never ends, though nothing more comes")

    def _is_what_a_report_has(self, snapshot: Snapshot) -> None:
        try:
            trace = shapelog.load(self.where)
        except ShapelogError:
            return  # gone since, or no trace any more: what was seen before is kept
        seen = sorted(event.compile.label for event in (*snapshot.events, *snapshot.unfinished))
        demand(seen == sorted(item.label for item in trace.compiles), "a report has other compiles than the watch")

    # What can happen.

    def append(self, path: Path, number: int) -> None:
        """The next records."""
        log = self._log(path)
        at = self.written[path.name]
        self._add(path, b"".join(log[at % (len(log) + 1) :][:number]))
        self.written[path.name] += number

    def part(self, path: Path, number: int) -> None:
        """A crash in the middle of a record."""
        log = self._log(path)
        record = log[self.written[path.name] % len(log)]
        self._add(path, record[: max(1, len(record) * number // 41)])

    def fill(self, path: Path, number: int) -> None:
        """A whole job at once."""
        self._add(path, b"".join(self.logs[number % len(self.logs)]))

    def rotate(self, path: Path, number: int) -> None:
        """Another job takes the name, as logs are rotated."""
        path.replace(path.with_suffix(".log.1"))
        path.write_bytes(b"".join(self.logs[number % len(self.logs)][:number]))

    def replace(self, path: Path, number: int) -> None:
        other = path.with_suffix(".new")
        other.write_bytes(b"".join(self.logs[number % len(self.logs)]))
        other.replace(path)

    def truncate(self, path: Path, number: int) -> None:
        os.truncate(path, 0)
        self.written[path.name] = 0

    def shorten(self, path: Path, number: int) -> None:
        os.truncate(path, path.stat().st_size * number // 41)

    def delete(self, path: Path, number: int) -> None:
        path.unlink()
        self.written[path.name] = 0

    def recreate(self, path: Path, number: int) -> None:
        """Deleted and written again between two looks."""
        path.unlink()
        self.fill(path, number)

    def rename(self, path: Path, number: int) -> None:
        path.replace(self.job / _FILES[number % len(_FILES)])

    def garbage(self, path: Path, number: int) -> None:
        self._add(path, NASTY_TEXT[number % len(NASTY_TEXT)] + b"\n" * (number % 2))

    def other(self, path: Path, number: int) -> None:
        """A file that is no trace."""
        (self.job / _OTHERS[number % len(_OTHERS)]).write_bytes(b"".join(self.logs[0][:number]))

    def link(self, path: Path, number: int) -> None:
        """A link to itself, to another trace, or to nothing."""
        path.unlink(missing_ok=True)
        path.symlink_to((path.name, _FILES[number % len(_FILES)], "nothing")[number % 3])

    def remove(self, path: Path, number: int) -> None:
        """The directory is gone."""
        _remove(self.job)
        self.written.clear()

    def restore(self, path: Path, number: int) -> None:
        """The directory is there again, with a file of a job that has begun."""
        self.job.mkdir(exist_ok=True)
        self.append(path, number)

    def inner(self, path: Path, number: int) -> None:
        """A trace in a directory of the directory."""
        (self.job / "rank_0").mkdir()
        self._add(self.job / "rank_0" / "raw.log", b"".join(self.logs[0][:number]))

    def start(self, path: Path, number: int) -> None:
        self.machine.running.add(_PROCESSES[number % 2])

    def end(self, path: Path, number: int) -> None:
        self.machine.running.discard(_PROCESSES[number % 2])

    def touch(self, path: Path, number: int) -> None:
        path.touch()

    def older(self, path: Path, number: int) -> None:
        """As if it were from long ago, or from the time to come."""
        when = (0, 10**9, 4 * 10**9)[number % 3]
        os.utime(path, (when, when))

    def lock(self, path: Path, number: int) -> None:
        """A directory takes the name of a trace."""
        path.unlink(missing_ok=True)
        path.mkdir()

    def _log(self, path: Path) -> list[bytes]:
        return self.logs[_FILES.index(path.name) if path.name in _FILES else 0]

    def _add(self, path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)


_DOES: dict[str, Callable[[_Followed, Path, int], None]] = {name: getattr(_Followed, name) for name in _ACTIONS}


def _remove(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()

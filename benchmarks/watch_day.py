#!/usr/bin/env python3
"""A day of ``shapelog watch``, and what it keeps in memory: python benchmarks/watch_day.py [--hours 24]

Nobody waits: the clock goes on when the watch sleeps. A job compiles something every two minutes; each hour something happens to its files
(it is restarted, its log is rotated, it crashes in the middle of a record, its directory is deleted and made again), and at the end of each
hour the bytes, objects and open files of this process are counted. Ends with 1 where they grow from one time round to the next.
"""

import argparse
import gc
import os
import shutil
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

from fake_machine import Machine  # noqa: E402
from make import compile, split_records, strings, tensor, torch_version  # noqa: E402
from payload_text import size_mismatch  # noqa: E402
from rich.cells import cached_cell_len  # noqa: E402

from shapelog.capture.watch import Watch  # noqa: E402
from shapelog.reporters.terminal.watch import Screen, lines  # noqa: E402

_HOUR, _COMPILES = 3600.0, 30
# Checks between two drawings of the screen.
_DRAWN = 40
# What may differ between two hours in which the same happened: bytes, and objects.
_FREE_BYTES, _FREE_OBJECTS = 20_000, 100


class Hour(NamedTuple):
    """What there is at the end of an hour, and what was seen until then."""

    number: int
    happened: str
    bytes: int
    objects: int
    files: int
    events: int


@dataclass
class Job:
    """Writes traces on a machine, one process after the other. Each has a name of its own, and so have its functions."""

    where: Path
    machine: Machine
    process: int = 1000
    compiles: int = 0
    path: Path = field(default_factory=Path)

    def start(self) -> None:
        """Another process takes the place of the one before."""
        self.machine.running.discard(self.process)
        self.process += 1
        self.machine.running.add(self.process)
        self.where.mkdir(exist_ok=True)
        self._open()

    def _open(self) -> None:
        self.compiles = 0
        self.path = self.where / f"dedicated_log_torch_trace_{self.process:08}.log"
        self.path.write_bytes(torch_version(process=self.process) + strings("/srv/app/model.py", "/srv/app/main.py", process=self.process))

    def go_on(self) -> None:
        """The next compile: of a new function, then for another size of its tensor, and so on."""
        frame, again = divmod(self.compiles, 2)
        reasons = [size_mismatch(f"{frame}/0", 8, 3)] if again else []
        name = f"f{self.process}_{frame}"
        self._add(compile(f"{frame}/{again}", tensor(3 if again else 8, 16), reasons=reasons, name=name, process=self.process))
        self.compiles += 1

    def _add(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)

    # What happens to it.

    def restarted(self) -> None:
        self.path.unlink()
        self.start()

    def rotated(self) -> None:
        """Its log is moved away, and it goes on in a new one of the same name."""
        self.path.replace(self.path.with_suffix(".1"))
        self._open()

    def crashed(self) -> None:
        """In the middle of a record; another process starts, and the old file stays for a while."""
        *_, last = split_records(compile("99/0", tensor(8, 16), process=self.process))
        self._add(last[: len(last) // 2])
        for old in self.where.iterdir():
            if old != self.path:
                old.unlink()
        self.start()

    def deleted(self) -> None:
        """The directory with all that is in it, and made anew."""
        shutil.rmtree(self.where)

    def truncated(self) -> None:
        os.truncate(self.path, 0)
        self._open()

    def undisturbed(self) -> None:
        pass


HAPPENS: tuple[Callable[[Job], None], ...] = (Job.undisturbed, Job.restarted, Job.rotated, Job.crashed, Job.truncated, Job.deleted)


def hours(folder: Path, number: int, length: float = _HOUR, compiles: int = _COMPILES) -> Iterator[Hour]:
    """Follow a job for some hours of ``length`` seconds, with a number of compiles in each; tracemalloc has to be on."""
    machine = Machine()
    job, screen, seen = Job(folder / "job", machine), Screen(), 0
    job.start()
    with machine.followed():
        snapshots = Watch(str(job.where), idle=10 * length).snapshots()
        for hour in range(number):
            began, done = machine.now, 0
            happens = HAPPENS[hour % len(HAPPENS)]
            happens(job)
            while machine.now < began + length:
                if machine.now >= began + (done + 1) * length / (compiles + 1):
                    if not job.where.exists():
                        job.start()
                    job.go_on()
                    done += 1
                snapshot = next(snapshots)
                seen += len(lines(snapshot))
                if len(machine.naps) % _DRAWN == 0:
                    screen.lines(snapshot, 80, 24)
                if snapshot.ended:
                    raise SystemExit(f"the watch is over in hour {hour}: {snapshot.ended}")
            machine.naps.clear()
            del snapshot
            cached_cell_len.cache_clear()  # rich keeps the widths of some thousand texts
            gc.collect()
            bytes_now, objects = tracemalloc.get_traced_memory()[0], len(gc.get_objects())
            yield Hour(hour, happens.__name__, bytes_now, objects, len(os.listdir("/proc/self/fd")), seen)


def growth(found: list[Hour]) -> Iterator[str]:
    """Where more is kept than one time round before, the first time not counted."""
    around = len(HAPPENS)
    for before, after in zip(found[around:], found[2 * around :], strict=False):
        if after.bytes > before.bytes + _FREE_BYTES or after.objects > before.objects + _FREE_OBJECTS or after.files > before.files:
            yield f"hour {after.number} keeps more than hour {before.number}, in which the same happened"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hours", type=int, default=24)
    given = parser.parse_args()
    found = []
    tracemalloc.start()
    with TemporaryDirectory() as folder:
        for hour in hours(Path(folder), given.hours):
            found.append(hour)
            print(
                f"hour {hour.number:2} {hour.happened:12} {hour.bytes / 1e6:6.2f} MB {hour.objects:7} objects {hour.files} open files "
                f"{hour.events:6} lines",
                flush=True,
            )
    flaws = list(growth(found))
    print(*flaws, f"{len(flaws)} findings", sep="\n")
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main())

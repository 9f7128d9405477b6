#!/usr/bin/env python3
"""Ctrl-C at random moments: python benchmarks/interrupts.py [--number 300] [--seed 1] [COMMAND ...]

Each time one of the commands below runs as a user would start it, and its process group gets SIGINT at a random moment of the time that it
takes. It has to end with 130, with nothing on standard error but lines of its own, and to leave no process and no file behind. What Python
itself does before it has read the first line of shapelog is counted apart. Ends with 1 where anything else happened.
"""

import argparse
import gzip
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from packing import RANK, zipped  # noqa: E402

# As the installed script starts it.
START = [sys.executable, "-c", "import sys; from shapelog.__main__ import main; sys.exit(main())"]
TRACE = "dedicated_log_torch_trace_aaaaaaaa.log"
COMMANDS: dict[str, list[str]] = {
    "report": ["report", TRACE],
    "html": ["report", TRACE, "-o", "out.html"],
    "json": ["report", TRACE, "-f", "json", "--embed", "all"],
    "packed": ["report", "trace.log.gz"],
    "suggest-dynamic": ["suggest-dynamic", TRACE],
    "check": ["check", TRACE, "-o", "out.sarif", "--write-baseline", "out.known"],
    "compare": ["compare", TRACE, "trace.log.gz"],
    "explain": ["explain", TRACE, "0/0"],
    "ranks": ["report", "ranks", "-o", "out.html"],
    "archive of ranks": ["report", "ranks.zip"],
    "watch": ["watch", "watched", "--idle", "2"],
    "run": ["run", "--", "sh", "-c", f'cp {TRACE} "$TORCH_TRACE"; sleep 0.3'],
}
_RANKS = 20
# Seconds after which a process that was interrupted hangs, and in which the children of one that has ended end.
_PATIENCE, _GRACE = 60.0, 5.0
# The most seconds that a command goes on with whose result was written when the interrupt came.
_END = 0.5
_DIED = -signal.SIGINT


class Ended(NamedTuple):
    """What came of one run; ``flaw`` is "" where all was as promised."""

    how: str
    flaw: str = ""


def make_inputs(folder: Path) -> None:
    packed = (ROOT / "fixtures/real/demo.log.gz").read_bytes()
    data = gzip.decompress(packed)
    (folder / "trace.log.gz").write_bytes(packed)
    (folder / TRACE).write_bytes(data)
    for name in ("ranks", "watched"):
        (folder / name).mkdir()
    (folder / "watched" / TRACE).write_bytes(data)
    job = {RANK.format(rank, "aaaaaaaa"): data for rank in range(_RANKS)}
    for name, content in job.items():
        (folder / "ranks" / name).write_bytes(content)
    (folder / "ranks.zip").write_bytes(zipped(job))


def started(name: str, folder: Path, temporary: Path) -> "subprocess.Popen[bytes]":
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TORCH", "SHAPELOG_"))}
    environment |= {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [*START, *COMMANDS[name]],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def seconds_of(name: str, folder: Path, temporary: Path) -> float:
    began = time.monotonic()
    started(name, folder, temporary).communicate()
    clean(folder, temporary)
    return time.monotonic() - began


def interrupted(name: str, delays: list[float], folder: Path, temporary: Path) -> Ended:
    """Run a command and interrupt it after these delays, one after the other."""
    process = started(name, folder, temporary)
    sent = 0
    for delay in delays:
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGINT)
            sent += 1
    interrupt = time.monotonic()
    try:
        _, said = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Ended("hangs", f"hangs {delays[0]:.2f} s after its start")
    if not sent:
        return Ended("had ended before")
    if process.returncode == 0 and name not in ("watch", "run"):
        went_on = time.monotonic() - interrupt
        return Ended("was about to end", f"went on for {went_on:.2f} s" if went_on > _END else "")
    return judged(name, process.returncode, said.decode("utf-8", "replace"), has_children(process.pid), left_in(folder, temporary))


def judged(name: str, code: int, said: str, children: bool, left: list[str]) -> Ended:
    """``left`` are the files that are there and were not before."""
    own = [line for line in said.splitlines() if line]
    said = said or f"nothing on standard error, code {code}"
    if (code, own) == (_DIED, []) or ("Traceback" in said and f"{os.sep}shapelog{os.sep}" not in said) or "Fatal Python error" in said:
        return Ended("Python's own", "a file is left" if left else "")
    kept = [file for file in left if not any(file.split(os.sep)[0] in line for line in own)]  # run prints where it keeps the trace
    if "Traceback" in said:
        return Ended("traceback", said)
    if children:
        return Ended("a process is left", said)
    if kept:
        return Ended("a file is left", f"{kept} {said}")
    if name in ("watch", "run"):  # the first one ends what is followed, or what runs, and the report comes; run ends as its command did
        return Ended(f"ended with {code}", "" if code in (0, 130, _DIED if name == "run" else 0) else said)
    foreign = [line for line in own if not line.startswith("shapelog: ")]
    return Ended(f"ended with {code}", said if code != 130 or foreign else "")


def has_children(group: int) -> bool:
    end = time.monotonic() + _GRACE
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    return True


def left_in(folder: Path, temporary: Path) -> list[str]:
    """Files that nobody named; a named output is there whole, or not at all."""
    return [path.name for path in temporary.iterdir()] + [path.name for path in folder.iterdir() if path.name.startswith(".")]


def clean(folder: Path, temporary: Path) -> None:
    for path in [*temporary.rglob("*"), *folder.glob("out.*"), *folder.glob(".*")]:
        if path.is_file():
            path.unlink()
    for path in sorted(temporary.iterdir()):
        path.rmdir()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="*", help=f"of {', '.join(COMMANDS)}; all by default")
    parser.add_argument("--number", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it, and so would the commands
    chance, flaws, outcomes = random.Random(given.seed), 0, Counter[tuple[str, str]]()
    with TemporaryDirectory() as root:
        folder, temporary = Path(root, "work"), Path(root, "temporary")
        folder.mkdir()
        temporary.mkdir()
        make_inputs(folder)
        names = given.command or list(COMMANDS)
        whole = {name: min(seconds_of(name, folder, temporary) for _ in range(2)) for name in names}
        for number in range(given.number):
            name = names[number % len(names)]
            delays = [chance.uniform(0, whole[name]) for _ in range(2 if name == "watch" else 1)]
            done = interrupted(name, delays, folder, temporary)
            clean(folder, temporary)
            outcomes[name, done.how] += 1
            if done.flaw:
                flaws += 1
                print(f"{name}, interrupted after {', '.join(f'{delay:.3f}' for delay in delays)} s: {done.how}\n{done.flaw}", flush=True)
    for name in names:
        ends = ", ".join(f"{count} {how}" for (command, how), count in sorted(outcomes.items()) if command == name)
        print(f"{name:18} {whole[name]:5.2f} s: {ends}")
    print(f"{given.number} interrupts, {flaws} findings, seed {given.seed}")
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main())

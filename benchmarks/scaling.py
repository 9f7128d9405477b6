#!/usr/bin/env python3
"""How time and memory grow with each dimension of a trace: python benchmarks/scaling.py [DIMENSION ...] [--command NAME ...] [--most 12800]

Every dimension is a kind of trace that one number makes larger. Each is put through the command line at this number and at twice that,
up to ``--most``, and the table shows processor seconds, peak memory and by how much the last doubling multiplied them, less what an
empty run takes. A dimension whose trace grows with the square of its number is compared with the size of its trace.
"""

import argparse
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests")]

from dimensions import DIMENSIONS, SQUARE  # noqa: E402

_PATIENCE = 60
_MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Measured:
    """One run: processor seconds, the peak of memory in bytes; why it counts for nothing, "" if it does not."""

    size: int
    seconds: float
    peak: int
    flaw: str


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "report": lambda path: ["report", str(path)],
    "verbose": lambda path: ["report", str(path), "--verbose"],
    **{
        suffix: lambda path, suffix=suffix: ["report", str(path), "-o", str(path.with_suffix(f".{suffix}"))]  # type: ignore[misc]
        for suffix in ("html", "json", "md", "sarif", "xml")
    },
    "chrome-trace": lambda path: ["report", str(path), "-f", "chrome-trace"],
    "jsonl": lambda path: ["report", str(path), "-f", "jsonl"],
    "suggest": lambda path: ["suggest-dynamic", str(path)],
    "fix": lambda path: ["fix", str(path), "--diff"],
    "explain": lambda path: ["explain", str(path)],
    "check": lambda path: ["check", str(path)],
    "baseline": lambda path: ["check", str(path), "--write-baseline", str(path.with_suffix(".baseline"))],
    "compare": lambda path: ["compare", str(path), str(_moved(path))],
    "extract": lambda path: ["extract", str(path), "--overwrite", "-o", str(path.with_suffix(".files"))],
    "tables": lambda path: ["tables", str(path), "--executor", "processes:1", "-o", str(path.with_suffix(".tables"))],
    "watch": lambda path: ["watch", str(path), "--idle", "0.1"],
}


def _moved(path: Path) -> Path:
    """The same trace of a checkout elsewhere."""
    other = path.with_suffix(".moved.log")
    other.write_bytes(path.read_bytes().replace(b"/srv/", b"/other/x/"))
    return other


def measure(arguments: list[str], size: int, patience: float) -> Measured:
    pid = os.fork()
    if not pid:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        resource.setrlimit(resource.RLIMIT_CPU, (int(patience) + 1, int(patience) + 1))
        os.execv(sys.executable, [sys.executable, "-m", "shapelog", *arguments])
    _, status, used = os.wait4(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    flaw = "" if code in (0, 1) else "stopped" if code in (-signal.SIGXCPU, -signal.SIGKILL) else f"ended with {code}"
    return Measured(size, used.ru_utime + used.ru_stime, used.ru_maxrss * _MAXRSS_UNIT, flaw)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dimension", nargs="*", help="part of a dimension's name; all by default")
    parser.add_argument("--command", choices=COMMANDS, nargs="+", default=["report"])
    parser.add_argument("--least", type=int, default=3200)
    parser.add_argument("--most", type=int, default=12_800)
    parser.add_argument("--patience", type=float, default=_PATIENCE, help="processor seconds of one run")
    options = parser.parse_args()
    chosen = [name for name in DIMENSIONS if not options.dimension or any(part in name for part in options.dimension)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made.log"
        path.write_bytes(DIMENSIONS["frames"](1))
        empty = {name: _empty(name, path, options.patience) for name in options.command}
        for command, run in empty.items():
            print(f"{command}; an empty run takes {run.seconds:.2f} s and {run.peak / 1e6:.0f} MB")
        for name in chosen:
            most = options.most if name not in SQUARE else max(int(options.most**0.5) * 2, 50)
            least = options.least if name not in SQUARE else most // 4
            _rows(name, least, most, Path(folder), options.patience, empty)


def _empty(command: str, path: Path, patience: float) -> Measured:
    return min((measure(COMMANDS[command](path), 0, patience) for _ in range(3)), key=lambda run: run.seconds)


def _rows(name: str, least: int, most: int, folder: Path, patience: float, empty: dict[str, Measured]) -> None:
    """A line for each command. One that failed at a number is not tried with a larger one."""
    runs: dict[str, list[Measured]] = {command: [] for command in empty}
    numbers = [least]
    while numbers[-1] * 2 <= most:
        numbers.append(numbers[-1] * 2)
    for number in numbers:
        path = folder / f"{number}.log"
        subprocess.run([sys.executable, __file__, "--make", name, str(number), str(path)], check=True)
        for command, found in runs.items():
            if not (found and found[-1].flaw):
                found.append(measure(COMMANDS[command](path), path.stat().st_size, patience))
        for left in folder.glob(f"{number}.*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    for command, found in runs.items():
        growth = "—"
        if len(found) > 1:
            before, after, none = *found[-2:], empty[command]
            growth = f"× {_ratio(before.seconds, after.seconds, none.seconds):.2f} s × {_ratio(before.peak, after.peak, none.peak):.2f} MB"
            growth += f" for × {after.size / before.size:.2f} bytes"
        cells = (
            f"{number}: {run.seconds:.2f} s {run.peak / 1e6:.0f} MB" + (f" ({run.flaw})" if run.flaw else "")
            for number, run in zip(numbers, found, strict=False)
        )
        print(f"{name:52} {command:12} {growth:44} {' | '.join(cells)} | {found[-1].size / 1e6:.1f} MB", flush=True)


def _ratio(before: float, after: float, empty: float) -> float:
    """By how much a doubling multiplied what is left without an empty run; less than a third of that is noise."""
    return max(after - empty, empty / 3) / max(before - empty, empty / 3)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        Path(sys.argv[4]).write_bytes(DIMENSIONS[sys.argv[2]](int(sys.argv[3])))
    else:
        main()

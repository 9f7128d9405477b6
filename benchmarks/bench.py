#!/usr/bin/env python3
"""Measure shapelog on this machine: python benchmarks/bench.py BIG.log [MORE.log ...] [--small FILE] [--traces DIR]

Every figure is that of a whole process with its start-up, the best of several runs; memory is the peak of resident memory.
What is compared runs in turns, so that both sides see the same machine. benchmarks/README.md says how to make BIG.log.
"""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# A payload line starts with a tab, so any other line starts a record.
SCAN = r"""
import mmap, re, sys
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
    sum(1 for _ in re.finditer(rb"\n[^\t]", data))
"""
SMALL = 4_000_000
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Run:
    seconds: float
    peak: int
    status: int
    errors: str

    @property
    def flaw(self) -> str:
        if self.status:
            return f"ended with {self.status}"
        return "printed a traceback" if "Traceback (most recent call last)" in self.errors else ""


def measure(command: list[str]) -> Run:
    """One run with its output thrown away. Keep this process small: a child's peak counts from the fork on."""
    with tempfile.TemporaryFile() as errors:
        os.sync()  # what the run before left to be written takes no time of this one
        start = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        text = errors.read().decode(errors="replace")
    return Run(seconds, usage.ru_maxrss * MAXRSS_UNIT, process.returncode, text)


def best(commands: dict[str, list[str]], times: int) -> dict[str, Run]:
    """The fastest run of each command with the highest memory seen; a command that fails ends the benchmark."""
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            run = measure(command)
            if run.status:
                sys.exit(f"{' '.join(command)} ended with {run.status}:\n{run.errors.strip()[-2000:]}")
            runs[name].append(run)
    return {name: Run(min(r.seconds for r in found), max(r.peak for r in found), 0, "") for name, found in runs.items()}


def line(name: str, run: Run, size: int = 0) -> None:
    speed = f"{size / 1e6 / run.seconds:9.0f} MB/s" if size else ""
    print(f"  {name:<30}{run.seconds:9.3f} s {run.peak / 1e6:7.0f} MB {speed}")


def ratio(name: str, over: Run, under: Run) -> None:
    print(f"  {name:<30}{over.seconds / under.seconds:9.2f} × time {over.peak / under.peak:6.2f} × memory")


def cut(source: Path, size: int, target: Path) -> Path:
    """The first `size` bytes of a trace, up to the end of a record."""
    with source.open("rb") as file, target.open("wb") as out:
        left = size
        while left > 0 and (piece := file.read(min(left, 1 << 20))):
            left -= out.write(piece)
        out.write(file.readline())
        for text in file:
            if not text.startswith(b"\t"):
                break
            out.write(text)
    return target


def against_tlparse(shapelog: list[str], tlparse: str | None, big: Path, scratch: Path, times: int) -> None:
    size = big.stat().st_size
    print(f"\nReport of {big.name}, {size / 1e6:.0f} MB, best of {times}")
    page = scratch / "report.html"
    commands = {
        "finding the records alone": [sys.executable, "-c", SCAN, str(big)],
        "shapelog report": [*shapelog, "report", str(big)],
        "shapelog report -o report.html": [*shapelog, "report", str(big), "-o", str(page)],
    }
    if tlparse:
        commands["tlparse"] = [tlparse, str(big), "-o", str(scratch / "tlparse"), "--overwrite", "--no-browser"]
    runs = best(commands, times)
    for name, run in runs.items():
        line(name, run, size)
    print(f"  the page has {page.stat().st_size / 1e6:.1f} MB")
    ratio("shapelog / finding the records", runs["shapelog report"], runs["finding the records alone"])
    if tlparse:
        ratio("tlparse / shapelog, terminal", runs["tlparse"], runs["shapelog report"])
        ratio("tlparse / shapelog, HTML", runs["tlparse"], runs["shapelog report -o report.html"])
    else:
        print("  tlparse is not on PATH: not compared (pip install tlparse, or --tlparse)")


def start_up(shapelog: list[str], times: int) -> None:
    print(f"\nStart-up, best of {times}")
    runs = best({"python -c 'import click'": [sys.executable, "-c", "import click"], "shapelog --help": [*shapelog, "--help"]}, times)
    for name, run in runs.items():
        line(name, run)
    ratio("shapelog --help / import click", runs["shapelog --help"], runs["python -c 'import click'"])


def growth(shapelog: list[str], traces: list[Path], times: int) -> None:
    print(f"\nGrowth with the size of the trace, best of {times}")
    for trace in traces:
        size = trace.stat().st_size
        line(f"{size / 1e6:.1f} MB", best({"report": [*shapelog, "report", str(trace)]}, times)["report"], size)


def every_trace(shapelog: list[str], directory: Path) -> None:
    traces = sorted(p for p in directory.rglob("*") if p.is_file() and re.search(r"\.log(\.gz)?$", p.name))
    print(f"\nReport on each of {len(traces)} traces under {directory}, once")
    sizes, runs = [], []
    for trace in traces:
        with gzip.open(trace) if trace.suffix == ".gz" else trace.open("rb") as file:
            size = 0
            while piece := file.read(1 << 20):
                size += len(piece)
        run = measure([*shapelog, "report", str(trace)])
        sizes.append(size)
        runs.append(run)
        name = trace.relative_to(directory)
        print(f"  {size / 1e6:8.2f} MB {run.seconds:7.3f} s {size / 1e6 / run.seconds:6.1f} MB/s  {name}  {run.flaw}")
    total, seconds = sum(sizes) / 1e6, sum(run.seconds for run in runs)
    failed = sum(bool(run.flaw) for run in runs)
    print(f"  {len(traces)} traces, {total:.1f} MB, {seconds:.1f} s, {total / (seconds or 1):.1f} MB/s, {failed} failed")


def installed_shapelog() -> str:
    beside = Path(sys.executable).with_name("shapelog")
    found = str(beside) if beside.exists() else shutil.which("shapelog")
    return found or sys.exit("shapelog is not installed beside this Python: pip install -e .")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("big", type=Path, nargs="+", metavar="BIG.log", help="a large plain trace; more of them for the growth with size")
    parser.add_argument("--small", type=Path, metavar="FILE", help="a trace of about 4 MB (default: the first 4 MB of BIG.log)")
    parser.add_argument("--traces", type=Path, metavar="DIR", help="report on each trace under this directory too")
    parser.add_argument("--tlparse", default=shutil.which("tlparse"), metavar="PROGRAM", help="default: the one on PATH")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs of the large traces (default: 3)")
    args = parser.parse_args()
    shapelog = [installed_shapelog()]
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        against_tlparse(shapelog, args.tlparse, args.big[0], scratch, args.times)
        start_up(shapelog, 20)
        small = args.small or cut(args.big[0], SMALL, scratch / "small.log")
        if len(args.big) > 1:
            traces = sorted(args.big, key=lambda path: path.stat().st_size)
        else:
            size = args.big[0].stat().st_size
            traces = [cut(args.big[0], size // part, scratch / f"part{part}.log") for part in (4, 2)] + args.big
        growth(shapelog, [small, *traces], args.times)
        if args.traces:
            every_trace(shapelog, args.traces)


if __name__ == "__main__":
    main()

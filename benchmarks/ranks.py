#!/usr/bin/env python3
"""Large jobs: the traces of many ranks made from a few real ones, and how long shapelog takes for them.

python benchmarks/ranks.py make DIR --ranks 2048 [--megabytes-per-rank 1] [--seed 1] [--distinct] [--from TRACE ...]
python benchmarks/ranks.py measure DIR [--executor processes:1 processes:2 ...]

``make`` describes the job in DIR/truth.json. Most ranks do the same; the others differ in the ways of ROLES, or with --distinct each in
its own. ``measure`` runs whole processes; the first executor is what the others are compared with.
"""

import argparse
import gzip
import hashlib
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).parents[1] / "fixtures"
# Of one version of torch. Taken in this order, and again from the first on, while another one does not make the rank too large.
SOURCES = (
    "real/2.13/n_dist_collpatched/dedicated_log_torch_trace_rank_0_ax5cjpmo.log.gz",
    "lab/train_varying_batch.log.gz",
    "lab/two_dims.log.gz",
    "lab/graph_break_resume.log.gz",
    "lab/hf_gpt2_seqlen.log.gz",
    "lab/inductor_conv.log.gz",
    "lab/hf_vit_batch.log.gz",
    "lab/module_step_counter.log.gz",
    "lab/hf_bert_train.log.gz",
)
# Each with its part of all ranks; there is one at least. No part: exactly one.
ROLES = {
    "other_size": 0.02,
    "another_size": 0.01,
    "one_more": 0.01,
    "one_fewer": 0.01,
    "killed": None,
    "early": None,
    "slow": None,
    "unreadable": None,
}
SLOWER = 3
_RECORD = re.compile(rb"V(\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.(\d{3})\d* \d+ ([^\n]*?\]) (\{[^\n]*\})\n((?:\t[^\n]*\n)*)")
_COMPILE_ID = re.compile(rb"(?<![\w/.])(\d{1,3})(/\d{1,3})(?=\"|: )")
_ADDRESS = re.compile(rb"0x[57][0-9a-f]{11}\b|\b(?:1[34]\d{13}|9[34]\d{12})\b")
_STAMP = re.compile(rb'(?<="ts": )\d{16}\.\d+')
_MISMATCH = re.compile(r"size mismatch at index \d+\. expected (\d+), actual (\d+)")
_RANK, _DIGEST = b"987654321987654321", b"<digest of the payload>"
_DAY = 86_400_000


@dataclass(frozen=True)
class Record:
    """A record as all ranks have it. ``header`` has marks where the rank and the checksum come, ``metrics`` the fields that vary.

    ``moment`` is in milliseconds from the beginning of the job; ``block`` is the payload as written in the file. ``own``: whether
    addresses or times of the process are in it, so that its checksum is another one in every rank.
    """

    moment: int
    where: bytes
    header: bytes
    block: bytes
    compile: tuple[int, int] | None
    own: bool
    metrics: dict[str, Any] | None = None


@dataclass(frozen=True)
class Rank:
    """What is different in one rank: its number, its process, how much later and how much slower it is than others."""

    number: int
    process: int
    later: int
    slower: float
    address: int
    role: str = "alike"


def md5(block: bytes) -> bytes:
    text = block[1:-1].replace(b"\n\t", b"\n")
    return hashlib.md5(text, usedforsecurity=False).hexdigest().encode()


def renumbered(value: Any, frames: int, strings: int, describers: int) -> Any:
    """A header whose frames, names of files and describers come after those of the programs before."""
    if isinstance(value, list):
        return [renumbered(item, frames, strings, describers) for item in value]
    if not isinstance(value, dict):
        return value
    more = {"frame_id": frames, "filename": strings, "describer_id": describers}
    return {
        key: item + more[key] if key in more and isinstance(item, int) and item >= 0 else renumbered(item, frames, strings, describers)
        for key, item in value.items()
    }


class Job:
    """Programs that every rank runs, one after another, as one list of records."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.size = self.frames = self.strings = self.describers = self.end = 0

    def add(self, data: bytes) -> None:
        """One more program. Only the first has a record of its version of torch."""
        found = list(_RECORD.finditer(data))
        begin = min(moment_of(match) for match in found)
        frames, strings, describers, first = self.frames, self.strings, self.describers, not self.records
        for match in found:
            header = json.loads(match[8])
            kind = next(iter(header))
            if kind == "artifact" and header[kind]["name"] == "torch_version" and not first:
                continue
            if kind == "str":
                header["str"][1] += strings
                self.strings = max(self.strings, header["str"][1] + 1)
            header = renumbered(header, frames, strings, describers)
            body = header[kind]
            self.frames = max(self.frames, header.get("frame_id", -1) + 1)
            if isinstance(body, dict):
                self.describers = max(self.describers, body.get("describer_id", -1) + 1)
            self.records.append(self._record(kind, header, match, self.end + moment_of(match) - begin, frames))
        self.size += len(data)
        self.end = max(record.moment for record in self.records) + 50

    def _record(self, kind: str, header: dict[str, Any], match: re.Match[bytes], moment: int, frames: int) -> Record:
        def later(found: re.Match[bytes]) -> bytes:
            return b"%d%s" % (int(found[1]) + frames, found[2])

        body = header.pop(kind)
        header.pop("rank", None)
        has_rank = kind != "str" and not (kind == "artifact" and body["name"] == "torch_version")
        complete = {kind: body, **({"rank": int(_RANK)} if has_rank else {}), **header}
        block = _COMPILE_ID.sub(later, match[9]) if b"chromium" in match[8] or b"recompile_reasons" in match[8] else match[9]
        own = bool(_ADDRESS.search(block) or (kind == "chromium_event" and _STAMP.search(block)))
        if "has_payload" in complete:
            complete["has_payload"] = _DIGEST.decode() if own else md5(block).decode()
        is_metrics = kind in ("compilation_metrics", "bwd_compilation_metrics")
        text = _COMPILE_ID.sub(later, json.dumps(complete).encode()) if is_metrics else json.dumps(complete).encode()
        compile = (header["frame_id"], header["frame_compile_id"]) if "frame_compile_id" in header else None
        return Record(moment, match[7], text, block, compile, own, json.loads(text) if is_metrics else None)


def moment_of(match: re.Match[bytes]) -> int:
    month, day, hour, minute, second, thousandth = (int(match[part]) for part in range(1, 7))
    return ((((month * 31 + day) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + thousandth


def varied(value: Any, rank: Rank, key: str = "") -> Any:
    """Metrics of a compile as another process has them: its own moments and durations."""
    if isinstance(value, dict):
        return {name: varied(item, rank, name) for name, item in value.items()}
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if value > 1e15:
        return value + rank.later * 1000
    if value > 1e9:
        return value + rank.later / 1000
    if key.endswith(("_s", "_ms", "_us")):
        return type(value)(value * rank.slower)
    return value


def clock(moment: int) -> bytes:
    """A moment of a job that began on November 20, at eight."""
    moment += 8 * 3_600_000
    second, thousandth = divmod(moment % _DAY, 1000)
    return b"V11%02d %02d:%02d:%02d.%03d000" % (
        20 + moment // _DAY,
        second // 3600,
        second // 60 % 60,
        second % 60,
        thousandth,
    )


def lines(records: Sequence[Record], rank: Rank) -> Iterator[bytes]:
    number, process = b"%d" % rank.number, b" %d " % rank.process

    def moved(found: re.Match[bytes]) -> bytes:
        text = found[0]
        return b"0x%x" % (int(text, 16) + rank.address) if text.startswith(b"0x") else b"%d" % (int(text) + rank.address)

    def stamped(found: re.Match[bytes]) -> bytes:
        return b"%.1f" % (float(found[0]) + rank.later * 1000)

    for record in records:
        header, block = record.header, record.block
        if record.metrics is not None:
            header = json.dumps(varied(record.metrics, rank)).encode()
        if record.own:
            block = _STAMP.sub(stamped, _ADDRESS.sub(moved, block))
            header = header.replace(_DIGEST, md5(block))
        yield b"".join((clock(record.moment + rank.later), process, record.where, b" ", header.replace(_RANK, number), b"\n", block))


@dataclass(frozen=True)
class Sizes:
    """A compile of a frame that an input of another size came to, and that size: those of other ranks get another one."""

    frame: int
    number: int
    size: int

    def other(self, records: Sequence[Record], size: int) -> list[Record]:
        """The records with another size from that compile on."""
        is_no_size = rb'(?<!"line": )(?<!"id": )(?<!"storage": )(?<!"filename": )(?<!_id": )(?<!limit\\": )'
        number = re.compile(is_no_size + rb"(?<=[\[(\" ])" + str(self.size).encode() + rb"(?=[\]),\"\s])")
        found = []
        for record in records:
            if record.compile and record.compile[0] == self.frame and record.compile[1] >= self.number:
                header = number.sub(b"%d" % size, record.header)
                block = number.sub(b"%d" % size, record.block)
                own = record.own or block != record.block
                if own and not record.own:
                    header = header.replace(md5(record.block), _DIGEST)
                record = replace(record, header=header, block=block, own=own, metrics=record.metrics and json.loads(header))
            found.append(record)
        return found


def reasons_of(records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.compile and b"recompile_reasons" in record.header]


def recompiled(records: Sequence[Record]) -> tuple[int, int]:
    """The function that was recompiled most often, and the number of its last compile."""
    counts = Counter(record.compile[0] for record in reasons_of(records) if record.compile)
    if not counts or max(counts.values()) < 2:
        sys.exit("none of the traces has a function that was compiled three times")
    frame = max(counts, key=lambda item: (counts[item], -item))
    return frame, max(record.compile[1] for record in records if record.compile and record.compile[0] == frame)


def sizes_of(records: Sequence[Record], but: int) -> Sizes:
    """The recompile, except for those of one frame, with the largest size that was new: such a number is seldom anything else."""
    found = []
    for record in reasons_of(records):
        if record.compile and record.compile[0] != but and (match := _MISMATCH.search(record.block.decode())):
            found.append((int(match[2]), record.compile))
    if not found:
        sys.exit("none of the traces has another function that was recompiled because of a size")
    size, (frame, number) = max(found)
    return Sizes(frame, number, size)


def roles_of(count: int, chance: random.Random) -> list[str]:
    """The role of each rank; that of the first is to be like most."""
    roles = [role for role, part in ROLES.items() for _ in range(max(1, round(part * count)) if part else 1)]
    roles = roles[: max(count // 2, 1)] if count > 1 else []
    rest = ["alike"] * (count - 1 - len(roles)) + roles
    chance.shuffle(rest)
    return ["alike", *rest][:count]


class Maker:
    """The records of a job in all their variants, as few of them as are needed at a time."""

    def __init__(self, records: Sequence[Record], is_distinct: bool) -> None:
        self.frame, self.last = recompiled(records)
        self.sizes = sizes_of(records, self.frame)
        self.is_distinct = is_distinct
        self.usual = self._without(records, self.last)
        self.more, self.fewer = list(records), self._without(records, self.last - 1)
        self.other, self.another = (self.sizes.other(self.usual, self.sizes.size + more) for more in (8, 21))

    def _without(self, records: Sequence[Record], first: int) -> list[Record]:
        return [record for record in records if not (record.compile and record.compile[0] == self.frame and record.compile[1] >= first)]

    def records(self, rank: Rank) -> list[Record]:
        if self.is_distinct:
            return self.sizes.other(self.usual, self.sizes.size + 100 + rank.number)
        role = {"one_more": self.more, "one_fewer": self.fewer, "other_size": self.other, "another_size": self.another}
        return role.get(rank.role, self.usual)

    def write(self, path: Path, rank: Rank) -> int:
        """Writes the trace of a rank, and returns its bytes."""
        pieces = list(lines(self.records(rank), rank))
        if rank.role == "early":
            pieces = pieces[: next(at for at in range(len(pieces) * 2 // 3, 0, -1) if b'"compilation_metrics"' in pieces[at]) + 1]
        if rank.role == "killed":
            pieces = pieces[: next(at for at in range(len(pieces) // 2, len(pieces)) if len(pieces[at]) > 2000) + 1]
            pieces[-1] = pieces[-1][: len(pieces[-1]) * 2 // 3]
        data = gzip.compress(b"".join(pieces), 1, mtime=0)[:20] if rank.role == "unreadable" else b"".join(pieces)
        path.write_bytes(data)
        return len(data)


def make(arguments: argparse.Namespace) -> None:
    chance = random.Random(arguments.seed)
    job, most = Job(), arguments.megabytes_per_rank * 1_000_000
    programs = [gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in arguments.sources]
    while fitting := [data for data in programs if not job.size or job.size + len(data) <= most * 1.1]:
        for data in fitting:
            if not job.size or job.size + len(data) <= most * 1.1:
                job.add(data)
    maker = Maker(job.records, arguments.distinct)
    roles = ["distinct"] * arguments.ranks if arguments.distinct else roles_of(arguments.ranks, chance)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    letters, written, begin = "abcdefghijklmnopqrstuvwxyz0123456789_", 0, time.perf_counter()
    processes = chance.sample(range(2_000, 4_000_000), arguments.ranks)
    for number, role in enumerate(roles):
        slower = chance.uniform(0.96, 1.04) * (SLOWER if role == "slow" else 1)
        rank = Rank(number, processes[number], chance.randrange(400), slower, chance.randrange(1 << 24) * 16, role)
        name = "".join(chance.choices(letters, k=8))
        written += maker.write(arguments.directory / f"dedicated_log_torch_trace_rank_{number}_{name}.log", rank)
    facts = truth(maker, roles, written)
    (arguments.directory / "truth.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    seconds = time.perf_counter() - begin
    for role, ranks in facts["ranks"].items():
        print(f"  {role:<14}{len(ranks):6}   rank {', '.join(map(str, ranks[:8]))}{' …' if len(ranks) > 8 else ''}")
    print(f"  {len(roles)} ranks, {written / 1e6:.0f} MB in {seconds:.1f} s, {written / 1e6 / seconds:.0f} MB/s")


def truth(maker: Maker, roles: Sequence[str], written: int) -> dict[str, Any]:
    """What a reader of these traces can find. Compile ids are as in the traces."""
    size = maker.sizes.size
    sizes = {"alike": size, "other_size": size + 8, "another_size": size + 21}
    return {
        "bytes": written,
        "sizes": {"compile_id": f"{maker.sizes.frame}/{maker.sizes.number}", "of": "size + 100 + rank" if maker.is_distinct else sizes},
        "recompiles": {"frame": maker.frame, "alike": maker.last, "one_more": maker.last + 1, "one_fewer": maker.last - 1},
        "slower": SLOWER,
        "ranks": {role: [number for number, own in enumerate(roles) if own == role] for role in dict.fromkeys(sorted(roles))},
    }


# The peak that a parent reads of a process counts the children of that too, so the process itself is asked.
MEASURED = """
import os, resource, sys
end, process, unit = os._exit, os.getpid(), 1 if sys.platform == "darwin" else 1024
def report_peaks(status):
    if os.getpid() == process:
        with open(TOLD, "w") as file:
            print(*(resource.getrusage(who).ru_maxrss * unit for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)), file=file)
    end(status)
os._exit = report_peaks
from shapelog.__main__ import main
main()
"""


def measure(arguments: argparse.Namespace) -> None:
    """The executors take turns, as a machine is not as fast at all times."""
    size = sum(path.stat().st_size for path in arguments.directory.glob("*.log*"))
    count = sum(1 for _ in arguments.directory.glob("*.log*"))
    print(f"{count} ranks, {size / 1e6:.0f} MB, best of {arguments.times}")
    runs: dict[str, list[tuple[float, ...]]] = {executor: [] for executor in arguments.executor}
    with tempfile.TemporaryDirectory() as scratch:
        for executor in arguments.executor * arguments.times:
            runs[executor].append(run_once(arguments.directory, executor, Path(scratch)))
    first = 0.0
    for executor, found in runs.items():
        seconds, own, children, page = min(run[0] for run in found), *map(max, list(zip(*found, strict=True))[1:])
        first = first or seconds
        print(
            f"  {executor:<24}{seconds:8.2f} s {size / 1e6 / seconds:7.0f} MB/s {first / seconds:6.2f} × as fast"
            f"   driver {own / 1e6:6.0f} MB, children {children / 1e6:6.0f} MB, page {page / 1e6:5.1f} MB"
        )


def run_once(directory: Path, executor: str, scratch: Path) -> tuple[float, ...]:
    """Seconds of a whole report, peak memory of its process and of the largest of its children, and the size of the page, in bytes."""
    page, told = scratch / "report.html", scratch / "told"
    options = ["report", str(directory), "--executor", executor, "-o", str(page)]
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", f"TOLD = {str(told)!r}\n{MEASURED}", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    seconds = time.perf_counter() - begin
    if done.returncode:
        sys.exit(f"shapelog {' '.join(options)} ended with {done.returncode}:\n{done.stderr.decode()[-2000:]}")
    return seconds, *map(int, told.read_text().split()), page.stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    making = commands.add_parser("make", help="write the traces of a job")
    making.add_argument("directory", type=Path, metavar="DIR")
    making.add_argument("--ranks", type=int, default=64, metavar="N")
    making.add_argument("--megabytes-per-rank", type=float, default=1, metavar="N")
    making.add_argument("--seed", type=int, default=1, metavar="N")
    making.add_argument("--distinct", action="store_true", help="no two ranks behave the same: each has inputs of its own size")
    making.add_argument("--from", dest="sources", type=Path, nargs="+", metavar="TRACE", default=[FIXTURES / name for name in SOURCES])
    making.set_defaults(command=make)
    measuring = commands.add_parser("measure", help="time and memory of reports on a job")
    measuring.add_argument("directory", type=Path, metavar="DIR")
    measuring.add_argument("--executor", nargs="+", default=["processes:1", "processes:2"], metavar="EXECUTOR")
    measuring.add_argument("--times", type=int, default=3, metavar="N", help="runs of each (default: 3)")
    measuring.set_defaults(command=measure)
    arguments = parser.parse_args()
    arguments.command(arguments)


if __name__ == "__main__":
    main()

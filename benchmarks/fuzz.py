#!/usr/bin/env python3
"""Throw broken input at shapelog: python benchmarks/fuzz.py [--seconds N | --runs N] [--seed S] [--jobs N] [--kinds ...] [--replay FILE]

Inputs are of the kinds in fuzz_kinds.py: traces, text, archives, settings, baselines, what happens to files that are watched. Where atheris
is installed it chooses them by the code that they reach; without it, or with --engine own, the same seed gives the same inputs.
See benchmarks/README.md.
"""

import argparse
import gc
import hashlib
import multiprocessing
import random
import resource
import signal
import sys
import time
import traceback
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fuzz_kinds import Kind

HERE = Path(__file__).parent
_MEMORY = 3 << 30
# Processor seconds for one input, and what a worker does between two words to its parent.
_PATIENCE, _BATCH = 10.0, 250
# Tries and seconds to make one finding smaller.
_TRIALS, _SHRINKING = 1500, 60.0


@dataclass(frozen=True)
class Job:
    """What one worker does: until ``runs`` inputs or ``seconds`` are over."""

    seed: int
    seconds: float
    runs: int
    engine: str
    corpus: str
    kinds: tuple[str, ...]


@dataclass
class Outcome:
    """What came of many inputs: for each kind how many they were and the processor seconds that they took, and what was done with them.

    ``findings`` are kind, input and traceback by what makes findings different.
    """

    bytes: int = 0
    inputs: Counter[str] = field(default_factory=Counter)
    seconds: Counter[str] = field(default_factory=Counter)
    stages: Counter[str] = field(default_factory=Counter)
    findings: dict[str, "Finding"] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        return self.inputs.total()

    def add(self, other: "Outcome") -> "dict[str, Finding]":
        """Take in what a worker found since its last word; gives the findings that are new."""
        new = {key: found for key, found in other.findings.items() if key not in self.findings}
        self.bytes += other.bytes
        for own, theirs in ((self.inputs, other.inputs), (self.seconds, other.seconds), (self.stages, other.stages)):
            own.update(theirs)
        self.findings.update(new)
        return new

    def lines(self) -> Iterator[str]:
        """For each kind how many inputs, at which rate for a core, and what was done with them."""
        for kind, count in self.inputs.most_common():
            yield f"  {count:9} {kind}, {count / max(self.seconds[kind], 0.001):.0f}/s of a core"
            for stage, times in self.stages.most_common():
                if stage.startswith(f"{kind}: "):
                    yield f"    {times:9} {stage.partition(': ')[2]}"


class Finding(NamedTuple):
    """What went wrong with an input of a kind: its traceback."""

    kind: str
    data: bytes
    words: str


def signature(error: BaseException) -> str:
    """What distinguishes findings: the kind of error, and the innermost line of shapelog."""
    places = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "/shapelog/" in frame.filename
    ]
    words = str(error) if type(error).__name__ == "Flaw" else ""
    return f"{type(error).__name__} {words[:60]} at {places[-1] if places else 'a stage'}"


def attempt(kind: "Kind", data: bytes, outcome: Outcome, everything: bool = False) -> str:
    """Run one input; gives what distinguishes the finding, "" where nothing went wrong."""
    from promises import Slow

    began, stages = time.process_time(), Counter[str]()
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    try:
        kind.examine(data, stages, zlib.crc32(data), everything)
    except (Exception, Slow) as error:
        key = f"{kind.name}: {signature(error)}"
        if key not in outcome.findings:
            outcome.findings[key] = Finding(kind.name, data, "".join(traceback.format_exception(error)[-12:]))
        return key
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        outcome.bytes += len(data)
        outcome.inputs[kind.name] += 1
        outcome.seconds[kind.name] += time.process_time() - began  # type: ignore[assignment]
        outcome.stages.update({f"{kind.name}: {stage}": count for stage, count in stages.items()})
    return ""


def prepare(limit_memory: bool = True) -> None:
    """Bounds of a worker: memory, and processor time for one input. What atheris maps counts as memory, too."""
    from promises import Slow

    def stop(*_: object) -> None:
        raise Slow(f"more than {_PATIENCE:.0f} s of processor time")

    signal.signal(signal.SIGVTALRM, stop)
    if limit_memory:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def work(job: Job, pipe: Connection) -> None:
    if job.engine == "atheris":
        import atheris

        with atheris.instrument_imports(include=["shapelog"]):
            import stages  # noqa: F401
    prepare(limit_memory=job.engine != "atheris")
    from fuzz_kinds import kinds

    with kinds(job.kinds, job.corpus) as made:
        gc.collect()
        gc.freeze()
        (_by_atheris if job.engine == "atheris" else _by_itself)(job, made, pipe)


def _by_itself(job: Job, kinds: "Sequence[Kind]", pipe: Connection) -> None:
    end, left, outcome, chance = time.monotonic() + job.seconds, job.runs, Outcome(), random.Random(job.seed)
    shares = [kind.share for kind in kinds]
    while left > 0 and time.monotonic() < end:
        kind = chance.choices(kinds, shares)[0]
        attempt(kind, kind.input(chance), outcome)
        left -= 1
        if outcome.runs >= _BATCH:
            pipe.send(outcome)
            outcome = Outcome()
            gc.collect()
            gc.freeze()  # modules that were imported meanwhile; collections are part of what is examined, and have to be short
    pipe.send(outcome)


def _by_atheris(job: Job, kinds: "Sequence[Kind]", pipe: Connection) -> None:
    """Of the first kind alone: what atheris has learned of one is nothing for another."""
    import atheris

    told, kind = Outcome(), kinds[0]

    def one_input(data: bytes) -> None:
        nonlocal told
        attempt(kind, data, told)
        if told.runs >= _BATCH // 10 or told.findings:  # what was not told when atheris ends the process is not counted
            pipe.send(told)
            told = Outcome()

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        return kind.input(random.Random(seed))[:most] if seed % 2 else atheris.Mutate(data, most)

    limits = [
        f"-max_total_time={max(1, int(job.seconds))}",
        f"-runs={job.runs if job.runs < 1 << 31 else -1}",
        f"-seed={job.seed % 2**31 or 1}",
    ]
    atheris.Setup([sys.argv[0], *limits, "-max_len=60000", "-verbosity=0"], one_input, custom_mutator=mutate)
    atheris.Fuzz()


def minimised(kind: "Kind", data: bytes, key: str) -> bytes:
    """A smaller input with the same finding: fewer records, then fewer bytes."""
    from make import split_records

    trials, end = _TRIALS, time.monotonic() + _SHRINKING

    def fails(candidate: bytes) -> bool:
        nonlocal trials
        trials -= 1
        return trials > 0 and time.monotonic() < end and attempt(kind, candidate, Outcome(), everything=True) == key

    if not fails(data):
        return data
    pieces = _fewer(split_records(data) or [data], fails)
    lines = _fewer(b"".join(pieces).splitlines(keepends=True), fails)
    return b"".join(_fewer([bytes([byte]) for byte in b"".join(lines)], fails, least=4))


def _fewer(pieces: list[bytes], fails: Callable[[bytes], bool], least: int = 1) -> list[bytes]:
    """Leave out runs of pieces, half of them first, as long as the rest still fails."""
    if not fails(b"".join(pieces)):
        return pieces
    size = max(1, len(pieces) // 2)
    while size >= least:
        start = 0
        while start < len(pieces):
            rest = pieces[:start] + pieces[start + size :]
            if rest and fails(b"".join(rest)):
                pieces = rest
            else:
                start += size
        size //= 2
    return pieces


def save(folder: Path, seed: int, key: str, found: Finding) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{found.kind}-seed{seed}-{hashlib.sha256(found.data).hexdigest()[:12]}.input"
    path.write_bytes(found.data)
    print(f"\n{key}\n{found.words}  {len(found.data)} bytes: --replay {path}", flush=True)
    return path


def shrink(path: Path, key: str) -> None:
    from fuzz_kinds import kinds

    with kinds((path.name.partition("-")[0],)) as (kind,):
        small = minimised(kind, path.read_bytes(), key)
    path.write_bytes(small)
    print(f"{path}: {len(small)} bytes are enough", flush=True)


def summary(given: argparse.Namespace, total: Outcome, seconds: float) -> str:
    rate = total.runs / max(seconds, 0.001)
    head = f"{total.runs} inputs, {total.bytes / 1e6:.0f} MB, {seconds:.0f} s, {rate:.0f}/s, seed {given.seed}, engine {given.engine}"
    return "\n".join((head, *total.lines(), *total.findings, f"{len(total.findings)} findings"))


def write_summary(given: argparse.Namespace, total: Outcome, seconds: float) -> None:
    if given.summary:
        given.summary.write_text(summary(given, total, seconds) + "\n", encoding="utf-8")


def fuzz(given: argparse.Namespace) -> int:
    """All workers until they are done; 1 when something was found."""
    start, total, pipes, workers = time.monotonic(), Outcome(), [], []
    for number in range(given.jobs):
        receive, send = multiprocessing.Pipe(duplex=False)
        runs = given.runs // given.jobs + (number < given.runs % given.jobs) if given.runs else 1 << 60
        job = Job(given.seed * 1000 + number, given.seconds or 1e9, runs, given.engine, given.corpus or "", given.kinds)
        worker = multiprocessing.Process(target=work, args=(job, send))
        worker.start()
        workers.append(worker)
        send.close()
        pipes.append(receive)
    saved: dict[Path, str] = {}
    said = start
    while pipes:
        for pipe in wait(pipes, timeout=10):
            assert isinstance(pipe, Connection)
            try:
                for key, found in total.add(pipe.recv()).items():
                    saved[save(Path(given.findings).absolute(), given.seed, key, found)] = key
            except EOFError:
                pipes.remove(pipe)
        if time.monotonic() - said > 30:
            said = time.monotonic()
            print(f"{total.runs} inputs, {total.runs / (said - start):.0f}/s, {len(total.findings)} findings", file=sys.stderr, flush=True)
            write_summary(given, total, said - start)
    seconds = time.monotonic() - start
    for worker in workers:
        worker.join()
    lost = [worker.exitcode for worker in workers if worker.exitcode]
    write_summary(given, total, seconds)
    prepare()
    for path, key in saved.items():
        shrink(path, key)
    print(summary(given, total, seconds))
    if lost:
        print(f"{len(lost)} workers died ({', '.join(map(str, lost))}): with --engine own the same seed comes to the same input")
    return 1 if total.findings or lost or not total.runs else 0


def replay(path: Path) -> int:
    """Run one input, of the kind that its name begins with, through every stage."""
    from fuzz_kinds import kinds

    prepare()
    outcome, data = Outcome(), path.read_bytes()
    with kinds((path.name.partition("-")[0],)) as (kind,):
        attempt(kind, data, outcome, everything=True)
    for key, found in outcome.findings.items():
        print(f"{key}\n{found.words}")
    print(*outcome.lines(), sep="\n")
    return 1 if outcome.findings else 0


def _engine(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    from importlib.util import find_spec

    return "atheris" if find_spec("atheris") else "own"


def _kinds(wanted: str | None) -> tuple[str, ...]:
    from fuzz_kinds import KINDS

    unknown = set(wanted.split(",") if wanted else ()) - set(KINDS)
    if unknown:
        sys.exit(f"fuzz.py: --kinds: {', '.join(sorted(unknown))}: known are {', '.join(KINDS)}")
    return tuple(wanted.split(",")) if wanted else KINDS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0, help="how long (default: 60, unless --runs is given)")
    parser.add_argument("--runs", type=int, default=0, help="how many inputs, over all jobs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--engine", choices=("auto", "own", "atheris"), default="auto")
    parser.add_argument("--kinds", help="of fuzz_kinds.py, with commas (default: all)")
    parser.add_argument("--corpus", help="more traces to start from, below this folder")
    parser.add_argument("--findings", default="fuzz-findings", help="where inputs that break something are written")
    parser.add_argument("--summary", type=Path, metavar="FILE", help="write here what was done so far, every half a minute")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one input through all stages")
    parser.add_argument("--big", action="store_true", help="measure time and memory of large hostile inputs instead")
    given = parser.parse_args()
    sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "tests")]
    if given.big:
        from big_inputs import measured

        return measured()
    if given.replay:
        return replay(given.replay)
    given.seconds = given.seconds or (0 if given.runs else 60)
    given.engine = _engine(given.engine)
    given.kinds = _kinds(given.kinds)
    return fuzz(given)


if __name__ == "__main__":
    sys.exit(main())

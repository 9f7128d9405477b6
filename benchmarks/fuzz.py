#!/usr/bin/env python3
"""Throw broken traces at shapelog: python benchmarks/fuzz.py [--seconds N | --runs N] [--seed S] [--jobs N] [--replay FILE] [--big]

Inputs are changed ones of made and recorded traces. Where atheris is installed it chooses them by the code that they reach; without it,
or with --engine own, the same seed gives the same inputs. benchmarks/README.md tells more.
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
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

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


@dataclass
class Outcome:
    """What came of many inputs. ``findings`` are input and traceback by what tells findings apart."""

    runs: int = 0
    bytes: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[bytes, str]] = field(default_factory=dict)

    def add(self, other: "Outcome") -> dict[str, tuple[bytes, str]]:
        """Take in what a worker found since its last word; gives the findings that are new."""
        new = {key: found for key, found in other.findings.items() if key not in self.findings}
        self.runs, self.bytes = self.runs + other.runs, self.bytes + other.bytes
        self.stages.update(other.stages)
        self.findings.update(new)
        return new


def signature(error: BaseException) -> str:
    """What tells findings apart: the kind of error, and the innermost line of shapelog."""
    places = [
        f"{Path(frame.filename).name}:{frame.lineno}"
        for frame in traceback.extract_tb(error.__traceback__)
        if "/shapelog/" in frame.filename
    ]
    words = str(error) if type(error).__name__ == "Flaw" else ""
    return f"{type(error).__name__} {words[:60]} at {places[-1] if places else 'a stage'}"


def attempt(data: bytes, outcome: Outcome, everything: bool = False) -> str:
    """Run one input; gives what tells the finding apart, "" where nothing went wrong."""
    from stages import Slow, examine

    outcome.runs += 1
    outcome.bytes += len(data)
    signal.setitimer(signal.ITIMER_VIRTUAL, _PATIENCE)
    try:
        examine(data, outcome.stages, everything)
    except (Exception, Slow) as error:
        key = signature(error)
        if key not in outcome.findings:
            outcome.findings[key] = data, "".join(traceback.format_exception(error)[-12:])
        return key
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return ""


def prepare(limit_memory: bool = True) -> None:
    """Bounds of a worker: memory, and processor time for one input. What atheris maps counts as memory, too."""
    from stages import Slow

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
    from mutations import ROOT, Mutator, made_seeds, recorded_seeds

    recorded = recorded_seeds(ROOT / "fixtures") + (recorded_seeds(Path(job.corpus)) if job.corpus else [])
    mutator = Mutator(random.Random(job.seed), made_seeds(), recorded)
    gc.collect()
    gc.freeze()
    (_by_atheris if job.engine == "atheris" else _by_itself)(job, mutator, pipe)


def _by_itself(job: Job, mutator: Any, pipe: Connection) -> None:
    end, left, outcome = time.monotonic() + job.seconds, job.runs, Outcome()
    while left > 0 and time.monotonic() < end:
        attempt(mutator.input(), outcome)
        left -= 1
        if outcome.runs >= _BATCH:
            pipe.send(outcome)
            outcome = Outcome()
    pipe.send(outcome)


def _by_atheris(job: Job, mutator: Any, pipe: Connection) -> None:
    import atheris

    told = Outcome()

    def one_input(data: bytes) -> None:
        nonlocal told
        attempt(data, told)
        if told.runs >= _BATCH // 10 or told.findings:  # what was not told when atheris ends the process is not counted
            pipe.send(told)
            told = Outcome()

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        mutator.chance.seed(seed)
        return (mutator.input() if seed % 2 else mutator._bytes(data))[:most]

    limits = [
        f"-max_total_time={max(1, int(job.seconds))}",
        f"-runs={job.runs if job.runs < 1 << 31 else -1}",
        f"-seed={job.seed % 2**31 or 1}",
    ]
    atheris.Setup([sys.argv[0], *limits, "-max_len=60000", "-verbosity=0"], one_input, custom_mutator=mutate)
    atheris.Fuzz()


def minimised(data: bytes, key: str) -> bytes:
    """A smaller input with the same finding: fewer records, then fewer bytes."""
    from make import split_records

    trials, end = _TRIALS, time.monotonic() + _SHRINKING

    def fails(candidate: bytes) -> bool:
        nonlocal trials
        trials -= 1
        return trials > 0 and time.monotonic() < end and attempt(candidate, Outcome(), everything=True) == key

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


def save(folder: Path, seed: int, key: str, data: bytes, words: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed{seed}-{hashlib.sha256(data).hexdigest()[:12]}.log"
    path.write_bytes(data)
    print(f"\n{key}\n{words}  {len(data)} bytes: --replay {path}", flush=True)
    return path


def shrink(path: Path, key: str) -> None:
    small = minimised(path.read_bytes(), key)
    path.write_bytes(small)
    print(f"{path}: {len(small)} bytes are enough", flush=True)


def fuzz(given: argparse.Namespace) -> int:
    """All workers until they are done; 1 when something was found."""
    start, total, pipes, workers = time.monotonic(), Outcome(), [], []
    for number in range(given.jobs):
        receive, send = multiprocessing.Pipe(duplex=False)
        runs = given.runs // given.jobs + (number < given.runs % given.jobs) if given.runs else 1 << 60
        job = Job(given.seed * 1000 + number, given.seconds or 1e9, runs, given.engine, given.corpus or "")
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
                for key, (data, words) in total.add(pipe.recv()).items():
                    saved[save(Path(given.findings), given.seed, key, data, words)] = key
            except EOFError:
                pipes.remove(pipe)
        if time.monotonic() - said > 30:
            said = time.monotonic()
            print(f"{total.runs} inputs, {total.runs / (said - start):.0f}/s, {len(total.findings)} findings", file=sys.stderr, flush=True)
    seconds = time.monotonic() - start
    for worker in workers:
        worker.join()
    lost = [worker.exitcode for worker in workers if worker.exitcode]
    prepare()
    for path, key in saved.items():
        shrink(path, key)
    rate = total.runs / max(seconds, 0.001)
    print(f"{total.runs} inputs, {total.bytes / 1e6:.0f} MB, {seconds:.0f} s, {rate:.0f}/s, seed {given.seed}, engine {given.engine}")
    for name, count in total.stages.most_common():
        print(f"  {count:9} {name}")
    print(f"{len(total.findings)} findings")
    if lost:
        print(f"{len(lost)} workers died ({', '.join(map(str, lost))}): with --engine own the same seed comes to the same input")
    return 1 if total.findings or lost or not total.runs else 0


def replay(path: Path) -> int:
    prepare()
    outcome = Outcome()
    attempt(path.read_bytes(), outcome, everything=True)
    for key, (_, words) in outcome.findings.items():
        print(f"{key}\n{words}")
    print(", ".join(outcome.stages) or "nothing was run")
    return 1 if outcome.findings else 0


def _engine(wanted: str) -> str:
    if wanted != "auto":
        return wanted
    from importlib.util import find_spec

    return "atheris" if find_spec("atheris") else "own"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0, help="how long (default: 60, unless --runs is given)")
    parser.add_argument("--runs", type=int, default=0, help="how many inputs, over all jobs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--engine", choices=("auto", "own", "atheris"), default="auto")
    parser.add_argument("--corpus", help="more traces to start from, below this folder")
    parser.add_argument("--findings", default="fuzz-findings", help="where inputs that break something are written")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="run one input through all stages")
    parser.add_argument("--big", action="store_true", help="measure time and memory of large hostile inputs instead")
    given = parser.parse_args()
    sys.path[:0] = [str(HERE)]
    if given.big:
        from big_inputs import measured

        return measured()
    if given.replay:
        return replay(given.replay)
    given.seconds = given.seconds or (0 if given.runs else 60)
    given.engine = _engine(given.engine)
    return fuzz(given)


if __name__ == "__main__":
    sys.exit(main())

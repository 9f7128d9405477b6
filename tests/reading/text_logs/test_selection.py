"""Which text logs are read: by name, in a directory or an archive, of which ranks, and next to a trace."""

import gzip
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import HTTPServer, SimpleHTTPRequestHandler
from pathlib import Path
from threading import Thread

import make
import pytest
from packing import PACKS, RANK, Pack, refusal

from shapelog import load
from shapelog.model.trace import Trace
from shapelog.reading.inputs import join, select
from shapelog.reading.open_trace import open_selection
from shapelog.reading.trace_files import rank_of

LOGS = Path(__file__).parents[3] / "fixtures" / "text_logs"
BOTH = gzip.decompress((LOGS / "2.6" / "n_dist.txt.gz").read_bytes())
LINES = BOTH.splitlines(keepends=True)
RANKS = tuple(b"".join(line for line in LINES if line.startswith(b"[rank%d]:" % rank)) for rank in (0, 1))
LOADING = b"loading the model\n"
LABELS = ["0/0", "0/1"]


def put(where: Path, files: dict[str, bytes], when: float = 0.0) -> Path:
    for name, data in files.items():
        path = where / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if when:
            os.utime(path, (when, when))
    return where


def labels(trace: Trace) -> dict[int | None, list[str]]:
    return {rank.number: [compile.label for frame in rank.frames for compile in frame.compiles] for rank in trace.ranks}


@pytest.mark.parametrize("name", ["run.txt", "slurm-123.out", "job.err", "run.log", "run"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_text_log_that_is_named_is_read_whatever_its_name(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    assert labels(load(put(tmp_path, {name: pack(RANKS[1])}) / name)) == {1: LABELS}


LAYOUTS = {
    "numbered": {"rank_0.txt": RANKS[0], "rank_1.txt": RANKS[1]},
    "glued numbers": {"rank0.log": RANKS[0], "rank1.log": RANKS[1]},
    "slurm": {"job-0.out": RANKS[0], "job-1.out": RANKS[1], "job-0.err": LOADING, "job-1.err": LOADING},
    "packed": {"train.rank-0.err.gz": gzip.compress(RANKS[0]), "train.rank-1.err.gz": gzip.compress(RANKS[1])},
    "one file": {"run.txt": BOTH},
    "with other texts": {"requirements.txt": b"torch\n", "README.md": b"torch._dynamo\n", "run.out": BOTH},
    "torchrun": {f"{rank}/{name}.log": data for rank in (0, 1) for name, data in (("stderr", RANKS[rank]), ("stdout", LOADING))},
    "torchrun, attempt": {f"attempt_0/{rank}/stderr.log": RANKS[rank] for rank in (0, 1)},
    "torchrun, job": {f"none_a1b2/attempt_0/{rank}/stderr.log": RANKS[rank] for rank in (0, 1)},
    "torchrun, only output": {f"{rank}/{name}.log": data for rank in (0, 1) for name, data in (("stdout", RANKS[rank]), ("stderr", b""))},
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_text_logs_of_the_ranks_in_a_directory_are_one_run(tmp_path: Path, layout: str) -> None:
    trace = load(put(tmp_path, LAYOUTS[layout]))
    assert labels(trace) == {0: LABELS, 1: LABELS}
    assert not [problem for problem in trace.problems if problem.severity == "data-loss"]


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
@pytest.mark.parametrize("layout", ["numbered", "slurm", "torchrun", "torchrun, job"])
def test_the_text_logs_of_the_ranks_in_an_archive_are_one_run(tmp_path: Path, layout: str, pack: Pack) -> None:
    (tmp_path / "logs").write_bytes(pack(LAYOUTS[layout]))
    assert labels(load(tmp_path / "logs")) == {0: LABELS, 1: LABELS}


def test_one_rank_of_torchrun_is_read_alone(tmp_path: Path) -> None:
    put(tmp_path, LAYOUTS["torchrun"])
    assert labels(load(tmp_path / "1")) == labels(load(tmp_path / "1" / "stderr.log")) == {1: LABELS}


def test_the_last_attempt_of_torchrun_is_the_newest_run(tmp_path: Path) -> None:
    now = time.time()
    for attempt in (0, 1):
        put(tmp_path, {f"attempt_{attempt}/{rank}/stderr.log": RANKS[rank] for rank in (0, 1)}, now - 1000 + 100 * attempt)
    selection = select(str(tmp_path))
    assert [file.name for file in selection.files] == ["attempt_1/0/stderr.log", "attempt_1/1/stderr.log"]
    assert selection.notes[1].startswith("2 older or other")


def test_text_logs_of_ranks_that_ran_at_once_are_one_run_though_their_names_have_no_rank(tmp_path: Path) -> None:
    """Their lines have the time, and the rank once torch.distributed is initialized."""
    put(tmp_path, {"a.out": LOADING + RANKS[0], "b.out": LOADING + RANKS[1]})
    for name, age in (("a.out", 5000), ("b.out", 0)):
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    assert labels(load(tmp_path)) == {0: LABELS, 1: LABELS}


def test_text_logs_of_other_days_are_other_runs(tmp_path: Path) -> None:
    put(tmp_path, {"monday.txt": RANKS[0], "tuesday.txt": RANKS[0].replace(b"1120 ", b"1121 ")})
    assert [file.name for file in select(str(tmp_path)).files] == ["tuesday.txt"]


def test_traces_come_before_text_logs(tmp_path: Path) -> None:
    put(tmp_path, {"run.txt": BOTH, RANK.format(0, "aaaaaaaa"): make.small_trace()})
    assert [file.name for file in select(str(tmp_path)).files] == [RANK.format(0, "aaaaaaaa")]


def test_a_directory_with_texts_that_never_mention_the_compiler_has_no_trace(tmp_path: Path) -> None:
    put(tmp_path, {"requirements.txt": b"torch==2.13\n", "job.out": LOADING})
    message = refusal(tmp_path)
    assert "no trace in this directory" in message
    assert "requirements.txt" in message


@pytest.mark.parametrize(
    ("path", "rank"),
    [
        ("rank_0.txt", 0),
        ("rank0.log", 0),
        ("logs/RANK-12.err.gz", 12),
        ("train.rank3.out", 3),
        ("log_rank_7_of_8.txt", 7),
        ("attempt_0/5/stderr.log", 5),
        ("5/stdout.log", 5),
        ("job-5.out", None),  # the number of a job or of a task, too
        ("frank_3.log", None),
        ("rank.log", None),
        ("rank_3.json", None),
        ("x5/stderr.log", None),
    ],
)
def test_the_rank_in_the_name_of_a_text_log(path: str, rank: int | None) -> None:
    assert rank_of(path) == rank


def test_a_text_log_next_to_a_trace_is_opened_apart(tmp_path: Path) -> None:
    put(tmp_path, {"a.log": make.small_trace(), "b.log": BOTH, "c.log": LOADING})
    found = join([select(str(tmp_path / name)) for name in ("b.log", "a.log", "c.log")])
    selection, opened, logs = open_selection(found)
    assert [file.name for file in selection.files] == [item.name for item in opened] == ["a.log", "c.log"]
    assert [item.name for item in logs] == ["b.log"]


def test_without_a_trace_text_logs_are_read_next_to_what_is_neither(tmp_path: Path) -> None:
    put(tmp_path, {"b.log": BOTH, "c.log": LOADING})
    _, opened, logs = open_selection(join([select(str(tmp_path / name)) for name in ("b.log", "c.log")]))
    assert [item.log is not None for item in opened] == [True, False]
    assert logs == []


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as running:
        Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_text_logs_behind_a_url_are_read(tmp_path: Path, server: str) -> None:
    put(tmp_path, {"rank_0.txt": RANKS[0], "rank_1.txt.gz": gzip.compress(RANKS[1]), "notes.txt": LOADING})
    assert labels(load(f"{server}/rank_1.txt.gz")) == {1: LABELS}
    assert labels(load(f"{server}/")) == {0: LABELS, 1: LABELS}


def test_text_logs_of_many_ranks_are_read(tmp_path: Path) -> None:
    for rank in range(20):
        (tmp_path / f"rank_{rank}.txt").write_bytes(RANKS[0].replace(b"[rank0]", b"[rank%d]" % rank))
    trace = load(tmp_path)
    assert trace.rank_count == 20
    assert labels(trace)[0] == LABELS

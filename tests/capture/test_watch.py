"""``shapelog watch``: what is read again and when, which compiles are new, when it ends, and a screen that always fits."""

import gc
import gzip
import importlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import make
import pytest
from click.testing import CliRunner
from fake_machine import Machine
from make import artifact, split_records, tensor, trace
from make import compile as compiled
from payload_text import size_mismatch
from recorded import FIXTURES
from rich.cells import cell_len

import shapelog
from shapelog.capture import trace_writers
from shapelog.capture import watch as watching
from shapelog.capture.watch import IDLE, Snapshot, Watch
from shapelog.cli.main import cli
from shapelog.errors import ShapelogError
from shapelog.reporters.terminal.watch import Screen, lines

NAME = "dedicated_log_torch_trace_{}.log"
FIRST = trace(compiled("0/0", tensor(8, 16)))
SECOND = compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)])
THIRD = compiled("0/2", tensor(5, 16), reasons=[size_mismatch("0/1", 3, 5)])
COMPILED = "08:27:33 0/1 f recompiled (1.00 s): dim 0 of x changed from 8 to 3  SL101"
needs_posix = pytest.mark.skipif(os.name != "posix", reason="processes as POSIX has them")


@pytest.fixture
def fake() -> Iterator[Machine]:
    machine = Machine()
    with machine.followed():
        yield machine


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were opened to be read."""
    found: list[str] = []
    opened = watching.open_trace

    def note(file: watching.TraceFile) -> object:
        found.append(file.name)
        return opened(file)

    monkeypatch.setattr(watching, "open_trace", note)
    return found


@pytest.fixture(autouse=True)
def _quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting garbage takes long among all that tests keep, and one of them looks at it."""
    if "no_collection" not in request.fixturenames:
        monkeypatch.setattr(gc, "collect", lambda: 0)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Garbage stays, as it does in the command line."""
    gc.disable()
    yield
    gc.enable()


def watch(where: Path, fake: Machine, idle: float | None = None) -> Iterator[Snapshot]:
    return Watch(str(where), idle, True).snapshots()


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def until(snapshots: Iterator[Snapshot], done: Callable[[Snapshot], object], most: int = 50) -> Snapshot:
    for _ in range(most):
        snapshot = next(snapshots)
        if done(snapshot):
            return snapshot
    raise AssertionError("that never came")


def read_again(snapshots: Iterator[Snapshot], last: Snapshot) -> Snapshot:
    """The next snapshot with another report than the last one has."""
    return until(snapshots, lambda item: item.report is not last.report)


def test_a_directory_that_does_not_exist_yet_is_waited_for(tmp_path: Path, fake: Machine) -> None:
    where = tmp_path / "new"
    snapshots = watch(where, fake)
    assert [(item.report, item.waiting, item.ended) for item in (next(snapshots), next(snapshots))] == [(None, "", "")] * 2
    where.mkdir()
    assert next(snapshots).report is None
    append(where / NAME.format("aaaaaaaa"), b"")
    assert (next(snapshots).report, next(snapshots).waiting) == (None, "")
    append(where / NAME.format("aaaaaaaa"), FIRST)
    assert lines(until(snapshots, lambda item: item.report)) == ["08:27:33 0/0 f compiled (1.00 s)"]


def test_later_compiles_are_reported_once(tmp_path: Path, fake: Machine) -> None:
    path = tmp_path / NAME.format("aaaaaaaa")
    append(path, FIRST)
    snapshots = watch(tmp_path, fake)
    assert len(next(snapshots).fresh) == 1
    append(path, SECOND)
    shown = [line for _ in range(8) for line in lines(next(snapshots))]
    assert shown == [COMPILED]


def test_a_compile_is_reported_when_its_last_record_is_written(tmp_path: Path, fake: Machine) -> None:
    path = tmp_path / NAME.format("aaaaaaaa")
    *most, last = split_records(SECOND)
    append(path, FIRST + b"".join(most))
    snapshots = watch(tmp_path, fake)
    assert [event.compile.label for event in next(snapshots).fresh] == ["0/0"]
    append(path, last)
    assert lines(until(snapshots, lambda item: item.fresh)) == [COMPILED]


def test_a_running_compile_is_shown(tmp_path: Path, fake: Machine) -> None:
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST + b"".join(split_records(SECOND)[:3]))
    assert "compiling: 0/1 f" in screen(next(watch(tmp_path, fake)))


def test_only_files_that_grew_are_read_again(tmp_path: Path, fake: Machine, reads: list[str]) -> None:
    one, other = (tmp_path / f"dedicated_log_torch_trace_rank_{rank}_aaaaaaaa.log" for rank in (0, 1))
    append(one, FIRST)
    append(other, FIRST)
    snapshots = watch(tmp_path, fake)
    next(snapshots)
    assert sorted(reads) == [one.name, other.name]
    append(other, SECOND)
    found = until(snapshots, lambda item: item.fresh)
    assert reads[2:] == [other.name]
    assert lines(found) == ["08:27:33 rank 1 0/1 f recompiled (1.00 s): dim 0 of x changed from 8 to 3  SL101"]
    assert all(next(snapshots).report is found.report for _ in range(5))
    assert len(reads) == 3


def test_a_file_that_appears_later_belongs_to_the_run(tmp_path: Path, fake: Machine) -> None:
    append(tmp_path / "dedicated_log_torch_trace_rank_0_aaaaaaaa.log", FIRST)
    snapshots = watch(tmp_path, fake)
    next(snapshots)
    append(tmp_path / "dedicated_log_torch_trace_rank_1_bbbbbbbb.log", trace(compiled("0/0", tensor(8, 16), process=9), process=9))
    found = until(snapshots, lambda item: item.fresh)
    assert found.known == 2
    assert [line[9:20] for line in lines(found)] == ["rank 1 0/0 "]
    assert "ranks 0 and 1  1 compilation, 0 recompilations  1.00 s" in screen(found)


def test_reading_takes_a_third_of_the_time_at_most(tmp_path: Path, fake: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / NAME.format("aaaaaaaa")
    append(path, FIRST)
    analyze = watching.analyze

    def slow(*arguments: object) -> object:
        fake.now += 10.0
        return analyze(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(watching, "analyze", slow)
    snapshots = watch(tmp_path, fake)
    last = next(snapshots)
    began = fake.now
    for _ in range(3):  # it grows all the time
        append(path, artifact("other", "x"))
        last = read_again(snapshots, last)
    assert fake.now - began >= 3 * (10.0 + 20.0)
    assert all(nap > 0 for nap in fake.naps)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system does not list open files")
def test_files_that_were_read_before_do_not_stay_open(tmp_path: Path, fake: Machine, no_collection: None) -> None:
    path = tmp_path / NAME.format("aaaaaaaa")
    append(path, FIRST)
    snapshots = watch(tmp_path, fake)
    last = next(snapshots)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(4):
        append(path, artifact("other", "x"))
        last = read_again(snapshots, last)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_busy_file_is_read_once_a_second(tmp_path: Path, fake: Machine, reads: list[str]) -> None:
    path = tmp_path / NAME.format("aaaaaaaa")
    append(path, FIRST)
    snapshots = watch(tmp_path, fake)
    began = fake.now
    while fake.now < began + 10:
        append(path, artifact("other", "x"))
        next(snapshots)
    assert 5 <= len(reads) <= 11


def test_it_ends_when_the_process_that_writes_has_ended(tmp_path: Path, fake: Machine) -> None:
    path = tmp_path / NAME.format("aaaaaaaa")
    append(path, FIRST)
    fake.running.add(make.PROCESS)
    snapshots = watch(tmp_path, fake)
    next(snapshots)
    fake.now += 10 * IDLE  # it may compute for hours
    assert (next(snapshots).running, next(snapshots).ended) == (1, "")
    append(path, SECOND)
    fake.running.clear()
    (last,) = list(snapshots)
    assert (last.ended, last.running) == ("the process that wrote it has ended", 0)
    assert lines(last) == [COMPILED]


def test_unfinished_compiles_are_reported_at_the_end(tmp_path: Path, fake: Machine) -> None:
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST + b"".join(split_records(SECOND)[:3]))
    fake.running.add(make.PROCESS)
    snapshots = watch(tmp_path, fake)
    next(snapshots)
    next(snapshots)
    fake.running.clear()
    (last,) = list(snapshots)
    assert [line.split(": ")[0] for line in lines(last)] == ["08:27:33 0/1 f did not finish"]


def test_a_trace_from_elsewhere_ends_when_nothing_comes_for_long(tmp_path: Path, fake: Machine) -> None:
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST)
    began = fake.now
    *_, last = watch(tmp_path, fake)
    assert last.ended == "no new records for 600 s, and no process that wrote them is running on this machine"
    assert IDLE <= fake.now - began < IDLE + 5


def test_processes_elsewhere_are_given_time_when_those_here_have_ended(tmp_path: Path, fake: Machine) -> None:
    append(tmp_path / "dedicated_log_torch_trace_rank_0_aaaaaaaa.log", FIRST)
    append(tmp_path / "dedicated_log_torch_trace_rank_1_bbbbbbbb.log", trace(compiled("0/0", tensor(8, 16), process=9), process=9))
    fake.running.add(make.PROCESS)
    snapshots = watch(tmp_path, fake)
    next(snapshots)
    assert next(snapshots).running == 1
    fake.running.clear()
    began = fake.now
    *_, last = snapshots
    assert last.ended == "the processes that wrote it have ended"
    assert 50 <= fake.now - began < 70


def test_idle_ends_it_also_where_nothing_ever_came(tmp_path: Path, fake: Machine) -> None:
    fake.running.add(make.PROCESS)
    *_, last = watch(tmp_path / "none", fake, idle=20)
    assert (last.report, last.ended) == (None, "no new records for 20 s")
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST)
    *_, last = watch(tmp_path, fake, idle=30)
    assert last.ended == "no new records for 30 s"


def test_a_run_that_begins_later_takes_the_place_of_the_one_before(tmp_path: Path, fake: Machine) -> None:
    old, new = (tmp_path / NAME.format(name) for name in ("aaaaaaaa", "bbbbbbbb"))
    append(old, FIRST)
    snapshots = watch(tmp_path, fake)
    assert [event.compile.process for event in next(snapshots).fresh] == [make.PROCESS]
    append(new, trace(compiled("0/0", tensor(8, 16), process=9), process=9).replace(b"V1120 08:", b"V1120 09:"))
    found = until(snapshots, lambda item: item.fresh)
    assert [event.compile.process for event in found.events] == [9]


def test_a_directory_that_is_deleted_and_made_again_is_followed_on(tmp_path: Path, fake: Machine) -> None:
    where = tmp_path / "traces"
    where.mkdir()
    append(where / NAME.format("aaaaaaaa"), FIRST)
    snapshots = watch(where, fake)
    last = until(snapshots, lambda item: item.report)
    shutil.rmtree(where)
    assert [next(snapshots).ended for _ in range(10)] == [""] * 10
    where.mkdir()
    append(where / NAME.format("aaaaaaaa"), FIRST)
    assert lines(read_again(snapshots, last)) == ["08:27:33 0/0 f compiled (1.00 s)"]
    shutil.rmtree(where)
    with pytest.raises(ShapelogError, match="it no longer exists"):
        until(snapshots, lambda item: False, 200)


def test_of_a_directory_with_thousands_of_files_only_traces_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        (tmp_path / f"{number}.txt").write_bytes(b"")
    (tmp_path / "loop.log").symlink_to("loop.log")
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST)
    looked_at: list[str] = []
    states = watching._states
    monkeypatch.setattr(watching, "_states", lambda found: states(entry for entry in found if looked_at.append(entry.name) is None))  # type: ignore[func-returns-value]
    assert [name for name, _, _ in watching._state_of(tmp_path)] == looked_at == [NAME.format("aaaaaaaa")]


def test_a_loop_of_links_with_the_name_of_a_trace_hides_no_run(tmp_path: Path, fake: Machine) -> None:
    (tmp_path / NAME.format("aaaaaaaa")).symlink_to(NAME.format("aaaaaaaa"))
    (tmp_path / "rank_0").mkdir()
    append(tmp_path / "rank_0" / "raw.log", FIRST)
    assert len(next(watch(tmp_path, fake)).events) == 1


@pytest.mark.parametrize("log", ["rank_0/raw.log", "0/stderr.log"])
def test_a_run_in_directories_of_ranks_takes_the_place_of_a_text_log_as_in_a_report(tmp_path: Path, fake: Machine, log: str) -> None:
    append(tmp_path / "notes.txt", b"no output of the compiler\n" if log.startswith("0") else FIRST)
    snapshots = watch(tmp_path, fake)
    before = next(snapshots)
    (tmp_path / log).parent.mkdir()
    append(tmp_path / log, FIRST)
    assert len(read_again(snapshots, before).events) == 1
    append(tmp_path / log, SECOND)
    assert len(until(snapshots, lambda item: len(item.events) > 1).events) == len(shapelog.load(tmp_path).compiles)


def test_waiting_for_a_directory_of_directories_is_explained(tmp_path: Path, fake: Machine) -> None:
    (tmp_path / "inner").mkdir()
    append(tmp_path / "inner" / NAME.format("aaaaaaaa"), FIRST)
    snapshot = next(watch(tmp_path, fake))
    assert (snapshot.report, "/inner" in snapshot.waiting) == (None, True)


def test_urls_and_standard_input_are_refused(tmp_path: Path, fake: Machine) -> None:
    for where in ("", "-", "https://example.org/trace"):
        with pytest.raises(ShapelogError, match="only a directory or file on this machine can be watched"):
            Watch(where)
    (tmp_path / "page.txt").write_bytes(b"<!DOCTYPE html>\n")
    with pytest.raises(ShapelogError, match="an HTML page"):
        next(watch(tmp_path / "page.txt", fake))
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST)
    snapshots = watch(tmp_path / NAME.format("aaaaaaaa"), fake)
    next(snapshots)
    (tmp_path / NAME.format("aaaaaaaa")).unlink()
    with pytest.raises(ShapelogError, match="it no longer exists"):
        until(snapshots, lambda item: False, 200)


def test_the_beginning_of_a_first_record_is_waited_for(tmp_path: Path, fake: Machine) -> None:
    path = tmp_path / "trace.log"
    append(path, FIRST[:40])
    snapshots = watch(path, fake)
    assert next(snapshots).report is None
    append(path, FIRST[40:])
    assert until(snapshots, lambda item: item.report).fresh


def recompiled(number: int, size: int) -> bytes:
    """What TORCH_LOGS=recompiles prints for compile ``0/<number>``."""
    head = f"V1120 08:27:33.313000 4242 torch/_dynamo/guards.py:2813] [0/{number}] [__recompiles]"
    message = (
        "Recompiling function f in /srv/app/model.py:4",
        "    triggered by the following guard failure(s):",
        f"    - {size_mismatch('0/0', 8, size)}",
    )
    return "".join(f"{head} {line}\n" for line in message).encode()


def test_the_output_of_a_program_is_waited_for_and_followed(tmp_path: Path, fake: Machine) -> None:
    path = tmp_path / "run.txt"
    append(path, b"Traceback (most recent call last):\nloading\n")
    fake.running.add(4242)
    snapshots = watch(path, fake)
    first = next(snapshots)
    assert (first.report, "an ordinary program log" in first.waiting) == (None, True)
    append(path, recompiled(1, 3))
    seen = until(snapshots, lambda item: item.report)
    assert [event.compile.label for event in seen.fresh] == ["0/0", "0/1"]
    assert "dim 0 of x changed from 8 to 3" in lines(seen)[1]
    append(path, b"epoch 1\n" + recompiled(2, 5))
    seen = read_again(snapshots, seen)
    assert [event.compile.label for event in seen.fresh] == ["0/2"]
    fake.running.clear()
    assert until(snapshots, lambda item: item.ended).ended == "the process that wrote it has ended"


def test_a_compile_whose_guards_are_logged_is_reported_with_them(tmp_path: Path, fake: Machine) -> None:
    log = gzip.decompress((FIXTURES / "text_logs" / "2.13" / "g_limit.txt.gz").read_bytes())
    path, cut = tmp_path / "run.txt", log.index(b"[0/1] [__guards] TREE_GUARD_MANAGER")
    append(path, log[:cut])
    snapshots = watch(tmp_path, fake)
    assert [event.compile.label for event in next(snapshots).fresh] == ["0/0"]
    append(path, log[cut : log.index(b"[0/2]")])
    assert [event.compile.label for event in until(snapshots, lambda item: item.fresh).fresh] == ["0/1"]


def test_the_logs_of_the_ranks_of_torchrun_are_followed(tmp_path: Path, fake: Machine) -> None:
    paths = [tmp_path / "none_x" / "attempt_0" / str(rank) / "stderr.log" for rank in (0, 1)]
    for path in paths:
        path.parent.mkdir(parents=True)
        append(path, recompiled(1, 3))
        append(path.with_name("stdout.log"), b"loading\n")
    snapshots = watch(tmp_path, fake)
    first = next(snapshots)
    assert first.report is not None
    assert [rank.number for rank in first.report.trace.ranks] == [0, 1]
    append(paths[1], recompiled(2, 5))
    assert [(event.frame.rank, event.compile.label) for event in read_again(snapshots, first).fresh] == [(1, "0/2")]


def screen(snapshot: Snapshot, width: int = 100, height: int = 40) -> str:
    return "\n".join(line.plain for line in Screen().lines(snapshot, width, height))


def job(tmp_path: Path, fake: Machine) -> Snapshot:
    """Several ranks, one of which recompiles; its function has a name that is bad for terminals."""
    for rank in range(12):
        more = SECOND + THIRD if rank == 7 else b""
        name = "for\x1b[31m\x07ward" * 10 if rank == 11 else "f"
        append(tmp_path / f"dedicated_log_torch_trace_rank_{rank}_aaaaaaaa.log", trace(compiled("0/0", tensor(8, 16), name=name)) + more)
    return next(watch(tmp_path, fake))


@pytest.mark.parametrize(("width", "height"), [(20, 1), (40, 5), (80, 23), (140, 39), (300, 200)])
def test_a_screen_fits_whatever_its_size(tmp_path: Path, fake: Machine, width: int, height: int) -> None:
    drawn = Screen().lines(job(tmp_path, fake), width, height)
    assert len(drawn) <= height
    assert max(cell_len(line.plain) for line in drawn) <= width
    assert all(line.plain.isprintable() for line in drawn)


def test_a_screen_shows_the_main_numbers(tmp_path: Path, fake: Machine) -> None:
    shown = screen(job(tmp_path, fake), 120, 40)
    assert "14 compilations (14.0 s), including 2 recompilations (2.00 s)" in shown
    step = "1. Mark dim 0 of x as dynamic  saves 1 compilation (up to 1.00 s)"
    assert f"Next steps, so far\n  {step}\n     export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\"" in shown
    assert "  rank 7  f  model.py:5  2 recompilations 2.00 s\n    x.size[0] 8 3 5 SL101" in shown
    assert "  08:27:33 rank 7 0/2 f recompiled (1.00 s): dim 0 of x changed from 3 to 5  SL101" in shown
    assert "\n  rank 7  3 compilations, 2 recompilations  3.00 s" in shown


def test_a_line_to_paste_is_whole_or_not_there(tmp_path: Path, fake: Machine) -> None:
    snapshot = job(tmp_path, fake)
    line = "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['x']:0\""
    assert line in screen(snapshot, len(line) + 5)
    narrow = screen(snapshot, len(line) + 4)
    assert "export" not in narrow
    assert "\n     shapelog suggest-dynamic /" in narrow


def test_a_screen_ranks_what_to_do_and_shows_as_many_steps_as_fit(tmp_path: Path, fake: Machine) -> None:
    shutil.copy(FIXTURES / "real" / "demo.log.gz", tmp_path / f"{NAME.format('aaaaaaaa')}.gz")
    snapshot = next(watch(tmp_path, fake))
    tall, low = screen(snapshot, 120, 60), screen(snapshot, 120, 12)
    assert "  1. Mark 3 inputs (4 entries) as dynamic\n     saves 11 compilations" in tall
    assert "  2. normalize (resumed at line 38) and normalize: warm up with the dtype" in tall
    assert "  3. Remove the graph break in normalize" in tall
    assert "Next steps, so far  1 of 3" in low


def test_identical_compiles_of_ranks_are_one_line(tmp_path: Path, fake: Machine) -> None:
    shown = lines(job(tmp_path, fake))
    assert len(shown) == 4
    assert sum("f compiled (1.00 s)" in line and "0/0" in line for line in shown) == 1


def test_a_waiting_screen_shows_what_to_do(tmp_path: Path, fake: Machine) -> None:
    where = tmp_path / "new"
    shown = screen(next(watch(where, fake)), 300)
    assert f"Waiting for the first record in {where}" in shown
    assert f"TORCH_TRACE={where} python your_script.py" in shown


@needs_posix
def test_a_process_writes_while_it_runs_and_has_the_file_open(tmp_path: Path) -> None:
    path = tmp_path / "trace.log"
    code = "import sys; file = open(sys.argv[1], 'w'); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdout.readline()
        assert trace_writers.is_running(process.pid)
        assert trace_writers.writes(process.pid, path)
        if Path("/proc/self/fd").is_dir():
            assert not trace_writers.writes(process.pid, Path(__file__))
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        if Path("/proc/self/fd").is_dir():  # nobody has waited for it, and yet it has ended
            assert not trace_writers.is_running(process.pid)
    assert not trace_writers.is_running(process.pid)
    assert not trace_writers.writes(process.pid, path)
    assert not trace_writers.is_running(0)
    assert not trace_writers.is_running(1 << 70)


@needs_posix
def test_the_command_follows_a_job_to_its_end_and_reports(tmp_path: Path) -> None:
    """The job writes more only when it was seen, so that nothing here depends on time."""
    path, out = tmp_path / NAME.format("aaaaaaaa"), tmp_path / "report.json"
    code = "import sys\nwith open(sys.argv[1], 'ab') as file:\n while data := sys.stdin.buffer.read1():\n  file.write(data); file.flush()"
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE) as writer:
        pid = writer.pid
        environment = {**os.environ, "PYTHONPATH": str(Path(shapelog.__file__).parents[1]), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-m", "shapelog", "watch", str(tmp_path), "-f", "terminal", "-f", "json", "-o", "-", "-o", str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as watcher:
            assert writer.stdin
            assert watcher.stdout
            writer.stdin.write(trace(compiled("0/0", tensor(8, 16), process=pid), process=pid))
            writer.stdin.flush()
            first = watcher.stdout.readline()
            writer.stdin.write(compiled("0/1", tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], process=pid))
            writer.stdin.flush()
            second = watcher.stdout.readline()
            writer.stdin.close()
            writer.wait()
            rest, errors = watcher.communicate()
    assert (first, second) == (b"08:27:33 0/0 f compiled (1.00 s)\n", COMPILED.encode() + b"\n")
    assert b"2 compilations (2.00 s), including 1 recompilation (1.00 s)" in rest
    assert b"the process that wrote it has ended" in errors
    assert (watcher.returncode, out.read_bytes()[:1]) == (0, b"{")


@needs_posix
def test_an_interrupt_from_the_terminal_ends_with_the_report(tmp_path: Path) -> None:
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST)
    environment = {**os.environ, "PYTHONPATH": str(Path(shapelog.__file__).parents[1]), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "shapelog", "watch", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as watcher:
        assert watcher.stdout
        watcher.stdout.readline()
        watcher.send_signal(signal.SIGINT)
        rest, errors = watcher.communicate()
    assert b"1 compilation (1.00 s), no recompilation" in rest
    assert b"Traceback" not in errors
    assert watcher.returncode == 0


def test_an_interrupt_ends_with_the_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST + SECOND)

    def sleep(duration: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shapelog.capture.watch.time.sleep", sleep)
    done = CliRunner().invoke(cli, ["watch", str(tmp_path)])
    assert done.exit_code == 0
    assert COMPILED in done.output
    assert "Next steps" in done.output
    done = CliRunner().invoke(cli, ["watch", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert "no such file or directory" in done.output.splitlines()[-1]


@needs_posix
def test_an_interrupt_does_not_break_off_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST)
    (tmp_path / "interrupted_module.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nis_whole = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    whole = []

    def sleep(duration: float) -> None:
        whole.append(importlib.import_module("interrupted_module").is_whole)

    monkeypatch.setattr("shapelog.capture.watch.time.sleep", sleep)
    done = CliRunner().invoke(cli, ["watch", str(tmp_path)])
    assert (done.exit_code, whole) == (0, [True])
    assert "1 compilation (1.00 s), no recompilation" in done.output


def test_a_second_interrupt_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append(tmp_path / NAME.format("aaaaaaaa"), FIRST)

    def interrupt(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shapelog.cli.watch_view.Watch.snapshots", interrupt)
    monkeypatch.setattr("shapelog.cli.commands.watch.load_report", interrupt)
    assert CliRunner().invoke(cli, ["watch", str(tmp_path)]).exit_code == 130

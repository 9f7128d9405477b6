"""Tasks run by processes of this machine and by a Dask cluster: results, and the reasons of lost tasks."""

import asyncio
import json
import multiprocessing
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import errands
import make
import pytest

import shapelog
from shapelog.distributed import large_jobs, process_pool
from shapelog.distributed.executor import Executor, LostTask, gather, parse_executor
from shapelog.distributed.process_pool import Processes
from shapelog.errors import NoWorkersError, ShapelogError
from shapelog.reading.inputs import select_files
from shapelog.report.report import analyze

pytestmark = pytest.mark.slow

Process = Callable[..., "subprocess.CompletedProcess[bytes]"]
dask = pytest.mark.skipif(find_spec("distributed") is None, reason="distributed is not installed")
KINDS = ("processes", pytest.param("dask", marks=dask))
KILLED = "the process that read it was killed (out of memory?)"
# Seconds after which a test fails that would wait forever.
HANGS = 60


@pytest.fixture(scope="module")
def start_cluster() -> Iterator[Callable[[], Any]]:
    """The running cluster of this module, or a new one: Dask gives up on a worker that dies while it starts, and a test may kill all."""
    from distributed import LocalCluster

    with ExitStack() as stack:
        started: list[Any] = []

        def start() -> Any:
            with suppress(IndexError, TimeoutError, asyncio.TimeoutError):
                started[-1].wait_for_workers(2, timeout=10)
                return started[-1]
            cluster = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=60)
            started.append(stack.enter_context(cluster))
            return cluster

        yield start


@pytest.fixture
def dask_cluster(start_cluster: Callable[[], Any]) -> Any:
    return start_cluster()


@pytest.fixture
def executor(request: pytest.FixtureRequest) -> Executor:
    if request.param == "processes":
        return Executor("processes", 2)
    return parse_executor(request.getfixturevalue("dask_cluster").scheduler_address)


both = pytest.mark.parametrize("executor", KINDS, indirect=True)


@pytest.fixture
def scheduler() -> Iterator[Any]:
    """A scheduler without workers."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=60) as made:
        yield made


@pytest.mark.parametrize(
    ("text", "executor"),
    [
        ("processes", Executor("processes")),
        ("processes:4", Executor("processes", 4)),
        ("dask://node-1.cluster:8786", Executor("dask", address="node-1.cluster:8786")),
        ("dask://[::1]:8786/", Executor("dask", address="[::1]:8786")),
        ("tcp://10.0.0.1:8786", Executor("dask", address="tcp://10.0.0.1:8786")),
        ("tls://node:8786", Executor("dask", address="tls://node:8786")),
    ],
)
def test_an_executor_is_given_as_a_word_or_an_address(text: str, executor: Executor) -> None:
    assert parse_executor(text) == executor


@both
def test_the_ranks_of_a_job_are_read_by_workers(
    executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The worker of rank 3 dies; the rest is reported, rank 3 is named."""
    if executor.kind == "dask":  # which tries four times otherwise
        monkeypatch.setattr(request.getfixturevalue("dask_cluster").scheduler, "allowed_failures", 0)
    for number in range(6):
        (tmp_path / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log").write_bytes(make.small_trace())
    monkeypatch.setattr(large_jobs, "read_file", errands.read_but_three)
    report = analyze(large_jobs.load_large_job(select_files(sorted(tmp_path.iterdir())), large_jobs.ReadOptions(executor)), debug=True)
    assert report.ranks is not None
    assert (report.ranks.numbers, report.ranks.unread, report.ranks.missing) == ((0, 1, 2, 4, 5), (3,), ())
    assert (report.summary.compiles, report.summary.recompiles) == (10, 5)
    (problem,) = report.problems
    assert problem.file == "dedicated_log_torch_trace_rank_3_abcdefgh.log"
    assert "killed" in problem.message or re.search(r"worker tcp://\S+ died", problem.message)


@dask
def test_the_command_line_gives_ranks_to_a_cluster(dask_cluster: Any, tmp_path: Path, python: Process) -> None:
    for number in range(4):
        (tmp_path / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log").write_bytes(make.small_trace())
    address = dask_cluster.scheduler_address.replace("tcp://", "dask://")
    done = python("from shapelog.cli.main import main; main()", "report", str(tmp_path), "--executor", address, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert [rank["stands_for"] for rank in json.loads(done.stdout)["trace"]["ranks"]] == [[0, 1, 2, 3]]
    assert done.stderr.count(b"\n") == done.stderr.count(b"shapelog: ")


@pytest.mark.parametrize("text", ["", "threads", "processes:0", "processes:-1", "processes:1000", "dask://", "dask://node", "dask://a b:1"])
def test_an_unknown_executor_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ShapelogError, match=r"is no executor: it is processes, processes:N .* or dask://HOST:PORT") as refused:
        parse_executor(text)
    assert "\n" not in str(refused.value)


@both
def test_every_task_comes_back_with_its_result(executor: Executor) -> None:
    assert sorted(gather(executor, errands.square, range(30))) == [(number, number * number) for number in range(30)]


@both
def test_no_task_gives_no_result(executor: Executor) -> None:
    assert list(gather(executor, errands.square, ())) == []


def test_by_default_there_are_as_many_processes_as_cores() -> None:
    assert sorted(gather(Executor("processes"), errands.square, range(5))) == [(number, number * number) for number in range(5)]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere processes are never forked")
def test_processes_that_are_not_forked_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = dict(gather(Executor("processes", 1), errands.die_of_three, range(5)))
    assert found == {0: 0, 1: 1, 2: 2, 3: LostTask(KILLED), 4: 4}


@both
def test_an_exception_is_the_reason_why_a_task_is_lost(executor: Executor) -> None:
    found = dict(gather(executor, errands.fail, range(6)))
    assert found == {0: 0, 1: 1, 2: 2, 3: LostTask(r"KeyError: 'no\nsuch key'"), 4: 4, 5: 5}


@both
def test_a_call_of_sys_exit_ends_only_its_task(executor: Executor) -> None:
    assert list(gather(executor, errands.leave, [7])) == [(7, LostTask("SystemExit: 7"))]


@both
def test_a_result_that_cannot_be_pickled_is_lost_alone(executor: Executor) -> None:
    found = dict(gather(executor, errands.unpicklable, range(3)))
    assert (found[0], found[2]) == (0, 2)
    assert isinstance(found[1], LostTask)
    assert re.fullmatch("TypeError: cannot pickle '?code'? objects?", found[1].reason)


@both
def test_a_task_that_cannot_be_pickled_is_lost_alone(executor: Executor) -> None:
    task = errands.Unpicklable()
    assert sorted(gather(executor, type, [1, task, 2]), key=repr) == sorted(
        [(1, int), (2, int), (task, LostTask("TypeError: not me"))], key=repr
    )


@both
def test_tasks_are_taken_only_as_workers_need_them(executor: Executor) -> None:
    taken = []

    def tasks() -> Iterator[int]:
        for number in range(60):
            taken.append(number)
            yield number

    for done, _ in enumerate(gather(executor, errands.square, tasks()), 1):
        assert len(taken) <= done + 4 * 2
    assert len(taken) == 60


def test_in_a_daemonic_process_the_tasks_run_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    notes: list[str] = []
    found = gather(Executor("processes", 2), errands.fail, range(20), note=notes.append)
    assert dict(found) == {number: LostTask("KeyError: 'no\\nsuch key'") if number == 3 else number for number in range(20)}
    assert notes == [
        "the ranks are read one by one, because no other process can be started (daemonic processes are not allowed to have children)"
    ]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_where_no_process_can_be_started_the_tasks_run_in_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refuse)
    assert dict(gather(Executor("processes", 2), errands.square, range(20))) == {number: number * number for number in range(20)}


@both
def test_an_error_of_the_tasks_is_raised_and_leaves_no_process(executor: Executor) -> None:
    def tasks() -> Iterator[int]:
        yield from range(20)
        raise LookupError("the directory is gone")

    before = len(multiprocessing.active_children())
    with pytest.raises(LookupError, match="the directory is gone"):
        list(gather(executor, errands.square, tasks()))
    assert len(multiprocessing.active_children()) == before


def killed_while_it_works(executor: Executor, folder: Path) -> dict[int, Any]:
    """The results of ten tasks, the first of which was with a worker that was killed."""
    os.mkfifo(folder / "gate")
    results = gather(executor, errands.wait_once, [(str(folder), number) for number in range(10)])
    found = [next(results)]
    with open(folder / "gate", "wb"):  # opens once the worker has opened it too
        os.kill(int((folder / "process").read_text(encoding="utf-8")), signal.SIGKILL)
    found.extend(results)
    assert len(found) == 10
    return {number: result for (_, number), result in found}


def test_a_process_that_is_killed_once_costs_nothing(tmp_path: Path) -> None:
    assert killed_while_it_works(Executor("processes", 2), tmp_path) == {number: number for number in range(10)}


@dask
@pytest.mark.parametrize("failures", [0, 3])
def test_a_worker_that_is_killed_once_costs_nothing(
    failures: int, dask_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", failures)
    dask_cluster.wait_for_workers(2, timeout=120)  # a test before this one may have killed one
    executor = parse_executor(dask_cluster.scheduler_address)
    assert killed_while_it_works(executor, tmp_path) == {number: number for number in range(10)}


def test_a_task_that_kills_its_process_is_lost_alone() -> None:
    found = dict(gather(Executor("processes", 2), errands.die_of_three, range(20)))
    assert found == {number: number if number != 3 else LostTask(KILLED) for number in range(20)}


@dask
def test_a_task_that_kills_its_worker_is_lost_alone_and_nothing_is_printed(
    dask_cluster: Any, python: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", 0)
    code = """
import sys
sys.path.insert(0, sys.argv[1])
import errands
from shapelog.distributed.executor import gather, parse_executor
for task, result in sorted(gather(parse_executor(sys.argv[2]), errands.die_of_three, range(5))):
    print(task, result)
"""
    done = python(code, str(Path(__file__).parents[1]), dask_cluster.scheduler_address)
    assert done.stderr == b""
    lines = done.stdout.decode().splitlines()
    lost = lines.pop(3)
    assert lines == [f"{number} {number}" for number in range(5) if number != 3]
    assert re.fullmatch(r"3 LostTask\(reason='worker tcp://127.0.0.1:\d+ died while reading it'\)", lost)


def test_a_job_ends_though_every_task_kills_its_process() -> None:
    assert dict(gather(Executor("processes", 2), errands.die, range(10))) == dict.fromkeys(range(10), LostTask(KILLED))


@dask
def test_a_job_ends_though_every_task_kills_its_worker(dask_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster.scheduler, "allowed_failures", 0)
    found = dict(gather(parse_executor(dask_cluster.scheduler_address), errands.die, range(2), patience=5))
    assert sorted(found) == [0, 1]
    # The latter if both died while they were starting.
    reasons = re.compile(r"worker tcp://127.0.0.1:\d+ died while reading it|no worker was left")
    assert all(isinstance(lost, LostTask) and reasons.fullmatch(lost.reason) for lost in found.values())


DRIVER = """
import signal, sys
from contextlib import closing
sys.path.insert(0, sys.argv[1])
signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
import errands
from shapelog.distributed.executor import gather, parse_executor
with closing(gather(parse_executor("processes:3"), errands.wait_or_square, [1, *[-int(sys.argv[2])] * 3])) as results:
    next(results)
    {}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the workers inherit a pipe")
@pytest.mark.parametrize(
    ("then", "number", "status"),
    [
        ("next(results)", signal.SIGKILL, -signal.SIGKILL),
        ("next(results)", signal.SIGTERM, -signal.SIGTERM),
        ("next(results)", signal.SIGINT, 130),
        ("sys.stdin.read()", None, 0),
    ],
)
def test_no_worker_outlives_its_parent(then: str, number: signal.Signals | None, status: int) -> None:
    here, there = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER.format(then), str(Path(__file__).parents[1]), str(there)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[there],
        env={**os.environ, "PYTHONPATH": str(Path(shapelog.__file__).parents[1])},
    ) as driver:
        os.close(there)
        with open(here, "rb", buffering=0) as workers:
            for _ in range(3):  # each of the processes is at work
                assert workers.read(1) == b"."
            if number is not None:
                driver.send_signal(number)
            assert driver.stdin is not None
            driver.stdin.close()
            # The pipe ends when no process is left that could write.
            assert select.select([workers], [], [], HANGS)[0] == [workers]
            assert workers.read(1) == b""
        assert driver.stderr is not None
        assert driver.stderr.read() == b""
    assert driver.returncode == status


@dask
def test_an_unreachable_scheduler_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shapelog.distributed.dask_cluster._CONNECT", 1.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ShapelogError, match=rf"^dask://{address}: no Dask scheduler was reached \(nothing there speaks as one\)$"):
            next(gather(Executor("dask", address=address), errands.square, [1]))
    with pytest.raises(ShapelogError, match=rf"^tcp://{address}: no Dask scheduler was reached \([^\n]+\)$"):
        next(gather(Executor("dask", address=f"tcp://{address}"), errands.square, [1]))


def test_without_dask_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ShapelogError, match=r'^dask://node:1: reading on a cluster needs Dask: pip install "shapelog\[dask\]"$'):
        next(gather(parse_executor("dask://node:1"), errands.square, [1]))


@dask
def test_a_cluster_without_workers_is_given_up(scheduler: Any) -> None:
    found = dict(gather(parse_executor(scheduler.scheduler_address), errands.square, range(20), patience=0.05))
    assert found == dict.fromkeys(range(20), LostTask("no worker was left"))


@dask
def test_workers_may_come_later(scheduler: Any) -> None:
    scheduler.scale(1)
    executor = parse_executor(scheduler.scheduler_address)
    assert dict(gather(executor, errands.square, range(5), HANGS)) == {number: number * number for number in range(5)}


@dask
def test_when_the_scheduler_ends_the_rest_is_lost(scheduler: Any) -> None:
    scheduler.scale(1)
    results = gather(parse_executor(scheduler.scheduler_address), errands.square, range(200), HANGS)
    next(results)
    scheduler.close()
    lost = [result for _, result in results if isinstance(result, LostTask)]
    assert lost
    assert set(lost) == {LostTask("the connection to the Dask scheduler was lost")}


@dask
def test_a_worker_with_another_shapelog_is_reported(dask_cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    here = shapelog.__version__
    monkeypatch.setattr("shapelog.distributed.executor.__version__", "99.0")
    found = list(gather(parse_executor(dask_cluster.scheduler_address), errands.square, [1]))
    assert found == [(1, LostTask(f"the worker has shapelog {here}, and 99.0 is needed"))]


@dask
def test_a_worker_without_shapelog_is_reported(dask_cluster: Any) -> None:
    from distributed import Client

    executor = parse_executor(dask_cluster.scheduler_address)
    with Client(dask_cluster.scheduler_address, set_as_default=False) as client:
        list(gather(executor, errands.square, range(8)))  # they know it by now
        client.run(errands.hide)
        ((_, lost),) = gather(executor, errands.square, [1])
        client.run(errands.show)
    assert isinstance(lost, LostTask)
    assert re.fullmatch(rf"its worker cannot load shapelog {re.escape(shapelog.__version__)} \(.*shapelog.*\)", lost.reason)


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked")
def test_where_only_some_processes_can_be_started_none_of_them_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoThread:
        def __init__(self, **_: object) -> None:
            raise RuntimeError("can't start new thread")

    fork, started = os.fork, 0

    def limited() -> int:
        nonlocal started
        started += 1
        if started > 1:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return fork()

    monkeypatch.setattr(os, "fork", limited)
    monkeypatch.setattr(process_pool, "Thread", NoThread)
    before = set(multiprocessing.active_children())
    with pytest.raises(NoWorkersError, match="temporarily unavailable"), Processes(3).pool(3):
        pass
    for process in set(multiprocessing.active_children()) - before:
        process.join(10)
        assert process.exitcode is not None


def test_a_thread_that_is_about_to_start_is_not_waited_for_after_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python lists it among those that run, and cannot join it."""
    starting = threading.Thread()
    before = threading.enumerate()
    monkeypatch.setattr(process_pool, "running_threads", iter([before, [*before, starting]]).__next__)
    with pytest.raises(KeyboardInterrupt), Processes(1).pool(1):
        raise KeyboardInterrupt

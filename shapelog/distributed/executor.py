"""``gather(executor, call, tasks)``: the result of a call for each task, from processes of this machine or a Dask cluster."""

import pickle
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import Executor as Pool
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from shapelog import __version__
from shapelog.errors import NoWorkersError, ShapelogError

if TYPE_CHECKING:
    from shapelog.distributed.dask_cluster import Cluster
    from shapelog.distributed.process_pool import Processes

T = TypeVar("T")
R = TypeVar("R")

_PROCESSES = re.compile(r"processes(?::([1-9]\d{0,2}))?")
_DASK = re.compile(r"(dask|tcp|tls)://((?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5})/?")
Workers: TypeAlias = "Processes | Cluster"
# Seconds that a cluster may be without a worker.
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Executor:
    """Where tasks run: ``kind`` is "processes" (``count`` of them, 0: one for each core) or "dask" (``address`` of the scheduler)."""

    kind: str
    count: int = 0
    address: str = ""


@dataclass(frozen=True, slots=True)
class LostTask:
    """A task without a result, and why: one line that does not name the task."""

    reason: str


def parse_executor(text: str) -> Executor:
    """``processes``, ``processes:4`` or ``dask://HOST:PORT``; a scheduler may also be named as Dask prints it, ``tcp://…`` or ``tls://…``.

    Raises ShapelogError for anything else.
    """
    if match := _PROCESSES.fullmatch(text):
        return Executor("processes", int(match[1] or 0))
    if match := _DASK.fullmatch(text):
        return Executor("dask", address=match[2] if match[1] == "dask" else f"{match[1]}://{match[2]}")
    raise ShapelogError(f"{text!r} is no executor: it is processes, processes:N with N from 1 to 999, or dask://HOST:PORT")


def gather(
    executor: Executor,
    call: Callable[[T], R],
    tasks: Iterable[T],
    patience: float = PATIENCE,
    note: Callable[[str], None] = lambda text: None,
) -> Generator[tuple[T, R | LostTask], None, None]:
    """Each task with its result, in the order in which they finish; only a few tasks for each worker are taken from ``tasks`` in advance.

    ``call`` is a function of a module; it, tasks and results are pickled. A task is lost if ``call`` raises an exception, if its worker or
    the scheduler dies, or if there is no worker for ``patience`` seconds. Where no process can be started, this one runs the tasks, and
    ``note`` is called with a line about it. Raises ShapelogError if there is no scheduler.
    """
    remaining = iter(tasks)
    with _open_workers(executor, patience) as workers:
        while retry := (yield from _run(workers, call, remaining, workers.max_pending, note)):
            # One of these killed its worker, and is found by running each alone.
            for task, _ in retry:
                killers = yield from _run(workers, call, iter((task,)), 1, note)
                yield from ((killer, LostTask(reason)) for killer, reason in killers)


def _run(
    workers: Workers, call: Callable[[T], R], tasks: Iterator[T], max_pending: int, note: Callable[[str], None]
) -> Generator[tuple[T, R | LostTask], None, list[tuple[T, str]]]:
    """Run tasks until there are no more or a worker dies. Returns the tasks whose worker died, of them or of another one, and how."""
    retry: list[tuple[T, str]] = []
    first = list(islice(tasks, max_pending))
    if not first:
        return retry
    with ExitStack() as stack:
        try:
            pool = stack.enter_context(workers.pool(len(first)))
        except NoWorkersError as error:
            note(f"the ranks are read one by one, because no other process can be started ({error})")
            yield from ((task, pickle.loads(_work(__version__, call, task))) for task in chain(first, tasks))
            return retry
        pending = {_submit(workers, pool, call, task): task for task in first}
        while pending and not (failure := workers.failure()):
            for future in wait(pending, workers.poll_seconds, FIRST_COMPLETED).done:
                task = pending.pop(future)
                if reason := "" if future.cancelled() else workers.cause_of_death(future.exception()):
                    retry.append((task, reason))
                    continue
                if not retry:
                    room = max(0, workers.max_pending - len(pending))
                    pending |= {_submit(workers, pool, call, task): task for task in islice(tasks, room)}
                yield task, _outcome(workers, future)
    if pending:
        yield from ((task, LostTask(failure)) for task in chain((task for task, _ in retry), pending.values(), tasks))
        return []
    return retry


def _submit(workers: Workers, pool: Pool, call: Callable[[T], R], task: T) -> "Future[bytes]":
    try:
        return pool.submit(workers.run, pickle.dumps(partial(_work, __version__, call, task)))
    except Exception as error:  # a worker died since the last results came, or the task cannot be pickled
        future: Future[bytes] = Future()
        future.set_exception(error)
        return future


def _work(version: str, call: Callable[[T], object], task: T) -> bytes:
    """In a worker: the pickled result. A result that cannot be pickled, or an exception that cannot be unpickled, would block a cluster."""
    if version != __version__:
        return pickle.dumps(LostTask(f"the worker has shapelog {__version__}, and {version} is needed"))
    try:
        return pickle.dumps(call(task))
    except (Exception, SystemExit) as error:  # the worker goes on
        return pickle.dumps(LostTask(_one_line(error)))


def _outcome(workers: Workers, future: "Future[bytes]") -> Any:
    if future.cancelled():
        return LostTask(workers.failure() or "the Dask scheduler dropped it")
    error = future.exception()
    if error is None:
        return pickle.loads(future.result())
    if isinstance(error, (ImportError, AttributeError)) and "shapelog" in str(error):
        return LostTask(f"its worker cannot load shapelog {__version__} ({error})")
    return LostTask(_one_line(error))


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _open_workers(executor: Executor, patience: float) -> AbstractContextManager[Workers]:
    if executor.kind == "dask":
        from shapelog.distributed.dask_cluster import connect

        return connect(executor.address, patience)
    from shapelog.distributed.process_pool import Processes, core_count

    return nullcontext(Processes(executor.count or core_count()))

"""The workers of a Dask cluster."""

import logging
import pickle
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor as Pool
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Thread
from time import monotonic
from typing import Any

from shapelog.errors import ShapelogError

# The tasks each thread of a worker is given at a time, so that none waits for its next one.
_TASKS_PER_THREAD = 4
# Seconds: to reach a scheduler, between two questions about its workers, for the answer to one.
_CONNECT, _POLL, _ANSWER = 10, 1.0, 5
_NO_WORKER, _SILENT, _CUT_OFF = "no worker was left", "the Dask scheduler does not answer", "the connection to the Dask scheduler was lost"


@contextmanager
def connect(address: str, patience: float) -> "Iterator[Cluster]":
    """Raises ShapelogError when no scheduler answers there within ten seconds, or distributed is not installed."""
    name = address if "://" in address else f"dask://{address}"
    try:
        from distributed import Client
    except ImportError as error:
        raise ShapelogError(f'{name}: reading on a cluster needs Dask: pip install "shapelog[dask]"') from error
    with _logging_off():
        client = _in_time(lambda: Client(address, timeout=_CONNECT - 1, set_as_default=False))
        if isinstance(client, Exception):
            raise ShapelogError(f"{name}: no Dask scheduler was reached ({_cause(client)})") from client
        try:
            yield Cluster(client, patience)
        finally:
            client.close()


def _in_time(make_client: Callable[[], Any]) -> Any:
    """A client, or the exception that there was. The client itself waits forever for what accepts the connection and never answers."""
    results: list[Any] = []

    def connect() -> None:
        try:
            results.append(make_client())
        except Exception as error:  # of many kinds, depending on what answers there
            results.append(error)

    thread = Thread(target=connect, daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about different package versions on the cluster; that of shapelog is checked
        thread.start()
        thread.join(_CONNECT)
    return results[0] if results else TimeoutError("nothing there speaks as one")


def _cause(error: BaseException) -> str:
    """The message of the operating system in one line, or else that of Dask."""
    causes = [error]
    while causes[-1].__cause__:
        causes.append(causes[-1].__cause__)
    message = next((str(cause.strerror) for cause in causes if isinstance(cause, OSError) and cause.strerror), str(error))
    return " ".join(message.split())[:200] or type(error).__name__


@contextmanager
def _logging_off() -> Iterator[None]:
    """``distributed`` logs many lines for each failure that ``gather`` reports in one."""
    roots = ("asyncio", "distributed", "tornado")
    named = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict) if name.split(".", 1)[0] in roots]
    loggers = [logger for logger in named if not logger.disabled]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger in loggers:
            logger.disabled = False


class Cluster:
    """A Dask cluster, with the methods of ``process_pool.Processes``.

    It runs a task whose worker dies again on another one, as often as its scheduler allows.
    """

    def __init__(self, client: Any, patience: float) -> None:
        self.client, self.patience = client, patience
        self.poll_seconds: float | None = min(_POLL, patience / 4)
        self.threads, self.trouble, self.healthy_at = 0, _NO_WORKER, monotonic()
        self._ask()

    @property
    def max_pending(self) -> int:
        return _TASKS_PER_THREAD * max(self.threads, 1)

    @property
    def run(self) -> Callable[[bytes], Any]:
        # A local function is sent with its code. One that is sent by name closes the connection of a worker that has no shapelog.
        return lambda job: pickle.loads(job)()

    def pool(self, task_count: int) -> AbstractContextManager[Pool]:
        return nullcontext(self.client.get_executor(pure=False))

    def failure(self) -> str:
        if self.client.status != "running":
            return _CUT_OFF
        if monotonic() - self.asked_at >= (self.poll_seconds or 0):
            self._ask()
        return self.trouble if monotonic() - self.healthy_at >= self.patience else ""

    def _ask(self) -> None:
        """How many threads all workers have together, and since when there has been none."""
        before, self.threads = self.threads, 0
        try:
            threads = self.client.sync(self.client.scheduler.ncores, workers=None, callback_timeout=_ANSWER)
            self.threads, self.trouble = sum(threads.values()), _NO_WORKER
        except Exception:  # of many kinds
            self.trouble = _SILENT
        self.asked_at = monotonic()
        if self.threads or before:
            self.healthy_at = self.asked_at

    def cause_of_death(self, error: BaseException | None) -> str:
        from distributed import KilledWorker

        return f"worker {error.last_worker.address} died while reading it" if isinstance(error, KilledWorker) else ""

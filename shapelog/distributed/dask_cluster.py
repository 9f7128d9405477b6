"""``cluster(address, patience)``: the workers of a Dask cluster, as ``gather`` asks for them."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from shapelog.errors import ShapelogError

if TYPE_CHECKING:
    from concurrent.futures import Executor as Pool

# So many tasks are with each thread of a worker, so that none waits for its next one.
_PER_THREAD = 4
# Seconds: to reach a scheduler, between two looks at a cluster, for the answer to one.
_CONNECT, _LOOK, _ANSWER = 10, 1.0, 5
_NOBODY, _SILENT, _CUT_OFF = "no worker was left", "the Dask scheduler does not answer", "the connection to the Dask scheduler was lost"


@contextmanager
def cluster(address: str, patience: float) -> "Iterator[Cluster]":
    """Raises ShapelogError when no scheduler answers there within ten seconds, or distributed is not installed."""
    name = address if "://" in address else f"dask://{address}"
    try:
        from distributed import Client
    except ImportError as error:
        raise ShapelogError(f'{name}: reading on a cluster needs Dask: pip install "shapelog[dask]"') from error
    with _quiet():
        made: list[Any] = []

        def connect() -> None:
            try:
                made.append(Client(address, timeout=_CONNECT - 1, set_as_default=False))
            except Exception as error:  # of many kinds, as is what may answer there
                made.append(error)

        # Only another thread can be left behind: the client waits for ever for something that takes the connection and says nothing.
        thread = Thread(target=connect, daemon=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about other versions of packages there; that of shapelog is looked at
            thread.start()
            thread.join(_CONNECT)
        client = made[0] if made else TimeoutError("nothing there speaks as one")
        if isinstance(client, Exception):
            raise ShapelogError(f"{name}: no Dask scheduler was reached ({_cause(client)})") from client
        try:
            yield Cluster(client, patience)
        finally:
            client.close()


def _cause(error: BaseException) -> str:
    """What the system said, in one line, or else what Dask says."""
    causes = [error]
    while causes[-1].__cause__:
        causes.append(causes[-1].__cause__)
    told = next((str(cause.strerror) for cause in causes if isinstance(cause, OSError) and cause.strerror), str(error))
    return " ".join(told.split())[:200] or type(error).__name__


@contextmanager
def _quiet() -> Iterator[None]:
    """Of what goes wrong in a cluster, ``distributed`` logs far more than one line; the reasons of losses tell it."""
    roots = ("asyncio", "distributed", "tornado")
    loggers = [logging.getLogger(name) for name in list(logging.root.manager.loggerDict) if name.split(".", 1)[0] in roots]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


class Cluster:
    """A Dask cluster. It gives a task whose worker dies to another one, so often as its scheduler allows."""

    def __init__(self, client: Any, patience: float) -> None:
        self.client, self.patience = client, patience
        self.tick: float | None = min(_LOOK, patience / 4)
        self.threads, self.trouble, self.since, self.looked = 0, _NOBODY, monotonic(), float("-inf")

    def pool(self, most: int) -> "AbstractContextManager[Pool]":
        return nullcontext(self.client.get_executor(pure=False))

    def window(self) -> int:
        return _PER_THREAD * max(self.threads, 1)

    def end(self) -> str:
        if self.client.status != "running":
            return _CUT_OFF
        if monotonic() - self.looked >= (self.tick or 0):
            self._look()
        return self.trouble if monotonic() - self.since >= self.patience else ""

    def _look(self) -> None:
        """How many threads all workers have, and since when there is anything wrong with that."""
        had, self.threads = self.threads, 0
        try:
            threads = self.client.sync(self.client.scheduler.ncores, workers=None, callback_timeout=_ANSWER)
            self.threads, self.trouble = sum(threads.values()), _NOBODY
        except Exception:  # of many kinds
            self.trouble = _SILENT
        self.looked = monotonic()
        if self.threads or had:
            self.since = self.looked

    def death(self, error: BaseException) -> str:
        from distributed.scheduler import KilledWorker

        if not isinstance(error, KilledWorker):
            return ""
        self.since = monotonic()  # there was one, which may have come and gone between two looks
        return f"worker {error.last_worker.address} died while reading it"

"""Worker processes of this machine, as ``gather`` asks for them."""

import gc
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Executor as Pool
    from multiprocessing.connection import Connection

P = ParamSpec("P")
R = TypeVar("R")

# So many tasks are with each process, so that none waits for its next one.
_PER_PROCESS = 2
_MOST = 61 if sys.platform == "win32" else 999


def cores() -> int:
    """Those of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Processes:
    """So many processes of this machine. When one is killed, the pool gives up all tasks that are with it."""

    count: int
    tick: float | None = None

    @contextmanager
    def pool(self, most: int) -> "Iterator[Pool]":
        forks = sys.platform == "linux"
        context = multiprocessing.get_context("fork" if forks else None)
        line, here = context.Pipe(duplex=False)
        with line, here:
            pool = _Pool(min(self.count, most, _MOST), context, _begin, (line, here if forks else None))
            try:
                yield pool
            except BaseException:
                here.send_bytes(b".")  # nobody takes it, so each worker sees it
                raise
            finally:
                pool.shutdown(cancel_futures=True)

    def window(self) -> int:
        return _PER_PROCESS * self.count

    def end(self) -> str:
        return ""

    def death(self, error: BaseException) -> str:
        return "the process that read it was killed (out of memory?)" if isinstance(error, BrokenExecutor) else ""


class _Pool(ProcessPoolExecutor):
    """One that Ctrl-C does not leave half started or half ended, with processes that nobody knows of."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> "Future[R]":
        with _held():
            return super().submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        with _held():
            super().shutdown(wait, cancel_futures=cancel_futures)


@contextmanager
def _held() -> Iterator[None]:
    """An interrupt that would raise an exception waits until the end of the block."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or current_thread() is not main_thread():
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def _begin(line: "Connection", inherited: "Connection | None") -> None:
    """In a worker process: signals end it without a word, and it ends when ``line`` has something to say or its other end is gone.

    ``inherited`` is that other end in a forked worker, which must not hold it open.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if inherited is not None:
        inherited.close()
    gc.freeze()
    gc.enable()  # one that reads many traces lives longer than a program that reads one

    def end() -> None:
        with suppress(OSError):
            line.poll(None)
        os._exit(1)

    Thread(target=end, daemon=True).start()

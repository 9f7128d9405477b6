"""The worker processes of this machine."""

import gc
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from threading import enumerate as running_threads
from typing import TYPE_CHECKING, Any

from shapelog.errors import NoWorkersError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# The tasks each process is given at a time, so that none waits for its next one.
_TASKS_PER_PROCESS = 2
# Windows cannot wait for more.
_MAX_PROCESSES = 61 if sys.platform == "win32" else 999
# Seconds that each thread of a pool may take to end after an interrupt; they take a few milliseconds.
_LONGEST_END = 2


def core_count() -> int:
    """The cores of this machine that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Processes:
    """``count`` processes of this machine. ``poll_seconds`` is how often to ask for a ``failure``, None for never."""

    count: int
    poll_seconds: float | None = None

    @property
    def max_pending(self) -> int:
        """How many tasks may be with the workers at a time."""
        return _TASKS_PER_PROCESS * self.count

    @staticmethod
    def run(job: bytes) -> Any:
        """In a worker: unpickle a function that takes no arguments, and call it."""
        return pickle.loads(job)()

    @contextmanager
    def pool(self, task_count: int) -> Iterator[ProcessPoolExecutor]:
        """At most ``task_count`` processes. They end with the block: after their tasks, or at once if it is left by an exception.

        Raises NoWorkersError where this process may start no others.
        """
        # A forked worker has its imports already, and needs no `if __name__ == "__main__"` in the program that reads a trace.
        forks = sys.platform == "linux"
        context = multiprocessing.get_context("fork" if forks else None)
        count = min(self.count, task_count, _MAX_PROCESSES)
        others = set(multiprocessing.active_children())
        other_threads = set(running_threads())
        with ExitStack() as stack:
            try:
                watched, held_open = map(stack.enter_context, context.Pipe(duplex=False))
                pool = ProcessPoolExecutor(count, context, _start_worker, (watched, held_open if forks else None))
                pool.submit(int)  # the first task starts them
                own_threads = set(running_threads()) - other_threads
            except (OSError, RuntimeError, AssertionError, ImportError) as error:  # the third in a daemonic process
                for process in set(multiprocessing.active_children()) - others:  # those that came before the one that could not
                    process.kill()
                raise NoWorkersError(str(error)) from error
            try:
                yield pool
            except BaseException as error:
                held_open.close()
                # An interrupt may have come in the middle of anything, so that waiting for them could take for ever.
                interrupted = isinstance(error, (KeyboardInterrupt, SystemExit))
                pool.shutdown(wait=not interrupted, cancel_futures=True)
                if interrupted:
                    # Before Python ends: that writes to a pipe which the thread of the pool may be closing.
                    for thread in filter(Thread.is_alive, own_threads):  # another one may be about to start
                        thread.join(_LONGEST_END)
                raise
            pool.shutdown(cancel_futures=True)

    def failure(self) -> str:
        """Why there will be no more results; "" while there may be."""
        return ""

    def cause_of_death(self, error: BaseException | None) -> str:
        """How the worker of a task died; "" if there is another error or none."""
        # The pool reports it for every task that is with any process.
        return "the process that read it was killed (out of memory?)" if isinstance(error, BrokenExecutor) else ""


def _start_worker(watched: "Connection", inherited: "Connection | None") -> None:
    """In a worker process: end silently on a signal, and as soon as the other end of ``watched`` is closed or its process is gone."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    if inherited is not None:
        inherited.close()  # that other end, which a forked worker must not keep open
    gc.freeze()
    gc.enable()  # the console script turns it off, which is right for a process that reads one trace

    def end() -> None:
        with suppress(OSError):
            watched.poll(None)
        os._exit(1)

    with suppress(RuntimeError):  # no thread can be started
        Thread(target=end, daemon=True).start()

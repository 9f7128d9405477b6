"""``gather(executor, call, tasks)``: the result of a call for each task, from processes of this machine or a Dask cluster."""

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from shapelog import __version__
from shapelog.errors import ShapelogError

if TYPE_CHECKING:
    from concurrent.futures import Executor as Pool
    from concurrent.futures import Future
    from queue import SimpleQueue

T = TypeVar("T")
R = TypeVar("R")

_PROCESSES = re.compile(r"processes(?::([1-9]\d{0,2}))?")
_DASK = re.compile(r"(dask|tcp|tls)://((?:[\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5})/?")
# Seconds that a cluster may be without a worker.
PATIENCE = 30.0


@dataclass(frozen=True, slots=True)
class Executor:
    """Who works: ``kind`` is "processes" (``count`` of them, 0: one for each core) or "dask" (``address`` of the scheduler)."""

    kind: str
    count: int = 0
    address: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
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
    executor: Executor, call: Callable[[T], R], tasks: Iterable[T], patience: float = PATIENCE
) -> Generator[tuple[T, R | Lost], None, None]:
    """Each task with what ``call`` gives for it, as they come; no more than a few tasks for each worker are taken ahead.

    ``call`` is a function of a module; it, tasks and results are pickled. What it raises makes its task Lost, and so does the death of its
    worker, that of the scheduler, and that there was no worker for ``patience`` seconds. Raises ShapelogError where there is no scheduler.
    On Linux, processes are forked, so the program should have no threads of its own.
    """
    left = iter(tasks)
    with _crew(executor, patience) as crew:
        while True:
            round = _Round(crew, call, left)
            yield from round.results()
            if not round.suspects:
                return
            # Of the tasks whose worker died, the one that was the reason does it again.
            for suspect, _ in round.suspects:
                alone = _Round(crew, call, iter((suspect,)))
                yield from alone.results()
                yield from ((task, Lost(reason)) for task, reason in alone.suspects)


class _Crew(Protocol):
    """Those who work."""

    @property
    def tick(self) -> float | None:
        """Seconds after which it is worth asking for the end."""

    def pool(self, most: int) -> "AbstractContextManager[Pool]":
        """What takes tasks; there are no more than so many at once."""

    def window(self) -> int:
        """How many tasks may be with the workers."""

    def end(self) -> str:
        """Why there will be no more results; "" while there may be."""

    def death(self, error: BaseException) -> str:
        """How the worker of a task died; "" where that is not what the error says."""


@dataclass(slots=True)
class _Round(Generic[T, R]):
    """Work until there are no more tasks, or until a worker dies.

    Then ``suspects`` are the tasks that were with it, and how it died; "" for those that had not been given to anyone yet.
    """

    crew: _Crew
    call: Callable[[T], R]
    left: Iterator[T]
    suspects: list[tuple[T, str]] = field(default_factory=list)
    flying: "dict[Future[bytes], T]" = field(default_factory=dict)

    def results(self) -> Iterator[tuple[T, R | Lost]]:
        from queue import SimpleQueue

        first = list(islice(self.left, self.crew.window()))
        if not first:
            return
        taken = iter(first)
        self.left = chain(taken, self.left)
        landed: SimpleQueue[Future[bytes]] = SimpleQueue()
        with self.crew.pool(len(first)) as pool:
            while not (reason := self.crew.end()):
                yield from self._start(pool, landed)
                if not self.flying:
                    self.suspects.extend((task, "") for task in taken)
                    return
                yield from self._land(landed)
        for task in chain((task for task, _ in self.suspects), self.flying.values(), self.left):
            yield task, Lost(reason)
        self.suspects = []

    def _start(self, pool: "Pool", landed: "SimpleQueue[Future[bytes]]") -> Iterator[tuple[T, Lost]]:
        """Gives the workers what they can take, which is nothing once a worker has died; a task comes back that cannot be given."""
        import pickle

        while self._has_room():
            for task in islice(self.left, 1):
                try:
                    future = pool.submit(pickle.loads, pickle.dumps(_Order(self.call, task)))
                except Exception as error:  # a class may do as it likes when it is pickled
                    yield from self._failed(task, error)
                else:
                    self.flying[future] = task
                    future.add_done_callback(landed.put)
                break
            else:
                return

    def _has_room(self) -> bool:
        return not self.suspects and len(self.flying) < self.crew.window()

    def _land(self, landed: "SimpleQueue[Future[bytes]]") -> Iterator[tuple[T, R | Lost]]:
        """The next result, if one comes before it is time to ask for the end."""
        from queue import Empty

        try:
            future = landed.get(timeout=self.crew.tick)
        except Empty:
            return
        task = self.flying.pop(future)
        if future.cancelled():
            yield task, Lost(self.crew.end() or "the Dask scheduler dropped it")
        elif error := future.exception():
            yield from self._failed(task, error)
        else:
            yield task, _unpacked(future.result())

    def _failed(self, task: T, error: BaseException) -> Iterator[tuple[T, Lost]]:
        if reason := self.crew.death(error):
            self.suspects.append((task, reason))
        elif isinstance(error, (ImportError, AttributeError)) and "shapelog" in str(error):
            yield task, Lost(f"its worker cannot load shapelog {__version__} ({error})")
        else:
            yield task, Lost(_words(error))


@dataclass(frozen=True, slots=True)
class _Order:
    """A task that is done where it is unpickled. A scheduler of Dask thus needs no shapelog, and a worker that lacks it can say so."""

    call: Callable[[Any], Any]
    task: object

    def __reduce__(self) -> tuple[Callable[..., bytes], tuple[str, bytes]]:
        import pickle

        return _done, (__version__, pickle.dumps((self.call, self.task)))


def _done(version: str, order: bytes) -> bytes:
    """In a worker: what the call gives, or why it gives nothing. It is packed here, so that what cannot be is lost alone."""
    import pickle

    if version != __version__:
        return pickle.dumps(Lost(f"the worker has shapelog {__version__}, and {version} is needed"))
    try:
        call, task = pickle.loads(order)
        return pickle.dumps(call(task))
    except (Exception, SystemExit) as error:  # the reason of the loss; the worker goes on
        return pickle.dumps(Lost(_words(error)))


def _unpacked(packed: bytes) -> Any:
    import pickle

    try:
        return pickle.loads(packed)
    except Exception as error:  # a class may do as it likes when it is unpickled
        return Lost(_words(error))


def _words(error: BaseException) -> str:
    """Type and message of an exception in one line."""
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _crew(executor: Executor, patience: float) -> AbstractContextManager[_Crew]:
    if executor.kind == "dask":
        from shapelog.distributed.dask_cluster import cluster

        return cluster(executor.address, patience)
    from shapelog.distributed.process_pool import Processes, cores

    return nullcontext(Processes(executor.count or cores()))

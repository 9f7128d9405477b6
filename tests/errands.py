"""Functions that the tests run in workers, where they are found by name."""

import os
import signal
import sys
from pathlib import Path
from typing import TypeVar

from shapelog.distributed.large_jobs import FileResult, Task, read_file

T = TypeVar("T")
HIDDEN = ("shapelog", "shapelog.distributed.executor")


class Unpicklable:
    def __reduce__(self) -> str:
        raise TypeError("not me")


def square(number: int) -> int:
    return number * number


def fail(number: int) -> int:
    if number == 3:
        raise KeyError("no\nsuch key")
    return number


def leave(number: int) -> int:
    sys.exit(number)


def unpicklable(number: int) -> object:
    return square.__code__ if number == 1 else number


def die(task: T) -> T:
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def die_of_three(number: int) -> int:
    return die(number) if number == 3 else number


def read_but_three(task: Task) -> FileResult:
    return read_file(die(task) if task.rank == 3 else task)


def wait_once(task: tuple[str, int]) -> int:
    """The first time, task 0 writes its process id to the folder and waits until the test kills it."""
    folder, number = task
    process = Path(folder, "process")
    if number == 0 and not process.exists():
        process.write_text(str(os.getpid()), encoding="utf-8")
        Path(folder, "gate").read_bytes()
    return number


def wait_or_square(number: int) -> int:
    """For a number below zero, write a dot to that file descriptor and never end."""
    if number < 0:
        os.write(-number, b".")
        while True:
            signal.pause()
    return number * number


def hide() -> None:
    """As if shapelog were not installed here."""
    for name in HIDDEN:
        sys.modules[f"hidden {name}"] = sys.modules[name]
        sys.modules[name] = None  # type: ignore[assignment]


def show() -> None:
    for name in HIDDEN:
        sys.modules[name] = sys.modules.pop(f"hidden {name}")

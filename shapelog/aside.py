"""Work that a child process does while this one does something else."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

if sys.platform == "linux":
    from fcntl import F_SETPIPE_SZ, fcntl

# What a child may be ahead. By default a pipe holds 64 KiB, and the child waits whenever this process has something else to do.
_PIPE = 1 << 20


def forked(write: Callable[[BinaryIO], None]) -> tuple[BinaryIO | None, int]:
    """What a forked child writes, and its process id; (None, 0) where none can be made. A child that fails ends the stream early.

    Only for programs without threads, of which a fork takes none along.
    """
    if not hasattr(os, "fork"):
        return None, 0
    receive, send = os.pipe()
    if sys.platform == "linux":
        with suppress(OSError):
            fcntl(send, F_SETPIPE_SZ, _PIPE)
    try:
        child = os.fork()
    except OSError:
        os.close(receive)
        os.close(send)
        return None, 0
    if child == 0:
        status = 1
        try:
            os.close(receive)
            with os.fdopen(send, "wb", 1 << 16) as pipe:
                write(pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(send)
    return os.fdopen(receive, "rb", 1 << 16), child


class Aside:
    """A forked child that makes some bytes. Where none can be made, or it dies, they are made here once they are asked for."""

    def __init__(self, work: Callable[[], bytes]) -> None:
        self.work = work
        self.pipe, self.child = forked(self._write)

    def _write(self, pipe: BinaryIO) -> None:
        made = self.work()
        pipe.write(len(made).to_bytes(8, "little") + made)

    def result(self) -> bytes:
        """What the work gives; raises what it raises."""
        if self.pipe is None:
            return self.work()
        with self.pipe:
            size = int.from_bytes(self.pipe.read(8), "little")
            made = self.pipe.read()
        self.pipe = None
        os.waitpid(self.child, 0)
        return made if made and len(made) == size else self.work()

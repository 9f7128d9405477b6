"""Work that a child process does while this one does something else."""

import os
from collections.abc import Callable
from typing import BinaryIO


class Aside:
    """A forked child that makes some bytes. Where none can be made, or it dies, they are made here once they are asked for.

    Only for programs without threads, of which a fork takes none along.
    """

    def __init__(self, work: Callable[[], bytes]) -> None:
        self.work = work
        self.pipe: BinaryIO | None = None
        self.child = 0
        if not hasattr(os, "fork"):
            return
        receive, send = os.pipe()
        try:
            self.child = os.fork()
        except OSError:
            os.close(receive)
            os.close(send)
            return
        if self.child == 0:
            status = 1
            try:
                os.close(receive)
                with os.fdopen(send, "wb") as pipe:
                    made = work()
                    pipe.write(len(made).to_bytes(8, "little") + made)
                status = 0
            finally:
                os._exit(status)
        os.close(send)
        self.pipe = os.fdopen(receive, "rb")

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

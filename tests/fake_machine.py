"""A machine whose clock goes on only when somebody sleeps, for what follows files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from shapelog.capture import watch


@dataclass
class Machine:
    """``running`` are the processes on it. Takes the place of ``time``, too."""

    now: float = 100.0
    running: set[int] = field(default_factory=set)
    naps: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 0.0

    def sleep(self, duration: float) -> None:
        self.naps.append(duration)
        self.now += duration

    def writes(self, process: int, path: Path) -> bool:
        return process in self.running and path.exists()

    @contextmanager
    def followed(self) -> Iterator[None]:
        """``shapelog.capture.watch`` runs on this machine."""
        before = watch.time, watch.writes, watch.is_running  # type: ignore[attr-defined]
        watch.time, watch.writes, watch.is_running = self, self.writes, self.running.__contains__  # type: ignore[assignment, attr-defined]
        try:
            yield
        finally:
            watch.time, watch.writes, watch.is_running = before  # type: ignore[attr-defined]

"""Run a command and record its compiles: it gets TORCH_TRACE, and is not changed otherwise."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

from shapelog.errors import ShapelogError
from shapelog.reading.inputs import Selection, is_filled, select_files
from shapelog.reading.trace_files import TRACE_NAME

# The exit codes of shells for a command that cannot be run, or that a signal ended.
NOT_EXECUTABLE, NOT_FOUND, SIGNALED = 126, 127, 128
# A terminal sends these to every process in its foreground, so the command has them already. SIGTSTP and SIGCONT are left as they
# are: the terminal stops and continues both of them, and a shapelog that caught SIGTSTP could stop where the kernel would not.
_FROM_TERMINAL = ("SIGINT", "SIGQUIT")
_FORWARDED = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", *_FROM_TERMINAL)
# Each of these keeps torch.compile from compiling anything.
_SWITCHES = ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")


class CannotStartError(ShapelogError):
    """A command that could not be started; ``exit_code`` is what a shell would end with."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class CommandRun:
    """A command that has ended.

    ``returncode`` is as in a shell: 128 + N if signal N (``killed_by``) ended the command. ``seconds`` is wall time. ``files`` are the
    trace files that appeared or grew while it ran; ``grown`` those that existed before. ``lost`` is set where the command removed the
    directory of its trace, or put something else in its place: one line that names it.
    """

    returncode: int
    killed_by: int | None
    seconds: float
    files: tuple[Path, ...]
    grown: tuple[Path, ...] = ()
    lost: str = ""

    @property
    def has_trace(self) -> bool:
        return any(map(is_filled, self.files))

    @property
    def why_no_trace(self) -> str:
        return self.lost or _why_nothing_compiled()

    def selection(self) -> Selection:
        """The traces of all processes, as one run. Raises ShapelogError if there are none."""
        if not self.has_trace:
            raise ShapelogError(self.why_no_trace)
        notes = tuple(f"{path.name} existed before the run and grew; all of it is read" for path in self.grown)
        return select_files(self.files, notes)


def run(command: Sequence[str], trace_dir: Path, *, env: Mapping[str, str] | None = None) -> CommandRun:
    """Run ``command`` to its end with TORCH_TRACE set to ``trace_dir``, and with the variables of ``env``.

    It inherits stdin, stdout, stderr and the rest of the environment, so its child processes (those of torchrun, say) are recorded
    too. Signals sent to this process are forwarded to it. Raises CannotStartError, or ShapelogError where the directory cannot be used.
    """
    try:
        trace_dir.mkdir(parents=True, exist_ok=True)
        before = _file_states(trace_dir)
    except OSError as error:
        raise ShapelogError(f"{trace_dir}: cannot record a trace there: {error.strerror or error}") from error
    settings = {**os.environ, **(env or {}), "TORCH_TRACE": str(trace_dir.absolute())}
    if settings.get("TORCH_DTRACE"):  # PyTorch prefers it to TORCH_TRACE, and records the same and more
        settings["TORCH_DTRACE"] = settings["TORCH_TRACE"]
    relay = _Relay()
    with signals_handled(_FORWARDED, relay.forward):
        started = time.monotonic()
        process = _start(command, settings)
        relay.attach(process)
        ended = process.wait()
        seconds = time.monotonic() - started
    after, lost = {}, ""
    try:
        after = _file_states(trace_dir)
    except OSError as error:
        lost = f"{trace_dir}: cannot read the trace after the command ended: {error.strerror or error}"
    changed = sorted(path for path, state in after.items() if before.get(path) != state)
    return CommandRun(
        returncode=ended if ended >= 0 else SIGNALED - ended,
        killed_by=-ended if ended < 0 else None,
        seconds=seconds,
        files=tuple(changed),
        grown=tuple(path for path in changed if path in before),
        lost=lost,
    )


def trace_dir_for(given: str | None) -> tuple[Path, bool]:
    """Where to record, and whether that is a temporary directory made now.

    It is the given directory, or else that of TORCH_TRACE, where the user expects traces.
    """
    chosen = given or os.environ.get("TORCH_DTRACE") or os.environ.get("TORCH_TRACE")
    if chosen:
        return Path(chosen), False
    try:
        return Path(tempfile.mkdtemp(prefix="shapelog-")), True
    except OSError as error:
        raise ShapelogError(f"no temporary directory to record into ({error}); choose one with --trace-dir") from error


def _why_nothing_compiled() -> str:
    """What to check when a command has ended without a trace."""
    switch = next((name for name in _SWITCHES if os.environ.get(name, "0") not in ("", "0")), None)
    if switch:
        return f"no trace was written: {switch} is set, so torch.compile has no effect"
    return (
        "no trace was written, so nothing was compiled: did the command call a function under torch.compile, in a process with this "
        "environment, with PyTorch 2.4 or later (python -c 'import torch; print(torch.__version__)')?"
    )


def end_like(run: CommandRun, otherwise: int = 0) -> NoReturn:
    """End this process as the command ended; with ``otherwise`` if the command ended with 0.

    A shell stops a script or a loop on Ctrl-C only if the command died of SIGINT, so that signal is raised again. Other signals
    become 128 + N, as in ``$?``: dying of them again would look like a crash of shapelog, and dump core twice.
    """
    if run.killed_by == signal.SIGINT:
        sys.stdout.flush()
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(run.returncode or otherwise)


def _file_states(folder: Path) -> dict[Path, tuple[int, int, int]]:
    states = {}
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # it was removed meanwhile
            if TRACE_NAME.match(path.name) and path.is_file():
                state = path.stat()
                states[path] = (state.st_ino, state.st_size, state.st_mtime_ns)
    return states


def _start(command: Sequence[str], settings: Mapping[str, str]) -> subprocess.Popen[bytes]:
    name = command[0]
    try:
        return subprocess.Popen(list(command), env=dict(settings))
    except FileNotFoundError as error:
        if os.path.sep in name and os.path.exists(name):
            raise CannotStartError(f"{name}: cannot run it: its interpreter does not exist", NOT_EXECUTABLE) from error
        raise CannotStartError(f"{name}: command not found", NOT_FOUND) from error
    except OSError as error:
        raise CannotStartError(f"{name}: cannot run it: {error.strerror or error}", NOT_EXECUTABLE) from error
    except ValueError as error:
        raise CannotStartError(f"{name!r}: cannot run it: {error}", NOT_EXECUTABLE) from error


@dataclass(slots=True)
class _Relay:
    """Forwards signals to the command; those that come before it has started are sent when it has."""

    process: subprocess.Popen[bytes] | None = None
    pending: list[int] = field(default_factory=list)

    def attach(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        for number in self.pending:
            process.send_signal(number)

    def forward(self, number: int, frame: FrameType | None) -> None:
        if signal.Signals(number).name in _FROM_TERMINAL and _is_in_foreground():
            return
        if self.process is None:
            self.pending.append(number)
        else:
            self.process.send_signal(number)


@contextmanager
def signals_handled(names: Iterable[str], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle signals by their names; one that is ignored (as under nohup) stays ignored, in the children of this process too."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may install handlers
        yield
        return
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    replaced = {number: signal.signal(number, handler) for number in numbers if signal.getsignal(number) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, before in replaced.items():
            signal.signal(number, signal.SIG_DFL if before is None else before)


def _is_in_foreground() -> bool:
    """Whether a terminal sends its signals to this process, and so to the command, which is in the same process group."""
    if os.name != "posix":
        return True
    try:
        with open("/dev/tty", "rb", buffering=0) as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False

"""``with record() as trace:`` records what this process compiles in the block, without TORCH_TRACE."""

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from shapelog.advice.advise import Advice
from shapelog.display import in_notebook
from shapelog.errors import ShapelogError
from shapelog.model.compile import Compile, Outcome
from shapelog.model.load import load
from shapelog.model.trace import Trace
from shapelog.reading.inputs import select_files
from shapelog.recompiles.recompile import Recompile
from shapelog.report import report as reports
from shapelog.report.report import Report

# Records of older versions name the thread and not the process, and lack records that reports need.
_OLDEST_TORCH = (2, 6)
_PREFIX = "dedicated_log_torch_trace_"
# The methods of a logger that decide whether a record reaches its handlers.
_METHODS = ("isEnabledFor", "handle")


class Recording:
    """The trace that ``record()`` writes, and the report on it.

    During the recording, ``trace``, ``report`` and ``advice`` are about the compiles so far. ``print`` shows the report of the terminal, a
    notebook shows a summary. A temporary trace is removed when this object is no longer used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = -1
        self._trace: Trace | None = None
        self._report: Report | None = None

    @property
    def trace(self) -> Trace:
        """The trace as ``shapelog.load`` reads it; read again when more was recorded since. Raises ShapelogError if it was removed."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise ShapelogError(f"{self.path}: cannot read what was recorded: {error.strerror}") from error
        if self._trace is None or size != self._size:
            self._trace, self._report, self._size = load(select_files((self.path,))), None, size
        return self._trace

    @property
    def report(self) -> Report:
        trace = self.trace
        if self._report is None:
            self._report = reports.analyze(trace)
        return self._report

    @property
    def advice(self) -> Advice:
        """What to mark dynamic. Raises ShapelogError if the advice failed; ``report.problems`` has the reason."""
        report = self.report
        if report.advice is None:
            raise ShapelogError(f"{self.path}: the advice failed; shapelog suggest-dynamic {self.path} --debug shows why")
        return report.advice

    @property
    def compiles(self) -> tuple[Compile, ...]:
        """The compiles that produced code."""
        return tuple(compile for compile in self.trace.compiles if compile.outcome is Outcome.COMPILED)

    @property
    def recompiles(self) -> tuple[Recompile, ...]:
        """Each compile of code that had an entry already, explained; also those that failed or were refused at the recompile limit."""
        return tuple(item for item in self.report.recompiles if not item.is_after_failure)

    def __repr__(self) -> str:
        return f"<shapelog.Recording {str(self.path)!r}>"

    def __str__(self) -> str:
        from shapelog.reporters import Options, renderer

        return renderer("report", "terminal")(self.report, Options(color=False)).decode()

    def _repr_html_(self) -> str:
        return in_notebook("recording", self.report)


@contextmanager
def record(trace_dir: str | os.PathLike[str] | None = None) -> Iterator[Recording]:
    """Record what this process compiles inside the block, into a new file in ``trace_dir`` or in a temporary directory.

    Needs torch 2.6 or later; raises ShapelogError without it. TORCH_TRACE, if set, is written as before. Earlier compiles
    are not in the trace: their entries are known only from the reasons that PyTorch gives for later recompiles.
    """
    torch = _torch()
    path = _new_file(trace_dir, _rank(torch))
    recording = Recording(path)
    if trace_dir is None:
        weakref.finalize(recording, _remove, path.parent, os.getpid())
    with _recording_to(path, torch):
        yield recording


@contextmanager
def record_to(path: Path) -> Iterator[Recording]:
    """The same into this file, which is overwritten."""
    torch = _torch()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    except OSError as error:
        raise ShapelogError(f"{path}: cannot record there: {error.strerror or error}") from error
    with _recording_to(path, torch):
        yield Recording(path)


class _Handler(logging.FileHandler):
    """Appends records to a file that a forked child may append to as well, each as a whole.

    ``before`` holds the attributes named in ``_METHODS`` that the logger itself had when no recording was running.
    """

    before: dict[str, Any]

    def _open(self) -> TextIOWrapper:
        """The file as bytes are counted and hashed in it: without another line end on any system."""
        return Path(self.baseFilename).open("a", encoding=self.encoding, errors=self.errors, newline="\n")


@contextmanager
def _recording_to(path: Path, torch: Any) -> Iterator[None]:
    """Add a handler to PyTorch's trace logger for the block, and leave the logger as it was.

    Recordings may end in another order than they began (one in a fixture, the other in its test), so each knows the state of the logger
    before the first, and the last one restores it.
    """
    internal: Any = import_module("torch._logging._internal")
    table: dict[str, int] = import_module("torch._logging.structured").INTERN_TABLE
    logger: logging.Logger = internal.trace_log
    state, formatter = vars(logger), internal.TorchLogsFormatter(trace=True)
    handler = _Handler(path, encoding="utf-8", errors="backslashreplace")  # whatever the locale
    handler.setFormatter(formatter)
    other = next((known for known in logger.handlers if isinstance(known, _Handler)), None)
    handler.before = other.before if other else {name: state[name] for name in _METHODS if name in state}
    handler.acquire()  # other threads may compile: their records come after the first ones
    try:
        logger.addHandler(handler)
        state.update(isEnabledFor=lambda level: True, handle=_delivery(logger))
        for header, payload in _preamble(torch, table):
            extra = {"metadata": header, "payload": payload}
            handler.emit(logger.makeRecord(logger.name, logging.DEBUG, __file__, 0, "", (), None, extra=extra))
    finally:
        handler.release()
    try:
        yield
    finally:
        logger.removeHandler(handler)
        if not any(isinstance(known, _Handler) for known in logger.handlers):
            for name in _METHODS:
                state.pop(name, None)
            state.update(handler.before)
        handler.close()


def _delivery(logger: logging.Logger) -> Callable[[logging.LogRecord], None]:
    """Passes every record to the handlers of the trace logger, whatever its level and even if the logger is disabled.

    logging.disable(), logging.config and handlers of the root logger are about messages to people, which trace records are not. (The
    logger does not propagate, yet pytest 9.2 adds its own handlers of the root logger to each such logger.)
    """

    def handle(record: logging.LogRecord) -> None:
        root_handlers = logging.getLogger().handlers
        for handler in tuple(logger.handlers):  # PyTorch's own handler removes itself at the first record if it has nowhere to write
            if handler not in root_handlers and record.levelno >= handler.level:
                handler.handle(record)

    return handle


def _preamble(torch: Any, table: Mapping[str, int]) -> Iterator[tuple[dict[str, Any], str | None]]:
    """Headers and payloads: the version, and the strings that PyTorch has defined already and will not define again."""
    commit = getattr(torch.version, "git_version", "")
    version = json.dumps({"pytorch_version": str(torch.__version__), "commit": commit, "oss": bool(commit)}, indent=0)
    digest = hashlib.md5(version.encode(), usedforsecurity=False).hexdigest()
    yield {"artifact": {"name": "torch_version", "encoding": "json"}, "has_payload": digest}, version
    yield from (({"str": [text, number]}, None) for text, number in list(table.items()))


def _torch() -> Any:
    try:
        torch: Any = import_module("torch")
    except ImportError as error:
        raise ShapelogError(f"shapelog.record() records this process, and torch cannot be imported in it: {error}") from error
    numbers = re.match(r"(\d{1,18})\.(\d{1,18})", str(torch.__version__))
    if numbers and (int(numbers[1]), int(numbers[2])) < _OLDEST_TORCH:
        raise ShapelogError(f"shapelog.record() needs torch 2.6 or later, this is {torch.__version__}; record with TORCH_TRACE instead")
    return torch


def _rank(torch: Any) -> int | None:
    distributed = torch.distributed
    return int(distributed.get_rank()) if distributed.is_available() and distributed.is_initialized() else None


def _new_file(trace_dir: str | os.PathLike[str] | None, rank: int | None) -> Path:
    """A new file with a name as PyTorch gives it, so that its directory can be read as others are."""
    prefix = _PREFIX if rank is None else f"{_PREFIX}rank_{rank}_"
    try:
        if trace_dir is None:
            folder = Path(tempfile.mkdtemp(prefix="shapelog-"))
        else:
            folder = Path(trace_dir)
            folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(suffix=".log", prefix=prefix, dir=folder.absolute())
    except OSError as error:
        raise ShapelogError(f"{trace_dir or tempfile.gettempdir()}: cannot record there: {error.strerror or error}") from error
    os.close(handle)
    return Path(name)


def _remove(folder: Path, owner: int) -> None:
    """Except in a forked child, whose end must not remove the trace of its parent."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)

"""``with record() as trace:``, a trace of what this process compiles meanwhile, without TORCH_TRACE."""

import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from shapelog import build
from shapelog import report as reports
from shapelog.advice import Advice
from shapelog.errors import ShapelogError
from shapelog.model import Trace
from shapelog.report import Report
from shapelog.source import select_files

# Records of older versions name the thread and not the process, and lack what reports rest on.
_OLDEST_TORCH = (2, 6)
_PREFIX = "dedicated_log_torch_trace_"


class Recording:
    """What ``record()`` writes, and the report on it.

    ``trace``, ``report`` and ``advice`` may be asked for during the recording too; then they tell what has been compiled so far. Printed,
    it is the report of the terminal; in a notebook, a summary. A temporary trace is removed when this object is no longer used.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._size = -1
        self._trace: Trace | None = None
        self._report: Report | None = None

    @property
    def trace(self) -> Trace:
        """The trace as ``shapelog.load`` reads it; read again when more was recorded since."""
        size = self.path.stat().st_size
        if self._trace is None or size != self._size:
            self._trace, self._report, self._size = build.load(select_files((self.path,))), None, size
        return self._trace

    @property
    def report(self) -> Report:
        trace = self.trace
        if self._report is None:
            self._report = reports.analyze(trace)
        return self._report

    @property
    def advice(self) -> Advice:
        """What to mark dynamic. Raises ShapelogError where making it failed; ``report.problems`` tells why."""
        report = self.report
        if report.advice is None:
            raise ShapelogError(f"{self.path}: the advice failed; shapelog suggest-dynamic {self.path} --debug shows why")
        return report.advice

    def __repr__(self) -> str:
        return f"<shapelog.Recording {str(self.path)!r}>"

    def __str__(self) -> str:
        from shapelog.reporters import Options, reporter

        return reporter("terminal").render(self.report, Options(color=False)).decode()

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from shapelog.reporters import Options, notebook_reporter

        return notebook_reporter().render(self.report, Options(limit=12)).decode()


@contextmanager
def record(trace_dir: str | os.PathLike[str] | None = None) -> Iterator[Recording]:
    """Record what this process compiles inside the block, into a new file in ``trace_dir`` or in a temporary directory.

    Needs torch 2.6 or later; raises ShapelogError without it. TORCH_TRACE, if set, goes on as before. What was compiled before the
    block is not in the trace: its entries are known only from the reasons that PyTorch gives for later recompiles.
    """
    torch = _torch()
    internal: Any = import_module("torch._logging._internal")
    table: dict[str, int] = import_module("torch._logging.structured").INTERN_TABLE
    logger: logging.Logger = internal.trace_log
    path = _new_file(trace_dir, _rank(torch))
    recording = Recording(path)
    if trace_dir is None:
        weakref.finalize(recording, _remove, path.parent, os.getpid())
    with path.open("ab") as file:
        handler = _Handler(file)
        handler.setFormatter(internal.TorchLogsFormatter(trace=True))
        with _attached(handler, logger, table, torch):
            yield recording


class _Handler(logging.Handler):
    """Writes records as UTF-8, whatever the locale. A forked child appends to the same file, each record as a whole."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(logging.DEBUG)
        self.file = file

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self.file.write(self.format(record).encode("utf-8", "backslashreplace") + b"\n")
            self.file.flush()
        except Exception:
            self.handleError(record)


@contextmanager
def _attached(handler: _Handler, logger: logging.Logger, table: Mapping[str, int], torch: Any) -> Iterator[None]:
    """Add the handler to PyTorch's trace logger for the block, and leave the logger as it was."""
    state = vars(logger)
    before: dict[str, Any] = {name: state[name] for name in ("disabled", "isEnabledFor") if name in state}
    handler.acquire()  # other threads may compile: their records come after the beginning
    try:
        # In front, because PyTorch's own handler removes itself from the list at the first record, and the next one is then passed over.
        logger.handlers.insert(0, handler)
        # Whatever the level: logging.disable() and logging.config speak of messages to people, and this is none.
        state.update(disabled=False, isEnabledFor=lambda level: True)
        _begin(handler, logger, table, torch)
    finally:
        handler.release()
    try:
        yield
    finally:
        logger.removeHandler(handler)
        del state["isEnabledFor"]
        state.update(before)
        handler.close()


def _begin(handler: _Handler, logger: logging.Logger, table: Mapping[str, int], torch: Any) -> None:
    """The version, and the strings that PyTorch has defined before and will not define again."""
    commit = getattr(torch.version, "git_version", "")
    version = json.dumps({"pytorch_version": str(torch.__version__), "commit": commit, "oss": bool(commit)}, indent=0)
    digest = hashlib.md5(version.encode(), usedforsecurity=False).hexdigest()
    header = {"artifact": {"name": "torch_version", "encoding": "json"}, "has_payload": digest}
    _write(handler, logger, header, version)
    for text, number in list(table.items()):
        _write(handler, logger, {"str": [text, number]}, None)


def _write(handler: _Handler, logger: logging.Logger, header: dict[str, Any], payload: str | None) -> None:
    extra = {"metadata": header, "payload": payload}
    handler.emit(logger.makeRecord(logger.name, logging.DEBUG, __file__, 0, "", (), None, extra=extra))


def _torch() -> Any:
    try:
        torch: Any = import_module("torch")
    except ImportError as error:
        raise ShapelogError(f"shapelog.record() records this process, and torch cannot be imported in it: {error}") from error
    numbers = re.match(r"(\d+)\.(\d+)", str(torch.__version__))
    if numbers and (int(numbers[1]), int(numbers[2])) < _OLDEST_TORCH:
        raise ShapelogError(f"shapelog.record() needs torch 2.6 or later, this is {torch.__version__}; record with TORCH_TRACE instead")
    return torch


def _rank(torch: Any) -> int | None:
    distributed = torch.distributed
    return int(distributed.get_rank()) if distributed.is_available() and distributed.is_initialized() else None


def _new_file(trace_dir: str | os.PathLike[str] | None, rank: int | None) -> Path:
    """A new file with the name that PyTorch would give it, so that its directory can be reported on as others can."""
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
    """A forked child that ends does not take the trace of its parent away."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)

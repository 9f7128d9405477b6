"""The public API: ``load``, ``analyze``, ``advise`` and ``record``."""

import os

from shapelog.advice.advise import Advice
from shapelog.advice.advise import advise as advise_study
from shapelog.distributed.executor import parse_executor
from shapelog.distributed.large_jobs import ReadOptions, load_large_job
from shapelog.errors import ShapelogError
from shapelog.model import load as loading
from shapelog.model.ids import parse_version
from shapelog.model.trace import Trace
from shapelog.reading.inputs import InputOptions, is_large, select
from shapelog.reading.trace_files import WEB_TIMEOUT
from shapelog.recompiles.explain import explain_trace
from shapelog.recording import record
from shapelog.report.report import Report
from shapelog.report.report import analyze as analyze_trace

__all__ = ["advise", "analyze", "load", "record"]


def load(
    path: str | os.PathLike[str],
    *,
    strict: bool = False,
    run: str | int = "",
    max_unpacked: int | None = None,
    executor: str = "",
    timeout: float = WEB_TIMEOUT,
) -> Trace:
    """Read a trace: a file, a directory or an archive (its newest run), a URL, or ``-`` for standard input.

    ``strict`` decodes every record and verifies every checksum, not only those that the model uses. ``run`` is another run of a
    directory or an archive: 2 for the one before the newest, a part of the name of one of its files, or ``"all"``. A file that unpacks
    to more than ``max_unpacked`` bytes is refused; None is a limit that depends on its size. Records that cannot be used are listed in
    ``Trace.problems``. Of a job with more than 16 ranks, a few representatives are read in full, and the others are summarized
    (``Trace.representatives``, ``Trace.summarized``): here, or by the workers of an ``executor``: ``"processes"``, ``"processes:4"`` or
    ``"dask://HOST:PORT"``. A web server may send nothing for ``timeout`` seconds. Raises ShapelogError where there is nothing to read,
    or not one trace record in it.
    """
    selection = select(os.fspath(path), InputOptions(str(run), max_unpacked, timeout=timeout))
    if is_large([selection], bool(executor)):
        return load_large_job(
            selection,
            ReadOptions(parse_executor(executor) if executor else None, strict, max_bytes=max_unpacked, timeout=timeout),
        )
    return loading.load(selection, strict)


def analyze(trace: Trace) -> Report:
    """Explain every recompile of a trace: nearest earlier entry, causes, whether it can be avoided; and sum up the run."""
    return analyze_trace(trace)


def advise(trace: Trace, torch_version: str | None = None) -> Advice:
    """Marks to set, the compiles that they save and those that remain; ``Advice.env`` is the value of TORCH_COMPILE_DYNAMIC_SOURCES.

    The list is written for the torch version of the trace, or for ``torch_version`` (``"2.13"``). Raises ShapelogError when that is no
    version.
    """
    version = parse_version(torch_version) if torch_version is not None else None
    if torch_version is not None and version is None:
        raise ShapelogError(f"torch_version {torch_version!r}: not a version such as 2.13")
    return advise_study(explain_trace(trace), version)

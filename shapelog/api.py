"""The public API: ``load``, ``analyze`` and ``record``."""

import os

from shapelog import build
from shapelog import report as reports
from shapelog.model import Trace
from shapelog.recording import record
from shapelog.report import Report
from shapelog.source import select

__all__ = ["analyze", "load", "record"]


def load(path: str | os.PathLike[str], *, strict: bool = False) -> Trace:
    """Read a trace: a file (plain or gzip), a directory (its newest run) or ``-`` for standard input.

    ``strict`` decodes every record and verifies every checksum, not only those that the model uses. Records that cannot be used are
    listed in ``Trace.problems``. Raises ShapelogError when there is nothing to read, or not one trace record in it.
    """
    return build.load(select(os.fspath(path)), strict)


def analyze(trace: Trace) -> Report:
    """Explain every recompile of a trace: nearest earlier entry, causes, what can be avoided; and sum up the run."""
    return reports.analyze(trace)

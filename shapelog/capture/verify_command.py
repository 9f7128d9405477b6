"""The loop of ``shapelog verify``: run a command, then run it again with the advice."""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote

from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import VARIABLE, why_nothing
from shapelog.capture import run_command
from shapelog.errors import ShapelogError
from shapelog.reading.inputs import Selection
from shapelog.report.report import Report
from shapelog.report.verification import CommandResult, Verification, verify

DID_NOT_HELP, CANNOT_TRY = 1, 2
# Compile caches and PGO profiles, which would change what the second run compiles, are in the one. Precompiled headers, which a first run
# would build for the second, are in the other, wherever the one is (``torch._inductor.codecache._HEADER_DIR``).
_CACHE_DIR, _TEMPORARY = "TORCHINDUCTOR_CACHE_DIR", "TMPDIR"


def run_and_verify(
    command: Sequence[str],
    trace_dir: str | None,
    analyze: Callable[[Selection], Report],
    show: Callable[[Verification | Advice], int],
    message: Callable[[str], None],
) -> int:
    """Returns the exit code: 0 if the advice helped or there was none to give, 1 if it did not help, 2 if it could not be tried.

    Raises ShapelogError if a run cannot be started or wrote no trace.
    """
    folder = Path(trace_dir) if trace_dir else Path(tempfile.mkdtemp(prefix="shapelog-verify-"))
    message("first run: unchanged")
    caches = None if trace_dir else folder  # what a killed run leaves is in one place
    first = _record(command, folder / "before", caches, {})
    if first.returncode:
        message(f"the first run exited with {first.returncode}, so there is nothing to verify; its trace is in {folder / 'before'}")
        return first.returncode
    before = analyze(first.selection())
    advice = before.advice
    if advice is None:
        raise ShapelogError(f"shapelog could not compute suggestions; shapelog report {quote(str(folder / 'before'))} --debug shows why")
    if not advice.env:
        message(f"nothing to verify: {why_nothing(advice)}")
        status = show(advice)
        return CANNOT_TRY if advice.suggestions else status
    set_already = os.environ.get(VARIABLE, "")
    value = f"{set_already},{advice.env}" if set_already else advice.env
    message(f"second run: {VARIABLE} {'extended by' if set_already else 'set to'} the suggestion")
    second = _record(command, folder / "after", caches, {VARIABLE: value})
    if not second.has_trace:
        message(second.lost or f"the second run exited with {second.returncode} and compiled nothing")
        return DID_NOT_HELP
    after = analyze(second.selection())
    verification = verify(
        before, after, advice, CommandResult(first.returncode, first.seconds), CommandResult(second.returncode, second.seconds)
    )
    message(f"both traces were kept: shapelog compare {folder / 'before'} {folder / 'after'}")
    return show(verification) or (0 if verification.helped else DID_NOT_HELP)


def _record(command: Sequence[str], folder: Path, caches: Path | None, variables: dict[str, str]) -> run_command.CommandRun:
    """Run it with a temporary directory of its own: in ``caches``, or else, and where a first run removed that, in the usual place."""
    where = caches if caches and caches.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="shapelog-cache-", dir=where, ignore_cleanup_errors=True) as cache:
        return run_command.run(command, folder, env={_CACHE_DIR: str(Path(cache, "inductor")), _TEMPORARY: cache, **variables})

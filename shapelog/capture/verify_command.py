"""Run a command, advise, run it again with the advice: what ``shapelog verify`` does."""

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
# Compile caches, and the profiles of PGO beside them, would make the second run another one than the first.
_CACHE = "TORCHINDUCTOR_CACHE_DIR"


def prove(
    command: Sequence[str],
    trace_dir: str | None,
    analyzed: Callable[[Selection], Report],
    show: Callable[[Verification | Advice], int],
    say: Callable[[str], None],
) -> int:
    """The exit code: 0 where the advice helped or there was none to give, 1 where it did not help, 2 where it could not be tried.

    Raises ShapelogError when a run cannot be started or leaves nothing to read.
    """
    where = Path(trace_dir) if trace_dir else Path(tempfile.mkdtemp(prefix="shapelog-verify-"))
    say("first run, as it is")
    first = _recorded(command, where / "before", {})
    if first.returncode:
        say(f"the first run ended with {first.returncode}, so there is nothing to verify; its trace is in {where / 'before'}")
        return first.returncode
    before = analyzed(first.selection())
    advice = before.advice
    if advice is None:
        raise ShapelogError(f"the advice failed; shapelog report {quote(str(where / 'before'))} --debug shows why")
    if not advice.env:
        say(f"nothing to verify: {why_nothing(advice)}")
        status = show(advice)
        return CANNOT_TRY if advice.suggestions else status
    set_already = os.environ.get(VARIABLE, "")
    value = f"{set_already},{advice.env}" if set_already else advice.env
    say(f"second run, with {VARIABLE} set{' in addition to what it was' if set_already else ''}")
    second = _recorded(command, where / "after", {VARIABLE: value})
    if not second.has_trace:
        say(f"the second run ended with {second.returncode} and compiled nothing")
        return DID_NOT_HELP
    after = analyzed(second.selection())
    found = verify(before, after, advice, CommandResult(first.returncode, first.seconds), CommandResult(second.returncode, second.seconds))
    say(f"both traces are kept: shapelog compare {where / 'before'} {where / 'after'}")
    return show(found) or (0 if found.helped else DID_NOT_HELP)


def _recorded(command: Sequence[str], where: Path, more: dict[str, str]) -> run_command.Run:
    with tempfile.TemporaryDirectory(prefix="shapelog-cache-", ignore_cleanup_errors=True) as cache:
        return run_command.run(command, where, env={_CACHE: cache, **more})

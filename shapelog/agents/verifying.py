"""The answer of the tool that runs a command: ``shapelog verify`` in a process of its own, so that nothing of it reaches the protocol."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any

from shapelog.agents.answers import FrameResult, VerifyAnswer
from shapelog.agents.bounds import first, fitting, pasted, short
from shapelog.errors import ShapelogError
from shapelog.text import seconds, seconds_or_unknown, seconds_range

# The last lines of the output that an answer has.
_LAST_LINES = 8
_FORMAT = "shapelog verification"


def verify(command: Sequence[str], directory: str = "", timeout: float = 600) -> VerifyAnswer:
    """Run a command twice, the second time with the suggested list, and compare. It is ended after ``timeout`` seconds.

    Both traces are kept in a temporary directory. Raises ShapelogError where the command cannot be started, or is not done in time.
    """
    if not command:
        raise ShapelogError("verify: the command is empty; expected for example ['python', 'train.py', '--steps', '20']")
    folder = Path(tempfile.mkdtemp(prefix="shapelog-verify-"))
    result, printed = folder / "verification.json", folder / "output.txt"
    arguments = [sys.executable, "-m", "shapelog", "verify", "--trace-dir", str(folder), "-f", "json", "-o", str(result), "--", *command]
    with printed.open("wb") as output:
        status = _run(arguments, directory, output.fileno(), timeout)
    lines = printed.read_text(encoding="utf-8", errors="replace").splitlines()
    found = json.loads(result.read_bytes()) if result.is_file() else {}
    return fitting(lambda most: _answer(found, status, folder, lines, most))


def _run(arguments: Sequence[str], directory: str, output: int, timeout: float) -> int:
    """The exit code. The whole group of processes is ended when the time is over."""
    try:
        process = subprocess.Popen(
            arguments, cwd=directory or None, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    except OSError as error:
        raise ShapelogError(f"{directory}: cannot run a command there: {error.strerror or error}") from error
    try:
        return process.wait(timeout)
    except subprocess.TimeoutExpired as error:
        _end(process)
        raise ShapelogError(f"not done after {seconds(timeout)}, so it was ended; give a shorter command or a longer timeout") from error


def _end(process: "subprocess.Popen[bytes]") -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()


def _answer(found: dict[str, Any], status: int, folder: Path, lines: Sequence[str], most: int) -> VerifyAnswer:
    """``found`` is a verification as JSON, an advice where there was nothing to mark, or empty where a run failed."""
    messages = [short(line) for line in lines[-_LAST_LINES:]]
    if found.get("format") != _FORMAT:
        why = f"nothing to mark: {found['why_empty']}" if found.get("why_empty") else f"shapelog verify ended with {status}; see messages"
        return VerifyAnswer(
            outcome=short(why),
            helped=None,
            compilations="",
            seconds="",
            faults=[],
            notes=[],
            frames=[],
            set_variable=[],
            traces=str(folder),
            messages=messages,
        )
    numbers, times = found["compiles"], found["seconds"]
    low, high = times["predicted"]["least"], times["predicted"]["most"]
    predicted = "time unknown" if low is None else seconds_range(low, high)
    more = [f"more to mark, by the second run: suggest_dynamic for {folder / 'after'}"] if found["next_env"] else []
    return VerifyAnswer(
        outcome=f"{'it helped' if found['helped'] else 'it did not help'}: {numbers['before']} compilations became {numbers['measured']}",
        helped=found["helped"],
        compilations=f"before {numbers['before']}, predicted {numbers['predicted']}, measured {numbers['measured']}",
        seconds=f"before {seconds_or_unknown(times['before'])}, predicted {predicted}, measured {seconds_or_unknown(times['measured'])}",
        faults=[short(text) for text in first(found["faults"], most)],
        notes=[short(text) for text in (*more, *first(found["notes"], most))],
        frames=[_frame(item) for item in first(found["frames"], most)],
        set_variable=pasted([found["advice"]["shell"]], f"shapelog suggest-dynamic {quote(str(folder / 'before'))} --format shell"),
        traces=str(folder),
        messages=[],
    )


def _frame(item: dict[str, Any]) -> FrameResult:
    return FrameResult(short(item["title"], 120), item["before"], item["predicted"], item["measured"])

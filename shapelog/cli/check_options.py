"""What the options of a check mean: its policy, and the baseline that it reads or writes."""

import os
import sys
from pathlib import Path
from typing import Any

from shapelog.check.alerts import Survey
from shapelog.check.baseline import Baseline, as_bytes, is_one, parse
from shapelog.check.policy import Metric, Policy, budgets_of, codes_of, kinds_of
from shapelog.cli.output import Target, say, write
from shapelog.cli.settings import split
from shapelog.errors import ShapelogError
from shapelog.text import plural

# A baseline tells in so many bytes that it is one.
_HEAD = 200


def policy_of(shared: dict[str, Any]) -> Policy:
    """What the options ask for, the lists in them with commas or one by one."""
    lists = {name: [part for text in shared[name] for part in split(text)] for name in ("fail_on", "select", "ignore")}
    budgets = [
        budget
        for metric, name in ((Metric.COMPILES, "compiles"), (Metric.RECOMPILES, "recompiles"), (Metric.AVOIDABLE, "avoidable_seconds"))
        for budget in budgets_of(metric, shared[f"max_{name}"], [part for text in shared[f"max_{name}_per_frame"] for part in split(text)])
    ]
    return Policy(
        fail_on=kinds_of(lists["fail_on"]) if lists["fail_on"] else None,
        select=codes_of("--select", lists["select"]),
        ignore=codes_of("--ignore", lists["ignore"]),
        budgets=tuple(budgets),
    )


def baseline_to_write(traces: tuple[str, ...], asked: str | None, named: str | None) -> tuple[tuple[str, ...], str]:
    """The traces, and the file to record the state in, "" for none.

    --write-baseline may stand without a file, so what follows it may be a trace: whatever is there and is no baseline is taken for one.
    """
    default = named or "shapelog-baseline.json"
    if asked is None:
        return traces, ""
    if asked == "-" or (asked and _is_foreign(asked)):
        if traces:
            raise ShapelogError(f"{asked}: there is such a file, and it is no shapelog baseline; it is left as it is")
        return (asked,), default
    written = asked or default
    if _is_foreign(written):
        raise ShapelogError(f"{written}: there is such a file, and it is no shapelog baseline; it is left as it is")
    return traces, written


def _is_foreign(path: str) -> bool:
    """Whether something is there that is no baseline. A pipe is not read, since that would empty it."""
    if not os.path.isfile(path):
        return os.path.exists(path)
    try:
        with open(path, "rb") as file:
            return not is_one(file.read(_HEAD))
    except OSError:
        return True


def read_baseline(path: str) -> Baseline:
    """Raises ShapelogError when it cannot be read, or is none."""
    try:
        return parse(Path(path).read_bytes(), path)
    except FileNotFoundError as error:
        raise ShapelogError(f"{path}: no such baseline; shapelog check TRACE --write-baseline {path} records one") from error
    except OSError as error:
        raise ShapelogError(f"{path}: cannot read the baseline: {error.strerror}") from error


def record_baseline(found: Survey, path: str) -> Baseline:
    """The baseline of a run, written to a file."""
    content = as_bytes(found)
    write(content, Target("json", path), sys.stdout)
    made = parse(content, path)
    say(f"wrote {path}: {plural(len(made.known), 'code')}, {plural(len(found.alerts), 'alert')} that will not fail a check against it")
    return made

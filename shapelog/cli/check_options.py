"""The policy that the options of a check ask for, and the baseline that it reads or writes."""

import os
import sys

from shapelog.check.baseline import Baseline, as_bytes, is_one, parse
from shapelog.check.policy import Metric, Policy, budgets_of, codes_of, kinds_of
from shapelog.cli.options import CommonOptions
from shapelog.cli.output import Target, message, write
from shapelog.cli.settings import split
from shapelog.cli.small_file import read_small_file
from shapelog.errors import ShapelogError
from shapelog.report.alerts.alert import Alerts
from shapelog.text import plural

# A baseline can be recognized by its first bytes.
_HEAD = 200


def policy_of(options: CommonOptions) -> Policy:
    """Raises ShapelogError for an unknown kind or code, and for a budget that is not a number."""
    fail_on = _entries(options.fail_on)
    return Policy(
        fail_on=kinds_of(fail_on) if fail_on else None,
        select=codes_of("--select", _entries(options.select)),
        ignore=codes_of("--ignore", _entries(options.ignore)),
        budgets=(
            *budgets_of(Metric.COMPILES, options.max_compiles, _entries(options.max_compiles_per_frame)),
            *budgets_of(Metric.RECOMPILES, options.max_recompiles, _entries(options.max_recompiles_per_frame)),
            *budgets_of(Metric.AVOIDABLE, options.max_avoidable_seconds, _entries(options.max_avoidable_seconds_per_frame)),
        ),
    )


def _entries(texts: tuple[str, ...]) -> list[str]:
    return [entry for text in texts for entry in split(text)]


def baseline_to_write(traces: tuple[str, ...], write_baseline: str | None, baseline: str | None) -> tuple[tuple[str, ...], str]:
    """The traces, and the file to record the state in, "" for none.

    --write-baseline may be given without a file, so its value may be a trace: an existing file that is not a baseline is taken for one.
    """
    default = baseline or "shapelog-baseline.json"
    if write_baseline is None:
        return traces, ""
    if not traces and (write_baseline == "-" or (write_baseline and _is_another_file(write_baseline))):
        return (write_baseline,), default
    path = write_baseline or default
    if write_baseline == "-" or _is_another_file(path):
        raise ShapelogError(f"{path}: not overwritten, because this file exists and is not a shapelog baseline")
    return traces, path


def _is_another_file(path: str) -> bool:
    """Whether a file exists that is not a baseline. A pipe is not read, since that would empty it."""
    if not os.path.isfile(path):
        return os.path.exists(path)
    try:
        with open(path, "rb") as file:
            return not is_one(file.read(_HEAD))
    except OSError:
        return True


def read_baseline(path: str) -> Baseline:
    """Raises ShapelogError when it cannot be read, or is not a baseline."""
    try:
        return parse(read_small_file(path), path)
    except FileNotFoundError as error:
        raise ShapelogError(f"baseline not found: {path} (create it with `shapelog check TRACE --write-baseline {path}`)") from error
    except OSError as error:
        raise ShapelogError(f"{path}: cannot read the baseline: {error.strerror}") from error


def record_baseline(found: Alerts, path: str) -> Baseline:
    """Write the baseline of a run to a file, and return it."""
    content = as_bytes(found)
    write(content, Target("json", path), sys.stdout)
    baseline = parse(content, path)
    codes, alerts = plural(len(baseline.known), "function"), plural(len(found.alerts), "finding")
    message(f"wrote {path}: {codes}, {alerts} that {'is' if len(found.alerts) == 1 else 'are'} known from now on")
    return baseline

"""Checks of small traces for the tests of what CI systems read, a trace of names that try to be something else, and both schemas."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import make
from payload_text import size_mismatch

import shapelog
from shapelog.check.baseline import Baseline, as_bytes, parse
from shapelog.check.check import CheckResult, check, without_policy
from shapelog.check.policy import Budget, Metric, Policy
from shapelog.model.trace import Trace
from shapelog.report.alerts.alert import Alerts
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository

FIXTURES = Path(__file__).parents[1] / "fixtures"
SCHEMAS = Path(__file__).parent / "schemas"
# Cheap ones that differ: library code, ints, a graph break, two sites, a limit in an old version, nothing at all.
NAMES = ("lab/hf_vit_batch", "lab/int_and_tensor", "lab/graph_break_resume", "lab/two_call_sites", "real/2.6/g_limit", "lab/no_recompiles")
BUDGETS = Policy(budgets=(Budget(Metric.RECOMPILES, 3), Budget(Metric.COMPILES, 9, "*.forward"), Budget(Metric.AVOIDABLE, 1.5)))
# No root that exists, so that no file of the machine decides.
_REPOSITORY = Repository("/nowhere/at/all", prefixes=("/srv/ml", "/srv/app"))

EVIL = (
    "f\n::error file=x::y\r\n##[error]z ]]> </script><script>alert(1)</script> <!-- a|b|c `code` ``` **bold** ~~x~~ @octocat #12 GH-7 "
    "https://evil.example www.evil.example me@evil.example [a](https://evil.example) ![b](https://evil.example/c.png) &lt; $x$ :smile: "
    "\x00\x1b[31m\x07\u202e\ud800\ufffe %0A 1. \\| {0} </details>"
)
EVIL_FILE = "/srv/app/d:e,f %41\n::warning::g|`h` @octocat <b>#?[i](j) ]]>.py"


def trace_of(name: str) -> Trace:
    return shapelog.load(FIXTURES / f"{name}.log.gz")


def alerts_of(trace: Trace) -> Alerts:
    return collect_alerts(shapelog.analyze(trace), _REPOSITORY)


@cache
def fixture(name: str) -> Alerts:
    return alerts_of(trace_of(name))


def checked(trace: bytes, policy: Policy | None = None, baseline: bytes | None = None) -> CheckResult:
    """A check of a made trace; ``baseline`` is the trace that one is written of."""
    known = baseline_of(baseline) if baseline is not None else None
    return check(alerts_of(make.load(trace)), policy or Policy(), known)


def baseline_of(trace: bytes) -> Baseline:
    return parse(as_bytes(alerts_of(make.load(trace))), "baseline.json")


@cache
def demo() -> CheckResult:
    return check(fixture("real/demo"), BUDGETS)


@cache
def shown() -> CheckResult:
    return without_policy(fixture("real/demo"))


@cache
def hostile() -> CheckResult:
    """Every text that a trace can name: the function, its file, what it fails with, why it was started again, and its trace."""
    parts = (
        make.torch_version(),
        make.strings(EVIL_FILE, make.MAIN),
        make.compile("0/0", make.tensor(8, 16), name=EVIL, restart_reasons=[EVIL], co_filename=EVIL_FILE),
        make.compile("0/1", make.tensor(3, 16), reasons=[size_mismatch("0/0", 8, 3)], name=EVIL, dynamic=[0], co_filename=EVIL_FILE),
        make.compile(
            "0/2",
            make.tensor(3, 32),
            reasons=["0/0: " + EVIL.replace("\ud800", "")],
            name=EVIL,
            fail_type=EVIL,
            fail_reason=EVIL,
            has_guarded_code=False,
        ),
        b"V1120 broken \xff\xfe\n",
    )
    return check(alerts_of(make.load(b"".join(parts))), BUDGETS)


def varying(functions: int, line: int = 12) -> bytes:
    """Functions that recompile once each, because a size varies; the first begins in ``line``."""
    parts = [make.torch_version(), make.strings(make.MODEL, make.MAIN)]
    for number in range(functions):
        for again, size in enumerate((8, 3)):
            label = f"{number}/{again}"
            why = [size_mismatch(f"{number}/0", 8, 3)] if again else []
            made = {"name": f"f{number}", "line": line + number, "call": 30, "seconds": 1.5}
            parts.append(make.compile(label, make.tensor(size, 16), reasons=why, dynamic=[0] * again, **made))
    return b"".join(parts)


def namesakes() -> bytes:
    """Two functions of one name in one file, each compiled once."""
    return make.trace(*(make.compile(f"{number}/0", make.tensor(8, 16), name="forward", line=12 + 8 * number) for number in range(2)))


def fields(data: object) -> Iterator[str]:
    """Every text in JSON data."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield key
            yield from fields(value)
    elif isinstance(data, list):
        for value in data:
            yield from fields(value)
    elif isinstance(data, str):
        yield data


def sarif_schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((SCHEMAS / "sarif-2.1.0.json.gz").read_bytes()))
    return found

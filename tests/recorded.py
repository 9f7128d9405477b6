"""The recorded traces in fixtures/. Each is loaded and analyzed once in a process."""

import gzip
import json
from functools import cache
from pathlib import Path

import shapelog
from shapelog.advice.advise import Advice
from shapelog.model.compile import Compile
from shapelog.recompiles.recompile import Recompile
from shapelog.report.report import Report

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDED = sorted(path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*.log.gz"))
# Programs whose causes of recompilation are known: fixtures/lab/truth.json.
LAB = [name for name in RECORDED if name.startswith("lab/")]


@cache
def report_of(name: str) -> Report:
    """The report of a fixture, ``lab/batch_varies.log.gz``."""
    return shapelog.analyze(shapelog.load(FIXTURES / name))


@cache
def metrics_fields() -> frozenset[str]:
    """The fields of ``compilation_metrics`` that torch 2.13 writes."""
    with gzip.open(FIXTURES / "lab/one_first.log.gz", "rt", encoding="utf-8") as file:
        line = next(line for line in file if '{"compilation_metrics"' in line)
    return frozenset(json.loads(line.partition("] ")[2])["compilation_metrics"])


@cache
def advice_of(name: str) -> Advice:
    found = report_of(name).advice
    assert found is not None
    return found


def recompile_of(name: str, label: str) -> Recompile:
    return next(item for item in report_of(name).recompiles if item.compile.label == label)


def compile_of(name: str, label: str) -> Compile:
    return next(item for item in report_of(name).trace.compiles if item.label == label)


def graph_of(compile: Compile) -> str:
    """The text of its graph, as PyTorch wrote it."""
    assert compile.payloads
    assert compile.graph_span
    return compile.payloads.text(compile.graph_span)


def guards_of(compile: Compile) -> str:
    """The text of its guards, as PyTorch wrote it."""
    assert compile.payloads
    assert compile.guards_span
    return compile.payloads.text(compile.guards_span)

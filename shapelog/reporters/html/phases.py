"""Compile time by phase, as bars: what first compilations took, and what recompilations took."""

from typing import NamedTuple

from shapelog.model.compile import WHOLE
from shapelog.report.phases import ALL, PhaseSeconds, phase_seconds
from shapelog.report.report import Report

_WORDS = {
    WHOLE: "ahead-of-time compilations, which measure at most what Inductor takes",
    "Dynamo": "runs the Python code, captures the graph and builds the guards",
    "AOTAutograd": "traces through autograd and breaks operations down",
    "Inductor": "fuses operations and plans kernels",
    "code generation": "writes and builds the kernels",
    "backend": "a backend that does not record its phases",
    "backward": "backward graphs that were compiled on their own",
}


class PhaseBar(NamedTuple):
    """One phase. ``share`` of all seconds is in percent; the two widths are in percent of the longest bar."""

    name: str
    words: str
    seconds: float
    share: float
    first: float
    again: float


class Phases(NamedTuple):
    """The chart, without any bar where no time was recorded."""

    bars: tuple[PhaseBar, ...]
    first_seconds: float
    again_seconds: float
    note: str


def phases_of(report: Report) -> Phases:
    table = report.table("time")
    found = {item.name: item for item in phase_seconds(report.explained)}
    every = found.pop(ALL, PhaseSeconds(ALL, 0.0, 0.0))
    longest = max((item.total for item in found.values()), default=0.0)
    bars = [_bar(item, every.total, longest) for item in found.values() if item.total > 0]
    has_vain = report.summary.failures or report.summary.limit_hits
    notes = ("with compilations that failed or were refused" if has_vain else "", table.note if table else "")
    return Phases(tuple(bars), every.first, every.again, "; ".join(filter(None, notes)))


def _bar(item: PhaseSeconds, total: float, longest: float) -> PhaseBar:
    return PhaseBar(
        name=item.name,
        words=_WORDS.get(item.name, ""),
        seconds=item.total,
        share=100 * item.total / total if total else 0.0,
        first=100 * item.first / longest,
        again=100 * item.again / longest,
    )

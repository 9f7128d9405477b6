"""Every total that a format shows is the sum of what is listed under it, for each recorded trace and for made ones."""

import json
import re
from collections.abc import Callable
from xml.etree import ElementTree

import make
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import RECORDED, report_of

from shapelog.check.check import without_policy
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, renderer
from shapelog.reporters.html.overview import overview
from shapelog.rules import Verdict

# How far a sum of numbers with three digits may be from one that was rounded as a whole.
ROUNDED = {"rel": 0.02, "abs": 0.02}
TIME = re.compile(r"\(?([\d.]+) s\)?")


def shown(report: Report, form: str) -> str:
    if form in ("terminal", "json"):
        return renderer("report", form)(report, Options(width=140)).decode()
    return renderer("overview", form)(without_policy(collect_alerts(report, Repository())), Options()).decode()


def seconds(text: str) -> float:
    found = TIME.search(text)
    return float(found[1]) if found else 0.0


def terminal_adds_up(report: Report) -> None:
    head, *rest = shown(report, "terminal").partition("\nSummary: ")[2].split("\n\n")[0].splitlines() or [""]
    total = re.search(r"including (\d+) recompilations?( \([\d.]+ s\))?", head)
    parts = [found for line in rest if (found := re.match(r" +(\d+)  \D+?  +(?:([\d.]+ s)  )?█", line))]
    assert sum(int(part[1]) for part in parts) == (int(total[1]) if total else 0)
    if total and total[2]:
        assert sum(seconds(part[2] or "") for part in parts) == pytest.approx(seconds(total[2]), **ROUNDED)


def markdown_adds_up(report: Report) -> None:
    rows = [line.strip("|").split("|") for line in shown(report, "markdown").splitlines() if line.startswith("| ")]
    figures = {cells[0].strip(): (int(cells[1]), seconds(cells[2])) for cells in rows if cells[1].strip().isdigit()}
    again = figures["Recompilations"]
    parts = [figure for title, figure in figures.items() if title.startswith("·")]
    assert sum(number for number, _ in parts) == again[0]
    assert sum(spent for _, spent in parts) == pytest.approx(again[1], **ROUNDED)


def json_adds_up(report: Report) -> None:
    data = json.loads(shown(report, "json"))
    summary = data["summary"]
    assert sum(part["count"] for part in summary["verdicts"]) == summary["recompiles"]
    if summary["recompile_seconds"] is not None:
        assert sum(part["seconds"] for part in summary["verdicts"]) == pytest.approx(summary["recompile_seconds"])


def page_adds_up(report: Report) -> None:
    tiles = overview(report, (), ()).tiles
    verdicts = {report.words_of(verdict) for verdict in Verdict if verdict not in (Verdict.FAILED, Verdict.LIMIT, Verdict.UNFINISHED)}
    again = sum(tile.number for tile in tiles if tile.label.startswith("recompilation"))
    assert sum(tile.number for tile in tiles if tile.label in verdicts) == again


def junit_adds_up(report: Report) -> None:
    suite = ElementTree.fromstring(shown(report, "junit"))
    cases = list(suite.iter("testcase"))
    assert (suite.attrib["tests"], suite.attrib["failures"]) == (str(len(cases)), str(len(list(suite.iter("failure")))))
    if "time" in suite.attrib:
        assert sum(float(case.get("time", 0)) for case in cases) == pytest.approx(float(suite.attrib["time"]), **ROUNDED)


EACH = (terminal_adds_up, markdown_adds_up, json_adds_up, page_adds_up, junit_adds_up)


@pytest.mark.parametrize("add_up", EACH)
@pytest.mark.parametrize("name", RECORDED)
def test_the_totals_of_recorded_traces_add_up(name: str, add_up: Callable[[Report], None]) -> None:
    add_up(report_of(name))


DTYPE = "0/0: tensor 'x' dtype mismatch. expected Float, actual Double"
OUTCOMES = ("static", "dynamic", "dtype", "unexplained", "failed", "refused")


def made(outcome: str, id: str, length: int, spent: float) -> bytes:
    """One compile of a call with this length."""
    if outcome == "refused":
        return make.refused(id, DTYPE)
    fields = make.FAILED if outcome == "failed" else {"dynamic": [0]} if outcome == "dynamic" else {}
    reasons = (DTYPE,) if outcome == "dtype" else ("0/0: something else",) if outcome == "unexplained" else ()
    return make.compile(id, make.tensor(length, 8), reasons=reasons, name=f"f{id[0]}", seconds=spent, **fields)


CALLS = st.lists(st.tuples(st.sampled_from(OUTCOMES), st.integers(0, 2), st.integers(0, 20), st.floats(0.01, 3.0)), max_size=12)


@settings(max_examples=60, deadline=None)
@given(CALLS)
@pytest.mark.slow
def test_the_totals_of_made_traces_add_up(calls: list[tuple[str, int, int, float]]) -> None:
    ids = [f"{frame}/{sum(frame == other for _, other, _, _ in calls[:number])}" for number, (_, frame, _, _) in enumerate(calls)]
    report = make.report(make.trace(*(made(outcome, id, *more) for id, (outcome, _, *more) in zip(ids, calls, strict=True))))
    for add_up in EACH:
        add_up(report)


@pytest.mark.parametrize("name", RECORDED)
def test_what_each_suggestion_saves_is_compared_with_what_all_save(name: str) -> None:
    advice = report_of(name).advice
    assert advice
    single = sum({(item.gone, item.frames): item.compiles for item in advice.suggestions}.values())
    assert bool(advice.how_savings_add_up) == (single != advice.before.compiles - advice.after.compiles)

"""Text logs have no times: no format shows a time of 0 for them, and JSON has null."""

import re
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from typing import Any

import pytest
from recorded import FIXTURES

import shapelog
from shapelog.agents import reading
from shapelog.check.check import without_policy
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.compare import compare
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, formats, renderer
from shapelog.reporters.json.advice import advice_data
from shapelog.reporters.json.check import check_data
from shapelog.reporters.json.compare import comparison_data
from shapelog.reporters.json.report import report_data

LOGS = ["2.13/f_graph_breaks", "2.13/g_limit", "2.6/l_failures", "2.6/n_dist"]
ZERO = re.compile(r"(?<![\d.,])0\.0+ ?s\b|(?<![\d.,%])0\.00(?![\d%])|time=\"0\.0+\"")
# Charts have positions of 0.00; only what is read counts.
MARKUP = re.compile(r"<(script|style|svg)\b.*?</\1>|<[^>]*>", re.DOTALL)


@cache
def report(name: str) -> Report:
    return shapelog.analyze(shapelog.load(FIXTURES / "text_logs" / f"{name}.txt.gz"))


def texts(found: Report) -> Iterator[tuple[str, str]]:
    """Every format but JSON, with its name."""
    options = Options(verbose=True, width=140)
    results = {
        "report": found,
        "overview": without_policy(collect_alerts(found, Repository("nowhere"))),
        "advice": found.advice,
        "comparison": compare(found, found),
    }
    for kind, result in results.items():
        for name in formats(kind):
            if name not in ("json", "jsonl", "chrome-trace", "sarif"):
                text = renderer(kind, name)(result, options).decode()
                yield f"{kind} as {name}", MARKUP.sub(" ", text) if name == "html" else text


def times(data: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that is in seconds, or either end of a range of them."""
    if isinstance(data, dict):
        for key, value in data.items():
            is_end = key in ("least", "most") and path[-1:] != ("compiles",)
            is_time = (key.endswith("seconds") and not isinstance(value, list)) or key.startswith("saved_by") or is_end
            yield from times(value, (*path, key)) if not is_time or isinstance(value, dict) else [((*path, key), value)]
    elif isinstance(data, list):
        for item in data:
            yield from times(item, path)


@pytest.mark.parametrize("name", LOGS)
def test_no_format_shows_a_time_of_0(name: str) -> None:
    for kind, text in texts(report(name)):
        found = ZERO.search(text)
        assert not found, (kind, text[max(0, found.start() - 60) : found.end() + 20])


@pytest.mark.parametrize("name", LOGS)
def test_json_has_null_for_each_time(name: str) -> None:
    found = report(name)
    checked = without_policy(collect_alerts(found, Repository("nowhere")))
    assert found.advice
    for data in (report_data(found), advice_data(found.advice), check_data(checked), comparison_data(compare(found, found))):
        known = list(times(data))
        assert len(known) > 3
        assert {path: value for path, value in known if value is not None} == {}


def test_json_has_the_times_of_a_trace() -> None:
    data = report_data(shapelog.analyze(shapelog.load(FIXTURES / "real/demo.log.gz")))
    assert data["summary"]["seconds"] > 60
    assert data["summary"]["failed_seconds"] == 0.0  # nothing failed, which is known
    assert all(compile["seconds"] for frame in data["frames"] for compile in frame["compiles"])


@pytest.mark.parametrize("name", LOGS)
def test_agents_get_null_for_times_that_are_not_known(name: str) -> None:
    path = str(FIXTURES / "text_logs" / f"{name}.txt.gz")
    answers = (reading.report(path), reading.suggest(path), reading.compared(path, path))
    data = [asdict(answer) for answer in answers]
    assert {value for item in data for place, value in times(item) if place[-1] != "least"} <= {None}
    assert not ZERO.search(str(data))

"""Every total that a format shows is the sum of what is listed under it, for each recorded trace."""

import json
import re

import pytest
from recorded import RECORDED, report_of

from shapelog.check.check import without_policy
from shapelog.report.alerts import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options, renderer
from shapelog.reporters.html.overview import overview
from shapelog.rules import Verdict

# How far a sum of numbers with three digits may be from one that was rounded as a whole.
ROUNDED = {"rel": 0.02, "abs": 0.02}
TIME = re.compile(r"\(?([\d.]+) s\)?")


def shown(name: str, form: str) -> str:
    if form == "markdown":
        checked = without_policy(collect_alerts(report_of(name), Repository()))
        return renderer("overview", form)(checked, Options()).decode()
    return renderer("report", form)(report_of(name), Options(width=140)).decode()


def seconds(text: str) -> float:
    found = TIME.search(text)
    return float(found[1]) if found else 0.0


@pytest.mark.parametrize("name", RECORDED)
def test_the_verdicts_in_a_terminal_add_up(name: str) -> None:
    head, *rest = shown(name, "terminal").partition("\nSummary: ")[2].split("\n\n")[0].splitlines() or [""]
    total = re.search(r"including (\d+) recompilations?( \([\d.]+ s\))?", head)
    parts = [found for line in rest if (found := re.match(r" +(\d+)  \D+?  +(?:([\d.]+ s)  )?█", line))]
    assert sum(int(part[1]) for part in parts) == (int(total[1]) if total else 0)
    if total and total[2]:
        assert sum(seconds(part[2] or "") for part in parts) == pytest.approx(seconds(total[2]), **ROUNDED)


@pytest.mark.parametrize("name", RECORDED)
def test_the_verdicts_in_markdown_add_up(name: str) -> None:
    rows = [line.strip("|").split("|") for line in shown(name, "markdown").splitlines() if line.startswith("| ")]
    figures = {cells[0].strip(): (int(cells[1]), seconds(cells[2])) for cells in rows if cells[1].strip().isdigit()}
    again = figures["Recompilations"]
    parts = [figure for title, figure in figures.items() if title.startswith("·")]
    assert sum(number for number, _ in parts) == again[0]
    assert sum(spent for _, spent in parts) == pytest.approx(again[1], **ROUNDED)


@pytest.mark.parametrize("name", RECORDED)
def test_the_verdicts_in_json_add_up(name: str) -> None:
    data = json.loads(shown(name, "json"))
    summary = data["summary"]
    assert sum(part["count"] for part in summary["verdicts"]) == summary["recompiles"]
    if summary["recompile_seconds"] is not None:
        assert sum(part["seconds"] for part in summary["verdicts"]) == pytest.approx(summary["recompile_seconds"])


@pytest.mark.parametrize("name", RECORDED)
def test_the_tiles_of_the_page_add_up(name: str) -> None:
    tiles = overview(report_of(name), (), ()).tiles
    verdicts = {
        report_of(name).words_of(verdict) for verdict in Verdict if verdict not in (Verdict.FAILED, Verdict.LIMIT, Verdict.UNFINISHED)
    }
    again = sum(tile.number for tile in tiles if tile.label.startswith("recompilation"))
    assert sum(tile.number for tile in tiles if tile.label in verdicts) == again


@pytest.mark.parametrize("name", RECORDED)
def test_what_each_suggestion_saves_is_compared_with_what_all_save(name: str) -> None:
    advice = report_of(name).advice
    assert advice
    single = sum({(item.gone, item.frames): item.compiles for item in advice.suggestions}.values())
    assert bool(advice.how_savings_add_up) == (single != advice.before.compiles - advice.after.compiles)

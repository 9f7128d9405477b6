"""The figures that the page has for the script, and what it shows without one."""

import json
import re
from functools import cache
from itertools import combinations
from typing import Any

import make
import pytest
from make import compile, guard_tree, tensor, tensor_match, trace
from payload_text import guard_manager
from recorded import RECORDED, advice_of, report_of

from shapelog.advice.advise import Advice
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html.anchors import anchors_of
from shapelog.reporters.html.page_context import page_context
from shapelog.reporters.html.render import render
from shapelog.reporters.html.views.what_if_page import WhatIfView, what_if_view

# Of more suggestions only parts with few, and with nearly all, are tried.
MOST = 6


@cache
def view_of(name: str) -> WhatIfView | None:
    context = page_context(collect_alerts(report_of(name), Repository()), Options())
    return what_if_view(context.report.advice, context.anchors)


@cache
def page_of(name: str) -> str:
    return render(report_of(name), Options()).decode()


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="what-if-data">(.*?)</script>', page, re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def added_up(data: dict[str, Any], chosen: set[int]) -> tuple[float, ...]:
    """As the script does it: compiles, limit hits, more, seconds from and to (infinite where there is no upper end)."""
    costs = [data["others"]]
    for conditions, known in data["outcomes"]:
        held = [str(place) for place, needed in enumerate(conditions) if chosen.issuperset(needed)]
        costs.append(known[",".join(held)])
    return tuple(sum(float("inf") if value is None else value for value in values) for values in zip(*costs, strict=True))


def replayed(advice: Advice, chosen: set[int]) -> tuple[float, ...]:
    cost = advice.replayed.cost_in_this_run(mark for place in chosen for mark in advice.suggestions[place].marks)
    most = float("inf") if cost.seconds.most is None else cost.seconds.most
    return cost.compiles, cost.limit_hits, cost.more, cost.seconds.least, most


# Making a page takes a fifth of a second, so not all.
@pytest.mark.slow
def test_every_combination_in_the_page_is_a_replay_with_just_these_marks() -> None:
    for name in [name for name in RECORDED if advice_of(name).suggestions][::4]:
        assert_combinations_are_replays(advice_of(name), data_of(page_of(name)))


def assert_combinations_are_replays(advice: Advice, data: dict[str, Any]) -> None:
    places = range(len(advice.suggestions))
    sizes = range(len(places) + 1) if len(places) <= MOST else (0, 1, len(places) - 1, len(places))
    for chosen in (set(part) for size in sizes for part in combinations(places, size)):
        assert added_up(data, chosen) == pytest.approx(replayed(advice, chosen), abs=1e-4), chosen


def test_a_row_is_a_frame_with_its_own_figures() -> None:
    view = view_of("real/demo.log.gz")
    assert view
    assert [row.title for row in view.rows] == [
        "Classifier.forward",
        "MovingAverage.forward",
        "normalize (resumed at line 38)",
        "normalize",
    ]
    advice = advice_of("real/demo.log.gz")
    before = sum(row.before.compiles for row in view.rows) + view.others.compiles
    assert before == advice.before.compiles
    assert sum(row.after.compiles for row in view.rows) + view.others.compiles == advice.after.compiles
    assert [(tick.id, tick.name, tick.what, tick.effect) for tick in view.ticks] == [
        ("A1", "tokens", "dims 0, 1", "saves 2"),
        ("A2", "self.step", "int", "saves 7 and avoids 1 refused call"),
        ("A3", "features", "dim 0", "saves 2"),
    ]


def frames_with(*names: str) -> bytes:
    """Frames of one function, in each of which the int of this name varies."""
    parts = []
    for frame, name in enumerate(names):
        for number in range(2):
            leaf = guard_manager(f"L['{name}']", f"EQUALS_MATCH: L['{name}'] == {number + 3}", type="int")
            parts.append(compile(f"{frame}/{number}", tensor(8, 8), guards=guard_tree(tensor_match(size=(8, 8)), leaf)))
    return trace(*parts)


def test_frames_of_the_same_code_share_a_row_where_the_same_suggestions_act_on_them() -> None:
    report = make.report(frames_with("k", "k", "n", "k"))
    view = what_if_view(report.advice, anchors_of(report.trace))
    assert view
    assert [(row.title, row.anchor, row.before.compiles, row.after.compiles) for row in view.rows] == [
        ("f (3 frames)", "frame-0", 6, 3),
        ("f", "frame-2", 2, 1),
    ]


def test_of_many_frames_and_suggestions_the_last_row_and_the_last_box_stand_for_the_rest() -> None:
    report = make.report(frames_with(*(f"k{frame}" for frame in range(70))))
    view = what_if_view(report.advice, anchors_of(report.trace))
    assert view
    assert report.advice
    assert (len(view.ticks), len(view.rows)) == (60, 12)
    assert (view.ticks[-1].name, len(view.ticks[-1].places), view.ticks[-1].effect) == ("11 more suggestions", 11, "saves 11")
    assert (view.rows[-1].title, view.rows[-1].before.compiles, view.rows[-1].after.compiles) == ("59 more frames", 118, 59)
    data = json.loads(json.dumps(view.data))
    for chosen in ({0}, {0, 69}, set(range(70)), set(range(59, 70))):
        assert added_up(data, chosen) == pytest.approx(replayed(report.advice, chosen), abs=1e-4)


def test_suggestions_that_are_chosen_only_together_have_one_box() -> None:
    leaves = [
        [guard_manager(f"L['k{place}']", f"EQUALS_MATCH: L['k{place}'] == {int(place == changed)}", type="int") for place in range(14)]
        for changed in range(-1, 14)
    ]
    parts = [compile(f"0/{number}", tensor(8, 8), guards=guard_tree(tensor_match(size=(8, 8)), *own)) for number, own in enumerate(leaves)]
    report = make.report(trace(*parts))
    view = what_if_view(report.advice, anchors_of(report.trace))
    assert view
    assert report.advice
    assert [tick.id for tick in view.ticks] == [f"A{number}" for number in range(1, 13)]
    assert (view.ticks[0].what, view.ticks[-1].what, view.ticks[-1].effect) == ("int", "int, together with A13 and A14", "saves 3")
    page = render(report, Options()).decode()
    assert "those that come last are ticked together" in page
    for chosen in ({0, 5}, {3, 11, 12, 13}, set(range(14))):
        assert added_up(data_of(page), chosen) == pytest.approx(replayed(report.advice, chosen), abs=1e-4)


def test_where_there_is_nothing_to_mark_there_is_nothing_to_tick() -> None:
    assert view_of("lab/no_recompiles.log.gz") is None
    page = render(make.report(trace()), Options()).decode()
    assert 'id="what-if"' not in page


def test_without_a_script_the_figures_are_those_of_all_suggestions() -> None:
    page = page_of("real/demo.log.gz")
    advice = advice_of("real/demo.log.gz")
    after = advice.replayed.cost_in_this_run(mark for item in advice.suggestions for mark in item.marks)
    assert f'<b id="wi-compiles">{after.compiles}</b>' in page
    assert f'<b id="wi-limit">{after.limit_hits}</b>' in page
    assert f'<b id="wi-seconds">{after.seconds}</b>' in page


def test_a_page_for_sharing_has_no_directory_in_the_text_to_paste() -> None:
    shared = render(report_of("real/demo.log.gz"), Options(with_source=False)).decode()
    assert "/srv/ml" in json.dumps(data_of(page_of("real/demo.log.gz")))
    assert "/srv/ml" not in json.dumps(data_of(shared))

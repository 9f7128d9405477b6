"""Frames by function, and recompilations by function and cause."""

from functools import cache

import make
import pytest
from payload_text import size_mismatch
from recorded import report_of

from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html.frame_page import FrameView
from shapelog.reporters.html.page_context import page_context
from shapelog.reporters.html.render import render
from shapelog.reporters.html.views.functions_page import function_rows, recompilations

DEMO = "real/demo.log.gz"


def views_of(report: Report) -> tuple[FrameView, ...]:
    return page_context(collect_alerts(report, Repository("nowhere")), Options()).views


@cache
def again(frames: int) -> Report:
    """One function in many frames, each compiled for two sizes."""
    parts = []
    for frame in range(frames):
        why = [size_mismatch(f"{frame}/0", 8, 9)]
        parts += [make.compile(f"{frame}/0", make.tensor(8, 16)), make.compile(f"{frame}/1", make.tensor(9, 16), reasons=why)]
    return make.report(make.trace(*parts))


def test_frames_of_one_function_are_one_row_with_their_sums() -> None:
    (row,) = function_rows(views_of(again(3)))
    assert [view.frame.label for view in row.views] == ["0", "1", "2"]
    assert (row.counted, row.changes) == ("6", (("x.size[0]", ("SL101",)),))
    assert row.seconds == sum(view.seconds for view in row.views)


def test_functions_come_by_the_seconds_that_need_not_be() -> None:
    rows = function_rows(views_of(report_of(DEMO)))
    assert [row.first.frame.title for row in rows] == [
        "Classifier.forward",
        "MovingAverage.forward",
        "normalize (resumed at line 38)",
        "normalize",
    ]
    assert [row.counted for row in rows] == ["5", "8 + 1 refused", "3", "3"]


@pytest.mark.slow
def test_recompilations_for_one_cause_are_one_row_with_all_their_ids() -> None:
    found = recompilations(views_of(again(300)))
    (row,) = found.rows
    assert (found.title, row.times, len(row.items)) == ("Recompilations 300", 300, 300)
    page = render(again(300), Options()).decode()
    assert all(f'href="#compile-{frame}-1"' in page for frame in range(300))


def test_what_was_refused_is_counted_apart_from_recompilations() -> None:
    found = recompilations(views_of(report_of(DEMO)))
    assert found.title == "Recompilations 15, refused 1"
    assert sum(row.times for row in found.rows) == 16

"""Timeline and icicle: zoom by buttons, keys, wheel and drag; tooltips by mouse and by keys; what the search finds in them."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.conftest import Visit

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def timeline(page: "Page") -> "Locator":
    return page.locator("#overview figure.timeline")


def icicle(page: "Page") -> "Locator":
    return page.locator("#overview figure.icicle")


def width(chart: "Locator") -> float:
    return chart.locator(".lanes, .rows").evaluate("item => item.getBoundingClientRect().width")


@pytest.mark.parametrize("chart", [timeline, icicle])
def test_buttons_zoom_in_and_out(chart: "object", visit: Visit) -> None:
    page = visit("demo")
    figure = chart(page)  # type: ignore[operator]
    whole = width(figure)
    into, reset = figure.get_by_role("button", name="Zoom into"), figure.get_by_role("button", name="Whole")
    expect(reset).to_be_disabled()
    into.click()
    into.click()
    expect(figure.locator(".zoom output")).to_have_text("225 %")
    assert width(figure) > 1.5 * whole
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    figure.get_by_role("button", name="Zoom out").click()
    expect(figure.locator(".zoom output")).to_have_text("150 %")
    reset.click()
    assert width(figure) == pytest.approx(whole)


def test_zoom_keeps_the_bar_in_place_that_the_keyboard_was_at(visit: Visit) -> None:
    page = visit("demo")
    figure = timeline(page)
    bar = figure.locator(".lane").nth(3).locator("a").last
    middle = "bar => { const box = bar.querySelector('rect').getBoundingClientRect(); return box.left + box.width / 2; }"
    bar.focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    # The last bar ends where the chart does, so that what is left of it is all that can be scrolled to.
    expect(bar).to_be_focused()
    scroller = figure.locator(".zoomer").bounding_box()
    assert scroller["x"] < bar.evaluate(middle) <= scroller["x"] + scroller["width"]
    first = figure.locator(".lane").nth(1).locator("a").nth(2)
    figure.get_by_role("button", name="Whole").click()
    first.focus()
    before = first.evaluate(middle)
    figure.get_by_role("button", name="Zoom into").click()
    assert first.evaluate(middle) == pytest.approx(before, abs=3)


def test_keys_zoom_and_lead_from_bar_to_bar(visit: Visit) -> None:
    page = visit("demo")
    figure = timeline(page)
    bars = figure.locator(".lane").nth(1).locator("a")
    bars.first.focus()
    page.keyboard.press("+")
    expect(figure.locator(".zoom output")).to_have_text("150 %")
    page.keyboard.press("0")
    expect(figure.locator(".zoom output")).to_have_text("100 %")
    page.keyboard.press("ArrowRight")
    expect(bars.nth(1)).to_be_focused()
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    expect(tip).to_contain_text("1/1 · MovingAverage.forward")
    page.keyboard.press("End")
    expect(bars.last).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(figure.locator(".lane").first.locator("a:focus")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#frame-0")).to_be_visible()


def test_the_bars_are_one_stop_of_the_tab_key(visit: Visit) -> None:
    page = visit("demo")
    assert timeline(page).locator(".lane a[tabindex='0']").count() == 1
    assert icicle(page).locator(".level [tabindex='0']").count() == 1


def test_a_tooltip_shows_under_the_mouse_and_is_in_no_ones_way(visit: Visit) -> None:
    page = visit("demo")
    bar = timeline(page).locator(".lane").nth(1).locator("a").first
    bar.hover()
    tip = page.locator(".tip")
    expect(tip).to_contain_text("first compilation")
    box = tip.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280
    page.locator("h1:visible").hover()
    expect(tip).to_be_hidden()
    assert timeline(page).locator("title").count() == 0


def test_the_wheel_zooms_with_ctrl_alone(visit: Visit) -> None:
    page = visit("demo")
    figure = timeline(page)
    figure.locator(".lane").first.hover()
    page.mouse.wheel(0, -50)
    expect(figure.locator(".zoom output")).to_have_text("100 %")
    figure.locator(".lane").first.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    expect(figure.locator(".zoom output")).not_to_have_text("100 %")


def test_a_zoomed_chart_is_dragged_and_the_drag_opens_nothing(visit: Visit) -> None:
    page = visit("demo")
    figure = timeline(page)
    for _ in range(4):
        figure.get_by_role("button", name="Zoom into").click()
    scroller = figure.locator(".zoomer")
    before = scroller.evaluate("item => item.scrollLeft")
    box = figure.locator(".lanes ol").bounding_box()
    y = box["y"] + 10
    page.mouse.move(800, y)
    page.mouse.down()
    page.mouse.move(700, y, steps=4)
    page.mouse.up()
    assert scroller.evaluate("item => item.scrollLeft") == pytest.approx(before + 100, abs=2)
    expect(page.locator("#overview")).to_be_visible()


def test_a_call_of_the_icicle_fills_the_chart_when_it_is_clicked_or_entered(visit: Visit) -> None:
    page = visit("demo")
    figure = icicle(page)
    call = figure.get_by_role("button", name="zoom in").nth(1)
    call.locator("rect").first.click()
    seen = figure.locator(".zoomer").evaluate("item => item.clientWidth")
    box = call.locator("rect").first.bounding_box()
    assert box["width"] == pytest.approx(seen, rel=0.02)
    assert box["x"] == pytest.approx(figure.bounding_box()["x"], abs=8)
    figure.get_by_role("button", name="Whole").click()
    call.focus()
    page.keyboard.press("Enter")
    expect(figure.locator(".zoom output")).not_to_have_text("100 %")


def test_bars_that_were_drawn_wider_are_drawn_as_they_are_when_zoomed(visit: Visit) -> None:
    page = visit("large")
    figure = timeline(page)
    bar = figure.locator("rect[data-at]").first
    if not bar.count():
        pytest.skip("no bar of this trace is too thin")
    before = float(bar.get_attribute("width").removesuffix("%"))
    for _ in range(6):
        figure.get_by_role("button", name="Zoom into").click()
    assert float(bar.get_attribute("width").removesuffix("%")) < before


def test_what_the_search_finds_stands_out_in_the_charts(visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill("movingaverage")
    expect(timeline(page).locator(".hits")).to_have_text("9 of 21 found")
    expect(timeline(page).locator(".lane").nth(1).locator("a.hit")).to_have_count(9)
    expect(icicle(page).locator(".hits")).to_have_text("2 of 11 found")
    page.keyboard.press("Escape")
    expect(timeline(page).locator(".hit")).to_have_count(0)
    expect(timeline(page).locator(".hits")).to_have_text("")


def test_without_a_script_the_charts_keep_their_titles(visit: Visit) -> None:
    page = visit("demo", java_script_enabled=False)
    assert timeline(page).locator(".lane a > title").count() >= 20
    assert timeline(page).locator(".zoom").count() == 0


def test_the_run_is_saved_for_a_trace_viewer(visit: Visit) -> None:
    page = visit("demo")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save for Perfetto").click()
    assert download.value.suggested_filename == "shapelog.trace.json"
    events = json.loads(Path(download.value.path()).read_bytes())["traceEvents"]
    assert {"0/3 Classifier.forward", "2/1 normalize"} <= {event["name"] for event in events}
    expect(page.locator("#status")).to_have_text("Saved as shapelog.trace.json")

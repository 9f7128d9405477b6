"""The views of the source, and of failures and breaks: their links lead on, and lines look like lines."""

import pytest

from browser.conftest import PHONE, Visit

expect = pytest.importorskip("playwright.sync_api").expect


def test_a_square_opens_its_compilation(visit: Visit) -> None:
    page = visit("demo", "source")
    page.locator("#source .squares a", has_text="1/3").first.click()
    expect(page.locator("#compile-1-3")).to_be_visible()
    assert page.locator("#compile-1-3").get_attribute("open") is not None


def test_a_frame_leads_to_its_function_and_the_function_to_the_frame(visit: Visit) -> None:
    page = visit("demo", "frame-1")
    page.get_by_role("link", name="See it in the source, line by line").click()
    function = page.locator(".function.target")
    expect(function).to_be_in_viewport()
    expect(function.locator("h3")).to_have_text("MovingAverage.forward")
    function.get_by_role("link", name="frame 1").click()
    expect(page.locator("#frame-1")).to_be_visible()


def test_a_line_leads_to_the_card_about_it_and_the_card_to_the_line(visit: Visit) -> None:
    page = visit("breaks", "source")
    page.locator("#source .m-broke").first.get_by_role("link", name="What to do").click()
    card = page.locator(".card.target")
    expect(card).to_be_in_viewport()
    card.get_by_role("link", name="graph_break_resume.py:15", exact=True).click()
    row = page.locator("tr.target")
    expect(row).to_be_in_viewport()
    expect(row.locator("th")).to_have_text("15")


@pytest.mark.parametrize(("label", "part"), [("graph breaks", "break-cards"), ("refused", "limit-cards"), ("compilations", "frames")])
def test_a_tile_leads_to_the_part_that_explains_it(label: str, part: str, visit: Visit) -> None:
    page = visit("demo")
    page.locator(".tile a").filter(has=page.locator(".what", has_text=label)).first.click()
    expect(page.locator(f"#{part}")).to_be_in_viewport()


@pytest.mark.parametrize("javascript", [True, False])
def test_number_code_and_margin_are_next_to_each_other(javascript: bool, visit: Visit) -> None:
    page = visit("demo", "source", java_script_enabled=javascript)
    row = page.locator("#source table.code tr", has_text="self.step += 1").first
    number, code, margin = (row.locator(part).bounding_box() for part in ("th", "td.text", "td.margin"))
    assert number["x"] + number["width"] <= code["x"] + 1
    assert code["x"] + code["width"] <= margin["x"] + 1
    assert code["width"] > 300


def test_on_a_phone_what_happened_is_below_the_line(visit: Visit) -> None:
    page = visit("demo", "source", viewport=PHONE)
    row = page.locator("#source table.code tr", has_text="self.step += 1").first
    code, margin = (row.locator(part).bounding_box() for part in ("td.text", "td.margin"))
    assert margin["y"] >= code["y"] + code["height"] - 1
    assert margin["width"] > 250


def test_gaps_and_lines_are_of_one_height_where_nothing_happened(visit: Visit) -> None:
    page = visit("demo", "source")
    heights = page.locator("#source tbody tr:not(.has):not(.gap)").evaluate_all("rows => rows.map((row) => Math.round(row.offsetHeight))")
    heights = [height for height in heights if height]
    assert len(set(heights)) == 1
    assert max(heights) <= 28

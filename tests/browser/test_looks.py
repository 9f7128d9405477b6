"""The page on a phone, in light and dark, and with a screen reader: nothing is cut off, and nothing is shown by color alone."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from browser.conftest import PHONE, Visit
from browser.faults import BEYOND, LOW, SCROLLING, low_contrast_in_the_dark, violations

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

PARTS = ("overview", "advice", "frames", "graphs", "trace", "rules")
# What axe-core looks at: of the other pages what they have beyond the first.
AXE = {
    "breaks": (*PARTS, "failures", "source", "frame-0"),
    "demo": ("overview", "advice", "frames", "trace"),
    "check": ("overview",),
    "failures": ("overview", "failures", "source", "trace", "frame-0"),
    "limits": ("graphs", "frame-1"),
    "ranks": ("ranks", "frames", "rank-0-frame-0"),
    "ranks that parted": ("ranks", "trace"),
    "damaged": ("overview", "trace"),
    "empty": ("overview", "trace"),
}
OPEN = "document.querySelectorAll('main > :not([hidden]) details').forEach((details) => { details.open = true; })"


def go(page: "Page", part: str) -> None:
    page.evaluate("part => { location.hash = part; }", part)
    expect(page.locator(f"#{part}")).to_be_visible()


def offered(page: "Page") -> list[str]:
    """Those of PARTS that this report has."""
    return [part for part in PARTS if page.locator(f"nav a[href='#{part}']").count()]


def parts(page: "Page", frames: int) -> Iterator[str]:
    """Shows one part after the other, with all its details open."""
    articles = page.locator("main > article").evaluate_all("articles => articles.map((article) => article.id)")
    more = tuple(part for part in ("ranks", "failures", "source") if page.locator(f"#{part}").count())
    for part in (*offered(page), *more, *articles[:frames]):
        go(page, part)
        page.evaluate(OPEN)
        yield part


@pytest.mark.parametrize("name", ["demo", "check", "large", "limits", "failures", "ranks", "ranks that parted", "hostile"])
def test_on_a_phone_no_part_scrolls_sideways(name: str, visit: Visit) -> None:
    page = visit(name, viewport=PHONE)
    for part in parts(page, 3):
        assert page.evaluate(BEYOND) == [], part
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), part


def test_on_a_phone_an_open_payload_and_what_the_search_found_fit(visit: Visit) -> None:
    page = visit("demo", "compile-0-1", viewport=PHONE)
    page.evaluate(OPEN)
    page.locator("#compile-0-1 button.open").first.click()
    expect(page.locator("#compile-0-1 .opened pre")).to_be_visible()
    page.get_by_role("combobox", name="Search the whole report").fill("e")
    expect(page.get_by_role("listbox")).to_be_visible()
    box = page.get_by_role("listbox").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("name", ["long names", "demo", "limits"])
def test_on_a_large_screen_tables_of_functions_and_causes_fit(name: str, visit: Visit) -> None:
    page = visit(name)
    for part in parts(page, 1):
        assert page.evaluate(SCROLLING) == [], part


@pytest.mark.parametrize("name", ["long names", "demo"])
def test_on_a_phone_only_shapes_scroll_sideways_in_a_frame(name: str, visit: Visit) -> None:
    page = visit(name, "frame-0", viewport={"width": 390, "height": 844})
    page.evaluate(OPEN)
    assert page.locator("#frame-0 .diff").count() > 0
    assert page.evaluate(SCROLLING) == []


def test_the_underline_of_a_link_is_below_the_underscores_of_a_name(visit: Visit) -> None:
    offset = "link => parseFloat(getComputedStyle(link).textUnderlineOffset) / parseFloat(getComputedStyle(link).fontSize)"
    assert visit("demo", "frames").locator("#all-frames th a").first.evaluate(offset) > 0.25


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", ["demo", "failures", "breaks"])
def test_links_and_buttons_are_high_enough_to_hit(name: str, width: int, visit: Visit) -> None:
    page = visit(name, viewport={"width": width, "height": 900})
    for part in offered(page):
        go(page, part)
        page.evaluate(OPEN)
        assert page.evaluate(LOW) == [], part


@pytest.mark.parametrize("width", [1280, 900, 360])
def test_nothing_that_a_link_leads_to_is_covered_by_the_bar(width: int, visit: Visit) -> None:
    page = visit("demo", "compile-1-3", viewport={"width": width, "height": 700})

    def top(selector: str) -> float:
        return page.locator(selector).evaluate("item => item.getBoundingClientRect().top")

    bar = page.locator("header").evaluate("item => item.getBoundingClientRect().bottom")
    assert top("#compile-1-3 > summary") >= bar
    for part in (*PARTS, "frame-2"):
        go(page, part)
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert top(f"#{part} h1") >= bar, part
        assert page.evaluate("scrollY") == 0, part
    go(page, "frame-0")
    page.locator("#frame-0 table a[href='#compile-0-2']").first.click()
    expect(page.locator("#compile-0-2")).to_have_attribute("open", "")
    assert bar <= top("#compile-0-2 > summary") < 350


def test_on_a_phone_everything_to_press_can_be_reached(visit: Visit) -> None:
    page = visit("demo", viewport=PHONE)
    for part in PARTS:
        link = page.get_by_role("navigation").locator(f"a[href='#{part}']")
        link.scroll_into_view_if_needed()
        link.click()
        expect(page.locator(f"#{part}")).to_be_visible()


@pytest.mark.parametrize(("name", "looked_at"), AXE.items(), ids=AXE)
def test_axe_finds_nothing_to_complain_of(name: str, looked_at: tuple[str, ...], visit: Visit) -> None:
    found = []
    for part in looked_at:
        page = visit(name, part, color_scheme="light")
        page.evaluate(OPEN)
        found += [f"{part}: {item}" for item in violations(page)]
        found += [f"{part}, dark: {item}" for item in low_contrast_in_the_dark(page)]
        page.context.close()
    assert found == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_what_scripts_add(scheme: str, visit: Visit) -> None:
    page = visit("breaks", "compile-0-1", color_scheme=scheme)
    page.locator("#compile-0-1 details > summary").filter(has_text="Records").click()
    page.locator("#compile-0-1 button.open").nth(1).click()
    expect(page.locator("#compile-0-1 .opened pre")).to_be_visible()
    page.get_by_role("combobox", name="Search the whole report").fill("sl1")
    expect(page.get_by_role("option").first).to_be_visible()
    assert violations(page) == []


def test_the_charts_have_a_description_in_words(visit: Visit) -> None:
    page = visit("demo")
    for figure in page.locator("#overview figure").all():
        assert len(figure.locator("p.hidden").first.text_content().split()) > 10
    assert page.locator("#overview figure").count() >= 2
    bars = page.locator("#overview figure a[href^='#compile-']")
    assert bars.count() >= 20
    assert all(bars.evaluate_all("links => links.map(link => link.getAttribute('aria-label'))"))


def test_headings_go_down_one_level_at_a_time(visit: Visit) -> None:
    page = visit("demo")
    for part in parts(page, 4):
        levels = [
            int(tag[1]) for tag in page.locator(f"#{part} :is(h1, h2, h3, h4, h5, h6)").evaluate_all("all => all.map((one) => one.tagName)")
        ]
        assert levels[0] == 1, part
        assert all(after <= before + 1 for before, after in pairwise(levels)), (part, levels)

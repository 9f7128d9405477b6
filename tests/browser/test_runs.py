"""The pages about several runs in a browser: on a desk and on a phone, in light and dark, without a complaint of axe-core."""

from pathlib import Path

import pytest
from recorded import report_of

from browser.conftest import Visit
from browser.faults import BEYOND, LOW, SCROLLING, low_contrast_in_the_dark, violations
from shapelog.report.compare import compare
from shapelog.report.trend import NamedRun, trend
from shapelog.reporters import Options
from shapelog.reporters.html.runs.comparison import render_comparison, render_verification
from shapelog.reporters.html.runs.trend_page import render_trend

expect = pytest.importorskip("playwright.sync_api").expect


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import make

    where = tmp_path_factory.mktemp("runs")
    demo, marked, failing = (report_of(f"real/{name}.log.gz") for name in ("demo", "demo_marked", "2.6/l_failures"))
    runs = [NamedRun("11-20 08:27:33", item) for item in (demo, marked, failing, demo)]
    pages = {
        "better": render_comparison(compare(demo, marked), Options()),
        "worse": render_comparison(compare(marked, demo), Options()),
        "failures": render_comparison(compare(demo, failing), Options()),
        "verification": render_verification(make.verification(demo, marked), Options()),
        "trend": render_trend(trend("runs", runs), Options()),
    }
    for name, page in pages.items():
        (where / f"{name}.html").write_bytes(page)
    return where


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["better", "worse", "failures", "verification", "trend"])
def test_nothing_is_cut_off_and_axe_finds_nothing(folder: Path, name: str, width: int, visit: Visit) -> None:
    page = visit(name, url=(folder / f"{name}.html").as_uri(), viewport={"width": width, "height": 900}, color_scheme="light")
    assert page.evaluate(BEYOND) == []
    assert page.evaluate(SCROLLING) == []
    assert page.evaluate(LOW) == []
    assert violations(page) == []
    assert low_contrast_in_the_dark(page) == []


def test_the_filter_shows_what_has_its_words_and_stays_in_the_address(folder: Path, visit: Visit) -> None:
    address = (folder / "better.html").as_uri()
    page = visit("better", url=address)
    page.keyboard.press("/")
    page.keyboard.type("module-int")
    expect(page.locator("article.change:visible")).to_have_count(1)
    expect(page.locator("#found")).to_contain_text("found")
    assert page.locator("#causes tbody tr:visible").count() == 1
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value("module-int")
    expect(page.locator("article.change:visible")).to_have_count(1)
    page.get_by_role("searchbox").press("Escape")
    assert page.locator("article.change:visible").count() > 1


def test_tables_are_sorted_by_their_heads_and_what_belongs_together_stays_together(folder: Path, visit: Visit) -> None:
    page = visit("trend", url=(folder / "trend.html").as_uri())
    runs = page.locator("table.trend tbody th")
    assert runs.all_text_contents() == ["1", "2", "3", "4"]
    page.get_by_role("button", name="failures").click()
    assert runs.all_text_contents()[0] == "3"
    assert page.locator("table.trend tbody").first.locator("tr").count() == 2


def test_a_bar_of_the_trend_has_a_tooltip_for_the_keyboard_and_leads_to_its_run(folder: Path, visit: Visit) -> None:
    page = visit("trend", url=(folder / "trend.html").as_uri())
    bars = page.locator(".trend-chart a")
    bars.first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tip")).to_contain_text("run 2")
    page.keyboard.press("Enter")
    expect(page.locator("#run-2")).to_be_in_viewport()


def test_the_colors_are_those_that_are_chosen(folder: Path, visit: Visit) -> None:
    page = visit("better", url=(folder / "better.html").as_uri())
    for theme in ("light", "dark"):
        page.get_by_role("button", name="Colors").click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)


@pytest.mark.parametrize("name", ["better", "trend", "verification"])
def test_without_scripts_everything_is_there_and_nothing_that_does_not_work(folder: Path, name: str, visit: Visit) -> None:
    page = visit(name, url=(folder / f"{name}.html").as_uri(), java_script_enabled=False)
    assert page.locator("button:visible, input:visible").count() == 0
    assert page.locator("main table:visible").count() >= 1

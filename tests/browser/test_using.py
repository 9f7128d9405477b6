"""What people do with the page: search, filter, sort, copy, go by keys, and choose colors."""

import pytest

import shapelog
from browser.conftest import FIXTURES, Visit
from shapelog.advice.advise import Advice
from shapelog.advice.paste_formats import as_python, as_shell

expect = pytest.importorskip("playwright.sync_api").expect

CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
OUTLINE = "document.activeElement.matches(':focus-visible') ? getComputedStyle(document.activeElement).outlineWidth : 'not focused by keys'"


def advice() -> Advice:
    return shapelog.analyze(shapelog.load(FIXTURES / "real" / "demo.log.gz")).advice


def test_the_search_is_used_by_keys_alone(visit: Visit) -> None:
    page = visit("demo")
    search, found = page.get_by_role("combobox"), page.get_by_role("option")
    page.keyboard.press("/")
    expect(search).to_be_focused()
    expect(search).to_have_value("")
    page.keyboard.type("classifier")
    expect(search).to_have_attribute("aria-expanded", "true")
    chosen = page.locator("[role=option][aria-selected=true]")
    expect(chosen).to_have_count(1)
    first = chosen.inner_text()
    page.keyboard.press("ArrowDown")
    expect(chosen).to_have_count(1)
    assert chosen.inner_text() != first
    expect(search).to_have_attribute("aria-activedescendant", chosen.get_attribute("id"))
    page.keyboard.press("ArrowUp")
    assert chosen.inner_text() == first
    page.keyboard.press("Enter")
    expect(page.locator("#frame-0")).to_be_visible()
    expect(found).to_have_count(0)
    expect(search).to_have_value("")


def test_escape_leaves_the_search(visit: Visit) -> None:
    page = visit("demo")
    page.keyboard.press("/")
    page.keyboard.type("tokens")
    expect(page.get_by_role("option").first).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("listbox")).to_be_hidden()
    expect(page.get_by_role("combobox")).not_to_be_focused()
    expect(page.locator("#overview")).to_be_visible()


@pytest.mark.parametrize(
    ("words", "leads_to"),
    [
        ("movingaverage", "frame-1"),
        ("TOKENS", "frame-0"),
        ("self.step", "frame-1"),
        ("0/3", "compile-0-3"),
        ("normalize resumed", "frame-3"),
    ],
)
def test_frames_sources_and_recompiles_are_found(words: str, leads_to: str, visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill(words)
    page.get_by_role("option").first.click()
    expect(page.locator(f"#{leads_to}")).to_be_visible()
    assert page.evaluate("location.hash") == f"#{leads_to}"


def test_a_rule_that_is_found_leads_to_its_page(visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill("SL101")
    page.get_by_role("option").first.click()
    expect(page.locator("#sl101")).to_be_in_viewport()
    expect(page.get_by_role("navigation").get_by_role("link", name="Rules")).to_have_attribute("aria-current", "page")


def test_the_recompilations_of_a_rule_are_found(visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill("SL101 in this report")
    page.get_by_role("option").first.click()
    expect(page.locator("#frames")).to_be_visible()
    expect(page.get_by_role("checkbox", name="SL101")).to_be_checked()
    rows = page.locator("#all-recompiles tbody tr:visible")
    assert 0 < rows.count() < page.locator("#all-recompiles tbody tr").count()
    assert all("SL101" in text for text in rows.all_inner_texts())


@pytest.mark.parametrize(
    ("words", "kind", "leads_to"),
    [
        ("limit", "recompile limit", "interruption-1"),
        ("graph break", "graph break", "interruption-2"),
        ("GB0059", "graph break", "interruption-2"),
        ("demo.py:16", "line", "source-1-16"),
        ("mark_dynamic", "suggestion", "a1"),
        ("expected 32, actual 48", "recompilation", "compile-0-1"),
        ("line 16", "line", "source-1-16"),
        ("perfetto", "download", "viewer"),
        ("timeline", "Overview", "overview"),
        ("what marking will not fix", "Advice", "advice"),
    ],
)
def test_everything_is_found(words: str, kind: str, leads_to: str, visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill(words)
    page.get_by_role("option").filter(has=page.locator(".kind", has_text=kind)).first.click()
    page.wait_for_function("name => location.hash === '#' + name", arg=leads_to)
    expect(page.locator(f"#{leads_to}")).to_be_visible()


@pytest.mark.parametrize(
    ("words", "leads_to"), [("graph break", "interruption-2"), ("refused", "interruption-1"), ("line 16", "source-1-16")]
)
def test_the_first_result_is_the_best(words: str, leads_to: str, visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill(words)
    page.get_by_role("option").first.click()
    page.wait_for_function("name => location.hash === '#' + name", arg=leads_to)


def test_a_graph_that_is_found_is_shown(visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill("graph that Dynamo captured 0/1")
    page.get_by_role("option").first.click()
    row = page.locator("#compile-0-1 tr.target")
    expect(row).to_contain_text("graph that Dynamo captured")
    expect(row).to_be_in_viewport()


def test_a_record_that_is_found_is_shown_also_after_a_reload(visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill("generated code")
    page.get_by_role("option").filter(has_text="0/1").first.click()
    row = page.locator("#compile-0-1 tr.target")
    expect(row).to_contain_text("generated code")
    expect(row).to_be_in_viewport()
    page.reload()
    expect(row).to_be_in_viewport()


def test_filter_and_order_of_the_frames_survive_a_reload(visit: Visit) -> None:
    page = visit("demo", "frames")
    page.get_by_label("Filter").fill("normalize")
    page.locator("#frames").get_by_role("checkbox", name="SL301").check()
    page.locator("#all-recompiles").get_by_role("columnheader", name="time").get_by_role("button").click()
    assert page.evaluate("location.hash") == "#frames?find=normalize&rule=SL301&sort-recompiles=5+descending"
    shown = page.locator("#frames").inner_text()
    page.reload()
    expect(page.get_by_label("Filter")).to_have_value("normalize")
    assert page.locator("#frames").inner_text() == shown
    page.get_by_role("navigation").get_by_role("link", name="Overview").click()
    page.go_back()
    expect(page.get_by_label("Filter")).to_have_value("normalize")


def test_a_code_leads_to_its_rule_and_back_to_its_recompilations(visit: Visit) -> None:
    page = visit("demo", "frames")
    page.locator("#all-recompiles").get_by_role("link", name="SL311").first.click()
    expect(page.locator("#sl311")).to_be_in_viewport()
    page.locator("#sl311").get_by_role("link", name="in this report").click()
    expect(page.get_by_role("checkbox", name="SL311")).to_be_checked()
    expect(page.locator("#all-recompiles tbody tr:visible")).to_have_count(1)


def test_what_is_not_there_is_not_found(visit: Visit) -> None:
    page = visit("demo")
    page.get_by_role("combobox").fill("no such thing")
    expect(page.get_by_role("option")).to_have_text("Nothing found")
    page.keyboard.press("Enter")
    expect(page.locator("#overview")).to_be_visible()


def test_frames_and_recompiles_are_filtered_by_words_kinds_and_rules(visit: Visit) -> None:
    page = visit("demo", "frames")
    frames, recompiles = page.locator("#all-frames tbody tr:visible"), page.locator("#all-recompiles tbody tr:visible")
    every = frames.count(), recompiles.count()
    assert every == (4, 10)
    words = page.get_by_label("Filter")
    words.fill("normalize")
    expect(frames).to_have_count(2)
    expect(page.locator("#frames").get_by_role("status")).to_have_text("2 of 4 functions")
    words.fill("")
    expect(frames).to_have_count(4)
    page.locator("#frames").get_by_role("checkbox", name="refused (limit reached)").check()
    expect(frames).to_have_count(1)
    expect(recompiles).to_have_count(1)
    expect(recompiles).to_contain_text("1/8")
    page.locator("#frames").get_by_role("checkbox", name="refused (limit reached)").uncheck()
    page.locator("#frames").get_by_role("checkbox", name="SL104").check()
    assert 0 < recompiles.count() < every[1]
    assert all("SL104" in text for text in recompiles.all_inner_texts())


def test_tables_are_sorted_by_mouse_and_by_keys(visit: Visit) -> None:
    page = visit("demo", "frames")
    table = page.locator("#all-recompiles")
    head = table.get_by_role("columnheader", name="time")
    times = "rows => rows.map(row => Number(row.cells[4].dataset.value))"
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    found = table.locator("tbody tr").evaluate_all(times)
    assert found == sorted(found, reverse=True)
    assert len(set(found)) > 3
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert table.locator("tbody tr").evaluate_all(times) == sorted(found)
    table.get_by_role("columnheader", name="function").get_by_role("button").click()
    names = table.locator("tbody tr").evaluate_all("rows => rows.map(row => row.cells[0].innerText)")
    assert names == sorted(names)
    assert len(names) == 10


def test_functions_come_by_avoidable_time_and_are_sorted_with_their_frames(visit: Visit) -> None:
    page = visit("large", "frames")
    table = page.locator("#all-frames")
    expect(table.get_by_role("columnheader", name="avoidable")).to_have_attribute("aria-sort", "descending")
    assert page.evaluate("location.hash") == "#frames"
    table.get_by_role("columnheader", name="function").get_by_role("button").click()
    names = table.locator("tbody th").evaluate_all("cells => cells.map((cell) => cell.querySelector('a').textContent)")
    assert names[:3] == ["forward_0", "forward_1", "forward_2"]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_long_table_begins_with_its_first_rows(width: int, visit: Visit) -> None:
    page = visit("large", "frames", viewport={"width": width, "height": 900})
    shown = page.locator("#all-frames > tbody:visible")
    expect(shown).to_have_count(50)
    page.get_by_role("button", name="Show all 64").first.click()
    expect(shown).to_have_count(64)
    page = visit("large", "frames")
    page.get_by_label("Filter").fill("forward_63")
    expect(page.locator("#all-frames > tbody:visible")).to_have_count(1)
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)


def test_a_filter_that_nothing_matches_can_be_cleared(visit: Visit) -> None:
    page = visit("demo", "frames")
    page.get_by_label("Filter").fill("no such thing")
    page.locator("#frames").get_by_role("checkbox", name="SL104").check()
    expect(page.locator("#nothing")).to_be_visible()
    expect(page.locator("#all-recompiles")).to_be_hidden()
    page.get_by_role("button", name="Clear the filter").click()
    expect(page.locator("#nothing")).to_be_hidden()
    expect(page.get_by_label("Filter")).to_have_value("")
    expect(page.locator("#all-recompiles tbody tr:visible")).to_have_count(10)
    assert page.evaluate("location.hash") == "#frames"


@pytest.mark.parametrize("before", ["", "delete Navigator.prototype.clipboard;"], ids=["clipboard", "no clipboard object"])
def test_copying_takes_the_line_for_the_shell_exactly(before: str, visit: Visit) -> None:
    page = visit("demo", before=before, **CLIPBOARD)
    button = page.locator("#overview .copy").first.get_by_role("button")
    expect(button).to_have_text("Copy")
    button.click()
    expect(page.get_by_role("status").filter(has_text="Copied")).to_have_count(1)
    expect(button).to_have_text("Copied")
    page.get_by_role("combobox").focus()
    page.keyboard.press("Control+v")
    assert page.get_by_role("combobox").input_value() == as_shell(advice()).strip()


def test_copying_takes_the_lines_for_python_exactly(visit: Visit) -> None:
    page = visit("demo", **CLIPBOARD)
    page.get_by_text("For Python, or the bare value").click()
    buttons = page.locator("#overview details[open] .copy").get_by_role("button")
    for button, text in zip(buttons.all(), (as_python(advice()), advice().env), strict=True):
        button.click()
        expect(button).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()").rstrip("\n") == text.rstrip("\n")


def test_a_clipboard_that_refuses_is_announced(visit: Visit) -> None:
    page = visit(
        "demo", before="navigator.clipboard.writeText = () => Promise.reject(new Error('no')); document.execCommand = () => false;"
    )
    page.locator("#overview").get_by_role("button", name="Copy").first.click()
    expect(page.get_by_text("Select it manually")).to_be_visible()


def test_keys_lead_from_frame_to_frame_and_back(visit: Visit) -> None:
    page = visit("demo")
    order = page.locator("main > article").evaluate_all("articles => articles.map(article => article.id)")
    assert len(order) == 4
    for frame in order:
        page.keyboard.press("j")
        expect(page.locator(f"#{frame}")).to_be_visible()
    page.keyboard.press("j")
    expect(page.locator(f"#{order[-1]}")).to_be_visible()
    page.keyboard.press("k")
    expect(page.locator(f"#{order[-2]}")).to_be_visible()
    page.keyboard.press("o")
    expect(page.locator("#overview")).to_be_visible()


def test_letters_that_are_typed_are_no_keys(visit: Visit) -> None:
    page = visit("demo", "frames")
    page.get_by_label("Filter").fill("")
    page.keyboard.type("jok/")
    expect(page.get_by_label("Filter")).to_have_value("jok/")
    expect(page.locator("#frames")).to_be_visible()
    page.locator("h1:visible").click()
    page.keyboard.press("Control+o")
    expect(page.locator("#frames")).to_be_visible()


def test_what_has_the_focus_is_seen(visit: Visit) -> None:
    page = visit("demo", "compile-0-1")
    page.get_by_role("link", name="Skip to the report").focus()
    kinds = set()
    while True:
        page.keyboard.press("Tab")
        kind = page.evaluate("document.activeElement.tagName")
        if kind == "BODY":
            break
        kinds.add(kind)
        assert page.evaluate(OUTLINE) == "2px", page.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    assert kinds >= {"A", "BUTTON", "INPUT", "SUMMARY", "DIV"}


def test_the_first_key_leads_past_the_navigation(visit: Visit) -> None:
    page = visit("demo", "advice")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.evaluate("document.activeElement.blur()")
    skip = page.get_by_role("link", name="Skip to the report")
    skip.focus()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    expect(page.locator("#advice")).to_be_visible()


def test_the_colors_are_those_of_the_system(visit: Visit) -> None:
    light, dark = (visit("demo", color_scheme=scheme).evaluate(BACKGROUND) for scheme in ("light", "dark"))
    assert brightness(light) > 220
    assert brightness(dark) < 40


def test_the_button_chooses_colors_and_the_page_remembers_them(visit: Visit) -> None:
    page = visit("demo", color_scheme="light")
    button = page.get_by_role("button", name="Colors")
    system = page.evaluate(BACKGROUND)
    button.click()
    assert page.evaluate(BACKGROUND) == system
    button.click()
    dark = page.evaluate(BACKGROUND)
    assert brightness(dark) < 40
    page.emulate_media(color_scheme="dark")
    button.click()
    button.click()
    assert page.evaluate(BACKGROUND) == system
    for _ in range(3):  # right after a reload, a busy Chromium may find the storage of a page from disk empty
        page.reload()
        if button.get_attribute("aria-label") == "Colors: light":
            break
    expect(button).to_have_accessible_name("Colors: light")
    assert page.evaluate(BACKGROUND) == system
    button.click()
    button.click()
    expect(button).to_have_accessible_name("Colors: system")
    assert page.evaluate(BACKGROUND) == dark


def test_paper_is_white_whatever_the_colors_of_the_screen(visit: Visit) -> None:
    page = visit("demo", color_scheme="dark")
    page.get_by_role("button", name="Colors").click(click_count=2)
    expect(page.get_by_role("button", name="Colors")).to_have_accessible_name("Colors: dark")
    page.emulate_media(media="print", color_scheme="dark")
    for place in ("body", "#overview .block", "#overview .tile"):
        assert brightness(page.locator(place).first.evaluate("item => getComputedStyle(item).backgroundColor")) > 220
    assert brightness(page.locator("#overview h2").first.evaluate("item => getComputedStyle(item).color")) < 60


def brightness(color: str) -> float:
    """The mean of ``rgb(r, g, b)``."""
    parts = [float(part) for part in color.removeprefix("rgb(").removesuffix(")").split(",")]
    return sum(parts) / 3

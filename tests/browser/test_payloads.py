"""What the page keeps compressed until it is opened: payloads, and the details of later frames. And graphs side by side."""

from typing import TYPE_CHECKING

import pytest
from recorded import graph_of, guards_of

from browser.conftest import FIXTURES, Visit
from browser.opened_records import GRAPH, GUARDS, compiles, opener, records

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Unpacking signals that it has begun, and then waits until it may go on.
SLOW = """
window.begun = new Promise((begin) => {
  const text = Response.prototype.text;
  Response.prototype.text = async function () { begin(); await new Promise((go) => { window.go = go; }); return text.call(this); };
});
"""


@pytest.mark.parametrize("label", ["0/1", "1/0", "3/2"])
def test_payloads_open_as_they_are_in_the_trace(label: str, visit: Visit) -> None:
    table = records(visit("demo", f"compile-{label.replace('/', '-')}"), label)
    for title, text in ((GRAPH, graph_of(compiles()[label])), (GUARDS, guards_of(compiles()[label]))):
        button = opener(table, title)
        expect(button).to_have_attribute("aria-expanded", "false")
        button.click()
        expect(button).to_have_attribute("aria-expanded", "true")
        payload = table.get_by_label(title, exact=True)
        expect(payload).to_be_visible()
        assert payload.text_content() == text
        button.click()
        expect(button).to_have_attribute("aria-expanded", "false")
        expect(payload).to_have_count(0)


@pytest.mark.parametrize("width", [1280, 360])
def test_long_lines_of_a_payload_leave_its_buttons_in_sight(width: int, visit: Visit) -> None:
    page = visit("demo", "compile-0-1", viewport={"width": width, "height": 900})
    button = opener(records(page, "0/1"), GRAPH)
    button.click()
    payload = page.locator("#compile-0-1 .opened pre")
    expect(payload).to_be_visible()
    assert payload.evaluate("item => item.scrollWidth > item.clientWidth")
    for item in (button, *page.locator("#compile-0-1 .opened").get_by_role("button").all(), payload):
        box = item.bounding_box()
        assert 0 < box["x"] < box["x"] + box["width"] < width


def test_every_payload_that_is_offered_opens(visit: Visit) -> None:
    page = visit("breaks")
    compiled = compiles(FIXTURES / "lab" / "graph_break_resume.log.gz")
    for label in compiled:
        page.evaluate("name => { location.hash = name; }", f"compile-{label.replace('/', '-')}")
        table = records(page, label)
        offered = table.get_by_role("button", name="Open")
        number = offered.count()
        assert number > 5
        offered.evaluate_all("buttons => buttons.forEach((button) => button.click())")
        expect(table.locator("pre")).to_have_count(number)
        assert all(table.locator("pre").all_text_contents())
        assert table.get_by_text("could not be unpacked").count() == 0


def test_a_payload_is_opened_by_keys_and_can_be_copied(visit: Visit) -> None:
    page = visit("demo", "compile-0-1", permissions=["clipboard-read", "clipboard-write"])
    table = records(page, "0/1")
    opener(table, GRAPH).focus()
    page.keyboard.press("Enter")
    expect(table.locator("pre")).to_be_visible()
    expect(table.get_by_role("button", name="next: 0/2")).to_be_visible()
    for _ in ("previous", "next", "compare with", "copy"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(table.get_by_role("button", name="Copied")).to_be_focused()
    for _ in ("download", "text"):
        page.keyboard.press("Tab")
    expect(table.locator("pre")).to_be_focused()
    assert page.evaluate("navigator.clipboard.readText()") == graph_of(compiles()["0/1"])


def test_code_is_shown_in_colors(visit: Visit) -> None:
    table = records(visit("demo", "compile-0-1"), "0/1")
    opener(table, GRAPH).click()
    keyword = table.locator("pre span", has_text="def").first
    expect(keyword).to_have_text("def")
    assert keyword.evaluate("item => getComputedStyle(item).color") != table.locator("pre").evaluate("item => getComputedStyle(item).color")


def test_without_payloads_the_causes_are_still_shown(visit: Visit) -> None:
    page = visit("demo, no payloads", "compile-0-1")
    compile = page.locator("#compile-0-1")
    assert compile.locator("button.open").count() == 0
    assert page.locator("script[type='text/plain'][id^='z']").count() == 0
    expect(compile.locator(".causes")).to_contain_text("SL101")


def test_records_outside_of_any_compile_open(visit: Visit) -> None:
    table = visit("demo", "trace").get_by_role("region", name="Records outside any compilation")
    opener(table, "torch_version").click()
    expect(table.locator("pre")).to_contain_text("2.13.0")


def test_a_damaged_payload_is_an_error_message(visit: Visit) -> None:
    page = visit("demo", "compile-0-1")
    button = opener(records(page, "0/1"), GRAPH)
    page.evaluate("name => { document.getElementById(name).textContent = 'AAAA'; }", button.get_attribute("data-chunk"))
    button.click()
    expect(page.locator("#compile-0-1").get_by_text("could not be unpacked")).to_be_visible()


def test_a_browser_that_cannot_unpack_is_named_as_the_reason(visit: Visit) -> None:
    page = visit("demo", "compile-0-1", before="delete window.DecompressionStream;")
    opener(records(page, "0/1"), GRAPH).click()
    expect(page.locator("#compile-0-1").get_by_text("too old")).to_be_visible()


def packed(page: "Page") -> list[str]:
    """The anchors of the frames whose details are compressed."""
    return page.locator("article[data-chunk]").evaluate_all("articles => articles.map(article => article.id)")


def test_a_link_to_a_compile_of_a_compressed_frame_opens_it(visit: Visit) -> None:
    frames = packed(visit("large"))
    for frame in (frames[-1], frames[0]):
        anchor = f"{frame.replace('frame', 'compile')}-3"
        page = visit("large", anchor)
        expect(page.locator(f"#{anchor}")).to_have_attribute("open", "")
        expect(page.locator(f"#{anchor}").locator("summary").first).to_be_in_viewport()
        expect(page.locator(f"#{frame}").get_by_role("heading", level=1)).to_have_count(1)
    opener(records(page, anchor.removeprefix("compile-").replace("-", "/")), GRAPH).click()
    expect(page.locator(f"#{anchor} pre:visible")).to_contain_text("class GraphModule")


def test_a_compressed_frame_opens_from_a_table_and_again(visit: Visit) -> None:
    page = visit("large", "frames")
    before = packed(page)
    assert len(before) > 10
    page.locator(f"#all-frames a[href='#{before[0]}']").click()
    details = page.locator(f"#{before[0]} details.compile")
    expect(details).to_have_count(5)
    details.nth(1).locator("summary").first.click()
    page.keyboard.press("o")
    expect(page.locator("#overview")).to_be_visible()
    page.go_back()
    expect(details.nth(1)).to_have_attribute("open", "")
    assert packed(page) == before[1:]


def test_what_was_asked_for_last_is_shown_when_unpacking_takes_longer(visit: Visit) -> None:
    page = visit("large", before=SLOW)
    frame = packed(page)[0]
    page.evaluate("async (name) => { location.hash = name; await window.begun; }", frame)
    page.evaluate("location.hash = 'advice'")
    expect(page.locator("#advice")).to_be_visible()
    page.evaluate("window.go()")
    expect(page.locator(f"#{frame} details.compile").first).to_be_attached()
    assert page.locator("main > :visible").evaluate_all("parts => parts.map(part => part.id)") == ["advice"]
    page.keyboard.press("j")
    page.evaluate("name => { location.hash = name; }", frame)
    expect(page.locator(f"#{frame} details.compile").first).to_be_visible()


def test_graphs_are_side_by_side_with_what_differs_marked(visit: Visit) -> None:
    compile = visit("demo", "compile-0-1").locator("#compile-0-1")
    compile.locator("summary").filter(has_text="Graph:").click()
    table = compile.get_by_role("region", name="Graphs of 0/0 and 0/1 side by side").get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["0/0", "0/1"])
    before, after = (graph_of(compiles()[label]).replace('"', "") for label in ("0/0", "0/1"))
    changed = table.locator("tr:has(mark)")
    assert changed.count() > 3
    for row in changed.all():
        number, left, other, right = (text.strip().replace('"', "") for text in row.locator("td").all_text_contents())
        assert left != right
        assert left in before
        assert right in after
        assert (int(number), int(other)) > (0, 0)
    marked = table.locator("mark").all_text_contents()
    assert "32][32" in marked
    assert any("s27" in text for text in marked)

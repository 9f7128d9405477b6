"""A trace that is markup, script and invisible characters stays text; a page for sharing holds no code, payloads and directories."""

import base64
import re
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import make
import pytest
from markupsafe import escape

import shapelog
from browser import traces
from browser.conftest import FIXTURES, Report, Visit
from shapelog.model.compile import Compile
from shapelog.model.trace import Trace
from shapelog.reading.payloads.guards.comments import place_of
from shapelog.reading.records import StackFrame
from shapelog.text import UNSAFE

expect = pytest.importorskip("playwright.sync_api").expect

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Names of elements that templates and scripts use; whatever a trace brings adds none.
FOREIGN = "img, b#owned, iframe, object, embed, form, link, base, video, audio, style:not(head > style), script script, svg script"
# But for the tooltip, which the script places, and for links to places in the page, to lines in the editor, and to trace viewers.
HANDLERS = r"""
() => [...document.querySelectorAll("*:not(.tip)")].flatMap((item) => [...item.attributes])
  .filter((item) => /^on|^autofocus$|^style$|^src|^action$/.test(item.name) || (/href$/.test(item.name) && !OWN.test(item.value)))
  .map((item) => `${item.name}=${item.value}`)
""".replace("OWN", r"/^(?:#|vscode:\/\/file\/[\w.%\/:~-]+:\d+$|https:\/\/(?:ui\.perfetto\.dev|www\.speedscope\.app)$)/")
# All that can be read: texts, and what attributes hold.
TEXTS = """
() => {
  const found = [];
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_ALL);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.nodeType === Node.ELEMENT_NODE) found.push(...[...node.attributes].map((item) => item.value));
    else if (node.parentElement?.localName !== "script" || node.parentElement.id === "index") found.push(node.data ?? "");
  }
  return found;
}
"""
# The mouse passes over everything, and everything has the focus for once.
TOUCH = """
for (const item of document.querySelectorAll("main > :not([hidden]) *")) {
  item.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  item.focus();
}
"""
OPEN = "document.querySelectorAll('main > :not([hidden]) details').forEach((details) => { details.open = true; })"


def anchors(page: "Page") -> list[str]:
    return page.locator("main > .page").evaluate_all("parts => parts.map((part) => part.id)")


def inspect(page: "Page") -> None:
    """Nothing of the trace became more than text."""
    assert page.evaluate("window.__owned") is None
    assert page.locator(FOREIGN).count() == 0
    assert page.evaluate(HANDLERS) == []
    assert [text for text in page.evaluate(TEXTS) if UNSAFE.search(text)] == []


@pytest.mark.parametrize("name", ["hostile", "hostile, for sharing", "check, hostile"])
def test_nothing_in_a_trace_runs_or_becomes_an_element(name: str, visit: Visit) -> None:
    page = visit(name)
    inspect(page)
    for anchor in anchors(page):
        page.evaluate("anchor => { location.hash = anchor; }", anchor)
        expect(page.locator(f"#{anchor}")).to_be_visible()
        page.evaluate(OPEN)
        buttons = page.locator(f"#{anchor} button.open")
        buttons.evaluate_all("buttons => buttons.forEach((button) => button.click())")
        expect(page.locator(f"#{anchor} .opened pre")).to_have_count(buttons.count())
        inspect(page)
        page.evaluate(TOUCH)
    inspect(page)


def test_the_search_and_the_filter_take_markup_for_text(visit: Visit) -> None:
    page = visit("hostile", "frames")
    page.get_by_role("combobox").fill("<img src=x")
    expect(page.get_by_role("option").first).to_contain_text("<img src=x onerror=window.__owned=")
    inspect(page)
    page.keyboard.press("Enter")
    inspect(page)
    page.goto(f"{page.url.partition('#')[0]}#frames")
    page.get_by_label("Filter").fill("<b id=owned>")
    expect(page.locator("#all-frames tbody tr:visible")).to_have_count(1)
    inspect(page)


def test_markup_is_shown_as_it_was_written(visit: Visit) -> None:
    page = visit("hostile", "frame-0")
    heading = page.locator("#frame-0").get_by_role("heading", level=1)
    assert heading.inner_text() == f"forward{traces.ELEMENT.format('function')}{traces.SHOWN}"
    for text in (
        traces.TEMPLATE.format(),
        traces.SCRIPT.format("failure"),
        traces.COMMENT.format("failure"),
        traces.ATTRIBUTE.format("failure"),
    ):
        assert text in page.locator("#frame-1").text_content()
    expect(page.locator("#overview .eyebrow")).to_contain_text("trace<img src=x onerror=window.__owned='file'>\\u202e.log")
    assert page.title().endswith(r"trace<img src=x onerror=window.__owned='file'>\u202e.log · shapelog")


def test_invisible_characters_of_a_payload_are_shown(visit: Visit) -> None:
    page = visit("hostile", "compile-1-0")
    page.evaluate(OPEN)
    page.locator("#compile-1-0 tr").filter(has=page.locator("th", has_text="autofocus")).get_by_role("button").first.click()
    payload = page.locator("#compile-1-0 .opened pre")
    expect(payload).to_contain_text(traces.ELEMENT.format("payload"))
    expect(payload).to_contain_text(traces.SHOWN)


@pytest.mark.parametrize("name", ["hostile", "hostile, for sharing", "demo", "damaged"])
def test_the_policy_of_the_page_allows_its_own_parts_alone(name: str, report: Report) -> None:
    text = report(name).read_text(encoding="utf-8")
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.replace("&#39;", "'").split(";"))
    assert rules.pop("default-src") == "'none'"
    assert {rules.pop("base-uri"), rules.pop("form-action")} == {"'none'"}
    assert set(rules) == {"script-src", "style-src"}
    assert all(re.fullmatch(r"'sha256-[\w+/=]{44}'", source) for rule in rules.values() for source in rule.split())
    assert text.index("Content-Security-Policy") < text.index("<title>")


def test_the_file_holds_no_character_that_hides_or_reorders(report: Report) -> None:
    for name in ("hostile", "hostile, for sharing"):
        assert UNSAFE.search(report(name).read_text(encoding="utf-8")) is None


def whole(page: str) -> str:
    """The text of the file, with what it keeps compressed."""
    packed = re.findall(r'<script type="text/plain" id="[\w-]+">([^<]*)</script>', page)
    return "\n".join([page, *(zlib.decompress(base64.b64decode(text), -15).decode() for text in packed)])


def code_of(trace: Trace) -> Iterator[StackFrame]:
    """Every line of code that is in the trace."""
    for compile in trace.compiles:
        yield from frames_of(compile)
        yield from compile.graph.user_lines if compile.graph else ()
        yield from (reason.place for reason in compile.reasons if reason.place)
        if compile.guards:
            comments = [guard.comment for guard in (*compile.guards.guards, *compile.guards.shapes)]
            yield from (place for place in map(place_of, comments) if place)


def frames_of(compile: Compile) -> Iterator[StackFrame]:
    yield from compile.stack.frames
    for found in (*compile.symbols, *compile.specializations):
        yield from found.user_stack.frames


@pytest.mark.parametrize(("name", "fixture"), [("demo, for sharing", "real/demo.log.gz"), ("hostile, for sharing", "")])
def test_a_page_for_sharing_holds_no_code_and_no_directory(name: str, fixture: str, report: Report) -> None:
    trace = shapelog.load(FIXTURES / fixture) if fixture else make.load(traces.hostile())
    text = whole(report(name).read_text(encoding="utf-8"))
    places = list(code_of(trace))
    # What is a single word could as well be any other text of the page.
    lines = {place.code.strip() for place in places if not re.fullmatch(r"[\w.,\s]*", place.code.strip())}
    folders = {place.file.rpartition("/")[0] for place in places if place.file.startswith("/")}
    assert len(lines) > 3
    assert len(folders) > 0
    for hidden in (*lines, *folders):
        for written in (hidden, escape(hidden)):
            assert written not in text, hidden
    for place in ("loc", "call", "comment", "code", "graph", "line", "payload"):
        assert escape(traces.ELEMENT.format(place)) not in text, place
    assert traces.WORDS not in text
    assert traces.FOLDER not in text
    assert not re.search(r"(?<![\w.<…/])/(?:home|srv|opt|usr|root|tmp)/", text)


def test_a_page_for_sharing_offers_no_payload(visit: Visit) -> None:
    page = visit("demo, for sharing", "compile-0-1")
    expect(page.locator("#compile-0-1 .causes")).to_contain_text("SL101")
    assert page.locator("button.open, .diff, code.line").count() == 0
    assert page.locator("script[type='text/plain'][id^='z']").count() == 0
    expect(page.locator("footer")).to_contain_text("without source code, payloads and absolute paths")


def test_a_page_for_sharing_still_shows_the_advice(visit: Visit) -> None:
    page = visit("demo, for sharing")
    expect(page.locator("#overview")).to_contain_text(
        "export TORCH_COMPILE_DYNAMIC_SOURCES=\"L['tokens']:0,L['tokens']:1,L['self'].step,L['features']:0\""
    )
    expect(page.locator("#overview figure")).to_have_count(2)
    expect(page.locator("#overview")).to_contain_text("demo.py:14")

"""How the page opens: from disk and over HTTP, with and without scripts, on paper, and at the place that a link names."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from browser.conftest import PAGES, Report, Visit

expect = pytest.importorskip("playwright.sync_api").expect

# The only links out of a page: what PyTorch writes about a graph break, trace viewers, and lines that open in an editor.
OUTSIDE = re.compile(
    r"https://(?:meta-pytorch\.github\.io/compile-graph-break-site/gb/gb\d+\.html|ui\.perfetto\.dev|www\.speedscope\.app)"
    r"|vscode://file/[\w.%/:~-]+:\d+",
    re.A,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

PARTS = ("overview", "advice", "frames", "graphs", "trace")


def shown(page: "Page") -> list[str]:
    """The ids of the parts that can be seen."""
    return page.locator("main > :visible").evaluate_all("parts => parts.map(part => part.id)")


@pytest.mark.parametrize("name", PAGES)
def test_it_opens_from_disk_with_the_overview_first_and_asks_for_nothing_else(name: str, visit: Visit) -> None:
    page = visit(name)
    assert shown(page) == ["overview"]
    offered = page.get_by_role("navigation").locator("a").evaluate_all("links => links.map(link => link.hash.slice(1))")
    assert {"overview", "trace"} <= set(offered)
    for part in offered:
        page.get_by_role("navigation").locator(f"a[href='#{part}']").click()
        expect(page.locator(f"#{part}")).to_be_visible()
        assert shown(page) == [part]
    for link in page.locator("main > article").evaluate_all("articles => articles.slice(0, 4).map(article => article.id)"):
        page.evaluate("name => { location.hash = name; }", link)
        expect(page.locator(f"#{link}")).to_be_visible()


@pytest.fixture
def server(report: Report) -> Iterator[tuple[str, list[str]]]:
    """The address of a page, and the paths that were asked for."""
    asked: list[str] = []
    content = report("demo").read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}/report.html", asked
        served.shutdown()
        thread.join()


def test_a_server_is_asked_for_the_file_alone(server: tuple[str, list[str]], visit: Visit) -> None:
    address, asked = server
    page = visit("demo", "compile-0-3", url=address)
    expect(page.locator("#compile-0-3")).to_have_attribute("open", "")
    page.locator("#frame-0 button.open:visible, #compile-0-3 summary").first.click()
    page.get_by_role("link", name="Trace", exact=True).click()
    expect(page.locator("#trace")).to_be_visible()
    assert asked == ["/report.html"]


def test_the_link_of_the_part_that_is_shown_is_marked(visit: Visit) -> None:
    page = visit("demo")
    marked = page.get_by_role("navigation").locator("[aria-current=page]")
    expect(marked).to_have_text("Overview")
    page.get_by_role("link", name="Advice", exact=True).click()
    expect(marked).to_have_text("Advice")
    expect(page).to_have_title("Advice · 11 of 19 compilations are avoidable by marking, 2 more by a code change. · demo.log.gz · shapelog")
    page.goto(page.url.partition("#")[0] + "#frame-2")
    expect(marked).to_contain_text("Frames")


def test_a_link_to_a_frame_opens_its_page(visit: Visit) -> None:
    page = visit("demo", "frame-2")
    expect(page.locator("#frame-2").get_by_role("heading", level=1)).to_be_in_viewport()
    assert shown(page) == ["frame-2"]


def test_a_link_to_a_compile_opens_its_frame_and_its_details(visit: Visit) -> None:
    page = visit("demo", "compile-0-3")
    assert shown(page) == ["frame-0"]
    compile = page.locator("#compile-0-3")
    expect(compile).to_have_attribute("open", "")
    expect(compile.locator("summary").first).to_be_in_viewport()
    expect(compile.locator(".body")).to_contain_text("compared with 0/2")
    assert page.locator("#frame-0 details.compile[open]").count() == 1


def test_links_lead_on_and_the_back_button_returns(visit: Visit) -> None:
    page = visit("demo")
    page.locator("#overview table").get_by_role("link").first.click()
    expect(page.locator("#overview")).to_be_hidden()
    (frame,) = shown(page)
    page.locator(f"#{frame} a[href^='#compile-']").first.click()
    expect(page.locator("details.compile[open]:visible")).to_have_count(1)
    page.go_back()
    page.go_back()
    expect(page.locator("#overview")).to_be_visible()
    assert shown(page) == ["overview"]
    page.go_forward()
    expect(page.locator(f"#{frame}")).to_be_visible()


@pytest.mark.parametrize("anchor", ["nowhere", "compile-99-1", "", "%E0%A4%A", "<img src=x>", "main > *"])
def test_a_link_that_names_nothing_shows_the_overview(anchor: str, visit: Visit) -> None:
    page = visit("demo", anchor)
    expect(page.locator("#overview")).to_be_visible()
    assert shown(page) == ["overview"]


def test_every_link_leads_to_a_place_in_the_page_to_pytorchs_page_about_a_break_or_to_an_editor(visit: Visit) -> None:
    for name in ("demo", "large", "ranks", "limits", "hostile"):
        page = visit(name)
        named = set(page.locator("[href]").evaluate_all("links => links.map(link => link.getAttribute('href').split('?')[0])"))
        ids = set(page.locator("[id]").evaluate_all("all => all.map(one => '#' + one.id)"))
        inside = {f"#{anchor}" for anchor in page.evaluate("Object.keys(JSON.parse(document.getElementById('index').textContent).inside)")}
        assert not [link for link in named - ids - inside if not OUTSIDE.fullmatch(link)]


def test_without_scripts_every_part_can_be_read(visit: Visit) -> None:
    page = visit("demo", java_script_enabled=False)
    for part in (*PARTS, "frame-0", "frame-1", "frame-2", "frame-3"):
        expect(page.locator(f"#{part}")).to_be_visible()
    expect(page.locator("#overview")).to_contain_text("TORCH_COMPILE_DYNAMIC_SOURCES")
    compile = page.locator("#compile-0-1")
    cause = compile.locator(".causes").first
    expect(cause).to_be_hidden()
    compile.locator("summary").first.click()
    expect(cause).to_be_visible()
    expect(cause).to_contain_text("SL101")


def test_without_scripts_nothing_is_there_that_does_not_work(visit: Visit) -> None:
    page = visit("demo", java_script_enabled=False)
    for summary in page.locator("#compile-0-1 > summary, #compile-0-1 > .body > details > summary").all():
        summary.click()
    assert page.locator("button:visible, input:visible").count() == 0
    expect(page.locator("#compile-0-1").get_by_text("opens with JavaScript").first).to_be_visible()
    expect(page.locator("noscript")).to_be_visible()


def test_on_paper_details_are_open_and_nothing_is_left_to_press(visit: Visit) -> None:
    page = visit("demo", "frame-0")
    count = "document.querySelectorAll('#frame-0 details:not([open])').length"
    page.evaluate(f"addEventListener('beforeprint', () => {{ document.body.dataset.closed = {count}; }})")
    before = page.evaluate(count)
    page.pdf()
    assert before > 0
    assert page.evaluate("document.body.dataset.closed") == "0"
    assert page.evaluate(count) == before
    page.emulate_media(media="print")
    expect(page.locator("#frame-0")).to_be_visible()
    assert page.locator("nav:visible, button:visible, input:visible").count() == 0


def test_a_compilation_that_is_opened_is_in_the_address(visit: Visit) -> None:
    page = visit("demo", "frame-0")
    page.locator("#compile-0-2 > summary").click()
    expect(page).to_have_url(re.compile(r"#compile-0-2$"))
    page.reload()
    expect(page.locator("#compile-0-2 > .body")).to_be_visible()
    page.locator("#compile-0-2 > summary").click()
    expect(page).to_have_url(re.compile(r"#frame-0$"))

"""A headless Chromium and the pages that it opens. Without Playwright or a browser these tests are skipped."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command_line import call

from browser import traces

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

FIXTURES = Path(__file__).parents[2] / "fixtures"
# Each page that the tests open: the trace, a fixture or what makes one, and the options.
PAGES: dict[str, tuple[str | Callable[[], bytes | tuple[bytes, ...]], tuple[str, ...]]] = {
    "demo": ("real/demo.log.gz", ()),
    "demo, no payloads": ("real/demo.log.gz", ("--embed", "none")),
    "demo, for sharing": ("real/demo.log.gz", ("--no-source",)),
    "breaks": ("lab/graph_break_resume.log.gz", ()),
    "failures": ("real/2.6/l_failures.log.gz", ()),
    "limits": ("real/2.6/g_limit.log.gz", ()),
    "ranks": ("real/2.13/n_dist_collpatched", ()),
    "ranks that parted": (traces.parted, ()),
    "healthy": ("lab/no_recompiles.log.gz", ()),
    "empty": (traces.empty, ()),
    "damaged": (traces.damaged, ()),
    "large": (traces.large, ()),
    "many suggestions": (traces.one_int_at_a_time, ()),
    "growing cache": (traces.growing_cache, ()),
    "long names": (traces.long_names, ()),
    "hostile": (traces.hostile, ("--embed", "all")),
    "hostile, for sharing": (traces.hostile, ("--no-source",)),
    "check": ("real/demo.log.gz", ("--max-recompiles", "3", "--exit-zero")),
    "check, hostile": (traces.hostile, ("--max-recompiles", "0", "--exit-zero")),
}
PHONE = {"width": 360, "height": 740}
# Reports what a policy refused, also where the console does not.
WATCH = (
    "addEventListener('securitypolicyviolation', (event) => console.error('refused: ' + event.violatedDirective + ' ' + event.blockedURI));"
)

Report = Callable[[str], Path]
Visit = Callable[..., "Page"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = __file__.removesuffix(Path(__file__).name)
    for item in items:
        if str(item.path).startswith(here):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="package")
def chromium() -> Iterator["Browser"]:
    sync_api = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium on PATH")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The file of a page in ``PAGES``, which the command makes when it is first asked for."""
    folder = tmp_path_factory.mktemp("pages")
    made: dict[str, Path] = {}

    def make(name: str) -> Path:
        if name not in made:
            source, options = PAGES[name]
            if callable(source):
                trace = folder / traces.FILE
                found = source()
                if isinstance(found, bytes):
                    trace.write_bytes(found)
                else:
                    trace = folder / f"job-{len(made)}"
                    trace.mkdir()
                    for number, data in enumerate(found):
                        (trace / f"dedicated_log_torch_trace_rank_{number}_abcdefgh.log").write_bytes(data)
            else:
                trace = FIXTURES / source
            made[name] = folder / f"page-{len(made)}.html"
            asked = "check" if name.startswith("check") else "report"
            done = call(asked, str(trace), "-o", str(made[name]), *options)
            assert done.exit_code == 0, done.output
        return made[name]

    return make


@pytest.fixture
def visit(chromium: "Browser", report: Report) -> Iterator[Visit]:
    """Opens a page of ``PAGES`` from disk, each time in a browser without a past.

    Whatever a test does: the browser asks for nothing but the file, and the page neither writes to the console, fails, nor opens a dialog.
    """
    contexts: list[BrowserContext] = []
    requests: list[str] = []
    noise: list[str] = []
    expected: list[str] = []

    def go(name: str, anchor: str = "", *, url: str = "", before: str = "", **options: Any) -> "Page":
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(10_000)
        context.add_init_script(WATCH + before)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: noise.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: noise.append(f"error: {error}"))

        def dismissed(dialog: Any) -> None:
            noise.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("dialog", dismissed)
        address = url or report(name).as_uri()
        expected.append(address)
        page.goto(address + (f"#{anchor}" if anchor else ""))
        return page

    yield go
    for context in contexts:
        context.close()
    assert noise == []
    assert {address.partition("#")[0] for address in requests} == set(expected)

"""The pages about several runs in a browser: on a desk and on a phone, in light and dark, without a complaint of axe-core."""

from pathlib import Path

import pytest
from recorded import report_of

from browser.conftest import Visit
from browser.faults import BEYOND, LOW, violations
from shapelog.report.compare import compare
from shapelog.report.trend import NamedRun, trend
from shapelog.reporters import Options
from shapelog.reporters.html.runs.comparison import render_comparison, render_verification
from shapelog.reporters.html.runs.trend_page import render_trend

pytest.importorskip("playwright.sync_api")


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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("name", ["better", "worse", "failures", "verification", "trend"])
def test_nothing_is_cut_off_and_axe_finds_nothing(folder: Path, name: str, width: int, scheme: str, visit: Visit) -> None:
    page = visit(name, url=(folder / f"{name}.html").as_uri(), viewport={"width": width, "height": 900}, color_scheme=scheme)
    assert page.evaluate(BEYOND) == []
    assert page.evaluate(LOW) == []
    assert violations(page) == []

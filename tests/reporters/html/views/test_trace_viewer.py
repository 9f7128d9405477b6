"""The page carries the file for trace viewers, where it has times and may show code."""

import base64
import zlib

import make
import pytest
from recorded import report_of

from shapelog.report.report import Report
from shapelog.reporters import Options, renderer
from shapelog.reporters.html.views import trace_viewer
from shapelog.reporters.html.views.trace_viewer import viewer_chunk

DEMO = "real/demo.log.gz"


@pytest.fixture(scope="module")
def demo() -> Report:
    return report_of(DEMO)


def test_the_page_carries_what_the_format_for_trace_viewers_writes(demo: Report) -> None:
    chunk = viewer_chunk(demo, Options())
    assert chunk
    assert zlib.decompress(base64.b64decode(chunk.text), -15) == renderer("report", "chrome-trace")(demo, Options())
    page = renderer("report", "html")(demo, Options()).decode()
    assert f'<script type="text/plain" id="trace-viewer">{chunk.text}</script>' in page
    assert 'data-chunk="trace-viewer" data-file="shapelog.trace.json"' in page


@pytest.mark.parametrize("options", [Options(with_source=False), Options(embed="none")])
def test_a_page_without_payloads_names_the_command(demo: Report, options: Options) -> None:
    assert viewer_chunk(demo, options) is None
    page = renderer("report", "html")(demo, options).decode()
    assert 'id="trace-viewer"' not in page
    assert "<code>shapelog report TRACE -o run.trace.json</code>" in page


def test_a_file_that_would_swell_the_page_is_left_to_the_command(demo: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_viewer, "_LONGEST", 1000)
    assert viewer_chunk(demo, Options()) is None


def test_a_trace_without_times_has_none() -> None:
    assert viewer_chunk(make.report(make.small_trace()), Options()) is None

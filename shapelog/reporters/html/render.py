"""The report as one HTML file that needs no network: the answer first, then as deep as one wants to go."""

import base64
import hashlib
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from itertools import accumulate, chain
from typing import TYPE_CHECKING

from jinja2 import Environment
from markupsafe import Markup

from shapelog import __version__
from shapelog.report.alerts.collect import collect_alerts
from shapelog.report.report import Report
from shapelog.report.repository_paths import Repository
from shapelog.reporters import Options
from shapelog.reporters.html.chunks import Chunk, page_chunk, payload_chunks
from shapelog.reporters.html.filters import page_environment
from shapelog.reporters.html.frame_page import FramePageBuilder, FrameView
from shapelog.reporters.html.handbook import handbook_pages
from shapelog.reporters.html.page_context import PageContext, page_context, result_variables, search_chunk
from shapelog.reporters.html.views.trace_viewer import CHUNK, FILE_NAME, viewer_chunk
from shapelog.resources import template_dir

if TYPE_CHECKING:
    from shapelog.check.check import CheckResult

# The files of templates/assets, in the order in which the page has them. A view may have one of each kind of its own.
_STYLES = ("report.css", "charts.css", "zoom.css", "what_if.css", "source.css", "payloads.css", "provenance.css")
_SCRIPTS = ("page.js", "report.js", "text_diff.js", "payloads.js", "address.js", "search.js", "what_if.js", "charts.js", "provenance.js")
# The first frames, with at most this many compiles together, are not compressed up to this many characters of HTML; all others are.
_MAX_FIRST_COMPILES = 24
_MAX_INLINE = 800_000
# Characters of HTML that compiles of the first frames, and of the others, may take before only their causes are shown.
_FIRST_BUDGET, _OTHER_BUDGET = 3_000_000, 6_000_000
# Characters of HTML of frames that are compressed together: half of what each by itself takes, and quick to unpack.
_GROUP = 200_000
# Compressed bytes of all payloads together.
_MAX_PAYLOADS = 1_300_000


def render(report: Report, options: Options) -> bytes:
    """The page, in UTF-8. Frames that matter most come first; what would make it too large is compressed, or left out with a note."""
    return _page(page_context(collect_alerts(report, Repository()), options), None)


def render_check(checked: "CheckResult", options: Options) -> bytes:
    """The page, which begins with the outcome of the check."""
    return _page(page_context(checked.found, options), checked)


def _page(context: PageContext, checked: "CheckResult | None") -> bytes:
    environment = page_environment(context)
    frames = _FramePages(context, environment)
    payloads = payload_chunks((row.make for row in context.records.payloads), 0 if context.is_unlimited else _MAX_PAYLOADS)
    handbook, compressed = handbook_pages(environment, context.handbook, recompiles_of=_recompiles_of(context.report))
    viewer = viewer_chunk(context.report, context.options)
    css, script = "".join(map(asset, _STYLES)), "".join(map(asset, _SCRIPTS))
    pieces = environment.get_template("report.html.j2").generate(
        result_variables(context),
        articles=frames.articles(),
        checked=checked,
        chunks=chain(frames.chunks, filter(None, [compressed, viewer]), [search_chunk(context)], payloads),
        css=Markup(css),
        handbook=handbook,
        policy=content_policy(script, css),
        script=Markup(script),
        version=__version__,
        viewer={"chunk": CHUNK, "file": FILE_NAME} if viewer else None,
    )
    page = BytesIO()  # grown piece by piece, and given away without a copy: the page is the largest thing in memory
    page.writelines(piece.encode("utf-8", "replace") for piece in pieces)
    return page.getvalue()


@dataclass(slots=True)
class _FramePages:
    """The pages of frames. ``chunks`` has those that are compressed, once the template has put out all articles."""

    context: PageContext
    environment: Environment
    chunks: list[Chunk] = field(default_factory=list)

    def articles(self) -> Iterator[Markup]:
        """For each frame its page, or its headline where the page is compressed."""
        views = self.context.views
        first = sum(count <= _MAX_FIRST_COMPILES for count in accumulate(len(view.compiles) for view in views)) or 1
        yield from self._group(views[:first], "d", _MAX_INLINE, _FIRST_BUDGET)
        yield from self._group(views[first:], "e", 0, _OTHER_BUDGET)

    def _group(self, views: tuple[FrameView, ...], prefix: str, inline: int, budget: float) -> Iterator[Markup]:
        builder = FramePageBuilder(self.context.report, math.inf if self.context.is_unlimited else budget)
        waiting: list[str] = []
        size = number = 0
        for view in views:
            page = self.environment.get_template("report/frame_page.html.j2").render(view=view, details=builder.details(view))
            size += len(page)
            if size > inline:
                waiting.append(page)
                page = self.environment.get_template("report/compressed_frame_page.html.j2").render(view=view, chunk=f"{prefix}{number}")
            yield Markup(page)
            if sum(map(len, waiting)) > _GROUP:
                self.chunks.append(page_chunk(f"{prefix}{number}", "".join(waiting)))
                waiting, number = [], number + 1
        if waiting:
            self.chunks.append(page_chunk(f"{prefix}{number}", "".join(waiting)))


def _recompiles_of(report: Report) -> Counter[str]:
    """How many recompiles have a cause of each rule."""
    return Counter(code for item in report.recompiles for code in dict.fromkeys(item.codes))


def asset(name: str) -> str:
    return (template_dir() / "assets" / name).read_text(encoding="utf-8")


def content_policy(script: str, style: str) -> str:
    """Nothing but the page's own style and script, by their hashes: whatever a trace brings cannot run or fetch."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'"

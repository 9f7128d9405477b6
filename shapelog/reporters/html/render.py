"""The report as one HTML file that needs no network: the answer first, then as deep as one wants to go."""

import base64
import hashlib
import math
from collections.abc import Callable
from functools import partial
from io import BytesIO
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from shapelog import __version__
from shapelog.aside import Aside
from shapelog.model.record_index import listing
from shapelog.report.merge_ranks import joint_frames
from shapelog.report.report import Report
from shapelog.reporters import Options
from shapelog.reporters.html.anchors import KINDS, Anchors, anchors_of
from shapelog.reporters.html.chart_text import WORDS
from shapelog.reporters.html.filters import page_environment
from shapelog.reporters.html.frame_page import Book, FrameView, frame_views
from shapelog.reporters.html.payload_store import Store
from shapelog.reporters.html.record_rows import Item, Row, arranged, items_of
from shapelog.reporters.html.redact import Redaction, redaction_of
from shapelog.resources import template_dir
from shapelog.rules import RULES

if TYPE_CHECKING:
    from shapelog.check.check import Checked

SUFFIX = ".html"
# Where these go in the template.
_FRAMES_HERE, _CHUNKS_HERE = "<!-- frames -->\n", "<!-- chunks -->\n"
# So many compiles are told in full, those of the frames that matter most first; of the others the causes alone are told.
_FULL = 150
# Frames behind so many characters of HTML are kept compressed.
_INLINE = 800_000
# Compiles behind so many characters are told in short, of the first frames and of the others.
_SOONER, _LATER = 3_000_000, 6_000_000
# Frames behind so many compiles are always compressed; where these are few, it is not worth another process to tell frames.
_FIRST = 24
_WORTH_A_PROCESS = 20
# Bytes of a number in front of what another process makes.
_LENGTH = 8
# Frames that have a page; the others are counted.
_FRAMES = 1000
# What to embed, where that is told however large the page becomes.
_WITHOUT_LIMIT = ("recompiled", "all")
# So many bytes of packed payloads a page carries else.
_PAYLOADS = 1_300_000
# Files whose records are told by kind.
_FILES = 8
# Rows of a table.
_LIMIT = 60


class _Making(NamedTuple):
    """A page while it is made. ``records`` are the rows of each compile by its anchor, "" for those outside of any."""

    report: Report
    options: Options
    anchors: Anchors
    redact: Redaction | None
    environment: Environment
    views: tuple[FrameView, ...]
    records: dict[str, list[Row]]
    texts: list[Item]


def render(report: Report, options: Options) -> bytes:
    """The page, in UTF-8. Frames that matter most come first; what would make it too large is kept compressed, or left out and said."""
    return _rendered(report, options, None)


def render_check(checked: "Checked", options: Options) -> bytes:
    """The page, which begins with the outcome of the check."""
    return _rendered(checked.survey.report, options, checked)


def _rendered(report: Report, options: Options, checked: "Checked | None") -> bytes:
    making = _begun(report, options)
    making.environment.globals["checked"] = checked
    frames: Callable[[], bytes] = partial(_frames, making)
    if options.may_fork and len(_divided(making.views)[1]) > _WORTH_A_PROCESS:
        frames = Aside(frames).result
    report.late.settled()  # the pages of frames need no advice, and what they read is not to show in the accounts
    return _whole(making, frames, _feeding(making))


def _divided(views: tuple[FrameView, ...]) -> tuple[tuple[FrameView, ...], tuple[FrameView, ...]]:
    """The frames that matter most, which are told in place, and the others."""
    counts = accumulate(len(view.compiles) for view in views)
    number = sum(count <= _FIRST for count in counts) or 1
    return views[:number], views[number:]


def _begun(report: Report, options: Options) -> _Making:
    anchors = anchors_of(report.trace)
    alike = joint_frames(report, with_values=True)
    for first, other in ((joint.first.frame, member.frame) for joint in alike for member in joint.members[1:]):
        anchors.share(first, other)
    redact = None if options.with_source else redaction_of(report.trace)
    views = frame_views(report, anchors, _FRAMES, math.inf if options.embed in _WITHOUT_LIMIT else _FULL)
    records, texts = _records(report, options, views)
    environment = page_environment(report, redact)
    environment.globals.update(
        anchors=anchors,
        by_label=_by_label(report, anchors),
        kinds=KINDS,
        limit=_LIMIT,
        marks={"static": "", "dynamic": "~", "specialized": "!"},
        records=records,
        report=report,
        rules=RULES,
        with_source=options.with_source,
        words=WORDS,
    )
    return _Making(report, options, anchors, redact, environment, views, records, texts)


def _records(report: Report, options: Options, views: tuple[FrameView, ...]) -> tuple[dict[str, list[Row]], list[Item]]:
    """The rows of records, and the texts that the page is to hold, in the order of what people need; that makes their ids."""
    if options.embed == "none" or not options.with_source:
        return {}, []
    book = listing(report.trace)
    told = [(view, item) for view in views for item in view.compiles if item.is_full]
    found = {item.anchor: items_of(book.of(item.compile), item.anchor) for _, item in told}
    found[""] = items_of(book.outside, "outside") if options.frame is None else ()  # else records of other frames are among them
    wanted = [item.anchor for view, item in told if len(view.compiles) > 1]
    if options.embed != "recompiled":
        wanted += [item.anchor for view, item in told if len(view.compiles) == 1]
    texts = arranged([found[anchor] for anchor in (*wanted, "")])
    ids = {item.key: f"z{number}" for number, item in enumerate(texts)}
    return {anchor: [Row(item, ids.get(item.key, "")) for item in items] for anchor, items in found.items()}, texts


def _feeding(making: _Making) -> Store:
    store = Store(0 if making.options.embed in _WITHOUT_LIMIT else _PAYLOADS, prefix="z")
    for item in making.texts:
        store.add(item.key, item.make)
    return store


def _frames(making: _Making) -> bytes:
    """The pages of all frames, and behind them the chunks of those that are compressed; in front, how many bytes the pages are."""
    first, others = _divided(making.views)
    sooner, later = _pages(making, first, "d", _INLINE, _SOONER), _pages(making, others, "e", 0, _LATER)
    pages = "".join((*sooner[0], *later[0])).encode("utf-8", "replace")
    chunks = (_chunk(name, packed) for name, packed in chain(sooner[1].chunks(), later[1].chunks()))
    return b"".join((len(pages).to_bytes(_LENGTH, "little"), pages, *chunks))


def _pages(making: _Making, views: tuple[FrameView, ...], prefix: str, inline: int, told: float) -> tuple[list[str], Store]:
    """The page of each frame, in place up to ``inline`` characters, else its headline, with the page in the store."""
    told = math.inf if making.options.embed in _WITHOUT_LIMIT else told
    whole, packed = (getattr(making.environment.get_template("report/frame.html.j2").module, name) for name in ("frame", "packed"))
    book, details = Book(making.report, making.anchors, told), Store(0, prefix=prefix)
    articles: list[str] = []
    size = 0
    for view in views:
        text: str = whole(view, book.details(view))
        size += len(text)
        if size > inline:
            text = packed(view, details.add(view.anchor, partial(text.encode, "utf-8", "replace")))
        articles.append(text)
    return articles, details


def _chunk(name: str, packed: str) -> bytes:
    return f'<script type="text/plain" id="{name}">{packed}</script>\n'.encode()


def _whole(making: _Making, made: Callable[[], bytes], payloads: Store) -> bytes:
    """All of it around the pages of frames."""
    head, middle, foot = (text.encode("utf-8", "replace") for text in _around(making))
    page = BytesIO()  # grown piece by piece, and given away without a copy: the page is the largest thing in memory
    frames = memoryview(made())
    end = _LENGTH + int.from_bytes(frames[:_LENGTH], "little")
    for part in (head, frames[_LENGTH:end], middle, frames[end:]):
        page.write(part)
    del frames
    for name, packed in payloads.chunks():
        page.write(_chunk(name, packed))
    page.write(foot)
    return page.getvalue()


def _around(making: _Making) -> tuple[str, str, str]:
    """What stands before the pages of frames, between them and the compressed chunks, and after these."""
    from shapelog.reporters.html.page_context import surroundings  # not before the other process is at work, which needs none of it

    report, with_code = making.report, making.options.with_source
    css, script = "".join(map(_asset, ("report.css", "charts.css"))), _asset("report.js")
    text = making.environment.get_template("report.html.j2").render(
        surroundings(report, making.anchors, making.views, with_code, making.redact or str),
        css=Markup(css),
        files=_FILES,
        outside=making.records.get("", ()),
        policy=_policy(script, css),
        script=Markup(script),
        version=__version__,
    )
    head, rest = text.split(_FRAMES_HERE)
    middle, foot = rest.split(_CHUNKS_HERE)
    return head, middle, foot


def _asset(name: str) -> str:
    return (template_dir() / "assets" / name).read_text(encoding="utf-8")


def _policy(script: str, style: str) -> str:
    """Nothing but the page's own style and script, by their hashes: whatever a trace brings cannot run or fetch."""
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)]
    return f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'"


def _by_label(report: Report, anchors: Anchors) -> dict[str, str]:
    """Label of a compile → its anchor, for labels that only one compile has."""
    found: dict[str, str] = {}
    for compile in report.trace.compiles:
        name = anchors.compile(compile)
        found[compile.label] = name if found.get(compile.label, name) == name else ""
    return {label: anchor for label, anchor in found.items() if anchor}

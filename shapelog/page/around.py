"""What a page shows beside its frames, as its template knows it."""

from collections.abc import Callable

from shapelog.health import health_of
from shapelog.joint import joint_findings
from shapelog.page.anchors import Anchors
from shapelog.page.frames import FrameView
from shapelog.page.groups import groups_of
from shapelog.page.icicle import icicle
from shapelog.page.overview import Overview, overview
from shapelog.page.ranks import TABLES, ranks_view
from shapelog.page.search import entries
from shapelog.page.stacks import stack_trie
from shapelog.page.timeline import timeline
from shapelog.report import Report


def surroundings(
    report: Report, anchors: Anchors, views: tuple[FrameView, ...], with_code: bool, redact: Callable[[str], str]
) -> dict[str, object]:
    """The parts of the page by the names that its template has for them; ``redact`` is for what goes to the script."""
    summary = overview(report, views)
    trie = stack_trie(report, anchors, with_code)
    return {
        "elsewhere": ("top_causes", "rank_agreement", *TABLES),
        "findings": joint_findings((item for item in report.findings if not item.rule.code.startswith("SL7")), report.trace),
        "groups": groups_of(report),
        "health": health_of(report),
        "icicle": icicle(trie),
        "index": _index(anchors, views, summary, redact),
        "more_frames": max(0, len({anchors.frame(item.frame) for item in report.frames}) - len(views)),
        "overview": summary,
        "ranks": ranks_view(report),
        "timeline": timeline(report, anchors, with_code),
        "trie": trie,
        "views": views,
    }


def _index(anchors: Anchors, views: tuple[FrameView, ...], summary: Overview, redact: Callable[[str], str]) -> dict[str, object]:
    """For the script: what the search finds, and the frame that each compile is told on."""
    found = [[where, redact(title), redact(text)] for where, title, text in entries(views, summary)]
    inside = {item.anchor: view.anchor for view in views for item in view.compiles}
    return {"entries": found, "inside": inside, "aliases": anchors.aliases}

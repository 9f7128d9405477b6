"""What a page shows beside its frames, as its template knows it."""

from collections.abc import Callable

from shapelog.report.merge_ranks import joint_findings
from shapelog.report.report import Report
from shapelog.report.results import Finding
from shapelog.report.trace_health import health_of
from shapelog.reporters.html.anchors import Anchors
from shapelog.reporters.html.call_tree import stack_trie
from shapelog.reporters.html.frame_page import FrameView
from shapelog.reporters.html.icicle import icicle
from shapelog.reporters.html.overview import Overview, overview
from shapelog.reporters.html.ranks import TABLES, ranks_view
from shapelog.reporters.html.search_index import entries
from shapelog.reporters.html.similar_graphs import groups_of
from shapelog.reporters.html.timeline import timeline
from shapelog.rules import Section


def surroundings(
    report: Report, anchors: Anchors, views: tuple[FrameView, ...], with_code: bool, redact: Callable[[str], str]
) -> dict[str, object]:
    """The parts of the page by the names that its template has for them; ``redact`` is for what goes to the script."""
    summary = overview(report, views)
    trie = stack_trie(report, anchors, with_code)
    return {
        "elsewhere": ("top_causes", "rank_agreement", *TABLES),
        "findings": (
            ("Limits and failures", _findings(report, Section.LIMITS, Section.FAILURES)),
            (Section.OTHER.value, _findings(report, Section.OTHER)),
        ),
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


def _findings(report: Report, *sections: Section) -> list[tuple[Finding, str]]:
    return joint_findings((item for item in report.findings if item.rule.section in sections), report.trace)


def _index(anchors: Anchors, views: tuple[FrameView, ...], summary: Overview, redact: Callable[[str], str]) -> dict[str, object]:
    """For the script: what the search finds, and the frame that each compile is told on."""
    found = [[where, redact(title), redact(text)] for where, title, text in entries(views, summary)]
    inside = {item.anchor: view.anchor for view in views for item in view.compiles}
    return {"entries": found, "inside": inside, "aliases": anchors.aliases}

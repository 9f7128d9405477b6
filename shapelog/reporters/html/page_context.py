"""What all parts of one page share, and the variables of its template."""

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import orjson

from shapelog.report.alerts.alert import Alerts
from shapelog.report.annotated_source import annotated_source
from shapelog.report.details.expression_tree import asked_expressions
from shapelog.report.details.vllm_passes import pass_diffs
from shapelog.report.interruptions import interruptions
from shapelog.report.merge_ranks import merged_findings, merged_frames
from shapelog.report.next_steps import next_steps
from shapelog.report.report import Report
from shapelog.report.results import Finding
from shapelog.report.trace_health import health_of
from shapelog.reporters import Options
from shapelog.reporters.html.anchors import Anchors, aliases_of, anchors_of, share
from shapelog.reporters.html.call_tree import call_tree
from shapelog.reporters.html.chunks import Chunk, page_chunk
from shapelog.reporters.html.frame_page import FrameView, frame_views
from shapelog.reporters.html.handbook import Handbook, handbook_of
from shapelog.reporters.html.icicle import icicle
from shapelog.reporters.html.overview import graph_breaks, overview
from shapelog.reporters.html.phases import phases_of
from shapelog.reporters.html.record_rows import PageRecords, page_records
from shapelog.reporters.html.redact import redaction_of
from shapelog.reporters.html.search_index import Searchable, search_entries
from shapelog.reporters.html.similar_graphs import groups_of
from shapelog.reporters.html.timeline import timeline
from shapelog.reporters.html.views.failures_page import FailuresPage, failures_page
from shapelog.reporters.html.views.functions_page import function_rows, recompilations
from shapelog.reporters.html.views.source_page import SourcePage, source_page
from shapelog.reporters.html.views.what_if_page import what_if_view
from shapelog.rules import AlertKind, Section
from shapelog.text import plural, rank_list

# Values of ``--embed`` that let the page become as large as it takes.
_UNLIMITED = ("recompiled", "all")
# Tables of the page of ranks.
_RANK_TABLES = ("ranks", "rank_sizes", "collective_parity", "rank_seconds", "rank_runtimes")
_VLLM_TABLES = ("vllm", "vllm_pieces", "vllm_passes", "vllm_config")
# Findings that have a card under failures and breaks.
_ON_CARDS = frozenset((AlertKind.FAILURE, AlertKind.LIMIT))
# Frames that have a page; the others are counted.
_MAX_FRAMES = 1000
# Compiles that are shown in full, those of the frames that matter most first; of the others only the causes are shown.
_MAX_FULL = 150
# Files whose records are counted by kind.
_MAX_FILES = 8


class PageContext(NamedTuple):
    """A report as one page shows it. ``redact`` is None where the page holds code, payloads and absolute paths."""

    found: Alerts
    options: Options
    anchors: Anchors
    views: tuple[FrameView, ...]
    records: PageRecords
    handbook: Handbook
    source: SourcePage
    failures: FailuresPage
    redact: Callable[[str], str] | None
    is_unlimited: bool

    @property
    def report(self) -> Report:
        return self.found.report


def page_context(found: Alerts, options: Options) -> PageContext:
    report = found.report
    is_unlimited = options.embed in _UNLIMITED
    merged = merged_frames(report, with_values=True)
    anchors = anchors_of(report.trace)
    for item in merged:  # identical frames of several ranks have one page, that of the first
        for member in item.members[1:]:
            share(anchors, item.first.frame, member.frame)
    source = source_page(annotated_source(found, options.with_source), found.repository, anchors, options.with_source)
    views = frame_views(report, merged[:_MAX_FRAMES], anchors, math.inf if is_unlimited else _MAX_FULL)
    return PageContext(
        found=found,
        options=options,
        anchors=anchors,
        views=views,
        records=page_records(report, views, options),
        handbook=handbook_of(found),
        source=source,
        failures=failures_page(interruptions(found), source, anchors, graph_breaks(report)),
        redact=None if options.with_source else cache(redaction_of(report.trace)),
        is_unlimited=is_unlimited,
    )


def result_variables(context: PageContext) -> dict[str, object]:
    """The variables of ``report.html.j2`` that hold results, but for the pages of frames."""
    report, anchors, views, with_source = context.report, context.anchors, context.views, context.options.with_source
    summary = overview(report, views, next_steps(context.found))
    tree = call_tree(report, with_source)
    graphs = groups_of(report)
    return {
        "call_tree": tree,
        "tables_elsewhere": (
            "top_causes",
            "graph_breaks",
            "restarts",
            "exports",
            "export_symbols",
            *_VLLM_TABLES,
            "rank_agreement",
            *_RANK_TABLES,
        ),
        "max_files": _MAX_FILES,
        "findings": (
            ("Limits and failures", _findings(report, Section.LIMITS, Section.FAILURES, without=_ON_CARDS)),
            (Section.OTHER.value, _findings(report, Section.OTHER)),
        ),
        "vllm_tables": [table for name in _VLLM_TABLES if (table := report.table(name))],
        "vllm_diffs": pass_diffs(report) if with_source else (),
        "export_expressions": [(export, trees) for export in report.trace.exports if (trees := asked_expressions(export))],
        "export_findings": [item for item in report.findings if item.rule.section is Section.EXPORTS],
        "offered": _offered(report, bool(graphs.within or graphs.across)),
        "similar_graphs": graphs,
        "failures_and_breaks": context.failures,
        "functions": function_rows(views),
        "recompilations": recompilations(views),
        "health": health_of(report),
        "icicle": icicle(tree),
        "index": _index(context),
        "more_frames": max(0, len({anchors[item.frame] for item in report.frames}) - len(views)),
        "source": context.source,
        "records_outside": context.records.rows.get("", ()),
        "overview": summary,
        "phases": phases_of(report),
        "rank_findings": [item for item in report.findings if item.rule.section is Section.RANKS],
        "rank_tables": [table for name in _RANK_TABLES if (table := report.table(name))],
        "ranks_in_full": _ranks_in_full(report),
        "timeline": timeline(report, with_source),
        "views": views,
        "what_if": what_if_view(report.advice, anchors),
    }


def _offered(report: Report, has_graphs: bool) -> frozenset[str]:
    """The views that are there in some reports only; one that would hold nothing but its title is left out."""
    advice = report.advice
    has_advice = advice is None or bool(
        advice.suggestions or advice.remaining or advice.left_out or advice.caveats or advice.alternatives or advice.pgo
    )
    return frozenset(name for name, is_there in (("advice", has_advice), ("graphs", has_graphs)) if is_there)


def _findings(report: Report, *sections: Section, without: frozenset[AlertKind] = frozenset()) -> list[tuple[Finding, str]]:
    """``without`` those of these kinds that are about a frame."""
    found = (item for item in report.findings if item.rule.section in sections)
    return merged_findings((item for item in found if item.frame is None or item.rule.alert_kind not in without), report.trace)


def _ranks_in_full(report: Report) -> str:
    """Which ranks of a large job the page is about, "" where it is all of them."""
    trace = report.trace
    if report.ranks is None or not trace.representatives:
        return ""
    others = trace.rank_count - trace.covered_ranks
    more = f" {plural(others, 'more rank')} with the same causes in other numbers: compared only." if others else ""
    verb = "represents" if len(trace.representatives) == 1 else "represent"
    return f"Shown in full: {rank_list(trace.representatives)}, which {verb} all ranks that behaved the same.{more}"


def search_chunk(context: PageContext) -> Chunk:
    """What the search finds, as a list of lists."""
    redact = context.redact or str
    found = search_entries(
        Searchable(
            report=context.report,
            views=context.views,
            handbook=context.handbook,
            records=context.records,
            source=context.source,
            failures=context.failures,
        )
    )
    listed = [[item.where, redact(item.title), redact(item.text), item.kind] for item in found]
    return page_chunk("search-index", orjson.dumps(listed).decode())


def _index(context: PageContext) -> dict[str, object]:
    """For the script: the page that each compile and rule is on."""
    inside = {item.anchor: view.anchor for view in context.views for item in view.compiles} | dict.fromkeys(
        context.handbook.anchors, "rules"
    )
    return {"inside": inside, "aliases": aliases_of(context.anchors)}

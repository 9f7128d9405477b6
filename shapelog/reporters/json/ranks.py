"""The part ``ranks`` of the JSON report: all ranks of a job, compared. Times are in seconds."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # most traces are of one rank, and do without
    from shapelog.distributed.agreement import ComparedProperty
    from shapelog.distributed.compare_ranks import RankReport, Spread
    from shapelog.distributed.divergence import CrossSize, Divergence
    from shapelog.model.rank_summary import RankSummary


def ranks_data(report: "RankReport") -> dict[str, Any]:
    order = report.order
    return {
        "numbers": list(report.numbers),
        "missing": list(report.missing),
        "unread": list(report.unread),
        "agree": report.agrees,
        "compared": [_property_data(item) for item in report.properties],
        "divergence": _divergence_data(report.divergence) if report.divergence else None,
        "sizes": [_size_data(item) for item in report.sizes],
        "collective_mismatches": [
            {"compile_id": item.label, "title": item.title, "position": item.position, "sides": _sides_data(item.sides)}
            for item in report.mismatches
        ],
        "collective_parity": [
            {"compile_id": label, "ranks": list(ranks), "difference": item.difference, "missing_waits": item.missing_waits}
            for label, item, ranks in report.parity
        ],
        "execution_order": {"position": order.position, "sides": _sides_data(order.sides)} if order else None,
        "compile_seconds": [_spread_data(item) for item in report.compile_spread],
        "estimated_runtimes": [_spread_data(item) for item in report.runtime_spread],
        "processes": [_process_data(rank) for rank in report.ranks],
    }


def _property_data(item: "ComparedProperty") -> dict[str, Any]:
    groups = [{"ranks": list(group.ranks), "words": group.words} for group in item.groups]
    return {**item._asdict(), "groups": groups, "unknown": list(item.unknown), "note": item.note or None}


def _divergence_data(item: "Divergence") -> dict[str, Any]:
    return {
        "alike_before": item.position,
        "sentence": item.sentence,
        "sides": [
            {"ranks": list(side.ranks), "compile_id": side.label or None, "title": side.title or None, "words": side.words}
            for side in item.sides
        ],
    }


def _size_data(item: "CrossSize") -> dict[str, Any]:
    return {
        "compile_id": item.label,
        "title": item.title,
        "axis": item.axis,
        "values": [{"value": value, "ranks": list(ranks)} for value, ranks in item.values],
        "dynamic": item.is_dynamic,
        "recompiled": list(item.recompiled),
    }


def _sides_data(sides: Iterable[tuple[str, tuple[int, ...]]]) -> list[dict[str, Any]]:
    return [{"what": what or None, "ranks": list(ranks)} for what, ranks in sides]


def _spread_data(item: "Spread") -> dict[str, Any]:
    return {
        "compile_id": item.label,
        "title": item.title,
        "ranks": item.ranks,
        "fastest": {"rank": item.fastest[0], "seconds": item.fastest[1]},
        "median": item.median,
        "slowest": {"rank": item.slowest[0], "seconds": item.slowest[1]},
    }


def _process_data(rank: "RankSummary") -> dict[str, Any]:
    last = rank.steps[-1] if rank.steps else None
    return {
        "rank": rank.number,
        "process": rank.process or None,
        "torch_version": rank.torch_version or None,
        "compiles": len(rank.steps),
        "seconds": rank.seconds if rank.seconds or not rank.steps else None,
        "last_compile": last.label if last else None,
        "last_outcome": last.outcome if last else None,
        "last_record": rank.ended or None,
    }

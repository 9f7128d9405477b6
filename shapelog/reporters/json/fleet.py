"""What many jobs have in common, as JSON; ``shapelog/schema/fleet.schema.json`` describes it. Times are in seconds, dates in UTC."""

from datetime import datetime
from typing import Any

from shapelog.tables.fleet import Fleet, Since

# 1: first shape. 2: null for seconds that are not known. 3: exports. 4: exports since a date. 5: saved_least and _most.
FORMAT_VERSION = 5


def fleet_data(fleet: Fleet) -> dict[str, Any]:
    totals = fleet.totals
    return {
        "format": "shapelog fleet",
        "format_version": FORMAT_VERSION,
        "tables": fleet.folder,
        "totals": {**totals._asdict(), "first": _date(totals.first), "last": _date(totals.last)},
        "since": _since_data(fleet.since) if fleet.since else None,
        "advice": [item._asdict() for item in fleet.advice],
        "causes": [item._asdict() for item in fleet.causes],
        "failures": [item._asdict() for item in fleet.failures],
        "exports": [item._asdict() for item in fleet.exports],
        "unreadable": [item._asdict() for item in fleet.unreadable],
    }


def _since_data(since: Since) -> dict[str, Any]:
    return {
        "date": _date(since.date),
        "before": since.before._asdict(),
        "after": since.after._asdict(),
        "undated": since.undated,
        "compared": since.compared,
        "regressions": [item._asdict() for item in since.regressions],
        "exports_compared": since.exports_compared,
        "export_regressions": [item._asdict() for item in since.export_regressions],
    }


def _date(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="seconds")

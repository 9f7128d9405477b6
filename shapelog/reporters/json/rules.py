"""The handbook of rules as JSON; ``shapelog/schema/rules.schema.json`` describes it."""

from collections.abc import Iterable
from typing import Any

from shapelog.rule_docs import Entry, link

# 1: first shape. 2: the verdict 'not finished'.
FORMAT_VERSION = 2


def rules_data(entries: Iterable[Entry]) -> dict[str, Any]:
    return {"format": "shapelog rules", "format_version": FORMAT_VERSION, "rules": [_entry_data(item) for item in entries]}


def rule_data(entry: Entry) -> dict[str, Any]:
    return rules_data([entry])


def _entry_data(item: Entry) -> dict[str, Any]:
    rule = item.rule
    return {
        "code": rule.code,
        "name": rule.name,
        "kind": rule.verdict.value,
        "size_related": rule.size_related,
        "remedy": rule.remedy,
        "meaning": item.meaning,
        "example": item.example,
        "cost": item.cost,
        "fix": item.fix,
        "url": link(rule),
    }

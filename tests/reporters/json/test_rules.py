"""The rules as JSON: exactly what their schema requires."""

import json

from json_schemas import faults

from shapelog.reporters import Options, renderer
from shapelog.rule_docs import entries, entry
from shapelog.rules import RULES


def test_all_rules_and_one_rule_are_as_the_schema_requires() -> None:
    every, one = (
        json.loads(renderer("rules", "json")(entries(), Options())),
        json.loads(renderer("rule", "json")(entry("SL307"), Options())),
    )
    assert faults("rules", every) == faults("rules", one) == []
    assert [item["code"] for item in every["rules"]] == sorted(RULES)
    assert one["rules"] == [item for item in every["rules"] if item["code"] == "SL307"]
    assert one["rules"][0]["kind"] == "avoidable by a code change"
    assert faults("rules", {**one, "more": 1})

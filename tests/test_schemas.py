"""The schemas of what shapelog writes for programs: exact, with the values that the code knows, and no other shape under an old version."""

import hashlib
import json
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import make
import pytest
from json_schemas import SCHEMA, schema
from jsonschema import Draft202012Validator

from shapelog import errors
from shapelog.advice import suggestions
from shapelog.check.policy import Metric
from shapelog.fix.patches import How
from shapelog.model.compile import Outcome
from shapelog.model.exports import ExportResult
from shapelog.recompiles.shape_table import State
from shapelog.report.details.uncompiled_calls import Eager
from shapelog.report.frame_changes import DynamicSince, Effect, Gain, Loss
from shapelog.report.report import analyze
from shapelog.report.steps.step import StepKind
from shapelog.reporters.json import advice, check, compare, explain, extraction, fix, fleet, lines, report, rules, trend, verification
from shapelog.rules import AlertKind, Level, Verdict

Schema = dict[str, Any]
VERSIONS = {
    "advice": advice.FORMAT_VERSION,
    "check": check.FORMAT_VERSION,
    "comparison": compare.FORMAT_VERSION,
    "extraction": extraction.FORMAT_VERSION,
    "fleet": fleet.FORMAT_VERSION,
    "fix": fix.FORMAT_VERSION,
    "lines": lines.FORMAT_VERSION,
    "report": report.FORMAT_VERSION,
    "rules": rules.FORMAT_VERSION,
    "story": explain.FORMAT_VERSION,
    "trend": trend.FORMAT_VERSION,
    "verification": verification.FORMAT_VERSION,
}
NAMES = sorted(VERSIONS)
_SHAPES = Path(__file__).parent / "schemas" / "shapes.json"
_WORDS = ("description", "title")  # a property may have such a name, too
_OF_RECOMPILES = [verdict.value for verdict in Verdict if verdict not in (Verdict.TRACE, Verdict.BUDGET)]


def parts(part: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Every object in a schema with its path, without the words of the grammar that lead to it."""
    if isinstance(part, list):
        for item in part:
            yield from parts(item, path)
    elif isinstance(part, dict):
        yield path, part
        for key, value in part.items():
            yield from parts(value, path if key in ("properties", "$defs", "items", "anyOf", "oneOf") else (*path, key))


def types(part: Schema) -> list[str]:
    found = part.get("type", [])
    return [found] if isinstance(found, str) else found


def values(kind: type[Enum]) -> list[str]:
    return [item.value for item in kind]


def words_left_out(part: object) -> object:
    """A schema without what only explains it, in one order."""
    if isinstance(part, list):
        return sorted(map(words_left_out, part), key=json.dumps)
    if isinstance(part, dict):
        kept = {key: value for key, value in sorted(part.items()) if key not in _WORDS or not isinstance(value, str)}
        return {key: words_left_out(value) for key, value in kept.items() if key != "format_version"}
    return part


def shape(name: str) -> str:
    """Sixteen digits that change with each field, type and value of a schema, and with none of its words."""
    return hashlib.sha256(json.dumps(words_left_out(schema(name))).encode()).hexdigest()[:16]


def test_every_schema_is_tested() -> None:
    assert sorted(path.name.removesuffix(".schema.json") for path in SCHEMA.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one_of_2020_12_and_bears_the_version_of_the_code(name: str) -> None:
    found = schema(name)
    Draft202012Validator.check_schema(found)
    assert found["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert found["title"] == f"shapelog {name}"
    heads = [found] if "properties" in found else [found["$defs"][part] for part in ("check", "report")]
    for head in heads:
        assert head["properties"]["format"]["const"] == f"shapelog {name}"
        assert head["properties"]["format_version"]["const"] == VERSIONS[name]


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_exact_and_describes_each_part(name: str) -> None:
    for path, part in parts(schema(name)):
        if "object" in types(part):
            assert part["description"], path
        if "object" in types(part) and "properties" in part:
            assert part["additionalProperties"] is False, path
            assert sorted(part["required"]) == sorted(part["properties"]), path


@pytest.mark.parametrize("name", NAMES)
def test_a_shape_that_changed_has_another_version(name: str) -> None:
    known = json.loads(_SHAPES.read_text(encoding="utf-8"))[name]
    if shape(name) != known["shape"]:
        assert VERSIONS[name] != known["version"], "raise its FORMAT_VERSION, and say what changed there and in the changelog"
    assert {"version": VERSIONS[name], "shape": shape(name)} == known, f"then write this into {_SHAPES.name}"


def test_words_change_no_shape_and_everything_else_does() -> None:
    one = schema("check")
    same = {**one, "title": "other", "description": "other", "required": one["required"][::-1]}
    assert words_left_out(one) == words_left_out(same)
    level = one["$defs"]["alert"]["properties"]["level"]
    for other in ({**level, "enum": level["enum"][1:]}, {**level, "type": "string"}):
        assert words_left_out(level) != words_left_out(other)


# By schema, "" for all of them, and the end of the path.
ENUMS = {
    ("fix", "how"): values(How),
    ("trend", "outcome"): values(Effect),
    ("", "kinds"): values(AlertKind),
    ("", "fail_on"): values(AlertKind),
    ("", "level"): values(Level),
    ("", "metric"): values(Metric),
    ("", "severity"): [errors.INFO, errors.DEGRADED, errors.DATA_LOSS],
    ("", "outcome"): values(Outcome),
    ("", "verdict"): _OF_RECOMPILES,
    ("", "confidence"): list({level for level, _ in suggestions._CONFIDENCE.values()}),
    ("", "state"): values(State),
    ("", "effect"): values(Effect),
    ("", "since"): values(DynamicSince),
    ("", "eager"): values(Eager),
    ("", "gains"): values(Gain),
    ("", "losses"): values(Loss),
    ("comparison", "kind"): ["matched", "new", "gone"],
    ("fleet", "kind"): ["mark as dynamic", "code change"],
    ("fleet", "outcome"): [Outcome.FAILED.value, Outcome.LIMIT.value],
    ("verification", "kind"): ["matched", "new", "gone"],
    ("advice", "kind"): values(StepKind),
    ("check", "kind"): values(StepKind),
    ("lines", "kind"): values(StepKind),
    ("report", "kind"): values(StepKind),
    ("report", "result"): values(ExportResult),
    ("rules", "kind"): values(Verdict),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_enums_are_those_of_the_code(name: str) -> None:
    for path, part in parts(schema(name)):
        if "enum" in part and path[-2:] != ("compared", "name"):
            known = ENUMS.get((name, path[-1])) or ENUMS["", path[-1]]
            assert sorted(part["enum"]) == sorted(known), path


def test_the_compared_properties_of_ranks_are_those_of_the_code() -> None:
    job = analyze(make.load_ranks(make.small_trace(), make.small_trace()))
    assert job.ranks is not None
    names = schema("report")["properties"]["ranks"]["properties"]["compared"]["items"]["properties"]["name"]["enum"]
    assert names == [item.name for item in job.ranks.properties]


def test_definitions_in_two_schemas_are_the_same() -> None:
    in_check, in_lines, in_report, in_story = (schema(name)["$defs"] for name in ("check", "lines", "report", "story"))
    for name in ("alert", "budget"):
        line = dict(in_lines[name]["properties"])
        assert line.pop("type") == {"const": name}
        assert line == in_check[name]["properties"]
    assert words_left_out(schema("check")["properties"]["next_steps"]) == words_left_out(schema("report")["properties"]["next_steps"])
    for name in ("recompile", "cause", "reason"):
        assert in_report[name] == in_story[name]
    alone = dict(schema("advice")["properties"])
    assert words_left_out(alone.pop("next_steps")) == words_left_out(schema("report")["properties"]["next_steps"])
    alone = words_left_out(alone)
    assert words_left_out(schema("report")["properties"]["advice"]["anyOf"][0]["properties"]) == alone
    assert words_left_out(schema("verification")["properties"]["advice"]["properties"]) == alone

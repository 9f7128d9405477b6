"""Text that people pasted into issues gets the answer that its thread came to."""

import json
from pathlib import Path
from typing import Any

import pytest

from shapelog import load
from shapelog.errors import ShapelogError
from shapelog.report.report import analyze
from shapelog.reporters.json.report import report_data

PASTED = Path(__file__).parents[3] / "fixtures" / "text_logs" / "pasted"
TRUTH: dict[str, dict[str, Any]] = json.loads((PASTED / "truth.json").read_text(encoding="utf-8"))
ANSWERED = sorted(name for name, truth in TRUTH.items() if not truth.get("refusal_allowed"))


def answer(name: str) -> dict[str, Any]:
    return report_data(analyze(load(PASTED / name), debug=True))


@pytest.mark.parametrize("name", ANSWERED)
def test_the_cause_and_its_place_are_found(name: str) -> None:
    data, truth = answer(name), TRUTH[name]
    text = json.dumps(data)
    assert [words for words in truth.get("contains", ()) if words not in text] == []
    if "codes" in truth:
        found = [item for item in data["recompiles"] if set(truth["codes"]) & set(item["causes"])]
        assert found
        assert all(item["size_related"] == truth["size"] for item in found if "size" in truth)
    if "any" in truth:
        assert any(f'"{code}"' in text for code in truth["any"])


@pytest.mark.parametrize("name", [name for name in ANSWERED if "recompiles" in TRUTH[name]])
def test_each_recompile_is_counted_once(name: str) -> None:
    assert len(answer(name)["recompiles"]) == TRUTH[name]["recompiles"]


@pytest.mark.parametrize("name", [name for name in ANSWERED if TRUTH[name].get("limit")])
def test_the_limit_is_reported_from_its_warning_alone(name: str) -> None:
    assert "SL401" in {item["code"] for item in answer(name)["diagnostics"]}


@pytest.mark.parametrize("name", sorted(set(TRUTH) - set(ANSWERED)))
def test_a_table_of_somebody_else_is_refused(name: str) -> None:
    with pytest.raises(ShapelogError, match=r"not a torch\.compile trace"):
        load(PASTED / name)

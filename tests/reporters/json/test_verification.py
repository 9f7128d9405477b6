"""A verification as JSON: exactly what its schema requires."""

import json

import make
import pytest
from json_schemas import faults
from recorded import RECORDED, report_of

from shapelog.advice.compile_seconds import DYNAMIC_OVER_STATIC, RUN_TO_RUN
from shapelog.reporters import Options, renderer
from shapelog.reporters.json.advice import advice_data
from shapelog.reporters.json.compare import comparison_data
from shapelog.reporters.json.verification import verification_data

THREE = make.trace(make.static_sizes(10, 12, 14))


@pytest.mark.parametrize(("before", "after"), list(zip(RECORDED[::2], [*RECORDED[1::2], RECORDED[0]], strict=False)))
def test_any_two_runs_give_what_the_schema_requires(before: str, after: str) -> None:
    data = json.loads(renderer("verification", "json")(make.verification(report_of(before), report_of(after)), Options()))
    assert faults("verification", data) == []


def test_the_json_holds_both_runs_and_the_prediction() -> None:
    found = make.verification(THREE, make.trace(make.static_sizes(10, 12)))
    data = verification_data(found)
    assert (data["format"], data["helped"], data["exact"], data["env"]) == ("shapelog verification", True, False, "L['x']:0")
    assert data["compiles"] == {"before": 3, "predicted": 1, "measured": 2}
    assert data["limit_hits"] == {"before": 0, "predicted": 0, "measured": 0}
    predicted = {"least": pytest.approx(1 / RUN_TO_RUN), "most": pytest.approx(DYNAMIC_OVER_STATIC * RUN_TO_RUN)}
    assert data["seconds"] == {"before": 3.0, "predicted": predicted, "measured": 2.0, "inside": True}
    assert (data["exit_codes"], data["wall_seconds"]) == ({"before": 0, "after": 0}, {"before": 2.0, "after": 1.5})
    assert data["frames"] == [{"title": "f", "before": 3, "predicted": 1, "measured": 2}]
    assert (data["advice"], data["comparison"]) == (advice_data(found.advice), comparison_data(found.comparison))


def test_a_field_that_the_schema_does_not_know_is_a_fault() -> None:
    data = verification_data(make.verification(THREE, make.trace(make.dynamic_size("0/0"))))
    assert faults("verification", data) == []
    assert faults("verification", {**data, "news": 1})
    assert faults("verification", {name: part for name, part in data.items() if name != "helped"})
    assert faults("verification", {**data, "advice": {**data["advice"], "news": 1}})

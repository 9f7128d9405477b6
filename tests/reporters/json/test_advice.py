"""The advice as JSON: exactly what its schema requires."""

import json

import make
import pytest
from json_schemas import faults
from recorded import RECORDED, report_of

from shapelog.advice.advise import Advice, advise
from shapelog.advice.compile_seconds import DYNAMIC_OVER_STATIC, RUN_TO_RUN
from shapelog.advice.paste_formats import as_shell
from shapelog.model.ids import TorchVersion
from shapelog.report.next_steps import advised_run
from shapelog.reporters import Options, renderer
from shapelog.reporters.json.advice import advice_data, advised_run_data
from shapelog.reporters.json.report import report_data


def advice_on(*lengths: int, version: TorchVersion | None = None) -> Advice:
    return advise(make.explain(make.trace(make.static_sizes(*lengths))), version)


PLAIN = advice_on(10, 12)


@pytest.mark.parametrize("name", RECORDED)
def test_the_advice_on_a_fixture_is_as_the_schema_requires(name: str) -> None:
    report = report_of(name)
    assert report.advice is not None
    run = advised_run(report, report.advice)
    data = json.loads(renderer("advised run", "json")(run, Options()))
    assert faults("advice", data) == []
    assert data == advised_run_data(run)
    assert data.pop("next_steps") == report_data(report)["next_steps"]
    assert data == advice_data(report.advice)


@pytest.mark.parametrize("name", RECORDED)
def test_the_sums_of_the_advice_are_those_of_its_frames(name: str) -> None:
    advice = report_of(name).advice
    assert advice is not None, name
    data = advice_data(advice)
    for field in ("compiles", "predicted_compiles", "seconds"):
        assert data[field] == pytest.approx(sum(frame[field] for frame in data["frames"])), name
    ranges = [frame["predicted_seconds"] for frame in data["frames"]]
    assert data["predicted_seconds"]["least"] == pytest.approx(sum(each["least"] for each in ranges)), name
    ends = [each["most"] for each in ranges]
    assert data["predicted_seconds"]["most"] == (None if None in ends else pytest.approx(sum(ends))), name


def test_a_field_that_the_schema_does_not_know_is_a_fault() -> None:
    data = advised_run_data(make.advised(PLAIN))
    assert faults("advice", data) == []
    assert faults("advice", {**data, "news": 1})
    assert faults("advice", {name: part for name, part in data.items() if name != "env"})
    assert faults("advice", {**data, "suggestions": [{**data["suggestions"][0], "confidence": "sure"}]})


def test_the_json_of_a_list_with_one_entry() -> None:
    data = advice_data(PLAIN)
    assert (data["env"], data["sources"], data["shell"], data["why_empty"]) == ("L['x']:0", ["L['x']:0"], as_shell(PLAIN), None)
    assert (data["torch_version"], data["torch_version_given"]) == ("2.13", False)
    assert (data["compiles"], data["predicted_compiles"], data["seconds"]) == (2, 1, 2.0)
    assert data["predicted_seconds"] == {"least": pytest.approx(1 / RUN_TO_RUN), "most": pytest.approx(DYNAMIC_OVER_STATIC * RUN_TO_RUN)}
    assert data["saved_seconds"] == {"least": 0.0, "most": 1.0}
    assert data["predicted_compiles_at_most"] == 1
    (suggestion,) = data["suggestions"]
    assert suggestion["seen"] == [
        {
            "axis": "x.size[0]",
            "dim": 0,
            "values": [{"compile_id": "0/0", "value": "10"}, {"compile_id": "0/1", "value": "12"}],
            "bounds": [],
        }
    ]
    assert (suggestion["dims"], suggestion["codes"], suggestion["compiles_gone"]) == ([0], ["SL101"], ["0/1"])
    assert suggestion["python"] == ["torch._dynamo.mark_dynamic(x, 0)  # sizes 10–12 seen; add min= and max= only if no other sizes occur"]


def test_the_json_has_the_reason_why_there_is_no_list() -> None:
    data = advice_data(advice_on(10, 12, version=TorchVersion(2, 6)))
    assert (data["env"], data["shell"], data["torch_version"], data["torch_version_given"]) == ("", "", "2.6", True)
    assert data["why_empty"].startswith("torch before 2.7 does not read a list")
    assert data["predicted_compiles"] == 1

"""Exports as JSON."""

import json
from typing import Any

from recorded import report_of

from shapelog.reporters import Options, renderer


def exported(name: str) -> dict[str, Any]:
    data = json.loads(renderer("report", "json")(report_of(f"real/2.13/{name}.log.gz"), Options()))
    (found,) = data["exports"]
    assert isinstance(found, dict)
    return found


def test_an_export_has_its_result_and_its_symbols() -> None:
    found = exported("export_good")
    assert (found["result"], found["draft"], found["detailed"]) == ("exported", False, True)
    assert found["symbols"][1] == {
        "symbol": "s27",
        "source": "L['tokens'].size()[1]",
        "example": "16",
        "declared": {"least": 2, "most": 512},
        "accepted": {"least": 2, "most": 512},
        "fixed_to": None,
        "made_at": None,
    }


def test_a_draft_export_has_what_it_assumed() -> None:
    found = exported("export_draft")
    assert [item["expression"] for item in found["assumptions"]] == ["u3 >= 3", "u4 > 2"]
    asked = found["expressions"][0]
    assert (asked["expression"], asked["answer"]) == ("u3 >= 3", "assumed to be True")
    assert [item["expression"] for item in asked["made_by"]["operands"]] == ["u3"]
    assert found["missing_fake_kernels"] == ["mylib.count.default"]
    assert found["mismatched_fake_kernels"][0]["operator"] == "mylib.scale.default"

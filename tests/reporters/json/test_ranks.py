"""The ranks of a job as JSON: exactly what the schema of the report requires."""

import json

from jobs import ALIKE, HANGS, PARTED, SIZES
from json_schemas import faults

from shapelog.reporters.json.report import report_data


def test_the_ranks_of_a_job_are_as_the_schema_requires() -> None:
    for item in (ALIKE, PARTED, SIZES, HANGS):
        assert faults("report", json.loads(json.dumps(report_data(item)))) == []


def test_the_ranks_on_each_side_of_a_divergence_and_the_position_of_a_mismatch() -> None:
    ranks = report_data(PARTED)["ranks"]
    assert ranks["divergence"]["alike_before"] == 1
    assert [side["ranks"] for side in ranks["divergence"]["sides"]] == [[0, 1, 2], [3]]
    assert report_data(HANGS)["ranks"]["collective_mismatches"][0]["position"] == 1

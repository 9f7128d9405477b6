"""What stands in header after header is decoded once, and never hides anything that is wrong."""

import json
from typing import Any

import orjson
import pytest

from shapelog.repeats import Repeats

SETTINGS = json.dumps({"max_autotune": False, "cpp.cxx": ["g++"], "words": 'with "quotes" and }"'})


def header(settings: str = SETTINGS, seconds: float = 1.5, more: int = 0) -> bytes:
    body: dict[str, Any] = {"co_name": "f" * more, "inductor_config": settings, "seconds": seconds, "functorch_config": settings}
    return json.dumps({"compilation_metrics": body, "frame_id": 0}).encode()


def test_known_settings_are_left_out_and_the_rest_stays() -> None:
    repeats = Repeats()
    for seconds in (1.5, 2.5, 3.5):
        slim = repeats.without(header(seconds=seconds))
        assert len(slim) < len(header()) - len(SETTINGS)
        assert orjson.loads(slim) == {
            "compilation_metrics": {"co_name": "", "inductor_config": "", "seconds": seconds, "functorch_config": ""},
            "frame_id": 0,
        }


def test_settings_of_dynamo_are_read_once() -> None:
    repeats = Repeats()
    headers = [json.dumps({"compilation_metrics": {"dynamo_config": text}}).encode() for text in (SETTINGS, SETTINGS, "{}", SETTINGS, "{}")]
    found = [orjson.loads(repeats.without(text))["compilation_metrics"]["dynamo_config"] for text in headers]
    assert found == [SETTINGS, "", "{}", "", ""]


def test_settings_are_found_wherever_they_stand() -> None:
    repeats = Repeats()
    for more in (0, 5000, 3, 20_000):
        assert orjson.loads(repeats.without(header(more=more)))["compilation_metrics"]["inductor_config"] == ""


def test_changed_settings_are_left_out_as_well() -> None:
    repeats = Repeats()
    for number in range(4):
        found = orjson.loads(repeats.without(header(json.dumps({"number": number}))))
        assert found["compilation_metrics"]["inductor_config"] == ""


def test_settings_that_change_all_the_time_are_not_piled_up() -> None:
    repeats = Repeats()
    texts = [json.dumps({"number": number}) for number in range(50)]
    found = [orjson.loads(repeats.without(header(text)))["compilation_metrics"]["inductor_config"] for text in texts]
    assert found[0] == ""
    assert found[-1] == texts[-1]


@pytest.mark.parametrize(
    "text",
    [
        b'{"inductor_config": null, "other": "{}"}',
        b'{"inductor_config": "none", "other": "{}"}',
        b'{"inductor_config": "", "seconds": 1.0, "other": "{}"}',
        b'{"note": "\\"inductor_config\\": \\"{}\\"", "other": "{}"}',
        b'{"note": "inductor_config", "other": "{}"}',
        b"{}",
    ],
)
def test_what_only_looks_like_settings_stays(text: bytes) -> None:
    repeats = Repeats()
    repeats.without(header())
    assert orjson.loads(repeats.without(text)) == orjson.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        b'{"compilation_metrics": {"inductor_config": "{\x01}", "seconds": 1.0}}',
        b'{"compilation_metrics": {"inductor_config": "{\\q}", "seconds": 1.0}}',
        b'{"compilation_metrics": {"inductor_config": "{\xff}", "seconds": 1.0}}',
        b'{"compilation_metrics": {"inductor_config": "{}" "seconds": 1.0}}',
        b'{"compilation_metrics": {"inductor_config": "{}',
        header()[:-1],
        header()[:-40],
    ],
)
def test_a_broken_header_stays_broken(text: bytes) -> None:
    repeats = Repeats()
    for _ in range(2):
        repeats.without(header())
        with pytest.raises(orjson.JSONDecodeError):
            orjson.loads(repeats.without(text))

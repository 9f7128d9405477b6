"""What stands in header after header is decoded once, and never hides anything that is wrong."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shapelog.reading.header_trimming import Repeats, without_stack

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


FRAMES = [
    {"line": 8, "name": "<module>", "filename": 1, "loc": 'f(x[{1}], "a": 2)'},
    {"line": 9, "name": "}], ", "filename": 2, "loc": "g([{}], "},
]
OWN = [{"line": 3, "name": "f", "filename": 1, "loc": "y }]}, "}]
WHERE = {"frame_id": 0, "frame_compile_id": 1, "attempt": 0}


@pytest.mark.parametrize(
    "body",
    [
        {"symbol": "s0", "user_stack": OWN, "stack": FRAMES},
        {"symbol": "s0", "stack": FRAMES, "user_stack": OWN},
        {"symbol": "s0", "stack": FRAMES, "range": "[{2}], 3"},
        {"symbol": "s0", "stack": FRAMES},
        {"stack": FRAMES[:1], "values": [{"a": 1}], "source": "L['x']"},
    ],
)
@pytest.mark.parametrize("kind", ["create_symbol", "guard_added_fast"])
def test_a_stack_is_cut_out_and_nothing_else(kind: str, body: dict[str, Any]) -> None:
    text = json.dumps({kind: body, **WHERE}).encode()
    found = orjson.loads(without_stack(text))
    assert found == {kind: {**body, "stack": []}, **WHERE}


@pytest.mark.parametrize(
    "header",
    [
        {"create_symbol": {"stack": []}, **WHERE},
        {"create_symbol": {"user_stack": OWN}, **WHERE},
        {"create_symbol": {"stack": "none", "expr": '"stack": [{1}], "a"'}, **WHERE},
        {"create_symbol": {"stack": 3}},
        {"create_symbol": {"stack": FRAMES}},
    ],
)
def test_a_header_without_such_a_stack_stays(header: dict[str, Any]) -> None:
    text = json.dumps(header).encode()
    assert without_stack(text) == text


@pytest.mark.parametrize("inner", [[{"a": 1}], [{"a": 1}, {"b": 2}]])
@pytest.mark.parametrize("place", [0, 1])
def test_a_stack_of_another_shape_leaves_what_cannot_be_decoded(inner: list[Any], place: int) -> None:
    frames: list[dict[str, Any]] = [{"line": 1, "name": "f"}, {"line": 2, "name": "g"}]
    frames[place] = {"more": inner, **frames[place]}
    with pytest.raises(orjson.JSONDecodeError):
        orjson.loads(without_stack(json.dumps({"create_symbol": {"stack": frames, "symbol": "s0"}, **WHERE}).encode()))


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.fixed_dictionaries({"name": st.text('ab}]{[,:" \\', max_size=9), "loc": st.text('x}]{[,:" \\', max_size=12)}), max_size=4),
    st.text('ab}]{[,:" \\', max_size=12),
    st.permutations(["symbol", "user_stack", "stack", "val"]),
)
def test_strings_of_any_kind_are_no_end_of_a_stack(frames: list[dict[str, str]], text: str, order: list[str]) -> None:
    fields = {"symbol": text, "user_stack": frames[:1], "stack": frames, "val": text}
    body = {key: fields[key] for key in order}
    found = orjson.loads(without_stack(json.dumps({"create_symbol": body, **WHERE}).encode()))
    assert found in ({"create_symbol": body, **WHERE}, {"create_symbol": {**body, "stack": []}, **WHERE})

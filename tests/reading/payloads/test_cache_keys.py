"""What compile caches write: results, reasons, and the components of keys."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shapelog.reading.payloads.cache_keys import KeyDifference, key_differences, parse_cache_event

HASHES = [letter * 51 for letter in "abcdef"]


def component(name: str, value: str, hash: int = 0) -> str:
    return f"[{HASHES[hash]}] {name}: {value}"


def metadata(shape: str, stride: str = "(1,)", dtype: str = "torch.float32") -> str:
    return f"TensorMetadata(dtype={dtype}, shape=torch.Size({shape}), stride={stride}, device=device(type='cpu'), layout=torch.strided)"


def parsed(name: str, body: Any) -> Any:
    return parse_cache_event(name, json.dumps(body))


def test_a_miss_has_its_key_its_components_and_its_time() -> None:
    found = parsed("fx_graph_cache_miss", {"key": "f1", "components": [component("gm", "x")], "time_taken_ns": 2_500_000_000})
    assert (found.cache, found.result, found.key) == ("FX graph cache", "miss", "f1")
    assert (found.components, found.seconds) == ((component("gm", "x"),), 2.5)


@pytest.mark.parametrize(("name", "value"), [("time_saved_ns", 7.5e9), ("time_saved_ms", 7500.0)])
def test_a_hit_has_what_it_saved(name: str, value: float) -> None:
    assert parsed("aotautograd_cache_hit", {name: value}).saved_seconds == 7.5


def test_lines_that_are_items_of_their_own_belong_to_the_component_before_them() -> None:
    found = parsed("fx_graph_cache_miss", {"components": [component("gm", "<lambda>()"), "", "def forward(self):", component("x", "1")]})
    assert found.components == (f"{component('gm', '<lambda>()')}\n\ndef forward(self):", component("x", "1"))


@pytest.mark.parametrize(
    ("artifact", "body", "reason"),
    [
        ("fx_graph_cache_bypass", {"cache_bypass_reason": "freezing"}, "freezing"),
        (
            "aotautograd_cache_bypass",
            {"cache_bypass_reason": "no custom ops", "cache_bypass_exception_type": "BypassAOTAutogradCache"},
            "no custom ops",
        ),
        (
            "aotautograd_cache_pickle_failure",
            {"error": "no 'x'", "field": "compiled_fw"},
            "compiled_fw cannot be saved: no 'x'",
        ),
        (
            "aotautograd_cache_bypass",
            {"cache_bypass_reason": "no attribute 'graph'", "cache_bypass_exception_type": "AttributeError"},
            "AttributeError: no attribute 'graph'",
        ),
        ("precompile_cache_bypass", {"_reason": "no source"}, "no source"),
        ("fx_graph_cache_bypass", {}, ""),
    ],
)
def test_a_bypass_has_pytorchs_reason(artifact: str, body: dict[str, str], reason: str) -> None:
    assert parsed(artifact, body).reason == reason


def test_a_bypass_that_is_no_json_is_its_own_reason() -> None:
    assert parse_cache_event("dynamo_cache_bypass", "no entry \n").reason == "no entry"


def test_settings_and_shapes_that_differ_are_named_with_both_values() -> None:
    before = [
        component("example_inputs[0]", metadata("[8, 4]")),
        component("inductor_config[max_autotune]", "False"),
        component("same", "1"),
    ]
    after = [
        component("example_inputs[0]", metadata("[9, 4]", "(4, 1)"), 1),
        component("inductor_config[max_autotune]", "True", 1),
        component("same", "1"),
        component("more", "2"),
    ]
    assert key_differences(before, after) == (
        KeyDifference("example_inputs[0]", "shape [8, 4]", "shape [9, 4]"),
        KeyDifference("inductor_config[max_autotune]", "False", "True"),
        KeyDifference("more", None, "2"),
    )


def test_a_dtype_that_differs_is_named_alone() -> None:
    (found,) = key_differences([component("x", metadata("[8]"))], [component("x", metadata("[8]", dtype="torch.int64"), 1)])
    assert found == KeyDifference("x", "dtype torch.float32", "dtype torch.int64")


def test_a_symbolic_size_that_is_new_moves_the_tensors_behind_it_and_these_are_compared_all_the_same() -> None:
    static = [component("example_inputs[0]", metadata("[4, 8]")), component("example_inputs[1]", metadata("[8]"), 1)]
    dynamic = [
        component("example_inputs[0]", "('s33',)"),
        component("example_inputs[1]", metadata("[s33, 8]"), 2),
        component("example_inputs[2]", metadata("[8]"), 1),
    ]
    assert key_differences(static, dynamic) == (
        KeyDifference("example_inputs[0]", None, "s33"),
        KeyDifference("example_inputs[1]", "shape [4, 8]", "shape [s33, 8]"),
    )
    assert key_differences(dynamic, static) == (
        KeyDifference("example_inputs[0]", "shape [s33, 8]", "shape [4, 8]"),
        KeyDifference("example_inputs[0]", "s33", None),
    )


def test_a_component_that_is_gone_is_named() -> None:
    assert key_differences([component("x", "1")], []) == (KeyDifference("x", "1", None),)


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    parse_cache_event("fx_graph_cache_miss", text)
    key_differences([text], [f"[{HASHES[0]}] {text}", f"[{HASHES[1]}] x: TensorMetadata({text}"])


@pytest.mark.parametrize("body", [[], 1, {"components": "x"}, {"components": [1, None]}, {"time_taken_ns": -1}, {"time_saved_ns": "x"}])
def test_fields_of_another_type_are_left_out(body: object) -> None:
    found = parsed("fx_graph_cache_hit", body)
    assert (found.components, found.seconds, found.saved_seconds) == ((), None, None)

"""The fields of a compile's metrics: what changed since the compile before, and which settings."""

import json
from typing import Any

import make

from shapelog.model.trace import Trace
from shapelog.report.details.metric_fields import SettingChange, metric_fields, setting_changes


def loaded(*fields: dict[str, Any]) -> Trace:
    """Compiles of one frame with these metrics."""
    return make.load(make.trace(*(make.compile(f"0/{number}", make.tensor(8 + number, 16), **own) for number, own in enumerate(fields))))


def test_fields_that_changed_come_first_with_what_they_were() -> None:
    trace = loaded({"graph_node_count": 7}, {"graph_node_count": 9})
    (frame,) = trace.frames
    first = metric_fields(frame, frame.compiles[0])
    assert not any(field.changed for field in first)
    changed = [field for field in metric_fields(frame, frame.compiles[1]) if field.changed]
    assert ("graph_node_count", "9", "7", True) in changed
    assert metric_fields(frame, frame.compiles[1])[0].changed


def test_a_setting_that_was_changed_is_named_as_a_user_would_set_it() -> None:
    before, after = {"cache_size_limit": 8, "verbose": False}, {"cache_size_limit": 64, "verbose": False}
    (frame,) = loaded({"dynamo_config": json.dumps(before)}, {"dynamo_config": json.dumps(after)}).frames
    assert setting_changes(frame, frame.compiles[1]) == (SettingChange("torch._dynamo.config.cache_size_limit", "8", "64"),)
    assert setting_changes(frame, frame.compiles[0]) == ()


def test_settings_that_are_no_json_are_left_out() -> None:
    (frame,) = loaded({"dynamo_config": "{"}, {"dynamo_config": "[1]"}).frames
    assert setting_changes(frame, frame.compiles[1]) == ()


def test_a_link_of_a_backend_is_kept() -> None:
    data = make.trace(
        make.compile("0/0", make.tensor(8, 16)), make.record("link", {"name": "profile", "url": "https://example.org/1"}, id="0/0")
    )
    (compile,) = make.load(data).compiles
    assert compile.links == (("profile", "https://example.org/1"),)


def test_half_a_surrogate_pair_is_a_value_like_another() -> None:
    (frame,) = loaded({"restart_reasons": ["\ud800 broke"]}).frames
    assert any(field.name == "restart_reasons" for field in metric_fields(frame, frame.compiles[0]))


def test_a_moment_is_a_date() -> None:
    trace = make.load(make.trace(make.compile("0/0", make.tensor(8), start_time=1_795_171_332.5)))
    frame = trace.frames[0]
    fields = {field.name: field.value for field in metric_fields(frame, frame.compiles[0])}
    assert fields["start_time"] == "2026-11-20 10:42:12 UTC"


def test_a_long_list_is_cut_after_a_whole_entry() -> None:
    entries = [f"L['input_{number}']:0" for number in range(40)]
    (frame,) = loaded(
        {"compiler_config": '{"dynamic_sources": ""}'}, {"compiler_config": json.dumps({"dynamic_sources": ",".join(entries)})}
    ).frames
    (found,) = setting_changes(frame, frame.compiles[1])
    shown, _, rest = found.value.partition(" and ")
    assert shown.split(",") == entries[: len(shown.split(","))]
    assert rest == f"{40 - len(shown.split(','))} more"

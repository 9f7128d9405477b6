"""All fields of the metrics of a compile, those that differ from the compile before it first, and the settings that changed."""

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

import orjson

from shapelog.model.compile import Compile
from shapelog.model.frame import Frame
from shapelog.reading.records import SETTINGS
from shapelog.text import beginning

# What differs in every compile and means nothing.
_FLEETING = frozenset(("compile_id", "start_time", "start_time_us", "end_time_us", "stack_trace", "exception_stack_trace"))
_LONGEST = 400
# Fields that are moments, with how many of their units a second has; those after the year 2100 are something else.
_MOMENTS = {"start_time": 1, "start_time_us": 1_000_000, "end_time_us": 1_000_000}
_LAST_MOMENT = 4_102_444_800


class MetricField(NamedTuple):
    """A field with its value, and the one that it had in the compile before, "" where it is the same or there is none."""

    name: str
    value: str
    before: str
    changed: bool


class SettingChange(NamedTuple):
    """A setting that is not as it was in the compile before. ``is_in_both``: both versions of PyTorch have it."""

    name: str
    before: str
    value: str
    is_in_both: bool = True


def metric_fields(frame: Frame, compile: Compile) -> tuple[MetricField, ...]:
    """The fields that PyTorch filled, without settings; those that changed since the compile before come first."""
    fields, earlier = compile.metric_fields, _before(frame, compile)
    found = []
    for name, value in fields.items():
        if name in SETTINGS or value in (None, [], {}, ""):
            continue
        before = earlier.get(name)
        changed = bool(earlier) and before != value and name not in _FLEETING
        shown = _moment(name, value) or _text(value)
        found.append(MetricField(name, shown, _text(before) if changed else "", changed))
    return tuple(sorted(found, key=lambda field: (not field.changed, field.name)))


def _moment(name: str, value: object) -> str:
    """A moment in seconds or microseconds since 1970 as a date, "" for any other number."""
    unit = _MOMENTS.get(name)
    if unit is None or isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value / unit < _LAST_MOMENT:
        return ""
    return f"{datetime.fromtimestamp(value / unit, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"


def setting_changes(frame: Frame, compile: Compile) -> tuple[SettingChange, ...]:
    """Settings that were changed between the compile before and this one."""
    return settings_between(_before(frame, compile), compile.metric_fields)


def settings_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """Settings that are not the same in the metrics of two compiles, where both record them."""
    found = []
    for group, module in SETTINGS.items():
        text, old = after.get(group), before.get(group)
        if text != old and isinstance(text, str) and isinstance(old, str):
            now, was = settings_in(text), settings_in(old)
            names = [name for name in dict.fromkeys((*was, *now)) if _in_one_order(was.get(name)) != _in_one_order(now.get(name))]
            found += [
                SettingChange(f"{module}.{name}", _text(was.get(name)), _text(now.get(name)), name in was and name in now) for name in names
            ]
    return tuple(found)


def _in_one_order(value: object) -> object:
    """A list of texts may have been a set, whose order is another one in each process."""
    return sorted(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else value


def _before(frame: Frame, compile: Compile) -> Mapping[str, Any]:
    """The fields of the compile before this one in its frame."""
    earlier = [item for item in frame.compiles if item.order < compile.order and item.metrics_offset >= 0]
    return earlier[-1].metric_fields if earlier else {}


def settings_in(text: object) -> Mapping[str, Any]:
    """The settings in a field of the metrics, which is JSON; {} where it holds none."""
    try:
        found = orjson.loads(text) if isinstance(text, str) else None
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _text(value: object) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = json.dumps(value, ensure_ascii=False, default=str) if value is not None else ""
    if len(text) <= _LONGEST:
        return text
    whole = text[:_LONGEST].rpartition(",")[0]
    if not whole or " " in text:
        return beginning(text, _LONGEST)
    return f"{whole} and {text.count(',') - whole.count(',')} more"  # a list, as of dynamic sources

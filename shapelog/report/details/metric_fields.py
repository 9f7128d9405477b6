"""All fields of the metrics of a compile, those that differ from the compile before it first, and the settings that changed."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from shapelog.model.trace import Compile, Frame
from shapelog.report.details.settings import MODULES, parsed

# What differs in every compile and means nothing.
_FLEETING = frozenset(("compile_id", "start_time", "start_time_us", "end_time_us", "stack_trace", "exception_stack_trace"))
_LONGEST = 400


class MetricField(NamedTuple):
    """A field with its value, and the one that it had in the compile before, "" where it is the same or there is none."""

    name: str
    value: str
    before: str
    changed: bool


class Setting(NamedTuple):
    """A setting that is not as it was in the compile before."""

    name: str
    before: str
    value: str


def metric_fields(frame: Frame, compile: Compile) -> tuple[MetricField, ...]:
    """The fields that PyTorch filled, without settings; those that changed since the compile before come first."""
    fields, earlier = compile.metric_fields, _before(frame, compile)
    found = []
    for name, value in fields.items():
        if name in MODULES or value in (None, [], {}, ""):
            continue
        before = earlier.get(name)
        changed = bool(earlier) and before != value and name not in _FLEETING
        found.append(MetricField(name, _text(value), _text(before) if changed else "", changed))
    return tuple(sorted(found, key=lambda field: (not field.changed, field.name)))


def setting_changes(frame: Frame, compile: Compile) -> tuple[Setting, ...]:
    """Settings that were changed between the compile before and this one."""
    fields, earlier = compile.metric_fields, _before(frame, compile)
    found = []
    for group, module in MODULES.items():
        text, old = fields.get(group), earlier.get(group)
        if text != old and isinstance(text, str) and isinstance(old, str):
            now, before = parsed(text), parsed(old)
            names = [name for name in dict.fromkeys((*before, *now)) if before.get(name) != now.get(name)]
            found += [Setting(f"{module}.{name}", _text(before.get(name)), _text(now.get(name))) for name in names]
    return tuple(found)


def _before(frame: Frame, compile: Compile) -> Mapping[str, Any]:
    """The fields of the compile before this one in its frame."""
    earlier = [item for item in frame.compiles if item.order < compile.order and item.metrics_offset >= 0]
    return earlier[-1].metric_fields if earlier else {}


def _text(value: object) -> str:
    if isinstance(value, str):
        text = value
    elif isinstance(value, float):
        text = f"{value:g}"
    else:
        text = json.dumps(value, ensure_ascii=False, default=str) if value is not None else ""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

"""The report as JSON, for programs."""

import json
import math
from typing import Any

import orjson

from shapelog.advice import Advice
from shapelog.advising import advice_data
from shapelog.compare import Comparison, comparison_data
from shapelog.report import Report, as_data
from shapelog.reporters import Options
from shapelog.story import Story, story_data
from shapelog.verifying import Verification, verification_data

SUFFIX = ".json"


def render(report: Report, options: Options) -> bytes:
    return _written(as_data(report))


def render_story(story: Story, options: Options) -> bytes:
    return _written(story_data(story))


def render_comparison(comparison: Comparison, options: Options) -> bytes:
    return _written(comparison_data(comparison))


def render_advice(advice: Advice, options: Options) -> bytes:
    return _written(advice_data(advice))


def render_verification(verification: Verification, options: Options) -> bytes:
    return _written(verification_data(verification))


def _written(data: dict[str, Any]) -> bytes:
    """A trace can hold what the fast encoder refuses: lone surrogates and ints of more than 64 bits."""
    try:
        return orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    except TypeError:
        return json.dumps(_finite(data), indent=2).encode("ascii") + b"\n"


def _finite(value: Any) -> Any:
    """The same data with null for NaN and infinity, as the fast encoder has it."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
